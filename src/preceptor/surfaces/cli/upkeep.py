"""What a server does by itself, now and then."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from preceptor.adapters.observability.logs import logger
from preceptor.adapters.storage import anchoring
from preceptor.app import Preceptor
from preceptor.domain.errors import PreceptorError, Unavailable

CHECKPOINT_EVERY = 60.0
MOST_CHECKPOINTS = 100
"""At a time: streams that grow faster than they are told of wait for the next minute."""
SWEEP_EVERY = 3600.0
SETTLED = 2.0
"""Seconds after the start until the first sweep: a server that never runs for an hour sweeps, too."""
LAST_CHECKPOINT = 1.0
"""Seconds the checkpoint at the end may take: a database that is away must not keep us."""


class Upkeep(msgspec.Struct, frozen=True):
    preceptor: Preceptor

    @property
    def anchors(self) -> Path:
        return self.preceptor.settings.data_dir / "anchors.jsonl"

    async def checkpoint(self) -> None:
        """Note the heads of all streams that grew, and put the note where whoever edits the database may forget it."""
        for _ in range(MOST_CHECKPOINTS):
            event = await self.preceptor.installation.checkpoint()
            if event is None:
                return
            await asyncio.to_thread(anchoring.append, self.anchors, event, self.preceptor.session.world.now())

    async def sweep(self) -> None:
        """Unless workers do that: there, one does it for all."""
        if self.preceptor.settings.runner == "inline":
            await self.preceptor.installation.sweep()

    @asynccontextmanager
    async def going_on(self) -> AsyncGenerator[None]:
        tasks = [
            asyncio.create_task(_every(CHECKPOINT_EVERY, CHECKPOINT_EVERY, "checkpoint", self.checkpoint)),
            asyncio.create_task(_every(SWEEP_EVERY, SETTLED, "sweep", self.sweep)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await _tried("checkpoint", self._last_checkpoint)

    async def _last_checkpoint(self) -> None:
        try:
            async with asyncio.timeout(LAST_CHECKPOINT):
                await self.checkpoint()
        except TimeoutError:
            raise Unavailable(f"The database did not answer within {LAST_CHECKPOINT:.0f} s.") from None


async def _every(seconds: float, first: float, name: str, chore: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(first)
    while True:
        await _tried(name, chore)
        await asyncio.sleep(seconds)


async def _tried(name: str, chore: Callable[[], Awaitable[None]]) -> None:
    """A chore that fails is tried again next time; it must not take the server with it."""
    try:
        await chore()
    except PreceptorError as error:
        logger("preceptor.upkeep").warning("a chore must wait", chore=name, reason=str(error))
    except Exception as error:  # noqa: BLE001 - see above
        logger("preceptor.upkeep").error("a chore failed", chore=name, exc_info=error)
