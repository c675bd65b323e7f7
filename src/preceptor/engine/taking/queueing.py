"""Queueing: a message that comes while another is answered waits for its turn. Until then nothing is kept of it."""

from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from typing import Any

from preceptor.domain.errors import PreceptorError
from preceptor.domain.ids import ConversationId, StreamId, TurnId
from preceptor.domain.log import Head
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.means.queues import Queue, TurnInProgress
from preceptor.engine.repositories.work import Work
from preceptor.engine.seeing import found
from preceptor.engine.session import IdempotencyInProgress, IdempotencyMismatch, Session
from preceptor.engine.taking.carrying import Taken, elsewhere

LOOK_AGAIN = 15.0
"""Seconds after which someone who waits for a turn of another process tries, whatever was heard of it."""
Begin = Callable[[], Coroutine[Any, Any, Taken]]


async def in_turn(session: Session, conversation_id: ConversationId, begin: Begin) -> Taken:
    """Begin once all have ended who came before: at once, if there is nobody."""
    means, once = session.means, session.once
    with ExitStack() as leaving:
        queue = leaving.enter_context(means.queues.of(session.caller.owner.org_id, conversation_id, means.runner))
        async with queue.entrance:
            taken = await _let_in(session, conversation_id, queue, begin)
            if taken is not None:
                return taken
            leaving.enter_context(queue.place(None if once is None else (once.key, once.fingerprint)))
        async with queue.turnstile:
            while taken is None:
                await _ended(session, conversation_id, TurnId(queue.running))
                taken = await _tried(session, queue, begin)
            return taken


async def _let_in(session: Session, conversation_id: ConversationId, queue: Queue, begin: Begin) -> Taken | None:
    """Whoever finds nobody waiting may be the next. Whoever does waits, if it is for them to speak here at all."""
    if not queue.waiting:
        return await _tried(session, queue, begin)
    await session.answered_before()
    await session.read(lambda work: found(work, session.caller, conversation_id))
    if session.once is not None and session.once.key in queue.keys:
        same = queue.keys[session.once.key] == session.once.fingerprint
        raise IdempotencyInProgress if same else IdempotencyMismatch
    return None


async def _tried(session: Session, queue: Queue, begin: Begin) -> Taken | None:
    """Begin, unless someone else is speaking. Who leaves in the middle of it leaves a turn that goes on, or none."""
    came = list[Taken | PreceptorError]()

    async def work() -> None:
        try:
            came.append(await begin())
        except PreceptorError as refusal:
            came.append(refusal)

    await session.means.runner.shielded(work())
    match came[0]:
        case TurnInProgress(turn_id=running):
            queue.running = running
            return None
        case PreceptorError() as refusal:
            raise refusal
        case taken:
            queue.running = taken.turn_id
            return taken


async def _ended(session: Session, conversation_id: ConversationId, turn_id: TurnId) -> None:
    """Until a turn has ended, or long enough to look again."""
    here = session.means.running.get(turn_id)
    if here is not None:
        with suppress(Exception):  # what became of it is for whoever asked for it
            await here.wait()
        return

    async def program(work: Work) -> int | None:
        row = await work.turns.find(turn_id)
        if row is None or row.status is not TurnStatus.RUNNING:
            return None
        return (await work.log.head(StreamId(conversation_id)) or Head()).seq

    reached = await session.read(program)
    if reached is not None:
        await elsewhere(session, Taken(turn_id, conversation_id, reached), LOOK_AGAIN)
