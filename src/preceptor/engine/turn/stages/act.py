"""Act: answer the tool calls of a message. Ordinary tools first, all at once; then control passes, if it is to."""

from preceptor.domain.delegation import CONTROL_TOOLS, DELEGATE
from preceptor.domain.ids import SpanId
from preceptor.domain.messages.message import Kind, Outcome, Role, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Effect, ToolSpec
from preceptor.domain.turns.facts import ToolCompleted, ToolStarted
from preceptor.domain.turns.independent import START
from preceptor.domain.turns.step import Act
from preceptor.domain.turns.turn import Lane
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.specialists import meet
from preceptor.engine.turn.stages.control import answer_alone, control_in, delegate, join, return_control, say_result
from preceptor.engine.turn.stages.moderate import WITHHELD_PROMPT, WITHHELD_RESULT, allowed_prompt, allowed_result

SOON = 0.05
"""Seconds: a tool that takes longer is shown as started before it has ended."""
UNKNOWN = (
    "It is not known whether this was carried out: it was broken off before it could say so. "
    "It is not repeated. Tell the user, or find out in another way."
)
MALFORMED = "The arguments are not a JSON object, so nothing was done. Call it again with valid JSON. You wrote: {}"
NO_SUCH_TOOL = "There is no tool {!r} here. These can be called: {}."
FOR_THE_CLIENT = "The client carries this out, and not while someone else takes over. Call it again afterwards."
NO_CALLS_LEFT = "No more calls can be made in this turn."


async def act(run: Run, lane: Lane, step: Act) -> list[SpanId]:
    """Answer the calls. Answers with the branches that are to be run before the last of them is answered."""
    control = control_in(step.calls)
    ordinary = tuple(call for call in step.calls if call.name not in CONTROL_TOOLS)
    await _carry_out(run, lane, ordinary)
    for call in step.calls:
        if call.name in CONTROL_TOOLS and call is not control:
            answer_alone(run, lane, call)
    if control is None:
        return []
    if control.name != DELEGATE:
        return_control(run, lane, control)
        return []
    await meet(run, (control,))
    if not await allowed_prompt(run, control):
        say_result(run, lane, control, WITHHELD_PROMPT, error=True)
        return []
    return delegate(run, lane, control)


async def join_branches(run: Run, lane: Lane, branches: list[SpanId]) -> None:
    call = next(call for call in lane.pending if call.id == run.turn.spans[branches[0]].tool_call_id)
    join(run, lane, call, branches)


async def _carry_out(run: Run, lane: Lane, calls: tuple[ToolCall, ...]) -> None:
    if not calls:
        return
    tools = _at_hand(run, lane)
    recovered = {call.id for call in calls if call.id in lane.started}
    runnable = [call for call in calls if refusal(run, lane, call, tools, recovered) is None]
    for call in runnable:
        if call.id not in recovered:
            run.journal.note("tool.started", _intent(run, lane, call, tools[call.name]))
    if any(tools[call.name].effect is not Effect.READ for call in runnable):
        await run.journal.commit()
    found = await _all_at_once(run, runnable) if runnable else {}
    found = {call_id: await _looked_at(run, *result) for call_id, result in found.items()}
    for call in calls:
        result = found.get(call.id) or refusal(run, lane, call, tools, recovered)
        assert result is not None
        answer_call(run, lane, call, *result)


async def _all_at_once(run: Run, calls: list[ToolCall]) -> dict[str, tuple[ToolResult, int]]:
    """Run them together. What takes its time is on the record, and seen by readers, before it has ended."""
    works = [_timed(run, call) for call in calls]
    results = await run.means.runner.or_at_least(run.means.runner.together(works), SOON, run.journal.commit)
    return {call.id: result for call, result in zip(calls, results, strict=True)}


async def _looked_at(run: Run, result: ToolResult, milliseconds: int) -> tuple[ToolResult, int]:
    """The result, unless the guardian withholds what came back."""
    if await allowed_result(run, result.content):
        return result, milliseconds
    withheld = ToolResult(result.tool_call_id, result.name, WITHHELD_RESULT, is_error=True, outcome=result.outcome)
    return withheld, milliseconds


async def _timed(run: Run, call: ToolCall) -> tuple[ToolResult, int]:
    began = run.world.monotonic()
    key = key_of(run, call)
    if call.name == START:
        assert run.beside is not None
        result = await run.beside(run.journal.conversation_id, call, key, run.seconds_left)
    else:
        result = await run.means.tools.run(call, key, run.seconds_left)
    return result, round((run.world.monotonic() - began) * 1000)


def refusal(
    run: Run, lane: Lane, call: ToolCall, tools: dict[str, ToolSpec], recovered: set[str]
) -> tuple[ToolResult, int] | None:
    """The answer to a call that is not carried out; None if it is."""
    if call.malformed is not None:
        return _error(call, MALFORMED.format(call.malformed[:200])), 0
    if run.turn.final_call and lane.root is None:
        return _error(call, NO_CALLS_LEFT), 0
    if call.name not in tools:
        return _error(call, NO_SUCH_TOOL.format(call.name, ", ".join(tools) or "none")), 0
    if tools[call.name].effect is Effect.CLIENT:
        return _error(call, FOR_THE_CLIENT), 0
    if call.id in recovered and lane.started[call.id].effect is Effect.ONCE:
        return ToolResult(call.id, call.name, UNKNOWN, is_error=True, outcome=Outcome.UNKNOWN), 0
    return None


def key_of(run: Run, call: ToolCall) -> str:
    """The same whenever this very call is repeated, and never for another."""
    return f"{run.turn.turn_id}:{call.id}"


def _at_hand(run: Run, lane: Lane) -> dict[str, ToolSpec]:
    names = None if lane.speaker is None else frozenset(lane.speaker.tools)
    return {spec.name: spec for spec in run.voice.tools if names is None or spec.name in names}


def _intent(run: Run, lane: Lane, call: ToolCall, spec: ToolSpec) -> ToolStarted:
    return ToolStarted(
        tool_call_id=call.id, name=call.name, effect=spec.effect, key=key_of(run, call), span_id=lane.span_id
    )


def _error(call: ToolCall, sentence: str) -> ToolResult:
    return ToolResult(call.id, call.name, sentence, is_error=True, outcome=Outcome.ERROR)


def answer_call(run: Run, lane: Lane, call: ToolCall, result: ToolResult, milliseconds: int = 0) -> None:
    """Answer it. What became of a tool is told if it was started, and a call that is refused starts none."""
    completed = ToolCompleted(
        tool_call_id=call.id,
        name=call.name,
        outcome=result.outcome,
        milliseconds=milliseconds,
        span_id=lane.span_id,
    )
    if call.id in lane.started:
        run.journal.note("tool.completed", completed)
    run.journal.note("message.completed", run.message(Role.TOOL, (result,), lane, kind=Kind.TOOL))
