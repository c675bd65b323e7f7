"""/api/instructions"""

from typing import Annotated

from fastapi import Depends, Query

from preceptor.domain.instructions.instruction import InstructionType, NewInstruction
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.revision import Revision
from preceptor.domain.instructions.shown import (
    FromTemplate,
    Instruction,
    Label,
    LabelMove,
    NewRating,
    Rating,
    StatusMove,
    Template,
)
from preceptor.domain.instructions.trial import NewTrial, Trial
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page
from preceptor.engine.instructions import Wanted
from preceptor.engine.library.shelf import Readable
from preceptor.surfaces.rest.parameters import AnyLimit, Cursor, LabelName, Limit, Name
from preceptor.surfaces.rest.routing import Api, IfMatch, ThePreceptor, needs

router = Api("/api/instructions", "instructions")

Word = Annotated[str | None, Query(max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")]
Words = Annotated[
    str | None, Query(description="Words in the name or description.", max_length=200, pattern=r"^[^\x00]+$")
]
Tags = Annotated[
    str | None,
    Query(description="With all of these tags, separated by commas.", max_length=1000, pattern=r"^[^\x00]+$"),
]
Public = Annotated[bool, Query(description="What all organisations publish, instead of your own. It is always active.")]
Force = Annotated[bool, Query(description="Switch the assignments off that stand in the way.")]


async def _wanted(
    type_: Annotated[InstructionType | None, Query(alias="type")] = None,
    category: Word = None,
    status: Status | None = None,
    role: Word = None,
    q: Words = None,
    tags: Tags = None,
) -> Wanted:
    named = tuple(tag.strip() for tag in (tags or "").split(",") if tag.strip())
    return Wanted(type_, category, role, status, q, named)


TheWanted = Annotated[Wanted, Depends(_wanted)]


@router.post("", status_code=201)
@needs(Permission.INSTRUCTION_WRITE)
async def create(new: NewInstruction, preceptor: ThePreceptor) -> Instruction:
    """Create an instruction: version 1.0.0 of a new family."""
    return await preceptor.instructions.create(new)


@router.get("")
@needs(Permission.INSTRUCTION_READ)
async def page(
    preceptor: ThePreceptor,
    wanted: TheWanted,
    public: Public = False,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Readable]:
    """List instructions, each at its head, newest first."""
    listed = preceptor.instructions.page_of_published if public else preceptor.instructions.page
    return await listed(wanted, cursor, limit)


@router.get("/templates")
@needs(Permission.INSTRUCTION_READ)
async def templates(
    preceptor: ThePreceptor,
    role: Word = None,
    category: Word = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Template]:
    """List templates: those that come with the software, then your own."""
    return await preceptor.templates.page(Wanted(category=category, target_role=role), cursor, limit)


@router.post("/from-template/{template_id}", status_code=201)
@needs(Permission.INSTRUCTION_WRITE)
async def from_template(template_id: Name, given: FromTemplate, preceptor: ThePreceptor) -> Instruction:
    """Create an instruction from a template whose gaps you fill in."""
    return await preceptor.templates.instruct(template_id, given)


@router.get("/{instruction_id}")
@needs(Permission.INSTRUCTION_READ)
async def get(instruction_id: Name, preceptor: ThePreceptor) -> Readable:
    """Read the head of an instruction, or the version whose id you give; also what others publish."""
    return await preceptor.instructions.get(instruction_id)


@router.put("/{instruction_id}")
@needs(Permission.INSTRUCTION_WRITE)
async def revise(instruction_id: Name, revision: Revision, preceptor: ThePreceptor, if_match: IfMatch) -> Instruction:
    """Change an instruction: a new version is appended to the newest one. What is left out stays."""
    return await preceptor.instructions.revise(instruction_id, revision, if_match)


@router.delete("/{instruction_id}", status_code=204)
@needs(Permission.INSTRUCTION_WRITE)
async def delete(instruction_id: Name, preceptor: ThePreceptor, if_match: IfMatch, force: Force = False) -> None:
    """Hide an instruction, or archive the one version whose id you give. Nothing is erased."""
    await preceptor.instructions.delete(instruction_id, force=force, if_match=if_match)


@router.get("/{instruction_id}/versions")
@needs(Permission.INSTRUCTION_READ)
async def versions(
    instruction_id: Name, preceptor: ThePreceptor, cursor: Cursor = None, limit: AnyLimit = None
) -> Page[Instruction]:
    """List every version of an instruction, newest first."""
    return await preceptor.instructions.versions(instruction_id, cursor, limit)


@router.post("/{instruction_id}/restore/{version_id}", status_code=201)
@needs(Permission.INSTRUCTION_WRITE)
async def restore(instruction_id: Name, version_id: Name, preceptor: ThePreceptor, if_match: IfMatch) -> Instruction:
    """Append a new version that says what an older one said."""
    return await preceptor.instructions.restore(instruction_id, version_id, if_match)


@router.post("/{instruction_id}/status")
@needs(Permission.INSTRUCTION_WRITE)
async def set_status(instruction_id: Name, move: StatusMove, preceptor: ThePreceptor, if_match: IfMatch) -> Instruction:
    """Move a version through its life: draft, active, deprecated, archived, and back to draft."""
    return await preceptor.instructions.set_status(instruction_id, move.status, if_match)


@router.post("/{instruction_id}/ratings", status_code=201)
@needs(Permission.INSTRUCTION_WRITE)
async def rate(instruction_id: Name, given: NewRating, preceptor: ThePreceptor) -> Rating:
    """Say what you think of an instruction, from 1 to 5. Your last word counts."""
    return await preceptor.instructions.rate(instruction_id, given)


@router.post("/{instruction_id}/copy", status_code=201)
@needs(Permission.INSTRUCTION_WRITE)
async def copy(instruction_id: Name, preceptor: ThePreceptor) -> Instruction:
    """Make an instruction of your own from a version of yours, or from one that others publish."""
    return await preceptor.instructions.copy(instruction_id)


@router.post("/{instruction_id}/test")
@needs(Permission.INSTRUCTION_READ)
async def test(instruction_id: Name, given: NewTrial, preceptor: ThePreceptor) -> Trial:
    """Try a version without anyone being told it. Nothing is written."""
    return await preceptor.trials.test(instruction_id, given)


@router.get("/{instruction_id}/labels")
@needs(Permission.INSTRUCTION_READ)
async def labels(
    instruction_id: Name, preceptor: ThePreceptor, cursor: Cursor = None, limit: AnyLimit = None
) -> Page[Label]:
    """List the labels of an instruction."""
    return await preceptor.labels.page(instruction_id, cursor, limit)


@router.get("/{instruction_id}/labels/{label}")
@needs(Permission.INSTRUCTION_READ)
async def label(instruction_id: Name, label: LabelName, preceptor: ThePreceptor) -> Label:
    """Read where a label points."""
    return await preceptor.labels.get(instruction_id, label)


@router.put("/{instruction_id}/labels/{label}")
@needs(Permission.INSTRUCTION_WRITE)
async def move_label(
    instruction_id: Name, label: LabelName, move: LabelMove, preceptor: ThePreceptor, if_match: IfMatch
) -> Label:
    """Point a label at a version, and make it if there is none. A label that is not there has the ETag `"0"`."""
    return await preceptor.labels.move(instruction_id, label, move, if_match)


@router.delete("/{instruction_id}/labels/{label}", status_code=204)
@needs(Permission.INSTRUCTION_WRITE)
async def remove_label(instruction_id: Name, label: LabelName, preceptor: ThePreceptor, if_match: IfMatch) -> None:
    """Take a label away. Agents that follow it are told nothing of the instruction until it is set again."""
    await preceptor.labels.remove(instruction_id, label, if_match)
