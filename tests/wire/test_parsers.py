"""Every parser of what others send: whatever it is fed, it answers or refuses in its own words, and soon."""

import contextlib
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from preceptor.domain.errors import PreceptorError
from preceptor.domain.gaps import filled, gaps, require_known
from preceptor.domain.ids import MessageId, OrgId, StreamId, TurnId
from preceptor.domain.instructions.version import SemVer, parse_pin
from preceptor.domain.log import Event
from preceptor.domain.paging import place_of, position_of
from preceptor.domain.reasoning.reading import read_plan
from preceptor.domain.turns.facts import MessageDelta
from preceptor.domain.turns.facts import event as told_event
from preceptor.engine.preconditions import check
from preceptor.surfaces.rest.parameters import Resume
from preceptor.surfaces.rest.telling import everything
from preceptor.wire import mosec, qwen3guard
from preceptor.wire.anthropic_stream import Parser as AnthropicParser
from preceptor.wire.events import EndlessLine, Frames
from preceptor.wire.openai_client import said_by_client
from preceptor.wire.openai_messages import from_openai, to_openai
from preceptor.wire.openai_pieces import read_object
from preceptor.wire.openai_stream import Parser as OpenAIParser
from preceptor.wire.strict_json import read
from tests.requirements import covers

EXAMPLES = 20_000 if os.environ.get("PRECEPTOR_NIGHTLY") else 150
LARGE = 200_000
"""Characters of one input."""
MOST_SECONDS, MOST_BYTES = 1.0, 64_000_000
_LAST_EVENT = TypeAdapter[Any](Resume)


def events_in(text: str) -> None:
    Frames().feed(text.encode(errors="replace"))


def events_out(text: str) -> None:
    """What is told as an event is one event, and reads back as what it says."""
    said = text.encode("utf-8", "replace").decode()
    new = told_event("message.delta", MessageDelta(message_id=MessageId("m"), text=said), TurnId("t"))
    row = Event(OrgId("o"), StreamId("c"), 1, new.turn, new.kind, 1, 0, new.payload, b"", b"", b"", b"")
    [frame] = Frames().feed(everything(row))
    assert orjson.loads(frame)["text"] == said


def openai_pieces(text: str) -> None:
    parser = OpenAIParser("m")
    for line in (
        text,
        f'{{"choices": [{{"delta": {text}}}]}}',
        f'{{"choices": [{{"delta": {{"tool_calls": [{text}]}}}}]}}',
    ):
        parser.feed(b"data: " + line.encode(errors="replace") + b"\n\n")
    parser.finish()


def anthropic_pieces(text: str) -> None:
    parser = AnthropicParser("m")
    for line in (text, f'{{"type": "content_block_delta", "index": 0, "delta": {text}}}'):
        parser.feed(b"data: " + line.encode(errors="replace") + b"\n\n")
    parser.finish()


def template(text: str) -> None:
    for name in gaps(text):
        assert name.isidentifier()
    require_known(text, ("name",))
    filled(text, {"name": "value"})


def converters(text: str) -> None:
    messages: list[Any] = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "text", "text": text}]},
    ]
    said_by_client(messages)
    again = to_openai(from_openai(messages), metadata=False)
    assert [one["role"] for one in again] == ["user", "assistant"]


PARSERS: dict[str, Callable[[str], Any]] = {
    "events in": events_in,
    "events out": events_out,
    "JSON body": lambda text: read(text.encode(errors="replace")),
    "pieces of OpenAI": openai_pieces,
    "pieces of Anthropic": anthropic_pieces,
    "tool arguments": lambda text: read_object(text.encode("utf-8", "replace").decode()),
    "MOSEC": lambda text: mosec.read_answer(text.encode(errors="replace")),
    "vLLM": lambda text: qwen3guard.read_completion(text.encode(errors="replace")),
    "a verdict": qwen3guard.read_answer,
    "plan": read_plan,
    "template": template,
    "version": SemVer.parse,
    "pin": parse_pin,
    "cursor": lambda text: (position_of(text), place_of(text)),
    "If-Match": lambda text: check(text, '"1"'),
    "Last-Event-ID": _LAST_EVENT.validate_python,
    "message converters": converters,
}
UNITS = [
    "{",
    "[",
    '{"a":',
    '"\\u',
    "data: x\n",
    "data:\n\n",
    "\r",
    "{{",
    "{{a}}",
    "0",
    "9" * 50,
    '"',
    ",",
    "Safety: Safe\n",
    "\\",
    "é",
    "\x00",
    "1.",
    "^",
    '"1",',
    " ",
    "a",
    "'''",
    "\ud83d",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
TEXTS = st.text(max_size=300) | st.lists(st.sampled_from(UNITS), max_size=60).map("".join) | VALUES.map(json.dumps)


def tried(parse: Callable[[str], Any], text: str) -> None:
    """A refusal is an answer; anything else that is raised is a mistake of ours."""
    with contextlib.suppress(PreceptorError, ValidationError, EndlessLine):
        parse(text)


@covers("B5")
@pytest.mark.parametrize("name", PARSERS)
def test_whatever_it_is_fed_a_parser_answers_or_refuses_in_its_own_words(name: str):
    parse = PARSERS[name]

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(TEXTS)
    @example("")
    @example("\ufeff{}")
    @example('{"choices": [{"delta": {"content": "\\ud83d"}}]}')
    def fed(text: str) -> None:
        tried(parse, text)

    fed()


@covers("B5")
@pytest.mark.parametrize("name", PARSERS)
def test_a_large_input_costs_a_parser_less_than_a_second_and_little_memory(name: str):
    parse = PARSERS[name]
    for unit in UNITS:
        text = (unit * (LARGE // len(unit)))[:LARGE]
        began = time.thread_time()
        tried(parse, text)
        assert time.thread_time() - began < MOST_SECONDS, unit
    tracemalloc.start()
    try:
        for unit in UNITS[:6]:
            tracemalloc.reset_peak()
            tried(parse, (unit * (LARGE // len(unit)))[:LARGE])
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES, unit
    finally:
        tracemalloc.stop()
