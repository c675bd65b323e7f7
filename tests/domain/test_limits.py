import pickle
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from preceptor.domain.history.entry import Entry
from preceptor.domain.history.errors import (
    CompressionError,
    CompressionFailed,
    InsufficientHistory,
    InvalidHistorySize,
    InvalidTokenLimit,
    TokenBudgetExceeded,
)
from preceptor.domain.history.limits import (
    CompressWhen,
    Costs,
    Limits,
    OnInsufficient,
    validate_compression,
    validate_history_size,
    validate_token_limit,
)
from preceptor.domain.history.outline import outline
from preceptor.domain.history.plan import plan
from preceptor.domain.history.strategy import Chunked, FromLastNMessages, WholeHistory
from preceptor.domain.history.tape import ArrayTape
from preceptor.domain.history.view import Reason
from preceptor.domain.ids import SpanId
from preceptor.domain.messages.directive import INTERMEDIATE, written
from preceptor.domain.messages.message import Kind, Role, Text
from tests.domain.histories import Settled, Talk, entries_of, said, tape_of
from tests.requirements import covers


@covers("R52", "R77")
def test_a_cap_below_the_system_prompt_is_refused_and_equality_is_fine():
    validate_token_limit(5000, 5000)
    validate_token_limit(5000, None)
    with pytest.raises(InvalidTokenLimit) as refused:
        validate_token_limit(5000, 3000)
    assert (refused.value.system_prompt_tokens, refused.value.max_tokens) == (5000, 3000)


@covers("R53", "R77")
@pytest.mark.parametrize("size", [0, -1])
def test_a_history_size_below_one_is_refused_as_what_it_is(size: int):
    validate_history_size(1)
    validate_history_size(None)
    with pytest.raises(InvalidHistorySize) as refused:
        validate_history_size(size)
    assert isinstance(refused.value, InsufficientHistory)
    assert (refused.value.message_count, refused.value.minimum) == (0, 1)
    assert "maxHistorySize" in str(refused.value)


