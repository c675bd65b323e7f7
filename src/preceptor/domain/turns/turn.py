"""The fold: from the events of a turn to where it stands. A crash loses nothing but this, and it is folded again."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from preceptor.domain.delegation import Limits, Span
from preceptor.domain.ids import CallId, MessageId, SpanId, TurnId
from preceptor.domain.log import Event
from preceptor.domain.messages.message import Kind, Message, Role, ToolCall
from preceptor.domain.prompts.reply import Usage
from preceptor.domain.reasoning.verdict import Gate, Judged
from preceptor.domain.turns.calls import Call, CallEnded, CallOutcome
from preceptor.domain.turns.checks import Checked, Checking
from preceptor.domain.turns.facts import (
    Accepted,
    CancelRequested,
    Compressed,
    Ended,
    FellBack,
    Judgement,
    MessageAbandoned,
    MessageDelta,
    MessageStarted,
    Pins,
    Planned,
    PlanReady,
    SpanClosed,
    ToolCompleted,
    ToolStarted,
    Withheld,
    fact_of,
)

SUMMARY = "summary"
_BESIDE = frozenset({"plan", SUMMARY})
"""What is asked of a model beside the conversation: each has attempts of its own."""


class Lane(msgspec.Struct):
    """One line of speech: the main one, or the branch of a specialist that works beside others."""

    root: SpanId | None = None
    messages: list[Message] = []
    frames: list[Span] = []
    """Open delegations, the innermost last."""
    pending: list[ToolCall] = []
    """Tool calls without a result."""
    started: dict[str, ToolStarted] = {}
    open_call: Call | None = None
    failed: CallEnded | None = None
    """The last call, if it failed and none has succeeded since."""
    attempts: int = 0
    """Calls of the same model for the same step that came to nothing."""
    fallback: int = 0
    """Which of the agent's models speaks: its own, or the first, second … in its place. It never goes back."""
    returned: SpanId | None = None
    """A delegation that was closed since the last call."""

    @property
    def speaker(self) -> Span | None:
        return self.frames[-1] if self.frames else None

    @property
    def span_id(self) -> SpanId | None:
        return self.frames[-1].span_id if self.frames else None


class Turn(msgspec.Struct):
    turn_id: TurnId
    accepted: Accepted | None = None
    main: Lane = msgspec.field(default_factory=Lane)
    branches: dict[SpanId, Lane] = {}
    spans: dict[SpanId, Span] = {}
    closed: dict[SpanId, SpanClosed] = {}
    lanes: dict[SpanId, Lane] = {}
    """By span: where its words are said."""
    calls: dict[CallId, Call] = {}
    endings: dict[CallId, CallEnded] = {}
    span_calls: dict[SpanId, int] = {}
    span_usage: dict[SpanId | None, Usage] = {}
    usage: Usage = Usage()
    reserved: int = 0
    """Tokens of calls whose cost is not known yet: what they are shown, and what they may answer at most."""
    reserved_answers: int = 0
    """The second part of these."""
    named: set[str] = set()
    """The ids of all tool calls: an effect is known by its call's id, so no two calls may share one."""
    half_said: dict[MessageId, CallId] = {}
    """Messages that are being streamed, with the calls they are streamed by."""
    judgement: Judgement | None = None
    """Of the user's message."""
    judgements: list[Judgement] = []
    """Of everything."""
    withheld: Withheld | None = None
    """The answer, if nobody may see it."""
    unguarded: bool = False
    """The guardian gave no verdict on an answer, and without one it may not be shown."""
    checked: Checked | None = None
    """How the last answer stood to the validation rules."""
    retried: Checked | None = None
    """An answer that was asked for again because of the rules it broke."""
    planned: Planned | None = None
    plan_calls: int = 0
    summaries: list[Message] = []
    """Those that this turn had written, each in one call."""
    summary_calls: int = 0
    fell_back: list[FellBack] = []
    compressed: Compressed | None = None
    cancelled: CancelRequested | None = None
    final_call: bool = False
    """The last call was the one that the iteration limit allows, without tools."""
    ended: Ended | None = None

    @property
    def pins(self) -> Pins:
        """What it uses. There are none before it is accepted, which is the first thing that happens to it."""
        assert self.accepted is not None
        return self.accepted.pins

    @property
    def limits(self) -> Limits:
        return self.pins.limits

    @property
    def verdict(self) -> Judged | None:
        return None if self.judgement is None else self.judgement.judged

    @property
    def kept_back(self) -> bool:
        """Whether its answer breaks rules that it may not break."""
        return self.checked is not None and self.checked.then is Checking.BLOCKED

    @property
    def iterations(self) -> int:
        return len(self.calls) - self.summary_calls

    def lane_of(self, span_id: SpanId | None) -> Lane:
        return self.main if span_id is None else self.lanes[span_id]

    def above(self, lane: Lane) -> tuple[Span, ...]:
        """The delegations that are open where a lane speaks, the outermost first; a branch hangs on another lane."""
        if lane.root is None:
            return tuple(lane.frames)
        return (*self.above(self.lane_of(self.spans[lane.root].parent)), *lane.frames)

    def tell(self, fact: Any) -> None:
        """One step of the fold."""
        if fact is not None:
            _STEPS[type(fact)](self, fact)


def _begun(turn: Turn, accepted: Accepted) -> None:
    turn.accepted = accepted


