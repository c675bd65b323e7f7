"""Ask the model: assemble what it is shown, write that down, send it, and listen."""

import msgspec

from preceptor.domain.delegation import ClosedBy
from preceptor.domain.errors import recorded
from preceptor.domain.messages.directive import RETURN_CONTROL, DelegateReasoning
from preceptor.domain.models import Capabilities
from preceptor.domain.prompts.assemble import Passage, assemble
from preceptor.domain.prompts.images import with_images
from preceptor.domain.prompts.prompt import Ask, Force, Prompt, Sampling, Segment
from preceptor.domain.prompts.source import AnySource, FromDirective, FromEngine, FromGuardian
from preceptor.domain.reasoning.tail import guardian_assessment, turn_directive
from preceptor.domain.turns.calls import CallEnded, CallOutcome, LeftOut
from preceptor.domain.turns.facts import MessageAbandoned, TurnStatus
from preceptor.domain.turns.step import AskModel, Forget, Settle, next_step
from preceptor.domain.turns.turn import Lane, Turn
from preceptor.engine.history.remembering import ASSESSMENT
from preceptor.engine.ports import ChatModel
from preceptor.engine.telling.voice import Opening, as_taken, opening, specialist_system, tools_for
from preceptor.engine.turn.proving import proven
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.check import is_final
from preceptor.engine.turn.stages.listen import listen
from preceptor.engine.turn.stages.record import Prepared, Purpose, Showing, record
from preceptor.engine.turn.stages.window import narrowed

NO_MORE = (
    "You have used all the calls of this turn. Answer the user now with what you have; no tool can be called any more."
)
AGAIN = "Your answer broke rules that it must keep, and nobody was shown it: {}. Answer again, and keep them."
BACKOFF = (0.25, 1.0, 3.0)
LONGEST_WAIT = 30.0
ANY_QUESTION = Prompt(system=(), shown=(), tail=(Segment(text="?", source=FromEngine("question"), tokens=0),))


async def ask(run: Run, lane: Lane, step: AskModel) -> Settle | None:
    """One call of the model. Answers with how the turn ends, if it may not be made."""
    if step.after is not None:
        await run.means.runner.pause(pause_before(run, lane.attempts, step.after.retry_after))
        if not isinstance(next_step(run.turn, lane, seconds=run.seconds), AskModel):
            return None
    prepared: Prepared | Settle = run.prepared or prepare(run, lane, step)
    run.prepared = None
    if isinstance(prepared, Settle):
        return prepared
    await run.journal.commit()
    await listen(run, lane, prepared.call, prepared.request)
    return None


def prepare(run: Run, lane: Lane, step: AskModel) -> Prepared | Settle:
    """Assemble a prompt and note down what it is made of, unless that would cost more than there is. Asks no one."""
    model = run.model_of(lane)
    able = model.capabilities
    force = _held(run, lane, step, able)
    began = as_taken(_opening(run, lane, step, model, force), able)
    pictures = run.images if able.images else {}
    said, left_out = _shown(run, lane, model, began)
    if pictures:
        said = run.passage_of(with_images(said.said, pictures))
    prompt = assemble(began.system, said, _tail(run, lane, step), began.tools, overhead=able.message_overhead)
    if exceeded := too_much(run, prompt, able):
        return Settle(TurnStatus.FAILED, "budget_exceeded", exceeded)
    forced = None if force is None else run.pins.forced_tool
    asked = Ask(model=model.name, sampling=_sampling(run, able), forced_tool=forced, force=force)
    request = model.render(proven(run, prompt, said, lane), asked)
    purpose = Purpose(step.purpose, lane.span_id, lane.attempts + 1, lane.fallback)
    return record(run, purpose, Showing(prompt, said, began, asked, left_out, bool(pictures)), request)


def require_askable(run: Run) -> None:
    """Complain of what the model cannot be asked, before anything is done that comes before its first call."""
    if run.sampling != Sampling():
        run.model.render(ANY_QUESTION, Ask(model=run.model.name, sampling=_sampling(run, run.model.capabilities)))


def _sampling(run: Run, able: Capabilities) -> Sampling:
    """What was asked for; a model that calls one tool at a time is not told whether to call several."""
    if able.parallel_tools or run.sampling.parallel_tool_calls is None:
        return run.sampling
    return msgspec.structs.replace(run.sampling, parallel_tool_calls=None)


def _shown(run: Run, lane: Lane, model: ChatModel, began: Opening) -> tuple[Passage, tuple[LeftOut, ...]]:
    """History was cut for the agent's own model; another may have less room, and write each message with more."""
    if not lane.fallback:
        return run.passage(lane), run.history.left_out
    able, cap = model.capabilities, run.history.cap
    besides = sum(piece.tokens for piece in began.system) + sum(tool.tokens for tool in began.tools)
    asked = run.turn.main.messages[0].tokens + able.message_overhead * (1 + bool(began.system))
    most = None if cap is None else cap - besides - asked - (ASSESSMENT if run.pins.guard else 0)
    said, left_out = narrowed(run, able, run.said_in(lane), besides, model.name, most)
    return run.passage_of(said), left_out


