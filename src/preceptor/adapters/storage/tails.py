"""Readers that wait for a stream to grow: woken in this process at once, elsewhere by looking again."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager, suppress

import msgspec

from preceptor.adapters.storage.connection import Grown
from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import Event, Head
from preceptor.domain.ownership import Owner
from preceptor.engine.repositories.work import Program

Place = tuple[OrgId, StreamId]
Reader = Callable[[Owner, Program[Head | None]], Awaitable[Head | None]]
"""A store's `read`."""
MOST_TOLD = 256
"""Events that are kept for a reader that is slower than the writer. Beyond them it reads the database again."""


class Tail(msgspec.Struct):
    """One reader of a stream. It hears of every commit of this process from when it was made."""

    place: Place
    read: Reader
    look_again: float | None
    bell: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    told: list[Event] = []

    def hear(self, events: list[Event]) -> None:
        if len(self.told) + len(events) > MOST_TOLD:
            self.told.clear()
        else:
            self.told += events
        self.bell.set()

    def take(self, after: int) -> list[Event]:
        """What was heard of that follows `after` without a gap. Nothing may mean that only the database knows."""
        told, self.told = self.told, []
        new = [event for event in told if event.seq > after]
        whole = all(event.seq == seq for seq, event in enumerate(new, after + 1))
        return new if whole else []

    async def heard(self, patience: float) -> None:
        await _rung(self.bell, patience)

    async def wait(self, after: int, patience: float) -> None:
        """Return once there may be more than `after`, or after `patience` seconds."""
        if self.look_again is None:
            await _rung(self.bell, patience)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not await _rung(self.bell, self.look_again) and not await _grown(self.read, self.place, after):
                    pass


class Tails:
    """One per store. `look_again` is how often a reader asks the database itself; None where no one else writes."""

    def __init__(self, look_again: float | None) -> None:
        self._look_again = look_again
        self._waiting: defaultdict[Place, set[asyncio.Event]] = defaultdict(set)
        self._tails: dict[Place, list[Tail]] = {}

    def wake(self, grown: Iterable[Grown]) -> None:
        if not self._waiting and not self._tails:
            return
        for place, events in grown:
            for bell in self._waiting.get(place, ()):
                bell.set()
            for tail in self._tails.get(place, ()):
                tail.hear(events)

    @contextmanager
    def tail(self, read: Reader, place: Place) -> Generator[Tail]:
        made = Tail(place, read, self._look_again)
        self._tails.setdefault(place, []).append(made)
        try:
            yield made
        finally:
            left = [one for one in self._tails[place] if one is not made]
            if left:
                self._tails[place] = left
            else:
                del self._tails[place]

    async def wait(self, read: Reader, place: Place, after: int, patience: float) -> None:
        """Return once the stream at `place` has grown past `after`, or after `patience` seconds."""
        bell = asyncio.Event()
        self._waiting[place].add(bell)
        try:
            async with asyncio.timeout(patience):
                while not await _grown(read, place, after):
                    await _rung(bell, self._look_again)
        except TimeoutError:
            pass
        finally:
            self._waiting[place].discard(bell)
            if not self._waiting[place]:
                del self._waiting[place]


async def _rung(bell: asyncio.Event, seconds: float | None) -> bool:
    """Whether a bell rings within so many seconds."""
    if not bell.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await bell.wait()
    rang = bell.is_set()
    bell.clear()
    return rang


async def _grown(read: Reader, place: Place, after: int) -> bool:
    org, stream = place
    head = await read(Owner.model_construct(org_id=org, user_id=""), lambda work: work.log.head(stream))
    return head is not None and head.seq > after
