import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.decision import Table
from preceptor.domain.reasoning.plan import Action, Plan
from preceptor.domain.reasoning.policy import Injection, SgrPolicy, Switch
from preceptor.domain.reasoning.routing import (
    BINDING,
    DEFAULT_POLICY,
    FLOW,
    STRICTNESS,
    BindingFacts,
    Flow,
    Moment,
    Opinions,
    PatienceFacts,
    RoutingFacts,
    RoutingPolicy,
    Thresholds,
    patience,
    route,
    routing,
)
from preceptor.domain.reasoning.verdict import (
    GATE,
    Gate,
    GateFacts,
    GuardFailure,
    GuardFault,
    Judged,
    Level,
    Mode,
    OnError,
    Standing,
    Verdict,
    gate,
    windows,
    worst,
)
from preceptor.domain.reasoning.visibility import OUTPUTS, Emission, OutputFacts, Reader
from tests.requirements import covers

BELOW_06, BELOW_07 = math.nextafter(0.6, 0), math.nextafter(0.7, 0)
FLOATS: list[float | None] = [0.0, BELOW_06, 0.6, BELOW_07, 0.7, 1.0, math.nan, math.inf, -math.inf, None]
SCORES = st.floats(0, 1)
FAILURE = GuardFailure(GuardFault.TIMEOUT)


def plan(spam: float = 0.0, confidence: float = 1.0, action: Action | None = None) -> Plan:
    return Plan(spam_score=spam, intent_confidence=confidence, user_intent="Reset a password", action=action)


def judged(level: Standing) -> Judged | None:
    match level:
        case Standing.OFF:
            return None
        case Standing.UNKNOWN:
            return FAILURE
        case _:
            return Verdict(Level(level.value))


# DT-001

GATES: dict[str, tuple[Standing, Mode, Gate, str]] = {
    "unsafe, enforced": (Standing.UNSAFE, Mode.ENFORCE, Gate.BLOCK, "unsafe-enforced"),
    "unsafe, reported": (Standing.UNSAFE, Mode.REPORT, Gate.WITH_ASSESSMENT, "unsafe-reported"),
    "controversial, enforced": (Standing.CONTROVERSIAL, Mode.ENFORCE, Gate.WITH_ASSESSMENT, "controversial"),
    "controversial, reported": (Standing.CONTROVERSIAL, Mode.REPORT, Gate.WITH_ASSESSMENT, "controversial"),
    "safe, enforced": (Standing.SAFE, Mode.ENFORCE, Gate.CONTINUE, "safe"),
    "safe, reported": (Standing.SAFE, Mode.REPORT, Gate.CONTINUE, "safe"),
    "unknown, enforced": (Standing.UNKNOWN, Mode.ENFORCE, Gate.UNAVAILABLE, "unknown-enforced"),
    "unknown, reported": (Standing.UNKNOWN, Mode.REPORT, Gate.FLAGGED, "unknown-reported"),
    "off, enforced": (Standing.OFF, Mode.ENFORCE, Gate.CONTINUE, "off"),
    "off, reported": (Standing.OFF, Mode.REPORT, Gate.CONTINUE, "off"),
}


@covers("R175", "R179")
@pytest.mark.parametrize(("level", "mode", "outcome", "row"), GATES.values(), ids=GATES)
def test_the_guardians_table_row_by_row(level: Standing, mode: Mode, outcome: Gate, row: str):
    hit = gate(judged(level), mode)
    assert (hit.outcome, hit.row, hit.table, hit.version) == (outcome, row, "DT-001", GATE.version)


@covers("R175")
def test_an_installation_may_choose_to_go_on_without_a_verdict_and_the_turn_is_flagged():
    assert gate(FAILURE, Mode.ENFORCE, OnError.CONTINUE).outcome is Gate.FLAGGED


