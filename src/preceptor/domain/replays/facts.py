"""What the events of a replay say. What it found in each turn is kept beside them, and goes with its conversation."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from preceptor.domain.log import Event, NewEvent
from preceptor.domain.replays.replay import Status
from preceptor.domain.times import from_micros


class Fact(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The payload of one event."""


class Accepted(Fact, frozen=True, kw_only=True):
    asked: dict[str, Any]
    """The replay as it was asked for, with every override named by its id."""
    turns: tuple[str, ...]
    permissions: tuple[str, ...]
    gate: dict[str, Any] | None = None
    """The label's gate that asked for it."""


class Progressed(Fact, frozen=True, kw_only=True):
    done: int
    total: int


class CancelRequested(Fact, frozen=True, kw_only=True):
    by: str


class Ended(Fact, frozen=True, kw_only=True):
    status: Status
    code: str | None = None
    sentence: str | None = None


KINDS: dict[str, type[Fact]] = {
    "replay.accepted": Accepted,
    "replay.progressed": Progressed,
    "replay.cancel_requested": CancelRequested,
    **{f"replay.{status}": Ended for status in Status if status is not Status.RUNNING},
}
TERMINAL = frozenset(kind for kind, said in KINDS.items() if said is Ended)
_NAMES: dict[type[Fact], str] = {
    Accepted: "replay.accepted",
    Progressed: "replay.progressed",
    CancelRequested: "replay.cancel_requested",
}
_ENCODER = msgspec.json.Encoder()
_DECODERS = {kind: msgspec.json.Decoder(said) for kind, said in KINDS.items()}


def event(fact: Fact) -> NewEvent:
    kind = f"replay.{fact.status}" if isinstance(fact, Ended) else _NAMES[type(fact)]
    return NewEvent(kind, _ENCODER.encode(fact).decode())


class Standing(msgspec.Struct):
    """Where a replay stands, but for what it found."""

    accepted: Accepted | None = None
    created: datetime | None = None
    cancelled: CancelRequested | None = None
    ended: Ended | None = None
    ended_at: datetime | None = None

    def tell(self, fact: Any, at: datetime) -> None:
        match fact:
            case Accepted():
                self.accepted, self.created = fact, at
            case CancelRequested():
                self.cancelled = fact
            case Ended():
                self.ended, self.ended_at = fact, at
            case _:
                return

    @property
    def status(self) -> Status:
        return Status.RUNNING if self.ended is None else self.ended.status


def fold(events: Iterable[Event]) -> Standing:
    standing = Standing()
    for one in events:
        if one.payload is not None:
            standing.tell(_DECODERS[one.kind].decode(one.payload), from_micros(one.at))
    return standing
