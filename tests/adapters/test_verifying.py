import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import orjson
import psycopg
import pytest

from preceptor import Preceptor
from preceptor.adapters.storage import anchoring, schema
from preceptor.adapters.storage.opening import Database, SqliteFile, locate
from preceptor.adapters.storage.verifying import MOST_TOLD, Verification, verify
from preceptor.domain.conversations.conversation import ConversationChange, NewConversation
from preceptor.domain.errors import CannotStart
from preceptor.domain.ids import ConversationId, OrgId, StreamId
from preceptor.domain.log import ORG_STREAM, Event, Head, NewEvent, seal
from tests.requirements import covers

CONVERSATIONS = 30
ROWS = 6
TRIGGERS_OFF = {
    "sqlite": ("DROP TRIGGER events_are_kept", "DROP TRIGGER events_are_not_edited"),
    "postgresql": ("ALTER TABLE events DISABLE TRIGGER USER",),
}


class DatabaseOwner:
    """Someone who may do anything to the database, and knows how Preceptor works."""

    def __init__(self, url: str) -> None:
        self._kind, _, rest = url.partition("://")
        self._url = url.replace("//preceptor:", "//postgres:")
        self._path = rest[1:]
        for statement in TRIGGERS_OFF[self._kind]:
            self.run(statement)

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connected() as connection:
            cursor = connection.execute(statement.replace("?", self._mark), values)
            return cursor.fetchall() if cursor.description else []

    def events(self, org: str, stream: str) -> list[Event]:
        rows = self.run("SELECT * FROM events WHERE org = ? AND stream = ? ORDER BY seq", org, stream)
        return [Event(*row) for row in rows]

    def replace(self, org: str, stream: str, sealed: Sequence[Event]) -> None:
        """Put another, flawless chain in place of a stream, and set its end right."""
        self.run("DELETE FROM events WHERE org = ? AND stream = ?", org, stream)
        for event in sealed:
            places = ", ".join("?" * 12)
            self.run(f"INSERT INTO events VALUES ({places})", *msgspec.structs.astuple(event))
        last = sealed[-1]
        self.run("UPDATE streams SET seq = ?, hash = ? WHERE org = ? AND id = ?", last.seq, last.hash, org, stream)

    @property
    def _mark(self) -> str:
        return "?" if self._kind == "sqlite" else "%s"

    @contextmanager
    def _connected(self) -> Generator[Any]:
        if self._kind == "sqlite":
            with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
                yield connection
        else:
            with psycopg.connect(self._url, autocommit=True) as connection:
                yield connection


@dataclass(frozen=True)
class Written:
    """Conversations, a checkpoint of them all, and an anchor of the checkpoint."""

    preceptor: Preceptor
    url: str
    conversations: list[ConversationId]
    anchors: Path
    checkpoint: Event

    @property
    def stream(self) -> str:
        return self.conversations[7]

    @property
    def database(self) -> Database:
        return locate(self.url)

    def verify(self) -> Verification:
        return verify(self.database, self.anchors)


Tampering = Callable[[DatabaseOwner, Written], object]


@pytest.fixture
async def written(preceptor: Preceptor, database_url: str, tmp_path: Path) -> Written:
    anchors = tmp_path / "anchors.jsonl"
    conversations = await asyncio.gather(*(converse(preceptor, number) for number in range(CONVERSATIONS)))
    checkpoint = await anchor(preceptor, anchors)
    return Written(preceptor, database_url, conversations, anchors, checkpoint)


@pytest.fixture
def owner(written: Written) -> DatabaseOwner:
    return DatabaseOwner(written.url)


async def converse(preceptor: Preceptor, number: int) -> ConversationId:
    """A conversation with `ROWS` rows."""
    started = await preceptor.conversations.start(NewConversation(agent_id="assistant", title=f"Chuyện {number}"))
    for row in range(ROWS - 1):
        change = ConversationChange(title=f"Chuyện {number}, {row}")
        await preceptor.conversations.change(started.conversation_id, change)
    return started.conversation_id


async def anchor(preceptor: Preceptor, anchors: Path) -> Event:
    checkpoint = await preceptor.installation.checkpoint()
    assert checkpoint is not None
    anchoring.append(anchors, checkpoint, datetime.now(UTC))
    return checkpoint


def found(verification: Verification) -> set[tuple[str, str, int, str]]:
    return {(place.org, place.stream, place.seq, place.kind) for place in verification.broken}


