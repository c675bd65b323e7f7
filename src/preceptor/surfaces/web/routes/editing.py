"""/instructions/new and /instructions/{id}/edit: the editor, what saving would do, and saving."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from msgspec.structs import replace

from preceptor.app import Preceptor
from preceptor.domain.errors import Conflict, Invalid, NotFound, PreceptorError, PreconditionFailed
from preceptor.domain.ids import AgentId
from preceptor.domain.instructions.content import Mode, checked
from preceptor.domain.instructions.impact import Impact, InstructionQuestion
from preceptor.domain.instructions.instruction import SUGGESTED, Authored, InstructionType, NewInstruction, VariableType
from preceptor.domain.instructions.revision import Revision, bump_for
from preceptor.domain.instructions.shown import Instruction
from preceptor.domain.instructions.version import Part
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.failures import status_of
from preceptor.surfaces.web.languages import msg
from preceptor.surfaces.web.pages import Form, Pages, TheForm
from preceptor.surfaces.web.rendering import Call, page
from preceptor.surfaces.web.views.diff import changes_in, compared, from_unified
from preceptor.surfaces.web.views.editing import (
    PARTS,
    Draft,
    blank,
    blank_item,
    draft_from,
    draft_of,
    edited,
    said_in,
    with_example,
)
from preceptor.surfaces.web.views.told import Section, sections
from preceptor.surfaces.web.views.wording import LABELS, as_lines

router = Pages("/instructions")
Words = Annotated[str, Query(max_length=200)]


class Desk(msgspec.Struct, frozen=True):
    """One person's work on an instruction: what it said, what stands in the form, and for whom it is tried."""

    request: Request
    preceptor: Preceptor
    draft: Draft
    versions: Sequence[Instruction] = ()
    agent: str = ""
    changelog: str = ""

    @property
    def base(self) -> Instruction | None:
        """What the next version is made from: the newest, also where that is a draft."""
        return self.versions[0] if self.versions else None

    @property
    def path(self) -> str:
        return f"/instructions/{self.base.family_id}/edit" if self.base else "/instructions/new"

    def said(self) -> Authored:
        if not self.draft.fields["name"].strip():
            raise Invalid(msg("An instruction needs a name."))
        return checked(Authored, said_in(self.draft, self.base))


@router.get("/new")
@needs(Permission.INSTRUCTION_WRITE)
async def show_new(request: Request, preceptor: ThePreceptor, type: Words = "system", agent: Words = "") -> Response:  # noqa: A002 - as in the address
    kind = InstructionType(type) if type in set(InstructionType) else InstructionType.SYSTEM
    return await _editor(Desk(request, preceptor, blank(kind), agent=agent))


