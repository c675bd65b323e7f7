"""Glances: what a list shows of each conversation besides its title."""

from collections.abc import Sequence

import msgspec

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.messages.message import Message, Role
from preceptor.domain.turns.audience import for_user
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.ports import Work
from preceptor.engine.session import Session

LOOKED_AT = 12
"""How many of the last messages are looked at for one with words in it."""


class Glance(msgspec.Struct, frozen=True):
    conversation: Conversation
    messages: int
    tokens: int
    first: str
    """What the conversation began with."""
    last: str
    """What was said last, as users see it."""
    status: TurnStatus | None
    """Of the newest turn."""
    intermediate: bool
    """Whether there are intermediate steps among the last messages."""


class Glances(msgspec.Struct, frozen=True):
    session: Session

    async def at(self, conversations: Sequence[Conversation]) -> list[Glance]:
        """For conversations that the caller was shown already."""

        async def program(work: Work) -> list[Glance]:
            return [await _glance(work, one) for one in conversations]

        return await self.session.read(program)


async def _glance(work: Work, conversation: Conversation) -> Glance:
    of = conversation.conversation_id
    last, tokens = await work.messages.last(of)
    rows = await work.messages.between(of, max(1, last - LOOKED_AT + 1), last) if last else []
    newest = await work.turns.newest(of)
    began = await work.messages.between(of, 1, 1)
    said = [message for message in (for_user(row.message) for row in rows) if message is not None]
    return Glance(
        conversation,
        last,
        tokens,
        _words([row.message for row in began if row.message.role is Role.USER]),
        _words(said),
        newest and newest.status,
        any(message.is_intermediate for message in said),
    )


def _words(said: Sequence[Message]) -> str:
    return next((message.text for message in reversed(said) if message.text.strip()), "")
