import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, LargeBinary, MetaData, NullPool, Table, Text, create_engine, event, insert, select

from preceptor import Settings, open_preceptor
from preceptor.adapters.storage import schema
from preceptor.adapters.storage.migrations import versions
from preceptor.adapters.storage.opening import locate, revision_of, upgrade
from preceptor.adapters.storage.webhook_tables import metadata
from preceptor.domain.errors import CannotStart
from tests.durability.forks import Forks
from tests.postgres import Cluster
from tests.requirements import covers

FILES = sorted(path.stem for path in Path(*versions.__path__).glob("s[0-9]*.py"))
STEPS = [import_module(f"{versions.__name__}.{name}") for name in FILES]
REVISIONS: list[str] = [step.revision for step in STEPS]

SQLITE_SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
POSTGRES_SCHEMA = (
    """SELECT table_name, column_name, data_type, is_nullable, collation_name, ordinal_position
    FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 6""",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1",
    "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
    "SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2",
    """SELECT relname, relrowsecurity, relforcerowsecurity, relacl::text FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1""",
)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without any schema."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'preceptor.db'}"
        return
    cluster: Cluster = request.getfixturevalue("postgres")
    url = cluster.new_database()
    yield url
    cluster.drop(url)


@pytest.fixture(scope="module")
def migrations() -> Iterator[Forks]:
    with Forks("tests.durability.migrating:migrate") as forks:
        yield forks


def described(url: str) -> list[Any]:
    """All that the database says of its schema: tables, columns, indexes, triggers, policies, grants."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return connection.execute(SQLITE_SCHEMA).fetchall()
    with psycopg.connect(url) as connection:
        return [row for query in POSTGRES_SCHEMA for row in connection.execute(query)]


def connected(url: str) -> Connection:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    if engine.dialect.name == "postgresql":
        event.listen(engine, "begin", see_everything)
    return engine.connect()


def see_everything(connection: Connection) -> None:
    connection.exec_driver_sql("SET preceptor.org = '*'")


def sample(table: Table) -> dict[str, Any]:
    """A row with something in every column."""
    kinds = {Text: f"{table.name} ∂", LargeBinary: table.name.encode()}
    return {
        column.name: next((kinds[kind] for kind in kinds if isinstance(column.type, kind)), 1) for column in table.c
    }


def reflected(connection: Connection) -> list[Table]:
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]


def test_the_newest_step_is_the_one_the_code_expects_and_each_follows_the_one_before():
    assert REVISIONS[-1] == schema.HEAD
    assert [step.down_revision for step in STEPS] == [None, *REVISIONS[:-1]]
    assert [name[1:5] for name in FILES] == REVISIONS == sorted(REVISIONS)


def test_there_is_no_way_back():
    assert not [step.__name__ for step in STEPS if hasattr(step, "downgrade")]


def test_the_tables_in_the_code_are_the_tables_of_an_upgraded_database(database_url: str):
    assert revision_of(locate(database_url)) is None
    assert upgrade(locate(database_url))
    assert not upgrade(locate(database_url))
    with connected(database_url) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


@covers("F24")
@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_an_upgrade_from_an_older_schema_keeps_every_row(database_url: str, revision: str):
    schema.upgrade(database_url, to=revision)
    with connected(database_url) as connection:
        before = reflected(connection)
        for table in before:
            connection.execute(insert(table).values(sample(table)))
        connection.commit()
    upgrade(locate(database_url))
    with connected(database_url) as connection:
        kept = {table.name: connection.execute(select(*table.c)).mappings().all() for table in before}
    assert kept == {table.name: [sample(table)] for table in before}
    assert len(before) > 5


@covers("F24")
def test_an_upgrade_killed_before_any_of_its_statements_is_resumed(
    database_url: str, tmp_path: Path, migrations: Forks, request: pytest.FixtureRequest
):
    states: dict[str | None, list[Any]] = {None: []}
    for step in REVISIONS:
        schema.upgrade(other := another(database_url, tmp_path / step, request), to=step)
        states[step] = without_bookkeeping(described(other))
    nth = kills = 0
    revision: str | None = None
    while migrations.call(url=database_url, nth=(nth := nth + 1)) == -signal.SIGKILL:
        kills += 1
        if (now := revision_of(locate(database_url))) != revision:
            revision, nth = now, 0
        assert without_bookkeeping(described(database_url)) == states[revision]
    print(f"{kills} kills")
    assert kills > 20
    assert without_bookkeeping(described(database_url)) == states[schema.HEAD]


def without_bookkeeping(found: list[Any]) -> list[Any]:
    """Without Alembic's own table, which is made in a transaction of its own before the first step."""
    return [row for row in found if "alembic_version" not in str(row)]


def another(url: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """An empty database of the same kind."""
    if url.startswith("sqlite"):
        folder.mkdir()
        return f"sqlite:///{folder / 'preceptor.db'}"
    cluster: Cluster = request.getfixturevalue("postgres")
    return cluster.new_database()


@covers("F24")
async def test_a_newer_schema_is_refused_with_a_sentence_and_left_alone(database_url: str, tmp_path: Path):
    schema.upgrade(database_url)
    with connected(database_url) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    before = described(database_url)
    settings = Settings.load(data_dir=tmp_path, database_url=database_url)
    with pytest.raises(CannotStart, match=f"has schema 9999, newer than the {schema.HEAD} this version"):
        async with open_preceptor(settings):
            raise AssertionError
    assert revision_of(locate(database_url)) == "9999"
    assert described(database_url) == before


def test_two_processes_may_upgrade_one_postgres_at_once(postgres: Cluster, migrations: Forks):
    with Forks("tests.durability.migrating:migrate") as others:
        for _ in range(2):
            url = postgres.new_database()
            migrations.start(url=url)
            others.start(url=url)
            assert (migrations.wait(), others.wait()) == (0, 0)
            assert revision_of(locate(url)) == schema.HEAD
            postgres.drop(url)
