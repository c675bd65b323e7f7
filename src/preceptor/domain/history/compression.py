"""Compression: summaries in place of what they stand for, and what is to be summarised next."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

import msgspec

from preceptor.domain.history.entry import Entry
from preceptor.domain.history.errors import InsufficientHistory
from preceptor.domain.history.limits import (
    FULL,
    CompressWhen,
    Costs,
    Levels,
    Limits,
    OnInsufficient,
    needed_for,
    room_within,
    spent,
)
from preceptor.domain.history.outline import SUMMARY_TOKENS, Outline, Span, outline, parted
from preceptor.domain.history.segment import Segment, State, basis_of, memo_key, usable
from preceptor.domain.history.strategy import (
    Chunked,
    FactsTLDR,
    FromLastNMessages,
    FromTimestamp,
    Strategy,
    WholeHistory,
    WholeHistoryMultipleSystemMessages,
)
from preceptor.domain.history.tape import ArrayTape, Tape
from preceptor.domain.ids import MessageId
from preceptor.domain.messages.message import Kind, Role

_ONE_FOR_ALL = (WholeHistory, FromLastNMessages, FromTimestamp, FactsTLDR)
STEP_BY_STEP = (*_ONE_FOR_ALL, Chunked, WholeHistoryMultipleSystemMessages)
"""What they choose only grows at its end, so that only what is new has to be looked at."""


class WhySkipped(StrEnum):
    INSUFFICIENT = "insufficient_history"
    NOTHING_TO_SUMMARISE = "nothing_to_summarise"
    WAITING = "waiting_for_more"
    WITHIN_BUDGET = "within_budget"
    FAILED = "compression_failed"


class CompressionSkipped(msgspec.Struct, frozen=True):
    """A strategy was asked for, and no new summary was needed or possible."""

    why: WhySkipped
    message_count: int
    minimum: int = 0


class Compressed(msgspec.Struct, frozen=True):
    """A tape with summaries in place of what they stand for."""

    tape: Tape
    question: int
    spans: tuple[Span, ...] = ()
    segments: tuple[Segment, ...] = ()
    skipped: tuple[CompressionSkipped, ...] = ()
    dropped: tuple[Entry, ...] = ()


def compressed(tape: Tape, limits: Limits, costs: Costs, state: State, model: str, question: int) -> Compressed:
    strategy = limits.strategy
    if strategy is None:
        return Compressed(tape, question)
    basis = basis_of(strategy, model)
    steady = isinstance(strategy, STEP_BY_STEP)
    segments = usable(strategy, basis, state.segments, tape, question) if steady else []
    before = _replaced(tape, question, segments)
    over = _is_over(before, limits, costs)
    if limits.compress_when is CompressWhen.OVER_BUDGET and not over:
        return _resting(tape, question, before, CompressionSkipped(WhySkipped.WITHIN_BUDGET, tape.said))
    made = _fresh(strategy, tape, question, segments)
    if skip := _skip(limits, made, segments, tape.said):
        return _resting(tape, question, before, skip)
    sized = tuple(part for span in made.spans for part in parted(span, limits.summariser_window))
    if steady:
        sized, segments = _merged(tape, sized, segments, limits)
    written = {one.key: one for one in state.segments if one.basis == basis}
    known = {span.seq: one for span in sized if (one := written.get(memo_key(span.sources, basis)))}
    return _replaced(tape, question, segments, sized, made.dropped, known)


def _resting(tape: Tape, question: int, before: Compressed, skip: CompressionSkipped) -> Compressed:
    """Nothing new is summarised; summaries that exist are used."""
    rest = before if before.segments else Compressed(tape, question)
    return msgspec.structs.replace(rest, skipped=(skip,))


def _is_over(made: Compressed, limits: Limits, costs: Costs) -> bool:
    cap = limits.max_tokens
    if cap is None:
        cap = None if costs.window is None else int(costs.window * FULL)
    if cap is None:
        return False
    tape, question = made.tape, made.question
    return spent(tape, costs, Levels(), question) > room_within(tape, costs, cap, question)


def _fresh(strategy: Strategy, tape: Tape, question: int, segments: Sequence[Segment]) -> Outline:
    """What the strategy makes of all that no summary stands for yet."""
    start = tape.find(segments[-1].last + 1) if segments else 0
    opener = _opener(tape)
    return outline(strategy, tape[start : len(tape)], question - start, opener.seq if opener else -1)


def _skip(limits: Limits, made: Outline, segments: Sequence[Segment], said: int) -> CompressionSkipped | None:
    pending = sum(entry.counts for span in made.spans for entry in span.entries)
    if not limits.summarise:
        return CompressionSkipped(WhySkipped.FAILED, said)
    if not pending:
        return CompressionSkipped(WhySkipped.NOTHING_TO_SUMMARISE, said)
    if segments:
        waits = pending < limits.batch and limits.compress_when is CompressWhen.ALWAYS
        return CompressionSkipped(WhySkipped.WAITING, said, limits.batch) if waits else None
    if said >= (needed := needed_for(made)):
        return None
    if limits.on_insufficient is OnInsufficient.RAISE:
        raise InsufficientHistory(said, needed)
    return CompressionSkipped(WhySkipped.INSUFFICIENT, said, needed)


def _merged(
    tape: Tape, spans: tuple[Span, ...], segments: list[Segment], limits: Limits
) -> tuple[tuple[Span, ...], list[Segment]]:
    """Too many summaries: the newest that one can stand for are written again, from the originals."""
    if len(spans) != 1 or len(segments) < limits.most_segments or not isinstance(limits.strategy, _ONE_FOR_ALL):
        return spans, segments
    span, kept = spans[0], list(segments)
    tokens = span.tokens
    while kept and not kept[-1].kept_within and tokens + kept[-1].source_tokens <= limits.summariser_window:
        tokens += kept.pop().source_tokens
    start = tape.find(kept[-1].last + 1 if kept else 0)
    opener = _opener(tape)
    stays = {*span.kept_within, -1 if opener is None else opener.seq}
    reach = tape[start : tape.find(span.seq) + 1]
    again = tuple(entry for entry in reach if not entry.is_pin and entry.seq not in stays)
    return (Span(again, span.kept_within),), kept


def _replaced(
    tape: Tape,
    question: int,
    segments: Sequence[Segment],
    spans: Sequence[Span] = (),
    dropped: Sequence[Entry] = (),
    known: Mapping[int, Segment] = MappingProxyType({}),
) -> Compressed:
    """The tape with each summary in the place of its last source, and the first question pinned."""
    if not segments and not spans:
        return Compressed(tape, question)
    rest = tape.find(segments[-1].last + 1) if segments else 0
    gone = {entry.seq for span in spans for entry in span.entries} | {entry.seq for entry in dropped}
    entries = [entry for entry in tape[rest : len(tape)] if entry.seq not in gone]
    entries += [segment.entry for segment in segments]
    entries += [known[span.seq].entry if span.seq in known else _awaited(span) for span in spans]
    entries += _kept_before(tape, rest, segments)
    opener = _opener(tape)
    entries = [entry for entry in entries if opener is None or entry.seq != opener.seq]
    if opener is not None:
        entries.append(opener)
    view = ArrayTape(sorted(entries, key=lambda entry: entry.seq), tape.overhead)
    asked = tape[question].seq if question < len(tape) else tape[len(tape) - 1].seq + 1
    awaited = tuple(span for span in spans if span.seq not in known)
    shown = (*segments, *(known[span.seq] for span in spans if span.seq in known))
    return Compressed(view, view.find(asked), awaited, shown, (), tuple(dropped))


def _kept_before(tape: Tape, rest: int, segments: Sequence[Segment]) -> list[Entry]:
    """What stays word for word although summaries reach beyond it."""
    pins = [tape[at] for at in tape.pins if at < rest]
    return pins + [tape[tape.find(seq)] for segment in segments for seq in segment.kept_within]


def _opener(tape: Tape) -> Entry | None:
    """The first question, which stays while a strategy is at work."""
    at = 0
    while at < len(tape):
        entry = tape[at]
        if entry.opens and entry.kind is Kind.MESSAGE:
            return msgspec.structs.replace(entry, pinned=True)
        at += 1
    return None


def _awaited(span: Span) -> Entry:
    return Entry(
        seq=span.seq,
        id=MessageId(""),
        role=Role.ASSISTANT,
        kind=Kind.SUMMARY,
        tokens=min(SUMMARY_TOKENS, span.tokens),
        created_at=span.latest,
    )
