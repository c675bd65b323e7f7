"""Readers that wait for a stream to grow: woken in this process at once, elsewhere by looking again."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable

from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import Head
from preceptor.domain.ownership import Owner
from preceptor.engine.ports import Program

Place = tuple[OrgId, StreamId]
Reader = Callable[[Owner, Program[Head | None]], Awaitable[Head | None]]
"""A store's `read`."""


class Tails:
    """One per store. `look_again` is how often a reader asks the database itself; None where no one else writes."""

    def __init__(self, look_again: float | None) -> None:
        self._look_again = look_again
        self._waiting: defaultdict[Place, set[asyncio.Event]] = defaultdict(set)

    def wake(self, places: Iterable[Place]) -> None:
        for place in places:
            for bell in self._waiting.get(place, ()):
                bell.set()

    async def wait(self, read: Reader, place: Place, after: int, patience: float) -> None:
        """Return once the stream at `place` has grown past `after`, or after `patience` seconds."""
        bell = asyncio.Event()
        self._waiting[place].add(bell)
        try:
            async with asyncio.timeout(patience):
                while not await _grown(read, place, after):
                    await self._heard(bell)
        except TimeoutError:
            pass
        finally:
            self._waiting[place].discard(bell)
            if not self._waiting[place]:
                del self._waiting[place]

    async def _heard(self, bell: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._look_again):
                await bell.wait()
        except TimeoutError:
            pass
        bell.clear()


async def _grown(read: Reader, place: Place, after: int) -> bool:
    org, stream = place
    head = await read(Owner.model_construct(org_id=org, user_id=""), lambda work: work.log.head(stream))
    return head is not None and head.seq > after
