"""/instructions: the library, one instruction with its history, and what is done to it besides editing."""

from typing import Annotated, Any

import msgspec
from fastapi import Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from preceptor.app import Preceptor
from preceptor.domain.errors import Conflict, Invalid, PreceptorError, PreconditionFailed
from preceptor.domain.instructions.instruction import InstructionType
from preceptor.domain.instructions.lifecycle import MOVES, Status
from preceptor.domain.instructions.shown import NO_LABEL, Instruction
from preceptor.domain.ownership import Permission
from preceptor.engine.instructions import Wanted
from preceptor.surfaces.rest.parameters import Cursor, Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Form, Pages, TheForm
from preceptor.surfaces.web.rendering import Call, further, page, with_query
from preceptor.surfaces.web.views.wording import LABELS, marked

router = Pages("/instructions")
AT_ONCE = 25
Words = Annotated[str, Query(max_length=200)]
API = {"type": "type", "category": "category", "role": "role", "status": "status", "tag": "tags", "q": "q"}


async def _filters(
    type: Words = "",  # noqa: A002 - as in the address
    category: Words = "",
    role: Words = "",
    status: Words = "",
    tag: Words = "",
    q: Words = "",
) -> dict[str, str]:
    given = {"type": type, "category": category, "role": role, "status": status, "tag": tag, "q": q}
    return {name: value.strip().replace("\x00", "") for name, value in given.items()}


TheFilters = Annotated[dict[str, str], Depends(_filters)]


class Trouble(msgspec.Struct, frozen=True):
    """What did not work, at which part of the page; and the label and the version that were meant."""

    at: str
    problem: PreceptorError
    label: str = ""
    version: str = ""


@router.get("")
@needs(Permission.INSTRUCTION_READ)
async def show_all(
    request: Request,
    preceptor: ThePreceptor,
    filters: TheFilters,
    public: Words = "",
    cursor: Cursor = None,
) -> Response:
    listed = preceptor.instructions.page_of_published if public else preceptor.instructions.page
    found = await listed(_wanted(filters), cursor, AT_ONCE)
    chosen = {name: value for name, value in filters.items() if value}
    shared = {"public": "true"} if public else {}
    asked = {API[name]: value for name, value in chosen.items()} | shared
    return page(
        request,
        "instructions.html",
        here="instructions",
        call=Call(with_query("/api/instructions", asked)),
        found=found.items,
        filters=filters,
        public=bool(public),
        types=list(InstructionType),
        statuses=list(Status),
        more=further(found, chosen | ({"public": "1"} if public else {})),
        first=cursor is None and not chosen and not public,
    )


@router.get("/{instruction_id}")
@needs(Permission.INSTRUCTION_READ)
async def show(instruction_id: Name, request: Request, preceptor: ThePreceptor) -> Response:
    """The head of an instruction, or the very version that is named."""
    return await _page(request, preceptor, instruction_id)


