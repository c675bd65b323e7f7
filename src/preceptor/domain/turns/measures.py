"""What a turn's plan was worth, and what it cost. All of it is found in the turn's record."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from preceptor.domain.messages.message import Kind, Role
from preceptor.domain.reasoning.metrics import apologises, apology_loop, consistency
from preceptor.domain.reasoning.plan import TOOL_NAME, Action
from preceptor.domain.turns.facts import TurnStatus
from preceptor.domain.turns.turn import Lane, Turn
from preceptor.domain.value import Value

Count = Callable[[str], int]


class Measures(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Of one turn."""

    action: Action | None = None
    degraded: bool = False
    disagrees: bool = False
    """The model would have gone another way than the table."""
    chrf: float | None = None
    rouge_l: float | None = None
    """How much of the plan is found in the answer."""
    plan_calls: int = 0
    plan_milliseconds: int = 0
    plan_tokens: int = 0
    guard_milliseconds: int = 0
    analysis_tokens: int = 0
    """What the answer's calls were shown of the plan."""
    response_tokens: int = 0
    """What of that stays in the history."""
    trace_tokens: int = 0
    """What a tool's trace would have put there, and kept there."""
    trace_visible: bool = False
    """A model was shown the planning tool's own trace."""
    apologises: bool = False
    apology_loop: bool = False


def answer_of(turn: Turn) -> str:
    """What the user was answered; empty for a turn that was not."""
    ended = turn.ended
    return ended.message.text if ended is not None and ended.message is not None else ""


def measured(turn: Turn, count: Count, before: Sequence[str] = ()) -> Measures:
    """`count` counts tokens; `before` are the answers of the turns before it, the newest last."""
    planned, answer = turn.planned, answer_of(turn)
    completed = turn.ended is not None and turn.ended.status is TurnStatus.COMPLETED
    close = consistency(planned.plan, answer) if planned is not None and completed and answer else None
    plans = [call_id for call_id, call in turn.calls.items() if call.purpose == "plan"]
    endings = [turn.endings[call_id] for call_id in plans if call_id in turn.endings]
    synthetic = [each for each in turn.main.messages if each.kind is Kind.SYNTHETIC_PLAN]
    analysis = sum(each.analysis_tokens for each in synthetic)
    return Measures(
        action=None if planned is None else planned.action,
        degraded=planned is not None and planned.plan.degraded,
        disagrees=planned is not None and bool(planned.record.get("disagrees")),
        chrf=None if close is None else round(close.chrf, 4),
        rouge_l=None if close is None else round(close.rouge_l, 4),
        plan_calls=len(plans),
        plan_milliseconds=sum(ended.milliseconds for ended in endings),
        plan_tokens=sum(ended.usage.input_tokens + ended.usage.output_tokens for ended in endings),
        guard_milliseconds=sum(one.milliseconds for one in turn.judgements),
        analysis_tokens=analysis,
        response_tokens=sum(each.tokens for each in synthetic) - analysis,
        trace_tokens=0 if planned is None else _trace(planned.record.get("rawPlan"), count),
        trace_visible=any(_visible(lane) for lane in (turn.main, *turn.branches.values())),
        apologises=apologises(answer),
        apology_loop=apology_loop([*before, answer]) if answer else False,
    )


def _trace(raw: object, count: Count) -> int:
    """A call with these arguments, and a result that repeats them."""
    return 0 if raw is None else 2 * count(msgspec.json.encode(raw).decode()) + 2 * count(TOOL_NAME)


def _visible(lane: Lane) -> bool:
    return any(
        call.name == TOOL_NAME for each in lane.messages if each.role is Role.ASSISTANT for call in each.tool_calls
    )


class Summary(Value):
    """Of many turns."""

    turns: int
    statuses: dict[str, int]
    guard: dict[str, int]
    planned: int
    actions: dict[str, int]
    degraded: int
    disagreements: int
    apology_loops: int
    traces_visible: int
    chrf: float | None
    rouge_l: float | None
    plan_milliseconds: int | None
    """The middle one."""
    plan_tokens: int
    analysis_tokens: int
    response_tokens: int
    trace_tokens: int


def tally(words: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return dict(sorted(found.items()))


def summed(each: Sequence[Measures], statuses: Iterable[str], guard: Iterable[str]) -> Summary:
    planned = [one for one in each if one.action is not None]
    times = sorted(one.plan_milliseconds for one in planned)
    return Summary(
        turns=len(each),
        statuses=tally(statuses),
        guard=tally(guard),
        planned=len(planned),
        actions=tally(one.action.value for one in planned if one.action is not None),
        degraded=sum(one.degraded for one in planned),
        disagreements=sum(one.disagrees for one in planned),
        apology_loops=sum(one.apology_loop for one in each),
        traces_visible=sum(one.trace_visible for one in each),
        chrf=_mean([one.chrf for one in planned if one.chrf is not None]),
        rouge_l=_mean([one.rouge_l for one in planned if one.rouge_l is not None]),
        plan_milliseconds=times[len(times) // 2] if times else None,
        plan_tokens=sum(one.plan_tokens for one in planned),
        analysis_tokens=sum(one.analysis_tokens for one in planned),
        response_tokens=sum(one.response_tokens for one in planned),
        trace_tokens=sum(one.trace_tokens for one in planned),
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
