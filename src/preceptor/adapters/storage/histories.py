"""Histories in SQL: one row for each view of a conversation in which something was cut or summarised."""

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.histories import ADD, FIND, REPLACE
from preceptor.domain.history.segment import State
from preceptor.domain.ids import ConversationId, ViewId

_DECODER = msgspec.json.Decoder(State)


class SqlHistories(msgspec.Struct, frozen=True):
    work: Transaction

    async def find(self, conversation: ConversationId, view: ViewId) -> State | None:
        row = await self.work.one(FIND, conversation=conversation, view=view)
        return _DECODER.decode(row[0]) if row else None

    async def put(self, conversation: ConversationId, view: ViewId, state: State) -> None:
        """There is no other writer: a conversation has one turn at a time."""
        known = await self.work.one(FIND, conversation=conversation, view=view)
        body = msgspec.json.encode(state).decode()
        await self.work.put(REPLACE if known else ADD, conversation=conversation, view=view, body=body)
