"""Listen to a model: what it says is noted as it comes, and whole when the provider has said that this was all."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import msgspec

from preceptor.domain.ids import MessageId
from preceptor.domain.messages.directive import INTERMEDIATE
from preceptor.domain.messages.message import AnyPart, Message, Role, ToolCall, calls_in
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.prompt import Request
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, Reply, Usage
from preceptor.domain.turns.calls import Call, CallEnded, CallOutcome
from preceptor.domain.turns.facts import MessageAbandoned, MessageDelta, MessageStarted
from preceptor.domain.turns.turn import Lane
from preceptor.engine.ports import ChatModel
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.specialists import meet
from preceptor.engine.turn.stages.check import kept_back, may_be_kept_back
from preceptor.engine.turn.stages.control import delegates
from preceptor.engine.turn.stages.moderate import heard, held_back, shown_at_once

COALESCE = 0.1
"""Seconds: what is streamed within them is one row of the log."""
BREATH, LONGEST = 4, 1.0
"""Where writing a row takes long, so many times as long goes by before the next, but at most a second: a storage that
many wait for is asked less often, and those who wait for a first word are heard.
"""
BROKE_OFF = "The model's answer ended before it was complete."
CUT_OFF = "The answer was cut off before this call was complete."


class Stream(msgspec.Struct):
    """A message that is being streamed. The first piece is shown at once, later ones together."""

    run: Run
    call: Call
    message_id: MessageId
    started: bool = False
    waiting: list[Delta] = []
    shown_at: float = 0.0
    pause: float = COALESCE

    async def next(self, pieces: AsyncGenerator[Delta | Reply]) -> Delta | Reply | None:
        """The next piece. What waits is shown when it is due, also if nothing more comes; the first at once."""
        if not self.waiting:
            return await anext(pieces, None)
        left = self.pause - (self.run.world.monotonic() - self.shown_at) if self.started else 0.0
        if left <= 0 and self.started:
            await self.show()
            return await anext(pieces, None)
        return await self.run.means.runner.or_at_least(anext(pieces, None), left, self.show)

    async def show(self) -> None:
        self.shown_at = self.run.world.monotonic()
        self.note()
        await self.run.journal.commit()
        self.pause = pause_after(self.run.world.monotonic() - self.shown_at)

    def note(self) -> None:
        """Note what waits; pieces of thought and of speech are different rows."""
        journal = self.run.journal
        if self.waiting and not self.started:
            self.started = True
            fact = MessageStarted(message_id=self.message_id, call_id=self.call.call_id, span_id=self.call.span_id)
            journal.note("message.started", fact)
        for thinking in (True, False):
            text = "".join(delta.text for delta in self.waiting if delta.thinking is thinking)
            if text:
                journal.note("message.delta", MessageDelta(message_id=self.message_id, text=text, thinking=thinking))
        self.waiting = []


def pause_after(seconds: float) -> float:
    """From one row to the next, when writing the last took so long."""
    return min(max(COALESCE, BREATH * seconds), LONGEST)


async def listen(run: Run, lane: Lane, call: Call, request: Request) -> None:
    began, model = run.world.monotonic(), run.model_of(lane)
    stream = Stream(run, call, MessageId(run.world.new_id()))
    try:
        reply = await _whole(stream, model, request, shown=shown_at_once(run) and not may_be_kept_back(run))
    except ModelFailure as failure:
        _failed(run, model, stream, failure, began)
        return
    stream.note()
    run.journal.note("call.ended", _ended(run, model, call, reply, began))
    if await held_back(run, lambda: heard(reply.parts)):
        return
    if calls := calls_in(reply.parts):
        await meet(run, calls)
    message = _message(run, lane, stream, reply)
    if not kept_back(run, lane, message):
        run.journal.note("message.completed", message)


async def hear(run: Run, model: ChatModel, call: Call, request: Request, seconds: float) -> Reply:
    """A whole reply that is nobody's message, such as a plan. What it cost is noted, whatever comes of it."""
    began = run.world.monotonic()
    try:
        reply = await _reply(model, request, seconds)
    except ModelFailure as failure:
        _failed(run, model, Stream(run, call, MessageId("")), failure, began)
        raise
    run.journal.note("call.ended", _ended(run, model, call, reply, began))
    return reply


