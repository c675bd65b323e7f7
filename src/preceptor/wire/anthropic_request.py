"""A prompt as a request in Anthropic's messages format. The same prompt gives the same bytes, for ever."""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from preceptor.domain.messages.message import AnyPart, Attachment, Message, Role, Text, Thinking, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Ask, Force, Prompt, Request, Sampling, ToolSpec
from preceptor.wire.openai_chat import CannotRender, headers_of, said, to_bytes
from preceptor.wire.openai_pieces import fields_of

FORMAT = "anthropic-messages/1"

LONGEST_ANSWER = 8192
LONGEST_OLD_ANSWER = 4096
"""The format wants a limit to every answer. These are what all models take, and what the oldest do."""
REDACTED = "redacted:"
"""Begins the signature of a thought that the provider itself keeps secret."""
EARLIER = "(earlier)"
"""Stands before an answer whose question is not shown: a conversation begins with a user."""

Block = dict[str, Any]

_OLD = re.compile(r"claude-(3-(opus|sonnet|haiku)|2|instant)")
_OURS = frozenset({"model", "messages", "system", "tools", "tool_choice", "stream", "max_tokens"})
_UNKNOWN_THERE = ("frequency_penalty", "presence_penalty", "seed", "response_format")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_CACHED = {"cache_control": {"type": "ephemeral"}}


def render(prompt: Prompt, ask: Ask, *, prefill: bool = False) -> Request:
    """The bytes to send. With `prefill` the last message may be the assistant's, for the model to go on with."""
    messages = _messages(prompt)
    if not messages or (not prefill and messages[-1]["role"] != "user"):
        raise CannotRender(
            "The last message of a prompt must be from a user or a tool, and say something. Close it with a tail, or "
            "use a model that goes on where an answer breaks off."
        )
    asked = {"model": ask.model, "max_tokens": _longest(ask), **_prefix(prompt, ask), "messages": messages}
    body = to_bytes(asked | _sampling(ask))
    return Request(FORMAT, body, sha256(body).hexdigest(), _headers(ask.sampling), prompt.tokens)


def _longest(ask: Ask) -> int:
    if ask.sampling.max_completion_tokens is not None:
        return ask.sampling.max_completion_tokens
    budget = fields_of(_extra(ask).get("thinking")).get("budget_tokens")
    longest = LONGEST_OLD_ANSWER if _OLD.match(ask.model) else LONGEST_ANSWER
    return longest + (budget if isinstance(budget, int) else 0)


def _prefix(prompt: Prompt, ask: Ask) -> dict[str, Any]:
    """What comes before everything and seldom changes: the provider is asked to keep it."""
    prefix: dict[str, Any] = {}
    if prompt.tools:
        *others, last = map(_tool, prompt.tools)
        prefix["tools"] = [*others, last | _CACHED]
    if choice := _choice(prompt, ask):
        prefix["tool_choice"] = choice
    if system := prompt.system_text.strip():
        prefix["system"] = [{"type": "text", "text": system, **_CACHED}]
    return prefix


def _choice(prompt: Prompt, ask: Ask) -> dict[str, Any] | None:
    alone = {"disable_parallel_tool_use": True} if ask.sampling.parallel_tool_calls is False else {}
    if ask.force is Force.REQUIRED and ask.forced_tool is None:
        return {"type": "any", **alone}
    if ask.force is None or ask.forced_tool is None:
        return {"type": "auto", **alone} if alone and prompt.tools else None
    if ask.forced_tool not in [tool.name for tool in prompt.tools]:
        raise CannotRender(f"The tool {ask.forced_tool!r} is to be called, and it is not among the prompt's tools.")
    match ask.force:
        case Force.NAMED:
            return {"type": "tool", "name": ask.forced_tool, **alone}
        case Force.REQUIRED if len(prompt.tools) == 1:
            return {"type": "any", **alone}
        case Force.REQUIRED:
            raise CannotRender(
                f"A model that is only held to some tool must be shown {ask.forced_tool!r} and no other."
            )
        case Force.JSON_SCHEMA:
            raise CannotRender("Anthropic's models are held to a tool by its name, not by a schema of the answer.")


