"""A process that dies while older messages are being summarised: nothing is lost, and what was written is used."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest

from tests.durability.checker import contents
from tests.durability.forks import Forks
from tests.durability.test_turn_kills import Case, on_sqlite, world
from tests.requirements import covers

__all__ = ["on_sqlite", "world"]
KILLS = 16
"""More than the moments of a summary: accepted, noted, sent, every piece of it, written, and the call after it."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Forks]:
    with Forks("tests.durability.turning:carry_out") as opened:
        yield opened


@covers("F1", "F21")
def test_a_kill_at_every_moment_of_a_summary_loses_nothing_and_pays_for_no_summary_twice(on_sqlite: Case):
    case = Case(on_sqlite.workers, replace(on_sqlite.order, turns=1), on_sqlite.names)
    case.finish()
    summarising = Case(case.workers, replace(case.order, compress=1), case.names)
    for nth in range(1, KILLS + 1):
        summarising.kill(nth)
    summarising.finish()
    found = summarising.check()
    assert {*found.statuses} == {"completed"}
    assert found.orphaned, "some died while a summary was on its way"
    events = contents(case.order.database).events
    told = [orjson.loads(row.payload or "{}") for row in events if row.kind == "summary.written"]
    written = Counter(tuple(one["sources"]) for one in told)
    assert len(written) >= KILLS // 4, "there was something to lose and to pay for"
    assert max(written.values()) == 1, "one that was written down is not written again"
