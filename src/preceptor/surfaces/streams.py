"""Open streams, and ending them when the server stops or the reader leaves."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi.responses import StreamingResponse

from preceptor.adapters.observability.metrics import Metrics
from preceptor.domain.errors import Conflict, ShuttingDown

EVENT_STREAM = "text/event-stream"
Item = TypeVar("Item")
_END: Any = object()
SOON = 0.05
"""Seconds after which a reader who has left is noticed."""


class Stopping(asyncio.Event):
    """Set when the server stops. Who waits for an item of a stream then waits no longer."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: set[asyncio.Timeout] = set()

    def set(self) -> None:
        super().set()
        waits, self.waits = self.waits, set()
        for wait in waits:
            _end(wait)


class Left(Conflict):
    """Nobody is told: there is no one to tell."""

    sentence: str = "The connection was closed before it was this message's turn, so it was not said. Send it again."


class Streams:
    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.stopping = Stopping()

    async def until_shutdown(self, items: AsyncGenerator[Item]) -> AsyncIterator[Item]:
        """Pass items on until there are no more or the server stops, whichever comes first."""
        self.metrics.stream_opened()
        try:
            async with aclosing(items):
                while not self.stopping.is_set():
                    item = await self._next(items)
                    if item is _END:
                        return
                    yield item
        finally:
            self.metrics.stream_closed()

    async def while_wanted(self, receive: Any, work: Awaitable[Item]) -> Item:
        """What comes of this, as long as the server goes on and whoever waits for it is there. Else it is stopped."""
        waiting = asyncio.timeout(0 if self.stopping.is_set() else None)
        watch = Watch(receive, waiting)
        try:
            async with waiting:
                self.stopping.waits.add(waiting)
                watch.begin(0)  # who takes a message back at once has not said it
                return await work
        except TimeoutError:
            if not waiting.expired():
                raise
            raise ShuttingDown("The server stops.") if self.stopping.is_set() else Left from None
        finally:
            watch.end()
            self.stopping.waits.discard(waiting)

    async def _next(self, items: AsyncGenerator[Item]) -> Item:
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self.stopping.waits.add(wait)
                return await anext(items, _END)
        except TimeoutError:
            if wait.expired():
                return _END
            raise
        finally:
            self.stopping.waits.discard(wait)


class Streamed(StreamingResponse):
    """A stream that ends when its reader leaves. What it was reading is told so once, and can tidy up in peace."""

    def __init__(
        self, told: AsyncIterator[bytes], headers: Mapping[str, str] | None = None, media_type: str = EVENT_STREAM
    ) -> None:
        at_once = {"X-Accel-Buffering": "no"}
        super().__init__(told, headers=at_once | dict(headers or {}), media_type=media_type)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002 - as ASGI has it
        reading = asyncio.timeout(None)
        watch = Watch(receive, reading)
        try:
            async with reading:
                watch.begin()
                await self.stream_response(send)
        except TimeoutError:
            if not reading.expired():
                raise
        finally:
            watch.end()
            await _closed(self.body_iterator)


class Watch:
    """Looks out for a reader who leaves, once there is time to: many a stream is over before."""

    def __init__(self, receive: Any, reading: asyncio.Timeout) -> None:
        self.receive, self.reading = receive, reading
        self.task: asyncio.Task[None] | None = None

    def begin(self, after: float = SOON) -> None:
        self.alarm = asyncio.get_running_loop().call_later(after, self._look)

    def end(self) -> None:
        self.alarm.cancel()
        if self.task is not None:
            self.task.cancel()

    def _look(self) -> None:
        self.task = asyncio.create_task(_left(self.receive, self.reading))


async def _left(receive: Any, reading: asyncio.Timeout) -> None:
    """Wait until the reader has left; then end the reading."""
    while (await receive())["type"] != "http.disconnect":
        pass
    _end(reading)


def _end(wait: asyncio.Timeout) -> None:
    """Let it be over now. One that is ending already is left alone: it cannot be ended twice."""
    if not wait.expired():
        wait.reschedule(asyncio.get_running_loop().time())


async def _closed(items: Any) -> None:
    if hasattr(items, "aclose"):
        await items.aclose()
