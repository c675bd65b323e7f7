"""What waits in a database that nobody carries on with, told without opening it for work."""

import sqlite3
from contextlib import closing
from datetime import datetime

import msgspec

from preceptor.adapters.storage.opening import Database, PostgresDatabase, of_start
from preceptor.adapters.storage.ready.waiting import MESSAGES, TASKS, TURNS
from preceptor.domain.times import to_micros


class Waiting(msgspec.Struct, frozen=True):
    """Turns and tasks whose process says nothing any more, and messages to webhooks that should have been sent."""

    turns: int
    tasks: int
    messages: int


def waiting_in(database: Database, before: datetime) -> Waiting:
    """Of a database at the newest schema."""
    asked = (to_micros(before),)
    with of_start(database):
        if isinstance(database, PostgresDatabase):
            return _in_postgres(database.url, asked)
        with closing(sqlite3.connect(f"file:{database.path}?mode=ro", uri=True)) as connection:
            return Waiting(*(connection.execute(one.sqlite, asked).fetchone()[0] for one in (TURNS, TASKS, MESSAGES)))


def _in_postgres(url: str, asked: tuple[int]) -> Waiting:
    import psycopg

    with psycopg.connect(url, connect_timeout=5) as connection:
        connection.execute("SELECT set_config('preceptor.org', '*', true)")
        counts: list[int] = []
        for one in (TURNS, TASKS, MESSAGES):
            row = connection.execute(one.postgres.encode(), asked).fetchone()
            assert row is not None
            counts.append(row[0])
        return Waiting(*counts)