@covers("R166", "R175")
def test_no_failure_of_any_kind_is_ever_taken_for_safe():
    for kind, mode, on_error in product(GuardFault, Mode, OnError):
        assert gate(GuardFailure(kind), mode, on_error).outcome in {Gate.UNAVAILABLE, Gate.FLAGGED}


# DT-002

ROUTES: dict[str, tuple[Standing, float | None, float | None, Action, str]] = {
    "unsafe whatever the scores": (Standing.UNSAFE, 0.0, 1.0, Action.GUARDIAN_BLOCK, "unsafe"),
    "unsafe and spam": (Standing.UNSAFE, 1.0, 0.0, Action.GUARDIAN_BLOCK, "unsafe"),
    "spam at the threshold": (Standing.SAFE, 0.7, 1.0, Action.BLOCK, "spam"),
    "spam and unclear": (Standing.OFF, 0.9, 0.1, Action.BLOCK, "spam"),
    "just under spam": (Standing.OFF, BELOW_07, 0.6, Action.NORMAL, "clear"),
    "unclear": (Standing.CONTROVERSIAL, 0.0, BELOW_06, Action.CLARIFY, "unclear"),
    "clear at the threshold": (Standing.CONTROVERSIAL, 0.0, 0.6, Action.NORMAL, "clear"),
    "clear, unchecked": (Standing.UNKNOWN, 0.0, 1.0, Action.NORMAL, "clear"),
    "no spam score": (Standing.SAFE, None, 1.0, Action.CLARIFY, "unscored"),
    "a spam score that is no number": (Standing.SAFE, math.nan, 1.0, Action.CLARIFY, "unscored"),
    "no confidence": (Standing.SAFE, 0.0, None, Action.CLARIFY, "unclear"),
    "a confidence that is no number": (Standing.SAFE, 0.0, math.nan, Action.CLARIFY, "unclear"),
}


@covers("R176", "R179")
@pytest.mark.parametrize(("level", "spam", "confidence", "action", "row"), ROUTES.values(), ids=ROUTES)
def test_the_routing_table_row_by_row(
    level: Standing, spam: float | None, confidence: float | None, action: Action, row: str
):
    hit = routing().decide(RoutingFacts(level, spam, confidence))
    assert (hit.outcome.action, hit.row, hit.outcome.flow) == (action, row, FLOW[action])


@covers("B4", "R176")
def test_every_combination_of_level_and_boundary_scores_has_one_route_and_normal_needs_known_scores():
    for level, spam, confidence in product(Standing, FLOATS, FLOATS):
        action = routing().decide(RoutingFacts(level, spam, confidence)).outcome.action
        if level is Standing.UNSAFE:
            expected = Action.GUARDIAN_BLOCK
        elif spam is not None and spam >= 0.7:
            expected = Action.BLOCK
        elif spam is not None and spam < 0.7 and confidence is not None and confidence >= 0.6:
            expected = Action.NORMAL
        else:
            expected = Action.CLARIFY
        assert action is expected, (level, spam, confidence)


@covers("R176")
def test_blocking_stops_asking_waits_and_normal_goes_on():
    assert FLOW == {
        Action.NORMAL: Flow.CONTINUE,
        Action.CLARIFY: Flow.WAIT,
        Action.BLOCK: Flow.STOP,
        Action.GUARDIAN_BLOCK: Flow.STOP,
    }


@covers("R153")
@pytest.mark.parametrize(
    ("level", "own", "spam", "confidence"), [*product(Standing, [None, *Action], [0.0, 1.0], [0.0, 1.0])]
)
def test_a_models_own_action_can_only_make_the_route_stricter(
    level: Standing, own: Action | None, spam: float, confidence: float
):
    thought = plan(spam, confidence, own)
    routed = route(thought, judged(level))
    by_table = routed.table.outcome.action
    heard = own
    if own is Action.GUARDIAN_BLOCK and level not in {Standing.CONTROVERSIAL, Standing.UNSAFE}:
        heard = Action.BLOCK
    assert STRICTNESS[routed.action] >= STRICTNESS[by_table]
    assert routed.action is max([by_table, heard or by_table], key=lambda action: STRICTNESS[action])
    assert (routed.opinion, routed.disagrees) == (own, own not in {None, by_table})
    assert route(thought, judged(level), RoutingPolicy(opinions=Opinions.TABLE)).action is by_table


