"""Conversations that a tool call starts beside its own. They go on by themselves, whatever becomes of the caller."""

from collections.abc import Awaitable, Callable

import msgspec
import orjson

from preceptor.domain.conversations.conversation import Conversation, NewConversation
from preceptor.domain.errors import Conflict, Invalid, PreceptorError
from preceptor.domain.ids import AgentId, ConversationId, TurnId
from preceptor.domain.messages.message import Outcome, Text, ToolCall, ToolResult
from preceptor.domain.prompts.parameters import AS_USUAL
from preceptor.domain.turns.facts import Ended
from preceptor.domain.turns.independent import DEEPEST, Independent, ids_for, independent
from preceptor.engine.repositories.work import Program, Work
from preceptor.engine.session import Session
from preceptor.engine.starting import start
from preceptor.engine.taking.accepting import Wanted, accept
from preceptor.engine.taking.carrying import Taken
from preceptor.engine.turn.run import Run


class Beside(msgspec.Struct, frozen=True):
    session: Session
    begin: Callable[[TurnId, Program[tuple[Run, int]]], Awaitable[Taken]]
    settled: Callable[[Taken], Awaitable[Ended]]

    async def __call__(self, parent: ConversationId, call: ToolCall, key: str, deadline: float) -> ToolResult:
        """Start what a call asks for, once, however often it is repeated. Whatever goes wrong is in the result."""
        asked = independent(call.arguments)
        try:
            content = asked if isinstance(asked, str) else await self._started(parent, asked, key, deadline)
        except PreceptorError as error:
            asked = content = str(error)
        if isinstance(asked, str):
            return ToolResult(call.id, call.name, content, is_error=True, outcome=Outcome.ERROR)
        return ToolResult(call.id, call.name, content)

    async def _started(self, parent: ConversationId, asked: Independent, key: str, deadline: float) -> str:
        conversation_id, turn_id = ids_for(key)
        said = None if asked.message is None else Text(asked.message)

        async def open_it(work: Work) -> Conversation:
            known = await work.conversations.find(conversation_id)
            return known or await self._opened(work, parent, asked, conversation_id)

        async def begin(work: Work) -> tuple[Run, int]:
            conversation = await open_it(work)
            assert said is not None
            return await accept(work, self.session, Wanted(conversation, (said,), AS_USUAL), turn_id)

        if said is None:
            await self.session.write(open_it)
            return _told(conversation_id)
        row = await self.session.read(lambda work: work.turns.find(turn_id))
        taken = await self.begin(turn_id, begin) if row is None else Taken(turn_id, conversation_id, row.first)
        return _told(conversation_id, await self._answer(taken, deadline) if asked.expects_response else None)

    async def _answer(self, taken: Taken, deadline: float) -> Ended:
        try:
            return await self.session.means.runner.within(self.settled(taken), deadline)
        except TimeoutError:
            sentence = f"No answer came within {deadline:.0f} s. {taken.conversation_id} goes on by itself."
            raise Conflict(sentence) from None

    async def _opened(
        self, work: Work, parent: ConversationId, asked: Independent, conversation_id: ConversationId
    ) -> Conversation:
        if not await work.agents.has(AgentId(asked.agent_id)):
            raise Invalid(f"There is no agent {asked.agent_id[:80]!r} here.")
        await _not_too_deep(work, parent)
        new = NewConversation(agent_id=asked.agent_id, title=asked.title, parent_id=parent)
        return await start(work, self.session.caller.owner, conversation_id, new)


async def _not_too_deep(work: Work, parent: ConversationId) -> None:
    above: ConversationId | None = parent
    for _ in range(DEEPEST):
        conversation = None if above is None else await work.conversations.find(above)
        above = conversation and conversation.parent_id
    if above is not None:
        raise Invalid(f"At most {DEEPEST} conversations may start one another. Do it yourself.")


def _told(conversation_id: ConversationId, ended: Ended | None = None) -> str:
    told = {"conversationId": conversation_id}
    if ended is not None:
        told |= {"status": ended.status, "response": str((ended.ui or {}).get("response", ""))}
        if ended.sentence:
            told["error"] = ended.sentence
    return orjson.dumps(told).decode()