def _tool(tool: ToolSpec) -> Block:
    if not _NAME.fullmatch(tool.name):
        raise CannotRender(
            f"Anthropic's models cannot be told of the tool {tool.name!r}: a name has letters, digits, _ and - only."
        )
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _messages(prompt: Prompt) -> list[dict[str, Any]]:
    """By turns a user and the assistant: what stands side by side is said in one message."""
    joined: list[dict[str, Any]] = []
    for role, blocks in _spoken(prompt):
        if not blocks:
            continue
        if joined and joined[-1]["role"] == role:
            joined[-1]["content"] += blocks
        else:
            joined.append({"role": role, "content": blocks})
    if joined and joined[0]["role"] == "assistant":
        joined.insert(0, {"role": "user", "content": [_text(EARLIER)]})
    for message in joined:
        if message["role"] == "user":  # the answers of tools come first, whoever spoke before them
            message["content"].sort(key=_after_results)
    return joined


def _after_results(block: Block) -> bool:
    return block["type"] != "tool_result"


def _spoken(prompt: Prompt) -> Iterator[tuple[str, list[Block]]]:
    for shown in prompt.shown:
        message = shown.message
        if message.role is Role.ASSISTANT:
            yield "user", list(_results(message))
            yield "assistant", _assistant(message)
        else:
            yield "user", [*_results(message), *_told(message)]
    if prompt.tail:
        yield "user", [_text(prompt.tail_text)]


def _assistant(message: Message) -> list[Block]:
    """All of it in its old order: a thought goes back where it came from, or, where nobody vouches for it, not at all.

    The analysis of a plan comes before its response.
    """
    analysis = message.analysis or ""
    begins = [_text(analysis)] if analysis.strip() else []
    return [*begins, *(block for part in message.parts if (block := _uttered(part)))]


def _uttered(part: AnyPart) -> Block | None:
    match part:
        case Text(text=text):
            return _text(text) if text.strip() else None
        case Thinking():
            return _thought(part)
        case ToolCall():
            return _call(part)
        case Attachment():
            return _text(f"[attachment: {part.name} ({part.media_type})]")
        case ToolResult():
            return None


def _thought(part: Thinking) -> Block | None:
    if not part.signature:
        return None
    if part.signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": part.signature.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _call(call: ToolCall) -> Block:
    given = call.arguments if call.malformed is None else {"malformed": call.malformed}
    return {"type": "tool_use", "id": _plain(call.id), "name": _plain(call.name), "input": given}


def _results(message: Message) -> Iterator[Block]:
    for result in message.tool_results:
        yield _result(result)


def _result(result: ToolResult) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": _plain(result.tool_call_id), "content": result.content}
    return block | ({"is_error": True} if result.is_error else {})


def _told(message: Message) -> Iterable[Block]:
    text = said(message)
    if text.strip():
        yield _text(text if message.role is Role.USER else f"[{message.role}] {text}")
    for part in message.parts:
        if isinstance(part, Attachment) and part.data is not None:
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
            yield {"type": "image", "source": source}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _plain(name: str) -> str:
    """Ids and names of other providers, in the letters that this one takes."""
    return name if _NAME.fullmatch(name) else _NOT_IN_A_NAME.sub("_", name)[:128] or "unnamed"


def _sampling(ask: Ask) -> dict[str, Any]:
    sampling = ask.sampling
    if taken := sorted(_OURS & sampling.extra.keys()):
        raise CannotRender(f"The extra parameter {taken[0]!r} is decided by the prompt. Leave it out.")
    if unknown := [name for name in _UNKNOWN_THERE if getattr(sampling, name) is not None]:
        raise CannotRender(f"Anthropic's models know no {unknown[0]}. Leave it out.")
    if sampling.temperature is not None and sampling.temperature > 1:
        raise CannotRender("Anthropic's models take a temperature from 0 to 1. Lower it.")
    wanted: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "stop_sequences": list(sampling.stop) or None,
        "metadata": None if sampling.user is None else {"user_id": sampling.user},
    }
    given = {name: value for name, value in wanted.items() if value is not None} | _extra(ask)
    return given | ({"stream": True} if ask.stream else {})


def _extra(ask: Ask) -> dict[str, Any]:
    """A model that is held to a tool may not be asked to think first: these models refuse both together."""
    extra = ask.sampling.extra
    return extra if ask.force is None else {name: value for name, value in extra.items() if name != "thinking"}


def _headers(sampling: Sampling) -> dict[str, str]:
    for name in sampling.custom_headers:
        if name.lower() in {"x-api-key", "anthropic-version"}:
            raise CannotRender(f"{name!r} cannot be a custom header. Leave it out.")
    return headers_of(sampling)