async def test_a_log_that_nobody_touched_verifies_beside_a_running_server(written: Written):
    heard: list[int] = []
    verification = verify(written.database, written.anchors, heard.append)
    assert verification.ok
    assert verification.broken == ()
    assert verification.streams == CONVERSATIONS + 2  # those of the organisation and of the installation
    assert verification.events == heard[-1] >= CONVERSATIONS * ROWS
    assert (verification.checkpoints, verification.anchors) == (1, 1)


async def test_an_erased_payload_leaves_the_log_whole(written: Written, owner: DatabaseOwner):
    owner.run("UPDATE events SET payload = NULL, salt = NULL WHERE stream = ? AND seq = 2", written.stream)
    assert written.verify().ok


async def test_a_log_that_grew_and_was_taken_over_after_its_last_checkpoint_verifies(written: Written):
    for number in range(3):
        await converse(written.preceptor, number)
        await anchor(written.preceptor, written.anchors)
    stream = StreamId(await converse(written.preceptor, 4))
    await written.preceptor.session.write(lambda work: work.log.take_over(stream))
    assert written.verify().ok


EDITS = {
    "payload": ("payload", '{"title":"Something else"}'),
    "payload, to nothing": ("payload", None),
    "kind": ("kind", "conversation.archived"),
    "time": ("at", 1),
    "turn": ("turn", "a-turn-that-never-was"),
    "epoch": ("epoch", 7),
    "salt": ("salt", bytes(16)),
    "salt, to nothing": ("salt", None),
    "commitment": ("commitment", bytes(32)),
    "hash": ("hash", bytes(32)),
}


@pytest.mark.parametrize(("column", "value"), EDITS.values(), ids=EDITS)
@covers("F22")
async def test_an_edited_row_is_found_where_it_is(written: Written, owner: DatabaseOwner, column: str, value: object):
    owner.run(f"UPDATE events SET {column} = ? WHERE stream = ? AND seq = 3", value, written.stream)
    assert ("default", written.stream, 3, "edited") in found(written.verify())


@covers("S32")
@pytest.mark.parametrize("change", ["UPDATE events SET payload = '{}'", "DELETE FROM events"])
async def test_an_edited_or_deleted_row_of_the_audit_trail_is_found(
    written: Written, owner: DatabaseOwner, change: str
):
    owner.run(f"{change} WHERE org = ? AND stream = ? AND seq = 1", "default", ORG_STREAM)
    assert {(org, stream) for org, stream, _, _ in found(written.verify())} == {("default", ORG_STREAM)}


def cut(owner: DatabaseOwner, stream: str, org: str = "default", *, keep: int = 4) -> None:
    owner.run("DELETE FROM events WHERE org = ? AND stream = ? AND seq > ?", org, stream, keep)


def cut_and_mend(owner: DatabaseOwner, stream: str, org: str = "default", *, keep: int = 4) -> None:
    cut(owner, stream, org, keep=keep)
    last = owner.events(org, stream)[-1]
    owner.run(
        "UPDATE streams SET seq = ?, hash = ?, anchored = 0, grown = 1 WHERE org = ? AND id = ?",
        last.seq,
        last.hash,
        org,
        stream,
    )


def forge(events: Sequence[Event], payload: Callable[[Event], str]) -> list[Event]:
    """The same chain with other words in it, every hash of it right."""
    head, forged = Head(), list[Event]()
    for event in events:
        new = NewEvent(event.kind, payload(event), event.turn)
        assert event.salt is not None
        forged += seal(event.org, event.stream, head, [new], at=event.at, salts=[event.salt])
        head = Head(forged[-1].seq, forged[-1].hash)
    return forged


def swap_rows(owner: DatabaseOwner, written: Written) -> None:
    for before, after in ((2, 99), (4, 2), (99, 4)):
        owner.run("UPDATE events SET seq = ? WHERE stream = ? AND seq = ?", after, written.stream, before)


def swap_conversations(owner: DatabaseOwner, written: Written) -> None:
    other = written.conversations[8]
    for before, after in ((written.stream, "aside"), (other, written.stream), ("aside", other)):
        owner.run("UPDATE events SET stream = ? WHERE stream = ?", after, before)
        owner.run("UPDATE streams SET id = ? WHERE id = ?", after, before)


def swap_rows_of_two_conversations(owner: DatabaseOwner, written: Written) -> None:
    other = written.conversations[8]
    for before, after in ((written.stream, "aside"), (other, written.stream), ("aside", other)):
        owner.run("UPDATE events SET stream = ? WHERE stream = ? AND seq = 3", after, before)


def delete_stream(owner: DatabaseOwner, written: Written) -> None:
    cut(owner, written.stream, keep=0)
    owner.run("DELETE FROM streams WHERE id = ?", written.stream)
    owner.run("DELETE FROM conversations WHERE id = ?", written.stream)


