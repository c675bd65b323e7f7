"""Backups: one SQLite file, whatever the database, which can be restored into a database of either kind.

This is also how an installation moves from SQLite to PostgreSQL.
"""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from sqlalchemy.exc import DBAPIError

from preceptor.adapters.storage import schema
from preceptor.adapters.storage.copying import (
    Progress,
    copy_pages,
    copy_rows_to_postgres,
    copy_rows_to_sqlite,
    count_rows,
    tables_of,
)
from preceptor.adapters.storage.files import finish, unfinished
from preceptor.adapters.storage.lockfile import Lock
from preceptor.adapters.storage.opening import Database, PostgresDatabase, SqliteFile, prepare_folder, upgrade
from preceptor.adapters.storage.snapshots import PostgresSnapshot, SqliteSnapshot, snapshot_of, sqlite_snapshot
from preceptor.adapters.storage.verifying import verify
from preceptor.adapters.storage.webhook_tables import metadata
from preceptor.domain.errors import CannotStart

SIDECARS = ("-wal", "-shm")


class BackupReport(msgspec.Struct, frozen=True):
    rows: int
    bytes: int


class RestoreReport(msgspec.Struct, frozen=True):
    rows: int
    kept: Path | None
    """Where the database that was replaced is now."""


def backup(database: Database, to: Path, progress: Progress | None = None) -> BackupReport:
    """Write all of a database to the new file `to`, while a server may be writing to it."""
    _refuse_existing(to)
    with snapshot_of(database) as source, _writing(to), unfinished(to) as made:
        if source.revision is None:
            raise CannotStart("There is nothing to back up: the database is empty. Check PRECEPTOR_DATABASE_URL.")
        schema.refuse_newer(source.revision)
        match source:
            case SqliteSnapshot():
                copy_pages(source, made, progress or _unheard)
            case PostgresSnapshot():
                copy_rows_to_sqlite(source, made, progress or _unheard)
        with sqlite_snapshot(made) as copy:
            rows = count_rows(copy, tables_of(made))
        _refuse_existing(to)
        finish(made, to)
        return BackupReport(rows, to.stat().st_size)


def restore(
    file: Path, database: Database, *, replace: bool = False, progress: Progress | None = None
) -> RestoreReport:
    """Fill a database from a backup that verifies. Whatever is refused, the database stays as it was.

    With `replace`, a SQLite database that holds something is kept beside the new one, under another name.
    """
    _check_backup(file)
    match database:
        case SqliteFile(path):
            prepare_folder(path.parent)
            with Lock(path), _writing(path):
                return _restore_sqlite(file, path, replace, progress or _unheard)
        case PostgresDatabase(url):
            with _at_our_schema(file) as current:
                return _restore_postgres(current, url, progress or _unheard)


def _check_backup(file: Path) -> None:
    """Refuse a file that is no backup, is damaged, was tampered with, or is newer than we are."""
    if not file.is_file():
        raise CannotStart(f"There is no file {file}. Name a backup that was written before.")
    try:
        with sqlite_snapshot(file) as copy:
            revision = copy.revision
            [(health,)] = copy.connection.execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        raise CannotStart(f"The file {file} is not a backup that can be read ({error}). Use another one.") from error
    if revision is None or not revision.isdigit():
        raise CannotStart(f"The file {file} is not a backup of Preceptor. Use another one.")
    if revision > schema.HEAD:
        raise CannotStart(
            f"The backup {file} has schema {revision}, newer than the {schema.HEAD} this version of Preceptor knows. "
            "Install the version that wrote it, or a newer one."
        )
    if health != "ok":
        raise CannotStart(f"The backup {file} is damaged ({health}). Use another one.")
    if broken := verify(SqliteFile(file), None).broken:
        where = f"{broken[0].org}/{broken[0].stream}, row {broken[0].seq}"
        raise CannotStart(f"The backup {file} is not what was written ({where}: {broken[0].why}). Use another one.")


def _restore_sqlite(file: Path, path: Path, replace: bool, progress: Progress) -> RestoreReport:
    used = path.exists() and path.stat().st_size > 0
    if used and not replace:
        raise CannotStart(
            f"The database {path} is not empty. Replace it with --replace (the old one is kept beside the new one), "
            "or name another file in PRECEPTOR_DATABASE_URL."
        )
    with unfinished(path) as made:
        with sqlite_snapshot(file) as source:
            copy_pages(source, made, progress)
        upgrade(SqliteFile(made))
        with sqlite_snapshot(made) as copy:
            rows = count_rows(copy, metadata.sorted_tables)
        kept = _keep(path) if used else None
        finish(made, path)
        return RestoreReport(rows, kept)


def _restore_postgres(file: Path, url: str, progress: Progress) -> RestoreReport:
    import psycopg

    from preceptor.adapters.storage.postgres import of_start

    upgrade(PostgresDatabase(url))
    with of_start(url), psycopg.connect(url) as target, sqlite_snapshot(file) as source:
        target.execute("SELECT set_config('preceptor.org', '*', true)")
        if target.execute("SELECT FROM orgs LIMIT 1").fetchall():
            raise CannotStart(
                "The PostgreSQL database is not empty, and one that is in use is never replaced. "
                "Create a new database and name it in PRECEPTOR_DATABASE_URL."
            )
        copy_rows_to_postgres(source, target, progress)
        return RestoreReport(count_rows(source, metadata.sorted_tables), None)


@contextmanager
def _at_our_schema(file: Path) -> Generator[Path]:
    """The backup itself, or a copy of it that was brought up to date."""
    with sqlite_snapshot(file) as source:
        if source.revision == schema.HEAD:
            yield file
            return
        with TemporaryDirectory() as folder:
            made = Path(folder) / "upgraded.db"
            copy_pages(source, made, _unheard)
            upgrade(SqliteFile(made))
            yield made


def _keep(path: Path) -> Path:
    """Give a database a second name; it loses its own only when the new one takes that over."""
    kept = path.with_name(f"{path.name}.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try:
        os.link(path, kept)
    except OSError:  # there are disks without hard links
        path.rename(kept)
    for sidecar in SIDECARS:  # left behind by a file that cannot be read, or is being read
        with suppress(FileNotFoundError):
            path.with_name(path.name + sidecar).rename(kept.with_name(kept.name + sidecar))
    return kept


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise CannotStart(f"The file {file} exists already, and a backup overwrites nothing. Choose another name.")


@contextmanager
def _writing(file: Path) -> Generator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, DBAPIError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "orig", None) or error
        raise CannotStart(f"The file {file} cannot be written ({why}). Check the folder and the disk.") from error


def _unheard(_done: int, _total: int) -> None:
    """Progress that no one asked for."""
