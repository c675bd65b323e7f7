"""The way back from what a client said to its list of messages: what is understood can be said again."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from preceptor.domain.messages.message import AnyPart, Attachment, Message, Role, Text, Thinking, ToolCall, ToolResult
from preceptor.wire.openai_chat import arguments_of
from preceptor.wire.openai_client import FOREIGN_PART, Said


def told_to_client(messages: Iterable[Message | Said]) -> list[dict[str, Any]]:
    """Each tool result becomes a message of its own; otherwise one message of ours is one of theirs."""
    return [made for message in messages for made in _outgoing(message)]


def _outgoing(message: Message | Said) -> list[dict[str, Any]]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    made: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content} for result in results
    ]
    if len(results) == len(message.parts) and results:
        return made
    role = "user" if message.role is Role.TOOL else str(message.role)
    one: dict[str, Any] = {"role": role, "content": _content(message.parts)}
    if isinstance(message, Said) and message.name:
        one["name"] = message.name
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    if thinking := "".join(part.text for part in message.parts if isinstance(part, Thinking)):
        one["reasoning_content"] = thinking
    if calls:
        one["content"] = one["content"] or None
        one["tool_calls"] = [_call(call) for call in calls]
    return [*made, one]


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = arguments_of(call) if call.malformed is None else call.malformed
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _content(parts: Sequence[AnyPart]) -> Any:
    shown = [part for part in parts if isinstance(part, Text | Attachment)]
    match shown:
        case []:
            return ""
        case [Text(text=text)]:
            return text
        case _:
            return [_content_part(part) for part in shown]


def _content_part(part: Text | Attachment) -> Any:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Attachment(attachment_id=whole, media_type=kind):
            assert kind == FOREIGN_PART, "a client sends no files of ours"
            return orjson.loads(whole)
