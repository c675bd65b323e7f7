"""Server-sent events, as they come: a character or a line may be split anywhere."""

import re

import msgspec

LARGEST_LINE = 4_000_000

_END_OF_LINE = re.compile(rb"\r\n|\n|\r(?!\Z)")


class EndlessLine(ValueError):
    """A line longer than anything we expect."""


class Frames(msgspec.Struct):
    """Takes bytes and gives the data of whole events. What no blank line has ended is not an event."""

    _rest: bytes = b""
    _data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        *lines, self._rest = _END_OF_LINE.split(self._rest + chunk)
        if len(self._rest) > LARGEST_LINE:
            raise EndlessLine
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line:
                data, self._data = b"\n".join(self._data), []
                if data:
                    events.append(data)
        return events