@covers("R54", "R77")
@pytest.mark.parametrize(
    ("strategy", "messages", "minimum"),
    [
        (WholeHistory(), 3, 10),
        (WholeHistory(), 9, 10),
        (FromLastNMessages(n=10), 11, 12),
        (Chunked(chunk_size=2), 5, 10),
    ],
)
def test_a_strategy_needs_ten_messages_or_two_more_than_it_keeps(strategy: Any, messages: int, minimum: int):
    talk = said(messages // 2)
    entries = entries_of(talk.messages)[-messages:]
    with pytest.raises(InsufficientHistory) as refused:
        validate_compression(outline(strategy, entries), messages)
    assert (refused.value.message_count, refused.value.minimum) == (messages, minimum)


@covers("R64", "R65")
def test_the_errors_are_these_and_read_like_this():
    kinds = {CompressionError}
    for _ in range(3):
        kinds |= {below for kind in kinds for below in kind.__subclasses__()}
    known = {InvalidTokenLimit, TokenBudgetExceeded, InsufficientHistory, InvalidHistorySize, CompressionFailed}
    assert kinds - {CompressionError} == known
    assert str(InvalidTokenLimit(5000, 3000)) == "maxTokens (3000) must be >= system prompt tokens (5000)"
    assert str(InsufficientHistory(3, 10)) == "Insufficient history: 3 messages (minimum 10 required)"
    failed = CompressionFailed("WholeHistory", OSError("Connection timeout"))
    assert str(failed) == "Compression failed with strategy WholeHistory: Connection timeout"
    assert str(pickle.loads(pickle.dumps(failed))) == str(failed)
    assert [error.code for error in (InvalidTokenLimit(1, 0), TokenBudgetExceeded(1, 0), failed)] == [
        "invalid_token_limit",
        "token_budget_exceeded",
        "compression_failed",
    ]


@covers("R67")
def test_every_error_is_documented_with_its_recovery():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "fit-a-history.md").read_text(encoding="utf-8")
    cells = [[cell.strip("` ") for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    rows = {row[0]: row[2] for row in cells if len(row) == 3}
    for kind in (InvalidTokenLimit, TokenBudgetExceeded, InsufficientHistory, InvalidHistorySize, CompressionFailed):
        assert len(rows[kind.__name__]) > 10


@covers("R54")
def test_a_request_notes_that_there_is_too_little_and_raises_only_when_told_to():
    cut = Settled(said(2), Limits(strategy=WholeHistory())).cut
    assert [(skip.why, skip.message_count, skip.minimum) for skip in cut.skipped] == [("insufficient_history", 5, 10)]
    with pytest.raises(InsufficientHistory):
        Settled(said(2), Limits(strategy=WholeHistory(), on_insufficient=OnInsufficient.RAISE))
    enough = Settled(said(5), Limits(strategy=FromLastNMessages(n=20))).cut
    assert [skip.why for skip in enough.skipped] == ["nothing_to_summarise"]


@covers("R48")
def test_history_size_counts_what_was_said_up_to_the_question_and_nothing_that_is_pinned():
    talk = Talk()
    talk.system()
    talk.add(Role.USER, Text(text="She likes tea."), kind=Kind.MEMORY)
    for number in range(10):
        talk.exchange(number)
    talk.user("And?")
    talk.answer(*talk.call("find"))
    assert Settled(talk, Limits(max_history_size=3)).shown == ["m0", "m1", "m20", "m21", "m22", "m23", "m24"]
    assert Settled(talk, Limits(max_history_size=1)).shown == ["m0", "m1", "m22", "m23", "m24"]


@covers("R49")
def test_what_must_be_shown_and_does_not_fit_is_refused_with_what_it_needs():
    talk = said(5)
    needed = talk.messages[-1].tokens
    with pytest.raises(TokenBudgetExceeded) as refused:
        Settled(talk, Limits(max_tokens=20 + needed - 1), Costs(fixed=20))
    assert (refused.value.required, refused.value.max_tokens) == (20 + needed, 20 + needed - 1)
    assert Settled(talk, Limits(max_tokens=20 + needed), Costs(fixed=20)).shown == ["m10"]


@covers("R51")
def test_compression_comes_before_tokens_and_tokens_before_size():
    talk = said(20)
    everything = sum(message.tokens for message in talk.messages)
    both = Settled(talk, Limits(strategy=FromLastNMessages(n=10), max_tokens=everything, max_history_size=2))
    assert both.shown == ["m0", "s30", "m39", "m40"]
    assert [one.reason for one in both.cut.left_out] == [Reason.MAX_HISTORY_SIZE]
    tight = Settled(talk, Limits(strategy=FromLastNMessages(n=10), max_tokens=80, low_water=1, max_history_size=5))
    assert {one.reason for one in tight.cut.left_out} == {Reason.MAX_TOKENS}
    assert tight.shown[:2] == ["m0", "s30"]


@covers("R47")
def test_over_budget_compresses_only_once_the_budget_is_exceeded():
    talk = said(10)
    total = sum(message.tokens for message in talk.messages)
    limits = Limits(strategy=WholeHistory(), compress_when=CompressWhen.OVER_BUDGET, max_tokens=total)
    resting = Settled(talk, limits)
    assert (resting.summarised, [skip.why for skip in resting.cut.skipped]) == ([], ["within_budget"])
    talk.assistant()
    talk.user()
    assert [len(span.entries) for span in Settled(talk, limits).summarised] == [21]


def delegation(talk: Talk, number: int) -> None:
    fields: Any = {"span_id": SpanId(f"span{number}"), "instructions": (written(INTERMEDIATE),)}
    talk.answer(*talk.call("delegate", **fields), **fields)
    talk.assistant("The specialist considers it at some length.", **fields)


@covers("R190")
def test_space_is_freed_in_the_order_delegations_then_tool_answers_then_exchanges():
    talk = Talk()
    talk.user("First?")
    delegation(talk, 1)
    talk.answer(*talk.call("find"), content="row " * 100)
    talk.assistant("First.")
    talk.user("Plan?")
    talk.assistant("Planned.", kind=Kind.SYNTHETIC_PLAN, analysis="Deep thoughts. " * 5)
    talk.user("Second?")
    tape = tape_of(talk)
    total = tape.loose[len(tape)]
    spans = tape.spans[len(tape)]
    payload = tape.payloads[len(tape)]
    freed: list[set[str]] = []
    for cap in (total, total - 1, total - spans - 1, total - spans - payload - 1):
        cut = plan(tape, Limits(max_tokens=cap, low_water=1))
        assert cut.view.tokens <= cap
        freed.append({one.reason.value for one in cut.left_out} - {"earlier_analysis"})
    assert freed == [set(), {"intermediate"}, {"intermediate", "tool_answer"}, {"max_tokens"}]
    assert [one.reason for one in plan(tape, Limits()).left_out] == [Reason.EARLIER_ANALYSIS]


@covers("R190")
def test_only_the_running_turn_shows_the_analysis_of_its_plan():
    talk = Talk()
    for number in range(2):
        talk.user(f"Question {number}?")
        talk.assistant("Planned.", kind=Kind.SYNTHETIC_PLAN, analysis="Deep thoughts. " * 5)
        talk.answer(*talk.call("find"))
    settled = Settled(talk, Limits())
    assert [bool(message.analysis) for message in settled.messages if message.kind is Kind.SYNTHETIC_PLAN] == [
        False,
        True,
    ]


def test_a_cut_goes_down_to_the_low_water_mark_and_then_stays():
    talk, state, invalidated = said(30), None, list[int]()
    limits = Limits(max_tokens=300, low_water=0.5)
    shown: list[str] = []
    for number in range(12):
        settled = Settled(talk, limits) if state is None else Settled(talk, limits, state=state)
        assert settled.cut.view.tokens <= 300
        invalidated.append(settled.cut.invalidated)
        if number and not settled.cut.invalidated:
            assert settled.shown[: len(shown)] == shown, "the beginning is still in the cache"
        shown, state = settled.shown, settled.cut.state
        talk.assistant("An answer of some length, as they are.")
        talk.user("And another question?")
    assert 1 <= sum(map(bool, invalidated)) <= 2
    assert all(tokens <= 300 for tokens in invalidated)


@pytest.mark.parametrize("fixed", [0, 100, 900])
def test_the_low_water_mark_is_a_share_of_the_room_that_history_has(fixed: int):
    """A long system prompt does not make a cut deeper."""
    cut = plan(tape_of(said(60)), Limits(max_tokens=fixed + 300, low_water=0.5), Costs(fixed=fixed))
    assert 100 < cut.view.tokens <= 160, "half of the 300, and a whole exchange less"


def test_another_cap_is_decided_anew_and_brings_back_what_a_smaller_one_left_out():
    talk = said(20)
    small = Settled(talk, Limits(max_tokens=60))
    large = Settled(talk, Limits(max_tokens=6000), state=small.cut.state)
    assert (len(small.shown) < 10, len(large.shown)) == (True, 41)


def test_a_cut_looks_only_at_what_it_keeps():
    class Watched(ArrayTape):
        looked = 0

        def __getitem__(self, at: Any, /) -> Any:
            found = cast("list[Entry] | Entry", super().__getitem__(at))
            self.looked += 1 if isinstance(found, Entry) else len(found)
            return found

    looks: list[int] = []
    for exchanges in (100, 1_000, 10_000):
        tape = Watched(entries_of(said(exchanges).messages))
        cut = plan(tape, Limits(max_tokens=400, low_water=1))
        assert 30 < len(cut.kept) < 60
        looks.append(tape.looked)
    assert max(looks) <= min(looks) + 10


def test_the_model_window_is_a_cap_even_when_nobody_asked():
    cut = plan(tape_of(said(100)), Limits(), Costs(fixed=50, window=300))
    assert cut.view.tokens + 50 <= 300
    assert [one.reason for one in cut.left_out] == [Reason.CONTEXT_WINDOW]


@covers("R70")
def test_history_is_managed_only_when_something_was_asked():
    assert not Limits().requires_history_management
    assert Limits(max_tokens=1).requires_history_management
    assert Limits(max_history_size=1).requires_history_management
    assert Limits(strategy=WholeHistory()).requires_history_management


def test_what_a_caller_pins_stays_and_calls_cannot_be_pinned():
    talk = Talk()
    talk.user()
    talk.answer(*talk.call("find"))
    for number in range(5):
        talk.exchange(number)
    talk.user()
    entries = [msgspec.structs.replace(entry, pinned=entry.seq in {1, 2, 3}) for entry in entries_of(talk.messages)]
    cut = plan(ArrayTape(entries), Limits(max_history_size=1))
    assert [entry.seq for entry in cut.kept] == [3, 13]


def test_a_conversation_that_was_taken_back_is_decided_anew():
    longer = Settled(said(40), Limits(max_tokens=200))
    assert longer.cut.state.cut > 20
    shorter = Settled(said(5), Limits(max_tokens=200), state=longer.cut.state)
    assert len(shorter.shown) == 11