async def _reply(model: ChatModel, request: Request, seconds: float) -> Reply:
    async with aclosing(model.send(request, seconds)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Reply):
                return piece
    raise ModelFailure(Fault.BROKEN_STREAM, BROKE_OFF)


def _ended(run: Run, model: ChatModel, call: Call, reply: Reply, began: float) -> CallEnded:
    return CallEnded(
        call_id=call.call_id,
        outcome=CallOutcome.OK,
        span_id=call.span_id,
        usage=priced(reply.usage, model.capabilities),
        finish=reply.finish,
        milliseconds=_since(run, began),
    )


async def _whole(stream: Stream, model: ChatModel, request: Request, *, shown: bool) -> Reply:
    """All of it. Where answers are judged, none of it is `shown` before it has been."""
    async with aclosing(model.send(request, stream.run.seconds_left)) as pieces:
        while (piece := await stream.next(pieces)) is not None:
            if isinstance(piece, Reply):
                return piece
            if shown:
                stream.waiting.append(piece)
    raise ModelFailure(Fault.BROKEN_STREAM, BROKE_OFF)


def _message(run: Run, lane: Lane, stream: Stream, reply: Reply) -> Message:
    parts, marks = reply.parts, ()
    if calls_in(parts):
        parts = tuple(_distinct(run, parts))
        if reply.finish in (Finish.LENGTH, Finish.CONTENT_FILTER):
            parts = tuple(_cut_off(part) for part in parts)
        marks = (INTERMEDIATE,) if delegates(run, lane, calls_in(parts)) else ()
    return run.message(Role.ASSISTANT, parts, lane, *marks, message_id=stream.message_id, call_id=stream.call.call_id)


def _distinct(run: Run, parts: tuple[AnyPart, ...]) -> Iterator[AnyPart]:
    """The parts, with every tool call under an id of its own: some servers count from nought in each answer."""
    taken = set(run.turn.named)
    for part in parts:
        if isinstance(part, ToolCall):
            call_id, number = part.id, 1
            while call_id in taken:
                number += 1
                call_id = f"{part.id}_{number}"
            taken.add(call_id)
            yield part if call_id == part.id else msgspec.structs.replace(part, id=call_id)
        else:
            yield part


def _cut_off(part: AnyPart) -> AnyPart:
    """A tool call in an answer that the provider broke off may be half of one: it never runs."""
    if isinstance(part, ToolCall) and part.malformed is None:
        return msgspec.structs.replace(part, malformed=CUT_OFF)
    return part


def _failed(run: Run, model: ChatModel, stream: Stream, failure: ModelFailure, began: float) -> None:
    if stream.started:
        run.journal.note("message.abandoned", MessageAbandoned(message_id=stream.message_id, why=str(failure)))
    run.journal.note(
        "call.ended",
        CallEnded(
            call_id=stream.call.call_id,
            outcome=CallOutcome.FAILED,
            span_id=stream.call.span_id,
            usage=priced(failure.usage or Usage(), model.capabilities),
            fault=failure.fault,
            sentence=str(failure),
            status=failure.status,
            retry_after=failure.retry_after,
            milliseconds=_since(run, began),
        ),
    )


def priced(usage: Usage, model: Capabilities) -> Usage:
    """The usage with what it cost, unless the provider said so itself."""
    if usage.cost or not (model.input_price or model.output_price):
        return usage
    cached = model.input_price if model.cached_price is None else model.cached_price
    fresh = max(0, usage.input_tokens - usage.cached_tokens)
    cost = (fresh * model.input_price + usage.cached_tokens * cached + usage.output_tokens * model.output_price) / 1e6
    return msgspec.structs.replace(usage, cost=cost)


def _since(run: Run, began: float) -> int:
    return round((run.world.monotonic() - began) * 1000)
