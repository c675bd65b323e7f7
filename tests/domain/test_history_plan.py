import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preceptor.domain.history.errors import TokenBudgetExceeded
from preceptor.domain.history.limits import CompressWhen, Costs, Limits
from preceptor.domain.history.proof import Duties, Proof
from preceptor.domain.history.segment import NOTHING_YET
from preceptor.domain.history.strategy import Strategy, WindowTLDR
from preceptor.domain.history.view import Reason
from preceptor.domain.ids import MessageId
from preceptor.domain.messages.message import Message, Role
from tests.domain.histories import DAMAGED, OVERHEAD, STRATEGIES, TALK, WHOLE, Settled, Talk, histories, tape_of
from tests.requirements import covers

EXAMPLES = 20_000 if os.environ.get("PRECEPTOR_NIGHTLY") else 1_000
many = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
some = settings(many, max_examples=EXAMPLES // 2)
DAMAGE = {Reason.UNANSWERED_CALL, Reason.UNASKED_ANSWER, Reason.CANNOT_OPEN}
COSTS = Costs(system=10, fixed=20)
LIMITS: st.SearchStrategy[Limits] = st.builds(
    Limits,
    strategy=STRATEGIES,
    max_tokens=st.none() | st.integers(20, 600),
    max_history_size=st.none() | st.integers(1, 12),
    compress_when=st.sampled_from(CompressWhen),
    low_water=st.sampled_from([0.25, 0.5, 1.0]),
    batch=st.sampled_from([1, 4]),
)


@covers("R48", "R49", "R51")
@many
@given(histories(DAMAGED), LIMITS)
def test_every_view_of_every_history_is_proven(made: tuple[Talk, Message], limits: Limits):
    talk, question = made
    try:
        settled = Settled(talk, limits, COSTS, overhead=OVERHEAD)
    except TokenBudgetExceeded:
        return
    pins = frozenset(entry.id for entry in tape_of(talk) if entry.is_pin and entry.role is not Role.SYSTEM)
    duties = Duties(conversation_id=TALK, question=question, cap=limits.max_tokens, pinned=pins)
    prompt = settled.prompt(COSTS.fixed, OVERHEAD)
    Proof().go_on(prompt, duties)
    assert prompt.tokens - COSTS.fixed <= settled.cut.view.tokens
    places = [entry.seq for entry in settled.cut.kept]
    assert places == sorted(set(places)), "order is kept"
    again = Settled(talk, limits, COSTS, settled.cut.state, OVERHEAD)
    assert (again.shown, again.rounds, again.cut.invalidated) == (settled.shown, 0, 0), "the same again"


@covers("R61", "R192")
@some
@given(histories(DAMAGED), STRATEGIES.filter(lambda strategy: not isinstance(strategy, WindowTLDR)))
def test_a_summarising_strategy_loses_nothing(made: tuple[Talk, Message], strategy: Strategy | None):
    talk, _ = made
    settled = Settled(talk, Limits(strategy=strategy), COSTS)
    told = {source for span in settled.summarised for source in span.sources}
    left_out = {seq for one in settled.cut.left_out for seq in range(one.first, one.last + 1)}
    assert {one.reason for one in settled.cut.left_out} <= DAMAGE | {Reason.EARLIER_ANALYSIS}
    for entry in tape_of(talk):
        assert (entry.id in settled.shown) + (entry.id in told) == (
            entry.seq not in left_out or entry.id in settled.shown
        )


@covers("R190", "R192")
@some
@given(histories(WHOLE), st.integers(20, 900), st.sampled_from([0.25, 0.5, 1.0]))
def test_the_delegations_of_a_turn_are_shown_all_or_not_at_all(
    made: tuple[Talk, Message], max_tokens: int, low_water: float
):
    talk, _ = made
    try:
        settled = Settled(talk, Limits(max_tokens=max_tokens, low_water=low_water), COSTS, overhead=OVERHEAD)
    except TokenBudgetExceeded:
        return
    turn, asides = 0, dict[int, list[bool]]()
    for entry in tape_of(talk):
        turn += entry.opens
        if turn and entry.intermediate:
            asides.setdefault(turn, []).append(entry.id in settled.shown)
    assert all(len(set(found)) == 1 for found in asides.values()), asides


@covers("R49")
@some
@given(st.lists(st.integers(0, len(DAMAGED) - 1), max_size=14), LIMITS)
def test_every_view_of_a_growing_conversation_is_proven(steps: list[int], limits: Limits):
    talk, state = Talk(), NOTHING_YET
    known: dict[MessageId, Message] = {}
    for step in steps:
        DAMAGED[step](talk)
        question = talk.user("What now?")
        try:
            settled = Settled(talk, limits, COSTS, state, OVERHEAD, known)
        except TokenBudgetExceeded:
            return
        state, known = settled.cut.state, settled.by_id
        Proof().go_on(settled.prompt(COSTS.fixed, OVERHEAD), Duties(question=question, cap=limits.max_tokens))
        talk.assistant("Now this.")
