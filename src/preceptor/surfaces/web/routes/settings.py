"""/settings: how pages look, who you are, your organisation's keys."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from preceptor.domain.ids import KeyId
from preceptor.domain.keys import MintedKey, NewKey
from preceptor.domain.ownership import Permission, Role
from preceptor.domain.phrases import LANGUAGES
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs, open_to_anyone
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Pages, TheForm, own_path
from preceptor.surfaces.web.rendering import LANGUAGE, THEME, THEMES, Call, look, page
from preceptor.surfaces.web.sentences import faults_in
from preceptor.surfaces.web.views.filled import Filled

router = Pages("/settings")
A_YEAR = 365 * 24 * 3600
ROLES = {
    Role.VIEWER.value: msg("viewer"),
    Role.EDITOR.value: msg("editor"),
    Role.OPERATOR.value: msg("operator"),
    Role.ADMIN.value: msg("admin"),
}
"""Those that a key can be given here."""


@router.get("")
@needs(Permission.CONVERSATION_READ)
async def show(request: Request, preceptor: ThePreceptor) -> Response:
    return await _page(request, preceptor)


@router.post("/look")
@open_to_anyone
async def change_look(form: TheForm) -> Response:
    """Language and theme are the browser's own: they are kept there."""
    response = RedirectResponse(own_path(form.one("back"), "/settings"), 303)
    chosen = {LANGUAGE: (form.one("language"), LANGUAGES), THEME: (form.one("theme"), THEMES)}
    for name, (value, allowed) in chosen.items():
        if value in allowed:
            response.set_cookie(name, value, max_age=A_YEAR, httponly=True, samesite="lax")
    return response


@router.post("/keys")
@needs(Permission.KEY_MANAGE)
async def mint(request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """The new key is in the answer to the form and nowhere else: it is shown once."""
    given = Filled({name: form.one(name).strip() for name in ("name", "role")})
    try:
        wanted = NewKey.model_validate(dict(given.fields))
    except ValidationError as error:
        return await _page(request, preceptor, given=given.with_faults(faults_in(error)))
    return await _page(request, preceptor, await preceptor.keys.mint(wanted))


@router.post("/keys/{key_id}/revoke")
@needs(Permission.KEY_MANAGE)
async def revoke(key_id: Name, request: Request, preceptor: ThePreceptor) -> Response:
    await preceptor.keys.revoke(KeyId(key_id))
    request.app.state.gate.keeper.forget()
    return RedirectResponse("/settings#api-keys", 303)


async def _page(
    request: Request, preceptor: ThePreceptor, minted: MintedKey | None = None, given: Filled | None = None
) -> Response:
    manages = look(request).may(Permission.KEY_MANAGE)
    keys = (await preceptor.keys.page(limit=200)).items if manages else ()
    return page(
        request,
        "settings.html",
        status=422 if given else 200,
        here="settings",
        call=Call("/api/keys") if manages else None,
        keys=keys,
        minted=minted,
        given=given or Filled({"name": "", "role": Role.VIEWER.value}),
        roles=ROLES,
        settings=preceptor.settings,
        models=preceptor.session.means.models.default,
    )