def forget(run: Run, lane: Lane, step: Forget) -> None:
    """Nobody knows what became of a call that was open when the process died. It is made again."""
    for message_id in [half for half, call_id in run.turn.half_said.items() if call_id == step.call.call_id]:
        why = "The process that waited for it ended."
        run.journal.note("message.abandoned", MessageAbandoned(message_id=message_id, why=why))
    ended = CallEnded(call_id=step.call.call_id, outcome=CallOutcome.ORPHANED, span_id=lane.span_id)
    run.journal.note("call.ended", ended)


def _opening(run: Run, lane: Lane, step: AskModel, model: ChatModel, force: Force | None) -> Opening:
    speaker, voice = lane.speaker, run.voice
    delegates, longest = _may_delegate(run.turn, lane), run.turn.limits.prompt
    if step.purpose == "final" or (speaker is None and not model.capabilities.tools):
        return opening(voice.system, ())
    if force is Force.REQUIRED:  # held to some tool, it is shown those alone that may be meant
        meant = run.pins.client_tools if run.pins.forced_tool is None else (run.pins.forced_tool,)
        return opening(voice.system, tuple(tool for tool in voice.tools if tool.name in meant))
    if speaker is not None:
        tools = tools_for(voice, speaker, may_delegate=delegates, counter=run.counter, longest=longest)
        return opening(specialist_system(voice, speaker, run.counter), tools)
    key = run.pins.voice, delegates
    found = run.means.openings.get(key)
    if found is None:
        tools = tools_for(voice, None, may_delegate=delegates, counter=run.counter, longest=longest)
        found = opening(voice.system, tools)
        if not run.pins.client_tools:  # these change from message to message
            run.means.openings[key] = found
    return found


def _held(run: Run, lane: Lane, step: AskModel, able: Capabilities) -> Force | None:
    """How this call is held to a tool: as the client asked, in the agent's first words of a turn."""
    wanted = run.pins.forced_tool is not None or run.pins.must_call
    spoken = lane.root is not None or any(message.call_id is not None for message in lane.messages)
    if not wanted or spoken or lane.speaker is not None or step.purpose == "final":
        return None
    return able.holding(run.pins.forced_tool)


def _may_delegate(turn: Turn, lane: Lane) -> bool:
    assert turn.accepted is not None
    room = len(turn.above(lane)) < turn.limits.depth and len(turn.spans) < turn.limits.delegations
    return turn.accepted.pins.may_delegate and room


def _tail(run: Run, lane: Lane, step: AskModel) -> tuple[Segment, ...]:
    """The engine's closing words: who speaks now, and what has just happened. From live state, never from history."""
    lines: list[tuple[str, AnySource]] = []
    if (assessment := guardian_assessment(run.turn.verdict)) is not None:
        lines.append((assessment, FromGuardian(run.turn.turn_id)))
    if (speaker := lane.speaker) is not None:
        told = DelegateReasoning.model_construct(agent_prompt=speaker.agent_prompt).to_xml_line()
        lines.append((told, FromDirective(speaker.span_id, "delegate_reasoning")))
    if lane.returned is not None and lane.returned in run.turn.closed:
        closed = run.turn.closed[lane.returned]
        lines.append((RETURN_CONTROL.to_xml_line(), FromDirective(lane.returned, "return_control")))
        if closed.closed_by in (ClosedBy.LIMIT, ClosedBy.ERROR):
            lines.append((f"The specialist was stopped: {closed.why}.", FromEngine("stopped")))
    if run.turn.planned is not None and lane.speaker is None and lane.root is None:
        lines.append((turn_directive(run.turn.planned.plan, run.pins.language), FromEngine("turn_directive")))
    if run.turn.retried is not None and is_final(run, lane):
        broken = "; ".join(f"{one.rule}: {one.detail}" for one in run.turn.retried.broken)
        lines.append((AGAIN.format(broken), FromEngine("rules_broken")))
    if step.purpose == "final":
        lines.append((NO_MORE, FromEngine("no_more_calls")))
    return tuple(Segment(text=text, source=source, tokens=run.counter.count(text)) for text, source in lines)


def too_much(run: Run, prompt: Prompt, price: Capabilities) -> str | None:
    """Why the call may not be made: what it would cost at least is taken off before it is sent."""
    limits, spent = run.turn.limits, run.turn.usage
    wanted = prompt.tokens + (run.sampling.max_completion_tokens or 0)
    used = spent.input_tokens + spent.output_tokens + run.turn.reserved
    if limits.tokens is not None and used + wanted > limits.tokens:
        return recorded(
            "The next call needs %(wanted)s tokens, %(used)s are used, and the turn has %(limit)s.",
            wanted=wanted,
            used=used,
            limit=limits.tokens,
        )
    answers = run.turn.reserved_answers + (run.sampling.max_completion_tokens or 0)
    shown = run.turn.reserved - run.turn.reserved_answers + prompt.tokens
    cost = (shown * price.input_price + answers * price.output_price) / 1e6
    if limits.cost is not None and spent.cost + cost > limits.cost:
        return recorded(
            "The next call costs %(cost)s at least, %(spent)s is spent, and the turn has %(limit)s.",
            cost=f"{cost:g}",
            spent=f"{spent.cost:g}",
            limit=f"{limits.cost:g}",
        )
    return None


def pause_before(run: Run, attempts: int, retry_after: float | None) -> float:
    """How long to wait before the next attempt: as the provider asked, but not past the turn's end."""
    wanted = retry_after if retry_after is not None else BACKOFF[min(attempts, len(BACKOFF)) - 1]
    return max(0.0, min(wanted, LONGEST_WAIT, run.seconds_left))
