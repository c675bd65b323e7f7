"""The first page, and signing in to it with a one-time link."""

from html import escape
from typing import Annotated

from fastapi import Cookie, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from preceptor import __version__
from preceptor.domain.errors import Unauthenticated
from preceptor.domain.ownership import Caller
from preceptor.surfaces.rest.routing import Api, open_to_anyone
from preceptor.surfaces.web.phrases import phrase

router = Api("", "web")

COOKIE = "preceptor_session"
SESSION_SECONDS = 12 * 3600


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
@open_to_anyone
async def home(request: Request, preceptor_session: Annotated[str | None, Cookie()] = None) -> Response:
    caller = await _signed_in(request, preceptor_session)
    return HTMLResponse(_page(request, caller), 200 if caller else 401)


@router.get("/login", include_in_schema=False)
@open_to_anyone
async def login(request: Request, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Redeem a one-time link. Opening it again shows how to get another."""
    preceptor = request.app.state.gate.preceptor
    try:
        cookie = await preceptor.access.open_session(token)
    except Unauthenticated:
        return HTMLResponse(_page(request, None), 401)
    response = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, max_age=SESSION_SECONDS, httponly=True, samesite="lax", secure=secure)
    return response


async def _signed_in(request: Request, cookie: str | None) -> Caller | None:
    if not cookie:
        return None
    try:
        return await request.app.state.gate.preceptor.access.by_session(cookie)
    except Unauthenticated:
        return None


def _page(request: Request, caller: Caller | None) -> str:
    settings = request.app.state.gate.preceptor.settings
    language, product = settings.language, settings.product_name
    told = (
        phrase(language, "signed_in", user=caller.owner.user_id, org=caller.owner.org_id)
        if caller
        else phrase(language, "sign_in")
    )
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(product)}</title></head><body><main><h1>{escape(product)}</h1><p>{escape(told)}</p>"
        f"<p>{escape(phrase(language, 'version', version=__version__))} "
        '<a href="/openapi.json">OpenAPI</a> · <a href="/readyz">readyz</a></p></main></body></html>'
    )
