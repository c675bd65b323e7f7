"""Adding to many streams at once: while one transaction is on its way, what else is to be added waits for the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from preceptor.domain.ids import OrgId, StreamId
from preceptor.domain.log import Event, Head

MOST = 64
"""Streams in one transaction."""
HURRY = 0.25
"""Seconds after which others no longer wait for a transaction that is on its way: they go beside it."""


class Addition(msgspec.Struct, frozen=True):
    """Rows that are to follow the end of one stream, if that is still its end."""

    head: Head
    sealed: Sequence[Event]
    added: "asyncio.Future[bool]"
    """False if it is not, or if nobody can say what became of it."""

    @property
    def org(self) -> OrgId:
        return self.sealed[0].org


class Additions:
    """Those of one process. `send` carries some out in one transaction, and says of each whether it was added."""

    def __init__(self, send: Callable[[Sequence[Addition]], Awaitable[Sequence[bool]]]) -> None:
        self._send = send
        self._waiting: list[Addition] = []
        self._going: asyncio.Task[None] | None = None
        self._on_their_way: set[asyncio.Task[None]] = set()

    async def add(self, head: Head, sealed: Sequence[Event]) -> bool:
        addition = Addition(head, sealed, asyncio.get_running_loop().create_future())
        self._waiting.append(addition)
        if self._going is None or self._going.done():
            self._going = asyncio.create_task(self._go_on())
        return await addition.added

    async def _go_on(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            some.sort(key=_place)  # or two processes could wait for each other
            sending = asyncio.create_task(self._settle(some))
            self._on_their_way.add(sending)
            sending.add_done_callback(self._on_their_way.discard)
            await asyncio.wait({sending}, timeout=HURRY)

    async def _settle(self, some: Sequence[Addition]) -> None:
        added: Sequence[bool] = [False] * len(some)
        try:
            added = await self._send(some)
        finally:
            for one, done in zip(some, added, strict=True):
                if not one.added.done():  # whoever asked may have gone
                    one.added.set_result(done)


def _place(addition: Addition) -> tuple[OrgId, StreamId]:
    return addition.org, addition.sealed[0].stream
