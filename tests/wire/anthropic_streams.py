"""Recorded streams of Anthropic's messages format."""

import json
from typing import Any


def event(kind: str, **fields: Any) -> bytes:
    return (
        f"event: {kind}\n".encode()
        + b"data: "
        + json.dumps({"type": kind, **fields}, ensure_ascii=False).encode()
        + b"\n\n"
    )


def start(**usage: int) -> bytes:
    counts = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 35, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5-20251001"}
    return event("message_start", message={**message, "content": [], "stop_reason": None, "usage": counts | usage})


def opened(index: int, kind: str, **more: Any) -> bytes:
    return event("content_block_start", index=index, content_block={"type": kind, **more})


def delta(index: int, kind: str, **more: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": f"{kind}_delta", **more})


def closed(index: int) -> bytes:
    return event("content_block_stop", index=index)


def said(index: int, *pieces: str) -> bytes:
    """A whole block of text."""
    texts = [delta(index, "text", text=piece) for piece in pieces]
    return b"".join([opened(index, "text", text=""), *texts, closed(index)])


def called(index: int, name: str, *pieces: str, call_id: str = "toolu_1") -> bytes:
    """A whole tool call."""
    arguments = [delta(index, "input_json", partial_json=piece) for piece in pieces]
    return b"".join([opened(index, "tool_use", id=call_id, name=name, input={}), *arguments, closed(index)])


def ended(reason: str = "end_turn", output: int = 20) -> bytes:
    return event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": output})


PING = event("ping")
STOP = event("message_stop")

BEFORE_THE_END = b"".join(
    [
        start(),
        opened(0, "thinking", thinking="", signature=""),
        delta(0, "thinking", thinking="Weather, "),
        PING,
        delta(0, "thinking", thinking="then pay."),
        delta(0, "signature", signature="c2lnbmVk"),
        closed(0),
        said(1, "Xin chào 👋, ", "let me look."),
        called(2, "weather", "", '{"city": "Hà', ' Nội"}', call_id="toolu_a"),
        called(3, "pay", '{"amount": 1', "00}", call_id="toolu_b"),
    ]
)
THE_END = ended("tool_use")
RECORDED = BEFORE_THE_END + THE_END + STOP
"""A thought, text and two tool calls. `100` cut to `1` would still be a number: only a whole object is one."""
