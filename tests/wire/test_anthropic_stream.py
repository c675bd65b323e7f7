import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, ModelTimeout, Reply, Usage
from preceptor.wire.anthropic_stream import LARGEST_TEXT, MOST_BLOCKS, Parser
from preceptor.wire.events import LARGEST_LINE
from tests.wire.anthropic_streams import (
    BEFORE_THE_END,
    PING,
    RECORDED,
    STOP,
    THE_END,
    called,
    closed,
    delta,
    ended,
    event,
    opened,
    said,
    start,
)

WHOLE = (
    Thinking("Weather, then pay.", "c2lnbmVk"),
    Text("Xin chào 👋, let me look."),
    ToolCall("toolu_a", "weather", {"city": "Hà Nội"}),
    ToolCall("toolu_b", "pay", {"amount": 100}),
)


def read(*chunks: bytes) -> tuple[list[Delta], Reply]:
    parser = Parser("some-model")
    deltas = [heard for chunk in chunks for heard in parser.feed(chunk)]
    return deltas, parser.finish()


def parts(*chunks: bytes, reason: str = "end_turn") -> tuple[Any, ...]:
    return read(start(), *chunks, ended(reason), STOP)[1].parts


def failure(*chunks: bytes) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        read(*chunks)
    return caught.value


def test_a_recorded_stream_gives_its_text_as_it_comes_and_the_whole_answer_at_the_end():
    deltas, reply = read(RECORDED)
    assert deltas == [Delta("Weather, then pay.", thinking=True), Delta("Xin chào 👋, let me look.")], (
        "what came at once"
    )
    assert reply == Reply(WHOLE, Finish.TOOL_CALLS, Usage(50, 20, 35), "claude-haiku-4-5-20251001", "msg_1")


def test_a_stream_cut_at_any_byte_is_either_whole_or_a_failure_that_keeps_what_had_come():
    enough = len(BEFORE_THE_END + THE_END)
    for cut in range(len(RECORDED)):
        parser = Parser("some-model")
        parser.feed(RECORDED[:cut])
        if cut < enough:
            with pytest.raises(ModelFailure) as caught:
                parser.finish()
            assert caught.value.fault is Fault.BROKEN_STREAM
            assert "Xin chào 👋, let me look.".startswith(caught.value.partial)
        else:
            assert parser.finish().parts == WHOLE


@given(st.lists(st.integers(1, len(RECORDED) - 1), max_size=40))
@settings(max_examples=100)
def test_how_a_stream_is_cut_into_chunks_makes_no_difference(cuts: list[int]):
    places = [0, *sorted(set(cuts)), len(RECORDED)]
    deltas, reply = read(*(RECORDED[first:last] for first, last in pairwise(places)))
    assert "".join(one.text for one in deltas if not one.thinking) == "Xin chào 👋, let me look."
    assert reply.parts == WHOLE


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("pause_turn", Finish.STOP),
        ("tool_use", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("model_context_window_exceeded", Finish.LENGTH),
        ("refusal", Finish.CONTENT_FILTER),
    ],
)
def test_every_reason_to_stop_is_one_of_ours(reason: str, finish: Finish):
    assert read(start(), said(0, "Hi"), ended(reason), STOP)[1].finish is finish


def test_a_call_is_a_call_whatever_the_reason_that_is_given():
    assert read(start(), called(0, "weather", "{}"), ended("end_turn"), STOP)[1].finish is Finish.TOOL_CALLS


def test_arguments_are_a_json_object_or_malformed():
    assert parts(called(0, "weather")) == (ToolCall("toolu_1", "weather", {}),)
    for bad in ('{"a": 1', "[1]", '{"a": 1, "a": 2}', '{"a": NaN}', "1"):
        assert parts(called(0, "weather", bad)) == (ToolCall("toolu_1", "weather", {}, bad),)


def test_a_call_in_an_answer_that_was_cut_off_is_never_taken_for_whole():
    [call] = parts(called(0, "weather"), reason="max_tokens")
    assert call.malformed is not None
    [call] = parts(called(0, "pay", '{"amount": 1'), reason="max_tokens")
    assert call.malformed == '{"amount": 1'