@router.post("/{instruction_id}/ratings")
@needs(Permission.INSTRUCTION_WRITE)
async def rate(instruction_id: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    if form.one("score") not in {"1", "2", "3", "4", "5"}:
        raise Invalid(msg("A score is a number from 1 to 5."))
    await preceptor.instructions.rate(instruction_id, score=int(form.one("score")))
    return _back(instruction_id)


@router.post("/{instruction_id}/status")
@needs(Permission.INSTRUCTION_WRITE)
async def set_status(instruction_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    if form.one("status") not in set(Status):
        raise Invalid(msg("There is no such status. Choose one of those on the page."))
    try:
        await preceptor.instructions.set_status(instruction_id, Status(form.one("status")), _if_match(form))
    except (Conflict, PreconditionFailed) as error:
        return await _page(request, preceptor, instruction_id, Trouble("state", error))
    return _back(instruction_id)


@router.post("/{instruction_id}/labels")
@needs(Permission.INSTRUCTION_WRITE)
async def move_label(instruction_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """Point a label at a version, unless someone else moved it meanwhile."""
    name, to = form.one("name").strip(), form.one("version") or instruction_id
    step = form.one(f"step.{name}")
    etag = f'"{step}"' if step else NO_LABEL
    try:
        await preceptor.labels.move(instruction_id, name, None, etag, instruction_id=to)
    except (Invalid, Conflict, PreconditionFailed) as error:
        return await _page(request, preceptor, instruction_id, Trouble("labels", error, name, to))
    return _back(instruction_id, "labels")


@router.post("/{instruction_id}/labels/{label}/remove")
@needs(Permission.INSTRUCTION_WRITE)
async def remove_label(instruction_id: Name, label: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    await preceptor.labels.remove(instruction_id, label, _if_match(form))
    return _back(instruction_id, "labels")


@router.post("/{instruction_id}/restore")
@needs(Permission.INSTRUCTION_WRITE)
async def restore(instruction_id: Name, preceptor: ThePreceptor, form: TheForm) -> Response:
    made = await preceptor.instructions.restore(instruction_id, form.one("version"), _if_match(form))
    return _back(made.family_id, "versions")


@router.post("/{instruction_id}/copy")
@needs(Permission.INSTRUCTION_WRITE)
async def copy(instruction_id: Name, preceptor: ThePreceptor) -> Response:
    return _back((await preceptor.instructions.copy(instruction_id)).family_id)


@router.get("/{instruction_id}/archive")
@needs(Permission.INSTRUCTION_WRITE)
async def ask_to_archive(instruction_id: Name, request: Request, preceptor: ThePreceptor) -> Response:
    return await _asked(request, preceptor, instruction_id)


async def _asked(
    request: Request, preceptor: Preceptor, instruction_id: str, problem: PreceptorError | None = None
) -> Response:
    """Who would fall silent: they stand in the way until someone says that they may."""
    one = (await preceptor.instructions.versions(instruction_id)).items[0]
    named = await preceptor.instructions.get(instruction_id)
    used = [each for each in await preceptor.assignments.of_instruction(instruction_id) if each.is_active]
    whole = instruction_id == one.family_id
    call = Call(f"/api/instructions/{instruction_id}", "DELETE")
    about: dict[str, Any] = {"one": named, "whole": whole, "used": used, "revision": one.revision, "problem": problem}
    status = status_of(problem)
    return page(request, "instruction_archive.html", status=status, here="instructions", call=call, **about)


@router.post("/{instruction_id}/archive")
@needs(Permission.INSTRUCTION_WRITE)
async def archive(instruction_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    force = bool(form.one("force"))
    try:
        await preceptor.instructions.delete(instruction_id, force=force, if_match=_if_match(form))
    except (Conflict, PreconditionFailed) as error:
        return await _asked(request, preceptor, instruction_id, error)
    return RedirectResponse("/instructions", 303)


async def _page(
    request: Request, preceptor: Preceptor, instruction_id: str, trouble: Trouble | None = None
) -> Response:
    one = await preceptor.instructions.get(instruction_id)
    call = Call(f"/api/instructions/{instruction_id}")
    shown: dict[str, Any] = {"one": one, "labels": LABELS, "marked": marked, "trouble": trouble}
    if not isinstance(one, Instruction):
        return page(request, "published.html", here="instructions", call=call, **shown)
    shown |= await _around(preceptor, one)
    status = status_of(trouble and trouble.problem)
    return page(request, "instruction.html", status=status, here="instructions", call=call, **shown)


async def _around(preceptor: Preceptor, one: Instruction) -> dict[str, Any]:
    """What there is to know about an instruction besides what it says."""
    if one.is_deleted:
        return {"versions": (one,), "labelled": {}, "label_steps": (), "used": (), "moves": ()}
    labels = (await preceptor.labels.page(one.family_id)).items
    labelled: dict[str, list[str]] = {}
    for label in labels:
        labelled.setdefault(label.instruction_id, []).append(label.name)
    return {
        "versions": (await preceptor.instructions.versions(one.family_id)).items,
        "labelled": labelled,
        "label_steps": labels,
        "used": await preceptor.assignments.of_instruction(one.family_id),
        "moves": sorted(MOVES[one.status]),
    }


def _wanted(filters: dict[str, str]) -> Wanted:
    kind, status = filters["type"], filters["status"]
    return Wanted(
        InstructionType(kind) if kind in set(InstructionType) else None,
        filters["category"] or None,
        filters["role"] or None,
        Status(status) if status in set(Status) else None,
        filters["q"] or None,
        tuple(tag.strip() for tag in filters["tag"].split(",") if tag.strip()),
    )


def _if_match(form: Form) -> str:
    return f'"{form.one("revision")}"'


def _back(instruction_id: str, place: str = "") -> Response:
    return RedirectResponse(f"/instructions/{instruction_id}{'#' + place if place else ''}", 303)
