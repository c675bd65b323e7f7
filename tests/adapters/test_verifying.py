import os
import shutil
import sqlite3
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
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
from preceptor.domain.log import ORG_STREAM, Broken, Event, Head, NewEvent, seal
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


@pytest.fixture
async def written(preceptor: Preceptor, database_url: str, tmp_path: Path) -> Written:
    anchors = tmp_path / "anchors.jsonl"
    conversations = [await converse(preceptor, number) for number in range(CONVERSATIONS)]
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


def cut(owner: DatabaseOwner, stream: str, org: str = "default", *, keep: int = 4) -> None:
    owner.run("DELETE FROM events WHERE org = ? AND stream = ? AND seq > ?", org, stream, keep)


def cut_and_mend(owner: DatabaseOwner, stream: str, org: str = "default", *, keep: int = 4) -> None:
    cut(owner, stream, org, keep=keep)
    last = owner.events(org, stream)[-1]
    owner.run(
        "UPDATE streams SET seq = ?, hash = ?, anchored = 0 WHERE org = ? AND id = ?", last.seq, last.hash, org, stream
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
    owner.replace("default", written.stream, forge(events, lambda event: event.payload or ""))
    forged = forge(events, lambda event: '{"title":"Forged"}' if event.seq == 3 else str(event.payload))
    owner.replace("default", written.stream, forged)


def set_stream(column: str, value: object) -> Callable[[DatabaseOwner, Written], None]:
    return lambda owner, written: owner.run(f"UPDATE streams SET {column} = ? WHERE id = ?", value, written.stream) and None


TAMPERING: dict[str, tuple[Callable[[DatabaseOwner, Written], object], int, str]] = {
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
    "hidden from checkpoints": (set_stream("anchored", 1_000_000), ROWS, "rewritten"),
}


@pytest.mark.parametrize(("tamper", "seq", "kind"), TAMPERING.values(), ids=TAMPERING)
@covers("F22")
async def test_tampering_is_found_where_it_was_done(
    written: Written,
    owner: DatabaseOwner,
    tamper: Callable[[DatabaseOwner, Written], object],
    seq: int,
    kind: str,
):
    tamper(owner, written)
    assert ("default", written.stream, seq, kind) in found(written.verify())


def rewrite_checkpoints_too(owner: DatabaseOwner, written: Written) -> None:
    """A forger who knows everything but cannot reach the anchors."""
    rewrite(owner, written)
    hashes = dict(owner.run("SELECT id, hash FROM streams"))

    def retold(event: Event) -> str:
        heads = orjson.loads(event.payload or "")["heads"]
        return orjson.dumps({"heads": [(org, name, seq, hashes[name].hex()) for org, name, seq, _ in heads]}).decode()

    owner.replace("*", ORG_STREAM, forge(owner.events("*", ORG_STREAM), retold))


def cut_checkpoints_too(owner: DatabaseOwner, written: Written) -> None:
    cut_and_mend(owner, written.stream)
    cut_and_mend(owner, ORG_STREAM, "*", keep=written.checkpoint.seq - 1)


HIDDEN_FROM_THE_DATABASE = {
    "checkpoints rewritten too": (rewrite_checkpoints_too, 0, "rewritten"),
    "checkpoints cut too": (cut_checkpoints_too, 0, "cut"),
}


@pytest.mark.parametrize(("tamper", "after", "kind"), HIDDEN_FROM_THE_DATABASE.values(), ids=HIDDEN_FROM_THE_DATABASE)
@covers("F22")
async def test_a_forger_who_also_forges_the_checkpoints_is_found_by_the_anchor_alone(
    written: Written,
    owner: DatabaseOwner,
    tamper: Callable[[DatabaseOwner, Written], None],
    after: int,
    kind: str,
):
    await converse(written.preceptor, 99)
    checkpoint = await anchor(written.preceptor, written.anchors)
    tamper(owner, Written(written.preceptor, written.url, written.conversations, written.anchors, checkpoint))
    assert verify(written.database, None).ok
