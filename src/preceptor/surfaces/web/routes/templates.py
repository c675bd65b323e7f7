"""/templates: what there is to start from, and filling one in."""

from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from preceptor.app import Preceptor
from preceptor.domain.errors import Invalid, PreceptorError
from preceptor.domain.instructions.content import checked
from preceptor.domain.instructions.instruction import SUGGESTED, InstructionType
from preceptor.domain.instructions.shown import FromTemplate, Template
from preceptor.domain.ownership import Permission
from preceptor.engine.instructions import Wanted
from preceptor.engine.templates import filled
from preceptor.surfaces.rest.parameters import Cursor, Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.pages import Form, Pages, TheForm
from preceptor.surfaces.web.rendering import Call, further, look, page, with_query
from preceptor.surfaces.web.views.editing import STYLE, value_of
from preceptor.surfaces.web.views.told import Section, sections
from preceptor.surfaces.web.views.wording import LABELS

router = Pages("/templates")
AT_ONCE = 25
Words = Annotated[str, Query(max_length=64)]


@router.get("")
@needs(Permission.INSTRUCTION_READ)
async def show_all(
    request: Request, preceptor: ThePreceptor, role: Words = "", category: Words = "", cursor: Cursor = None
) -> Response:
    filters = {"role": role.strip().replace("\x00", ""), "category": category.strip().replace("\x00", "")}
    wanted = Wanted(category=filters["category"] or None, target_role=filters["role"] or None)
    found = await preceptor.templates.page(wanted, cursor, AT_ONCE)
    chosen = {name: value for name, value in filters.items() if value}
    return page(
        request,
        "templates.html",
        here="templates",
        call=Call(with_query("/api/instructions/templates", chosen)),
        found=sorted(found.items, key=lambda one: one.content.language not in (None, look(request).language)),
        filters=filters,
        suggested=SUGGESTED,
        more=further(found, chosen),
    )


@router.get("/{template_id}/use")
@needs(Permission.INSTRUCTION_WRITE)
async def show(template_id: Name, request: Request, preceptor: ThePreceptor) -> Response:
    template = await preceptor.templates.get(template_id)
    given = {one.name: "" if one.default is None else _text(one.default) for one in template.variables}
    return await _page(request, preceptor, template, {"name": template.name} | given)


@router.post("/{template_id}/use")
@needs(Permission.INSTRUCTION_WRITE)
async def use(template_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Make the instruction, or show what it would say."""
    template = await preceptor.templates.get(template_id)
    given = {name.removeprefix("variable."): value for name, value in form.fields}
    if form.one("do") != "save":
        return await _page(request, preceptor, template, given)
    try:
        made = await preceptor.templates.instruct(template_id, _wish(template, given, form))
    except Invalid as error:
        return await _page(request, preceptor, template, given, error)
    return RedirectResponse(f"/instructions/{made.family_id}", 303)


def _wish(template: Template, given: dict[str, str], form: Form | None = None) -> FromTemplate:
    """A gap that is left empty takes its default; a style that is left empty stays the template's."""
    values: dict[str, Any] = {
        one.name: value_of(one.type, given[one.name]) for one in template.variables if given.get(one.name)
    }
    values |= {name: given[name].strip() for name in STYLE if given.get(name, "").strip()}
    about = {"name": given.get("name", "").strip() or None, "customizations": values}
    chosen = {name: given[name] for name in ("type", "status") if form is not None and given.get(name)}
    return checked(FromTemplate, about | chosen)


async def _page(
    request: Request,
    preceptor: Preceptor,
    template: Template,
    given: dict[str, str],
    problem: PreceptorError | None = None,
) -> Response:
    told, remark = await _told(preceptor, template, given)
    body = {"customizations": {one.name: given.get(one.name, "") for one in template.variables}}
    return page(
        request,
        "template_use.html",
        status=status_of(problem),
        here="templates",
        call=Call(f"/api/instructions/from-template/{template.template_id}", "POST", body),
        one=template,
        given=given,
        told=told,
        remark=remark,
        problem=problem,
        style=STYLE,
        labels=LABELS,
        types=[kind for kind in InstructionType if kind is not InstructionType.TEMPLATE],
        suggested=SUGGESTED,
    )


async def _told(
    preceptor: Preceptor, template: Template, given: dict[str, str]
) -> tuple[list[Section], Invalid | None]:
    try:
        return sections(await preceptor.trials.preview(filled(template, _wish(template, given)))), None
    except Invalid as error:
        return sections(await preceptor.trials.preview(template)), error


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
