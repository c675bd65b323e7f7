"""Labels of instructions in SQL, with where each pointed when; and what people think of instructions."""

from datetime import datetime

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.labels import CLOSE, LAST, OF_AGENT, OF_FAMILY, OF_FAMILY_AT, OPEN, RATE, UNRATE
from preceptor.adapters.storage.statements import Row
from preceptor.domain.ids import AgentId, FamilyId, InstructionId, UserId
from preceptor.domain.instructions.family import LabelRow
from preceptor.domain.times import from_micros, to_micros


class SqlLabels(msgspec.Struct, frozen=True):
    work: Transaction

    async def last(self, family_id: FamilyId, name: str) -> LabelRow | None:
        """Where the label points, or where it pointed when it was removed: then it has an end."""
        row = await self.work.one(LAST, family=family_id, name=name, limit=1)
        return _label(row) if row else None

    async def move(self, label: LabelRow) -> None:
        """Close what holds now, and open the next step."""
        at = to_micros(self.work.now)
        await self.work.put(CLOSE, of_family=label.family_id, named=label.name, at=at)
        await self.work.put(
            OPEN,
            family=label.family_id,
            name=label.name,
            step=label.step,
            instruction=label.instruction_id,
            user=label.moved_by,
            since=at,
            until=None,
        )

    async def remove(self, family_id: FamilyId, name: str) -> None:
        await self.work.put(CLOSE, of_family=family_id, named=name, at=to_micros(self.work.now))

    async def of_family(self, family_id: FamilyId) -> list[LabelRow]:
        return [_label(row) for row in await self.work.all(OF_FAMILY, family=family_id)]

    async def of_family_at(self, family_id: FamilyId, moment: datetime) -> list[LabelRow]:
        return [_label(row) for row in await self.work.all(OF_FAMILY_AT, family=family_id, at=to_micros(moment))]

    async def of_agent(self, agent_id: AgentId) -> list[LabelRow]:
        """The labels of all instructions that an agent has."""
        return [_label(row) for row in await self.work.all(OF_AGENT, agent=agent_id)]


class SqlRatings(msgspec.Struct, frozen=True):
    work: Transaction

    async def give(self, family_id: FamilyId, user_id: UserId, score: int) -> None:
        """One per user: a new one takes the place of the old."""
        await self.work.put(UNRATE, family=family_id, user=user_id)
        await self.work.put(RATE, family=family_id, user=user_id, score=score)


def _label(row: Row) -> LabelRow:
    family, name, step, instruction, user, since, until = row
    ended = None if until is None else from_micros(until)
    return LabelRow(FamilyId(family), name, step, InstructionId(instruction), UserId(user), from_micros(since), ended)
