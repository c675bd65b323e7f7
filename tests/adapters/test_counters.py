"""What each operation costs, in numbers that do not depend on the machine: a change here is a decision, no accident.

With `synchronous=FULL` each commit of a write-ahead log is one fsync, so commits are counted for fsyncs.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage import schema
from preceptor.adapters.storage.sqlite import SqliteStore
from preceptor.adapters.storage.statements import Statement
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.conversations.conversation import ConversationChange, NewConversation
from preceptor.domain.ids import ConversationId, StreamId
from preceptor.domain.log import Head, NewEvent
from preceptor.engine.conversations import Wanted
from preceptor.engine.repositories.work import Work
from tests.postgres import Cluster

NEW = NewConversation(agent_id="assistant", title="A title")
PAGE = schema.PAGE + 24
"""Bytes of a page in SQLite's write-ahead log, with its header."""


@dataclass(frozen=True)
class Cost:
    run: Callable[[Preceptor, ConversationId], Awaitable[object]]
    statements: tuple[str, ...]
    pages: int = 0
    """Written by SQLite; what it takes besides statements is one BEGIN and, where it writes, one COMMIT."""
    also_on_postgres: tuple[str, ...] = ()
    trips: int = 3
    """To PostgreSQL and back: one opens the transaction, one commits it with all that was changed."""


COSTS = {
    "starting a conversation": Cost(
        lambda preceptor, _: preceptor.conversations.start(NEW),
        ("INSERT events", "INSERT streams", "INSERT conversations"),
        pages=11,
        also_on_postgres=("SELECT streams",),
    ),
    "changing a conversation": Cost(
        lambda preceptor, known: preceptor.conversations.change(known, ConversationChange(title="Another")),
        ("SELECT conversations", "INSERT events", "UPDATE streams", "UPDATE conversations"),
        pages=6,
        also_on_postgres=("SELECT streams",),
        trips=4,
    ),
    "reading a conversation": Cost(
        lambda preceptor, known: preceptor.conversations.get(known), ("SELECT conversations",)
    ),
    "listing conversations": Cost(
        lambda preceptor, _: preceptor.conversations.page(Wanted(), limit=50), ("SELECT conversations",)
    ),
    "reading its events": Cost(
        lambda preceptor, known: preceptor.session.read(lambda work: work.log.after(StreamId(known), 0, 100)),
        ("SELECT events",),
    ),
}
each = pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


@pytest.fixture
async def known(preceptor: Preceptor) -> ConversationId:
    return (await preceptor.conversations.start(NEW)).conversation_id


def in_two_words(statement: str) -> str:
    found = re.match(r'(\w+)(?:.*?\b(?:FROM|INTO)\b)?(?: "?([a-z_]+))?', statement, re.DOTALL)
    assert found, statement
    return " ".join(word for word in found.groups() if word)


@contextmanager
def traced(preceptor: Preceptor) -> Generator[list[str]]:
    """What SQLite is told to do, by the writer and by the reader."""
    store = preceptor.session.store
    assert isinstance(store, SqliteStore)
    connections = (store._writing, store._reader())  # pyright: ignore[reportPrivateUsage]
    seen: list[str] = []
    for connection in connections:
        connection.set_trace_callback(lambda statement: seen.append(in_two_words(statement)))
    yield seen
    for connection in connections:
        connection.set_trace_callback(None)


def log_statements(settings: Settings, postgres: Cluster) -> None:
    name = settings.database.rsplit("/", 1)[1]
    with psycopg.connect(postgres.url("postgres", "postgres"), autocommit=True) as above:
        above.execute(f"ALTER DATABASE {name} SET log_statement = 'all'".encode())


@contextmanager
def logged(postgres: Cluster) -> Generator[list[list[str]]]:
    """What PostgreSQL says it was told to do, by round trip."""
    log = postgres._folder / "log"  # pyright: ignore[reportPrivateUsage]
    read, seen = log.stat().st_size, list[list[str]]()
    yield seen
    told = log.read_bytes()[read:].decode()
    found = re.findall(r"LOG:  (?:statement|execute [^:]+): (.*(?:\n\t.*)*)", told)
    together = (re.split(r"; (?=[A-Z]+\b)", trip.replace("\n\t", " ")) for trip in found)
    seen.extend([in_two_words(statement) for statement in trip] for trip in together)


