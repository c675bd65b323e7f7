"""PostgreSQL that says nothing more: a connection that stands still is cut, so that whoever waits for it is told."""

import asyncio
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from preceptor.adapters.storage.statements import Row

ALLOWED = "SELECT setting::float / 1000 FROM pg_settings WHERE name = 'statement_timeout'"
GRACE = 1.0
"""Seconds that an answer may take to arrive after PostgreSQL would have given up by itself."""
UNLIMITED = 30.0
"""Seconds of silence where statements may take for ever."""
CHECK = 5.0


class Watch:
    """Over one connection, for as long as someone uses it."""

    __slots__ = ("_asked", "_connection", "_loop", "_patience", "_timer", "cut")

    def __init__(self, connection: AsyncConnection[Any], patience: float) -> None:
        self.cut = False
        self._connection = connection
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._asked = self._loop.time()
        self._timer = self._loop.call_at(self._asked + patience, self._look)

    def asked(self) -> None:
        self._asked = self._loop.time()

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        until = self._asked + self._patience
        if until > self._loop.time():
            self._timer = self._loop.call_at(until, self._look)
            return
        self.cut = True
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self._connection.pgconn.socket)) as end:
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def watching(connection: AsyncConnection[Any], patience: float) -> Generator[Watch]:
    watch = Watch(connection, patience)
    try:
        yield watch
    finally:
        watch.stop()


class WatchedPool(AsyncConnectionPool[AsyncConnection[Row]]):
    """One in which no connection that stands still is waited for."""

    @staticmethod
    async def check_connection(conn: AsyncConnection[Row]) -> None:
        with watching(conn, CHECK):
            await conn.execute("")


async def longest_silence(connection: AsyncConnection[Row]) -> float:
    """Seconds after which an answer that did not come will not come."""
    [(allowed,)] = await (await connection.execute(ALLOWED)).fetchall()
    return (allowed or UNLIMITED) + GRACE
