"""Views against a plain list: whatever is compacted, restored or branched, in any order, the same holds."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.conversations.compaction import Dropping, Squashing, Strategy, selected
from preceptor.domain.conversations.view import (
    Change,
    Run,
    View,
    as_left,
    count,
    decode,
    encode,
    part,
    places,
    restored,
    root,
    shown,
    tokens,
    up_to,
    without,
)
from preceptor.domain.errors import NotFound
from preceptor.domain.ids import ConversationId, MessageId, SpanId, TurnId, ViewId
from preceptor.domain.messages.directive import INTERMEDIATE, written
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role, Text, ToolCall, ToolResult
from preceptor.domain.prompts.placed import Placed
from tests.domain.histories import unpaired
from tests.requirements import covers

CONVERSATION = ConversationId("c")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Story:
    """A conversation and all its views, and beside each what it showed when it was made."""

    said: list[Message] = field(default_factory=list[Message])
    sums: list[int] = field(default_factory=lambda: [0])
    views: list[View] = field(default_factory=lambda: [root(CONVERSATION)])
    turns: int = 0

    @property
    def last(self) -> int:
        return len(self.said)

    @property
    def total(self) -> int:
        return self.sums[-1]

    @property
    def runs(self) -> tuple[Run, ...]:
        return shown(self.views[-1], self.last, self.total)

    @property
    def seen(self) -> list[Placed]:
        return [Placed(place, self.said[place - 1]) for place in places(self.runs)]

    def at(self, place: int) -> Message:
        return self.said[place - 1]

    def say(self, role: Role, *parts: AnyPart, span: str | None = None, sources: tuple[MessageId, ...] = ()) -> Message:
        message = Message(
            id=MessageId(f"m{self.last + 1}"),
            conversation_id=CONVERSATION,
            turn_id=TurnId(f"t{self.turns}"),
            role=role,
            kind=Kind.SUMMARY if sources else Kind.MESSAGE,
            parts=parts,
            instructions=(written(INTERMEDIATE),) if span else (),
            tokens=1 + (self.last * 7) % 5,
            created_at=NOW,
            span_id=None if span is None else SpanId(span),
            sources=sources,
        )
        self.said.append(message)
        self.sums.append(self.total + message.tokens)
        return message

    def turn(self, tools: int, delegations: int) -> None:
        """A question, some tool calls, some delegations inside each other, an answer. Ids of calls come again."""
        self.turns += 1
        self.say(Role.USER, Text("question"))
        for number in range(tools):
            self.say(Role.ASSISTANT, ToolCall(f"call{number}", "look", {}))
            self.say(Role.TOOL, ToolResult(f"call{number}", "look", "found"))
        spans = [f"s{self.turns}-{depth}" for depth in range(delegations)]
        for outer, span in zip([None, *spans], spans, strict=False):
            self.say(Role.ASSISTANT, ToolCall(f"go-{span}", "delegate", {}), span=outer)
            self.say(Role.TOOL, ToolResult(f"go-{span}", "delegate", "gone"), span=span)
        for span in reversed(spans):
            self.say(Role.ASSISTANT, Text("found"), ToolCall(f"back-{span}", "return", {}), span=span)
            self.say(Role.TOOL, ToolResult(f"back-{span}", "return", "back"), span=span)
        self.say(Role.ASSISTANT, Text("answer"))

    def show(self, change: Change, runs: tuple[Run, ...], *, results: tuple[int, ...], line: ViewId, at: int) -> None:
        step = len(self.views)
        made = View(
            view_id=ViewId(f"v{step}"),
            conversation_id=CONVERSATION,
            step=step,
            change=change,
            line=line,
            at=at,
            total=self.sums[at],
            since=self.last + 1,
            base=self.total,
            runs=runs,
            results=tuple(place for place in results if place in set(places(runs))),
        )
        assert decode(encode(made)) == made
        self.views.append(made)

    def compact(self, chosen: set[int], *, keep: bool) -> None:
        at, runs, current = self.last, self.runs, self.views[-1]
        sums = {place: self.sums[place] for place in places(runs)}
        result = None
        if keep:
            sources = tuple(each.message.id for each in self.seen if each.place in chosen)
            self.say(Role.ASSISTANT, Text("summary"), sources=sources)
            result = Run(self.last, self.last, self.sums[-2], self.sums[-1])
        after = without(runs, chosen, sums, result)
        results = (*current.results, self.last) if keep else current.results
        self.show(Change.COMPACTED, after, results=results, line=current.line, at=at)

    def restore(self, step: int) -> None:
        view = self.views[step]
        runs = restored(self.views, view, self.last, self.total)
        self.show(Change.RESTORED, runs, results=view.results, line=view.line, at=self.last)

    def branch(self, place: int) -> None:
        runs = up_to(self.runs, place, self.sums[place - 1])
        assert runs is not None
        line = ViewId(f"v{len(self.views)}")
        self.show(Change.EDITED, runs, results=self.views[-1].results, line=line, at=self.last)

    def originals(self, seen: list[int]) -> list[int]:
        """What is shown, with sources in the place of what stands for them."""
        by_id = {message.id: place for place, message in enumerate(self.said, 1)}
        found: list[int] = []
        for place in seen:
            sources = self.at(place).sources
            found += self.originals([by_id[one] for one in sources]) if sources else [place]
        return found


turns = st.tuples(st.just("turn"), st.integers(0, 2), st.integers(0, 2))
compactions = st.tuples(st.just("compact"), st.integers(0, 2**30), st.booleans())
steps = st.one_of(
    turns,
    compactions,
    st.tuples(st.just("restore"), st.integers(0, 100), st.none()),
    st.tuples(st.just("branch"), st.integers(0, 100), st.none()),
)


def go(story: Story, kind: str, number: int, more: int | bool | None) -> None:
    seen = story.seen
    match kind:
        case "turn":
            story.turn(number, int(more or 0))
        case "restore":
            story.restore(number % len(story.views))
        case "branch":
            questions = [each.place for each in seen if each.message.role is Role.USER]
            if questions:
                story.branch(questions[number % len(questions)])
        case _:
            ids = [each.message.id for index, each in enumerate(seen) if number >> (index % 30) & 1]
            if ids:
                check_compaction(story, ids, keep=bool(more))


def check_compaction(story: Story, ids: list[MessageId], *, keep: bool) -> None:
    before = list(places(story.runs))
    chosen = selected(Dropping(strategy=Strategy.DROP, message_ids=tuple(ids)), story.seen)
    story.compact(chosen, keep=keep)
    after = list(places(story.runs))
    kept = [place for place in before if place not in chosen]
    assert [place for place in after if place != story.last or not keep] == kept
    if keep:
        assert sorted(story.originals(after)) == sorted(story.originals(before))
        following = [place for place in before if before.index(place) > max(map(before.index, chosen))]
        assert after[after.index(story.last) + 1 :] == following
    again = Story(list(story.said), list(story.sums), list(story.views))
    again.restore(len(story.views) - 2)
    assert list(places(again.runs)) == before, "undo shows exactly what was shown"


def check(story: Story) -> None:
    seen = list(places(story.runs))
    view = story.views[-1]
    assert len(set(seen)) == len(seen), "nothing is shown twice"
    assert len(set(story.originals(seen))) == len(story.originals(seen)), "nor beside what stands for it"
    said = [place for place in seen if not story.at(place).sources]
    assert said == sorted(said), "what was said stays in its order"
    assert {place for place in seen if story.at(place).sources} == set(view.results)
    lone_calls, lone_results = unpaired([story.at(place) for place in seen])
    assert (lone_calls, lone_results) == ((), ()), "no call without its answer, no answer without its call"
    assert tokens(story.runs) == sum(story.at(place).tokens for place in seen)
    assert count(story.runs) == len(seen)
    assert all(one.last + 1 != after.first for one, after in pairwise(story.runs)), "no run could be part of another"
    paged = [place for skip in range(0, len(seen), 3) for place in places(part(story.runs, skip, 3))]
    assert paged == seen


@covers("R191", "R192")
@settings(max_examples=150, deadline=None)
@given(st.lists(steps, min_size=1, max_size=12))
def test_whatever_is_done_to_a_view_it_stays_whole_and_ordered_and_can_be_undone(
    done: list[tuple[str, int, int | None]],
):
    story = Story()
    story.turn(1, 1)
    for kind, number, more in done:
        go(story, kind, number, more)
        check(story)


def test_every_earlier_view_can_be_shown_again_as_it_was_left():
    story = Story()
    story.turn(2, 1)
    story.compact(set(places(story.runs)), keep=True)
    story.turn(0, 0)
    story.compact({story.last}, keep=False)
    left = [list(places(as_left(story.views, view, story.last, story.total))) for view in story.views]
    for step, before in enumerate(left):
        again = Story(list(story.said), list(story.sums), list(story.views))
        again.restore(step)
        assert list(places(again.runs))[: len(before)] == before


def test_what_was_said_after_a_compaction_stays_when_it_is_undone():
    story = Story()
    story.turn(0, 0)
    story.compact({1, 2}, keep=True)
    story.turn(0, 0)
    story.restore(0)
    assert list(places(story.runs)) == [1, 2, 4, 5]
    story.turn(0, 0)
    assert list(places(story.runs)) == [1, 2, 4, 5, 6, 7]


def test_what_was_said_on_another_branch_is_not_part_of_the_one_that_is_restored():
    story = Story()
    story.turn(0, 0)
    story.turn(0, 0)
    story.branch(3)
    story.turn(0, 0)
    assert list(places(story.runs)) == [1, 2, 5, 6]
    story.restore(0)
    assert list(places(story.runs)) == [1, 2, 3, 4]
    story.turn(0, 0)
    story.restore(1)
    assert list(places(story.runs)) == [1, 2, 5, 6]
    story.restore(2)
    assert list(places(story.runs)) == [1, 2, 3, 4, 7, 8]


def test_a_view_of_a_long_conversation_is_short():
    story = Story()
    for _ in range(2000):
        story.turn(2, 1)
    story.compact(set(range(1, 9001)), keep=True)
    story.compact(set(range(9101, 9501)), keep=True)
    story.turn(0, 0)
    assert count(story.runs) == story.last - 9400
    assert len(encode(story.views[-1])) < 500


@covers("R192")
def test_a_delegation_is_chosen_with_its_call_its_return_and_those_inside_it():
    story = Story()
    story.turn(1, 2)
    outer = selected(Squashing(strategy=Strategy.CONCAT, spans=("s1-0",)), story.seen)
    inner = selected(Squashing(strategy=Strategy.CONCAT, spans=("s1-1",)), story.seen)
    everything = selected(Dropping(strategy=Strategy.DROP, intermediate=True), story.seen)
    assert outer == everything == {4, 5, 6, 7, 8, 9, 10, 11}
    assert inner == {6, 7, 8, 9}


def test_what_is_not_shown_cannot_be_chosen():
    story = Story()
    story.turn(0, 0)
    story.compact({1}, keep=False)
    for wanted in ({"message_ids": ("m1",)}, {"spans": ("s9",)}):
        with pytest.raises(NotFound):
            selected(Dropping.model_validate({"strategy": Strategy.DROP, **wanted}), story.seen)


def test_what_stands_for_others_can_be_replaced_again_where_it_is():
    story = Story()
    story.turn(0, 0)
    story.turn(0, 0)
    story.compact({3}, keep=True)
    assert list(places(story.runs)) == [1, 2, 5, 4]
    story.compact({5}, keep=True)
    assert list(places(story.runs)) == [1, 2, 6, 4]


@covers("R192")
def test_calls_of_different_turns_that_share_an_id_are_not_one():
    story = Story()
    story.turn(1, 0)
    story.turn(1, 0)
    assert selected(Dropping(strategy=Strategy.DROP, message_ids=(MessageId("m2"),)), story.seen) == {2, 3}
