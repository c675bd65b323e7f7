"""Conversations: start, read, change, archive, list, follow."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from preceptor.domain.agents import DEFAULT_AGENT
from preceptor.domain.conversations.conversation import (
    Conversation,
    ConversationChange,
    NewConversation,
    Status,
    changed,
    fold,
)
from preceptor.domain.conversations.conversation import (
    archived as archived_event,
)
from preceptor.domain.ids import AgentId, ConversationId, StreamId, UserId
from preceptor.domain.log import Event, NewEvent
from preceptor.domain.messages.message import Text
from preceptor.domain.ownership import Permission
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.value import made, told
from preceptor.engine.following import no_further
from preceptor.engine.means.recalling import agent_now
from preceptor.engine.preconditions import IfMatch, check
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.starting import start
from preceptor.engine.taking.answers import Answer
from preceptor.engine.turns import Turns

BATCH = 200
PATIENCE = 15.0
"""Seconds a reader of the log waits before it is told that there is nothing new, so that it can show it is alive."""


class Wanted(msgspec.Struct, frozen=True):
    """Which conversations a list is about. None means any."""

    agent_id: str | None = None
    status: Status | None = None
    words: str | None = None
    user_id: UserId | None = None


class Conversations(msgspec.Struct, frozen=True):
    session: Session

    async def start(self, given: NewConversation | None = None, **fields: Any) -> Conversation:
        new = made(NewConversation, given, fields)
        conversation_id = ConversationId(self.session.world.new_id())

        async def program(work: Work) -> Conversation:
            await agent_now(work, self.session.means.agents, AgentId(new.agent_id))
            if new.parent_id is not None:
                await found(work, self.session.caller, new.parent_id)
            return await start(work, self.session.caller.owner, conversation_id, new)

        return await self.session.write(program)

    async def get(self, conversation_id: ConversationId, *, archived: bool = False) -> Conversation:
        """Read a conversation; an archived one only when asked for as such."""
        caller = self.session.caller
        return await self.session.read(lambda work: found(work, caller, conversation_id, archived=archived))

    async def change(
        self,
        conversation_id: ConversationId,
        given: ConversationChange | None = None,
        if_match: IfMatch = None,
        **fields: Any,
    ) -> Conversation:
        """Change it; what changes nothing is not written down."""
        change = made(ConversationChange, given, fields)
        return await self._step(conversation_id, changed(change), if_match, told(change))

    async def archive(self, conversation_id: ConversationId, if_match: IfMatch = None) -> None:
        """Put it out of sight. Nothing is deleted: it can be asked for as archived, and the log keeps every word."""
        await self._step(conversation_id, archived_event(), if_match)

    async def page(self, wanted: Wanted, cursor: str | None = None, limit: int = 50) -> Page[Conversation]:
        caller = self.session.caller
        mine = None if caller.may(Permission.CONVERSATION_READ_ANY) else caller.owner.user_id
        scoped = Wanted(wanted.agent_id, wanted.status or Status.ACTIVE, wanted.words, mine)

        async def program(work: Work) -> Page[Conversation]:
            rows = await work.conversations.page(scoped, position_of(cursor), limit + 1)
            return page_of(rows, limit, lambda row: row.conversation_id)

        return await self.session.read(program)

    async def follow(
        self, conversation_id: ConversationId, after: int = 0, *, archived: bool = False
    ) -> AsyncGenerator[list[Event]]:
        """Yield the events after `after` and then each new one as it is committed; an empty list says 'still here'."""
        await self.get(conversation_id, archived=archived)
        after = await no_further(self.session, StreamId(conversation_id), after)
        async with aclosing(self.go_on(conversation_id, after)) as batches:
            async for events in batches:
                yield events

    async def go_on(self, conversation_id: ConversationId, after: int) -> AsyncGenerator[list[Event]]:
        """The same for whoever has just been let into the conversation, and need not be asked again."""
        stream, org = StreamId(conversation_id), self.session.caller.owner.org_id
        with self.session.store.tail(org, stream) as tail:
            while True:
                known = tail.take(after)
                events = known or await self.session.read(lambda work, seq=after: work.log.after(stream, seq, BATCH))
                after = events[-1].seq if events else after
                yield events
                if len(events) < BATCH:
                    await tail.wait(after, PATIENCE)

    async def say(
        self,
        text: str,
        agent: str | None = None,
        conversation: str | None = None,
        parameters: RequestParameters | None = None,
        *,
        queue: bool = False,
    ) -> Answer:
        """Say something in a conversation, or in a new one with `agent`; answers when the turn has settled.

        With `queue` it waits for what was said there before it.
        """
        conversation_id = ConversationId(conversation or "")
        if conversation is None:
            conversation_id = (await self.start(agent_id=agent or DEFAULT_AGENT)).conversation_id
        return await Turns(self.session).say(conversation_id, [Text(text)], parameters, queue=queue)

    async def _step(
        self,
        conversation_id: ConversationId,
        event: NewEvent,
        if_match: IfMatch,
        news: Mapping[str, Any] | None = None,
    ) -> Conversation:
        async def program(work: Work) -> Conversation:
            before = await found(work, self.session.caller, conversation_id)
            check(if_match, before.etag)
            if news is not None and before.model_copy(update=news) == before:
                return before
            after = fold(await work.log.append(StreamId(conversation_id), [event]), before)
            assert after is not None
            await work.conversations.replace(after)
            return after

        return await self.session.write(program)
