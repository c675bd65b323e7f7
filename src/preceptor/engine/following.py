"""Following: where in a log a reader goes on, and the events of a task as they come."""

from collections.abc import AsyncGenerator

from preceptor.domain.ids import StreamId, TaskId
from preceptor.domain.log import Event
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session

BATCH = 500
PATIENCE = 15.0


async def no_further(session: Session, stream: StreamId, after: int) -> int:
    """The place after which a reader goes on. What is beyond the end is the end.

    A reader can have seen more than there is: before a backup was restored. It hears of all that is new from now on,
    instead of waiting in silence until the log has grown as long as the one it saw.
    """
    head = await session.read(lambda work: work.log.head(stream)) if after else None
    return 0 if head is None else min(after, head.seq)


async def follow_task(session: Session, task_id: TaskId, after: int) -> AsyncGenerator[list[Event]]:
    """Yield the events after `after` and then each new one, until the last; an empty list says 'still here'."""
    stream, org = StreamId(task_id), session.caller.owner.org_id
    after = await no_further(session, stream, after)

    async def program(work: Work) -> tuple[list[Event], bool]:
        row = await work.tasks.find(task_id)
        return await work.log.after(stream, after, BATCH), row is not None and row.open

    while True:
        events, goes_on = await session.read(program)
        after = events[-1].seq if events else after
        yield events
        if len(events) == BATCH:
            continue
        if not goes_on:
            return
        await session.store.news(org, stream, after, PATIENCE)


async def events_of(work: Work, row: TurnRow) -> list[Event]:
    """All events of a turn, in order."""
    stream, seq, found = StreamId(row.conversation_id), row.first, list[Event]()
    while batch := await work.log.after(stream, seq, BATCH):
        found += [event for event in batch if event.turn == row.turn_id]
        seq = batch[-1].seq
        if len(batch) < BATCH or (row.last is not None and seq >= row.last):
            break
    return found