@covers("R153")
def test_a_model_cannot_talk_a_request_out_of_being_blocked():
    assert route(plan(0.9, 1.0, Action.NORMAL), None).action is Action.BLOCK
    assert route(plan(0.0, 1.0, Action.NORMAL), Verdict(Level.UNSAFE)).action is Action.GUARDIAN_BLOCK


@given(SCORES, SCORES, SCORES, SCORES)
def test_thresholds_of_an_agent_move_the_same_table(spam_limit: float, doubt_limit: float, spam: float, sure: float):
    policy = RoutingPolicy(Thresholds(spam_score=spam_limit, intent_confidence=doubt_limit))
    action = route(plan(spam, sure), None, policy).action
    assert (action is Action.BLOCK) == (spam >= spam_limit)
    assert (action is Action.NORMAL) == (spam < spam_limit and sure >= doubt_limit)


def test_other_thresholds_are_another_version_of_the_table():
    assert len({routing().version, routing(0.8, 0.6).version, routing(0.7, 0.5).version}) == 3
    assert routing(0.7, 0.6).version == routing().version


ASKED: dict[str, tuple[int, int, Action, bool]] = {
    "for the first time": (0, 2, Action.CLARIFY, False),
    "for the second time": (1, 2, Action.CLARIFY, False),
    "asked enough": (2, 2, Action.NORMAL, True),
    "more than enough": (7, 2, Action.NORMAL, True),
    "never ask": (0, 0, Action.NORMAL, True),
}


