"""Turns that are judged and planned, killed at every moment there is and again while they are taken up."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from preceptor.adapters.storage import faults
from tests.durability.checker import contents, lines
from tests.durability.forks import Forks
from tests.durability.test_turn_kills import Case, on_postgres, on_sqlite, world
from tests.durability.turn_checker import Found
from tests.durability.turning import JUDGING, MOMENTS
from tests.requirements import covers

__all__ = ["on_postgres", "on_sqlite", "world"]
NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
DEPTHS = (0, 1, 0, 0, 2, 0)
"""How often those who take up what was left behind are killed as well."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Forks]:
    with Forks("tests.durability.turning:carry_out") as opened:
        yield opened


def sweep(case: Case, step: int) -> Found:
    """Kill one turn at each moment, or at every so many, and every third time those who take it up as well."""
    case = Case(case.workers, replace(case.order, turns=1, reasoned=1), case.names)
    reached = case.finish()
    assert {*reached} == {*MOMENTS, *JUDGING, *(point for point in faults.POINTS if point in reached)}
    for cycle, nth in enumerate(range(1, sum(reached.values()) + 1, step)):
        case.kill(nth)
        for depth in range(DEPTHS[cycle % 6]):
            case.kill_recovering(1 + (7 * cycle + 3 * depth) % 30)
    case.finish()
    found = case.check()
    check_order(case)
    assert found.statuses.keys() <= {"completed", "failed"}
    assert found.statuses["failed"] <= found.turns // 20
    assert found.orphaned
    return found


def check_order(case: Case) -> None:
    """No model reads what was not judged; a plan that is on the record is not made again; all were really judged."""
    facts: defaultdict[str, list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for row in contents(case.order.database).events:
        if row.turn is not None:
            facts[row.turn].append((row.kind, orjson.loads(row.payload or "{}")))
    for turn, told in facts.items():
        kinds = [f"{kind} {fact.get('what') or fact.get('purpose') or ''}".strip() for kind, fact in told]
        times = Counter(kinds)
        assert times["guard.judged question"] <= 1, turn
        assert times["plan.made"] <= 1, turn
        if "call.started plan" in kinds:
            assert kinds.index("guard.judged question") < kinds.index("call.started plan"), turn
        if "call.started answer" in kinds:
            assert kinds.index("plan.made") < kinds.index("call.started answer"), turn
            assert "call.started plan" not in kinds[kinds.index("plan.made") :], turn
        assert times["turn.completed"] == 0 or times["plan.made"] == 1, turn
    judged = {line["text"] for line in lines(Path(case.order.folder, "ledger.jsonl")) if line["did"] == "judged"}
    assert {told[1][1]["parts"][0]["text"] for told in facts.values() if told[-1][0] == "turn.completed"} <= judged


@covers("F1", "F2", "F21")
def test_judged_and_planned_turns_on_sqlite_survive_a_kill_at_every_moment(on_sqlite: Case):
    for _ in range(20 if NIGHTLY else 1):
        assert sweep(on_sqlite, 1).turns >= 50


@covers("F1", "F2", "F21")
def test_judged_and_planned_turns_on_postgres_survive_kills(on_postgres: Case):
    assert sweep(on_postgres, 1 if NIGHTLY else 8).turns >= 6
