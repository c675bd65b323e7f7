"""Labels of instructions in SQL, with where each pointed when; and what people think of instructions."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, select, update

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Row, Statement, insert_into, limited, mine
from preceptor.adapters.storage.tables import assignments, instruction_labels, instruction_ratings
from preceptor.domain.ids import AgentId, FamilyId, InstructionId, UserId
from preceptor.domain.instructions.family import LabelRow
from preceptor.domain.times import from_micros, to_micros

_LABEL = (
    instruction_labels.c.family,
    instruction_labels.c.name,
    instruction_labels.c.step,
    instruction_labels.c.instruction,
    instruction_labels.c.user,
    instruction_labels.c.since,
    instruction_labels.c.until,
)
OPEN = insert_into(instruction_labels)
CLOSE = Statement.of(
    update(instruction_labels)
    .where(
        mine(instruction_labels),
        instruction_labels.c.family == bindparam("of_family"),
        instruction_labels.c.name == bindparam("named"),
        instruction_labels.c.until.is_(None),
    )
    .values(until=bindparam("at"))
)
LAST = Statement.of(
    limited(
        select(*_LABEL)
        .where(
            mine(instruction_labels),
            instruction_labels.c.family == bindparam("family"),
            instruction_labels.c.name == bindparam("name"),
        )
        .order_by(instruction_labels.c.step.desc())
    )
)
OF_FAMILY = Statement.of(
    select(*_LABEL)
    .where(
        mine(instruction_labels),
        instruction_labels.c.family == bindparam("family"),
        instruction_labels.c.until.is_(None),
    )
    .order_by(instruction_labels.c.name)
)
OF_FAMILY_AT = Statement.of(
    select(*_LABEL).where(
        mine(instruction_labels),
        instruction_labels.c.family == bindparam("family"),
        instruction_labels.c.since <= bindparam("at"),
        instruction_labels.c.until.is_(None) | (instruction_labels.c.until > bindparam("at")),
    )
)
OF_AGENT = Statement.of(
    select(*_LABEL)
    .join_from(
        assignments,
        instruction_labels,
        (instruction_labels.c.org == assignments.c.org) & (instruction_labels.c.family == assignments.c.family),
    )
    .where(
        mine(assignments),
        assignments.c.agent == bindparam("agent"),
        assignments.c.until.is_(None),
        instruction_labels.c.until.is_(None),
    )
)
RATE = insert_into(instruction_ratings)
UNRATE = Statement.of(
    delete(instruction_ratings).where(
        mine(instruction_ratings),
        instruction_ratings.c.family == bindparam("family"),
        instruction_ratings.c.user == bindparam("user"),
    )
)


@dataclass(frozen=True, slots=True)
class SqlLabels:
    work: Transaction

    async def last(self, family_id: FamilyId, name: str) -> LabelRow | None:
        """Where the label points, or where it pointed when it was removed: then it has an end."""
        row = await self.work.one(LAST, family=family_id, name=name, limit=1)
        return _label(row) if row else None

    async def move(self, label: LabelRow) -> None:
        """Close what holds now, and open the next step."""
        at = to_micros(self.work.now)
        await self.work.run(CLOSE, of_family=label.family_id, named=label.name, at=at)
        await self.work.run(
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
        await self.work.run(CLOSE, of_family=family_id, named=name, at=to_micros(self.work.now))

    async def of_family(self, family_id: FamilyId) -> list[LabelRow]:
        return [_label(row) for row in await self.work.all(OF_FAMILY, family=family_id)]

    async def of_family_at(self, family_id: FamilyId, moment: datetime) -> list[LabelRow]:
        return [_label(row) for row in await self.work.all(OF_FAMILY_AT, family=family_id, at=to_micros(moment))]

    async def of_agent(self, agent_id: AgentId) -> list[LabelRow]:
        """The labels of all instructions that an agent has."""
        return [_label(row) for row in await self.work.all(OF_AGENT, agent=agent_id)]


@dataclass(frozen=True, slots=True)
class SqlRatings:
    work: Transaction

    async def give(self, family_id: FamilyId, user_id: UserId, score: int) -> None:
        """One per user: a new one takes the place of the old."""
        await self.work.run(UNRATE, family=family_id, user=user_id)
        await self.work.run(RATE, family=family_id, user=user_id, score=score)


def _label(row: Row) -> LabelRow:
    family, name, step, instruction, user, since, until = row
    ended = None if until is None else from_micros(until)
    return LabelRow(FamilyId(family), name, step, InstructionId(instruction), UserId(user), from_micros(since), ended)
