"""Conversations in SQL: what their streams fold to, kept so that they can be listed and searched."""

import unicodedata
from datetime import datetime

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.conversations import ADD, FIND, OPEN_WITH, PAGE, QUIET, REPLACE, STANDING
from preceptor.adapters.storage.statements import Row
from preceptor.domain.conversations.conversation import Conversation, Status
from preceptor.domain.conversations.view import decode, root
from preceptor.domain.ids import AgentId, ConversationId, OrgId
from preceptor.domain.times import to_micros
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.repositories.conversations import Standing, WantedConversations


class SqlConversations(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, conversation: Conversation) -> None:
        place, columns = (self.work.org, conversation.conversation_id), _columns(conversation)
        await self.work.executor.put(ADD, place + columns)

    async def replace(self, conversation: Conversation) -> None:
        place, columns = (self.work.org, conversation.conversation_id), _columns(conversation)
        await self.work.executor.put(REPLACE, columns + place)

    async def find(self, conversation_id: ConversationId) -> Conversation | None:
        rows = await self.work.executor.all(FIND, (self.work.org, conversation_id))
        return Conversation.model_validate_json(rows[0][0]) if rows else None

    async def standing(self, conversation_id: ConversationId) -> Standing:
        [row] = await self.work.all(STANDING, of=conversation_id)
        running, place, total, newest, view = row
        return Standing(
            running=running,
            last=max(place or 0, 0),
            total=total or 0,
            newest=newest and TurnStatus(newest),
            view=decode(view) if view else root(conversation_id),
        )

    async def page(self, wanted: WantedConversations, after: str | None, limit: int) -> list[Conversation]:
        rows = await self.work.all(
            PAGE,
            after=after,
            agent=wanted.agent_id,
            user=wanted.user_id,
            status=wanted.status,
            words=None if wanted.words is None else _pattern(wanted.words),
            limit=limit,
        )
        return [Conversation.model_validate_json(row[0]) for row in rows]

    async def open_with(self, agent_id: AgentId) -> int:
        """How many conversations with an agent are not archived."""
        row = await self.work.one(OPEN_WITH, agent=agent_id, status=Status.ACTIVE.value)
        return row[0] if row else 0

    async def quiet_since(self, before: datetime, limit: int) -> list[tuple[OrgId, ConversationId]]:
        """Conversations in which nothing has happened since then, of all organisations; not those that are erased."""
        rows = await self.work.all(QUIET, but=Status.ERASED.value, before=to_micros(before), limit=limit)
        return [(org, conversation) for org, conversation in rows]


def _columns(conversation: Conversation) -> Row:
    """What is kept of one beside its place: agent, user, status, title and body."""
    return (
        conversation.agent_id,
        conversation.owner.user_id,
        conversation.status.value,
        _folded(conversation.title or ""),
        conversation.to_json().decode(),
    )


def _folded(words: str) -> str:
    """Text as it is searched: the databases would each fold case in their own way, so we do."""
    return unicodedata.normalize("NFC", words.casefold())


def _pattern(words: str) -> str:
    return "%" + _folded(words).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