@pytest.mark.parametrize(("asked", "most", "action", "enough"), ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("own", [None, Action.CLARIFY])
def test_nobody_is_asked_for_ever_not_even_when_the_model_insists(
    asked: int, most: int, action: Action, own: Action | None, enough: bool
):
    confidence = 0.1 if own is None else 0.9
    routed = route(plan(0.0, confidence, own), None, RoutingPolicy(max_clarifications=most), asked=asked)
    assert (routed.action, routed.asked_enough) == (action, enough)
    assert routed.patience.table == "DT-005"


@pytest.mark.parametrize("action", [Action.BLOCK, Action.GUARDIAN_BLOCK, Action.NORMAL])
def test_having_asked_enough_softens_nothing_but_a_question(action: Action):
    hit = patience().decide(PatienceFacts(action, 99))
    assert hit.row == "as-routed"
    assert route(plan(1.0), None, DEFAULT_POLICY, asked=99).action is Action.BLOCK


# DT-003

BINDINGS: dict[str, tuple[Moment, int, tuple[bool, bool, bool]]] = {
    "a new message": (Moment.NEW_USER_MESSAGE, 0, (True, True, False)),
    "a new message after planned turns": (Moment.NEW_USER_MESSAGE, 1, (True, True, True)),
    "a new message after many": (Moment.NEW_USER_MESSAGE, 5, (True, True, True)),
    "after the plan": (Moment.AFTER_PLAN, 1, (False, False, False)),
    "mid-turn": (Moment.MID_TURN, 1, (False, False, False)),
}


@covers("R177")
@pytest.mark.parametrize(("moment", "plans", "bound"), BINDINGS.values(), ids=BINDINGS)
def test_the_planning_tool_is_bound_and_forced_for_a_new_message_and_then_gone(
    moment: Moment, plans: int, bound: tuple[bool, bool, bool]
):
    found = BINDING.decide(BindingFacts(moment, plans)).outcome
    assert (found.available, found.forced, found.forget_plans) == bound


# DT-004


@covers("R178")
def test_the_model_gets_two_outputs_the_user_one_and_the_record_all():
    found = {channel: OUTPUTS.decide(OutputFacts(channel)).outcome for channel in Reader}
    assert found == {
        Reader.MODEL: Emission(analysis=True, response=True, trace=False, structured=False),
        Reader.USER: Emission(analysis=False, response=True, trace=False, structured=False),
        Reader.RECORD: Emission(analysis=True, response=True, trace=True, structured=True),
    }


# All of them

TABLES: dict[str, Table[Any, Any]] = {each.name: each for each in (GATE, routing(), BINDING, OUTPUTS, patience())}
FACTS: dict[str, Any] = {
    "DT-001": GateFacts,
    "DT-002": RoutingFacts,
    "DT-003": BindingFacts,
    "DT-004": OutputFacts,
    "DT-005": PatienceFacts,
}


@covers("B4", "R179")
@pytest.mark.parametrize("name", TABLES)
def test_every_case_of_every_table_is_decided_by_its_first_matching_row_and_every_row_is_used(name: str):
    table = TABLES[name]
    fired: set[str] = set()
    for case in table.cases():
        hit = table.decide(FACTS[name](**case))
        assert hit.row == table.matching(case)[0].name
        fired.add(hit.row)
    assert fired == {row.name for row in table.rows}
    assert all(row.name in str(table) for row in table.rows)


# Many windows, one verdict


@given(st.integers(0, 400), st.integers(2, 60), st.data())
def test_windows_cover_a_text_and_what_fits_in_the_overlap_is_whole_in_one_of_them(
    length: int, size: int, data: st.DataObject
):
    overlap = data.draw(st.integers(1, size - 1))
    text = "".join(chr(0x4E00 + n) for n in range(length))
    pieces = windows(text, size, overlap)
    assert all(len(piece) <= size for piece in pieces)
    assert {*text} == {*"".join(pieces)}
    start = data.draw(st.integers(0, max(0, length - overlap)))
    assert any(text[start : start + overlap] in piece for piece in pieces)


WORST: dict[str, tuple[list[Judged], Judged]] = {
    "the severest level": (
        [Verdict(Level.SAFE), Verdict(Level.UNSAFE, ("Violent",)), Verdict(Level.CONTROVERSIAL, ("PII",))],
        Verdict(Level.UNSAFE, ("Violent", "PII")),
    ),
    "each category once": (
        [Verdict(Level.UNSAFE, ("PII",)), Verdict(Level.UNSAFE, ("PII",))],
        Verdict(Level.UNSAFE, ("PII",)),
    ),
    "a failure leaves Safe uncertain": ([Verdict(Level.SAFE), FAILURE], FAILURE),
    "a failure leaves Controversial uncertain": ([FAILURE, Verdict(Level.CONTROVERSIAL)], FAILURE),
    "Unsafe is certain in spite of a failure": ([FAILURE, Verdict(Level.UNSAFE)], Verdict(Level.UNSAFE)),
}


@pytest.mark.parametrize(("found", "expected"), WORST.values(), ids=WORST)
def test_the_severest_window_counts(found: list[Judged], expected: Judged):
    assert worst(found) == expected


def test_no_verdict_at_all_is_a_failure():
    assert isinstance(worst([]), GuardFailure)


def test_auto_plans_only_with_models_that_can():
    planned = {
        (s, capable): SgrPolicy(enabled=s).plans_with(capable=capable) for s in Switch for capable in (True, False)
    }
    assert planned == {
        (Switch.AUTO, True): True,
        (Switch.AUTO, False): False,
        (Switch.ON, True): True,
        (Switch.ON, False): True,
        (Switch.OFF, True): False,
        (Switch.OFF, False): False,
    }
    assert [each.value for each in Injection] == ["clean", "formatted_tool_result", "raw_tool_result"]
