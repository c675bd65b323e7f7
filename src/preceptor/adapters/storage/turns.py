"""Turns in SQL: which are running, who runs them, and until when they may."""

from datetime import datetime
from typing import Any

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.turns import (
    ACCEPTED,
    ADD,
    CANCEL,
    ENDED,
    ENDED_OF,
    EXPIRED,
    EXTEND,
    FIND,
    NEWEST,
    OPEN,
    RELEASE,
    SETTLE,
    TAKE,
    TO_CANCEL,
    WAIT,
)
from preceptor.domain.ids import AgentId, ConversationId, OrgId, TurnId
from preceptor.domain.times import from_micros, to_micros
from preceptor.domain.turns.facts import Accepted, TurnStatus, fact_of
from preceptor.engine.repositories.conversations import TurnRow

LATER_THAN_ALL = "g"
"""After every id: they are written in hexadecimal digits."""


class SqlTurns(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, turn: TurnRow) -> None:
        await self.work.put(
            ADD,
            id=turn.turn_id,
            conversation=turn.conversation_id,
            agent=turn.agent_id,
            user=turn.user_id,
            status=turn.status.value,
            worker=turn.worker,
            epoch=turn.epoch,
            first=turn.first,
            last=turn.last,
            lease=to_micros(turn.lease),
            takeovers=turn.takeovers,
            cancel=turn.cancel,
        )

    async def find(self, turn_id: TurnId) -> TurnRow | None:
        row = await self.work.one(FIND, named=turn_id)
        return _turn(row) if row else None

    async def open_in(self, conversation_id: ConversationId) -> TurnRow | None:
        row = await self.work.one(OPEN, of=conversation_id)
        return _turn(row) if row else None

    async def newest(self, conversation_id: ConversationId) -> TurnRow | None:
        """The turn in which something was said last."""
        row = await self.work.one(NEWEST, of=conversation_id, limit=1)
        return _turn(row) if row else None

    async def told(self, conversation_id: ConversationId, since: int) -> dict[TurnId, str]:
        """The hash of what the agent was told in each turn of a conversation that was asked at a place or after it."""
        rows = await self.work.all(ACCEPTED, of=conversation_id, since=since)
        said = ((turn_id, fact_of("turn.accepted", payload)) for turn_id, payload in rows if payload is not None)
        return {turn_id: fact.pins.prompt_hash for turn_id, fact in said if isinstance(fact, Accepted)}

    async def ended(self, agent: AgentId | None, before: TurnId | None, limit: int) -> list[TurnRow]:
        """The newest first. Ids grow with time, so the last of them says where to go on."""
        until = before or LATER_THAN_ALL
        if agent is None:
            rows = await self.work.all(ENDED, before=until, limit=limit)
        else:
            rows = await self.work.all(ENDED_OF, before=until, of=agent, limit=limit)
        return [_turn(row) for row in rows]

    async def settle(self, turn_id: TurnId, status: TurnStatus, last: int) -> bool:
        """False if it has ended before: a turn ends once."""
        return bool(await self.work.run(SETTLE, named=turn_id, to_status=status.value, to_last=last))

    async def take(self, turn: TurnRow) -> bool:
        """Give the turn to this worker and epoch; False if it has ended meanwhile."""
        return bool(
            await self.work.run(
                TAKE,
                named=turn.turn_id,
                to_worker=turn.worker,
                to_epoch=turn.epoch,
                to_lease=to_micros(turn.lease),
            )
        )

    async def wait(self, turn: TurnRow, until: datetime) -> bool:
        """Let it wait for someone to take it up; False if it is not as it was any more."""
        before = {"of_worker": turn.worker, "of_lease": to_micros(turn.lease)}
        return bool(await self.work.run(WAIT, named=turn.turn_id, until=to_micros(until), **before))

    async def release(self, worker: str) -> int:
        """Let go of all that a worker holds: others may take it up at once."""
        return await self.work.run(RELEASE, by=worker)

    async def request_cancel(self, turn_id: TurnId, by: str) -> bool:
        return bool(await self.work.run(CANCEL, named=turn_id, by=by))

    async def extend(self, worker: str, until: Any) -> int:
        return await self.work.run(EXTEND, by=worker, until=to_micros(until))

    async def expired(self, before: Any, but: str, limit: int) -> list[tuple[OrgId, TurnRow]]:
        rows = await self.work.all(EXPIRED, before=to_micros(before), but=but, limit=limit)
        return [(row[0], _turn(row)) for row in rows]

    async def to_cancel(self, worker: str) -> list[tuple[OrgId, TurnId]]:
        return [(org, turn) for org, turn in await self.work.all(TO_CANCEL, by=worker)]


def _turn(row: tuple[Any, ...]) -> TurnRow:
    _, turn_id, conversation, agent, user, status, worker, epoch, first, last, lease, takeovers, cancel = row
    return TurnRow(
        turn_id=turn_id,
        conversation_id=conversation,
        agent_id=agent,
        user_id=user,
        status=TurnStatus(status),
        worker=worker,
        epoch=epoch,
        first=first,
        last=last,
        lease=from_micros(lease),
        takeovers=takeovers,
        cancel=cancel,
    )
