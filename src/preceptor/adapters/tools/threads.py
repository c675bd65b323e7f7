"""Threads for tools that are ordinary functions. One that never ends is left behind, and keeps nothing from ending."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from preceptor.adapters.tools.function import ToolError

IDLE = 8
"""Threads that wait for the next call; more are started when they are needed, and end when they are not."""


Job = Callable[[], Callable[[], None]]
"""Does the work, and gives back how to tell what came of it."""


class Threads:
    """Each call has a thread to itself. A thread that is done waits for the next one: to start another costs more."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Job]] = []

    async def run(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def tell(method: str, value: Any) -> None:
            if not done.done():
                getattr(done, method)(value)

        def work() -> Callable[[], None]:
            try:
                told = "set_result", context.run(function, **arguments)
            except BaseException as error:  # noqa: BLE001 - handed over to the one who waits
                known = isinstance(error, Exception)
                told = "set_exception", error if known else ToolError("It asked to end the process.")

            def answer() -> None:
                with suppress(RuntimeError):  # the loop may be gone, and with it the one who asked
                    loop.call_soon_threadsafe(tell, *told)

            return answer

        self._hand(work)
        return await done

    def _hand(self, work: Job) -> None:
        try:
            jobs = self._idle.pop()
        except IndexError:
            jobs = SimpleQueue[Job]()
            threading.Thread(target=self._go_on, args=(jobs,), name="preceptor-tool", daemon=True).start()
        jobs.put(work)

    def _go_on(self, jobs: "SimpleQueue[Job]") -> None:
        needed = True
        while needed:
            answer = jobs.get()()
            needed = len(self._idle) < IDLE
            if needed:  # before it answers: whoever hears the answer finds it waiting
                self._idle.append(jobs)
            answer()
            del answer  # it holds what the tool returned


THREADS = Threads()
