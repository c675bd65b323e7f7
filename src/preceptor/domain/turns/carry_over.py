"""Carry over: who keeps control when a turn ends, and for how long. All of it is read off a turn's own events."""

import msgspec

from preceptor.domain.delegation import ClosedBy, Span
from preceptor.domain.turns.turn import Lane, Turn


def stays(turn: Turn, lane: Lane) -> bool:
    """Whether what a specialist has said is the answer, and the user's next message is for it again."""
    carried = turn.pins.carry_over and lane.root is None
    return carried and not any(span.mark_intermediate for span in lane.frames)


def carried(turn: Turn) -> tuple[Span, ...]:
    """The delegations that the next turn begins with, the outermost first."""
    return tuple(
        msgspec.structs.replace(span, carried_from=span.span_id, calls_before=calls_of(turn, span))
        for span in turn.spans.values()
        if span.span_id in turn.closed and turn.closed[span.span_id].closed_by is ClosedBy.CARRIED
    )


def taken_over(turn: Turn) -> tuple[Span, ...]:
    """Those that it began with itself, because the turn before had carried them over."""
    return tuple(span for span in turn.spans.values() if span.carried_from is not None)


def calls_of(turn: Turn, span: Span) -> int:
    """How many calls a delegation has made, in all its turns."""
    return span.calls_before + turn.span_calls.get(span.span_id, 0)
