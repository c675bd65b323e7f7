"""Anchors: hashes of the installation's stream kept outside the database, where its owner cannot change them too.

One line of JSON for each. Whoever rewrites the log, its checkpoints included, is found by an anchor that remembers it.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from preceptor.adapters.storage.files import sync
from preceptor.domain.log import Event

Seq = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Anchor(msgspec.Struct, frozen=True):
    at: datetime
    org: str
    stream: str
    seq: Seq
    hash: Hash


class Damaged(msgspec.Struct, frozen=True):
    """A line that is no anchor, though one was written there."""

    line: int


def append(path: Path, event: Event, at: datetime) -> None:
    """Remember `event`; it is on the disk when this returns."""
    anchor = Anchor(at, event.org, event.stream, event.seq, event.hash.hex())
    new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(_mend(descriptor) + msgspec.json.encode(anchor) + b"\n")
        file.flush()
        os.fsync(descriptor)
    if new:
        sync(path.parent)


def read(path: Path) -> Iterator[Anchor | Damaged]:
    """Every anchor, oldest first. A damaged last line is what a crash left of one that was never confirmed: ignored."""
    if not path.exists():
        return
    damaged: Damaged | None = None
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if damaged is not None:
                yield damaged
            anchor = _anchor(line)
            damaged = Damaged(number) if anchor is None else None
            if anchor is not None:
                yield anchor


def _anchor(line: bytes) -> Anchor | None:
    try:
        return msgspec.json.decode(line, type=Anchor)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _mend(descriptor: int) -> bytes:
    """Cut off half a line that a crash left behind; return what a whole one lacks before the next can follow."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, 4096, max(0, size - 4096))
    last = tail[tail.rfind(b"\n") + 1 :]
    if not last:
        return b""
    if _anchor(last) is not None:
        return b"\n"
    os.ftruncate(descriptor, size - len(last))
    return b""
