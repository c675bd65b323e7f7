"""What other formats cannot say of a message, carried beside it, so that it comes back as it was.

A foreign message says the text, calls and results; everything else of ours rides along under one name. Whoever drops it
loses nothing that a model reads.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import orjson

from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.messages.message import (
    AnyPart,
    Attachment,
    Kind,
    Message,
    Outcome,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    decode,
    encode,
)

NAME = "preceptor"
UNKNOWN_TOOL = "unknown"
_ROLES = {role.value: role for role in Role} | {"developer": Role.SYSTEM, "function": Role.TOOL, "human": Role.USER}


class Origin(msgspec.Struct, frozen=True):
    """What messages that bring nothing of ours are given. Only they: what has a time of its own keeps it."""

    conversation_id: ConversationId = ConversationId("")
    turn_id: TurnId = TurnId("")
    created_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    count: Callable[[str], int] | None = None
    prefix: str = "message-"


def carry(message: Message, sayable: Callable[[AnyPart], bool]) -> dict[str, Any]:
    """All of a message besides what the other format says itself."""
    fields: dict[str, Any] = orjson.loads(encode(message))
    parts: list[dict[str, Any]] = fields.pop("parts")
    fields["parts"] = [
        _rest(written) if sayable(part) else {"whole": written}
        for written, part in zip(parts, message.parts, strict=True)
    ]
    return fields


def _rest(part: dict[str, Any]) -> dict[str, Any]:
    kept = {"type", "malformed", "outcome", "isError", "signature"}
    kept |= {"name"} if part["type"] == "tool_result" else set()
    kept |= {"arguments"} if "malformed" in part else set()
    return {name: value for name, value in part.items() if name in kept}


def returned(
    fields: Mapping[str, Any] | None, role: Role, parts: Sequence[AnyPart], number: int, origin: Origin
) -> Message:
    """The message that comes back: what was carried, with the parts that the other format says now."""
    if fields is None:
        return _new(role, parts, number, origin)
    joined = [msgspec.to_builtins(part) for part in _joined(fields["parts"], parts)]
    return decode(orjson.dumps({**fields, "parts": joined}))


def _joined(order: Iterable[Mapping[str, Any]], parts: Sequence[AnyPart]) -> list[AnyPart]:
    """Carried and said parts in their old order. If they do not fit any more, what is said counts."""
    said = list(parts)
    made: list[AnyPart] = []
    for one in order:
        if "whole" in one:
            made.append(msgspec.convert(one["whole"], AnyPart))
            continue
        at = next((at for at, part in enumerate(said) if part_type(part) == one["type"]), None)
        if at is None and one["type"] != "text":
            return list(parts)
        found = Text(text="") if at is None else said.pop(at)
        made.append(_with(found, {name: value for name, value in one.items() if name != "type"}))
    known = {"", "".join(part.text for part in made if isinstance(part, Text))}
    return made + [part for part in said if not (isinstance(part, Text) and part.text in known)]


def _with(part: AnyPart, rest: Mapping[str, Any]) -> AnyPart:
    return msgspec.convert({**msgspec.to_builtins(part), **rest}, AnyPart) if rest else part


def part_type(part: AnyPart) -> str:
    match part:
        case Text():
            return "text"
        case Thinking():
            return "thinking"
        case ToolCall():
            return "tool_call"
        case ToolResult():
            return "tool_result"
        case Attachment():
            return "attachment"


def _new(role: Role, parts: Sequence[AnyPart], number: int, origin: Origin) -> Message:
    said = "".join(part.text for part in parts if isinstance(part, Text))
    results = "".join(part.content for part in parts if isinstance(part, ToolResult))
    calls = "".join(f"{part.name}{part.arguments}" for part in parts if isinstance(part, ToolCall))
    return Message(
        id=MessageId(f"{origin.prefix}{number}"),
        conversation_id=origin.conversation_id,
        turn_id=origin.turn_id,
        role=role,
        kind=Kind.TOOL if role is Role.TOOL else Kind.MESSAGE,
        parts=tuple(parts),
        instructions=(),
        tokens=origin.count(said + results + calls) if origin.count else 0,
        created_at=origin.created_at,
    )


def role_of(name: str, text: str) -> tuple[Role, str]:
    """A role that we do not know is a user's, and says so: it never becomes system."""
    role = _ROLES.get(name.lower())
    return (role, text) if role is not None else (Role.USER, f"[{name}] {text}")


def call_of(name: str, arguments: Any, call_id: str | None, number: int, index: int) -> ToolCall:
    """A call that someone else wrote. One without an id gets the same one every time."""
    found, malformed = read_arguments(arguments)
    return ToolCall(
        id=call_id or f"call_{number}_{index}", name=name or UNKNOWN_TOOL, arguments=found, malformed=malformed
    )


def read_arguments(written: Any) -> tuple[dict[str, Any], str | None]:
    if written is None or written == "":
        return {}, None
    if isinstance(written, str):
        try:
            read: Any = orjson.loads(written)
        except orjson.JSONDecodeError:
            return {}, written
        return (cast("dict[str, Any]", read), None) if isinstance(read, dict) else ({}, written)
    return cast("dict[str, Any]", written), None


def result_of(call_id: str, name: str | None, content: str, *, failed: bool = False) -> ToolResult:
    outcome = Outcome.ERROR if failed else Outcome.OK
    return ToolResult(
        tool_call_id=call_id, name=name or UNKNOWN_TOOL, content=content, is_error=failed, outcome=outcome
    )


def calling(calls: Sequence[ToolCall]) -> str:
    """What stands for calls where a target cannot say them."""
    return "Calling tools: " + ", ".join(call.name for call in calls)
