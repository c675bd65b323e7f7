"""Foreseeing: what the next request of a conversation would show of its past, and why not the rest. Nothing is done."""

import dataclasses

import msgspec
from msgspec.structs import replace

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.delegation import Span
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import Kind, Message, Role
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.domain.turns.calls import LeftOut
from preceptor.engine.connecting import connected
from preceptor.engine.experimenting.enrolling import enroll
from preceptor.engine.history.history import History
from preceptor.engine.history.remembering import HIDES, Asking, Past, remember
from preceptor.engine.means.recalling import Recollection
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.taking.accepting import spoken_by
from preceptor.engine.taking.carry_over import carried_into, first_to_speak
from preceptor.engine.telling.voice import specialist_system, tools_for


class Wanted(msgspec.Struct, frozen=True, rename="camel"):
    """A summary that would be written first."""

    messages: int
    tokens: int


class ContextPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    conversation_id: ConversationId
    model: str
    cap: int
    """How many tokens a request may have: what the model has room for, or fewer if that was asked for."""
    fixed: int
    """Tokens besides history: the system prompt, tools, the format, room for the guardian. Of whoever speaks first: it
    may be a specialist."""
    messages: int
    tokens: int
    """Of all that was said and is not hidden."""
    shown: int
    shown_tokens: int
    left_out: tuple[LeftOut, ...]
    summaries: tuple[Wanted, ...]
    invalidated: int


class Foreseeing(msgspec.Struct, frozen=True):
    session: Session

    async def plan(self, conversation_id: ConversationId, parameters: RequestParameters) -> ContextPlan:
        async def program(work: Work) -> ContextPlan:
            conversation = await found(work, self.session.caller, conversation_id)
            asking = await self._asking(work, conversation, parameters)
            past = Past(conversation_id, *await work.messages.last(conversation_id))
            told = _told(past, asking, await remember(work, past, asking))
            speaker = await _speaker(work, conversation, asking)
            return told if speaker is None else replace(told, fixed=_heard_by(asking, speaker).costs.besides)

        return await self.session.read(program)

    async def _asking(self, work: Work, conversation: Conversation, parameters: RequestParameters) -> Asking:
        agent = await work.agents.find(conversation.agent_id)
        if agent is None:
            raise NotFound("agent", conversation.agent_id)
        enrolled = await enroll(work, self.session, agent, conversation)
        agent = enrolled.agent
        means = await connected(work, self.session, enrolled.compiled.head)
        name = agent.model or means.models.default
        model, counter = means.models.find(name), means.models.counter(name)
        spoken = spoken_by(work, means, enrolled, model, counter)
        assert spoken.pins is not None
        return Asking(
            means=means,
            voice=spoken.voice,
            model=model,
            counter=counter,
            parameters=parameters.over(conversation.parameters).over(agent.parameters),
            pins=spoken.pins,
            message=_next(conversation.conversation_id, self.session),
        )


async def _speaker(work: Work, conversation: Conversation, asking: Asking) -> Span | None:
    """The specialist who hears the next message first, because the agent carries over."""
    if not asking.pins.carry_over:
        return None
    there = await work.conversations.standing(conversation.conversation_id)
    known = Recollection(b"", conversation, there.last, there.total, there.view, 0, [], 0, there.running)
    return first_to_speak(asking.voice, asking.pins, await carried_into(work, known))


def _heard_by(asking: Asking, speaker: Span) -> Asking:
    """The same request with a specialist's prompt and tools. History is cut for the agent, whoever speaks first."""
    voice, limits, counter = asking.voice, asking.pins.limits, asking.counter
    tools = tools_for(voice, speaker, may_delegate=False, counter=counter, longest=limits.prompt)
    told = replace(voice, system=specialist_system(voice, speaker, counter), tools=tools)
    delegates = asking.pins.may_delegate and speaker.depth < limits.depth
    return dataclasses.replace(asking, voice=told, pins=replace(asking.pins, voice="", may_delegate=delegates))


def _next(conversation_id: ConversationId, session: Session) -> Message:
    """The message that is not said yet, and has no words."""
    return Message(
        id=MessageId("next"),
        conversation_id=conversation_id,
        turn_id=TurnId("next"),
        role=Role.USER,
        kind=Kind.MESSAGE,
        parts=(),
        instructions=(),
        tokens=0,
        created_at=session.world.now(),
    )


def _told(past: Past, asking: Asking, history: History) -> ContextPlan:
    fit, said = history.fit, history.said
    summaries = () if fit is None else fit.cut.spans
    tokens = sum(each.message.tokens for each in said) if fit is None else fit.cut.view.tokens
    hidden = sum(one.tokens for one in history.left_out if one.why == HIDES)
    return ContextPlan(
        conversation_id=past.conversation,
        model=asking.pins.model,
        cap=asking.cap,
        fixed=asking.costs.besides,
        messages=past.last,
        tokens=past.total - hidden,
        shown=len(said) + len(summaries),
        shown_tokens=tokens,
        left_out=history.left_out,
        summaries=tuple(Wanted(len(one.entries), one.tokens) for one in summaries),
        invalidated=history.invalidated,
    )
