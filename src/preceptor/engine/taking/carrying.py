"""Carrying a turn to its end: through failures of the storage, and past whatever no stage knew how to deal with."""

from datetime import datetime

import msgspec

from preceptor.domain.conversations.view import root
from preceptor.domain.errors import DiskFull, PreceptorError, Unavailable, recorded
from preceptor.domain.ids import ConversationId, StreamId, TurnId
from preceptor.domain.log import Fenced
from preceptor.domain.turns.carry_over import carried
from preceptor.domain.turns.facts import TERMINAL, Ended, TurnStatus, fact_of
from preceptor.domain.turns.step import Settle
from preceptor.engine.means.recalling import LONGEST, Recollection, weight_of
from preceptor.engine.ports import StartBeside
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.taking.distilling import distil_later
from preceptor.engine.taking.recovering import BATCH, Recovered, take_up
from preceptor.engine.taking.tracing import trace_later
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.settle import settle
from preceptor.engine.turn.turn import take_turn

PATIENCE = 15.0
EXHAUSTED = recorded("The turn was taken up again too often, and ended its process each time.")
UNEXPECTED = recorded("Something happened that no one had thought of. It is in the server's log.")


class Taken(msgspec.Struct):
    """A turn that goes on by itself."""

    turn_id: TurnId
    conversation_id: ConversationId
    first: int = 0
    """The row of the log before its first."""
    ended: Ended | None = None
    replayed: bool = False
    """It was asked for before, with the same idempotency key."""
    asked_at: datetime | None = None
    """When the message was accepted that it answers."""
    epoch: int | None = None
    """Take it up only if no one else has since."""


async def carry(session: Session, taken: Taken, run: Run | None, beside: StartBeside) -> None:
    """Take a turn to its end. What stops us leaves it to be taken up again, unless it is what someone asked for."""
    means = session.means
    try:
        while True:
            try:
                if await _carried_on(session, taken, run, beside):
                    if taken.ended is not None:
                        trace_later(session, taken.turn_id)
                    return
                run = None
                await means.runner.pause(means.beat)
            except BaseException:
                if taken.turn_id not in means.stopping:
                    raise
                means.stopping.discard(taken.turn_id)
                run = None  # the log says that it was asked to stop
    finally:
        means.running.pop(taken.turn_id, None)
        means.places.leave(taken.turn_id)
        means.stopping.discard(taken.turn_id)


async def elsewhere(session: Session, taken: Taken, patience: float | None = None) -> Ended | None:
    """The end of a turn that another process takes, read from the log; None if that takes too long."""
    org, stream, after = session.caller.owner.org_id, StreamId(taken.conversation_id), taken.first
    began = session.world.monotonic()
    while patience is None or session.world.monotonic() - began < patience:
        batch = await session.read(lambda work, seq=after: work.log.after(stream, seq, BATCH))
        for event in batch:
            if event.turn == taken.turn_id and event.kind in TERMINAL and event.payload is not None:
                return fact_of(event.kind, event.payload)
        after = batch[-1].seq if batch else after
        if len(batch) < BATCH:
            await session.store.news(org, stream, after, PATIENCE if patience is None else patience)
    return None


async def _carried_on(session: Session, taken: Taken, run: Run | None, beside: StartBeside) -> bool:
    """Take it to its end. False if the storage was away: what is not on the disk has not happened."""
    try:
        run = run or await _from_log(session, taken)
        if run is not None:
            run.beside = beside
            await take_turn(run)
            taken.ended = run.turn.ended
            know_by_heart(run)
            distil_later(session, run)
    except Fenced:
        return True
    except (Unavailable, DiskFull):
        return False
    except Exception as error:  # noqa: BLE001 - whatever happens, the conversation must not stay blocked
        return await _failed(session, taken, error)
    return True


def know_by_heart(run: Run) -> None:
    """Keep the conversation as it stands now in mind, if nothing happened in it but this turn."""
    journal, history, conversation, ended = run.journal, run.history, run.conversation, run.turn.ended
    if not journal.alone or conversation is None or ended is None:
        return
    near = [*history.near, *journal.here][-LONGEST:]
    run.means.memory.keep(
        journal.org,
        Recollection(
            head=journal.head,
            conversation=conversation,
            last=journal.place,
            total=journal.cum,
            view=history.view or root(conversation.conversation_id),
            clarifications=run.pins.clarifications + 1 if ended.status is TurnStatus.CLARIFY else 0,
            near=near,
            weight=weight_of(near),
            carried=carried(run.turn),
        ),
    )


async def _failed(session: Session, taken: Taken, error: Exception) -> bool:
    """A mistake of ours, or something that no stage knew how to deal with: the turn has failed, and says so."""
    code, sentence = "internal", UNEXPECTED
    if isinstance(error, PreceptorError):
        code, sentence = error.code, str(error)
    else:
        session.means.runner.report(f"turn {taken.turn_id}", error)
    try:
        run = await _from_log(session, taken)
        if run is not None:
            await settle(run, Settle(TurnStatus.FAILED, code, sentence))
            taken.ended = run.turn.ended
    except Fenced:
        return True
    except (Unavailable, DiskFull):
        return False
    return True


async def _from_log(session: Session, taken: Taken) -> Run | None:
    async def program(work: Work) -> Recovered | None:
        return await take_up(work, session, taken.turn_id, taken.epoch)

    recovered = await session.store.write(session.caller.owner, program)
    if recovered is None:
        return None
    if recovered.exhausted:
        await settle(recovered.run, Settle(TurnStatus.FAILED, "recovery_exhausted", EXHAUSTED))
        taken.ended = recovered.run.turn.ended
        return None
    return recovered.run
