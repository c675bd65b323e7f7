"""Limits: how much may be shown, and what goes first when it is too much.

Space is freed from the oldest on: delegations, then tool answers, then whole exchanges. The analyses of earlier plans
are never shown again. Once something was left out it stays out, and a cut goes down to a low-water mark, so that what
comes before it stays in the provider's cache until the cap is met again.
"""

from bisect import bisect_left
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from preceptor.domain.history.errors import (
    InsufficientHistory,
    InvalidHistorySize,
    InvalidTokenLimit,
    TokenBudgetExceeded,
)
from preceptor.domain.history.outline import Outline, first_question
from preceptor.domain.history.strategy import Strategy
from preceptor.domain.history.tape import Tape

MIN_MESSAGES_FOR_COMPRESSION = 10
LOW_WATER = 0.5
FULL = 0.85
"""The part of a context window from which on it counts as full."""


class CompressWhen(StrEnum):
    ALWAYS = "always"
    OVER_BUDGET = "over_budget"


class OnInsufficient(StrEnum):
    SKIP = "skip"
    RAISE = "raise"


class OnFailure(StrEnum):
    RAISE = "raise"
    TRIM = "trim"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one request asks of history."""

    strategy: Strategy | None = None
    max_tokens: int | None = None
    max_history_size: int | None = None
    compress_when: CompressWhen = CompressWhen.ALWAYS
    low_water: float = LOW_WATER
    on_insufficient: OnInsufficient = OnInsufficient.SKIP
    on_failure: OnFailure = OnFailure.RAISE
    batch: int = 4
    """How many messages must have left the kept window before another summary is written. 1: at once."""
    most_segments: int = 16
    """With more summaries than this, the newest are written again as one, from the original messages."""
    summariser_window: int = 24_000
    """Tokens of original messages that one summary can stand for."""
    summarise: bool = True
    """False once the summariser has failed and trimming was asked for instead."""

    @property
    def requires_history_management(self) -> bool:
        return self.strategy is not None or self.max_tokens is not None or self.max_history_size is not None


class Costs(msgspec.Struct, frozen=True):
    """What a request costs besides its history, in tokens."""

    system: int = 0
    fixed: int = 0
    """System prompt, tool schemas, closing words and format, all together."""
    window: int | None = None
    """What the model can take, less what is reserved for its answer."""
    spare: int = 0
    """What may yet be said of the question, and has its room kept where there is enough of it."""

    @property
    def besides(self) -> int:
        return self.fixed + self.spare


class Levels(msgspec.Struct, frozen=True, gc=False):
    """How far each measure reaches, as places on a tape."""

    cut: int = 0
    spans: int = 0
    payloads: int = 0


def validate_token_limit(system_tokens: int, max_tokens: int | None) -> None:
    if max_tokens is not None and max_tokens < system_tokens:
        raise InvalidTokenLimit(system_tokens, max_tokens)


def validate_history_size(max_history_size: int | None) -> None:
    if max_history_size is not None and max_history_size < 1:
        raise InvalidHistorySize(max_history_size=max_history_size)


def needed_for(made: Outline) -> int:
    """How many messages there must be before this is worth a summary."""
    first = first_question(made.keep)
    kept = sum(not (entry.is_pin or entry.interim or entry is first) for entry in made.keep)
    return max(MIN_MESSAGES_FOR_COMPRESSION, kept + 2)


def validate_compression(made: Outline, message_count: int) -> None:
    if message_count < (needed := needed_for(made)):
        raise InsufficientHistory(message_count, needed)


def spent(tape: Tape, costs: Costs, levels: Levels, question: int) -> int:
    """What a request would cost with these measures taken."""
    end = len(tape)
    running = tape.analyses[end] - tape.analyses[question]
    cut = levels.cut
    history = tape.loose[end] - tape.loose[cut]
    if levels.spans > cut:
        history -= tape.spans[levels.spans] - tape.spans[cut]
    if levels.payloads > cut:
        history -= tape.payloads[levels.payloads] - tape.payloads[cut]
    return costs.fixed + tape.pinned + running + history


def least(tape: Tape, costs: Costs, question: int) -> int:
    """What a request costs in any case: without anything that was said before its question and may be left out."""
    end = len(tape)
    running = tape.analyses[end] - tape.analyses[question]
    return costs.fixed + tape.pinned + running + tape.loose[end] - tape.loose[question]


def room_within(tape: Tape, costs: Costs, cap: int, question: int) -> int:
    """Of a cap, what a request may cost before anything is said of its question: history yields half of its room."""
    return cap - min(costs.spare, max(0, cap - least(tape, costs, question)) // 2)


def within_tokens(tape: Tape, costs: Costs, cap: int, low_water: float, sticky: Levels, question: int) -> Levels:
    """The measures that bring a request under its cap: those that hold already, if they still do.

    `low_water` is a share of the room that history has: of the cap, less what must be shown in any case.
    """
    now = spent(tape, costs, sticky, question)
    required = least(tape, costs, question)
    if required > cap:
        raise TokenBudgetExceeded(required, cap)
    cap = room_within(tape, costs, cap, question)
    if now <= cap:
        return sticky
    target = required + int((cap - required) * low_water)
    if tape.lean[question] - tape.lean[sticky.cut] == tape.loose[question] - tape.loose[sticky.cut]:
        cut = _reach(tape.loose, sticky.cut, question, now - target)  # nothing can be had for less
        return Levels(legal_start(tape, cut, question), question, question)
    spans = _reach(tape.spans, max(sticky.spans, sticky.cut), question, now - target)
    levels = Levels(sticky.cut, _turn_end(tape, spans, question), sticky.payloads)
    if (now := spent(tape, costs, levels, question)) <= target:
        return levels
    payloads = _reach(tape.payloads, max(sticky.payloads, sticky.cut), question, now - target)
    levels = Levels(sticky.cut, question, payloads)
    if (now := spent(tape, costs, levels, question)) <= target:
        return levels
    cut = _reach(tape.lean, sticky.cut, question, now - target)
    return Levels(legal_start(tape, cut, question), question, question)


def within_size(tape: Tape, size: int, levels: Levels, question: int) -> int:
    """Where the last `size` messages begin, up to the question; what the running turn adds is not counted."""
    at = min(question + 1, len(tape))
    while at > levels.cut and size >= 0:
        at -= 1
        entry = tape[at]
        unseen = entry.interim or (entry.intermediate and at < levels.spans)
        size -= tape.counts[at + 1] > tape.counts[at] and not unseen
    return levels.cut if size >= 0 else legal_start(tape, at + 1, question)


def legal_start(tape: Tape, at: int, question: int) -> int:
    """The first place from here on where the kept part may begin: a question, or whole exchange behind what opens."""
    if at >= question or tape[at].opens:
        return at
    opened = _is_opened(tape, at)
    while at < question and not (tape[at].opens or (opened and not tape[at].results)):
        at += 1
    return at


def _is_opened(tape: Tape, at: int) -> bool:
    """Something that is kept anyway can come first."""
    return bool(tape.pins) and any(tape[pin].role != "system" for pin in tape.pins[: bisect_left(tape.pins, at)])


def _reach(sums: Sequence[int], start: int, end: int, need: int) -> int:
    """The smallest place up to which `need` tokens are freed, or the end."""
    return bisect_left(sums, sums[start] + need, start, end) if start < end else start


def _turn_end(tape: Tape, at: int, question: int) -> int:
    """Delegations go as a whole, with those inside and beside them: none outlives the turn in which it was asked."""
    while 0 < at < question and not tape[at].opens:
        at += 1
    return at
