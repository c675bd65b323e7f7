"""A process that holds a SQLite file until its stdin is closed: `open` as a server would; `lock`, or `fold` as one that
is folding its log, as a stranger.
"""

import asyncio
import fcntl
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from preceptor import Settings, open_preceptor

ROOT = Path(__file__).parents[2]
FOLDS = 121
"""The byte of the file beside the log that is locked by whoever folds it."""


@contextmanager
def holding(how: Literal["open", "lock", "fold"], path: Path) -> Generator[subprocess.Popen[bytes]]:
    """Hold `path` in another process, from the moment this is entered."""
    command = [sys.executable, "-m", "tests.durability.holder", how, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin
        assert process.stdout
        try:
            assert process.stdout.readline() == b"held\n"
            yield process
            process.stdin.close()
            process.wait(timeout=10)
        finally:
            process.kill()


def until_told() -> None:
    sys.stdout.write("held\n")
    sys.stdout.flush()
    sys.stdin.read()


async def hold_open(path: Path) -> None:
    settings = Settings.load(data_dir=path.parent, database_url=f"sqlite:///{path}")
    async with open_preceptor(settings):
        await asyncio.to_thread(until_told)


def hold_lock(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        until_told()
        connection.execute("ROLLBACK")


def hold_fold(path: Path) -> None:
    with path.with_name(f"{path.name}-shm").open("rb+") as shared:
        fcntl.lockf(shared, fcntl.LOCK_EX, 1, FOLDS)
        until_told()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["open", path]:
            asyncio.run(hold_open(Path(path)))
        case ["lock", path]:
            hold_lock(Path(path))
        case ["fold", path]:
            hold_fold(Path(path))
        case _:
            sys.exit(2)
