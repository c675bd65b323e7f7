"""Glances: what a list shows of each conversation besides its title."""

from collections.abc import Iterable, Sequence

import msgspec

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import ConversationId
from preceptor.domain.messages.message import Message, Role
from preceptor.domain.turns.audience import for_user
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
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

    async def names(self, conversations: Iterable[str]) -> dict[str, str]:
        """The title of each, or what it began with. One that has neither, or is not the caller's to see, has none."""
        caller = self.session.caller

        async def program(work: Work) -> dict[str, str]:
            named: dict[str, str] = {}
            for each in {ConversationId(one) for one in conversations}:
                try:
                    conversation = await found(work, caller, each, archived=True)
                except NotFound:
                    continue
                if name := conversation.title or await _began(work, each):
                    named[each] = name
            return named

        return await self.session.read(program)


async def _glance(work: Work, conversation: Conversation) -> Glance:
    of = conversation.conversation_id
    last, tokens = await work.messages.last(of)
    rows = await work.messages.between(of, max(1, last - LOOKED_AT + 1), last) if last else []
    newest = await work.turns.newest(of)
    said = [message for message in (for_user(row.message) for row in rows) if message is not None]
    return Glance(
        conversation,
        last,
        tokens,
        await _began(work, of),
        _words(said),
        newest and newest.status,
        any(message.is_intermediate for message in said),
    )


async def _began(work: Work, of: ConversationId) -> str:
    return _words([row.message for row in await work.messages.between(of, 1, 1) if row.message.role is Role.USER])


def _words(said: Sequence[Message]) -> str:
    return next((message.text for message in reversed(said) if message.text.strip()), "")
