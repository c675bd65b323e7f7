"""From a database URL to an open store: the only place that knows there are two kinds."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from preceptor.adapters.storage import schema
from preceptor.adapters.storage.failures import of_sqlite
from preceptor.adapters.storage.locating import Database, PostgresDatabase, SqliteFile, locate
from preceptor.adapters.storage.lockfile import Lock
from preceptor.adapters.storage.sqlite import SqliteStore
from preceptor.domain.errors import CannotStart, DiskFull
from preceptor.engine.ports import World
from preceptor.engine.repositories.work import Store

Committed = Callable[[int, float], None]
__all__ = [
    "Database",
    "Opened",
    "PostgresDatabase",
    "SqliteFile",
    "locate",
    "of_start",
    "open_store",
    "prepare_folder",
    "revision_of",
    "unusable",
    "upgrade",
]


class Opened(msgspec.Struct, frozen=True):
    store: Store
    announce: Callable[[str | None], None]
    """Leave word for other commands of where this process listens. Says nothing on PostgreSQL."""


@asynccontextmanager
async def open_store(database: Database, world: World, committed: Committed | None = None) -> AsyncGenerator[Opened]:
    """Open a database for writing, bringing its schema up to date first."""
    match database:
        case SqliteFile():
            async with _open_sqlite(database, world, committed) as opened:
                yield opened
        case PostgresDatabase(url):
            async with _open_postgres(url, committed) as opened:
                yield opened


@asynccontextmanager
async def _open_sqlite(file: SqliteFile, world: World, committed: Committed | None) -> AsyncGenerator[Opened]:
    prepare_folder(file.path.parent)
    with ExitStack() as held:
        with of_start(file):
            lock = held.enter_context(Lock(file.path))
            upgrade(file)
            store = SqliteStore(file.path, world, committed=committed)
        try:
            yield Opened(store, lock.announce)
        finally:
            await store.close()


@asynccontextmanager
async def _open_postgres(url: str, committed: Committed | None) -> AsyncGenerator[Opened]:
    from preceptor.adapters.storage.postgres import PostgresStore

    await asyncio.to_thread(upgrade, PostgresDatabase(url))
    store = await PostgresStore.open(url, committed=committed)
    try:
        yield Opened(store, lambda _: None)
    finally:
        await store.close()


def revision_of(database: Database) -> str | None:
    """The schema a database is at; None when it is new."""
    with of_start(database):
        match database:
            case SqliteFile(path):
                return schema.sqlite_revision(path)
            case PostgresDatabase(url):
                return schema.postgres_revision(url)


def upgrade(database: Database) -> bool:
    """Bring the schema up to date; False when it is already. A newer schema than ours is refused."""
    if isinstance(database, SqliteFile) and not database.is_there:
        with of_start(database):
            database.path.touch(mode=0o600)  # for its owner alone, as is then what SQLite puts beside it
    revision = revision_of(database)
    schema.refuse_newer(revision)
    if revision == schema.HEAD:
        return False
    with of_start(database):
        if revision is None and isinstance(database, SqliteFile):
            schema.make_sqlite(database.path)
        else:
            schema.upgrade(database.url)
    return True


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(
            f"The data folder {folder} cannot be made ({error.strerror}). Choose another PRECEPTOR_DATA_DIR."
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotStart(
            f"The data folder {folder} is read-only for this user. "
            "Make it writable, or choose another PRECEPTOR_DATA_DIR."
        )


@contextmanager
def of_start(database: Database) -> Generator[None]:
    """While starting: a database that cannot be used is something the operator can mend."""
    match database:
        case SqliteFile(path):
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise CannotStart(unusable(path, error)) from error
        case PostgresDatabase(url):
            from preceptor.adapters.storage import postgres

            with postgres.of_start(url):
                yield


def unusable(path: Path, error: sqlite3.Error | OSError) -> str:
    if isinstance(of_sqlite(error), DiskFull):
        return f"There is no room on the disk for {path}. Free some space, or choose another PRECEPTOR_DATA_DIR."
    return (
        f"The database file {path} cannot be used: {error}. "
        "Check its permissions and the disk, or point PRECEPTOR_DATABASE_URL at another file."
    )
