"""/instructions/{id}/diff: two versions side by side, and restoring one."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from fastapi import Depends, Query, Request, Response

from preceptor.domain.errors import NotFound
from preceptor.domain.instructions.impact import InstructionQuestion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.shown import Instruction
from preceptor.domain.ownership import Permission
from preceptor.surfaces.rest.parameters import Name
from preceptor.surfaces.rest.routing import ThePreceptor, needs
from preceptor.surfaces.web.pages import Pages
from preceptor.surfaces.web.rendering import Call, page
from preceptor.surfaces.web.views.diff import Block, changes_in, compared, from_unified
from preceptor.surfaces.web.views.wording import LABELS, as_lines, by_field

router = Pages("/instructions")
Words = Annotated[str, Query(max_length=128)]
Which = Annotated[str, Query(alias="from", max_length=128)]


class Choice(msgspec.Struct, frozen=True):
    """`from_` and `to` are numbers or ids of versions, or `draft`; `restore` asks what restoring `to` would change."""

    from_: str
    to: str
    view: str
    mode: str
    all: bool
    restore: bool


async def _choice(
    from_: Which = "",
    to: Words = "",
    view: Words = "",
    mode: Words = "",
    all: Words = "",  # noqa: A002 - as in the address
    restore: Words = "",
) -> Choice:
    layout, by = "inline" if view == "inline" else "split", "field" if mode == "field" else "text"
    return Choice(from_, to, layout, by, bool(all), bool(restore))


TheChoice = Annotated[Choice, Depends(_choice)]


class Part(msgspec.Struct, frozen=True):
    """One field, or the whole text."""

    label: str
    blocks: list[Block]
    changes: int


@router.get("/{instruction_id}/diff")
@needs(Permission.INSTRUCTION_READ)
async def show(
    instruction_id: Name,
    request: Request,
    preceptor: ThePreceptor,
    asked: TheChoice,
) -> Response:
    versions = (await preceptor.instructions.versions(instruction_id)).items
    newest = versions[0]
    right = _named(versions, asked.to) if asked.to else newest
    left = newest if asked.restore else _named(versions, asked.from_) if asked.from_ else _before(versions, right)
    by_fields = asked.mode == "field"
    parts = _by_field(left, right, whole=asked.all) if by_fields else [_whole(left, right, whole=asked.all)]
    question = InstructionQuestion(version=right.instruction_id)
    impact = await preceptor.impacts.of_instruction(newest.family_id, question) if asked.restore else None
    chosen = {"from": str(left.version), "to": str(right.version), "view": asked.view, "mode": asked.mode}
    return page(
        request,
        "instruction_diff.html",
        here="instructions",
        call=Call(f"/api/instructions/{newest.family_id}/versions"),
        one=newest,
        versions=versions,
        left=left,
        right=right,
        view=asked.view,
        mode=asked.mode,
        parts=parts,
        changes=sum(part.changes for part in parts),
        restoring=asked.restore,
        impact=impact,
        effects=[(one, from_unified(one.prompt.diff)) for one in impact.agents] if impact else [],
        unfolded=f"?{urlencode(chosen | {'all': '1'} | ({'restore': '1'} if asked.restore else {}))}",
    )


def _named(versions: Sequence[Instruction], name: str) -> Instruction:
    for version in versions:
        draft = name == "draft" and version.status is Status.DRAFT
        if draft or name in (str(version.version), version.instruction_id):
            return version
    raise NotFound("version", name)


def _before(versions: Sequence[Instruction], right: Instruction) -> Instruction:
    """What a version was made from; the first one is compared with itself."""
    place = versions.index(right)
    parent = next((one for one in versions if one.instruction_id == right.parent_instruction_id), None)
    return parent or versions[min(place + 1, len(versions) - 1)]


def _whole(left: Instruction, right: Instruction, *, whole: bool) -> Part:
    blocks = compared(as_lines(left), as_lines(right), whole=whole)
    return Part("", blocks, changes_in(blocks))


def _by_field(left: Instruction, right: Instruction, *, whole: bool) -> list[Part]:
    """Those that differ first; the others only where all is to be seen."""
    old, new = by_field(left), by_field(right)
    found = [(name, compared(old[name], new[name], whole=whole)) for name in LABELS if old[name] or new[name]]
    parts = [Part(LABELS[name], blocks, changes_in(blocks)) for name, blocks in found]
    return sorted((part for part in parts if part.changes or whole), key=lambda part: not part.changes)
