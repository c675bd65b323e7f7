"""The log: what happened, in order, in a way that shows when it was changed.

An event's `hash` covers its place, its metadata, the hash before it, and a salted commitment to its payload. Erasing a
payload (and its salt) therefore leaves the chain whole, and nothing of the text can be guessed from what remains.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import msgspec
import orjson

from preceptor.domain.errors import Conflict
from preceptor.domain.ids import OrgId, StreamId, TurnId

GENESIS = bytes(32)
ORG_STREAM = StreamId("@org")
"""Every organisation's own stream: who changed which key, user or agent, and checkpoints of all other streams."""


class NewEvent(msgspec.Struct, frozen=True, gc=False):
    """Something that is about to be written down. `payload` is JSON text; the log never looks inside."""

    kind: str
    payload: str
    turn: TurnId | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """One row of the log. `at` is a label in microseconds since 1970; order is `seq` alone."""

    org: OrgId
    stream: StreamId
    seq: int
    turn: TurnId | None
    kind: str
    at: int
    epoch: int
    payload: str | None
    salt: bytes | None
    commitment: bytes
    prev_hash: bytes
    hash: bytes


Told = tuple[OrgId, StreamId, int, str]
"""What a checkpoint says of one stream: where it stood, and the hash of its last event in hexadecimal."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """Where a stream ends, and the epoch that may write to it."""

    seq: int = 0
    hash: bytes = GENESIS
    epoch: int = 0


class Fenced(Conflict):
    """A writer that was replaced tried to write."""

    stream: str = ""

    def __str__(self) -> str:
        return f"Another worker has taken over {self.stream!r}; this one must stop. Read the stream again."


class Broken(msgspec.Struct, frozen=True):
    """A place where the log is not what was written."""

    org: str
    stream: str
    seq: int
    why: str

    KINDS: ClassVar[tuple[str, ...]] = ("edited", "missing", "reordered", "cut", "rewritten")

    @property
    def kind(self) -> str:
        """The first word of `why`, one of `KINDS`."""
        return self.why.partition(":")[0]


def digest(event: Event) -> bytes:
    """What `event.hash` must be."""
    place = orjson.dumps([event.org, event.stream, event.seq, event.turn, event.kind, event.at, event.epoch])
    return hashlib.sha256(event.prev_hash + event.commitment + place).digest()


def commit_to(salt: bytes, payload: str) -> bytes:
    return hashlib.sha256(salt + payload.encode()).digest()


def seal(
    org: OrgId, stream: StreamId, head: Head, new: Sequence[NewEvent], *, at: int, salts: Sequence[bytes]
) -> list[Event]:
    """Chain `new` onto `head`."""
    sealed: list[Event] = []
    before, epoch, sha256, dumps = head.hash, head.epoch, hashlib.sha256, orjson.dumps
    for seq, (event, salt) in enumerate(zip(new, salts, strict=True), head.seq + 1):
        turn, kind, payload = event.turn, event.kind, event.payload
        commitment = sha256(salt + payload.encode()).digest()
        after = sha256(before + commitment + dumps([org, stream, seq, turn, kind, at, epoch])).digest()
        sealed.append(Event(org, stream, seq, turn, kind, at, epoch, payload, salt, commitment, before, after))
        before = after
    return sealed


class Ending(msgspec.Struct, frozen=True):
    """Where the database itself says a stream ends, and what it says of the last checkpoint that told of it."""

    head: Head
    anchored: int
    """The last row it told of."""
    grown: bool
    """Whether the next checkpoint will tell of the stream again."""


class Witness(msgspec.Struct, frozen=True):
    """What a checkpoint or an anchor remembers of a stream: that the row at `seq` had this hash."""

    seq: int
    hash: bytes
    source: str


def broken_in(
    org: str, stream: str, events: Iterable[Event], ending: Ending | None, witnesses: Iterable[Witness]
) -> Iterator[Broken]:
    """Check one whole stream: its chain, its end, and what its witnesses remember; both are given in order of `seq`.

    A stream whose witnesses contradict it is told of once: every later row follows from the first that was rewritten.
    """
    last: Event | Head = Head()
    memory, contradicted = _Memory(witnesses), False
    for event in events:
        if event.seq > last.seq + 1:
            yield Broken(org, stream, last.seq + 1, f"missing: {_rows(last.seq + 1, event.seq - 1)} not there")
        elif event.seq <= last.seq or event.prev_hash != last.hash:
            yield Broken(org, stream, event.seq, "reordered: it does not follow the row before it")
        if why := _altered(event):
            yield Broken(org, stream, event.seq, why)
        if (witness := memory.contradicting(event)) and not contradicted:
            yield Broken(org, stream, witness.seq, f"rewritten: {witness.source} remembers another row")
            contradicted = True
        last = event
    if witness := memory.beyond():
        yield Broken(org, stream, last.seq + 1, f"cut: {witness.source} remembers row {witness.seq}")
    if why := _misplaced(ending, last, memory.latest):
        yield Broken(org, stream, last.seq + 1 if why.startswith("cut") else last.seq, why)


class _Memory:
    """Goes along with the rows of a stream, holding no more than the next witness."""

    def __init__(self, witnesses: Iterable[Witness]) -> None:
        self._rest = iter(witnesses)
        self._next = next(self._rest, None)
        self.latest = 0
        """The last row that any witness heard so far remembers."""

    def contradicting(self, event: Event) -> Witness | None:
        """The first witness up to this row, and after the one before it, who remembers something else."""
        liar = None
        while self._next is not None and self._next.seq <= event.seq:
            if self._next.seq != event.seq or self._next.hash != event.hash:
                liar = liar or self._next
            self._hear()
        return liar

    def beyond(self) -> Witness | None:
        """The last of the witnesses of rows that never came."""
        last = None
        while self._next is not None:
            last = self._next
            self._hear()
        return last

    def _hear(self) -> None:
        assert self._next is not None
        self.latest = self._next.seq
        self._next = next(self._rest, None)


def _altered(event: Event) -> str | None:
    if event.payload is not None and (event.salt is None or commit_to(event.salt, event.payload) != event.commitment):
        return "edited: the payload is not what was written"
    if digest(event) != event.hash:
        return "edited: the row is not what was written"
    return None


def _misplaced(ending: Ending | None, last: Event | Head, told: int) -> str | None:
    """What is wrong with where the database says the stream ends."""
    if ending is None:
        return "rewritten: nothing says where the stream ends" if last.seq else None
    if ending.head.seq > last.seq:
        return f"cut: its stream goes on to row {ending.head.seq}"
    if (ending.head.seq, ending.head.hash) != (last.seq, last.hash):
        return "rewritten: its stream ends elsewhere"
    if ending.head.epoch < last.epoch:
        return "rewritten: its stream is in an epoch that has passed"
    if ending.anchored > told or (ending.head.seq > ending.anchored and not ending.grown):
        return "rewritten: its stream is hidden from checkpoints"
    return None


def _rows(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"
