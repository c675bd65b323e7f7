"""Which step of its history a database is at, and bringing it up to date."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor.domain.errors import CannotStart

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = "0010"
"""The newest step; a test holds it to the files in `migrations/versions`."""

PAGE = 1024
"""Bytes: a commit writes every page it touched, and a row of the log is about this long. Older files keep theirs."""

CURRENT = "SELECT version_num FROM alembic_version"


def sqlite_revision(path: Path) -> str | None:
    """The step a SQLite file is at; None when it is new."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            row = connection.execute(CURRENT).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # anything but a table that is not there
                raise
            return None
    return row[0] if row else None


def make_sqlite(path: Path) -> None:
    """Give a new file the newest schema at once: as going through every step would, held to that by a test."""
    from preceptor.adapters.storage.ready.schema import NEW

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size={PAGE}")
        connection.execute("BEGIN IMMEDIATE")
        for part in NEW:
            connection.execute(part)
        connection.execute("COMMIT")


def postgres_revision(url: str) -> str | None:
    import psycopg

    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        try:
            row = connection.execute(CURRENT).fetchone()
        except psycopg.errors.UndefinedTable:
            return None
    return row[0] if row else None


def refuse_newer(revision: str | None) -> None:
    """Old code must not touch a newer schema, nor any code another program's."""
    if revision is not None and not (revision.isdecimal() and len(revision) == len(HEAD)):
        raise CannotStart(
            f"The database is another program's: its schema {revision} is none of Preceptor. "
            "Point PRECEPTOR_DATABASE_URL at another database."
        )
    if revision is not None and revision > HEAD:
        raise CannotStart(
            f"The database has schema {revision}, newer than the {HEAD} this version of Preceptor knows. "
            "Install the newer version again, or point PRECEPTOR_DATABASE_URL at another database."
        )


def upgrade(url: str, to: str = "head") -> None:
    """Take the database at `url` through every step up to `to`, each in a transaction of its own."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "preceptor.adapters.storage:migrations")
    config.set_main_option("path_separator", "os")
    with _connected(url) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, to)


@contextmanager
def _connected(url: str) -> Generator[Any]:
    from sqlalchemy import NullPool, create_engine, event, text
    from sqlalchemy.exc import DBAPIError

    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1), poolclass=NullPool)
    if engine.dialect.name == "sqlite":
        # The driver would commit before each CREATE TABLE; we want a step to happen as a whole or not at all.
        event.listen(engine, "connect", _no_commits_of_its_own)
        event.listen(engine, "begin", _begin)
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "postgresql":
                # Two servers that start together upgrade one after the other.
                connection.execute(text("SELECT pg_advisory_lock(7209441)"))
                connection.rollback()  # the lock is the session's, it stays
            yield connection
    except DBAPIError as error:
        raise (error.orig or error) from error  # the driver's own, as everywhere else
    finally:
        engine.dispose()


def _no_commits_of_its_own(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None


def _begin(connection: "Connection") -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
