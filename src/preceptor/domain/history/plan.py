"""The whole decision for one request: compression first, then `maxTokens`, then `maxHistorySize`.

While `Cut.spans` is not empty the decision is not final: have each summarised, note them down with `learned`, and plan
again. Nothing here reads a message or calls a model.
"""

from collections.abc import Sequence
from itertools import takewhile

import msgspec

from preceptor.domain.history.compression import Compressed, CompressionSkipped, compressed
from preceptor.domain.history.entry import Entry, question_of
from preceptor.domain.history.errors import TokenBudgetExceeded
from preceptor.domain.history.limits import (
    Costs,
    Levels,
    Limits,
    validate_history_size,
    validate_token_limit,
    within_size,
    within_tokens,
)
from preceptor.domain.history.outline import Span
from preceptor.domain.history.segment import NOTHING_YET, Segment, State
from preceptor.domain.history.tape import Tape
from preceptor.domain.history.view import LeftOut, Reason, View, view_of

_NONE = Levels()


class Cut(msgspec.Struct, frozen=True):
    """What one request will show, and what became of the rest."""

    view: View
    spans: tuple[Span, ...]
    segments: tuple[Segment, ...]
    skipped: tuple[CompressionSkipped, ...]
    invalidated: int
    """Tokens of the previous view that a provider's cache can no longer serve."""
    state: State

    @property
    def kept(self) -> tuple[Entry, ...]:
        return self.view.kept

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return self.view.left_out


def plan(
    tape: Tape,
    limits: Limits,
    costs: Costs = Costs(),  # noqa: B008 - frozen
    state: State = NOTHING_YET,
    model: str = "",
    question: int | None = None,
) -> Cut:
    """`question` is where the running turn begins on the tape, when that is known."""
    validate_token_limit(costs.system, limits.max_tokens)
    validate_history_size(limits.max_history_size)
    question = question_of(tape) if question is None else question
    made = Compressed(tape, question)
    if limits.strategy is not None:
        made = compressed(tape, limits, costs, state, model, question)
    cap = _cap(limits, costs)
    levels = _sticky(made.tape, state, cap, made.question)
    if cap is not None:
        levels = _under_cap(made, limits, costs, cap, levels)
    start = levels.cut
    if limits.max_history_size is not None:
        start = max(start, within_size(made.tape, limits.max_history_size, levels, made.question))
    view = view_of(made.tape, levels, start, made.question, _reason(limits, costs))
    if made.dropped:
        view = msgspec.structs.replace(view, left_out=(*_windowed(made.dropped), *view.left_out))
    after = _state(made, state, cap, levels, start)
    return Cut(view, made.spans, made.segments, made.skipped, _invalidated(tape, state, after), after)


def _cap(limits: Limits, costs: Costs) -> int | None:
    asked, window = limits.max_tokens, costs.window
    if asked is None or window is None:
        return window if asked is None else asked
    return min(asked, window)


def _reason(limits: Limits, costs: Costs) -> Reason:
    asked = limits.max_tokens is not None and (costs.window is None or limits.max_tokens <= costs.window)
    return Reason.MAX_TOKENS if asked else Reason.CONTEXT_WINDOW


def _sticky(tape: Tape, state: State, cap: int | None, question: int) -> Levels:
    """What the previous request left out stays out, unless another cap was asked for, or another past is shown."""
    if cap is None or cap != state.cap or (cut := tape.find(state.cut)) > question:
        return _NONE
    return Levels(cut, min(tape.find(state.spans), question), min(tape.find(state.payloads), question))


def _under_cap(made: Compressed, limits: Limits, costs: Costs, cap: int, sticky: Levels) -> Levels:
    try:
        return within_tokens(made.tape, costs, cap, limits.low_water, sticky, made.question)
    except TokenBudgetExceeded:
        if made.spans:  # what the summaries will cost is only guessed so far
            return sticky
        raise


def _state(made: Compressed, state: State, cap: int | None, levels: Levels, start: int) -> State:
    tape = made.tape
    end = tape[len(tape) - 1].seq + 1 if tape else 0
    cut = _seq(tape, levels.cut, end)
    return State(
        cap=cap,
        cut=cut,
        spans=_seq(tape, levels.spans, end),
        payloads=_seq(tape, levels.payloads, end),
        first=cut if start == levels.cut else _seq(tape, start, end),
        last=end - 1,
        segments=state.segments,
        used=tuple(segment.last for segment in made.segments) if made.segments else (),
    )


def _seq(tape: Tape, at: int, end: int) -> int:
    """A place on the tape as one in the conversation. Nothing left out is 0, whatever the first entry's is."""
    if not at:
        return 0
    return tape[at].seq if at < len(tape) else end


def _invalidated(tape: Tape, before: State, after: State) -> int:
    """Tokens of the previous view from the first difference on."""
    if before.last < 0:
        return 0
    same = before.first == after.first and before.spans == after.spans and before.payloads == after.payloads
    if same and before.used == after.used:
        return 0
    pairs = ((before.first, after.first), (before.spans, after.spans), (before.payloads, after.payloads))
    differs = [min(pair) for pair in pairs if pair[0] != pair[1]]
    old, new = before.used, after.used
    if old != new:
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
        differs.append(old[same - 1] + 1 if same else 0)
    summaries = sum(one.entry.tokens for one in before.segments if one.last in old and one.last >= min(differs))
    start = tape.find(max(min(differs), before.first, old[-1] + 1 if old else 0))
    end = tape.find(before.last + 1)
    gone = max(0, tape.spans[min(end, tape.find(before.spans))] - tape.spans[start])
    return summaries + max(0, tape.loose[end] - tape.loose[start] - gone)


def _windowed(dropped: Sequence[Entry]) -> tuple[LeftOut, ...]:
    tokens = sum(entry.tokens for entry in dropped)
    return (LeftOut(dropped[0].seq, dropped[-1].seq, len(dropped), tokens, Reason.STRATEGY),)
