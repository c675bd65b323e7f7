import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import Double, Integer, LargeBinary, Table

from preceptor import Settings, open_preceptor
from preceptor.adapters import storage
from preceptor.adapters.storage.migrations.fence import ROLE
from preceptor.adapters.storage.statements import Statement
from preceptor.adapters.storage.webhook_tables import metadata
from preceptor.adapters.storage.work import SqlWork
from preceptor.domain.errors import CannotStart
from preceptor.domain.ids import OrgId
from preceptor.domain.ownership import DEFAULT_ORG, INSTALLATION
from preceptor.engine.repositories.work import Work
from tests.postgres import Cluster, cluster

TABLES = metadata.sorted_tables
SHOWN_TO_ALL = {"published_instructions"}
"""Snapshots that organisations make for each other. Everyone reads them, and only their owner changes them."""

# Each is the installation's own work, or finds out whose work it is; nothing else may look past its organisation.
UNFENCED = {
    "attachments.FORGET": "the sweep forgets files that no message ever named, of every organisation",
    "conversations.QUIET": "the sweep finds conversations past their retention, of every organisation",
    "experiments.RUNS": "the sweep ends experiments whose time is over, of every organisation",
    "idempotency.FORGET_OLD": "the sweep forgets old answers of every organisation",
    "idempotency.FORGET_OLD_ABOUT": "the sweep forgets what old answers were about, of every organisation",
    "sign_ins.FORGET_OLD": "the sweep forgets unused links of every organisation",
    "keys.FIND": "a key is what tells us the organisation: with the installation's scope, any is found",
    "log.ANCHOR": "checkpoints mark the streams of every organisation",
    "log.GROWN": "checkpoints tell of the streams of every organisation",
    "orgs.FIND": "an organisation is looked up by its own id, for the caller's permission to see it",
    "published.FIND": "what an organisation published is there for all to read, in its published fields",
    "published.HEAD": "what an organisation published is there for all to read, in its published fields",
    "published.PAGE": "what an organisation published is there for all to read, in its published fields",
    "orgs.PAGE": "those who run the installation list its organisations",
    "sealed.PROVIDERS": "the doctor tries the secret key on what any organisation has sealed",
    "sealed.SERVERS": "the doctor tries the secret key on what any organisation has sealed",
    "sealed.WEBHOOKS": "the doctor tries the secret key on what any organisation has sealed",
    "sign_ins.FIND": "a sign-in token is what tells us the organisation",
    "sign_ins.REMOVE": "a sign-in token is what tells us the organisation",
    "tasks.EXPIRED": "a worker takes up what others left, of every organisation",
    "tasks.EXTEND": "a worker extends its leases, of every organisation",
    "tasks.RELEASE": "a worker that stops lets go of its leases, of every organisation",
    "tasks.TO_CANCEL": "a worker hears of what it is to stop, of every organisation",
    "turns.EXPIRED": "a worker takes up what others left, of every organisation",
    "turns.EXTEND": "a worker extends its leases, of every organisation",
    "turns.RELEASE": "a worker that stops lets go of its leases, of every organisation",
    "turns.TO_CANCEL": "a worker hears of what it is to stop, of every organisation",
    "verifying.ENDINGS": "the whole log is verified",
    "verifying.EVENTS": "the whole log is verified",
    "waiting.MESSAGES": "the doctor counts what waits in the whole installation",
    "waiting.TASKS": "the doctor counts what waits in the whole installation",
    "waiting.TURNS": "the doctor counts what waits in the whole installation",
    "webhooks.ANY": "a worker waits until there is a webhook, of any organisation",
    "webhooks.DUE": "a worker sends what is due, of every organisation",
    "webhooks.FORGET_OLD": "the sweep forgets old messages to webhooks, of every organisation",
    "webhooks.RELEASE": "a worker takes up what others were about to send, of every organisation",
}


def statements() -> Iterator[tuple[str, Statement]]:
    for module in pkgutil.iter_modules(storage.__path__):
        for name, value in vars(import_module(f"{storage.__name__}.{module.name}")).items():
            if isinstance(value, Statement):
                yield f"{module.name}.{name}", value


def fenced(statement: Statement) -> bool:
    """Whether it can touch only rows of the organisation that the unit of work fills in."""
    text = statement.sqlite
    if text.startswith("INSERT"):
        columns = [column.strip() for column in text.partition("(")[2].partition(")")[0].split(",")]
        return columns.index("org") == statement.names.index("org")
    where = text.partition("WHERE")[2]
    return bool(re.match(r"\s*(\w+\.\w+ = \? AND )?\w+\.org = \?( AND|\s|$)", where)) and "org" in statement.names


def test_every_statement_is_fenced_in_by_the_organisation_or_has_a_reason_not_to_be():
    found = dict(statements())
    assert len(found) > 30
    assert {name for name, statement in found.items() if not fenced(statement)} == set(UNFENCED)


def test_every_table_has_an_organisation():
    assert [table.name for table in metadata.sorted_tables if "org" not in table.c] == []


@pytest.fixture(scope="module", params=["owner", "superuser"])
def url(request: pytest.FixtureRequest, postgres: Cluster, postgres_template: str) -> Iterator[str]:
    """A database as seen by the user who owns its tables, and by one who is above all rules."""
    made = postgres.new_database(template=postgres_template)
    yield made if request.param == "owner" else postgres.url(made.rsplit("/", 1)[1], "postgres")
    postgres.drop(made)


