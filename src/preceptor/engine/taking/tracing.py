"""Tracing: once a turn has ended, whoever watches is handed what its spans are made of. Until then it costs nothing."""

from contextlib import suppress

from preceptor.domain.errors import PreceptorError
from preceptor.domain.ids import ConversationId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.turns.facts import fact_of
from preceptor.engine.contexts import rebuilt
from preceptor.engine.following import events_of
from preceptor.engine.means.means import Means
from preceptor.engine.means.traced import TracedTurn, TurnTracer
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

PATIENCE = 1.0


def trace_later(session: Session, turn_id: TurnId) -> None:
    """Beside everything else: nobody waits for it, and what goes wrong with it changes nothing."""
    means = session.means
    if means.tracer is not None:
        work = _trace(session, means.tracer, turn_id)
        means.traces[turn_id] = means.runner.spawn(f"trace {turn_id}", work)


async def all_traced(means: Means) -> None:
    """Until what is being handed over is, but not for long."""
    for handle in list(means.traces.values()):
        with suppress(TimeoutError):
            await means.runner.within(handle.wait(), PATIENCE)


async def _trace(session: Session, tracer: TurnTracer, turn_id: TurnId) -> None:
    async def program(work: Work) -> TracedTurn | None:
        row = await work.turns.find(turn_id)
        if row is None or row.last is None:
            return None
        events = tuple(await events_of(work, row))
        prompts = await _prompts(work, row.conversation_id, events) if tracer.content else None
        return TracedTurn(turn_id, row.conversation_id, events, prompts)

    try:
        with suppress(PreceptorError):
            traced = await session.store.read(session.caller.owner, program)
            if traced is not None:
                tracer.turn(traced)
    finally:
        session.means.traces.pop(turn_id, None)


async def _prompts(work: Work, conversation_id: ConversationId, events: tuple[Event, ...]) -> dict[str, Prompt]:
    found: dict[str, Prompt] = {}
    for event in events:
        if event.kind == "call.started" and event.payload is not None:
            call = fact_of(event.kind, event.payload)
            found[call.call_id] = await rebuilt(work, conversation_id, call, event.turn)
    return found
