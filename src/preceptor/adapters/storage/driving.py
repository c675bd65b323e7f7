"""Driving a transaction to its end without an event loop: on SQLite, where statements never wait."""

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from preceptor.adapters.storage.connection import Heads
from preceptor.adapters.storage.statements import Row, Statement
from preceptor.adapters.storage.trails import Ends
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import PreceptorError
from preceptor.engine.ports import Program

Result = TypeVar("Result")


class SqliteExecutor(msgspec.Struct):
    """Never waits: a coroutine that awaits only this runs from start to end without an event loop."""

    cursor: sqlite3.Cursor
    """One for all statements: what one finds is taken at once."""
    heads: Heads
    trails: Ends
    wrote: bool = False

    async def all(self, statement: Statement, values: Row) -> list[Row]:
        return self.cursor.execute(statement.sqlite, values).fetchall()

    async def run(self, statement: Statement, values: Row) -> int:
        self.wrote = True
        return self.cursor.execute(statement.sqlite, values).rowcount

    async def put(self, statement: Statement, values: Row) -> None:
        self.wrote = True
        self.cursor.execute(statement.sqlite, values)

    async def many(self, statement: Statement, rows: Sequence[Row]) -> None:
        self.wrote = True
        if len(rows) == 1:
            self.cursor.execute(statement.sqlite, rows[0])
        else:
            self.cursor.executemany(statement.sqlite, rows)


def run_through(program: Program[Result], work: SqlWork) -> Result:
    """Drive a coroutine that only awaits its unit of work, which on SQLite never waits."""
    coroutine: Any = program(work)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise AwaitedOutside


class AwaitedOutside(PreceptorError):
    """A mistake in our own code: a transaction awaited something other than its unit of work."""

    def __str__(self) -> str:
        return "A transaction may await nothing but its unit of work."
