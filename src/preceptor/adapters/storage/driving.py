"""Driving a transaction to its end: on SQLite, where statements never wait.

One that is long is put aside between two statements, so that whoever else is there has a turn. It stays open meanwhile:
nobody sees any of it before it is committed.
"""

import asyncio
import sqlite3
from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import msgspec

from preceptor.adapters.storage.connection import Heads
from preceptor.adapters.storage.statements import Row, Statement
from preceptor.adapters.storage.trails import Ends
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import PreceptorError
from preceptor.engine.repositories.work import Program

Result = TypeVar("Result")
MANY = 100
"""Statements after which others have a turn: a few milliseconds, with what is done between them."""


class Pause:
    """All that a transaction may await besides its unit of work, and only the unit of work awaits it."""

    def __await__(self) -> "Generator[Pause]":
        yield self


PAUSE = Pause()


class SqliteExecutor(msgspec.Struct):
    """Never waits: a coroutine that awaits only this needs no event loop to come to its end."""

    cursor: sqlite3.Cursor
    """One for all statements: what one finds is taken at once."""
    heads: Heads
    trails: Ends
    writes: bool = False
    """Whether it is the writer's, so that nothing it knows is changed by others."""
    wrote: bool = False
    done: int = 0
    """Statements since the transaction began."""

    async def all(self, statement: Statement, values: Row) -> list[Row]:
        if self._goes_on_long():
            await PAUSE
        return self.cursor.execute(statement.sqlite, values).fetchall()

    async def run(self, statement: Statement, values: Row) -> int:
        if self._goes_on_long():
            await PAUSE
        self.wrote = True
        return self.cursor.execute(statement.sqlite, values).rowcount

    async def put(self, statement: Statement, values: Row) -> None:
        if self._goes_on_long():
            await PAUSE
        self.wrote = True
        self.cursor.execute(statement.sqlite, values)

    async def many(self, statement: Statement, rows: Sequence[Row]) -> None:
        if self._goes_on_long():
            await PAUSE
        self.wrote = True
        if len(rows) == 1:
            self.cursor.execute(statement.sqlite, rows[0])
        else:
            self.cursor.executemany(statement.sqlite, rows)

    def _goes_on_long(self) -> bool:
        self.done += 1
        return not self.done % MANY


async def run_through(program: Program[Result], executor: SqliteExecutor, work: SqlWork) -> Result:
    """Drive a coroutine that only awaits its unit of work."""
    coroutine: Any = program(work)
    try:
        while coroutine.send(None) is PAUSE:
            if not executor.writes:
                executor.trails = {}  # others write meanwhile, and this goes on seeing what was
            await asyncio.sleep(0)
    except StopIteration as done:
        return done.value
    finally:
        coroutine.close()
    raise AwaitedOutside


class AwaitedOutside(PreceptorError):
    """A mistake in our own code: a transaction awaited something other than its unit of work."""

    def __str__(self) -> str:
        return "A transaction may await nothing but its unit of work."
