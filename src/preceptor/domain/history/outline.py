"""Outlines: what a strategy makes of a history. Pairs stay whole, and what must stay stays."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

import msgspec

from preceptor.domain.history.entry import Entry, question_of
from preceptor.domain.history.strategy import Choice, Strategy
from preceptor.domain.ids import MessageId
from preceptor.domain.messages.message import Kind, Role

SUMMARY_TOKENS = 256
"""What a summary is taken to cost until there is one."""


class Span(msgspec.Struct, frozen=True):
    """Messages that one summary will stand for, always originals. It will stand where the last of them stood."""

    entries: tuple[Entry, ...]
    kept_within: tuple[int, ...] = ()
    """The `seq` of each message since the span before that is kept, although this span reaches beyond it."""

    @property
    def sources(self) -> tuple[MessageId, ...]:
        return tuple(entry.id for entry in self.entries)

    @property
    def tokens(self) -> int:
        return sum(entry.tokens for entry in self.entries)

    @property
    def latest(self) -> datetime:
        return max(entry.created_at for entry in self.entries)

    @property
    def seq(self) -> int:
        return self.entries[-1].seq


class Outline(msgspec.Struct, frozen=True):
    """The history in its new order: kept word for word, or as a span that a summary will replace."""

    pieces: tuple[Entry | Span, ...]
    dropped: tuple[Entry, ...] = ()

    @property
    def keep(self) -> tuple[Entry, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Entry))

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Span))


def outline(
    strategy: Strategy, entries: Sequence[Entry], question: int | None = None, opener: int | None = None
) -> Outline:
    """What `strategy` makes of the entries. `question` is where the running turn begins, `opener` the `seq` of the
    conversation's first question when that may be elsewhere.
    """
    question = question_of(entries) if question is None else question
    groups = list(exchanges(entries))
    staying = _staying(entries, groups, question, opener)
    free = [at for at in range(question) if at not in staying]
    return _ordered(entries, _whole(strategy.compress(entries, free), groups, free))


def exchanges(entries: Sequence[Entry]) -> Iterator[range]:
    """Each call with the answers that follow it. The places of one are inseparable."""
    at = 0
    while at < len(entries):
        start, calls = at, set(entries[at].calls)
        at += 1
        if calls:
            while at < len(entries) and calls.issuperset(entries[at].results) and entries[at].results:
                at += 1
            yield range(start, at)


def first_question(entries: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in entries if entry.opens and entry.kind is Kind.MESSAGE), None)


def _staying(entries: Sequence[Entry], groups: list[range], question: int, opener: int | None) -> set[int]:
    if opener is None and (first := first_question(entries)):
        opener = first.seq
    staying = {at for at, entry in enumerate(entries) if entry.is_pin or entry.seq == opener}
    last_user = max((at for at, entry in enumerate(entries) if entry.role is Role.USER), default=-1)
    for group in groups:
        answered = {call for at in group[1:] for call in entries[at].results}
        is_open = group[0] > last_user and not answered.issuperset(entries[group[0]].calls)
        if is_open or group[-1] >= question or not staying.isdisjoint(group):
            staying.update(group)
    return staying


def _whole(choice: Choice, groups: list[range], free: list[int]) -> Choice:
    """The same choice with no exchange torn apart: one that is chosen in part is kept, and one that is cut between two
    spans goes with the first.
    """
    allowed = set(free)
    chosen = {at: number for number, span in enumerate(choice.spans) for at in span if at in allowed}
    chosen |= {at: -1 for at in choice.dropped if at in allowed}
    for group in groups:
        picks = {chosen.get(at) for at in group}
        if len(picks) > 1:
            for at in group:
                chosen.pop(at, None)
                if None not in picks:
                    chosen[at] = min(pick for pick in picks if pick is not None and pick >= 0)
    spans = tuple(tuple(sorted(at for at in chosen if chosen[at] == number)) for number in range(len(choice.spans)))
    return Choice(tuple(span for span in spans if span), tuple(sorted(at for at in chosen if chosen[at] == -1)))


def _ordered(entries: Sequence[Entry], choice: Choice) -> Outline:
    gone = {at for span in choice.spans for at in span} | set(choice.dropped)
    places: dict[int, Entry | Span] = {at: entry for at, entry in enumerate(entries) if at not in gone}
    done = 0
    for span in sorted(choice.spans, key=lambda span: span[-1]):
        before = range(done, span[-1])
        within = tuple(entries[at].seq for at in before if at not in gone and not entries[at].is_pin)
        places[span[-1]] = Span(tuple(entries[at] for at in span), within)
        done = span[-1] + 1
    return Outline(tuple(places[at] for at in sorted(places)), tuple(entries[at] for at in choice.dropped))


def parted(span: Span, most: int) -> list[Span]:
    """The span in parts of at most `most` tokens, as far as whole exchanges allow."""
    if span.tokens <= most:
        return [span]
    inner = {at for group in exchanges(span.entries) for at in group[1:]}
    cuts, size = [0], 0
    for at, entry in enumerate(span.entries):
        if size + entry.tokens > most and at not in inner and at > cuts[-1]:
            cuts.append(at)
            size = 0
        size += entry.tokens
    parts = [span.entries[start:end] for start, end in pairwise((*cuts, len(span.entries)))]
    ends = [-1, *(part[-1].seq for part in parts)]
    return [
        Span(part, tuple(seq for seq in span.kept_within if after < seq < end))
        for part, (after, end) in zip(parts, pairwise(ends), strict=True)
    ]
