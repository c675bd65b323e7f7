"""Contexts: the exact request behind a message, rebuilt from its manifest, with the source of every part."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from preceptor.domain.errors import NotFound
from preceptor.domain.ids import CallId, ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.assemble import Passage
from preceptor.domain.prompts.images import with_images
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.prompts.prompt import Ask, Prompt, Request, Segment
from preceptor.domain.prompts.source import AnySource, FromFormat, FromTool
from preceptor.domain.turns.calls import Call, LeftOut
from preceptor.domain.turns.turn import fold
from preceptor.engine.attachments import images_in
from preceptor.engine.following import events_of
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import Session
from preceptor.engine.telling.voice import read_system, read_tools
from preceptor.engine.viewing.looking import call_of_summary

NEAR = 60
"""Messages that are looked through for the call before."""
Format = Callable[[Prompt, Ask], Request]
"""Makes the bytes of a request from a prompt, the same for ever."""


class Piece(msgspec.Struct, frozen=True, rename="camel"):
    """A part of what the model was shown."""

    role: str
    text: str
    tokens: int
    source: AnySource


class Context(msgspec.Struct, frozen=True, rename="camel"):
    """What one call of a model was shown: the request to the byte, and where each part of it came from."""

    call_id: CallId
    model: str
    purpose: str
    format: str
    request: msgspec.Raw
    sha256: str
    intact: bool
    """Whether what was rebuilt is what was sent, by its hash."""
    tokens: int
    unattributed_tokens: int
    segments: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]


class Contexts(msgspec.Struct, frozen=True):
    session: Session
    formats: dict[str, Format]

    async def of_message(self, message_id: MessageId) -> Context:
        """The context of the call that a message is the answer of."""

        async def program(work: Work) -> tuple[Call, Prompt]:
            message = await self._message(work, message_id)
            if message.call_id is None:
                raise NotFound("model call behind the message", message_id)
            call = await _call(work, message)
            return call, await rebuilt(work, message.conversation_id, call, message.turn_id)

        call, prompt = await self.session.read(program)
        return context_of(call, prompt, self.formats[call.format])

    async def before(self, message_id: MessageId) -> MessageId | None:
        """The message of the call before, by the same speaker, if it is not far away."""

        async def program(work: Work) -> MessageId | None:
            message = await self._message(work, message_id)
            there = await work.messages.find(message_id)
            place = 0 if there is None else there[1].place
            said = await work.messages.between(message.conversation_id, max(1, place - NEAR), place - 1)
            calls = (each.message for each in reversed(said) if each.message.span_id == message.span_id)
            return next((each.id for each in calls if each.call_id not in {None, message.call_id}), None)

        return await self.session.read(program)

    async def conversation_of(self, message_id: MessageId) -> ConversationId:
        return (await self.session.read(lambda work: self._message(work, message_id))).conversation_id

    async def _message(self, work: Work, message_id: MessageId) -> Message:
        there = await work.messages.find(message_id)
        if there is None or there[2] is None:
            raise NotFound("message", message_id)
        await found(work, self.session.caller, there[0], archived=True)
        return there[2]


async def _call(work: Work, message: Message) -> Call:
    row = await work.turns.find(message.turn_id)
    assert message.call_id is not None
    turn = fold(message.turn_id, [] if row is None else await events_of(work, row))
    return turn.calls.get(message.call_id) or await call_of_summary(work, message)


async def rebuilt(work: Work, conversation: ConversationId, call: Call, turn_id: TurnId | None) -> Prompt:
    """The prompt of a call of this turn, from what its manifest refers to."""
    system = await work.blobs.get(call.system)
    tools = None if call.tools is None else await work.blobs.get(call.tools)
    assert system is not None
    said = Passage(await placed_for(work, conversation, call), turn_id, call.analyses)
    return Prompt(
        system=read_system(system),
        shown=tuple(said.shown),
        tail=call.tail,
        tools=() if tools is None else read_tools(tools),
        overhead=call.overhead,
    )


async def placed_for(work: Work, conversation: ConversationId, call: Call) -> list[Placed]:
    """The messages that a call was shown, in the form in which it was."""
    placed: list[Placed] = []
    for first, last in call.shown:
        placed += await work.messages.between(conversation, first, last)
    for at, message_id in call.summaries:
        placed.insert(at, await _beside(work, message_id))
    placed += [await _beside(work, message_id) for message_id in call.aside]
    placed = [_altered(each, call) for each in placed]
    if call.images:
        placed = with_images(placed, await images_in(work, (each.message for each in placed)))
    return placed


async def _beside(work: Work, message_id: MessageId) -> Placed:
    """A message that has no place of its own."""
    there = await work.messages.find(message_id)
    assert there is not None
    assert there[2] is not None
    return Placed(0, there[2])


def _altered(placed: Placed, call: Call) -> Placed:
    how = call.altered.get(placed.message.id)
    return placed if how is None else Placed(placed.place, how.of(placed.message), placed.withheld)


def context_of(call: Call, prompt: Prompt, render: Format) -> Context:
    request = render(prompt, call.ask)
    pieces = tuple(_pieces(prompt))
    return Context(
        call_id=call.call_id,
        model=call.model,
        purpose=call.purpose,
        format=call.format,
        request=msgspec.Raw(request.body),
        sha256=call.sha256,
        intact=request.sha256 == call.sha256,
        tokens=call.tokens,
        unattributed_tokens=call.tokens - sum(piece.tokens for piece in pieces),
        segments=pieces,
        left_out=call.left_out,
    )


def _pieces(prompt: Prompt) -> Sequence[Piece]:
    tools = [Piece("tools", _told(tool), tool.tokens, FromTool(tool.name)) for tool in prompt.tools]
    overhead = [Piece("format", "", prompt.overhead, FromFormat())] if prompt.overhead else []
    return (
        *(_segment("system", one) for one in prompt.system),
        *(Piece(one.message.role, _said(one.message), one.tokens, one.source) for one in prompt.shown),
        *(_segment("user", one) for one in prompt.tail),
        *tools,
        *overhead,
    )


def _segment(role: str, segment: Segment) -> Piece:
    return Piece(role, segment.text, segment.tokens, segment.source)


def _said(message: Message) -> str:
    """What it says; what it calls or answers, as it is stored."""
    return message.text or msgspec.json.encode(message.parts).decode()


def _told(tool: Any) -> str:
    told = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return msgspec.json.encode(told).decode()
