"""Messages of pydantic-ai, both ways. Importing this needs pydantic-ai."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import is_
from typing import Any

import msgspec
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from preceptor.domain.messages.message import AnyPart, Message, Role, Text, Thinking, ToolCall, ToolResult
from preceptor.wire.carried import NAME, Origin, call_of, carry, result_of, returned
from preceptor.wire.openai_messages import NOWHERE

Foreign = ModelRequestPart | ModelResponsePart


class Piece(msgspec.Struct, frozen=True):
    """One message of ours, with the parts of theirs that it came from, and the message those stood in."""

    message: Message
    parts: tuple[Foreign, ...]
    within: ModelMessage


def to_pydantic_ai(messages: Iterable[Message]) -> list[ModelMessage]:
    return [_outgoing(message) for message in messages]


def _outgoing(message: Message) -> ModelMessage:
    carried = {NAME: carry(message, lambda part: _sayable(message, part))}
    said = [part for part in message.parts if _sayable(message, part)]
    if message.role is Role.ASSISTANT:
        parts = [_response_part(part) for part in said]
        return ModelResponse(parts=parts, timestamp=message.created_at, metadata=carried)
    requests = [_request_part(message, part) for part in said]
    return ModelRequest(parts=requests, timestamp=message.created_at, metadata=carried)


def _sayable(message: Message, part: AnyPart) -> bool:
    match message.role:
        case Role.ASSISTANT:
            return isinstance(part, Text | Thinking | ToolCall)
        case Role.TOOL:
            return isinstance(part, ToolResult)
        case Role.USER | Role.SYSTEM:
            return isinstance(part, Text)


def _response_part(part: AnyPart) -> ModelResponsePart:
    match part:
        case Thinking(text=text, signature=signature):
            return ThinkingPart(content=text, signature=signature)
        case ToolCall(id=call, name=name, arguments=arguments, malformed=malformed):
            return ToolCallPart(tool_name=name, args=arguments if malformed is None else malformed, tool_call_id=call)
        case _:
            return TextPart(content=part.text if isinstance(part, Text) else "")


def _request_part(message: Message, part: AnyPart) -> ModelRequestPart:
    at = message.created_at
    match part:
        case ToolResult(tool_call_id=call, name=name, content=content, is_error=failed):
            outcome = "failed" if failed else "success"
            return ToolReturnPart(tool_name=name, content=content, tool_call_id=call, timestamp=at, outcome=outcome)
        case Text(text=text) if message.role is Role.SYSTEM:
            return SystemPromptPart(content=text, timestamp=at)
        case _:
            return UserPromptPart(content=part.text if isinstance(part, Text) else "", timestamp=at)


def from_pydantic_ai(messages: Sequence[ModelMessage], origin: Origin = NOWHERE) -> list[Message]:
    return [piece.message for piece in pieces_of(messages, origin)]


def pieces_of(messages: Sequence[ModelMessage], origin: Origin = NOWHERE) -> list[Piece]:
    """Their messages, taken apart where one of theirs is several of ours."""
    pieces: list[Piece] = []
    for within in messages:
        carried: Any = (within.metadata or {}).get(NAME)
        for role, parts in _runs(within, whole=carried is not None):
            number = len(pieces)
            said = [ours for index, part in enumerate(parts) if (ours := _part(part, number, index))]
            given = _at(origin, within)
            pieces.append(Piece(returned(carried, role, said, number, given), tuple(parts), within))
    return pieces


def assembled(pieces: Iterable[Piece]) -> list[ModelMessage]:
    """The pieces put together again: what came from one message of theirs is one again."""
    made: list[tuple[ModelMessage, list[Foreign]]] = []
    for piece in pieces:
        if made and piece.within is made[-1][0]:
            made[-1][1].extend(piece.parts)
        else:
            made.append((piece.within, list(piece.parts)))
    return [_with(message, parts) for message, parts in made]


def _with(message: ModelMessage, parts: list[Any]) -> ModelMessage:
    same = len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
    return message if same else replace(message, parts=parts)


def _runs(message: ModelMessage, *, whole: bool) -> list[tuple[Role, list[Foreign]]]:
    runs: list[tuple[Role, list[Foreign]]] = []
    for part in message.parts:
        role = _role(part, message)
        if runs and (whole or runs[-1][0] is role):
            runs[-1][1].append(part)
        else:
            runs.append((role, [part]))
    return runs or [(Role.ASSISTANT if isinstance(message, ModelResponse) else Role.USER, [])]


def _role(part: Foreign, message: ModelMessage) -> Role:
    match part:
        case SystemPromptPart():
            return Role.SYSTEM
        case ToolReturnPart():
            return Role.TOOL
        case _ if isinstance(message, ModelResponse):
            return Role.ASSISTANT
        case _:
            return Role.TOOL if _answers(part) else Role.USER


def _answers(part: Any) -> bool:
    """One of the ways in which a tool is told to be tried again."""
    return bool(getattr(part, "tool_name", None) and getattr(part, "tool_call_id", None))


def _part(part: Any, number: int, index: int) -> AnyPart | None:
    match part:
        case SystemPromptPart(content=text) | TextPart(content=text):
            return Text(text=text)
        case UserPromptPart(content=content):
            return Text(text=content if isinstance(content, str) else "".join(map(_told, content)))
        case ToolReturnPart(tool_call_id=call, tool_name=name, outcome=outcome):
            content: Any = part.content
            told = content if isinstance(content, str) else part.model_response_str()
            return result_of(call, name, told, failed=outcome != "success")
        case ThinkingPart(content=text, signature=signature):
            return Thinking(text=text, signature=signature)
        case ToolCallPart(tool_name=name, args=args, tool_call_id=call):
            return call_of(name, args, call, number, index)
        case _ if hasattr(part, "model_response"):
            again = str(part.model_response())
            return result_of(part.tool_call_id, part.tool_name, again, failed=True) if _answers(part) else Text(again)
        case _:
            return None


def _told(content: Any) -> str:
    """Of a picture or a file, that there is one."""
    return content if isinstance(content, str) else f"[{getattr(content, 'kind', 'attachment')}]"


def _at(origin: Origin, message: ModelMessage) -> Origin:
    return (
        origin
        if message.timestamp is None
        else Origin(origin.conversation_id, origin.turn_id, message.timestamp, origin.count, origin.prefix)
    )