@router.post("/new")
@needs(Permission.INSTRUCTION_WRITE)
async def create(request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    return await _worked(Desk(request, preceptor, draft_from(form.fields), agent=form.one("agent")), form)


@router.get("/{instruction_id}/edit")
@needs(Permission.INSTRUCTION_WRITE)
async def show(instruction_id: Name, request: Request, preceptor: ThePreceptor, agent: Words = "") -> Response:
    versions = (await preceptor.instructions.versions(instruction_id)).items
    if not agent:
        used = await preceptor.assignments.of_instruction(versions[0].family_id)
        agent = next((one.agent_id for one in used if one.is_active), "")
    return await _editor(Desk(request, preceptor, draft_of(versions[0]), versions, agent))


@router.post("/{instruction_id}/edit")
@needs(Permission.INSTRUCTION_WRITE)
async def revise(instruction_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    versions = (await preceptor.instructions.versions(instruction_id)).items
    draft = draft_from(form.fields)
    return await _worked(Desk(request, preceptor, draft, versions, form.one("agent"), form.one("changelog")), form)


@router.post("/{instruction_id}/case")
@needs(Permission.INSTRUCTION_WRITE)
async def take_as_case(instruction_id: Name, request: Request, preceptor: ThePreceptor, form: TheForm) -> Response:
    """The editor with what a dry run came to as one more example; nothing is kept before it is saved."""
    versions = (await preceptor.instructions.versions(instruction_id)).items
    draft = with_example(draft_of(versions[0]), form.one("input"), form.one("answer"))
    return await _editor(Desk(request, preceptor, draft, versions, form.one("agent")))


async def _worked(desk: Desk, form: Form) -> Response:
    """Do what the button says. Whatever is wrong with the form, it comes back with all that was written."""
    wish = form.one("do")
    try:
        if wish == "save":
            return await _saved(desk, form)
        if wish == "review" and desk.base is not None:
            return await _review(desk, form.one("against"))
    except (Invalid, Conflict, PreconditionFailed) as error:
        return await _editor(desk, error)
    return await _editor(replace(desk, draft=edited(desk.draft, wish)))


async def _saved(desk: Desk, form: Form) -> Response:
    instructions, status = desk.preceptor.instructions, "draft" if form.one("status") == "draft" else "active"
    said = desk.said()
    changelog = form.one("changelog").strip()
    if desk.base is None:
        fields = said_in(desk.draft) | {"status": status, "changelog": changelog or None}
        made = await instructions.create(checked(NewInstruction, fields))
        return RedirectResponse(f"/instructions/{made.family_id}", 303)
    if not changelog:
        raise Invalid(msg("Say in a few words what changes: the changelog is what others read."))
    about = {"changelog": changelog, "status": status, "bump": form.one("bump") or None}
    revision = checked(Revision, said_in(desk.draft, desk.base) | about)
    if bump_for(desk.base, said) is not None:
        await instructions.revise(desk.base.family_id, revision, f'"{form.one("revision")}"')
    return RedirectResponse(f"/instructions/{desk.base.family_id}#versions", 303)


async def _editor(desk: Desk, problem: PreceptorError | None = None) -> Response:
    told, remark = await _told(desk)
    base = desk.base
    call = Call(f"/api/instructions/{base.family_id}", "GET") if base else Call("/api/instructions")
    return page(
        desk.request,
        "instruction_edit.html",
        status=status_of(problem),
        here="instructions",
        call=call,
        desk=desk,
        draft=desk.draft,
        base=base,
        told=told,
        remark=remark,
        problem=problem,
        agents=(await desk.preceptor.agents.page(limit=200)).items,
        labels=LABELS,
        blanks={name: blank_item(name) for name in PARTS},
        types=list(InstructionType),
        kinds=list(VariableType),
        modes=list(Mode),
        suggested=SUGGESTED,
        revision=desk.base.revision if desk.base else 0,
    )


async def _told(desk: Desk) -> tuple[list[Section], PreceptorError | None]:
    """What would be told; or why that cannot be said of what stands in the form."""
    try:
        agent = AgentId(desk.agent) if desk.agent else None
        named = desk.base.family_id if desk.base else None
        return sections(await desk.preceptor.trials.preview(desk.said(), named, agent)), None
    except (Invalid, NotFound) as error:
        return [], error


async def _review(desk: Desk, against: str) -> Response:
    """What saving would change: in the instruction, in its number, and in what agents are told."""
    base = desk.base
    assert base is not None
    said = desk.said()
    other = next((one for one in desk.versions if str(one.version) == against), base)
    blocks = compared(as_lines(other), as_lines(said))
    bump = bump_for(base, said)
    impact = await _impact(desk)
    return page(
        desk.request,
        "instruction_review.html",
        here="instructions",
        call=Call(f"/api/instructions/{base.family_id}/impact", "POST", {"content": _patch(desk)}),
        desk=desk,
        base=base,
        other=other,
        blocks=blocks,
        changes=changes_in(blocks),
        bump=bump,
        next_version=base.version.bump(bump.part) if bump else None,
        parts=list(Part),
        impact=impact,
        effects=[(one, from_unified(one.prompt.diff)) for one in impact.agents],
        pairs=desk.draft.pairs(),
    )


async def _impact(desk: Desk) -> Impact:
    assert desk.base is not None
    question = checked(InstructionQuestion, {"content": _patch(desk)})
    return await desk.preceptor.impacts.of_instruction(desk.base.family_id, question)


def _patch(desk: Desk) -> dict[str, Any]:
    return checked(Authored, said_in(desk.draft, desk.base)).content.model_dump(mode="json")