def rewrite(owner: DatabaseOwner, written: Written) -> None:
    events = owner.events("default", written.stream)
    forged = forge(events, lambda event: '{"title":"Forged"}' if event.seq == 3 else str(event.payload))
    owner.replace("default", written.stream, forged)


def set_stream(column: str, value: object) -> Tampering:
    return lambda owner, written: owner.run(f"UPDATE streams SET {column} = ? WHERE id = ?", value, written.stream)


TAMPERING: dict[str, tuple[Tampering, int, str]] = {
    "a row deleted": (
        lambda owner, written: owner.run("DELETE FROM events WHERE stream = ? AND seq = 3", written.stream),
        3,
        "missing",
    ),
    "the first row deleted": (
        lambda owner, written: owner.run("DELETE FROM events WHERE stream = ? AND seq = 1", written.stream),
        1,
        "missing",
    ),
    "a row before the first": (
        lambda owner, written: owner.run("UPDATE events SET seq = 0 WHERE stream = ? AND seq = 2", written.stream),
        0,
        "reordered",
    ),
    "two rows swapped": (swap_rows, 2, "reordered"),
    "two conversations swapped": (swap_conversations, 1, "edited"),
    "rows of two conversations swapped": (swap_rows_of_two_conversations, 3, "reordered"),
    "the tail cut": (lambda owner, written: cut(owner, written.stream), 5, "cut"),
    "the tail cut and the end mended": (lambda owner, written: cut_and_mend(owner, written.stream), 5, "cut"),
    "a whole conversation deleted": (delete_stream, 1, "cut"),
    "all its rows deleted": (lambda owner, written: cut(owner, written.stream, keep=0), 1, "cut"),
    "a flawless forgery": (rewrite, ROWS, "rewritten"),
    "its end deleted": (
        lambda owner, written: owner.run("DELETE FROM streams WHERE id = ?", written.stream),
        ROWS,
        "rewritten",
    ),
    "its end moved back": (set_stream("seq", 5), ROWS, "rewritten"),
    "its end moved on": (set_stream("seq", 7), ROWS + 1, "cut"),
    "its end with another hash": (set_stream("hash", bytes(32)), ROWS, "rewritten"),
    "its epoch moved back": (set_stream("epoch", -1), ROWS, "rewritten"),
    "a checkpoint claimed that never was": (set_stream("anchored", 1_000_000), ROWS, "rewritten"),
}


@pytest.mark.parametrize(("tamper", "seq", "kind"), TAMPERING.values(), ids=TAMPERING)
@covers("F22")
async def test_tampering_is_found_where_it_was_done(
    written: Written, owner: DatabaseOwner, tamper: Tampering, seq: int, kind: str
):
    tamper(owner, written)
    assert ("default", written.stream, seq, kind) in found(written.verify())


def rewrite_checkpoints_too(owner: DatabaseOwner, written: Written) -> None:
    rewrite(owner, written)
    hashes = {(org, name): digest.hex() for org, name, digest in owner.run("SELECT org, id, hash FROM streams")}

    def retold(event: Event) -> str:
        heads = orjson.loads(event.payload or "")["heads"]
        return orjson.dumps({"heads": [(org, name, seq, hashes[org, name]) for org, name, seq, _ in heads]}).decode()

    owner.replace("*", ORG_STREAM, forge(owner.events("*", ORG_STREAM), retold))


def delete_checkpoints_too(owner: DatabaseOwner, written: Written) -> None:
    cut_and_mend(owner, written.stream)
    cut(owner, ORG_STREAM, "*", keep=0)
    owner.run("DELETE FROM streams WHERE org = '*'")
    owner.run("UPDATE streams SET anchored = 0, grown = 1")


FORGERS = {
    "checkpoints rewritten": (rewrite_checkpoints_too, "rewritten"),
    "checkpoints deleted": (delete_checkpoints_too, "cut"),
}


@pytest.mark.parametrize(("tamper", "kind"), FORGERS.values(), ids=FORGERS)
@covers("F22")
async def test_a_forger_who_also_forges_the_checkpoints_is_found_by_the_anchor(
    written: Written, owner: DatabaseOwner, tamper: Tampering, kind: str
):
    tamper(owner, written)
    assert verify(written.database, None).ok
    assert found(written.verify()) == {("*", ORG_STREAM, 1, kind)}


