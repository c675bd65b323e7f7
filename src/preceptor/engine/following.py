"""Following: where in a log a reader goes on, and the events of a task as they come."""

from collections.abc import AsyncGenerator, Collection

from preceptor.domain.ids import StreamId, TaskId
from preceptor.domain.log import Event
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


async def follow_task(
    session: Session, task_id: TaskId, after: int, terminal: Collection[str]
) -> AsyncGenerator[list[Event]]:
    """Yield the events after `after` and then each new one, until the last; an empty list says 'still here'."""
    stream, org = StreamId(task_id), session.caller.owner.org_id
    after = await no_further(session, stream, after)
    while True:
        events = await session.read(lambda work, seq=after: work.log.after(stream, seq, BATCH))
        after = events[-1].seq if events else after
        yield events
        if len(events) == BATCH:
            continue
        row = await session.read(lambda work: work.tasks.find(task_id))
        if row is not None and row.open:
            await session.store.news(org, stream, after, PATIENCE)
        elif not events or events[-1].kind in terminal:
            return
