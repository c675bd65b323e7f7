"""One MCP server, spoken to for as long as someone does: opened by the first who asks, left when all is quiet."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from preceptor.engine.mcp_servers import ServerFailed

if TYPE_CHECKING:
    from mcp import Client

START = 20.0
QUIET = 60.0
FAREWELL = 5.0

_log = logging.getLogger(__name__)


@dataclass
class Held:
    """`opening` is entered and left in one task of its own, as the protocol's implementation wants it."""

    name: str
    opening: "Callable[[], AbstractAsyncContextManager[Client]]"
    quiet: float = QUIET
    calls: int = 0
    _task: "asyncio.Task[None] | None" = field(default=None, init=False)
    _ready: "asyncio.Future[Client] | None" = field(default=None, init=False)
    _leave: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def client(self) -> "Client":
        """The server's client, as soon as it is ready. A server that does not come up is a `ServerFailed`."""
        if self._task is None or self._task.done() or self._leave.is_set():
            self._leave = asyncio.Event()
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold(self._ready, self._leave))
        assert self._ready is not None
        try:
            async with asyncio.timeout(START):
                return await asyncio.shield(self._ready)
        except TimeoutError:
            self.drop()
            raise ServerFailed(f"The MCP server {self.name!r} did not start within {START:g} s.") from None

    def drop(self) -> None:
        """Leave it: whoever asks next opens it again."""
        self._leave.set()

    async def close(self) -> None:
        self.drop()
        if self._task is not None and not self._task.done():
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    await asyncio.wait({self._task})
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _hold(self, ready: "asyncio.Future[Client]", leave: asyncio.Event) -> None:
        try:
            async with self.opening() as client:
                ready.set_result(client)
                while not leave.is_set():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self.quiet):
                            await leave.wait()
                    if not self.calls:
                        leave.set()
        except asyncio.CancelledError:
            if not ready.done():
                ready.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - whatever ends it, the next who asks opens it again
            _log.warning("mcp_server_lost", extra={"server": self.name, "error": _plain(error)})
            if not ready.done():
                ready.set_exception(_failure(self.name, error))
                ready.exception()  # whoever waited may have gone
        finally:
            leave.set()


def _failure(name: str, error: BaseException) -> ServerFailed:
    if isinstance(error, ServerFailed):
        return error
    return ServerFailed(
        f"The MCP server {name!r} cannot be spoken to ({_plain(error)}). Check its address and key, and that it runs."
    )


def _plain(error: BaseException) -> str:
    """The innermost cause, in short."""
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    return f"{type(error).__name__}: {str(error)[:200]}"
