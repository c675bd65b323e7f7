"""Going on in this process: tasks of its own event loop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Generic, TypeVar, cast

import msgspec

from preceptor.engine.turn.journal import Torn

Result = TypeVar("Result")
_log = logging.getLogger(__name__)
LOUDER = 0.5
"""Seconds before a task that was told to stop is told again."""


class Running(msgspec.Struct, frozen=True):
    task: "asyncio.Task[None]"

    async def wait(self) -> None:
        if not self.task.done():
            over = asyncio.get_running_loop().create_future()
            self.task.add_done_callback(lambda _: over.done() or over.set_result(None))
            await over
        if not self.task.cancelled() and (error := self.task.exception()):
            raise error

    def stop(self) -> None:
        """Once it has begun: a task that is cancelled before would end without having put anything in order."""
        self.task.get_loop().call_soon(self.task.cancel)

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
            _log.error("something that went on by itself broke", exc_info=error, extra={"what": task.get_name()})

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
        _log.error("unexpected", exc_info=error, extra={"what": what})

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
        begun = Begun(work)
        if begun.ended:
            return begun.result
        beside = Beside(meanwhile)
        timer = asyncio.get_running_loop().call_later(seconds, beside.begin)
        try:
            result = await begun
        except asyncio.CancelledError:
            await beside.stop()
            raise
        except BaseException:
            await beside.over()
            raise
        finally:
            timer.cancel()
        await beside.over()
        return result

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
            _look_at(task)


class Begun(Generic[Result]):
    """Work that is begun before anyone waits for it: most of it ends at once, and what ends at once needs no timer.

    It runs in the task that began it, up to the first thing that has to be waited for. Awaiting it goes on from there.

    What fails before that fails here.
    """

    __slots__ = ("_awaited", "_steps", "ended", "result")

    result: Result
    """Once it has ended."""

    def __init__(self, work: Awaitable[Result]) -> None:
        self._steps: Any = work.__await__()
        self.ended = False
        try:
            self._awaited = self._steps.send(None)
        except StopIteration as done:
            self.ended, self.result = True, done.value

    def __await__(self) -> Generator[Any, Any, Result]:
        steps, awaited = self._steps, self._awaited
        try:
            while True:
                try:
                    told = yield awaited
                except BaseException as error:  # noqa: BLE001 - whatever ends the waiting, it is for what waits
                    awaited = steps.throw(error)
                else:
                    awaited = steps.send(told)
        except StopIteration as done:
            return done.value


async def limited(work: Awaitable[Result], limit: asyncio.Timeout) -> Result:
    """Wait for work within a limit."""
    begun = Begun(work)
    if begun.ended:
        return begun.result
    async with limit:
        return await begun


class Beside:
    """Something that is done once beside what a task waits for. If it fails, the waiting ends with its failure.

    The task does its waiting itself: one more task for each wait costs more than most of what is waited for.
    """

    __slots__ = ("_cancelling", "_do", "_failure", "_task", "_waits")

    def __init__(self, do: Callable[[], Awaitable[None]]) -> None:
        self._do, self._waits = do, asyncio.current_task()
        self._cancelling = 0 if self._waits is None else self._waits.cancelling()
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None

    def begin(self) -> None:
        self._task = asyncio.create_task(self._done())
        self._task.add_done_callback(self._ended)

    async def _done(self) -> None:
        await self._do()

    async def over(self) -> None:
        """What was waited for has come, or failed: wait for this as well, if it was begun."""
        self._waits = None
        if self._task is not None:
            await self._task

    async def stop(self) -> None:
        """The waiting was ended: because this failed, or by someone else."""
        waits, self._waits = self._waits, None
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            _look_at(self._task)
        if self._failure is not None and waits is not None and waits.uncancel() <= self._cancelling:
            raise self._failure

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if self._waits is not None and not task.cancelled() and (failure := task.exception()):
            self._failure = failure
            self._waits.cancel()


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


def _look_at(task: "asyncio.Task[None]") -> None:
    """A failure that nobody asks for any more is not one that nobody noticed."""
    with suppress(asyncio.CancelledError):
        task.exception()


async def _awaited(work: Awaitable[Result]) -> Result:
    return await work
