import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from preceptor.adapters.storage import schema
from tests.durability.worker import Order, as_line

ROOT = Path(__file__).parents[2]


class Workshop:
    """Has orders carried out, each by a fresh process, and says how it ended: 0, or minus the signal."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.durability.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )

    def carry_out(self, order: Order) -> int:
        assert self._parent.stdin
        assert self._parent.stdout
        self._parent.stdin.write(as_line(order))
        self._parent.stdin.flush()
        return orjson.loads(self._parent.stdout.readline())

    def close(self) -> None:
        self._parent.communicate(timeout=10)


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    opened = Workshop()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file at the newest schema, to copy from."""
    path = tmp_path_factory.mktemp("template") / "preceptor.db"
    schema.upgrade(f"sqlite:///{path}")
    return path.read_bytes()