@covers("F22")
async def test_a_cut_is_still_found_after_the_conversation_went_on_and_was_checkpointed_again(
    written: Written, owner: DatabaseOwner
):
    cut_and_mend(owner, written.stream)
    for title in ("An", "Bình", "Chi"):
        await written.preceptor.conversations.change(ConversationId(written.stream), ConversationChange(title=title))
    await anchor(written.preceptor, written.anchors)
    assert found(written.verify()) == {("default", written.stream, ROWS, "rewritten")}


async def test_hiding_a_conversation_from_checkpoints_is_found(written: Written, owner: DatabaseOwner):
    await written.preceptor.conversations.change(ConversationId(written.stream), ConversationChange(title="On"))
    assert written.verify().ok
    owner.run("UPDATE streams SET grown = 0 WHERE id = ?", written.stream)
    assert found(written.verify()) == {("default", written.stream, ROWS + 1, "rewritten")}


async def test_erasing_a_checkpoint_is_found(written: Written, owner: DatabaseOwner):
    owner.run("UPDATE events SET payload = NULL, salt = NULL WHERE org = '*' AND seq = 1")
    assert ("*", ORG_STREAM, 1, "edited") in found(written.verify())


async def test_a_damaged_anchor_is_told_of_and_the_others_still_count(written: Written, owner: DatabaseOwner):
    written.anchors.write_bytes(b"nonsense\n" + written.anchors.read_bytes())
    delete_checkpoints_too(owner, written)
    assert found(written.verify()) == {("*", ORG_STREAM, 0, "edited"), ("*", ORG_STREAM, 1, "cut")}


@pytest.mark.breaks_the_database
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_values_that_only_sqlite_would_keep_are_found_and_stop_nothing(written: Written, owner: DatabaseOwner):
    first, second, third, fourth = written.conversations[:4]
    owner.run("UPDATE events SET payload = CAST(x'ff' AS TEXT) WHERE stream = ? AND seq = 2", first)
    owner.run("UPDATE events SET seq = 'last' WHERE stream = ? AND seq = 2", second)
    owner.run("UPDATE events SET org = x'00' WHERE stream = ? AND seq = 2", third)
    owner.run("UPDATE streams SET seq = 'last' WHERE id = ?", fourth)
    places = {(place.stream, place.kind) for place in written.verify().broken}
    assert places >= {(first, "edited"), (second, "missing"), (third, "missing"), (fourth, "rewritten")}


