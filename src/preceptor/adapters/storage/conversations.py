"""Conversations in SQL: what their streams fold to, kept so that they can be listed and searched."""

import unicodedata
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Text, bindparam, cast, or_, select

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.statements import Statement, body_by_id, insert_into, limited, mine, update_by_key
from preceptor.adapters.storage.tables import conversations
from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.ids import ConversationId
from preceptor.engine.ports import WantedConversations

ADD = insert_into(conversations)
REPLACE = update_by_key(conversations)
FIND = body_by_id(conversations)


def _any_or(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return or_(cast(bindparam(name), Text).is_(None), column == bindparam(name))


# Newest first; a cursor is the last id shown.
PAGE = Statement.of(
    limited(
        select(conversations.c.body)
        .where(
            mine(conversations),
            or_(cast(bindparam("after"), Text).is_(None), conversations.c.id < bindparam("after")),
            _any_or(conversations.c.agent, "agent"),
            _any_or(conversations.c.user, "user"),
            _any_or(conversations.c.status, "status"),
            or_(
                cast(bindparam("words"), Text).is_(None),
                conversations.c.title.like(bindparam("words"), escape="\\"),
            ),
        )
        .order_by(conversations.c.id.desc())
    )
)


@dataclass(frozen=True, slots=True)
class SqlConversations:
    work: Transaction

    async def add(self, conversation: Conversation) -> None:
        await self.work.run(ADD, **_columns(conversation))

    async def replace(self, conversation: Conversation) -> None:
        await self.work.run(REPLACE, **_columns(conversation))

    async def find(self, conversation_id: ConversationId) -> Conversation | None:
        row = await self.work.one(FIND, id=conversation_id)
        return Conversation.model_validate_json(row[0]) if row else None

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


def _columns(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": conversation.conversation_id,
        "agent": conversation.agent_id,
        "user": conversation.owner.user_id,
        "status": conversation.status.value,
        "title": _folded(conversation.title or ""),
        "body": conversation.model_dump_json(),
    }


def _folded(words: str) -> str:
    """Text as it is searched: the databases would each fold case in their own way, so we do."""
    return unicodedata.normalize("NFC", words.casefold())


def _pattern(words: str) -> str:
    return "%" + _folded(words).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
