"""Moderate: what the guardian says of a text, and what that means for the turn. In enforce nothing starts before it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from preceptor.domain.decision import Hit
from preceptor.domain.messages.directive import DelegateReasoning
from preceptor.domain.messages.message import AnyPart, Attachment, ToolCall, ToolResult, texts
from preceptor.domain.prompts.images import images_of
from preceptor.domain.reasoning.policy import GuardPolicy
from preceptor.domain.reasoning.verdict import Gate, GuardFailure, GuardFault, Judged, Mode, gate
from preceptor.domain.turns.carry_over import taken_over
from preceptor.domain.turns.facts import Judgement, Withheld
from preceptor.engine.means.guarding import STOPS, GuardClient
from preceptor.engine.turn.run import Run
from preceptor.engine.turn.stages.brought import look_at_brought, withhold_brought

WITHHELD_RESULT = "The safety check withheld what this tool returned."
WHY_UNFIT = {
    Gate.BLOCK: "the safety check does not allow what was written",
    Gate.UNAVAILABLE: "the safety check gives no verdict on what was written",
}
UNGUARDED = GuardPolicy.model_validate({"enabled": False})
PICTURE = GuardFailure(GuardFault.UNFIT, "a picture has no words to judge")
WITHHELD_PROMPT = "The safety check does not allow this specialist. Answer yourself."


async def moderate(run: Run) -> None:
    """Judge what a client brought along, then the message, with as much before it as the policy says."""
    unfit = await look_at_brought(run, lambda message: heard(message.parts), lambda text: _asked(run, text))
    hit = await _judge(run, "question", _question(run))
    if hit.outcome is not Gate.UNAVAILABLE:  # else the turn ends here, and the next one looks at it again
        withhold_brought(run, unfit)
    if any(images_of(run.turn.main.messages[:1])):
        _note(run, "image", PICTURE, gate(PICTURE, Mode.REPORT))


async def held_back(run: Run, said: Callable[[], str]) -> bool:
    """Whether an answer may not be shown. It is kept on the record; the turn ends without it."""
    answer = said() if policy_of(run).answers else ""
    if not answer.strip():
        return False
    hit = await _judge(run, "answer", answer)
    if hit.outcome not in STOPS:
        return False
    run.journal.note("answer.withheld", Withheld(text=answer))
    return True


async def allowed_result(run: Run, content: str) -> bool:
    """Whether a model may be shown what a tool returned, and users too: they see it where they see answers."""
    policy = policy_of(run)
    if not (policy.tool_results or policy.answers) or not content.strip():
        return True
    return (await _judge(run, "tool_result", content)).outcome not in STOPS


async def allowed_prompt(run: Run, call: ToolCall) -> bool:
    """Whether a specialist may be told this."""
    if not policy_of(run).delegation_prompts:
        return True
    return (await _judge(run, "specialist", heard((call,)))).outcome not in STOPS


async def unfit(run: Run, summary: str) -> str | None:
    """Why models may not be shown a summary, if they may not."""
    if not policy_of(run).enabled:
        return None
    return WHY_UNFIT.get((await _judge(run, "summary", summary)).outcome)


async def _asked(run: Run, text: str) -> Gate:
    return (await _judge(run, "history", text)).outcome


def shown_at_once(run: Run) -> bool:
    """Whether users see an answer while it is being written: not where it can still be withheld."""
    policy = policy_of(run)
    return not (policy.answers and policy.mode is Mode.ENFORCE)


def heard(parts: Sequence[AnyPart]) -> str:
    """Every word in these parts that a user or a model could read: of a file its name, of a call its arguments."""
    return "\n".join(filter(None, (texts(parts), *_words(parts))))


def policy_of(run: Run) -> GuardPolicy:
    """What this turn was pinned to; nothing is judged where that is nothing."""
    if run.guard is None:
        run.guard = GuardPolicy.model_validate(run.pins.guard) if run.pins.guard else UNGUARDED
    return run.guard


async def _judge(run: Run, what: str, text: str) -> Hit[Gate]:
    """Ask, and note the answer. A turn that is to be guarded is not let through because the guardian has gone."""
    client = GuardClient(run.means.guardian, policy_of(run))
    began = run.world.monotonic()
    judged = await client.classify(text) or GuardFailure(GuardFault.UNREACHABLE, "there is no guardian any more")
    hit = client.gate(judged)
    _note(run, what, judged, hit, round((run.world.monotonic() - began) * 1000))
    return hit


def _note(run: Run, what: str, judged: Judged, hit: Hit[Gate], milliseconds: int = 0) -> None:
    run.journal.note(
        "guard.judged",
        Judgement(
            what=what,
            guardian=run.means.guardian.name if run.means.guardian else "off",
            judged=judged,
            gate=hit.outcome,
            table=hit.table,
            version=hit.version,
            row=hit.row,
            milliseconds=milliseconds,
        ),
    )


def _question(run: Run) -> str:
    """The message and who hears it first, after what was said before that the guardian is to read with it."""
    message, policy = run.turn.main.messages[0], policy_of(run)
    prompts = [one.agent_prompt for one in message.directives if isinstance(one, DelegateReasoning)]
    carried = (one for one in taken_over(run.turn) if one.message_id is not None or policy.delegation_prompts)
    prompts += [one.agent_prompt for one in carried]
    return "\n\n".join([*_before(run, policy.history_turns), heard(message.parts), *prompts])


def _before(run: Run, turns: int) -> list[str]:
    """What was said in the last turns before this one, but for what was withheld."""
    recent: list[str] = []
    found: list[str] = []
    for each in reversed(run.history.said) if turns else ():
        turn_id = each.message.turn_id
        if turn_id not in (*recent, run.turn.turn_id):
            if len(recent) == turns:
                break
            recent.append(turn_id)
        if turn_id in recent and not each.withheld:
            found.append(heard(each.message.parts))
    return found[::-1]


def _words(parts: Sequence[AnyPart]) -> Iterator[str]:
    for part in parts:
        match part:
            case ToolCall():
                yield from (part.name, part.malformed or "", *_leaves(part.arguments))
            case ToolResult(content=content):
                yield content
            case Attachment(name=name):
                yield name
            case _:
                pass


def _leaves(value: Any) -> Iterator[str]:
    """Every text of a JSON value, names included."""
    match value:
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                yield from (name, *_leaves(item))
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from _leaves(item)
        case str():
            yield value
        case _:
            return
