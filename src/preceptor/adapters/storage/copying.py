"""Whole databases, copied: file to file by pages, from one kind of database to the other by rows."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString, cast

from sqlalchemy import MetaData, NullPool, Table, create_engine, func, select

from preceptor.adapters.storage import schema
from preceptor.adapters.storage.opening import SqliteFile
from preceptor.adapters.storage.snapshots import PostgresSnapshot, Snapshot, SqliteSnapshot
from preceptor.adapters.storage.sql.building import compiled, insert_into
from preceptor.adapters.storage.statements import Row
from preceptor.adapters.storage.webhook_tables import metadata

if TYPE_CHECKING:
    import psycopg

Progress = Callable[[int, int], None]
"""Hears how much is done, of how much: pages or rows."""

PAGES = 4096
ROWS = 1000
BOOKKEEPING = "alembic_version"


def copy_pages(source: SqliteSnapshot, to: Path, progress: Progress) -> None:
    """Fill the empty file `to` with the snapshot, which a writer to the same file neither delays nor changes."""
    with closing(sqlite3.connect(to, isolation_level=None)) as target:
        source.connection.backup(target, pages=PAGES, progress=lambda _, left, total: progress(total - left, total))
        target.execute("PRAGMA journal_mode=DELETE")  # nothing beside the file is needed to read it


def copy_rows_to_sqlite(source: PostgresSnapshot, to: Path, progress: Progress) -> None:
    """Fill the empty file `to` with the same schema and rows."""
    schema.upgrade(SqliteFile(to).url, source.revision or schema.HEAD)
    with closing(sqlite3.connect(to, isolation_level=None)) as target:
        target.execute("PRAGMA synchronous=OFF")
        target.execute("BEGIN")
        for table, rows in _batches(source, tables_of(to), progress):
            target.executemany(insert_into(table).sqlite, rows)
        target.execute("COMMIT")


def copy_rows_to_postgres(source: SqliteSnapshot, target: "psycopg.Connection[Row]", progress: Progress) -> None:
    """Fill the empty tables of a database at our schema, in the transaction that `target` is in."""
    for table, rows in _batches(source, metadata.sorted_tables, progress):
        with target.cursor() as cursor:
            cursor.executemany(cast("LiteralString", insert_into(table).postgres), rows)


def tables_of(path: Path) -> list[Table]:
    """The tables that hold something of ours, as they are in this very file: it may be older than this version."""
    engine = create_engine(SqliteFile(path).url, poolclass=NullPool)
    found = MetaData()
    found.reflect(engine)
    engine.dispose()
    return [table for table in found.sorted_tables if table.name != BOOKKEEPING]


def count_rows(source: Snapshot, tables: Sequence[Table]) -> int:
    counts = (compiled(select(func.count()).select_from(table)) for table in tables)
    return sum(number for count in counts for (number,) in source.rows(count))


def _batches(source: Snapshot, tables: Sequence[Table], progress: Progress) -> Iterator[tuple[Table, list[Row]]]:
    done, total = 0, count_rows(source, tables)
    for table in tables:
        rows = source.rows(compiled(select(table)))
        while batch := list(islice(rows, ROWS)):
            yield table, batch
            done += len(batch)
            progress(done, total)
