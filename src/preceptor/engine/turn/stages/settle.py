"""Settle: end a turn, once, with every call answered and every delegation closed."""

from typing import Any

from preceptor.domain.decision import Hit
from preceptor.domain.delegation import ClosedBy
from preceptor.domain.messages.message import Message, Outcome, Role, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Effect
from preceptor.domain.prompts.reply import Finish
from preceptor.domain.reasoning.routing import Flow
from preceptor.domain.reasoning.synthesis import WITHHELD, UiType, refuse
from preceptor.domain.reasoning.verdict import Gate, Mode
from preceptor.domain.turns.calls import CallEnded, CallOutcome
from preceptor.domain.turns.facts import GOES_ON, TURN_ENDED, Ended, MessageAbandoned, TurnStatus
from preceptor.domain.turns.step import CLIENT_TOOLS, Settle
from preceptor.domain.turns.turn import Lane
from preceptor.domain.webhooks import Happening
from preceptor.engine.means.guarding import STOPS
from preceptor.engine.turn.exposing import exposures_of, raise_alarms
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.act import UNKNOWN, answer_call
from preceptor.engine.turn.stages.check import say_that_it_was_kept_back
from preceptor.engine.turn.stages.control import close
from preceptor.engine.turn.stages.moderate import policy_of
from preceptor.engine.turn.stages.plan import note_synthesis, voice_of

ANSWERED = frozenset({TurnStatus.COMPLETED, TurnStatus.BLOCKED, TurnStatus.CLARIFY})
NEVER_RAN = "The turn ended before this was carried out."


async def settle(run: Run, step: Settle) -> None:
    for lane in (*reversed(run.turn.branches.values()), run.turn.main):
        _tidy(run, lane, step)
    for message_id in sorted(run.turn.half_said):
        run.journal.note("message.abandoned", MessageAbandoned(message_id=message_id, why=TURN_ENDED))
    if run.turn.kept_back:
        say_that_it_was_kept_back(run)
    elif step.status is TurnStatus.BLOCKED and not _stopped_by_plan(run):
        _refuse(run)
    message = _answer(run) if step.status in ANSWERED else None
    ended = Ended(
        turn_id=run.turn.turn_id,
        status=step.status,
        message=message,
        ui=None if message is None else _ui(run, step.status, message),
        usage=run.turn.usage,
        code=step.code,
        sentence=step.sentence,
        outcome=step.outcome,
        finish=_finish(run, message),
    )
    run.journal.note(f"turn.{step.status.value}", ended)
    if (step.status is TurnStatus.BLOCKED and not run.turn.kept_back) or _unjudged(run):
        run.journal.withhold(run.turn.main.messages[0].id, run.counter.count(WITHHELD))
    run.journal.exposed = exposed = exposures_of(run)
    if step.status is TurnStatus.BLOCKED:
        run.journal.announced = ((Happening.TURN_BLOCKED, _blocked(run)),)
    await run.journal.commit()
    raise_alarms(run, exposed)
    if run.means.settled is not None:
        run.means.settled(run.turn)


def _refuse(run: Run) -> None:
    """Say that the guardian stopped the turn, whatever was said in it before."""
    decisive = ("question", "answer")
    judgement = next(one for one in reversed(run.turn.judgements) if one.gate is Gate.BLOCK and one.what in decisive)
    hit = Hit(judgement.gate, judgement.table, judgement.version, judgement.row)
    note_synthesis(run, refuse(judgement.judged, hit, voice_of(run)))


def _unjudged(run: Run) -> bool:
    """In enforce no model is shown a message that was never found to be fit for one, also not in a later turn."""
    policy, judgement = policy_of(run), run.turn.judgement
    return policy.enabled and policy.mode is Mode.ENFORCE and (judgement is None or judgement.gate in STOPS)


def _stopped_by_plan(run: Run) -> bool:
    turn = run.turn
    return turn.planned is not None and turn.planned.flow is not Flow.CONTINUE and turn.withheld is None


def _blocked(run: Run) -> dict[str, Any]:
    """What those outside are told: where it was, and who stopped it. Not a word of what was said."""
    by = "rules" if run.turn.kept_back else "plan" if _stopped_by_plan(run) else "guardian"
    where = {"conversationId": run.journal.conversation_id, "turnId": run.turn.turn_id}
    return {**where, "agentId": run.pins.agent_id, "blockedBy": by}


def _finish(run: Run, message: Message | None) -> Finish | None:
    ending = None if message is None or message.call_id is None else run.turn.endings.get(message.call_id)
    return None if ending is None else ending.finish


def _tidy(run: Run, lane: Lane, step: Settle) -> None:
    if lane.open_call is not None:
        ended = CallEnded(call_id=lane.open_call.call_id, outcome=CallOutcome.ORPHANED, span_id=lane.span_id)
        run.journal.note("call.ended", ended)
    for call in tuple(lane.pending) if step.outcome != CLIENT_TOOLS else ():
        answer_call(run, lane, call, _interrupted(lane, call))
    by = _closed_by(run, lane, step.status)
    for span in reversed(tuple(lane.frames)):
        close(run, span, by, step.sentence)


def _closed_by(run: Run, lane: Lane, status: TurnStatus) -> ClosedBy:
    """Who has control when a turn is over may keep it for the next one."""
    if run.pins.carry_over and lane.root is None and status in GOES_ON:
        return ClosedBy.CARRIED
    return ClosedBy.CANCELLED if status is TurnStatus.CANCELLED else ClosedBy.TURN_END


def _interrupted(lane: Lane, call: ToolCall) -> ToolResult:
    started = lane.started.get(call.id)
    if started is not None and started.effect is not Effect.READ:
        return ToolResult(call.id, call.name, UNKNOWN, is_error=True, outcome=Outcome.UNKNOWN)
    return ToolResult(call.id, call.name, NEVER_RAN, is_error=True, outcome=Outcome.INTERRUPTED)


def _ui(run: Run, status: TurnStatus, message: Message) -> dict[str, Any]:
    """What the user is told: the answer with how the request was understood, or why there is none."""
    planned = run.turn.planned
    if status is not TurnStatus.COMPLETED and not run.turn.kept_back:
        if planned is not None and _stopped_by_plan(run):
            return planned.ui
        return {"type": UiType.GUARDIAN_BLOCK, "response": message.text}
    intent = None if planned is None else planned.ui.get("userIntent")
    return {"type": UiType.ANSWER, **({"userIntent": intent} if intent else {}), "response": message.text}


def _answer(run: Run) -> Message:
    return next(message for message in reversed(run.turn.main.messages) if message.role is Role.ASSISTANT)