def _streaming(turn: Turn, started: MessageStarted) -> None:
    turn.half_said[started.message_id] = started.call_id


def _broke_off(turn: Turn, abandoned: MessageAbandoned) -> None:
    turn.half_said.pop(abandoned.message_id, None)


def _acting(turn: Turn, started: ToolStarted) -> None:
    turn.lane_of(started.span_id).started[started.tool_call_id] = started


def _judged(turn: Turn, judgement: Judgement) -> None:
    turn.judgements.append(judgement)
    if judgement.what == "question":
        turn.judgement = judgement
    elif judgement.what == "answer" and judgement.gate is Gate.UNAVAILABLE:
        turn.unguarded = True


def _withheld(turn: Turn, withheld: Withheld) -> None:
    turn.withheld = withheld


def _checked(turn: Turn, checked: Checked) -> None:
    turn.checked = checked
    if checked.then is Checking.RETRIED:
        turn.retried = checked


def _planned(turn: Turn, planned: Planned) -> None:
    turn.planned = planned


def _told_otherwise(turn: Turn, _: Any) -> None:
    """For those who follow the turn. What it means for the turn, another fact says."""


def _asked_to_stop(turn: Turn, request: CancelRequested) -> None:
    turn.cancelled = request


def _over(turn: Turn, ended: Ended) -> None:
    turn.ended = ended


def _summarised(turn: Turn, compressed: Compressed) -> None:
    turn.compressed = compressed


def _said(turn: Turn, message: Message) -> None:
    if message.kind is Kind.SUMMARY:
        turn.summaries.append(message)
        return
    lane = turn.lane_of(message.span_id)
    turn.half_said.pop(message.id, None)
    lane.messages.append(message)
    if message.role is Role.ASSISTANT:
        lane.pending = list(message.tool_calls)
        turn.named.update([call.id for call in lane.pending])
        lane.started = {}
    if results := message.tool_results:
        answered = {result.tool_call_id for result in results}
        lane.pending = [call for call in lane.pending if call.id not in answered]


def _called(turn: Turn, call: Call) -> None:
    lane = turn.lane_of(call.span_id)
    lane.open_call = call
    turn.calls[call.call_id] = call
    turn.final_call = call.purpose == "final"
    turn.summary_calls += call.purpose == SUMMARY
    turn.reserved += call.tokens + _answer_of(call)
    turn.reserved_answers += _answer_of(call)
    if call.span_id is not None:
        turn.span_calls[call.span_id] = turn.span_calls.get(call.span_id, 0) + 1


def _answer_of(call: Call) -> int:
    return call.ask.sampling.max_completion_tokens or 0


def _answered(turn: Turn, ended: CallEnded) -> None:
    lane = turn.lane_of(ended.span_id)
    call = turn.calls[ended.call_id]
    lane.open_call = None
    turn.endings[ended.call_id] = ended
    turn.reserved -= call.tokens + _answer_of(call)
    turn.reserved_answers -= _answer_of(call)
    turn.usage += ended.usage
    turn.span_usage[ended.span_id] = turn.span_usage.get(ended.span_id, Usage()) + ended.usage
    if call.purpose in _BESIDE:
        turn.plan_calls += call.purpose == "plan"
    elif ended.outcome is CallOutcome.OK:
        lane.failed, lane.attempts, lane.returned = None, 0, None
    else:
        lane.failed = ended if ended.outcome is CallOutcome.FAILED else None
        lane.attempts += 1


def _fell_back(turn: Turn, fell: FellBack) -> None:
    lane = turn.lane_of(fell.span_id)
    turn.fell_back.append(fell)
    lane.fallback += 1
    if fell.skipped is None:
        lane.failed, lane.attempts = None, 0


def _opened(turn: Turn, span: Span) -> None:
    lane = turn.lane_of(span.parent)
    if span.branch:
        lane = turn.branches[span.span_id] = Lane(root=span.span_id, fallback=lane.fallback)
    turn.spans[span.span_id] = span
    turn.lanes[span.span_id] = lane
    lane.frames.append(span)


def _closed(turn: Turn, closed: SpanClosed) -> None:
    lane = turn.lanes[closed.span_id]
    assert lane.span_id == closed.span_id, "only the innermost delegation can close"
    lane.frames.pop()
    lane.failed, lane.attempts, lane.returned = None, 0, closed.span_id
    turn.closed[closed.span_id] = closed


_STEPS: dict[type, Callable[[Turn, Any], None]] = {
    Accepted: _begun,
    Message: _said,
    Call: _called,
    CallEnded: _answered,
    FellBack: _fell_back,
    MessageStarted: _streaming,
    MessageDelta: _told_otherwise,  # again, when the message is whole
    MessageAbandoned: _broke_off,
    ToolStarted: _acting,
    ToolCompleted: _told_otherwise,  # by the message with its result
    Span: _opened,
    SpanClosed: _closed,
    Judgement: _judged,
    Withheld: _withheld,
    Checked: _checked,
    Planned: _planned,
    PlanReady: _told_otherwise,  # by the plan
    Compressed: _summarised,
    CancelRequested: _asked_to_stop,
    Ended: _over,
}


def fold(turn_id: TurnId, events: Iterable[Event]) -> Turn:
    turn = Turn(turn_id)
    for event in events:
        if event.turn == turn_id and event.payload is not None:
            turn.tell(fact_of(event.kind, event.payload))
    return turn
