"""What was decided in a turn, by which rows of which tables; and what would have been decided by others."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from preceptor.domain.decision import Hit
from preceptor.domain.messages.message import Kind
from preceptor.domain.reasoning.plan import Action
from preceptor.domain.reasoning.policy import GuardPolicy
from preceptor.domain.reasoning.routing import Flow, RoutingPolicy, route
from preceptor.domain.reasoning.synthesis import UNSAFE_REASON
from preceptor.domain.reasoning.verdict import Gate, GuardFailure, Judged, Level, Mode, OnError, Verdict, gate
from preceptor.domain.turns.facts import Judgement, Planned
from preceptor.domain.turns.turn import Turn
from preceptor.domain.value import Value


class GuardStatus(StrEnum):
    OFF = "off"
    JUDGED = "judged"
    UNAVAILABLE = "unavailable"
    """There was no verdict. In report, or where errors are let through, the turn went on all the same."""
    WAITING = "waiting"


def guard_status(turn: Turn) -> GuardStatus:
    if not turn.pins.guard:
        return GuardStatus.OFF
    if turn.judgement is None:
        return GuardStatus.WAITING
    failed = any(isinstance(one.judged, GuardFailure) for one in turn.judgements)
    return GuardStatus.UNAVAILABLE if failed else GuardStatus.JUDGED


def told(turn: Turn) -> dict[str, Any]:
    """The part of a turn's record that is about its verdict, its plan and where they led."""
    by_guard = turn.withheld is not None or (turn.judgement is not None and turn.judgement.gate is Gate.BLOCK)
    planned = turn.planned
    by_plan = planned is not None and planned.flow is Flow.STOP
    unsafe = by_guard or (planned is not None and planned.action is Action.GUARDIAN_BLOCK)
    return {
        "guardStatus": guard_status(turn),
        "guardianResult": turn.verdict,
        "sgrPlan": None if planned is None else planned.plan,
        "blocked": by_guard or by_plan or turn.kept_back,
        "blockReason": UNSAFE_REASON if unsafe else None,
        "withheld": None if turn.withheld is None else turn.withheld.text,
        "checks": None if turn.checked is None else _checks(turn),
        "decisions": [*map(_judgement, turn.judgements), *_plan(turn)],
    }


def _checks(turn: Turn) -> list[dict[str, Any]]:
    """Of an answer that was asked for again, and of the last one."""
    found = dict.fromkeys(one for one in (turn.retried, turn.checked) if one is not None)
    return [msgspec.to_builtins(one) for one in found]


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {"kind": "guard", **msgspec.to_builtins(judgement)}


def _plan(turn: Turn) -> Iterator[dict[str, Any]]:
    planned = turn.planned
    if planned is None:
        return
    table, patience = _hit(planned, "routing"), _hit(planned, "patience")
    yield {
        "kind": "plan",
        "table": table.get("table"),
        "version": table.get("version"),
        "row": table.get("row"),
        "action": planned.action,
        "flow": planned.flow,
        "opinion": planned.record.get("opinion"),
        "disagrees": planned.record.get("disagrees", False),
        "degraded": planned.plan.degraded,
        "malformed": planned.malformed,
        "rawPlan": planned.record.get("rawPlan"),
        "analysis": planned.record.get("analysis"),
        "response": planned.record.get("response"),
        "ui": planned.ui,
        "injected": list(_injected(turn, planned)),
    }
    yield {"kind": "patience", "asked": _asked(turn), **patience}


def _injected(turn: Turn, planned: Planned) -> Iterator[dict[str, Any]]:
    """The synthetic messages of the turn. Only the engine makes them: no client can send one of their kind."""
    for message in turn.main.messages:
        if message.kind is Kind.SYNTHETIC_PLAN:
            mark = {"sgr_injected": True, "sgr_action": planned.action, "sgr_turn": turn.turn_id}
            yield {"messageId": message.id, "metadata": mark}


def _hit(planned: Planned, name: str) -> dict[str, Any]:
    """A decision as it was stored."""
    return planned.record.get(name) or {}


def _asked(turn: Turn) -> int:
    return 0 if turn.accepted is None else turn.pins.clarifications


def rows_fired(turn: Turn) -> Iterator[tuple[str, str]]:
    """Each decision of a turn that is on its record: the table, and its row."""
    for judgement in turn.judgements:
        yield judgement.table, judgement.row
    for hit in (_hit(turn.planned, name) for name in ("routing", "patience")) if turn.planned else ():
        if hit.get("table") and hit.get("row"):
            yield hit["table"], hit["row"]


class Fate(Value):
    """Where a turn led, or would have led."""

    action: Action | None
    """None where nobody can know: it would have been planned, and was not."""
    table: str
    version: str
    row: str


class Rules(msgspec.Struct, frozen=True):
    """What to decide a past turn by. Whatever is None is as it was then."""

    guarded: bool = True
    """False: as if no one had judged it."""
    planned: bool = True
    """False: as if it had been answered at once."""
    routing: RoutingPolicy | None = None
    mode: Mode | None = None
    on_error: OnError | None = None
    levels: Mapping[Level, Level] = {}
    """What a verdict counts as."""


def fate(turn: Turn) -> Fate | None:
    """Where the tables led a turn; None if it was neither judged nor planned."""
    judgement, planned = turn.judgement, turn.planned
    if judgement is not None and judgement.gate in (Gate.BLOCK, Gate.UNAVAILABLE):
        return _judged(_action(judgement.gate), judgement)
    if planned is None:
        known = judgement is not None and turn.accepted is not None and not turn.pins.sgr
        if judgement is None or not known:
            return None
        return _judged(Action.NORMAL, judgement)
    hit = _hit(planned, "routing")
    return Fate(
        action=planned.action, table=hit.get("table", ""), version=hit.get("version", ""), row=hit.get("row", "")
    )


def fate_under(turn: Turn, rules: Rules, then: RoutingPolicy) -> Fate | None:
    """Where other rules would have led it, by the plan and the verdict that are on the record. `then` were its own."""
    pins = turn.pins
    judged = _counted(turn.verdict, rules.levels) if rules.guarded else None
    plan = turn.planned if rules.planned else None
    unplanned = None if pins.sgr and rules.planned else Action.NORMAL
    if judged is not None:
        was = GuardPolicy.model_validate(pins.guard)
        hit = gate(judged, rules.mode or was.mode, rules.on_error or was.on_error)
        if hit.outcome in (Gate.BLOCK, Gate.UNAVAILABLE):
            return _fate(_action(hit.outcome), hit)
        if plan is None:
            return _fate(unplanned, hit)
    if plan is None:
        return None if rules.guarded and rules.planned else Fate(action=unplanned, table="", version="", row="")
    routed = route(plan.plan, judged, rules.routing or then, asked=pins.clarifications)
    return _fate(routed.action, routed.table)


def _fate(action: Action | None, hit: Hit[Any]) -> Fate:
    return Fate(action=action, table=hit.table, version=hit.version, row=hit.row)


def _judged(action: Action | None, judgement: Judgement) -> Fate:
    return Fate(action=action, table=judgement.table, version=judgement.version, row=judgement.row)


def _action(outcome: Gate) -> Action | None:
    return Action.GUARDIAN_BLOCK if outcome is Gate.BLOCK else None


def _counted(judged: Judged | None, levels: Mapping[Level, Level]) -> Judged | None:
    if isinstance(judged, Verdict) and judged.level in levels:
        return Verdict(levels[judged.level], judged.categories)
    return judged
