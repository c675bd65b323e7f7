"""A prompt as a request in OpenAI's chat format. The same prompt gives the same bytes, for ever: `openai-chat/1`."""

import re
from typing import Any, cast

import orjson

from preceptor.domain.errors import Invalid
from preceptor.domain.messages.message import Attachment, Message, Role, Text, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Ask, Force, Prompt, Request, Sampling, ToolSpec

FORMAT = "openai-chat/1"

_OURS = frozenset(
    {"model", "messages", "tools", "tool_choice", "functions", "function_call", "stream", "stream_options", "n"}
)
_NOT_A_CUSTOM_HEADER = frozenset(
    {"authorization", "connection", "content-length", "content-type", "cookie", "host", "te", "transfer-encoding"}
)
_AS_USUAL = Sampling()
_STREAMED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.:/-]")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]{0,4096}")


class CannotRender(Invalid):
    """A prompt that this format cannot say."""


def render(prompt: Prompt, ask: Ask, *, prefill: bool = False) -> Request:
    """The bytes to send. With `prefill` the last message may be the assistant's, for the model to go on with."""
    if not prefill and _last_speaker(prompt) not in {"user", "tool"}:
        raise CannotRender(
            "The last message of a prompt must be from a user or a tool. Close it with a tail, or use a model that "
            "goes on where an answer breaks off."
        )
    spelled = prompt.spelled(FORMAT, _written)
    body, sha256 = spelled.between(*_around(prompt, ask), len(prompt.shown))
    return Request(FORMAT, body, sha256, headers_of(ask.sampling), prompt.tokens)


def to_bytes(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_storable(value))


def _around(prompt: Prompt, ask: Ask) -> tuple[bytes, bytes]:
    """What comes before the messages that are shown, and after them. The one before stays the same through a turn."""
    before = [{"role": "system", "content": system}] if (system := prompt.system_text) else []
    after = [{"role": "user", "content": prompt.tail_text}] if prompt.tail else []
    opening = to_bytes({"model": ask.model, "messages": before})[:-2]
    closing = to_bytes({"messages": after, **_tools(prompt, ask), **_sampling(ask)})[len(b'{"messages":[') :]
    if before and (prompt.shown or after):
        opening += b","
    return opening, b"," + closing if prompt.shown and after else closing


def _written(message: Message) -> bytes:
    """A message as it stands in the list of them all. Most have one text: these are told apart by one look."""
    role, parts = message.role, message.parts
    if len(parts) == 1 and not message.analysis:
        part = parts[0]
        if type(part) is Text and (role is Role.USER or role is Role.ASSISTANT):
            return to_bytes({"role": role, "content": part.text})
        if type(part) is ToolResult and role is Role.TOOL:
            return to_bytes(_result(part))
    return to_bytes(_rendered(message))[1:-1]


def _last_speaker(prompt: Prompt) -> str | None:
    if prompt.tail:
        return "user"
    if not prompt.shown:
        return None
    last = prompt.shown[-1].message
    if len(last.parts) == 1 and last.role is Role.TOOL and type(last.parts[0]) is ToolResult:
        return "tool"
    return "user" if last.role is Role.USER and last.is_text else _rendered(last)[-1]["role"]


def _rendered(message: Message) -> list[dict[str, Any]]:
    """One message of ours can be several of theirs: each tool result is a message."""
    results = [_result(result) for result in message.tool_results]
    text = said(message)
    if message.role is Role.ASSISTANT:
        calls = message.tool_calls
        if text or calls or not results:
            results.append(_assistant(text, calls))
    elif text or not results:
        told = text if message.role is Role.USER else f"[{message.role}] {text}"
        results.append({"role": "user", "content": _with_images(told, message)})
    return results


def _result(result: ToolResult) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content}


def _with_images(text: str, message: Message) -> str | list[dict[str, Any]]:
    """The text alone, or with the images that the model is shown."""
    images = [part for part in message.parts if isinstance(part, Attachment) and part.data is not None]
    if not images:
        return text
    urls = (f"data:{image.media_type};base64,{image.data}" for image in images)
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