@each
@on_sqlite
async def test_statements_commits_and_pages_on_sqlite(preceptor: Preceptor, known: ConversationId, cost: Cost):
    wal = preceptor.settings.data_dir / "preceptor.db-wal"
    before = wal.stat().st_size
    with traced(preceptor) as seen:
        await cost.run(preceptor, known)
    assert seen == ["BEGIN", *cost.statements, "COMMIT" if cost.pages else "ROLLBACK"]
    assert (wal.stat().st_size - before) / PAGE == cost.pages


@on_sqlite
async def test_many_at_once_cost_one_commit(preceptor: Preceptor, known: ConversationId):
    with traced(preceptor) as seen:
        await asyncio.gather(*(preceptor.conversations.start(NEW) for _ in range(50)))
    assert (seen.count("BEGIN"), seen.count("COMMIT"), len(seen)) == (1, 1, 50 * 3 + 2)


@on_sqlite
async def test_who_comes_a_moment_after_many_shares_their_commit(preceptor: Preceptor, known: ConversationId):
    async def begin(after: int) -> None:
        for _ in range(after):
            await asyncio.sleep(0)
        await preceptor.conversations.start(NEW)

    with traced(preceptor) as seen:
        await asyncio.gather(*map(begin, (0, 0, 1, 2)))
    assert seen.count("COMMIT") == 1


@on_sqlite
async def test_a_commit_waits_for_the_disk_on_sqlite(preceptor: Preceptor):
    store = preceptor.session.store
    assert isinstance(store, SqliteStore)
    writer = store._writing  # pyright: ignore[reportPrivateUsage]
    pragmas = ("journal_mode", "synchronous", "fullfsync")
    assert [writer.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas] == ["wal", 2, 0]


@each
@on_postgres
async def test_round_trips_and_commits_on_postgres(settings: Settings, postgres: Cluster, cost: Cost):
    log_statements(settings, postgres)
    async with open_preceptor(settings, take_up=False) as preceptor:
        known = (await preceptor.conversations.start(NEW)).conversation_id
        with logged(postgres) as seen:
            await cost.run(preceptor, known)
    assert seen[0] == ["BEGIN", "SELECT clock_timestamp"]
    statements = [statement for trip in seen[1:] for statement in trip]
    assert statements[-1] == "COMMIT"
    assert sorted(statements[:-1]) == sorted(cost.statements + cost.also_on_postgres)
    assert len(seen) == cost.trips


@on_postgres
async def test_what_a_model_says_is_added_in_one_round_trip_to_postgres(settings: Settings, postgres: Cluster):
    log_statements(settings, postgres)
    async with open_preceptor(settings, take_up=False) as preceptor:
        stream = StreamId((await preceptor.conversations.start(NEW)).conversation_id)
        head = await preceptor.session.read(lambda work: work.log.head(stream))
        assert head is not None
        with logged(postgres) as seen:
            said = [NewEvent("message.delta", '{"text":"Hello"}')]
            await preceptor.session.store.append(preceptor.session.caller.owner, stream, said, head)
    assert seen == [["BEGIN", "SELECT clock_timestamp", "WITH events", "COMMIT"]]


@on_postgres
async def test_what_many_models_say_at_once_is_added_in_one_round_trip_to_postgres(
    settings: Settings, postgres: Cluster
):
    log_statements(settings, postgres)
    async with open_preceptor(settings, take_up=False) as preceptor:
        session = preceptor.session
        heads: dict[StreamId, Head] = {}
        for _ in range(20):
            stream = StreamId((await preceptor.conversations.start(NEW)).conversation_id)
            heads[stream] = await session.read(lambda work, stream=stream: work.log.head(stream)) or Head()
        with logged(postgres) as seen:
            said = [NewEvent("message.delta", '{"text":"Hello"}')]
            adding = [session.store.append(session.caller.owner, stream, said, head) for stream, head in heads.items()]
            await asyncio.gather(*adding)
    assert seen == [["BEGIN", "SELECT clock_timestamp", *["WITH events"] * 20, "COMMIT"]]


@on_postgres
async def test_a_commit_waits_for_the_disk_on_postgres_whatever_else_its_address_says(
    database_url: str, tmp_path: Path
):
    async def program(work: Work) -> list[str]:
        assert isinstance(work, SqlWork)
        names = ("synchronous_commit", "transaction_isolation", "work_mem")
        return [(await work.all(Statement("", f"SHOW {name}", ())))[0][0] for name in names]

    address = f"{database_url}?options=-c%20work_mem%3D5MB"
    async with open_preceptor(Settings.load(data_dir=tmp_path, database_url=address)) as preceptor:
        assert await preceptor.session.write(program) == ["on", "repeatable read", "5MB"]
