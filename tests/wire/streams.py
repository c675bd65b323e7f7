"""Recorded streams of OpenAI-compatible servers."""

import json
from typing import Any


def event(**fields: Any) -> bytes:
    return b"data: " + json.dumps(fields, ensure_ascii=False).encode() + b"\n\n"


def piece(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event(id="r1", object="chat.completion.chunk", model="some-model-0613", choices=[choice])


def call_piece(index: int, arguments: str, **first: Any) -> bytes:
    name = {"name": first.pop("name")} if "name" in first else {}
    return piece(tool_calls=[{"index": index, **first, "function": {**name, "arguments": arguments}}])


USAGE = event(
    id="r1",
    choices=[],
    usage={"prompt_tokens": 50, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 30}},
)
DONE = b"data: [DONE]\n\n"

BEFORE_THE_END = b"".join(
    [
        b": welcome\n\n",
        piece(role="assistant", content=""),
        piece(content="Xin chào 👋, "),
        piece(content="let me look."),
        call_piece(0, "", id="call_a", type="function", name="weather"),
        call_piece(0, '{"city": "Hà'),
        call_piece(0, ' Nội"}'),
        call_piece(1, "", id="call_b", type="function", name="pay"),
        call_piece(1, '{"amount": 1'),
        call_piece(1, "00}"),
    ]
)
THE_END = piece(finish="tool_calls")
RECORDED = BEFORE_THE_END + THE_END + USAGE + DONE
"""Text and two tool calls. `100` cut to `1` would still be a number: only a whole object is one."""
