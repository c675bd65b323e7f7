"""Going on in this process: tasks of its own event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from traceback import format_exception
from typing import Any, TypeVar, cast

import msgspec

from preceptor.engine.journal import Torn

Result = TypeVar("Result")
LOUDER = 0.5
"""Seconds before a task that was told to stop is told again."""


class Running(msgspec.Struct, frozen=True):
    task: "asyncio.Task[None]"

    async def wait(self) -> None:
        await asyncio.wait({self.task})
        if not self.task.cancelled() and (error := self.task.exception()):
            raise error

    def stop(self) -> None:
        self.task.cancel()

    @property
    def ended(self) -> bool:
        return self.task.done()


class InProcess(msgspec.Struct, frozen=True):
    """Keeps hold of what it started, so that none of it is lost or left behind."""

    tasks: "set[asyncio.Task[None]]" = set()

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> Running:
        task = asyncio.create_task(work, name=name)
        self.tasks.add(task)
        task.add_done_callback(self._over)
        return Running(task)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log().error("something that went on by itself broke", what=task.get_name(), exc_info=error)

    async def together(self, works: Sequence[Awaitable[Result]]) -> list[Result]:
        if len(works) == 1:
            return [await works[0]]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_awaited(work)) for work in works]
        except BaseExceptionGroup as several:
            raise _first(several) from None
        return [task.result() for task in tasks]

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def report(self, what: str, error: Exception) -> None:
        _log().error("unexpected", what=what, traceback="".join(format_exception(error)))

    async def shielded(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task})
            raise

    def turnstile(self) -> AbstractAsyncContextManager[None]:
        return asyncio.Lock()

    async def or_at_least(
        self, work: Awaitable[Result], seconds: float, meanwhile: Callable[[], Awaitable[None]]
    ) -> Result:
        task = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
            if not done:
                await meanwhile()
            return await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def within(self, work: Awaitable[Result], seconds: float) -> Result:
        async with asyncio.timeout(seconds):
            return await work

    async def close(self) -> None:
        """Stop what still goes on. It is not over: it is taken up where it was."""
        stopping = pending = {task for task in self.tasks if not task.done()}
        while pending:  # a task may be told in the middle of something that hides it, such as a lost connection
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=LOUDER)
        for task in stopping:
            with suppress(asyncio.CancelledError):
                task.exception()


def _first(several: "BaseExceptionGroup[BaseException]") -> BaseException:
    """The failure that ended the others: what was torn by another failure may be heard of before it."""
    failures = list(_alone(several))
    return next((failure for failure in failures if not isinstance(failure, Torn)), failures[0])


def _alone(failure: BaseException) -> Iterator[BaseException]:
    if isinstance(failure, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", failure).exceptions:
            yield from _alone(one)
    else:
        yield failure


async def _awaited(work: Awaitable[Result]) -> Result:
    return await work


def _log() -> Any:
    import structlog  # with all that shows errors well, which most processes never do

    return structlog.get_logger(__name__)
