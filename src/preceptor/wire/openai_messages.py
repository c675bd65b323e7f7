"""Histories as OpenAI's chat format lists them, both ways. Requests are made by `openai_chat`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import orjson

from preceptor.domain.messages.message import AnyPart, Message, Role, Text, ToolCall, ToolResult
from preceptor.wire.carried import NAME, Origin, call_of, calling, carry, result_of, returned, role_of

Dict = dict[str, Any]
NOWHERE = Origin()


def to_openai(messages: Iterable[Message], *, metadata: bool = True, tools: bool = True) -> list[Dict]:
    """With `metadata` they come back equal; a strict server wants none. Without `tools`, calls are told in words."""
    return [one for message in messages for one in _outgoing(message, metadata=metadata, tools=tools)]


def _outgoing(message: Message, *, metadata: bool, tools: bool) -> list[Dict]:
    calls = message.tool_calls if message.role is Role.ASSISTANT else ()
    made: list[Dict] = []
    if message.role is Role.TOOL:
        made = [_result(result, tools=tools) for result in message.tool_results]
    if not made:
        text = message.text
        if calls and not tools:
            text = text or calling(calls)
        made = [{"role": _role(message), "content": text or (None if calls and tools else "")}]
        if metadata:
            made[0]["content"] = content_of(message) or made[0]["content"]
        if calls and tools:
            made[0]["tool_calls"] = [_call(call) for call in calls]
    if metadata:
        made[0][NAME] = carry(message, lambda part: _sayable(message, part))
        for more in made[1:]:
            more[NAME] = {"id": message.id}
    return made


def _role(message: Message) -> str:
    return "user" if message.role is Role.TOOL else message.role.value


def _sayable(message: Message, part: AnyPart) -> bool:
    match part:
        case Text():
            return message.role is not Role.TOOL
        case ToolCall():
            return message.role is Role.ASSISTANT
        case ToolResult():
            return message.role is Role.TOOL
        case _:
            return False


def _result(result: ToolResult, *, tools: bool) -> Dict:
    if not tools:
        return {"role": "user", "content": result.content}
    return {"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content}


def _call(call: ToolCall) -> Dict:
    arguments = call.malformed if call.malformed is not None else orjson.dumps(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def from_openai(messages: Sequence[Mapping[str, Any]], origin: Origin = NOWHERE) -> list[Message]:
    made: list[Message] = []
    names: dict[str, str] = {}
    at = 0
    while at < len(messages):
        group = [messages[at]]
        ours: Any = messages[at].get(NAME)
        at += 1
        while ours and at < len(messages) and messages[at].get(NAME) == {"id": ours["id"]}:
            group.append(messages[at])
            at += 1
        made.append(_incoming(group, len(made), names, origin))
        names |= {call.id: call.name for call in made[-1].tool_calls}
    return made


def _incoming(group: Sequence[Mapping[str, Any]], number: int, names: Mapping[str, str], origin: Origin) -> Message:
    first = group[0]
    texts = texts_of(first.get("content"))
    role, texts[0] = role_of(str(first.get("role", "user")), texts[0])
    if role is Role.TOOL or first.get("tool_call_id"):
        parts: list[AnyPart] = [_answer(one, names) for one in group]
        return returned(first.get(NAME), Role.TOOL, parts, number, origin)
    parts = [Text(text=text) for text in texts] if any(texts) or not first.get("tool_calls") else []
    for index, call in enumerate(cast("list[Dict]", first.get("tool_calls") or [])):
        function = cast("Dict", call.get("function") or {})
        parts.append(call_of(function.get("name", ""), function.get("arguments"), call.get("id"), number, index))
    return returned(first.get(NAME), role, parts, number, origin)


def _answer(message: Mapping[str, Any], names: Mapping[str, str]) -> ToolResult:
    call = str(message.get("tool_call_id") or "")
    return result_of(call, message.get("name") or names.get(call), text_of(message.get("content")))


def content_of(message: Message) -> str | list[Dict]:
    """Several texts as several parts, so that they can be told apart again."""
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    return [{"type": "text", "text": text} for text in texts] if len(texts) > 1 else "".join(texts)


def texts_of(content: Any) -> list[str]:
    """Content is text, nothing, or a list of parts. At least one text, if an empty one."""
    if not content or isinstance(content, str):
        return [content or ""]
    parts = cast("list[Any]", content)
    return [str(cast("Dict", part).get("text", "")) if isinstance(part, dict) else str(part) for part in parts]


def text_of(content: Any) -> str:
    return "".join(texts_of(content))
