"""Injecting a plan of then in another way: as one clean message, as the trace of a tool, or not at all."""

import msgspec

from preceptor.domain.ids import MessageId
from preceptor.domain.messages.message import AnyPart, Kind, Message, Role, Text, ToolCall, ToolResult
from preceptor.domain.prompts.placed import Placed
from preceptor.domain.reasoning.plan import TOOL_NAME
from preceptor.domain.reasoning.policy import Injection, SgrPolicy, Switch
from preceptor.domain.reasoning.routing import route
from preceptor.domain.reasoning.schema import as_written
from preceptor.domain.reasoning.synthesis import Voice, synthesise
from preceptor.domain.turns.turn import Turn
from preceptor.engine.history.counting import tokens_of
from preceptor.engine.means.means import Means
from preceptor.engine.ports import TokenCounter


def reinjected(turn: Turn, said: list[Placed], sgr: SgrPolicy, means: Means, counter: TokenCounter) -> list[Placed]:
    """What was said, with this turn's plan put before the model as the policy says."""
    then = SgrPolicy.model_validate(turn.pins.sgr)
    if sgr.enabled is not Switch.OFF and sgr.injection is then.injection:
        return said
    places = [at for at, each in enumerate(said) if _is_plan(each.message, turn)]
    if not places:
        return said
    rest = [each for each in said if not _is_plan(each.message, turn)]
    if sgr.enabled is Switch.OFF:
        return rest
    made = [Placed(0, message) for message in _messages(turn, sgr, means, counter, said[places[0]].message)]
    return [*rest[: places[0]], *made, *rest[places[0] :]]


def _is_plan(message: Message, turn: Turn) -> bool:
    return message.kind is Kind.SYNTHETIC_PLAN and message.turn_id == turn.turn_id


def _messages(turn: Turn, sgr: SgrPolicy, means: Means, counter: TokenCounter, like: Message) -> list[Message]:
    assert turn.planned is not None
    pins, planned = turn.pins, turn.planned
    voice = Voice(language=pins.language, product_name=means.product_name)
    routed = route(planned.plan, turn.verdict, sgr.routing, asked=pins.clarifications)
    made = synthesise(planned.plan, routed, turn.verdict, voice)
    if sgr.injection is Injection.CLEAN:
        analysis, parts = made.for_model.analysis, (Text(made.for_model.response),)
        tokens = counter.count(analysis)
        clean = _message(like, Role.ASSISTANT, parts, counter)
        whole = clean.tokens + tokens
        return [msgspec.structs.replace(clean, analysis=analysis, analysis_tokens=tokens, tokens=whole)]
    formatted = sgr.injection is Injection.FORMATTED_TOOL_RESULT
    text = made.for_model.full if formatted else as_written(planned.plan)
    call_id = f"plan_{turn.turn_id}"
    call, result = ToolCall(call_id, TOOL_NAME, {}), ToolResult(call_id, TOOL_NAME, text)
    return [_message(like, Role.ASSISTANT, (call,), counter), _message(like, Role.TOOL, (result,), counter)]


def _message(like: Message, role: Role, parts: tuple[AnyPart, ...], counter: TokenCounter) -> Message:
    return msgspec.structs.replace(
        like,
        id=MessageId(f"{like.id}.{role}"),
        role=role,
        parts=parts,
        tokens=tokens_of(parts, counter),
        analysis=None,
        analysis_tokens=0,
    )
