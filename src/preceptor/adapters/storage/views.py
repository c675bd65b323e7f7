"""Views in SQL: a row for each change of what is shown. The one with the highest step is the current one."""

from collections.abc import Sequence

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.views import ADD, ALL, CURRENT
from preceptor.domain.conversations.view import View, decode, encode, root
from preceptor.domain.ids import ConversationId


class SqlViews(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, view: View) -> None:
        await self.work.put(
            ADD, id=view.view_id, conversation=view.conversation_id, step=view.step, body=encode(view).decode()
        )

    async def current(self, conversation: ConversationId) -> View:
        row = await self.work.one(CURRENT, of=conversation, limit=1)
        return decode(row[0]) if row else root(conversation)

    async def all(self, conversation: ConversationId) -> Sequence[View]:
        """Every view of a conversation, by step; the first is the one it started with."""
        rows = await self.work.all(ALL, of=conversation)
        return [root(conversation), *(decode(body) for (body,) in rows)]
