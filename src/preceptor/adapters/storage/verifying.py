"""Whether the log is what was written: every row, every stream's end, every checkpoint, every anchor."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import starmap
from pathlib import Path
from types import NoneType

import msgspec

from preceptor.adapters.storage import anchoring, schema
from preceptor.adapters.storage.log import CHECKPOINT
from preceptor.adapters.storage.opening import Database
from preceptor.adapters.storage.ready.verifying import CHECKPOINTS, ENDINGS, EVENTS
from preceptor.adapters.storage.snapshots import Snapshot, snapshot_of
from preceptor.adapters.storage.statements import Row
from preceptor.domain.errors import CannotStart
from preceptor.domain.log import ORG_STREAM, Broken, Ending, Event, Head, Witness, broken_in
from preceptor.domain.ownership import INSTALLATION

Place = tuple[str, str]


EVENT_SHAPES = frozenset(
    (str, str, int, turn, str, int, int, payload, salt, bytes, bytes, bytes)
    for turn in (str, NoneType)
    for payload, salt in ((str, bytes), (NoneType, NoneType))
)
"""What the columns of an event may hold: SQLite would keep anything, and erasing takes payload and salt together."""
ENDING_SHAPES = frozenset({(str, str, int, bytes, int, int, int)})

MOST_TOLD = 1000
"""Places told of one by one. A log with more is broken all over, and no one reads on."""
STEP = 10_000


class Checkpoint(msgspec.Struct, frozen=True):
    heads: list[tuple[str, str, anchoring.Seq, anchoring.Hash]]


class Verification(msgspec.Struct, frozen=True):
    """What was looked at, and where the log is not what was written."""

    events: int
    streams: int
    checkpoints: int
    anchors: int
    broken: tuple[Broken, ...]

    @property
    def ok(self) -> bool:
        return not self.broken


def verify(database: Database, anchors: Path | None, progress: Callable[[int], None] | None = None) -> Verification:
    """Check the whole log beside a server that may be writing to it; `progress` hears how many rows are done.

    Anchors are read before the database: one written meanwhile would remember what our snapshot has not seen.
    """
    with closing(_Witnesses()) as witnesses:
        check = _Check(witnesses, progress or (lambda _: None))
        if anchors is not None:
            check.hear_anchors(anchors)
        with snapshot_of(database) as snapshot:
            if snapshot.revision is None:
                raise CannotStart("There is no log to verify: the database is empty. Check PRECEPTOR_DATABASE_URL.")
            schema.refuse_newer(snapshot.revision)
            check.hear_checkpoints(snapshot)
            check.walk(snapshot)
    return Verification(check.events, check.streams, check.checkpoints, check.anchors, tuple(check.broken))


class _Witnesses:
    """All that checkpoints and anchors remember, sorted on the disk: there may be as much of it as there are events."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("CREATE TABLE witnesses (org, stream, seq, hash, source)")

    def add(self, rows: Iterable[Row]) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT INTO witnesses VALUES (?, ?, ?, ?, ?)", rows)
        self._database.execute("COMMIT")

    def in_order(self) -> Iterator[Row]:
        return self._database.execute("SELECT * FROM witnesses ORDER BY org, stream, seq")

    def close(self) -> None:
        self._database.close()


class _Rows:
    """Rows in the order of their streams, of which no more than the next is held."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    @property
    def place(self) -> Place | None:
        return None if self._next is None else (self._next[0], self._next[1])

    def of(self, place: Place) -> Iterator[Row]:
        """Take the rows of `place`, which must be the next."""
        while (row := self._next) is not None and row[:2] == place:
            self._next = next(self._rows, None)
            yield row


class _Check(msgspec.Struct):
    witnesses: _Witnesses
    progress: Callable[[int], None]
    events: int = 0
    streams: int = 0
    checkpoints: int = 0
    anchors: int = 0
    broken: list[Broken] = []

    def hear_anchors(self, path: Path) -> None:
        self.witnesses.add(self._anchored(path))

    def hear_checkpoints(self, snapshot: Snapshot) -> None:
        rows = snapshot.rows(CHECKPOINTS, org=INSTALLATION, stream=ORG_STREAM, kind=CHECKPOINT)
        self.witnesses.add(self._told(rows))

    def walk(self, snapshot: Snapshot) -> None:
        """Go through events, streams and witnesses side by side, stream by stream."""
        rows = _Rows(self._counted(snapshot.rows(EVENTS)))
        endings = _Rows(self._sound(snapshot.rows(ENDINGS), ENDING_SHAPES, "rewritten"))
        witnesses = _Rows(self.witnesses.in_order())
        while places := [place for source in (rows, endings, witnesses) if (place := source.place)]:
            place = min(places)
            self._note(
                broken_in(
                    *place,
                    starmap(Event, rows.of(place)),
                    next((Ending(Head(*row[2:5]), row[5], row[6] == 1) for row in endings.of(place)), None),
                    (Witness(*row[2:]) for row in witnesses.of(place)),
                )
            )
            self.streams += 1
        self.progress(self.events)

    def _counted(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in self._sound(rows, EVENT_SHAPES, "edited"):
            self.events += 1
            if not self.events % STEP:
                self.progress(self.events)
            yield row

    def _sound(self, rows: Iterator[Row], shapes: frozenset[tuple[type, ...]], kind: str) -> Iterator[Row]:
        """The rows that could have been written by us, as far as their types show."""
        for row in rows:
            if tuple(map(type, row)) in shapes:
                yield row
            else:
                seq = row[2] if isinstance(row[2], int) else 0
                self._note(
                    [Broken(str(row[0]), str(row[1]), seq, f"{kind}: a column holds what does not belong there")]
                )

    def _anchored(self, path: Path) -> Iterator[Row]:
        for anchor in anchoring.read(path):
            match anchor:
                case anchoring.Damaged(line):
                    self._note([Broken(INSTALLATION, ORG_STREAM, 0, f"edited: line {line} of {path} is not an anchor")])
                case anchoring.Anchor(at, org, stream, seq, digest):
                    self.anchors += 1
                    yield org, stream, seq, bytes.fromhex(digest), f"the anchor of {at:%Y-%m-%d %H:%M:%S}"

    def _told(self, checkpoints: Iterator[Row]) -> Iterator[Row]:
        for seq, payload in checkpoints:
            self.checkpoints += 1
            try:
                told = msgspec.json.decode(payload or "", type=Checkpoint)
            except (msgspec.DecodeError, UnicodeDecodeError):
                self._note([Broken(INSTALLATION, ORG_STREAM, seq, "edited: a checkpoint that cannot be read")])
                continue
            for org, stream, at, digest in told.heads:
                yield org, stream, at, bytes.fromhex(digest), f"checkpoint {seq}"

    def _note(self, found: Iterable[Broken]) -> None:
        for place in found:
            if len(self.broken) < MOST_TOLD:
                self.broken.append(place)
