"""Clients that keep their own history: their messages are matched to a conversation of ours, or begin one."""

from typing import ClassVar

import msgspec
from msgspec.structs import replace

from preceptor.domain.agents import Agent
from preceptor.domain.conversations.conversation import Conversation, NewConversation
from preceptor.domain.conversations.view import count, part, shown
from preceptor.domain.errors import Conflict, Invalid, NotFound
from preceptor.domain.ids import AgentId, ConversationId, TurnId
from preceptor.domain.messages.brought import Brought, open_calls, settled
from preceptor.domain.messages.message import Role, ToolCall
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.prompts.prompt import ToolSpec
from preceptor.engine.history.reaching import said_in
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.starting import start
from preceptor.engine.taking.accepting import Wanted, accept
from preceptor.engine.taking.bringing import Client
from preceptor.engine.taking.carrying import Taken
from preceptor.engine.turn.run import Run
from preceptor.engine.turns import Turns

LAST = 100
"""So many of the newest messages that are shown are looked through for calls that wait for a result."""


class Asked(msgspec.Struct, frozen=True):
    """What a client asks: its whole history, the newest message last."""

    agent_id: str
    said: tuple[Brought, ...]
    parameters: RequestParameters
    conversation_id: ConversationId | None = None
    after: TurnId | None = None
    """Instead of a conversation: the turn that it goes on after."""
    tools: tuple[ToolSpec, ...] = ()
    forced: str | None = None
    """The one of them that must be called."""
    must_call: bool = False
    """Any of them must be called."""
    client: str = "openai"
    """Which kind of client, for the metadata of a conversation that begins with it."""


class ModelNotFound(NotFound):
    code: ClassVar[str] = "model_not_found"

    def __str__(self) -> str:
        return f"There is no model {self.id!r} here. Every agent is a model by its id: GET /v1/models lists them."


class NothingSaid(Invalid):
    sentence: str = "The last message must be a user's, or the result of a tool, and say something."


class Clients(msgspec.Struct, frozen=True):
    session: Session

    async def require(self, agent_id: str) -> Agent:
        """The agent that such clients call a model; without one, complain."""
        agent = await self.session.read(lambda work: work.agents.find(AgentId(agent_id)))
        if agent is None:
            raise ModelNotFound("model", agent_id)
        return agent

    async def begin(self, asked: Asked) -> Taken:
        """Accept the newest of a client's messages, with those before it as its history; the turn goes on by itself."""
        turn_id = TurnId(self.session.world.new_id())
        conversation_id = ConversationId(self.session.world.new_id())

        async def program(work: Work) -> tuple[Run, int]:
            if not await work.agents.has(AgentId(asked.agent_id)):
                raise ModelNotFound("model", asked.agent_id)
            known = await self._known(work, asked)
            conversation = known or await self._started(work, asked, conversation_id)
            waiting, told = await _new(work, conversation, asked.said) if known else ((), asked.said)
            return await accept(work, self.session, _wanted(conversation, asked, settled(told, waiting)), turn_id)

        return await Turns(self.session).start(turn_id, program)

    async def _known(self, work: Work, asked: Asked) -> Conversation | None:
        conversation_id = asked.conversation_id
        if asked.after is not None:
            conversation_id = await self._gone_on(work, asked.after, conversation_id)
        if conversation_id is None:
            return None
        conversation = await found(work, self.session.caller, conversation_id)
        if conversation.agent_id != asked.agent_id:
            said = f"The conversation {conversation_id} is with {conversation.agent_id!r}: send that as the model."
            raise Invalid(said)
        return conversation

    async def _gone_on(self, work: Work, after: TurnId, named: ConversationId | None) -> ConversationId:
        row = await work.turns.find(after)
        if row is None:
            raise NotFound("response", after)
        await found(work, self.session.caller, row.conversation_id)
        newest = await work.turns.newest(row.conversation_id)
        if newest is None or newest.turn_id != after or (named is not None and named != row.conversation_id):
            raise Conflict("That conversation has gone on since. Go on after its newest response.")
        return row.conversation_id

    async def _started(self, work: Work, asked: Asked, conversation_id: ConversationId) -> Conversation:
        new = NewConversation(agent_id=asked.agent_id, metadata={"client": asked.client})
        return await start(work, self.session.caller.owner, conversation_id, new)


async def _new(
    work: Work, conversation: Conversation, said: tuple[Brought, ...]
) -> tuple[tuple[ToolCall, ...], tuple[Brought, ...]]:
    """What a client says that the conversation does not have: all after the last answer. And calls that wait for it."""
    conversation_id = conversation.conversation_id
    last, total = await work.messages.last(conversation_id)
    if not last:
        return (), said
    answers = [place for place, one in enumerate(said) if one.role is Role.ASSISTANT]
    told = said[answers[-1] + 1 if answers else 0 :]
    runs = shown(await work.views.current(conversation_id), last, total)
    newest = await said_in(work, conversation_id, part(runs, max(0, count(runs) - LAST), LAST))
    waiting = open_calls([each.message for each in newest])
    return waiting, tuple(one for one in told if one.role is not Role.SYSTEM)


def _wanted(conversation: Conversation, asked: Asked, told: list[Brought]) -> Wanted:
    if not told or told[-1].role is Role.ASSISTANT:
        raise NothingSaid
    question = told[-1]
    client = Client(tuple(told[:-1]), asked.tools, asked.forced, asked.must_call, question.role is Role.TOOL)
    wanted = Wanted(conversation, question.parts, asked.parameters)
    return replace(wanted, client=client)
