"""Control: passing the conversation to a specialist, and back. Only these two tools can, and only from here."""

import msgspec

from preceptor.domain.delegation import CONTROL_TOOLS, DELEGATE, Asked, ClosedBy, Span, allowed_tools, why_not
from preceptor.domain.ids import SpanId
from preceptor.domain.messages.directive import INTERMEDIATE, RETURN_CONTROL, DelegateReasoning, Directive, unbearable
from preceptor.domain.messages.message import Kind, Message, Outcome, Role, ToolCall, ToolResult
from preceptor.domain.turns.control import ALONE, NOT_DELEGATED, RETURNED, asked
from preceptor.domain.turns.facts import SpanClosed
from preceptor.domain.turns.turn import Lane
from preceptor.engine.telling.voice import own_names
from preceptor.engine.turn.run import Run

DELEGATED = "The specialist has taken over. Control comes back to you when it is done."
BRANCHED = "Specialist {number}{reason}:\n{text}"
UNKNOWN_SPECIALIST = "There is no specialist {!r} here. Describe one yourself, with agent_prompt."
SILENT = "(It gave no answer{why}.)"


def control_in(calls: tuple[ToolCall, ...]) -> ToolCall | None:
    """The control call that counts: the first of a batch."""
    return next((call for call in calls if call.name in CONTROL_TOOLS), None)


def delegates(run: Run, lane: Lane, calls: tuple[ToolCall, ...]) -> bool:
    """Whether a message with these calls hands over to a specialist whose work is intermediate."""
    call = control_in(calls)
    if call is None or call.name != DELEGATE:
        return False
    wanted = _wanted(run, lane, call)
    return not isinstance(wanted, str) and all(one.mark_intermediate for one in wanted)


def _wanted(run: Run, lane: Lane, call: ToolCall) -> tuple[Asked, ...] | str:
    """Whom a call asks for, or why it may not."""
    if call.malformed is not None:
        return f"The arguments are not a JSON object: {call.malformed[:200]}"
    told = asked(call.arguments, run.turn.limits.prompt)
    if isinstance(told, str):
        return told
    turn, wanted = run.turn, list[Asked]()
    for number, one in enumerate(told):
        if one.specialist is not None and one.specialist not in run.specialists:
            return UNKNOWN_SPECIALIST.format(one.specialist[:80])
        wanted.append(_written_out(run, one))
        refusal = unbearable(wanted[-1].agent_prompt or "", turn.limits.prompt) or why_not(
            wanted[-1], turn.above(lane), len(turn.spans) + number, turn.limits, permitted=run.pins.may_delegate
        )
        if refusal is not None:
            return refusal
    return tuple(wanted)


def _written_out(run: Run, one: Asked) -> Asked:
    """With the prompt of the instruction that was named instead."""
    named = run.specialists.get(one.specialist or "")
    return one if named is None else msgspec.structs.replace(one, agent_prompt=named.prompt)


def answer_alone(run: Run, lane: Lane, call: ToolCall) -> None:
    """A second control call in a batch is not acted on."""
    say_result(run, lane, call, ALONE, error=True)


def return_control(run: Run, lane: Lane, call: ToolCall) -> None:
    if lane.speaker is None:
        say_result(run, lane, call, NOT_DELEGATED)
        return
    say_result(run, lane, call, RETURNED, RETURN_CONTROL)
    close(run, lane.speaker, ClosedBy.RETURNED)


def delegate(run: Run, lane: Lane, call: ToolCall) -> list[SpanId]:
    """Open what the call asks for. Answers with the branches that are to be run; none for a single specialist."""
    open_already = [span.span_id for span in run.turn.spans.values() if span.tool_call_id == call.id and span.branch]
    if open_already:
        return open_already
    wanted = _wanted(run, lane, call)
    if isinstance(wanted, str):
        say_result(run, lane, call, wanted, error=True)
        return []
    if len(wanted) == 1:
        _hand_over(run, lane, call, wanted[0])
        return []
    spans = [_span(run, lane, call, one, branch=True) for one in wanted]
    for span in spans:
        run.journal.note("delegation.opened", span)
    return [span.span_id for span in spans]


def _hand_over(run: Run, lane: Lane, call: ToolCall, one: Asked) -> None:
    span = _span(run, lane, call, one)
    told = {
        "agent_prompt": span.agent_prompt,
        "mark_intermediate": span.mark_intermediate,
        "specialist": span.instruction_id,
    }
    directive = DelegateReasoning.model_validate(told, context=run.turn.limits.prompt)
    run.journal.note("delegation.opened", span)
    say_result(run, lane, call, DELEGATED, directive)


def _span(run: Run, lane: Lane, call: ToolCall, one: Asked, *, branch: bool = False) -> Span:
    parents = lane.speaker.tools if lane.speaker is not None else own_names(run.voice)
    specialist = run.specialists.get(one.specialist or "")
    return Span(
        span_id=SpanId(run.world.new_id()),
        parent=lane.span_id,
        depth=len(run.turn.above(lane)) + 1,
        agent_prompt=one.agent_prompt or "",
        mark_intermediate=one.mark_intermediate,
        tools=allowed_tools(parents, one.tools),
        reason=one.reason,
        expected_seconds=one.expected_seconds,
        tool_call_id=call.id,
        branch=branch,
        instruction_id=specialist and specialist.instruction_id,
        version=specialist and specialist.version,
    )


def join(run: Run, lane: Lane, call: ToolCall, branches: list[SpanId]) -> None:
    """What the specialists found, in the order in which they were asked."""
    texts = [_found(run, number, span_id) for number, span_id in enumerate(branches, 1)]
    say_result(run, lane, call, "\n\n".join(texts), INTERMEDIATE)


def _found(run: Run, number: int, span_id: SpanId) -> str:
    span, closed = run.turn.spans[span_id], run.turn.closed.get(span_id)
    said = [message.text for message in run.turn.branches[span_id].messages if message.role is Role.ASSISTANT]
    last = next((text for text in reversed(said) if text.strip()), None)
    why = f": {closed.why}" if closed is not None and closed.why else ""
    reason = f" ({span.reason})" if span.reason else ""
    return BRANCHED.format(number=number, reason=reason, text=last or SILENT.format(why=why))


def close(run: Run, span: Span, by: ClosedBy, why: str | None = None) -> None:
    usage = run.turn.span_usage.get(span.span_id)
    run.journal.note(
        "delegation.closed",
        SpanClosed(
            span_id=span.span_id,
            depth=span.depth,
            closed_by=by,
            tokens=0 if usage is None else usage.input_tokens + usage.output_tokens,
            calls=run.turn.span_calls.get(span.span_id, 0),
            why=why and why.rstrip(". "),
        ),
    )


def stop_branch(run: Run, lane: Lane, why: str | None) -> None:
    """A branch for which nothing is left gives control back; whoever asked for it goes on without, if it can."""
    for span in reversed(tuple(lane.frames)):
        close(run, span, ClosedBy.LIMIT, why)


def say_result(
    run: Run, lane: Lane, call: ToolCall, content: str, *directives: Directive, error: bool = False
) -> Message:
    result = ToolResult(call.id, call.name, content, error, Outcome.ERROR if error else Outcome.OK)
    message = run.message(Role.TOOL, (result,), lane, *directives, kind=Kind.TOOL)
    run.journal.note("message.completed", message)
    return message