def test_a_call_without_an_id_gets_one():
    assert parts(called(0, "weather", call_id="")) == (ToolCall("call_0", "weather", {}),)


def test_a_thought_that_the_provider_keeps_to_itself_comes_back_as_it_came():
    assert parts(opened(0, "redacted_thinking", data="c2VjcmV0"), closed(0), said(1, "Hi")) == (
        Thinking("", "redacted:c2VjcmV0"),
        Text("Hi"),
    )


def test_a_character_that_is_split_between_events_is_put_together():
    halves = [
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\udc4b"}}\n\n',
    ]
    assert parts(opened(0, "text", text=""), *halves, closed(0)) == (Text("👋"),)


def test_kinds_that_nobody_knows_yet_are_passed_over():
    new = [event("new_kind", value=1), opened(0, "server_thing", value=1), delta(0, "server", value=2), closed(0)]
    assert parts(*new, PING, said(1, "Hi")) == (Text("Hi"),)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("overloaded_error", Fault.OVERLOADED),
        ("rate_limit_error", Fault.RATE_LIMITED),
        ("authentication_error", Fault.UNAUTHORIZED),
        ("permission_error", Fault.UNAUTHORIZED),
        ("billing_error", Fault.PAYMENT),
        ("invalid_request_error", Fault.REJECTED),
        ("not_found_error", Fault.REJECTED),
        ("timeout_error", Fault.TIMEOUT),
        ("api_error", Fault.SERVER),
        ("something_new", Fault.SERVER),
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_one_of_the_faults(kind: str, fault: Fault):
    broken = failure(start(), opened(0, "text"), delta(0, "text", text="Well, "), event("error", error={"type": kind}))
    assert (broken.fault, broken.partial, broken.usage) == (fault, "Well, ", Usage(50, 1, 35))
    assert isinstance(broken, ModelTimeout) == (fault is Fault.TIMEOUT)


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: nonsense\n\n"],
        [b"data: []\n\n"],
        [b"data: " + b"x" * (LARGEST_LINE + 1)],
        [start(), delta(0, "text", text="a")],
        [start(), opened(0, "text"), opened(0, "text")],
        [start(), said(0, "a"), delta(0, "text", text="b")],
        [start(), said(0, "a"), closed(0)],
        [start(), event("content_block_start", index="0", content_block={"type": "text"})],
        [start(), *(said(index, "a") for index in range(MOST_BLOCKS + 1))],
        [start(), opened(0, "text"), ended(), STOP],
        [start(), said(0, "a"), ended("a_whim"), STOP],
        [start(), said(0, "a"), ended(), said(1, "b"), STOP],
    ],
    ids=str,
)
def test_what_makes_no_sense_is_a_bad_answer(chunks: list[bytes]):
    assert failure(*chunks).fault is Fault.BAD_ANSWER


def test_an_answer_without_end_is_given_up():
    long = [delta(0, "text", text="x" * 1_000_000) for _ in range(LARGEST_TEXT // 1_000_000 + 1)]
    assert failure(start(), opened(0, "text"), *long).fault is Fault.BAD_ANSWER


def test_what_comes_after_the_last_event_is_not_heard():
    assert read(RECORDED + said(4, "more"))[1].parts == WHOLE


def test_an_answer_that_was_not_streamed_is_read_alike():
    content = [
        {"type": "thinking", "thinking": "Weather.", "signature": "c2ln"},
        {"type": "text", "text": "Look."},
        {"type": "tool_use", "id": "toolu_a", "name": "weather", "input": {"city": "Huế"}},
    ]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}
    parser = Parser("some-model")
    heard = parser.whole(
        json.dumps({"id": "m", "content": content, "stop_reason": "tool_use", "usage": usage}).encode()
    )
    assert heard == [Delta("Weather.", thinking=True), Delta("Look.")]
    assert parser.finish() == Reply(
        (Thinking("Weather.", "c2ln"), Text("Look."), ToolCall("toolu_a", "weather", {"city": "Huế"})),
        Finish.TOOL_CALLS,
        Usage(7, 5, 4),
        "some-model",
        "m",
    )
