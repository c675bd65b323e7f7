import os
import random
import signal
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path

import pytest

from preceptor.adapters.storage import faults
from tests.durability.checker import check, lines
from tests.durability.forks import Forks
from tests.durability.worker import Order
from tests.postgres import Cluster

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
PER_COMMIT = range(1, 14)
"""With 16 writers, 200 operations need at least 13 commits, after the one that prepares the installation."""
PER_TRANSACTION = range(1, 200, 2) if NIGHTLY else (1, 2, 30, 60, 90, 120, 150, 180, 199)
MOMENTS = 400 if NIGHTLY else 12
SQLITE = tuple(point for point in faults.POINTS if point.startswith("sqlite."))
POSTGRES = tuple(point for point in faults.POINTS if point.startswith("postgres."))


class Case:
    """One database that process after process dies on, and the history of all of them."""

    def __init__(self, workers: Forks, url: str, folder: Path) -> None:
        self._workers = workers
        self._order = Order(url, str(folder))
        self._names = count(1)

    def kill(self, point: str, nth: int) -> None:
        ended = self._run(replace(self._order, point=point, nth=nth))
        assert ended == -signal.SIGKILL, f"{point} was not reached {nth} times"

    def kill_after(self, milliseconds: int) -> None:
        assert self._run(replace(self._order, milliseconds=milliseconds)) in {-signal.SIGALRM, 0}

    def finish(self) -> None:
        assert self._run(replace(self._order, operations=40)) == 0

    def _run(self, order: Order) -> int:
        ended = self._workers.call(**asdict(replace(order, name=f"process {next(self._names)}")))
        check(order.database, lines(Path(order.folder, "history.jsonl")))
        return ended


@pytest.fixture(scope="module")
def workers() -> Iterator[Forks]:
    with Forks("tests.durability.worker:carry_out") as opened:
        yield opened


@pytest.fixture
def on_sqlite(workers: Forks, sqlite_template: bytes, tmp_path: Path) -> Case:
    path = tmp_path / "preceptor.db"
    path.write_bytes(sqlite_template)
    return Case(workers, f"sqlite:///{path}", tmp_path)


@pytest.fixture
def on_postgres(workers: Forks, postgres: Cluster, postgres_template: str, tmp_path: Path) -> Iterator[Case]:
    url = postgres.new_database(template=postgres_template)
    yield Case(workers, url, tmp_path)
    postgres.drop(url)


def soon(nth: int) -> int:
    """Half of the second kills hit the first transaction after the restart, half the next."""
    return 1 + nth % 2


@pytest.mark.parametrize("point", SQLITE)
def test_sqlite_keeps_what_it_acknowledged_when_killed_and_killed_again_while_recovering(on_sqlite: Case, point: str):
    for nth in PER_TRANSACTION if point == "sqlite.step" else PER_COMMIT:
        on_sqlite.kill(point, nth)
        on_sqlite.kill(point, soon(nth))
    on_sqlite.finish()


@pytest.mark.parametrize("point", POSTGRES)
def test_postgres_keeps_what_it_acknowledged_when_killed_and_killed_again_while_recovering(
    on_postgres: Case, point: str
):
    for nth in PER_TRANSACTION:
        on_postgres.kill(point, nth)
        on_postgres.kill(point, soon(nth))
    on_postgres.finish()


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_kill_at_any_other_moment_loses_nothing_either(request: pytest.FixtureRequest, database: str):
    case: Case = request.getfixturevalue(f"on_{database}")
    moments = random.Random(20)
    for _ in range(MOMENTS):
        case.kill_after(moments.randint(15, 150))
    case.finish()
