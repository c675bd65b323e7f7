"""Statements on one connection to PostgreSQL, in as few round trips as can be."""

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, LiteralString, cast

import msgspec
from psycopg import AsyncConnection, AsyncCursor
from psycopg.adapt import Transformer

from preceptor.adapters.storage.adding import Addition
from preceptor.adapters.storage.connection import Heads
from preceptor.adapters.storage.faults import reach
from preceptor.adapters.storage.ready.log import ADD, MOVE_FROM
from preceptor.adapters.storage.silence import Watch
from preceptor.adapters.storage.statements import Row, Statement
from preceptor.adapters.storage.trails import Ends
from preceptor.domain.ids import OrgId

ROWS = 50
"""Most in one statement."""
LONGEST = 1_000_000
"""Characters that are put off at most."""


class PostgresExecutor(msgspec.Struct):
    """What nobody waits for is sent together with what comes after it, most often the commit: in one message.

    Not in a pipeline: a process that stands still within one would hold its locks without end.
    """

    connection: AsyncConnection[Row]
    watch: Watch
    heads: Heads = msgspec.field(default_factory=Heads)
    trails: Ends = msgspec.field(default_factory=Ends)
    later: list[str] = msgspec.field(default_factory=list[str])
    size: int = 0
    """Of all that is put off, in characters."""
    literals: Any = None
    """Writes values as PostgreSQL reads them; made when it is first needed."""

    async def all(self, statement: Statement, values: Row) -> list[Row]:
        return await (await self._execute(statement, values)).fetchall()

    async def run(self, statement: Statement, values: Row) -> int:
        return (await self._execute(statement, values)).rowcount

    async def put(self, statement: Statement, values: Row) -> None:
        await self._put_off(self._literally(statement.postgres, values))

    async def many(self, statement: Statement, rows: Sequence[Row]) -> None:
        for at in range(0, len(rows), ROWS):
            some = rows[at : at + ROWS]
            await self._put_off(self._literally(statement.of_rows(len(some)), [one for row in some for one in row]))

    async def send(self, *statements: str) -> AsyncCursor[Row]:
        """All that was put off, and these, in one round trip."""
        self.watch.asked()
        told, self.later, self.size = "; ".join((*self.later, *statements)), [], 0
        return await self.connection.execute(cast("LiteralString", told), prepare=False)

    async def append(self, fence: Callable[[OrgId], str], additions: Sequence[Addition]) -> list[bool]:
        """A whole transaction that does nothing but add to streams, in one round trip.

        False for a stream that does not end in its `head` any more: to that one nothing is added.
        """
        told, rows = ["BEGIN ISOLATION LEVEL READ COMMITTED"], [0]
        for org, of_one in groupby(additions, key=attrgetter("org")):
            told.append(fence(org))
            rows.append(0)
            for one in of_one:
                told.append(self._addition(one))
                rows.append(len(one.sealed))
        reach("postgres.before-commit")
        cursor = await self.send(*told, "COMMIT")
        reach("postgres.after-commit")
        found: list[bool] = []
        for wanted in rows:
            if wanted:
                found.append(cursor.rowcount == wanted)
            cursor.nextset()
        return found

    def _addition(self, one: Addition) -> str:
        head, last = one.head, one.sealed[-1]
        move = (last.seq, last.hash, last.org, last.stream, head.seq, head.hash, head.epoch)
        rows = [value for event in one.sealed for value in msgspec.structs.astuple(event)]
        return self._literally(ADD.of_rows_if(MOVE_FROM, len(one.sealed)), (*move, *rows))

    async def _execute(self, statement: Statement, values: Row) -> AsyncCursor[Row]:
        if self.later:
            cursor = await self.send(self._literally(statement.postgres, values))
            while cursor.nextset():
                pass
            return cursor
        self.watch.asked()
        return await self.connection.execute(cast("LiteralString", statement.postgres), values)

    async def _put_off(self, statement: str) -> None:
        self.later.append(statement)
        self.size += len(statement)
        if self.size > LONGEST:
            await self.send()

    def _literally(self, statement: str, values: Sequence[Any]) -> str:
        """With its values in it, which is what more than one statement in a message takes."""
        if self.literals is None:
            self.literals = Transformer(self.connection)
        literal = self.literals.as_literal
        return statement % tuple(["NULL" if one is None else literal(one).decode() for one in values])
