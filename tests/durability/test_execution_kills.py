"""Executions whose process is killed, at every moment there is, and again while another takes them up."""

import json
import os
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.durability.checker import lines
from tests.durability.forks import Forks
from tests.durability.provider import provider
from tests.durability.turn_checker import check_turns
from tests.durability.turning import Order
from tests.postgres import Cluster
from tests.requirements import covers

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
TASKS = "SELECT id, open, status FROM tasks WHERE kind = 'execution'"
EVENTS = "SELECT stream, kind, payload FROM events ORDER BY stream, seq"
VIEWS = "SELECT conversation FROM views"
ENDED = {"execution.completed", "execution.failed", "execution.cancelled", "execution.timeout"}


@dataclass
class Case:
    """One database on which process after process dies."""

    workers: Forks
    order: Order
    names: Iterator[int]

    def finish(self) -> int:
        """Carry executions out to their end; how many moments there were."""
        assert self._run(self.order) == 0
        seen = next(
            line for line in reversed(lines(Path(self.order.folder, "history.jsonl"))) if line["did"] == "reached"
        )
        return sum(seen["moments"].values())

    def kill(self, **where: int) -> None:
        assert self._run(replace(self.order, **where)) in {-signal.SIGKILL, 0}

    def _run(self, order: Order) -> int:
        return self.workers.call(**asdict(replace(order, name=f"p{next(self.names)}")))


@pytest.fixture(scope="module")
def workers() -> Iterator[Forks]:
    with Forks("tests.durability.executing:carry_out") as opened:
        yield opened


@pytest.fixture
def world(tmp_path: Path) -> Iterator[str]:
    with provider(tmp_path / "ledger.jsonl") as url:
        yield url


def query(url: str, sql: Any) -> list[tuple[Any, ...]]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return connection.execute(sql).fetchall()
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('preceptor.org', '*', true)")
        return connection.execute(sql).fetchall()


def sweep(case: Case, kills: int) -> Counter[str]:
    """Kill at moments that are spread over the whole of the work, and every other time again."""
    last = case.finish()
    moments = random.Random(11)
    for cycle in range(kills):
        case.kill(nth=1 + last * cycle // kills)
        if cycle % 2:
            case.kill(recovering=moments.randint(1, max(2, last // 4)))
    case.finish()
    return check(case)


def check(case: Case) -> Counter[str]:
    """Every execution ended, once; each step began its turn once; what was done once was done once."""
    tasks = query(case.order.database, TASKS)
    told: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for stream, kind, payload in query(case.order.database, EVENTS):
        told.setdefault(stream, []).append((kind, json.loads(payload)))
    for task, is_open, status in tasks:
        kinds = [kind for kind, _ in told[task]]
        assert (is_open, kinds[0], kinds[-1]) == (0, "execution.accepted", f"execution.{status}")
        assert len([kind for kind in kinds if kind in ENDED]) == 1
        check_steps(told[task])
    history = lines(Path(case.order.folder, "history.jsonl"))
    known = {task for task, *_ in tasks}
    assert {line["execution"] for line in history if line["did"] == "accepted"} <= known
    assert len(known) <= len([line for line in history if line["did"] == "invoke"])
    changed = Counter(conversation for (conversation,) in query(case.order.database, VIEWS))
    assert set(changed.values()) <= {1}, "a conversation was tidied up twice"
    check_turns(case.order.database, Path(case.order.folder))
    return Counter(status for *_, status in tasks)


def check_steps(told: list[tuple[str, dict[str, Any]]]) -> None:
    """Each attempt begins once and ends once, and the steps a step depends on have ended before."""
    open_steps: set[int] = set()
    done: set[int] = set()
    for kind, fact in told:
        if kind == "step.started":
            assert fact["index"] not in open_steps | done
            assert {1: {0}, 2: {1}}.get(fact["index"], set()) <= done
            open_steps.add(fact["index"])
        elif kind == "step.resumed":
            assert fact["index"] in open_steps
        elif kind.startswith("step."):
            open_steps.discard(fact["index"])
            done.add(fact["index"])
    assert not open_steps
    assert done == {0, 1, 2, 3}


@covers("F1", "F2", "R123")
def test_executions_on_sqlite_survive_kills_and_kills_while_they_recover(
    workers: Forks, sqlite_template: bytes, tmp_path: Path, world: str
):
    path = tmp_path / "preceptor.db"
    path.write_bytes(sqlite_template)
    case = Case(workers, Order(f"sqlite:///{path}", str(tmp_path), world, turns=3), count(1))
    found = sweep(case, 600 if NIGHTLY else 6)
    print(found)
    assert found.keys() <= {"completed", "failed"}
    assert found["completed"] > found["failed"] * 10


@covers("F1", "F2", "R123")
def test_executions_on_postgres_survive_kills_and_kills_while_they_recover(
    workers: Forks, postgres: Cluster, postgres_template: str, tmp_path: Path, world: str
):
    url = postgres.new_database(template=postgres_template)
    case = Case(workers, Order(url, str(tmp_path), world, turns=2, lease=0.3), count(1))
    found = sweep(case, 300 if NIGHTLY else 3)
    print(found)
    assert found.keys() <= {"completed", "failed"}
    assert found["completed"] > found["failed"] * 10
    postgres.drop(url)
