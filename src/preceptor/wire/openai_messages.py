"""Histories as OpenAI's chat format lists them, both ways. Requests are made by `openai_chat`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import orjson

from preceptor.domain.messages.message import AnyPart, Attachment, Message, Role, Text, ToolCall, ToolResult
from preceptor.wire.carried import NAME, Origin, call_of, calling, carry, result_of, returned, role_of
from preceptor.wire.openai_client import FOREIGN_PART
from preceptor.wire.openai_pieces import fields_of

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
        content = _content(message, apart=metadata) or (calling(calls) if calls and not tools else "")
        made = [{"role": _role(message), "content": content or (None if calls else "")}]
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
        case Attachment(media_type=media_type):
            return media_type == FOREIGN_PART and message.role is not Role.TOOL
        case _:
            return False


def _content(message: Message, *, apart: bool) -> str | list[Dict]:
    """Text; or a list of parts where there are others as well, or several texts that are to stay `apart`."""
    parts = [part for part in message.parts if isinstance(part, Text | Attachment) and _sayable(message, part)]
    if not any(isinstance(part, Attachment) for part in parts):
        return content_of(message) if apart else message.text
    return [
        {"type": "text", "text": part.text} if isinstance(part, Text) else orjson.loads(part.attachment_id)
        for part in parts
    ]


def _result(result: ToolResult, *, tools: bool) -> Dict:
    if not tools:
        return {"role": "user", "content": result.content}
    return {"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content}


def _call(call: ToolCall) -> Dict:
    arguments = call.malformed if call.malformed is not None else orjson.dumps(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def from_openai(messages: Sequence[Mapping[str, Any]], origin: Origin = NOWHERE) -> list[Message]:
    """All that was said. What we have no word for, such as an image, stays as it was written, as an attachment."""
    messages = paired(messages)
    made: list[Message] = []
    at = 0
    while at < len(messages):
        group = [messages[at]]
        ours: Any = messages[at].get(NAME)
        at += 1
        while ours and at < len(messages) and messages[at].get(NAME) == {"id": ours["id"]}:
            group.append(messages[at])
            at += 1
        made.append(_incoming(group, len(made), origin))
    return made


def paired(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same messages, with an id for each call and, for each answer, the id and the name of the call it is for.

    In the older form a message has one `function_call`, which the next answer of that name is for. An answer that names
    no call at all is for the first one that still waits.
    """
    names: dict[str, str] = {}
    waiting: list[str] = []
    made: list[Mapping[str, Any]] = []
    for number, message in enumerate(messages):
        if calls := _calls(message, number):
            waiting = [call["id"] for call in calls]
            names |= {call["id"]: fields_of(call.get("function")).get("name", "") for call in calls}
            made.append({**message, "tool_calls": calls})
        elif is_answer(message):
            name, answered = message.get("name"), message.get("tool_call_id")
            answered = answered or next((one for one in waiting if name in (None, names[one])), "")
            waiting = [one for one in waiting if one != answered]
            made.append({**message, "tool_call_id": answered, "name": name or names.get(answered)})
        else:
            made.append(message)
    return made


def _calls(message: Mapping[str, Any], number: int) -> list[Dict]:
    older = message.get("function_call")
    calls: list[Dict] = list(message.get("tool_calls") or ([{"function": older}] if older else ()))
    return [call if call.get("id") else {**call, "id": f"call_{number}_{at}"} for at, call in enumerate(calls)]


def is_answer(message: Mapping[str, Any]) -> bool:
    return bool(message.get("tool_call_id")) or role_of(str(message.get("role", "user")), "")[0] is Role.TOOL


def _incoming(group: Sequence[Mapping[str, Any]], number: int, origin: Origin) -> Message:
    first = group[0]
    if is_answer(first):
        answers = [_answer(one) for one in group]
        return returned(first.get(NAME), Role.TOOL, answers, number, origin)
    calls, parts = cast("list[Dict]", first.get("tool_calls") or []), _spoken(first)
    role, unknown = role_of(str(first.get("role", "user")), "")
    if unknown:
        parts[:1] = [Text(unknown + parts[0].text)] if isinstance(parts[0], Text) else [Text(unknown), parts[0]]
    if calls and not any(part != Text("") for part in parts):
        parts = []
    for index, call in enumerate(calls):
        function = fields_of(call.get("function"))
        parts.append(call_of(function.get("name", ""), function.get("arguments"), call["id"], number, index))
    return returned(first.get(NAME), role, parts, number, origin)


def _answer(message: Mapping[str, Any]) -> ToolResult:
    parts = _parts(message.get("content"))
    content = "".join(part.text if isinstance(part, Text) else part.attachment_id for part in parts)
    return result_of(str(message["tool_call_id"]), message["name"], content)


def _spoken(message: Mapping[str, Any]) -> list[AnyPart]:
    content, refusal = message.get("content"), message.get("refusal")
    if not refusal:
        return [*_parts(content)]
    return [*(_parts(content) if content else ()), Text(str(refusal))]


def _parts(content: Any) -> list[Text | Attachment]:
    """At least one, if an empty text."""
    if not content or isinstance(content, str):
        return [Text(content or "")]
    return [_part(part) for part in cast("list[Any]", content)]


def _part(part: Any) -> Text | Attachment:
    if not isinstance(part, dict):
        return Text(str(part))
    facts = cast("Dict", part)
    text = facts.get("text", facts.get("refusal"))
    if text is not None or not facts.get("type"):
        return Text(str(text or ""))
    return Attachment(orjson.dumps(facts).decode(), FOREIGN_PART, str(facts["type"])[:64])


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
