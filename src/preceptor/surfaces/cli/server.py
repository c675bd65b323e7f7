"""The web server around the application: its socket, its limits, and how it stops."""

import asyncio
import errno
import gc
import os
import signal
import socket
import threading
from asyncio import Transport
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from preceptor.adapters.observability.logs import logger
from preceptor.domain.errors import CannotStart

LARGEST_HEAD = 65_536
HEAD_PATIENCE = 10.0
"""Seconds a new connection may take to send the head of its first request."""
GRACE = 2
"""Seconds that requests in flight are given when the server stops."""
DEADLINE = 4.5
"""Seconds after which a server that was told to stop is gone, whatever still hangs. What it acknowledged is on disk."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
BACKLOG = 2048


class Together:
    """A connection on which the head of an answer leaves with its body, in one piece: each piece costs a system call.

    A head whose body is not there yet does not wait for it longer than until the loop comes round.
    """

    def __init__(self, transport: Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop, self._head = transport, loop, b""
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data[:5] == b"HTTP/" and data[-4:] == b"\r\n\r\n":
            self._head = data
            self._loop.call_soon(self._send_head)
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._send_head()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _send_head(self) -> None:
        if self._head and not self.is_closing():
            head, self._head = self._head, b""
            self._transport.write(head)


class Connection(HttpToolsProtocol):
    """Gives up on a request whose head is endless or never comes: the parser alone would collect it for ever."""

    _head_open = False
    _head_size = 0
    _first: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(cast("Transport", Together(transport, self.loop)))
        self._first = self.loop.call_later(HEAD_PATIENCE, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._hear_of_first()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head_open:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self._head_open = False
                self.send_400_response("The request's head is too large.")

    def on_message_begin(self) -> None:
        self._head_open, self._head_size = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_open = False
        self._hear_of_first()
        super().on_headers_complete()

    def _hear_of_first(self) -> None:
        if self._first is not None:
            self._first.cancel()
            self._first = None


class Server(uvicorn.Server):
    """Stops at the first signal: streams end and new requests are told so at once, not when the last one is done."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            Config(
                app,
                http=Connection,
                ws="none",
                loop="uvloop",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE,
                backlog=BACKLOG,
            )
        )
        self._stopping: asyncio.Event = app.state.streams.stopping

    @contextmanager
    def heeding_signals(self) -> Generator[None]:
        """Longer than `serve`, so that a signal while we tidy up does not cut that short."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What is loaded by now stays: looking through it for garbage would hold up every stream for 0.1 s.
        gc.collect()
        gc.freeze()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Not uvicorn's way, which is to die of the signal in the end: to be stopped is to succeed."""
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as uvicorn calls it
        if not self.should_exit:
            last_resort = threading.Timer(DEADLINE, _give_up)
            last_resort.daemon = True
            last_resort.start()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stop()

    def stop(self) -> None:
        self.should_exit = True
        self._stopping.set()


def listen(host: str, port: int, setting: str = "PRECEPTOR_PORT") -> socket.socket:
    """Take the port, or say in one sentence why it cannot be had; `setting` is where it comes from."""
    host = host.strip("[]")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotStart(_why_not(error, host, port, setting)) from error


def _why_not(error: OSError, host: str, port: int, setting: str) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} of {host} is in use by another program. Stop that one, or choose another {setting}."
        case errno.EACCES:
            return f"Port {port} is reserved for the system. Choose a {setting} above 1023."
        case _:
            return f"PRECEPTOR_HOST={host} is not an address of this machine. Set it to 127.0.0.1, or to one that is."


def _give_up() -> None:
    logger("preceptor.serve").error("stopped the hard way: something did not end in time", seconds=DEADLINE)
    os._exit(1)
