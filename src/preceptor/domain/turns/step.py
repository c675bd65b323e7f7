"""What a turn does next. A function of where it stands, so that a turn that was interrupted goes on where it was."""

import msgspec

from preceptor.domain.delegation import CONTROL_TOOLS, ClosedBy, Limits, Span
from preceptor.domain.errors import recorded
from preceptor.domain.messages.message import Kind, Role, ToolCall
from preceptor.domain.prompts.reply import Fault, ModelFailure
from preceptor.domain.reasoning.routing import Flow
from preceptor.domain.reasoning.verdict import Gate
from preceptor.domain.turns.calls import Call, CallEnded
from preceptor.domain.turns.carry_over import calls_of, stays
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.turn import Lane, Turn

NO_VERDICT = recorded("The safety check gives no verdict right now, and without one nothing goes on.")
ENDLESS = recorded("The turn did not come to an end within its calls.")
CLIENT_TOOLS = "client_tools"
"""The outcome of a turn that ended with calls for whoever sent its message."""
ITERATION_LIMIT = "iteration_limit"
"""The outcome of a turn that used up its calls, whether or not the last one, without tools, was an answer."""
RULES_BROKEN = "rules_broken"
"""The outcome of a turn whose answer breaks validation rules that it may not break."""
ATTEMPTS = 4
"""How often one step is put to a model before it has failed: once, and three times again."""
_ASK_AGAIN = frozenset(
    {
        Fault.RATE_LIMITED,
        Fault.OVERLOADED,
        Fault.SERVER,
        Fault.UNREACHABLE,
        Fault.TIMEOUT,
        Fault.BROKEN_STREAM,
        Fault.BAD_ANSWER,
    }
)


_ANOTHER_MAY_ANSWER = _ASK_AGAIN | {Fault.UNAUTHORIZED, Fault.PAYMENT, Fault.TLS, Fault.TOO_LONG}
"""What has to do with the one model, its account or its server, and not with what was asked."""
_GONE = 404
"""The status of a server that does not have the model any more."""
LONG_WAIT = 5.0
"""Seconds: who asks for a longer pause is not waited for while another model can answer."""


class Forget(msgspec.Struct, frozen=True):
    """A call was open when the process died: take note that its answer is lost."""

    call: Call


class Moderate(msgspec.Struct, frozen=True):
    """Ask the guardian about the user's message."""


class Compress(msgspec.Struct, frozen=True):
    """Have older messages summarised."""


class MakePlan(msgspec.Struct, frozen=True):
    """Have the turn planned."""


class AskModel(msgspec.Struct, frozen=True):
    purpose: str
    """`answer`, or `final`: the one call without tools after the iteration limit."""
    after: CallEnded | None = None
    """The attempt that failed before."""


class FallBack(msgspec.Struct, frozen=True):
    """Go on with the next of the agent's models."""

    after: CallEnded


class Act(msgspec.Struct, frozen=True):
    """Answer these tool calls."""

    calls: tuple[ToolCall, ...]


class Close(msgspec.Struct, frozen=True):
    """Give control back."""

    span: Span
    by: ClosedBy
    why: str | None = None


class Settle(msgspec.Struct, frozen=True):
    status: TurnStatus
    code: str | None = None
    sentence: str | None = None
    outcome: str | None = None


class Rest(msgspec.Struct, frozen=True):
    """This branch has said what it had to say."""


Step = Forget | Moderate | Compress | MakePlan | AskModel | FallBack | Act | Close | Settle | Rest


def next_step(turn: Turn, lane: Lane, *, seconds: float) -> Step:
    """The next step of one lane, `seconds` after the turn was accepted."""
    if turn.cancelled is not None:
        return Settle(TurnStatus.CANCELLED)
    if lane.open_call is not None:
        return Forget(lane.open_call)
    if lane.root is not None and (turn.withheld is not None or turn.unguarded):
        return Rest()
    if lane.failed is not None and (late := ran_out(turn, lane.failed, seconds)):
        return Settle(TurnStatus.FAILED, "budget_exceeded", late)
    step = _wanted(turn, lane)
    if isinstance(step, Act | AskModel | FallBack | Compress | MakePlan) and (exceeded := _exceeded(turn, seconds)):
        if lane.failed is not None:
            return _give_up(lane, lane.failed)
        return Settle(TurnStatus.FAILED, "budget_exceeded", exceeded)
    return step


def _wanted(turn: Turn, lane: Lane) -> Step:
    """The next step, if there is enough left for it. What has been said already costs nothing more."""
    if lane.root is None and (first := _before_answering(turn)):
        return first
    if turn.kept_back:
        return Settle(TurnStatus.BLOCKED, outcome=RULES_BROKEN) if lane.root is None else Rest()
    if lane.pending:
        ours = tuple(call for call in lane.pending if not for_client(turn, lane, call))
        return Act(ours) if ours else Settle(TurnStatus.COMPLETED, outcome=CLIENT_TOOLS)
    if lane.root is not None and not lane.frames:
        return Rest()
    if lane.failed is not None and not _worth_asking_again(turn, lane, lane.failed):
        return FallBack(lane.failed) if falls_back(turn, lane, lane.failed) else _give_up(lane, lane.failed)
    return _speak(turn, lane)


