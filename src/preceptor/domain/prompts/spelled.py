"""Messages as a provider's format spells them: each is written once and hashed once, however often it is sent."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Self

from preceptor.domain.messages.message import Message
from preceptor.domain.prompts.placed import Placed

Write = Callable[[Message], bytes]


class Spelled:
    """Grows with what is shown. Requests that begin alike share the hash of what they share."""

    __slots__ = ("_hashes", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._hashes: dict[bytes, tuple[int, Any]] = {}
        """By how a request opens: how many pieces are hashed, and the hash up to there."""

    def go_on(self, shown: Sequence[Placed], form: str, write: Write) -> Self:
        pieces = self._pieces
        for each in shown[len(pieces) :]:
            if each.form != form:
                each.form, each.written = form, _fitted(write(each.message))
            pieces.append(each.written)
        return self

    def between(self, opening: bytes, closing: bytes, count: int) -> tuple[bytes, str]:
        """A request: the first `count` pieces, with commas, between these two; and the hash of all of it."""
        pieces = self._pieces if count == len(self._pieces) else self._pieces[:count]
        done, running = self._hashes.get(opening) or (0, sha256(opening))
        if done > count:
            done, running = 0, sha256(opening)
        if count > done:
            running.update((b"," if done else b"") + b",".join(pieces[done:]))
            self._hashes[opening] = count, running
        whole = running.copy()
        whole.update(closing)
        return b"".join((opening, b",".join(pieces), closing)), whole.hexdigest()


def _fitted(piece: bytes) -> bytes:
    """The same in as much memory as it needs. What `orjson` writes takes four kilobytes, however short it is."""
    return b"".join((piece, b""))
