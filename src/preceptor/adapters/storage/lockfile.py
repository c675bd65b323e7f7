"""One server per SQLite file: an exclusive lock beside it, which also says where the server listens."""

import fcntl
import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from preceptor.domain.errors import CannotStart

TRIES, A_MOMENT = 5, 0.01
"""Whoever only looks who holds the lock has it for less than that."""


class InUse(CannotStart):
    """Another process has the database, and answers there if it is a server."""

    url: str | None = None


class Lock:
    """Held from open to close; the operating system lets go of it when the process dies, however it dies."""

    def __init__(self, database: Path) -> None:
        self.path = lock_path(database)
        self._database = database
        self._file: int | None = None

    def __enter__(self) -> Self:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _taken(descriptor):
            os.close(descriptor)
            raise _refusal(self._database)
        self._file = descriptor
        self.announce(None)
        return self

    def announce(self, url: str | None) -> None:
        """Leave word of who holds the lock and, for a server, where it listens."""
        assert self._file is not None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        os.ftruncate(self._file, 0)
        os.close(self._file)
        self._file = None


def lock_path(database: Path) -> Path:
    return database.with_name(database.name + ".lock")


def holder(database: Path) -> dict[str, object]:
    """Who holds the lock on `database`, as far as they said; empty when no one does."""
    path = lock_path(database)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _said(path)
    else:
        return {}
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    for _ in range(TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(A_MOMENT)
        else:
            return True
    return False


def _said(path: Path) -> dict[str, object]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {"pid": None, "url": None}


def _refusal(database: Path) -> InUse:
    said = _said(lock_path(database))
    who = f"process {said['pid']}" if said.get("pid") else "another process"
    url = str(said["url"]) if said.get("url") else None
    where = f", which answers on {url}" if url else ""
    sentence = (
        f"The database {database} is in use by {who}{where}; SQLite serves one process. "
        "Stop that one, choose another PRECEPTOR_DATA_DIR, or use PostgreSQL for several servers."
    )
    return InUse(sentence, url)
