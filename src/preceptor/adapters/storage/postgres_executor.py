"""Statements on one connection to PostgreSQL, in as few round trips as can be."""

from collections.abc import Sequence
from typing import Any, LiteralString, cast

import msgspec
from psycopg import AsyncConnection, AsyncCursor
from psycopg.adapt import Transformer

from preceptor.adapters.storage.connection import Heads
from preceptor.adapters.storage.ready.log import ADD, MOVE_FROM
from preceptor.adapters.storage.silence import Watch
from preceptor.adapters.storage.statements import Row, Statement
from preceptor.domain.log import Event, Head

COMMIT = "COMMIT"
ROWS = 50
"""Most in one statement."""


class PostgresExecutor(msgspec.Struct):
    """What nobody waits for is sent together with what comes after it, most often the commit: in one message.

    Not in a pipeline: a process that stands still within one would hold its locks without end.
    """

    connection: AsyncConnection[Row]
    watch: Watch
    heads: Heads = msgspec.field(default_factory=Heads)
    trails: None = None
    later: list[str] = msgspec.field(default_factory=list[str])
    literals: Any = None
    """Writes values as PostgreSQL reads them; made when it is first needed."""

    async def all(self, statement: Statement, values: Row) -> list[Row]:
        return await (await self._execute(statement, values)).fetchall()

    async def run(self, statement: Statement, values: Row) -> int:
        return (await self._execute(statement, values)).rowcount

    async def put(self, statement: Statement, values: Row) -> None:
        self._put(statement.postgres, values)

    async def many(self, statement: Statement, rows: Sequence[Row]) -> None:
        for at in range(0, len(rows), ROWS):
            some = rows[at : at + ROWS]
            self._put(statement.of_rows(len(some)), [value for row in some for value in row])

    async def send(self, *statements: str) -> AsyncCursor[Row]:
        """All that was put off, and these, in one round trip."""
        self.watch.asked()
        told, self.later = "; ".join((*self.later, *statements)), []
        return await self.connection.execute(cast("LiteralString", told), prepare=False)

    async def append(self, opening: str, head: Head, sealed: Sequence[Event]) -> bool:
        """A whole transaction that does nothing but add to a stream, in one round trip.

        False if the stream does not end in `head` any more: then nothing is added.
        """
        last = sealed[-1]
        move = (last.seq, last.hash, last.org, last.stream, head.seq, head.hash, head.epoch)
        rows = [value for event in sealed for value in msgspec.structs.astuple(event)]
        statement = ADD.of_rows_if(MOVE_FROM, len(sealed))
        cursor = await self.send(opening, self._literally(statement, (*move, *rows)), COMMIT)
        cursor.nextset()
        cursor.nextset()
        return cursor.rowcount == len(sealed)

    async def _execute(self, statement: Statement, values: Row) -> AsyncCursor[Row]:
        if self.later:
            await self.send()
        self.watch.asked()
        return await self.connection.execute(cast("LiteralString", statement.postgres), values)

    def _put(self, statement: str, values: Sequence[Any]) -> None:
        self.later.append(self._literally(statement, values))

    def _literally(self, statement: str, values: Sequence[Any]) -> str:
        """With its values in it, which is what more than one statement in a message takes."""
        if self.literals is None:
            self.literals = Transformer(self.connection)
        literal = self.literals.as_literal
        return statement % tuple(["NULL" if one is None else literal(one).decode() for one in values])
