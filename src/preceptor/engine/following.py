"""Following: where in a log a reader goes on."""

from preceptor.domain.ids import StreamId
from preceptor.engine.session import Session


async def no_further(session: Session, stream: StreamId, after: int) -> int:
    """The place after which a reader goes on. What is beyond the end is the end.

    A reader can have seen more than there is: before a backup was restored. It hears of all that is new from now on,
    instead of waiting in silence until the log has grown as long as the one it saw.
    """
    head = await session.read(lambda work: work.log.head(stream)) if after else None
    return 0 if head is None else min(after, head.seq)
