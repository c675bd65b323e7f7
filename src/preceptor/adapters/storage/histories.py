"""Histories in SQL: one row for each view of a conversation in which something was cut or summarised."""

from dataclasses import dataclass

import msgspec
from sqlalchemy import bindparam, select

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Statement, insert_into, mine, update_by_key
from preceptor.adapters.storage.turn_tables import histories
from preceptor.domain.history.segment import State
from preceptor.domain.ids import ConversationId, ViewId

FIND = Statement.of(
    select(histories.c.body).where(
        mine(histories), histories.c.conversation == bindparam("conversation"), histories.c.view == bindparam("view")
    )
)
ADD = insert_into(histories)
REPLACE = update_by_key(histories)
_DECODER = msgspec.json.Decoder(State)


@dataclass(frozen=True, slots=True)
class SqlHistories:
    work: Transaction

    async def find(self, conversation: ConversationId, view: ViewId) -> State | None:
        row = await self.work.one(FIND, conversation=conversation, view=view)
        return _DECODER.decode(row[0]) if row else None

    async def put(self, conversation: ConversationId, view: ViewId, state: State) -> None:
        """There is no other writer: a conversation has one turn at a time."""
        known = await self.work.one(FIND, conversation=conversation, view=view)
        body = msgspec.json.encode(state).decode()
        await self.work.run(REPLACE if known else ADD, conversation=conversation, view=view, body=body)
