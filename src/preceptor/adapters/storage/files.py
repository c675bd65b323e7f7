"""Files that must still be there after the power has failed."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def unfinished(beside: Path) -> Generator[Path]:
    """An empty file in the folder of `beside`, for this user alone; gone at the end unless it was given a name."""
    descriptor, name = tempfile.mkstemp(dir=beside.parent, prefix=f".{beside.name}.")
    os.close(descriptor)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        path.with_name(path.name + "-journal").unlink(missing_ok=True)


def finish(unfinished: Path, name: Path) -> None:
    """Give a written file its name at once and for good."""
    sync(unfinished)
    unfinished.replace(name)
    sync(name.parent)
