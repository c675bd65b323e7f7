"""Assignments in SQL: what each agent was given, and when it was so."""

from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.instructions import STATUSES, kept_version, numbered
from preceptor.adapters.storage.ready.assignments import (
    CLOSE,
    FIND,
    LAST_SEQ,
    OF_AGENT,
    OF_AGENT_AT,
    OF_AGENT_WITH_HEADS,
    OF_FAMILY,
    OPEN,
)
from preceptor.adapters.storage.statements import Row
from preceptor.domain.ids import AgentId, AssignmentId, FamilyId, InstructionId
from preceptor.domain.instructions.assigned import Assigned
from preceptor.domain.instructions.family import Candidate
from preceptor.domain.instructions.parts import Given, Kept
from preceptor.domain.times import to_micros

NOTHING_IS_NEWER = "z"
"""Ids are hexadecimal."""


class SqlAssignments(msgspec.Struct):
    work: Transaction

    async def add(self, assigned: Assigned) -> None:
        await self.work.put(OPEN, **_columns(assigned), since=to_micros(self.work.now), until=None)

    async def replace(self, assigned: Assigned) -> None:
        """Close what holds now, and open the next step: `revision` must have grown."""
        await self.remove(assigned.assignment_id)
        await self.add(assigned)

    async def remove(self, assignment_id: AssignmentId) -> None:
        await self.work.put(CLOSE, named=assignment_id, at=to_micros(self.work.now))

    async def find(self, agent_id: AgentId, family_id: FamilyId) -> Assigned | None:
        row = await self.work.one(FIND, agent=agent_id, family=family_id)
        return _assigned(row) if row else None

    async def of_agent(self, agent_id: AgentId) -> list[Assigned]:
        return [_assigned(row) for row in await self.work.all(OF_AGENT, agent=agent_id)]

    async def of_agent_with_heads(
        self, agent_id: AgentId, newer_than: str = NOTHING_IS_NEWER
    ) -> tuple[list[Given], dict[InstructionId, Kept]]:
        """The present assignments of an agent, in no order, each with the head of its family if that is one's own.

        Ids grow with time: heads with a greater one than `newer_than` come along, to spare the caller another look.
        """
        rows = await self.work.executor.all(OF_AGENT_WITH_HEADS, (newer_than, self.work.org, agent_id))
        given: list[Given] = []
        news: dict[InstructionId, Kept] = {}
        for body, head, version, status, words, updated, by in rows:
            given.append(_with_head(body, head, version, status))
            if words is not None:
                news[head] = kept_version((words, status, updated, by))
        return given, news

    async def of_agent_at(self, agent_id: AgentId, moment: datetime) -> list[Assigned]:
        rows = await self.work.all(OF_AGENT_AT, agent=agent_id, at=to_micros(moment))
        return [_assigned(row) for row in rows]

    async def of_family(self, family_id: FamilyId) -> list[Assigned]:
        """The present assignments of a family, inactive ones too, by agent."""
        return [_assigned(row) for row in await self.work.all(OF_FAMILY, family=family_id)]

    async def last_seq(self, agent_id: AgentId) -> int:
        """The highest `seq` that any assignment of the agent ever had; 0 when there was none."""
        row = await self.work.one(LAST_SEQ, agent=agent_id)
        return int(row[0]) if row and row[0] is not None else 0


def _columns(assigned: Assigned) -> dict[str, Any]:
    return {
        "id": assigned.assignment_id,
        "step": assigned.revision,
        "agent": assigned.agent_id,
        "family": assigned.family_id,
        "pin": str(assigned.pin),
        "priority": assigned.priority,
        "active": int(assigned.is_active),
        "seq": assigned.seq,
        "body": assigned.model_dump_json(),
    }


def _assigned(row: Row) -> Assigned:
    return _parsed(row[0])


@lru_cache(maxsize=4096)
def _parsed(body: str) -> Assigned:
    """A row is read far more often than it is written, and a value never changes."""
    return Assigned.model_validate_json(body)


@lru_cache(maxsize=4096)
def _with_head(body: str, instruction: str | None, version: str | None, status: str | None) -> Given:
    """The same row gives the same value."""
    row = _parsed(body)
    if instruction is None or version is None or status is None:
        return Given.with_head(row, None)
    head = Candidate(row.family_id, InstructionId(instruction), numbered(version), STATUSES[status])
    return Given.with_head(row, head)