def said(message: Message) -> str:
    """What a model reads of it besides calls and results. Thinking is the model's own and is not shown again."""
    text = message.text
    if message.analysis:
        text = f"{message.analysis}\n\n{text}" if text else message.analysis
    marks = [f"[attachment: {part.name} ({part.media_type})]" for part in message.parts if isinstance(part, Attachment)]
    return "\n".join(filter(None, [text, *marks])) if marks else text


def _assistant(text: str, calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": _callable(call.name), "arguments": arguments_of(call)},
            }
            for call in calls
        ]
    return message


def arguments_of(call: ToolCall) -> str:
    """The arguments as JSON text in the order in which they were given. What was not JSON is wrapped, so that it is."""
    given = call.arguments if call.malformed is None else {"malformed": call.malformed}
    return to_bytes(given).decode()


def _callable(name: str) -> str:
    """A model can call what does not exist; its history is sent back all the same, and no provider takes any name."""
    return name if _TOOL_NAME.fullmatch(name) else _NOT_IN_A_NAME.sub("_", name)[:64] or "unnamed"


def _tools(prompt: Prompt, ask: Ask) -> dict[str, Any]:
    if ask.force is None or ask.forced_tool is None:
        some = {"tool_choice": "required"} if ask.force is Force.REQUIRED else {}
        return {"tools": [_function(tool) for tool in prompt.tools], **some} if prompt.tools else {}
    forced = next((tool for tool in prompt.tools if tool.name == ask.forced_tool), None)
    if forced is None:
        raise CannotRender(f"The tool {ask.forced_tool!r} is to be called, and it is not among the prompt's tools.")
    if ask.force is not Force.NAMED and len(prompt.tools) != 1:
        raise CannotRender(f"A model that is only held to some tool must be shown {ask.forced_tool!r} and no other.")
    match ask.force:
        case Force.NAMED:
            choice: Any = {"type": "function", "function": {"name": forced.name}}
            return {"tools": [_function(tool) for tool in prompt.tools], "tool_choice": choice}
        case Force.REQUIRED:
            return {"tools": [_function(forced)], "tool_choice": "required"}
        case Force.JSON_SCHEMA:
            schema = {"name": forced.name, "description": forced.description, "schema": forced.parameters}
            return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def _sampling(ask: Ask) -> dict[str, Any]:
    sampling = ask.sampling
    if sampling == _AS_USUAL:
        return _STREAMED if ask.stream else {}
    if taken := sorted(_OURS & sampling.extra.keys()):
        raise CannotRender(f"The extra parameter {taken[0]!r} is decided by the prompt. Leave it out.")
    wanted: dict[str, Any] = {
        "temperature": sampling.temperature,
        "max_completion_tokens": sampling.max_completion_tokens,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
        "stop": list(sampling.stop) or None,
        "seed": sampling.seed,
        "user": sampling.user,
        "parallel_tool_calls": sampling.parallel_tool_calls,
    }
    if ask.force is not Force.JSON_SCHEMA:
        wanted["response_format"] = sampling.response_format
    given = {name: value for name, value in wanted.items() if value is not None} | sampling.extra
    return given | (_STREAMED if ask.stream else {})


def headers_of(sampling: Sampling) -> dict[str, str]:
    for name, value in sampling.custom_headers.items():
        if name.lower() in _NOT_A_CUSTOM_HEADER or not _HEADER_NAME.fullmatch(name):
            raise CannotRender(f"{name!r} cannot be a custom header. Leave it out.")
        if not _HEADER_VALUE.fullmatch(value):
            raise CannotRender(f"The custom header {name!r} has a value that cannot be sent. Use plain ASCII text.")
    return sampling.custom_headers


def _storable(value: Any) -> Any:
    """For what someone built in code out of things JSON cannot say: half characters and endless numbers."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_storable(str(key)): _storable(field) for key, field in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in cast("list[Any]", value)]
    if value is None or isinstance(value, bool | float):
        return value
    return value if isinstance(value, int) and -(2**63) <= value < 2**64 else str(value)
