"""A database as it is at one moment, read without disturbing the server that writes to it."""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, cast

import msgspec

from preceptor.adapters.storage.opening import Database, PostgresDatabase, SqliteFile, unusable
from preceptor.adapters.storage.schema import CURRENT
from preceptor.adapters.storage.statements import Row, Statement
from preceptor.domain.errors import CannotStart

if TYPE_CHECKING:
    import psycopg

AT_ONCE = 2000
"""Rows fetched from PostgreSQL in one round trip."""


class SqliteSnapshot(msgspec.Struct, frozen=True):
    connection: sqlite3.Connection
    revision: str | None

    def rows(self, statement: Statement, **values: Any) -> Iterator[Row]:
        return self.connection.execute(statement.sqlite, statement.in_place(values))


class PostgresSnapshot(msgspec.Struct, frozen=True):
    connection: "psycopg.Connection[Row]"
    revision: str | None
    numbers: Iterator[int]

    def rows(self, statement: Statement, **values: Any) -> Iterator[Row]:
        with self.connection.cursor(f"rows_{next(self.numbers)}", binary=True) as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(cast("LiteralString", statement.postgres), statement.in_place(values))
            yield from cursor


Snapshot = SqliteSnapshot | PostgresSnapshot


@contextmanager
def snapshot_of(database: Database) -> Generator[Snapshot]:
    """Everything read from it is of the same moment: that of opening it."""
    match database:
        case SqliteFile(path):
            try:
                with sqlite_snapshot(path) as snapshot:
                    yield snapshot
            except sqlite3.DatabaseError as error:
                raise CannotStart(unusable(path, error)) from error
        case PostgresDatabase(url):
            from preceptor.adapters.storage.postgres import of_start

            with of_start(url), _postgres_snapshot(url) as snapshot:
                yield snapshot


@contextmanager
def sqlite_snapshot(path: Path) -> Generator[SqliteSnapshot]:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        connection.text_factory = text_or_bytes
        connection.execute("BEGIN")
        try:
            row = connection.execute(CURRENT).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # anything but a table that is not there
                raise
            row = None
        yield SqliteSnapshot(connection, row[0] if row else None)


def text_or_bytes(raw: bytes) -> str | bytes:
    """Text that is not UTF-8 was not written by us: it is shown as the bytes it is, and the reader goes on."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


@contextmanager
def _postgres_snapshot(url: str) -> Generator[PostgresSnapshot]:
    import psycopg

    with psycopg.connect(url, connect_timeout=5) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        known = connection.execute("SELECT set_config('preceptor.org', '*', true), to_regclass('alembic_version')")
        [(_, table)] = known.fetchall()
        row = connection.execute(CURRENT).fetchone() if table else None
        yield PostgresSnapshot(connection, row[0] if row else None, count(1))