async def test_a_log_that_is_broken_all_over_is_told_of_in_part(written: Written, owner: DatabaseOwner):
    await asyncio.gather(*(converse(written.preceptor, number) for number in range(MOST_TOLD // ROWS)))
    owner.run("UPDATE events SET at = at + 1")
    assert len(written.verify().broken) == MOST_TOLD


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@covers("F22")
async def test_every_single_random_mutation_is_found(written: Written, owner: DatabaseOwner, tmp_path: Path):
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    random, tampered = Random(seed), tmp_path / "tampered.db"
    copy(written.url, template := tmp_path / "template.db")
    for _ in range(20_000 if os.environ.get("PRECEPTOR_NIGHTLY") else 250):
        shutil.copy(template, tampered)
        with closing(sqlite3.connect(tampered)) as connection, connection:
            done = random.choice(MUTATIONS)(random, connection)
        assert not verify(SqliteFile(tampered), written.anchors).ok, f"not found with seed {seed}: {done}"


def copy(url: str, to: Path) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")


Key = tuple[str, str, int]
BY_KEY = "WHERE org = ? AND stream = ? AND seq = ?"
COLUMNS = [field.name for field in msgspec.structs.fields(Event)]


def any_key(random: Random, connection: sqlite3.Connection) -> Key:
    keys = connection.execute("SELECT org, stream, seq FROM events").fetchall()
    return random.choice(keys)


def another(random: Random, value: Any) -> Any:
    match value:
        case int():
            return random.choice([value + 1, value - 1, value + 2**40, -value - 1, "x", b"x"])
        case str():
            place = random.randrange(len(value))
            return random.choice(
                [value[:place] + "ỷ" + value[place + 1 :], value + " ", value[:-1], value.encode(), b"x"]
            )
        case bytes():
            place = random.randrange(len(value))
            flipped = bytes([value[place] ^ 1 << random.randrange(8)])
            return random.choice([value[:place] + flipped + value[place + 1 :], value[:-1], b"", value.hex()])
        case _:
            return random.choice(["x", 1, b"x"])


def edit(random: Random, connection: sqlite3.Connection) -> str:
    key, column = any_key(random, connection), random.choice(COLUMNS)
    [(before,)] = connection.execute(f"SELECT {column} FROM events {BY_KEY}", key).fetchall()
    after = another(random, before)
    connection.execute(f"UPDATE OR REPLACE events SET {column} = ? {BY_KEY}", (after, *key))
    return f"{column} of {key} from {before!r} to {after!r}"


def delete(random: Random, connection: sqlite3.Connection) -> str:
    key = any_key(random, connection)
    connection.execute(f"DELETE FROM events {BY_KEY}", key)
    return f"{key} deleted"


def swap(random: Random, connection: sqlite3.Connection) -> str:
    one = any_key(random, connection)
    other = any_key(random, connection)
    while other == one:
        other = any_key(random, connection)
    for before, after in ((one, ("", "", 0)), (other, one), (("", "", 0), other)):
        connection.execute(f"UPDATE events SET org = ?, stream = ?, seq = ? {BY_KEY}", (*after, *before))
    return f"{one} and {other} swapped"


def cut_tail(random: Random, connection: sqlite3.Connection) -> str:
    org, stream, keep = any_key(random, connection)
    keep -= 1
    mended = random.random() < 0.5
    connection.execute("DELETE FROM events WHERE org = ? AND stream = ? AND seq > ?", (org, stream, keep))
    last = connection.execute(f"SELECT hash FROM events {BY_KEY}", (org, stream, keep)).fetchone()
    if mended and last:
        connection.execute(
            "UPDATE streams SET seq = ?, hash = ?, anchored = 0, grown = 1 WHERE org = ? AND id = ?",
            (keep, last[0], org, stream),
        )
    elif mended:
        connection.execute("DELETE FROM streams WHERE org = ? AND id = ?", (org, stream))
    return f"{org}/{stream} cut after row {keep}, {mended=}"


def repeat(random: Random, connection: sqlite3.Connection) -> str:
    org, stream, seq = key = any_key(random, connection)
    [row] = connection.execute(f"SELECT * FROM events {BY_KEY}", key).fetchall()
    [(last,)] = connection.execute("SELECT seq FROM streams WHERE org = ? AND id = ?", (org, stream)).fetchall()
    connection.execute(f"INSERT INTO events VALUES ({', '.join('?' * 12)})", (org, stream, last + 1, *row[3:]))
    return f"{org}/{stream}: row {seq} repeated at its end"


def move_end(random: Random, connection: sqlite3.Connection) -> str:
    org, stream, _ = any_key(random, connection)
    column = random.choice(["org", "id", "seq", "hash"])
    [(before,)] = connection.execute(f"SELECT {column} FROM streams WHERE org = ? AND id = ?", (org, stream)).fetchall()
    after = another(random, before)
    connection.execute(f"UPDATE streams SET {column} = ? WHERE org = ? AND id = ?", (after, org, stream))
    return f"{column} of the end of {org}/{stream} from {before!r} to {after!r}"


MUTATIONS = [edit, edit, edit, edit, delete, swap, cut_tail, repeat, move_end]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@covers("F22")
def test_a_large_log_is_verified_to_its_last_row(database_url: str):
    schema.upgrade(database_url)
    fill(database_url, conversations=500, rows=100)
    verification = verify(locate(database_url), None)
    assert (verification.ok, verification.events, verification.streams) == (True, 50_000, 500)


def fill(url: str, *, conversations: int, rows: int) -> None:
    new = [NewEvent("message.added", orjson.dumps({"text": "Xin chào! " * 30}).decode())] * rows
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        for number in range(conversations):
            stream = StreamId(f"conversation-{number:06}")
            sealed = seal(OrgId("default"), stream, Head(), new, at=1, salts=[bytes(16)] * rows)
            places = ", ".join("?" * 12)
            connection.executemany(f"INSERT INTO events VALUES ({places})", map(msgspec.structs.astuple, sealed))
            end = ("default", stream, rows, sealed[-1].hash, 0, 0, 1)
            connection.execute("INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?)", end)


def test_there_is_nothing_to_verify_where_there_is_no_database(tmp_path: Path):
    missing = tmp_path / "missing.db"
    with pytest.raises(CannotStart, match="cannot be used"):
        verify(SqliteFile(missing), None)
    assert not missing.exists()
    missing.touch()
    with pytest.raises(CannotStart, match="is empty"):
        verify(SqliteFile(missing), None)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_postgres_that_does_not_answer_is_one_sentence_without_its_password(database_url: str):
    nowhere = locate(database_url.rsplit("/", 1)[0] + "/nowhere")
    with pytest.raises(CannotStart, match="cannot be used") as refused:
        verify(nowhere, None)
    assert "tests" not in str(refused.value)
