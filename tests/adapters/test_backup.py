import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage import schema
from preceptor.adapters.storage.backup import backup, restore
from preceptor.adapters.storage.opening import SqliteFile, locate
from preceptor.adapters.storage.verifying import verify
from preceptor.domain.conversations.conversation import ConversationChange, NewConversation
from preceptor.domain.errors import CannotStart
from preceptor.domain.ids import ConversationId
from tests.postgres import Cluster
from tests.requirements import covers

WRITERS = 8
TABLES = ("orgs", "users", "api_keys", "agents", "conversations", "streams", "events", "idempotency", "sign_ins")


@pytest.fixture(params=["into sqlite", "into postgres"])
def target_url(request: pytest.FixtureRequest, tmp_path: Path):
    """Where to restore: a database that does not exist yet, or has no tables yet."""
    if request.param == "into sqlite":
        yield f"sqlite:///{tmp_path / 'restored' / 'preceptor.db'}"
        return
    cluster: Cluster = request.getfixturevalue("postgres")
    url = cluster.new_database()
    yield url
    cluster.drop(url)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "backup.db"


def content(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


async def converse(preceptor: Preceptor, title: str) -> ConversationId:
    return (await preceptor.conversations.start(NewConversation(agent_id="assistant", title=title))).conversation_id


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return connection.execute(query).fetchall()
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('preceptor.org', '*', true)")
        return connection.execute(cast("LiteralString", query)).fetchall()


def everything(url: str) -> dict[str, list[tuple[Any, ...]]]:
    return {table: sorted(rows(url, f"SELECT * FROM {table}"), key=repr) for table in TABLES}


class Writers:
    """Clients that never stop, and write down what was acknowledged to them."""

    def __init__(self, preceptor: Preceptor) -> None:
        self._preceptor = preceptor
        self._stopped = False
        self._heard = threading.Condition()
        self.acknowledged: list[tuple[str, int]] = []

    async def write(self, name: int) -> None:
        conversation = await converse(self._preceptor, f"Writer {name}")
        while not self._stopped:
            change = ConversationChange(title=f"Writer {name}, {len(self.acknowledged)}")
            changed = await self._preceptor.conversations.change(conversation, change)
            self.acknowledged.append((conversation, changed.revision))
            with self._heard:
                self._heard.notify_all()

    async def during(self, work: Callable[[], Awaitable[object]]) -> None:
        async with asyncio.TaskGroup() as group:
            for name in range(WRITERS):
                group.create_task(self.write(name))
            try:
                await work()
            finally:
                self._stopped = True

    def wait_for_more(self, more: int) -> None:
        goal = len(self.acknowledged) + more
        with self._heard:
            assert self._heard.wait_for(lambda: len(self.acknowledged) >= goal, timeout=30)


HASHES = "SELECT stream, seq, kind, hash FROM events WHERE org = 'default' AND stream <> '@org'"


@covers("F25")
async def test_a_backup_taken_while_eight_writers_write_restores_to_all_that_was_acknowledged_before_it_began(
    preceptor: Preceptor, database_url: str, target_url: str, file: Path
):
    writers, before = Writers(preceptor), set[tuple[str, int]]()

    def wait(_done: int, _total: int) -> None:
        writers.wait_for_more(WRITERS + 1)

    async def back_up() -> None:
        await asyncio.to_thread(writers.wait_for_more, 200)
        before.update(writers.acknowledged)
        await asyncio.to_thread(backup, locate(database_url), file, wait)

    await writers.during(back_up)
    restore(file, locate(target_url))
    restored = {(stream, seq): (kind, digest) for stream, seq, kind, digest in rows(target_url, HASHES)}
    written = {(stream, seq): (kind, digest) for stream, seq, kind, digest in rows(database_url, HASHES)}
    assert verify(locate(target_url), None).ok
    assert before <= restored.keys()
    assert restored.items() < written.items()


async def test_a_restored_database_is_the_same_row_by_row_and_can_be_served(
    preceptor: Preceptor, settings: Settings, database_url: str, target_url: str, file: Path
):
    conversation = await converse(preceptor, "Ⅷ · tiếng Việt · 🙂")
    await preceptor.installation.checkpoint()
    report = backup(locate(database_url), file)
    restored = restore(file, locate(target_url))
    original = everything(database_url)
    assert everything(target_url) == original
    assert report.rows == restored.rows == sum(map(len, original.values()))
    assert report.bytes == len(content(file))
    other = Settings.load(
        **settings.model_dump() | {"database_url": target_url, "data_dir": settings.data_dir / "other"}
    )
    async with open_preceptor(other) as moved:
        assert (await moved.conversations.get(conversation)).title == "Ⅷ · tiếng Việt · 🙂"
        await moved.conversations.change(conversation, ConversationChange(title="It goes on"))
    assert verify(locate(target_url), None).ok


async def test_a_backup_is_one_file_for_its_owner_alone_with_nothing_beside_it(
    preceptor: Preceptor, database_url: str, tmp_path: Path
):
    folder = tmp_path / "backups"
    folder.mkdir()
    backup(locate(database_url), folder / "backup.db")
    assert verify(SqliteFile(folder / "backup.db"), None).ok
    assert [path.name for path in folder.iterdir()] == ["backup.db"]
    assert (folder / "backup.db").stat().st_mode & 0o777 == 0o600


async def test_progress_is_told_to_the_end(preceptor: Preceptor, database_url: str, target_url: str, file: Path):
    saved: list[tuple[int, int]] = []
    restored: list[tuple[int, int]] = []
    backup(locate(database_url), file, lambda done, total: saved.append((done, total)))
    restore(file, locate(target_url), progress=lambda done, total: restored.append((done, total)))
    for told in (saved, restored):
        assert told == sorted(told)
        assert told[-1][0] == told[-1][1] > 0


async def test_a_backup_overwrites_nothing(preceptor: Preceptor, database_url: str, file: Path):
    put(file, b"precious")
    with pytest.raises(CannotStart, match="exists already"):
        backup(locate(database_url), file)
    assert content(file) == b"precious"


async def test_a_backup_that_cannot_be_written_is_one_sentence(preceptor: Preceptor, database_url: str, tmp_path: Path):
    wanted = tmp_path / "no such folder" / "backup.db"
    with pytest.raises(CannotStart) as refused:
        backup(locate(database_url), wanted)
    assert str(refused.value) == (
        f"The file {wanted} cannot be written (No such file or directory). Check the folder and the disk."
    )


def test_an_empty_database_is_not_backed_up(target_url: str, file: Path):
    if target_url.startswith("sqlite"):
        path = Path(target_url.removeprefix("sqlite:///"))
        path.parent.mkdir()
        path.touch()
    with pytest.raises(CannotStart, match="nothing to back up"):
        backup(locate(target_url), file)
    assert not file.exists()


def test_a_database_newer_than_this_version_is_not_backed_up(database_url: str, file: Path):
    schema.upgrade(database_url)
    change(database_url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(CannotStart, match="newer"):
        backup(locate(database_url), file)
    assert not file.exists()


def change(url: str, *statements: str) -> None:
    """What the owner of a database can do to it."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            for statement in statements:
                connection.execute(statement)
        return
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(cast("LiteralString", statement))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_backup_of_an_older_schema_is_brought_up_to_date(
    postgres: Cluster, kind: str, target_url: str, file: Path, tmp_path: Path
):
    url = postgres.new_database() if kind == "postgres" else f"sqlite:///{tmp_path / 'old.db'}"
    schema.upgrade(url, "0001")
    change(url, "INSERT INTO orgs VALUES ('old', '{}')")
    backup(locate(url), file)
    assert schema.sqlite_revision(file) == "0001"
    restore(file, locate(target_url))
    assert rows(target_url, "SELECT * FROM alembic_version") == [(schema.HEAD,)]
    assert rows(target_url, "SELECT * FROM orgs") == [("old", "{}")]


async def test_a_database_in_use_is_not_restored_over(
    preceptor: Preceptor, database_url: str, file: Path, settings: Settings
):
    conversation = await converse(preceptor, "Still here")
    backup(locate(database_url), file)
    before = everything(database_url)
    for replace in (False, True):
        with pytest.raises(CannotStart, match=r"is in use by|Create a new database"):
            restore(file, locate(database_url), replace=replace)
    assert everything(database_url) == before
    assert (await preceptor.conversations.get(conversation)).title == "Still here"


@pytest.fixture
async def full(settings: Settings) -> str:
    """A database that holds something and that no one serves."""
    async with open_preceptor(settings) as preceptor:
        await converse(preceptor, "Precious")
    return settings.database


async def test_a_database_that_holds_something_is_not_restored_over(full: str, file: Path):
    backup(locate(full), file)
    before = everything(full)
    with pytest.raises(CannotStart, match="is not empty"):
        restore(file, locate(full))
    assert everything(full) == before


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_who_would_restore_over_something_is_told_how(full: str, file: Path):
    backup(locate(full), file)
    with pytest.raises(CannotStart, match=r"--replace \(the old one is kept"):
        restore(file, locate(full))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_sqlite_database_that_is_replaced_is_kept_beside_the_new_one(full: str, file: Path, settings: Settings):
    backup(locate(full), file)
    at_backup = everything(full)
    async with open_preceptor(settings) as preceptor:
        await converse(preceptor, "After the backup")
    later = everything(full)
    report = restore(file, locate(full), replace=True)
    assert report.kept is not None
    assert report.kept.name.startswith("preceptor.db.before-restore-")
    assert everything(f"sqlite:///{report.kept}") == later
    assert everything(full) == at_backup


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_a_crash_left_in_the_write_ahead_log_is_kept_with_the_replaced_database(
    full: str, file: Path, tmp_path: Path
):
    backup(locate(full), file)
    path = Path(full.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as killed:
        killed.execute("INSERT INTO orgs VALUES ('late', '{}')")
        killed.commit()
        crashed = tmp_path / "crashed" / "preceptor.db"
        crashed.parent.mkdir()
        for suffix in ("", "-wal"):
            crashed.with_name(crashed.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
    report = restore(file, SqliteFile(crashed), replace=True)
    assert ("late", "{}") in rows(f"sqlite:///{report.kept}", "SELECT * FROM orgs")
    assert ("late", "{}") not in rows(f"sqlite:///{crashed}", "SELECT * FROM orgs")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_database_file_damaged_beyond_reading_can_be_replaced(full: str, file: Path):
    backup(locate(full), file)
    path = Path(full.removeprefix("sqlite:///"))
    put(path, b"nonsense" * 1000)
    report = restore(file, locate(full), replace=True)
    assert report.kept is not None
    assert content(report.kept) == b"nonsense" * 1000
    assert verify(locate(full), None).ok


def nonsense(file: Path) -> None:
    file.write_bytes(b"This is not a database. " * 100)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def of_another_program(file: Path) -> None:
    file.unlink()
    change(f"sqlite:///{file}", "CREATE TABLE recipes (name)")


def half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def a_bad_page(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) - 4096 :] = b"\xa5" * 4096
    file.write_bytes(content)


def tampered(file: Path) -> None:
    url = f"sqlite:///{file}"
    change(url, "DROP TRIGGER events_are_not_edited", "UPDATE events SET at = at + 1 WHERE seq = 1")


def cut(file: Path) -> None:
    change(f"sqlite:///{file}", "DROP TRIGGER events_are_kept", "DELETE FROM events WHERE seq = 1")


def newer(file: Path) -> None:
    change(f"sqlite:///{file}", "UPDATE alembic_version SET version_num = '9999'")


UNUSABLE = {
    "nothing": (Path.unlink, "There is no file"),
    "nonsense": (nonsense, "not a backup"),
    "empty": (empty, "not a backup"),
    "of another program": (of_another_program, "not a backup"),
    "half a file": (half, "not a backup|damaged"),
    "a bad page": (a_bad_page, "not a backup|damaged"),
    "tampered with": (tampered, "not what was written"),
    "cut": (cut, "not what was written"),
    "newer than this version": (newer, "newer"),
}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("spoil", "why"), UNUSABLE.values(), ids=UNUSABLE)
async def test_a_backup_that_cannot_be_trusted_is_refused_and_nothing_is_lost(
    full: str, file: Path, spoil: Callable[[Path], None], why: str, target_url: str
):
    backup(locate(full), file)
    before = everything(full)
    spoil(file)
    for url, replace in ((full, True), (target_url, False)):
        with pytest.raises(CannotStart, match=why) as refused:
            restore(file, locate(url), replace=replace)
        assert str(file) in str(refused.value)
    assert everything(full) == before
    assert not list(Path(full.removeprefix("sqlite:///")).parent.glob("*before-restore*"))
