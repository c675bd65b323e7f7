"""Record: what a model is about to be shown, written down before it is sent. Nothing is sent without."""

from typing import Any

import msgspec

from preceptor.domain.ids import CallId, MessageId, SpanId
from preceptor.domain.messages.message import Kind
from preceptor.domain.prompts.assemble import Passage
from preceptor.domain.prompts.prompt import Ask, Prompt, Request
from preceptor.domain.turns.calls import Call, LeftOut
from preceptor.engine.telling.voice import Opening
from preceptor.engine.turn.run import Run


class Prepared(msgspec.Struct, frozen=True):
    """A call that is written down, ready to be sent."""

    call: Call
    request: Request


class Purpose(msgspec.Struct, frozen=True):
    """What a call is for, whose it is, and how often it was tried."""

    name: str
    span_id: SpanId | None
    attempt: int
    fallback: int = 0


class Showing(msgspec.Struct, frozen=True):
    """What a model is shown, from what that was made, and how it is asked."""

    prompt: Prompt
    said: Passage
    opened: Opening
    asked: Ask
    left_out: tuple[LeftOut, ...] = ()
    images: bool = False


def manifest(run: Run, said: Passage) -> dict[str, Any]:
    """Which messages a model is shown, in which order and form, and what that costs a provider's cache."""
    elsewhere, altered = said.elsewhere, run.history.altered
    ids = {each.message.id for each in said.said} if altered else frozenset[MessageId]()
    return {
        "shown": tuple(said.runs),
        "summaries": tuple([(at, message.id) for at, message in elsewhere if message.kind is Kind.SUMMARY]),
        "aside": tuple([message.id for _, message in elsewhere if message.kind is not Kind.SUMMARY]),
        "altered": {one: how for one, how in altered.items() if one in ids},
        "invalidated": 0 if run.turn.iterations else run.history.invalidated,
    }


def record(run: Run, purpose: Purpose, showing: Showing, request: Request) -> Prepared:
    """Note the manifest of a call: references to what is kept, and the hash of the very bytes."""
    prompt, said, opened, asked = showing.prompt, showing.said, showing.opened, showing.asked
    for kept in (opened.system_kept, opened.tools_kept):
        if kept is not None:
            run.journal.keep(kept.sha256, kept.body)
    call = Call(
        call_id=CallId(run.world.new_id()),
        purpose=purpose.name,
        span_id=purpose.span_id,
        model=asked.model,
        attempt=purpose.attempt,
        fallback=purpose.fallback,
        tokens=prompt.tokens,
        format=request.format,
        sha256=request.sha256,
        ask=asked,
        system=opened.system_kept.sha256,
        tools=opened.tools_kept and opened.tools_kept.sha256,
        **manifest(run, said),
        tail=prompt.tail,
        overhead=prompt.overhead,
        left_out=showing.left_out,
        images=showing.images,
        analyses=run.analyses,
    )
    run.journal.note("call.started", call)
    return Prepared(call, request)
