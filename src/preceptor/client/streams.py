"""The events of a turn, as they come over the wire."""

from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from preceptor.surfaces.rest.shapes import TurnAnswer

ENDS = frozenset({"turn.completed", "turn.blocked", "turn.clarify", "turn.failed", "turn.cancelled"})


class Event(msgspec.Struct, frozen=True):
    """One row of the conversation's log."""

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
