"""What waits in a database that nobody carries on with, told without opening it for work."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Integer, Text, bindparam, func, literal_column, select

from preceptor.adapters.storage.opening import Database, PostgresDatabase, of_start
from preceptor.adapters.storage.statements import Statement
from preceptor.adapters.storage.task_tables import tasks
from preceptor.adapters.storage.turn_tables import turns
from preceptor.adapters.storage.webhook_tables import deliveries
from preceptor.domain.times import to_micros

_OPEN = literal_column("1", Integer)
_RUNNING = literal_column("'running'", Text)
# A look at the whole installation, over all organisations.
TURNS = Statement.of(
    select(func.count()).select_from(turns).where(turns.c.status == _RUNNING, turns.c.lease < bindparam("now"))
)
TASKS = Statement.of(
    select(func.count()).select_from(tasks).where(tasks.c.open == _OPEN, tasks.c.lease < bindparam("now"))
)
MESSAGES = Statement.of(
    select(func.count()).select_from(deliveries).where(deliveries.c.open == _OPEN, deliveries.c.due < bindparam("now"))
)


@dataclass(frozen=True, slots=True)
class Waiting:
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
