"""Turns that are killed, at every moment there is, and again while they are taken up."""

import os
import random
import signal
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from preceptor.adapters.storage import faults
from tests.durability.checker import lines
from tests.durability.forks import Forks
from tests.durability.provider import provider
from tests.durability.turn_checker import Found, check_turns
from tests.durability.turning import MOMENTS, Order
from tests.postgres import Cluster
from tests.requirements import covers

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
DEPTHS = (0, 1, 0, 2, 0, 3)
"""How often those who take up what was left behind are killed as well: every other time, up to three times."""


@dataclass
class Case:
    """One database on which process after process dies."""

    workers: Forks
    order: Order
    names: Iterator[int]

    def finish(self) -> dict[str, int]:
        """Take turns to their end; how often each moment was reached."""
        assert self._run(self.order) == 0
        return next(line["moments"] for line in reversed(self._history()) if line["did"] == "reached")

    def kill(self, nth: int) -> None:
        assert self._run(replace(self.order, nth=nth)) in {-signal.SIGKILL, 0}

    def kill_recovering(self, nth: int) -> None:
        assert self._run(replace(self.order, recovering=nth)) in {-signal.SIGKILL, 0}

    def check(self) -> Found:
        return check_turns(self.order.database, Path(self.order.folder))

    def _run(self, order: Order) -> int:
        return self.workers.call(**asdict(replace(order, name=f"p{next(self.names)}")))

    def _history(self) -> list[Any]:
        return lines(Path(self.order.folder, "history.jsonl"))


@pytest.fixture(scope="module")
def workers() -> Iterator[Forks]:
    with Forks("tests.durability.turning:carry_out") as opened:
        yield opened


@pytest.fixture
def world(tmp_path: Path) -> Iterator[str]:
    with provider(tmp_path / "ledger.jsonl") as url:
        yield url


@pytest.fixture
def on_sqlite(workers: Forks, sqlite_template: bytes, tmp_path: Path, world: str) -> Case:
    path = tmp_path / "preceptor.db"
    path.write_bytes(sqlite_template)
    return Case(workers, Order(f"sqlite:///{path}", str(tmp_path), world, turns=10), count(1))


@pytest.fixture
def on_postgres(
    workers: Forks, postgres: Cluster, postgres_template: str, tmp_path: Path, world: str
) -> Iterator[Case]:
    url = postgres.new_database(template=postgres_template)
    yield Case(workers, Order(url, str(tmp_path), world, turns=6, lease=0.3), count(1))
    postgres.drop(url)


def sweep(case: Case, kills: int) -> Found:
    """Kill at moments that are spread over the whole of the work, and half of the time again and again."""
    reached = case.finish()
    last = sum(reached.values())
    moments = random.Random(7)
    for cycle in range(kills):
        case.kill(1 + last * cycle // kills)
        for _ in range(DEPTHS[cycle % 6]):
            case.kill_recovering(moments.randint(1, last // 6))
    assert {*reached} == {*MOMENTS, *(point for point in faults.POINTS if point in reached)}
    case.finish()
    return case.check()


@covers("F1", "F2", "F19", "F21")
def test_turns_on_sqlite_survive_kills_and_kills_while_they_recover(on_sqlite: Case):
    found = sweep(on_sqlite, 2200 if NIGHTLY else 56)
    print(found)
    assert found.turns >= (20_000 if NIGHTLY else 500)
    assert found.statuses.keys() <= {"completed", "failed"}
    assert found.statuses["failed"] <= found.turns // 50
    assert found.unknown
    assert found.orphaned


@covers("F1", "F2", "F19", "F21")
def test_turns_on_postgres_survive_kills_and_kills_while_they_recover(on_postgres: Case):
    found = sweep(on_postgres, 800 if NIGHTLY else 18)
    print(found)
    assert found.turns >= (5_000 if NIGHTLY else 100)
    assert found.statuses.keys() <= {"completed", "failed"}
    assert found.orphaned


@covers("F2")
def test_a_turn_that_ends_every_process_that_takes_it_is_given_up(on_sqlite: Case):
    case = Case(on_sqlite.workers, replace(on_sqlite.order, turns=1, point="model.before"), on_sqlite.names)
    assert case.finish()["model.before"] == 11
    case.kill(5)
    for _ in range(5):
        case.kill_recovering(1)
    case.finish()
    found = case.check()
    assert found.statuses == {"completed": 2, "failed": 1}
    assert found.orphaned == 6
