"""Several processes on one PostgreSQL: one is frozen, one is killed, others take up what they left."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path

import pytest

from tests.durability.checker import contents, lines
from tests.durability.forks import Forks
from tests.durability.provider import provider
from tests.durability.turn_checker import check_turns
from tests.durability.turning import Order
from tests.postgres import Cluster
from tests.requirements import covers

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
LEASE = 0.6
MOMENTS = (
    ("model.before", 5),
    ("model.during", 2),
    ("model.after", 8),
    ("tool.before", 3),
    ("tool.after", 4),
    ("postgres.begin", 15),
    ("postgres.after-commit", 12),
)
TARGET = "tests.durability.turning:carry_out"


@pytest.fixture
def order(postgres: Cluster, postgres_template: str, tmp_path: Path) -> Iterator[Order]:
    url = postgres.new_database(template=postgres_template)
    with provider(tmp_path / "ledger.jsonl") as model:
        yield Order(url, str(tmp_path), model, turns=4, lease=LEASE)
    postgres.drop(url)


def frozen(order: Order, name: str) -> int:
    """The process of that name, once it has stopped itself."""
    history = Path(order.folder, "history.jsonl")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for line in lines(history):
            if line["did"] == "frozen" and line["name"] == name:
                return line["pid"]
        time.sleep(0.01)
    raise AssertionError(f"{name} did not freeze")


def check_epochs(order: Order) -> None:
    """Whoever was taken over from wrote nothing more: epochs only grow."""
    for _, stream in groupby(contents(order.database).events, lambda row: (row.org, row.stream)):
        epochs = [row.epoch for row in stream]
        assert epochs == sorted(epochs)


@covers("F3")
def test_a_frozen_process_that_wakes_up_after_it_was_taken_over_from_writes_nothing(order: Order):
    with Forks(TARGET) as sleeper, Forks(TARGET) as other:
        for point, nth in MOMENTS * (20 if NIGHTLY else 1):
            name = f"sleeper at {point} {nth} {time.monotonic()}"
            sleeper.start(**asdict(replace(order, name=name, point=point, nth=nth, freeze=1, turns=1)))
            pid = frozen(order, name)
            assert other.call(**asdict(replace(order, name=f"other than {name}", turns=1))) == 0
            os.kill(pid, signal.SIGCONT)
            assert sleeper.wait() == 0
        check_epochs(order)
    found = check_turns(order.database, Path(order.folder))
    assert found.statuses == {"completed": found.turns}
    assert found.turns >= len(MOMENTS) * 2 - 1


@covers("F4")
def test_two_processes_restart_by_turns_under_work_and_nothing_is_done_twice_or_left(order: Order):
    with Forks(TARGET) as one, Forks(TARGET) as other:
        for number in range(200 if NIGHTLY else 5):
            first, second = (one, other) if number % 2 else (other, one)
            first.start(**asdict(replace(order, name=f"old {number}", nth=60 + 40 * (number % 5))))
            second.start(**asdict(replace(order, name=f"new {number}", patient=0)))
            assert first.wait() in {-signal.SIGKILL, 0}
            assert second.wait() == 0
        assert one.call(**asdict(replace(order, name="last", turns=1))) == 0
        check_epochs(order)
    found = check_turns(order.database, Path(order.folder))
    assert found.turns > 20
    assert found.statuses == {"completed": found.turns}
