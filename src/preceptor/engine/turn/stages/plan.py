"""Plan: one forced plan per turn, before the answer. Its trace stays out of what models are shown later."""

import msgspec

from preceptor.domain.messages.message import Kind, Message, Role, Text, ToolCall, ToolResult
from preceptor.domain.reasoning.plan import TOOL_NAME, Plan
from preceptor.domain.reasoning.policy import Injection, SgrPolicy
from preceptor.domain.reasoning.routing import Flow, route
from preceptor.domain.reasoning.schema import as_written
from preceptor.domain.reasoning.synthesis import Synthesis, Voice, synthesise
from preceptor.domain.reasoning.wording import worded
from preceptor.domain.turns.facts import Planned, PlanReady
from preceptor.domain.turns.step import Settle
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.draft import draft
from preceptor.engine.turn.stages.moderate import held_back


async def make_plan(run: Run) -> Settle | None:
    """Have the turn planned, whatever the model makes of it; the tables decide where the plan leads.

    Answers with how the turn ends, if there is not enough left for a plan.
    """
    policy = SgrPolicy.model_validate(run.pins.sgr)
    drafted = await draft(run, policy)
    if isinstance(drafted, Settle):
        return drafted
    judged = run.turn.verdict
    routed = route(drafted.plan, judged, policy.routing, asked=run.pins.clarifications)
    made = synthesise(drafted.plan, routed, judged, voice_of(run), raw_plan=drafted.raw)
    withheld = await held_back(run, lambda: made.for_user.markdown(run.pins.language))
    run.journal.note(
        "plan.made",
        Planned(
            plan=drafted.plan,
            action=routed.action,
            flow=routed.flow,
            ui=msgspec.to_builtins(made.for_user),
            record=msgspec.to_builtins(made.for_record),
            malformed=drafted.reasons,
        ),
    )
    if not withheld:
        ready = PlanReady(user_intent=made.for_user.user_intent, response=made.for_user.response)
        run.journal.note("plan.ready", ready)
        _inject(run, made, policy.injection if routed.flow is Flow.CONTINUE else Injection.CLEAN, drafted.plan)
    return None


def voice_of(run: Run) -> Voice:
    texts = SgrPolicy.model_validate(run.pins.sgr).templates
    return Voice(run.pins.language, run.means.product_name, worded(texts))


def note_synthesis(run: Run, made: Synthesis) -> Message:
    """The one synthetic message, in its two parts: they meet only where a model is shown them."""
    text, analysis = made.for_model.response, made.for_model.analysis
    message = run.message(Role.ASSISTANT, (Text(text),), run.turn.main, kind=Kind.SYNTHETIC_PLAN)
    message = run.with_analysis(message, analysis)
    run.journal.note("message.completed", message)
    return message


def _inject(run: Run, made: Synthesis, injection: Injection, plan: Plan) -> None:
    """Put the plan before the model: as one clean message or, to compare, as the trace of a tool."""
    if injection is Injection.CLEAN:
        note_synthesis(run, made)
        return
    text = made.for_model.full if injection is Injection.FORMATTED_TOOL_RESULT else as_written(plan)
    lane, call_id = run.turn.main, f"plan_{run.turn.turn_id}"
    call = ToolCall(call_id, TOOL_NAME, {})
    result = ToolResult(call_id, TOOL_NAME, text)
    run.journal.note("message.completed", run.message(Role.ASSISTANT, (call,), lane, kind=Kind.SYNTHETIC_PLAN))
    run.journal.note("message.completed", run.message(Role.TOOL, (result,), lane, kind=Kind.SYNTHETIC_PLAN))
