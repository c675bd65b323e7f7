"""Messages as Anthropic's format lists them, both ways. System messages stand apart there, all in one place."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from preceptor.domain.messages.message import (
    AnyPart,
    Attachment,
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from preceptor.wire.carried import NAME, Origin, call_of, carry, result_of, returned, role_of
from preceptor.wire.openai_messages import NOWHERE, text_of

Dict = dict[str, Any]


class AnthropicChat(msgspec.Struct, frozen=True):
    """`system` and `messages` of a request."""

    system: list[Dict]
    messages: list[Dict]


def to_anthropic(messages: Iterable[Message], *, metadata: bool = True) -> AnthropicChat:
    """With `metadata` they come back equal, system messages in their old places; the provider wants them without."""
    chat = AnthropicChat([], [])
    for number, message in enumerate(messages):
        if message.role is Role.SYSTEM:
            made: Dict = {"type": "text", "text": message.text}
            chat.system.append(made)
        else:
            role = "assistant" if message.role is Role.ASSISTANT else "user"
            made = {"role": role, "content": [block for part in message.parts if (block := _block(part))]}
            chat.messages.append(made)
        if metadata:
            made[NAME] = {"place": number, **carry(message, lambda part, of=message: _sayable(of, part))}
    return chat


def _sayable(message: Message, part: AnyPart) -> bool:
    if message.role is Role.SYSTEM:
        return isinstance(part, Text) and len(message.parts) == 1
    return _block(part) is not None


def _block(part: AnyPart) -> Dict | None:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text} if text.strip() else None
        case Thinking(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature} if signature else None
        case ToolCall(id=call, name=name, arguments=arguments, malformed=None):
            return {"type": "tool_use", "id": call, "name": name, "input": arguments}
        case ToolCall(id=call, name=name, malformed=malformed):
            return {"type": "tool_use", "id": call, "name": name, "input": {"malformed": malformed}}
        case ToolResult(tool_call_id=call, content=content, is_error=failed):
            return {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": failed}
        case Attachment():
            return None


def from_anthropic(
    messages: Sequence[Mapping[str, Any]], system: str | Sequence[Mapping[str, Any]] = (), origin: Origin = NOWHERE
) -> list[Message]:
    blocks: Sequence[Mapping[str, Any]] = [{"type": "text", "text": system}] if isinstance(system, str) else system
    made = [_incoming({"role": "system", "content": [block], NAME: block.get(NAME)}, origin) for block in blocks]
    names: dict[str, str] = {}
    for message in messages:
        made.append(_incoming(message, origin, names, len(made)))
        names |= {call.id: call.name for call in made[-1].tool_calls}
    places = [cast("Dict", one.get(NAME) or {}).get("place") for one in (*blocks, *messages)]
    known = [place for place in places if isinstance(place, int)]
    if len(known) < len(made):
        return made
    return [made[at] for at in sorted(range(len(made)), key=known.__getitem__)]


def _incoming(
    message: Mapping[str, Any], origin: Origin, names: Mapping[str, str] | None = None, number: int = 0
) -> Message:
    role, _ = role_of(str(message["role"]), "")
    content: Any = message["content"]
    blocks: list[Dict] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    parts = [part for index, block in enumerate(blocks) if (part := _part(block, names or {}, number, index))]
    carried = dict(cast("Dict", message.get(NAME) or {}))
    carried.pop("place", None)
    if parts and all(isinstance(part, ToolResult) for part in parts):
        role = Role.TOOL
    return returned(carried or None, role, parts, number, origin)


def _part(block: Mapping[str, Any], names: Mapping[str, str], number: int, index: int) -> AnyPart | None:
    match block.get("type"):
        case "text":
            return Text(text=str(block["text"]))
        case "thinking":
            return Thinking(text=str(block["thinking"]), signature=block.get("signature"))
        case "tool_use":
            return call_of(str(block["name"]), block.get("input"), block.get("id"), number, index)
        case "tool_result":
            call, failed = str(block["tool_use_id"]), bool(block.get("is_error"))
            return result_of(call, names.get(call), text_of(block.get("content")), failed=failed)
        case _:
            return None
