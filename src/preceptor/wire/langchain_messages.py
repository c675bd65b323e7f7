"""Messages of LangChain, both ways. Importing this needs langchain-core."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import orjson
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from preceptor.domain.messages.message import AnyPart, Message, Role, Text, ToolCall, ToolResult
from preceptor.wire.carried import NAME, Origin, call_of, carry, result_of, returned, role_of
from preceptor.wire.openai_messages import NOWHERE, content_of, text_of, texts_of


def to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    return [one for message in messages for one in _outgoing(message)]


def _outgoing(message: Message) -> list[BaseMessage]:
    carried: dict[str, Any] = {NAME: carry(message, lambda part: _sayable(message, part))}
    if message.role is Role.TOOL and message.tool_results:
        first, *more = message.tool_results
        return [_result(first, carried), *(_result(one, {NAME: {"id": message.id}}) for one in more)]
    if message.role is Role.ASSISTANT:
        return [_assistant(message, carried)]
    made = SystemMessage if message.role is Role.SYSTEM else HumanMessage
    return [made(content=cast("Any", content_of(message)), id=message.id, additional_kwargs=carried)]


def _sayable(message: Message, part: AnyPart) -> bool:
    match part:
        case Text():
            return message.role is not Role.TOOL
        case ToolCall(malformed=malformed):
            return message.role is Role.ASSISTANT and malformed is None
        case ToolResult():
            return message.role is Role.TOOL
        case _:
            return False


def _assistant(message: Message, carried: dict[str, Any]) -> AIMessage:
    calls = [call for call in message.tool_calls if call.malformed is None]
    wrong = [call for call in message.tool_calls if call.malformed is not None]
    return AIMessage(
        content=cast("Any", content_of(message)),
        id=message.id,
        tool_calls=[{"id": call.id, "name": call.name, "args": call.arguments, "type": "tool_call"} for call in calls],
        invalid_tool_calls=[
            {"id": call.id, "name": call.name, "args": call.malformed, "error": None, "type": "invalid_tool_call"}
            for call in wrong
        ],
        additional_kwargs=carried,
    )


def _result(result: ToolResult, carried: dict[str, Any]) -> ToolMessage:
    return ToolMessage(
        content=result.content,
        tool_call_id=result.tool_call_id,
        name=result.name,
        status="error" if result.is_error else "success",
        additional_kwargs=carried,
    )


def from_langchain(messages: Sequence[BaseMessage], origin: Origin = NOWHERE) -> list[Message]:
    made: list[Message] = []
    at = 0
    while at < len(messages):
        group = [messages[at]]
        ours = _carried(messages[at])
        at += 1
        while ours and at < len(messages) and _carried(messages[at]) == {"id": ours["id"]}:
            group.append(messages[at])
            at += 1
        made.append(_incoming(group, len(made), ours, origin))
    return made


def _carried(message: BaseMessage) -> dict[str, Any] | None:
    return cast("dict[str, Any]", message.additional_kwargs).get(NAME)


def _incoming(group: Sequence[BaseMessage], number: int, ours: dict[str, Any] | None, origin: Origin) -> Message:
    first = group[0]
    texts = texts_of(cast("Any", first.content))
    match first:
        case ToolMessage():
            results = [_answer(one) for one in group if isinstance(one, ToolMessage)]
            return returned(ours, Role.TOOL, results, number, origin)
        case AIMessage():
            parts = _calls(first, number, with_wrong=ours is None)
            said: list[AnyPart] = [Text(text=text) for text in texts] if any(texts) or not parts else []
            return returned(ours, Role.ASSISTANT, [*said, *parts], number, origin)
        case _:
            name = first.role if isinstance(first, ChatMessage) else first.type
            role, texts[0] = role_of(name, texts[0])
            return returned(ours, role, [Text(text=text) for text in texts], number, origin)


def _calls(message: AIMessage, number: int, *, with_wrong: bool) -> list[AnyPart]:
    calls: list[Any] = [*message.tool_calls, *(message.invalid_tool_calls if with_wrong else ())]
    return [
        call_of(call["name"] or "", call["args"], call.get("id"), number, index) for index, call in enumerate(calls)
    ]


def _answer(message: ToolMessage) -> ToolResult:
    content: Any = message.content
    text = content if isinstance(content, str) else text_of(content) or orjson.dumps(content, default=str).decode()
    return result_of(message.tool_call_id, message.name, text, failed=message.status == "error")
