"""Looks at a database and a history from outside, without a line of the engine: is all that was promised there?"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

EVENTS = """SELECT org, stream, seq, turn, kind, at, epoch, payload, salt, commitment, prev_hash, hash
FROM events ORDER BY org, stream, seq"""
HEADS = "SELECT org, id, seq, hash, epoch FROM streams"
Line = Mapping[str, Any]
"""Of a history: `did` is `invoke` or `ok`, `title` says which operation, `id` and `seq` where it was acknowledged."""
CONVERSATIONS = "SELECT org, id, status, title, body FROM conversations"


class Row(NamedTuple):
    org: str
    stream: str
    seq: int
    turn: str | None
    kind: str
    at: int
    epoch: int
    payload: str | None
    salt: bytes | None
    commitment: bytes
    prev_hash: bytes
    hash: bytes


class Contents(NamedTuple):
    """Everything that matters, read in one snapshot."""

    events: list[Row]
    heads: list[tuple[Any, ...]]
    conversations: list[tuple[Any, ...]]


def contents(url: str) -> Contents:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            connection.execute("BEGIN")
            events, heads, rows = (connection.execute(query).fetchall() for query in (EVENTS, HEADS, CONVERSATIONS))
    else:
        with psycopg.connect(url, options="-c default_transaction_isolation=repeatable\\ read") as connection:
            connection.execute("SELECT set_config('preceptor.org', '*', true)")
            events, heads, rows = (connection.execute(query).fetchall() for query in (EVENTS, HEADS, CONVERSATIONS))
    return Contents([Row(*event) for event in events], heads, rows)


def streams(url: str) -> Iterator[list[Row]]:
    """Each stream of the log by itself: all of them may be more than fits into memory."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            yield from _by_stream(connection.execute(EVENTS))
    else:
        with psycopg.connect(url) as connection, connection.cursor("every_event") as rows:
            connection.execute("SELECT set_config('preceptor.org', '*', true)")
            yield from _by_stream(rows.execute(EVENTS))


def _by_stream(events: Iterable[tuple[Any, ...]]) -> Iterator[list[Row]]:
    for _, rows in groupby((Row(*event) for event in events), lambda row: (row.org, row.stream)):
        yield list(rows)


def check(url: str, history: Sequence[Line]) -> int:
    """Fail on the first broken promise; return how many acknowledgements were kept."""
    found = contents(url)
    streams = {place: list(rows) for place, rows in groupby(found.events, lambda row: (row.org, row.stream))}
    for rows in streams.values():
        check_chain(rows)
    heads = {(org, stream): (seq, bytes(last), epoch) for org, stream, seq, last, epoch in found.heads}
    assert heads == {place: (rows[-1].seq, rows[-1].hash, rows[-1].epoch) for place, rows in streams.items()}
    check_conversations(found.conversations, streams)
    return check_history(found.events, history)


def check_conversations(
    conversations: Sequence[tuple[Any, ...]], streams: Mapping[tuple[str, str], Sequence[Row]]
) -> None:
    """The table that lists conversations says what their events say."""
    kept = {(org, name): (status, title, json.loads(body)) for org, name, status, title, body in conversations}
    assert set(kept) == {place for place, rows in streams.items() if rows[0].kind == "conversation.started"}
    for place, (status, title, body) in kept.items():
        expected = fold(streams[place])
        assert {name: body[name] for name in expected} == expected, place
        assert (status, title) == (body["status"], (body["title"] or "").casefold())


def check_chain(rows: Sequence[Row]) -> None:
    before = bytes(32)
    for seq, row in enumerate(rows, 1):
        assert row.seq == seq, f"{row.stream}: row {seq} is missing"
        assert row.prev_hash == before, f"{row.stream}/{seq} does not follow the row before it"
        if row.payload is not None:
            assert row.salt is not None
            assert hashlib.sha256(row.salt + row.payload.encode()).digest() == row.commitment
        place = json.dumps(row[:7], separators=(",", ":"), ensure_ascii=False).encode()
        before = row.hash
        assert hashlib.sha256(row.prev_hash + row.commitment + place).digest() == before


def fold(rows: Sequence[Row]) -> Mapping[str, object]:
    """What the conversation must look like after these events."""
    state: dict[str, object] = {}
    for revision, row in enumerate(rows, 1):
        facts = json.loads(row.payload or "{}")
        match row.kind:
            case "conversation.started":
                state = facts | {"conversationId": row.stream, "status": "active"}
            case "conversation.changed":
                state = state | facts
            case kind:
                raise AssertionError(f"The worker never writes {kind}")
        state["revision"] = revision
    return state


def check_history(events: Sequence[Row], history: Sequence[Line]) -> int:
    titles = [json.loads(row.payload or "{}").get("title") for row in events]
    places = {(row.stream, row.seq): title for row, title in zip(events, titles, strict=True)}
    invoked = {line["title"] for line in history if line["did"] == "invoke"}
    acknowledged = [line for line in history if line["did"] == "ok"]
    assert [line for line in acknowledged if places.get((line["id"], line["seq"])) != line["title"]] == [], "lost"
    assert [title for title, times in Counter(titles).items() if title and times > 1] == [], "written twice"
    assert {title for title in titles if title} <= invoked, "no one asked for this"
    return len(acknowledged)


def lines(history: Path) -> list[Line]:
    """The lines that were written whole: the last one may have been cut by the kill, and then nobody has read it."""
    return [json.loads(line) for line in history.read_bytes().split(b"\n")[:-1]] if history.exists() else []
