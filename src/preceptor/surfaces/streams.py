"""Open streams, and ending them when the server stops."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TypeVar

import anyio

from preceptor.adapters.observability.metrics import Metrics

Item = TypeVar("Item")


class Streams:
    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.stopping = asyncio.Event()

    async def until_shutdown(self, items: AsyncGenerator[Item]) -> AsyncIterator[Item]:
        """Pass items on until there are no more or the server stops, whichever comes first."""
        stop = asyncio.create_task(self.stopping.wait())
        self.metrics.stream_opened()
        try:
            async with aclosing(items):
                while True:
                    step = asyncio.ensure_future(anext(items))
                    try:
                        await asyncio.wait({step, stop}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        await _finish(step)
                    if step.cancelled():
                        return
                    try:
                        yield step.result()
                    except StopAsyncIteration:
                        return
        finally:
            stop.cancel()
            self.metrics.stream_closed()


async def _finish(step: asyncio.Future[Item]) -> None:
    """End a step that still runs. Shielded: when the reader has gone, this task is being cancelled itself."""
    if not step.done():
        step.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({step})
    if not step.cancelled():
        step.exception()  # the reader may have left just as the stream ended, and then no one asks how
