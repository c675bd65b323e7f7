"""Labels: names such as production that point at versions, and are moved by compare-and-set."""

from typing import Any

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.instructions.family import LabelRow
from preceptor.domain.instructions.shown import NO_LABEL, Label, LabelMove
from preceptor.domain.instructions.version import require_label
from preceptor.domain.paging import Page, part_of
from preceptor.domain.value import made
from preceptor.engine.audit import note
from preceptor.engine.library.gatekeeping import require_open
from preceptor.engine.library.shelf import Shelf, found
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Labels(msgspec.Struct, frozen=True):
    session: Session

    async def move(
        self, any_id: str, name: str, given: LabelMove | None = None, if_match: IfMatch = None, **fields: Any
    ) -> Label:
        """Point a label at a version; make it if there is none. `If-Match: "0"` means: only if there is none."""
        move = made(LabelMove, given, fields)
        caller = self.session.caller
        require_label(name)

        async def program(work: Work) -> Label:
            shelf = await found(work, any_id)
            last = await work.labels.last(shelf.family.family_id, name)
            check(if_match, _etag(last))
            version = (await _meant(work, shelf, move.instruction_id)).meant
            if last is not None and last.until is None and last.instruction_id == version.instruction_id:
                return Label.of(last, version.version)
            await require_open(work, version.family_id, name, version.instruction_id)
            row = LabelRow(
                family_id=version.family_id,
                name=name,
                step=last.step + 1 if last else 1,
                instruction_id=version.instruction_id,
                moved_by=caller.owner.user_id,
                since=work.now,
            )
            await work.labels.move(row)
            before = last.instruction_id if last is not None and last.until is None else None
            facts = {"familyId": row.family_id, "label": name, "before": before, "after": row.instruction_id}
            await note(work, caller, "instruction.label_moved", **facts)
            return Label.of(row, version.version)

        return await self.session.write(program)

    async def page(self, any_id: str, cursor: str | None = None, limit: int | None = None) -> Page[Label]:
        """The labels of a family; all of them without a limit."""

        async def program(work: Work) -> Page[Label]:
            shelf = await found(work, any_id)
            rows = await work.labels.of_family(shelf.family.family_id)
            labels = [Label.of(row, shelf.version(row.instruction_id).version) for row in rows]
            return part_of(labels, cursor, limit, lambda label: label.name)

        return await self.session.read(program)

    async def get(self, any_id: str, name: str) -> Label:
        async def program(work: Work) -> Label:
            shelf = await found(work, any_id)
            row = await _there(work, shelf, name)
            return Label.of(row, shelf.version(row.instruction_id).version)

        return await self.session.read(program)

    async def remove(self, any_id: str, name: str, if_match: IfMatch = None) -> None:
        caller = self.session.caller

        async def program(work: Work) -> None:
            shelf = await found(work, any_id)
            row = await _there(work, shelf, name)
            check(if_match, _etag(row))
            await work.labels.remove(row.family_id, name)
            facts = {"familyId": row.family_id, "label": name, "before": row.instruction_id}
            await note(work, caller, "instruction.label_removed", **facts)

        await self.session.write(program)


async def _there(work: Work, shelf: Shelf, name: str) -> LabelRow:
    row = await work.labels.last(shelf.family.family_id, name)
    if row is None or row.until is not None:
        raise NotFound("label", name)
    return row


async def _meant(work: Work, shelf: Shelf, any_id: str) -> Shelf:
    target = await found(work, any_id)
    if target.family.family_id != shelf.family.family_id:
        raise NotFound("version", any_id)
    return target


def _etag(row: LabelRow | None) -> str:
    return NO_LABEL if row is None or row.until is not None else f'"{row.step}"'