@pytest.fixture(scope="module")
def filled(url: str, postgres: Cluster) -> str:
    """The same, with a row of the organisation `a` and one of `b` in every table."""
    with psycopg.connect(postgres.url(url.rsplit("/", 1)[1], "postgres")) as above:
        for table in TABLES:
            for org in ("a", "b"):
                above.execute(*addition(table, org, f"{org}'s"))
    return url


@pytest.fixture
def tenant(filled: str) -> Iterator[psycopg.Connection]:
    """A connection as it is inside one of our transactions for `a`."""
    with psycopg.connect(filled) as connection:
        if connection.info.user == "postgres":
            connection.execute(f"SET ROLE {ROLE}".encode())
        connection.execute("SET preceptor.org = 'a'")
        connection.commit()
        yield connection


def addition(table: Table, org: str, word: str) -> tuple[bytes, list[Any]]:
    """A row with `org`, and with `word` in every other text."""
    row = [org if column.name == "org" else filling(column.type, word) for column in table.c]
    names = ", ".join(f'"{column.name}"' for column in table.c)
    return f"INSERT INTO {table.name} ({names}) VALUES ({', '.join(['%s'] * len(row))})".encode(), row


def filling(kind: object, word: str) -> object:
    return 1 if isinstance(kind, Integer | Double) else word.encode() if isinstance(kind, LargeBinary) else word


def count(connection: psycopg.Connection, statement: str) -> int:
    """How many rows the statement finds or changes. It is undone afterwards."""
    try:
        return connection.execute(statement.encode()).rowcount
    finally:
        connection.rollback()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_an_organisation_sees_and_changes_no_row_of_another(tenant: psycopg.Connection, table: Table):
    others_body = next(column.name for column in table.c if column.name != "org")
    assert count(tenant, f"SELECT FROM {table.name} WHERE org = 'a'") == 1
    assert count(tenant, f"SELECT FROM {table.name}") == (2 if table.name in SHOWN_TO_ALL else 1)
    assert count(tenant, f"UPDATE {table.name} SET \"{others_body}\" = NULL WHERE org = 'b'") == 0
    assert count(tenant, f"DELETE FROM {table.name} WHERE org = 'b'") == 0
    with pytest.raises((errors.InsufficientPrivilege, errors.RaiseException), match=r"row-level security|append-only"):
        count(tenant, f"UPDATE {table.name} SET org = 'b'")
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        tenant.execute(*addition(table, "b", "new"))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_without_an_organisation_nothing_is_seen(tenant: psycopg.Connection, table: Table):
    tenant.execute("RESET preceptor.org")
    tenant.commit()
    assert count(tenant, f"SELECT FROM {table.name}") == 0
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        tenant.execute(*addition(table, "a", "new"))


async def test_a_statement_that_forgets_its_organisation_still_stays_inside_it(url: str, tmp_path: Path):
    settings = Settings.load(data_dir=tmp_path, database_url=url)
    forgetful = Statement("", "SELECT org FROM users ORDER BY org", ())

    async def program(work: Work) -> list[str]:
        assert isinstance(work, SqlWork)
        return [org for (org,) in await work.all(forgetful)]

    async with open_preceptor(settings) as preceptor:
        store, owner = preceptor.session.store, preceptor.session.caller.owner
        acme = owner.model_copy(update={"org_id": OrgId("acme")})
        user = await preceptor.session.read(lambda work: work.users.page(None, 1))
        await store.write(acme, lambda work: work.users.add(user[0]))
        seen = [await store.read(owner.model_copy(update={"org_id": org}), program) for org in ("acme", DEFAULT_ORG)]
        everyone = await store.read(owner.model_copy(update={"org_id": INSTALLATION}), program)
    assert seen == [["acme"], ["default"]]
    assert {"acme", "default"} <= {*everyone}


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    """A server where no one has made the role of tenants yet."""
    with cluster() as made:
        yield made


async def test_a_user_above_the_rules_acts_as_a_tenant_or_does_not_start(own_cluster: Cluster, tmp_path: Path):
    """As it is with hosted databases, whose administrators are not superusers and still see everything."""
    with psycopg.connect(own_cluster.url("postgres", "postgres"), autocommit=True) as above:
        for name in ("first", "second"):
            above.execute(f"CREATE ROLE {name} LOGIN BYPASSRLS CREATEROLE PASSWORD 'tests'".encode())
    first, second = (own_cluster.new_database(owner=name) for name in ("first", "second"))
    async with open_preceptor(Settings.load(data_dir=tmp_path, database_url=first)) as preceptor:
        assert await preceptor.users.page()
    with pytest.raises(CannotStart, match=f"may not act as {ROLE}"):
        async with open_preceptor(Settings.load(data_dir=tmp_path, database_url=second)):
            raise AssertionError
    with psycopg.connect(own_cluster.url("postgres", "postgres"), autocommit=True) as above:
        above.execute(f"GRANT {ROLE} TO second".encode())
    async with open_preceptor(Settings.load(data_dir=tmp_path, database_url=second)) as preceptor:
        assert await preceptor.users.page()
