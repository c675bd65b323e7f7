"""A request in OpenAI's format as pydantic-ai wants it, and what pydantic-ai answers as a reply of ours."""

import json
from typing import Any, cast

import msgspec
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, Reply, Usage

_SETTINGS = {
    "max_completion_tokens": "max_tokens",
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop_sequences",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "parallel_tool_calls": "parallel_tool_calls",
}
_FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "tool_call": Finish.TOOL_CALLS,
}


class Asked(msgspec.Struct, frozen=True):
    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters


def asked_of(body: dict[str, Any]) -> Asked:
    told: dict[str, Any] = {ours: body[theirs] for theirs, ours in _SETTINGS.items() if theirs in body}
    match body.get("tool_choice"):
        case {"function": {"name": str(name)}}:
            told["tool_choice"] = [name]
        case "required":
            told["tool_choice"] = "required"
        case _:
            pass
    functions: list[dict[str, Any]] = [tool["function"] for tool in body.get("tools", ())]
    tools = [
        ToolDefinition(
            name=one["name"], description=one.get("description"), parameters_json_schema=one.get("parameters", {})
        )
        for one in functions
    ]
    settings: Any = told
    return Asked(_messages(body["messages"]), settings, ModelRequestParameters(function_tools=tools))


def _messages(said: list[dict[str, Any]]) -> list[ModelMessage]:
    names: dict[str, str] = {}
    messages: list[ModelMessage] = []
    for one in said:
        calls: list[dict[str, Any]] = one.get("tool_calls") or []
        names |= {call["id"]: call["function"]["name"] for call in calls}
        match one["role"]:
            case "system":
                messages.append(ModelRequest(parts=[SystemPromptPart(_text(one["content"]))]))
            case "assistant":
                text = _text(one.get("content"))
                parts: list[Any] = [TextPart(text)] if text else []
                parts += [_call(call) for call in calls]
                messages.append(ModelResponse(parts=parts))
            case "tool":
                named = names.get(one["tool_call_id"], "unknown")
                result = ToolReturnPart(named, _text(one["content"]), tool_call_id=one["tool_call_id"])
                messages.append(ModelRequest(parts=[result]))
            case _:
                messages.append(ModelRequest(parts=[UserPromptPart(_text(one["content"]))]))
    return messages


def _call(call: dict[str, Any]) -> ToolCallPart:
    return ToolCallPart(call["function"]["name"], call["function"]["arguments"], tool_call_id=call["id"])


def _text(content: Any) -> str:
    """What is text. Pictures are not sent this way."""
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        return "\n".join(str(part.get("text", "")) for part in parts)
    return str(content or "")


def piece_of(event: Any) -> Delta | None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return Delta(text) if text else None
        case PartStartEvent(part=ThinkingPart(content=text)):
            return Delta(text, thinking=True) if text else None
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))):
            return Delta(text, thinking=True) if text else None
        case _:
            return None


def reply_of(response: ModelResponse, model: str) -> Reply:
    """The whole answer. One that did not say how it ended, or that it failed, is none."""
    finish = _FINISHES.get(response.finish_reason or "")
    if finish is None:
        raise ModelFailure(Fault.BROKEN_STREAM, f"The model {model} broke off before the end of its answer. Try again.")
    parts = tuple(part for one in response.parts if (part := _part(one, cut=finish is Finish.LENGTH)) is not None)
    if any(isinstance(part, ToolCall) for part in parts):
        finish = Finish.TOOL_CALLS if finish is Finish.STOP else finish
    told = response.usage
    usage = Usage(told.input_tokens, told.output_tokens, told.cache_read_tokens, estimated=not told.output_tokens)
    return Reply(parts, finish, usage, model, response.provider_response_id)


def _part(part: Any, *, cut: bool) -> Text | Thinking | ToolCall | None:
    match part:
        case TextPart(content=text) if text:
            return Text(text)
        case ThinkingPart(content=text, signature=signature) if text:
            return Thinking(text, signature)
        case ToolCallPart():
            written = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
            arguments = None if cut else _object(written)
            if arguments is None:
                return ToolCall(part.tool_call_id, part.tool_name, {}, malformed=written)
            return ToolCall(part.tool_call_id, part.tool_name, arguments)
        case _:
            return None


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
