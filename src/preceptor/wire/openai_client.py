"""Lists of messages as clients of OpenAI's format send them. A client is not trusted: only what was said is
taken over, and what cannot be understood is refused. Histories that carry our own fields are `openai_messages`.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec
import orjson

from preceptor.domain.errors import Invalid
from preceptor.domain.messages.message import (
    AnyPart,
    Attachment,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from preceptor.wire.openai_pieces import fields_of, mended, read_object, text_of

FOREIGN_PART = "application/vnd.openai.content-part+json"
"""Media type of a part that is neither text nor a call: an image, a sound, a file. Its id is the part itself."""

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}


class Said(msgspec.Struct, frozen=True):
    """A message that is not stored yet: who said what."""

    role: Role
    parts: tuple[AnyPart, ...]
    name: str | None = None


class NotAMessage(Invalid):
    """A list of messages in which one cannot be understood."""

    sentence: str = "One of the messages cannot be understood. Send a list of messages with `role` and `content`."


def said_by_client(messages: Sequence[Any]) -> list[Said]:
    """Neighbours are never merged. A role that is not theirs becomes a user's words with `[role] ` before them."""
    names: dict[str, str] = {}
    said: list[Said] = []
    for place, message in enumerate(messages):
        one = _incoming(fields_of(message), place, names)
        names.update((part.id, part.name) for part in one.parts if isinstance(part, ToolCall))
        said.append(one)
    return said


def _incoming(message: dict[str, Any], place: int, names: dict[str, str]) -> Said:
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise NotAMessage(f"Message {place} has no role. Give it one: user, assistant, tool or system.")
    name = text_of(message.get("name")) or None
    if role in {"tool", "function"}:
        return Said(Role.TOOL, (_result(message, place, names),))
    parts = _parts(message.get("content"), place)
    if role == "assistant":
        thinking = text_of(message.get("reasoning_content"))
        refusal = text_of(message.get("refusal"))
        before = (Thinking(mended(thinking)),) if thinking else ()
        after = (Text(mended(refusal)),) if refusal else ()
        return Said(Role.ASSISTANT, (*before, *parts, *after, *_calls(message, place)), name)
    if role in _ROLES:
        return Said(_ROLES[role], parts, name)
    return Said(Role.USER, _foreign(mended(role[:64]), parts), name)


def _foreign(role: str, parts: tuple[AnyPart, ...]) -> tuple[AnyPart, ...]:
    match parts:
        case (Text(text=text), *rest):
            return Text(f"[{role}] {text}"), *rest
        case _:
            return Text(f"[{role}] "), *parts


def _parts(content: Any, place: int) -> tuple[AnyPart, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(mended(content)),)
    if not isinstance(content, list):
        raise NotAMessage(f"The content of message {place} is neither text nor a list of parts.")
    return tuple(_part(part, place) for part in cast("list[Any]", content))


def _part(part: Any, place: int) -> AnyPart:
    if isinstance(part, str):
        return Text(mended(part))
    facts = fields_of(part)
    match facts.get("type"):
        case "text" | "input_text" | "output_text" | "refusal":
            return Text(mended(text_of(facts.get("text")) or text_of(facts.get("refusal"))))
        case str(kind) if kind:
            return Attachment(orjson.dumps(facts).decode(), FOREIGN_PART, kind[:64])
        case _:
            raise NotAMessage(f"A part of message {place} has no `type`. Send {{'type': 'text', 'text': …}}.")


def _calls(message: dict[str, Any], place: int) -> tuple[ToolCall, ...]:
    calls: Any = message.get("tool_calls") or []
    if (legacy := message.get("function_call")) and not calls:
        calls = [{"function": legacy}]
    if not isinstance(calls, list):
        raise NotAMessage(f"`tool_calls` of message {place} is not a list.")
    taken: set[str] = set()
    made: list[ToolCall] = []
    for number, call in enumerate(cast("list[Any]", calls)):
        call_id = mended(text_of(fields_of(call).get("id")))
        if not call_id or call_id in taken:
            call_id = f"call_{place}_{number}"
        taken.add(call_id)
        made.append(_called(fields_of(fields_of(call).get("function")), call_id))
    return tuple(made)


def _called(function: dict[str, Any], call_id: str) -> ToolCall:
    name, raw = mended(text_of(function.get("name"))), mended(text_of(function.get("arguments")))
    arguments = {} if not raw.strip() else read_object(raw)
    return ToolCall(call_id, name, {}, raw) if arguments is None else ToolCall(call_id, name, arguments)


def _result(message: dict[str, Any], place: int, names: dict[str, str]) -> ToolResult:
    given, call_id = text_of(message.get("name")), mended(text_of(message.get("tool_call_id")))
    if not call_id:
        # The older form names the function instead: it answers the last call of that name.
        call_id = next((known for known in reversed(names) if names[known] == given), f"call_{place}_0")
    name = names.get(call_id) or mended(given) or "unknown"
    return ToolResult(call_id, name, mended(text_of(message.get("content"))))