def for_client(turn: Turn, lane: Lane, call: ToolCall) -> bool:
    """Whether a call is for whoever sent the message: only the agent itself can ask for that, and not while it hands
    over to someone else.
    """
    alone = lane.root is None and lane.speaker is None and not turn.final_call
    hands_over = any(each.name in CONTROL_TOOLS for each in lane.pending)
    return alone and not hands_over and call.malformed is None and call.name in turn.pins.client_tools


def _before_answering(turn: Turn) -> Step | None:
    """The verdict, then the plan, then where they lead; None once there is nothing between the turn and an answer."""
    assert turn.accepted is not None
    pins = turn.accepted.pins
    if pins.guard:
        if turn.judgement is None:
            return Moderate()
        if turn.judgement.gate is Gate.BLOCK:
            return Settle(TurnStatus.BLOCKED)
        if turn.judgement.gate is Gate.UNAVAILABLE or turn.unguarded:
            return Settle(TurnStatus.FAILED, "guard_unavailable", NO_VERDICT)
        if turn.withheld is not None:
            return Settle(TurnStatus.BLOCKED)
    if turn.accepted.compress and turn.compressed is None:
        return Compress()
    if pins.sgr and turn.planned is None:
        return MakePlan()
    if turn.planned is not None and turn.planned.flow is not Flow.CONTINUE:
        return Settle(TurnStatus.CLARIFY if turn.planned.flow is Flow.WAIT else TurnStatus.BLOCKED)
    return None


def _speak(turn: Turn, lane: Lane) -> Step:
    last = lane.messages[-1] if lane.messages else None
    said_it_all = last is not None and last.role is Role.ASSISTANT and last.kind is Kind.MESSAGE and not last.tool_calls
    speaker = lane.speaker
    if speaker is not None:
        if said_it_all and last is not None and last.span_id == speaker.span_id:
            if stays(turn, lane):
                return Settle(TurnStatus.COMPLETED)
            return Close(speaker, ClosedBy.ANSWERED if speaker.mark_intermediate else ClosedBy.FINAL)
        if calls_of(turn, speaker) >= turn.limits.calls_per_delegation:
            calls = turn.limits.calls_per_delegation
            return Close(speaker, ClosedBy.LIMIT, recorded("%(count)s calls were all it had", count=calls))
        if turn.iterations >= turn.limits.iterations:
            calls = turn.limits.iterations
            return Close(speaker, ClosedBy.LIMIT, recorded("the turn's %(count)s calls are used up", count=calls))
    elif said_it_all and last is not None and (last.span_id is None or _spoke_for_us(turn, lane)):
        return Settle(TurnStatus.COMPLETED, outcome=ITERATION_LIMIT if turn.final_call else None)
    elif turn.final_call and lane.failed is None and not lane.attempts:
        return Settle(TurnStatus.FAILED, "budget_exceeded", ENDLESS, ITERATION_LIMIT)
    elif turn.iterations >= turn.limits.iterations:
        return AskModel("final", lane.failed)
    return AskModel("answer", lane.failed)


def _spoke_for_us(turn: Turn, lane: Lane) -> bool:
    """Whether the delegation that has just closed gave the final answer."""
    return lane.returned is not None and turn.closed[lane.returned].closed_by is ClosedBy.FINAL


def _worth_asking_again(turn: Turn, lane: Lane, failed: CallEnded) -> bool:
    """Whether the same model may still answer. While there is another, nobody waits long for it."""
    if failed.fault not in _ASK_AGAIN or lane.attempts >= ATTEMPTS:
        return False
    slow = failed.fault is Fault.TIMEOUT or (failed.retry_after or 0.0) > LONG_WAIT
    return not (slow and falls_back(turn, lane, failed))


def falls_back(turn: Turn, lane: Lane, failed: CallEnded) -> bool:
    """Whether another model is left that need not fail as this one did."""
    left = lane.fallback < len(turn.pins.fallback_models)
    return left and (failed.fault in _ANOTHER_MAY_ANSWER or failed.status == _GONE)


def _give_up(lane: Lane, failed: CallEnded) -> Step:
    """A specialist that cannot be asked gives control back; without one, the turn has failed."""
    if lane.speaker is not None:
        return Close(lane.speaker, ClosedBy.ERROR, failed.sentence)
    code = "upstream_timeout" if failed.fault is Fault.TIMEOUT else "upstream_failed"
    return Settle(TurnStatus.FAILED, code, failed.sentence)


def ran_out(turn: Turn, failed: CallEnded | ModelFailure, seconds: float) -> str | None:
    """What to say of a turn whose seconds ran out while a model was silent: its own patience did not end there."""
    silent = failed.fault is Fault.TIMEOUT and failed.status is None
    return _late(turn.limits) if silent and seconds > turn.limits.seconds else None


def _late(limits: Limits) -> str:
    return recorded("The turn took longer than the %(seconds)s s it had.", seconds=f"{limits.seconds:g}")


def _exceeded(turn: Turn, seconds: float) -> str | None:
    limits = turn.limits
    if seconds > limits.seconds:
        return _late(limits)
    spent = turn.usage.input_tokens + turn.usage.output_tokens
    if limits.tokens is not None and spent > limits.tokens:
        return recorded("The turn used %(used)s tokens and had %(limit)s.", used=spent, limit=limits.tokens)
    if limits.cost is not None and turn.usage.cost > limits.cost:
        return recorded(
            "The turn cost %(cost)s and had %(limit)s.", cost=f"{turn.usage.cost:g}", limit=f"{limits.cost:g}"
        )
    return None
