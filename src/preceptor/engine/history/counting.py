"""Counting: what the parts of a message cost."""

import orjson

from preceptor.domain.messages.message import AnyPart, Attachment, Text, Thinking, ToolCall, ToolResult
from preceptor.engine.ports import TokenCounter

IMAGE_TOKENS = 1_000
"""What an image is taken to cost: providers count them each in their own way."""


def tokens_of(parts: tuple[AnyPart, ...], counter: TokenCounter) -> int:
    return sum([_tokens(part, counter) for part in parts])


def _tokens(part: AnyPart, counter: TokenCounter) -> int:
    match part:
        case Text(text=text):
            return counter.count(text)
        case ToolCall():
            return counter.count(part.name) + counter.count(part.malformed or _json(part.arguments))
        case ToolResult(content=content):
            return counter.count(content)
        case Thinking():
            return 0
        case Attachment(is_image=True):
            return IMAGE_TOKENS
        case _:
            return counter.count(part.name)


def _json(arguments: dict[str, object]) -> str:
    return orjson.dumps(arguments).decode()
