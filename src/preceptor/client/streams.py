"""Events as they come over the wire, and how a stream that breaks is taken up where it broke."""

from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import orjson

from preceptor.client.asking import IN_PROGRESS, Asked, problem_of, unreachable, wait_before
from preceptor.surfaces.rest.shapes import TurnAnswer

EVENT_STREAM = "text/event-stream"
ENDS = frozenset({"turn.completed", "turn.blocked", "turn.clarify", "turn.failed", "turn.cancelled"})


class Event(msgspec.Struct, frozen=True):
    """One row of the log of a conversation, an execution or a replay."""

    seq: int
    kind: str
    data: dict[str, Any]

    @property
    def text(self) -> str:
        """What was said, if this is a piece of an answer."""
        return str(self.data.get("text", "")) if self.kind == "message.delta" else ""

    @property
    def turn(self) -> TurnAnswer | None:
        """The turn, if this is its end."""
        return TurnAnswer.model_validate_json(orjson.dumps(self.data), extra="ignore") if self.kind in ENDS else None


class Lines(msgspec.Struct):
    """Takes lines and gives whole events."""

    seq: int = 0
    """Of the last whole event."""
    _id: int = 0
    _kind: str = ""
    _data: list[str] = []

    def feed(self, line: str) -> Iterator[Event]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "id":
                self._id = int(value)
            case "event":
                self._kind = value
            case "data":
                self._data.append(value)
            case "" if not line and self._data:
                data, self._data = "\n".join(self._data), []
                self.seq = self._id
                yield Event(self.seq, self._kind, orjson.loads(data))
            case _:
                return


class Listening(msgspec.Struct):
    """What is heard of one log, over as many connections as it takes. It ends when the server has no more to tell."""

    asked: Asked
    """The next request."""
    retries: int = 0
    over: bool = False
    lines: Lines = msgspec.field(default_factory=Lines)
    _broke: int = 0
    """How many connections in a row told nothing."""
    _heard: bool = False
    """Whether this one told something."""
    _pause: float = 0.0

    def hear(self, line: str) -> Iterator[Event]:
        for event in self.lines.feed(line):
            self._heard = True
            yield event

    def refused(self, response: httpx2.Response) -> None:
        """Raise what the server said, unless it will say something else soon."""
        pause = wait_before(self._broke, response)
        self._broke += 1
        if pause is None or self._broke > self.retries:
            raise problem_of(response)
        self._pause = pause

    def broken(self, error: httpx2.TransportError) -> None:
        """The connection broke. One that told something may be followed by as many tries as the first."""
        self._broke = 1 if self._heard else self._broke + 1
        if self._broke > self.retries:
            raise unreachable(error) from error
        self._pause = wait_before(self._broke, None) or 0.0

    def ended(self, response: httpx2.Response) -> None:
        """The server has closed the connection. If that told nothing new, there is no more; else it may be stopping."""
        self.over = not self._heard and response.is_success

    def again(self) -> float:
        """Go on after the last event; how long to wait before."""
        pause = self._pause or wait_before(0, None) or 0.0
        self.asked, self.lines = self.rest(), Lines(self.lines.seq)
        self._heard, self._pause = False, 0.0
        return pause

    def rest(self) -> Asked:
        """What has happened since."""
        after = max(self.lines.seq, int(self.asked.query.get("after", 0)))
        return msgspec.structs.replace(self.asked, query=self.asked.query | {"after": after})


class Tail(Listening):
    """What is heard of a conversation: there may always be more."""

    def ended(self, response: httpx2.Response) -> None: ...


class OfTurn(Listening):
    """What is heard of the turn that a message begins. Sent again, it is the same message."""

    turn: str | None = None

    def hear(self, line: str) -> Iterator[Event]:
        for event in super().hear(line):
            self.turn = self.turn or event.data.get("turnId")
            if event.data.get("turnId") == self.turn:
                self.over = event.kind in ENDS
                yield event
            if self.over:
                return

    def refused(self, response: httpx2.Response) -> None:
        """A message that arrived before its connection broke is being answered: soon it can be heard from the start."""
        if problem_of(response).code != IN_PROGRESS:
            super().refused(response)

    def ended(self, response: httpx2.Response) -> None: ...

    def rest(self) -> Asked:
        if self.turn is None:
            return self.asked
        path = f"{self.asked.path.rsplit('/', 1)[0]}/events"
        return Asked("GET", path, {"after": self.lines.seq}, headers={"Accept": EVENT_STREAM})
