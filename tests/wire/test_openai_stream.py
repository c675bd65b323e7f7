import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.messages.message import Text, Thinking, ToolCall
from preceptor.domain.prompts.reply import Delta, Fault, Finish, ModelFailure, Reply, Usage
from preceptor.wire.events import LARGEST_LINE
from preceptor.wire.openai_pieces import LARGEST_ARGUMENTS, mended
from preceptor.wire.openai_stream import LARGEST_TEXT, MOST_CALLS, Parser
from tests.wire.streams import BEFORE_THE_END, DONE, RECORDED, THE_END, USAGE, call_piece, event, piece

WHOLE = (
    Text("Xin chào 👋, let me look."),
    ToolCall("call_a", "weather", {"city": "Hà Nội"}),
    ToolCall("call_b", "pay", {"amount": 100}),
)


def read(*chunks: bytes, ids: str = "call") -> tuple[list[Delta], Reply]:
    parser = Parser("some-model", ids)
    deltas = [delta for chunk in chunks for delta in parser.feed(chunk)]
    return deltas, parser.finish()


def calls(*pieces: bytes, finish: str = "tool_calls") -> tuple[ToolCall, ...]:
    _, reply = read(*pieces, piece(finish=finish), DONE)
    assert all(isinstance(part, ToolCall) for part in reply.parts)
    return tuple(part for part in reply.parts if isinstance(part, ToolCall))


def failure(*chunks: bytes) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        read(*chunks)
    return caught.value


def test_a_recorded_stream_gives_its_text_as_it_comes_and_the_whole_answer_at_the_end():
    deltas, reply = read(RECORDED)
    assert deltas == [Delta("Xin chào 👋, let me look.")], "what came at once is one piece"
    assert reply == Reply(WHOLE, Finish.TOOL_CALLS, Usage(50, 20, 30), "some-model-0613", "r1")


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
@settings(max_examples=200, deadline=None)
def test_how_the_bytes_are_split_changes_nothing(cuts: list[int]):
    edges = [0, *sorted(cuts), len(RECORDED)]
    chunks = [RECORDED[start:end] for start, end in pairwise(edges)]
    deltas, reply = read(*chunks)
    assert reply.parts == WHOLE
    assert "".join(delta.text for delta in deltas) == "Xin chào 👋, let me look."


def test_byte_by_byte_is_the_same_too_with_every_kind_of_line_end():
    for line_end in (b"\n", b"\r\n", b"\r"):
        stream = RECORDED.replace(b"\n", line_end) + line_end
        _, reply = read(*(stream[place : place + 1] for place in range(len(stream))))
        assert reply.parts == WHOLE


def test_without_done_an_answer_is_whole_once_its_end_was_said():
    _, reply = read(piece(content="Hi"), piece(finish="stop"))
    assert (reply.parts, reply.finish, reply.usage) == ((Text("Hi"),), Finish.STOP, Usage(estimated=True))


def test_done_without_an_end_is_no_answer():
    assert failure(piece(content="Hi"), DONE).fault is Fault.BROKEN_STREAM


def test_an_end_whose_event_is_not_finished_is_no_end():
    assert failure(piece(content="Hi"), piece(finish="stop").rstrip()).partial == "Hi"


def test_what_follows_done_is_not_read():
    _, reply = read(piece(content="Hi"), piece(finish="stop"), DONE, b"data: not json\n\n")
    assert reply.parts == (Text("Hi"),)


@pytest.mark.parametrize("more", [piece(content="!"), call_piece(0, "{}", id="x", name="pay")])
def test_an_answer_that_goes_on_after_its_end_is_not_believed(more: bytes):
    assert failure(piece(content="Hi"), piece(finish="stop"), more).fault is Fault.BAD_ANSWER


def test_an_end_said_twice_is_one_end():
    _, reply = read(piece(content="Hi"), piece(finish="stop"), piece(finish="stop"), USAGE, DONE)
    assert (reply.finish, reply.usage.output_tokens) == (Finish.STOP, 20)


def test_an_unknown_end_is_not_an_end():
    assert failure(piece(content="Hi", finish="error")).fault is Fault.BAD_ANSWER


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", Finish.STOP),
        ("length", Finish.LENGTH),
        ("content_filter", Finish.CONTENT_FILTER),
        ("tool_calls", "stop"),
    ],
)
def test_an_end_without_calls_is_what_the_provider_says(said: str, meant: str):
    _, reply = read(piece(content="Hi"), piece(finish=said))
    assert reply.finish == meant


def test_a_call_with_the_end_of_a_text_is_still_a_call():
    _, reply = read(call_piece(0, "{}", id="a", name="clock"), piece(finish="stop"))
    assert (reply.finish, reply.parts) == (Finish.TOOL_CALLS, (ToolCall("a", "clock", {}),))


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1',
        "[]",
        "null",
        "1",
        "true",
        '"{}"',
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        "{'a': 1}",
        '{"a": 1}{"b": 2}',
        '{"a":' * 100 + "1" + "}" * 100,
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '{"a": 123456789012345678901234567890}',
    ],
)
def test_arguments_that_are_not_one_plain_object_are_malformed_and_kept_as_they_were_written(arguments: str):
    assert calls(call_piece(0, arguments, id="a", name="pay")) == (ToolCall("a", "pay", {}, malformed=arguments),)


def test_no_arguments_are_an_empty_object_unless_the_answer_was_cut():
    nothing = call_piece(0, "", id="a", name="clock")
    assert calls(nothing) == (ToolCall("a", "clock", {}),)
    assert calls(nothing, finish="length") == (ToolCall("a", "clock", {}, malformed=""),)


def test_a_call_that_length_cut_short_is_malformed_and_the_one_before_it_is_whole():
    pieces = call_piece(0, '{"a": 1}', id="a", name="x"), call_piece(1, '{"b": 2', id="b", name="y")
    whole, cut = calls(*pieces, finish="length")
    assert (whole.malformed, cut.malformed) == (None, '{"b": 2')


def test_calls_without_an_id_get_one_that_depends_on_nothing_but_their_place():
    made = calls(call_piece(0, "{}", name="x"), call_piece(1, "{}", id="", name="y"), call_piece(2, "{}", name="z"))
    assert [call.id for call in made] == ["call_0", "call_1", "call_2"]
    _, reply = read(call_piece(0, "{}", name="x"), piece(finish="stop"), ids="call_abc")
    assert reply.parts == (ToolCall("call_abc_0", "x", {}),)


def test_two_calls_with_one_id_are_two_calls():
    made = calls(call_piece(0, "{}", id="same", name="x"), call_piece(1, "{}", id="same", name="y"))
    assert [(call.id, call.name) for call in made] == [("same", "x"), ("call_1", "y")]


def test_servers_that_give_every_call_the_same_index_or_none_are_understood():
    made = calls(call_piece(0, '{"a":1}', id="a", name="x"), call_piece(0, '{"b":2}', id="b", name="y"))
    assert [(call.id, call.arguments) for call in made] == [("a", {"a": 1}), ("b", {"b": 2})]
    both = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
    assert [call.id for call in calls(piece(tool_calls=both))] == ["a", "b"]


def test_a_server_that_repeats_id_and_name_in_every_piece_is_understood():
    made = calls(*(call_piece(0, text, id="a", name="x") for text in ('{"a"', ": 1", "}")))
    assert made == (ToolCall("a", "x", {"a": 1}),)


def test_calls_out_of_order_are_put_in_the_order_of_their_indexes():
    made = calls(call_piece(1, "{}", id="b", name="y"), call_piece(0, "{}", id="a", name="x"))
    assert [call.id for call in made] == ["a", "b"]


def test_a_piece_that_arrives_twice_makes_a_call_malformed_rather_than_wrong():
    (made,) = calls(call_piece(0, '{"amount": 1', id="a", name="pay"), *[call_piece(0, "00")] * 2, call_piece(0, "}}"))
    assert made.malformed is not None


def test_arguments_given_as_an_object_are_taken_as_they_are():
    made = calls(piece(tool_calls=[{"id": "a", "function": {"name": "x", "arguments": {"a": 1}}}]))
    assert made == (ToolCall("a", "x", {"a": 1}),)


def test_huge_arguments_are_refused_without_being_kept():
    half = "x" * (LARGEST_ARGUMENTS // 2)
    (made,) = calls(call_piece(0, '{"a": "', id="a", name="pay"), *[call_piece(0, half)] * 10, call_piece(0, '"}'))
    assert made.malformed is not None
    assert len(made.malformed) < 3000
    assert "at most" in made.malformed


def test_more_calls_than_anyone_means_are_refused():
    many = [call_piece(place, "{}", id=f"c{place}", name="x") for place in range(MOST_CALLS + 1)]
    assert failure(*many).fault is Fault.BAD_ANSWER


def test_a_text_without_end_is_refused():
    parser = Parser("m")
    big = piece(content="x" * (LARGEST_TEXT // 4))
    with pytest.raises(ModelFailure, match="more than"):
        for _ in range(5):
            parser.feed(big)


def test_a_line_without_end_is_refused():
    parser = Parser("m")
    with pytest.raises(ModelFailure, match="without end"):
        parser.feed(b"data: " + b"x" * LARGEST_LINE)


@pytest.mark.parametrize("data", [b"not json", b"[1]", b"null", b'"x"', b'{"choices": ', b"\xff\xfe", b'{"a":' * 9999])
def test_what_is_not_an_object_is_a_bad_answer(data: bytes):
    assert failure(piece(content="Hi"), b"data: " + data + b"\n\n").fault is Fault.BAD_ANSWER


@pytest.mark.parametrize(
    "odd",
    [
        event(choices=None),
        event(choices=[]),
        event(choices=[1]),
        event(choices={"a": 1}),
        event(choices=[{"index": 1, "delta": {"content": "other"}}]),
        event(choices=[{"delta": None}]),
        event(choices=[{"delta": {"content": 5, "tool_calls": "x"}}]),
        event(choices=[{"delta": {"tool_calls": []}}]),
        event(usage={"prompt_tokens": -1, "completion_tokens": True}),
        event(usage="many"),
        b"event: ping\n\n",
        b": comment\n\n",
        b"retry: 10\n\n",
        b"data:\n\n",
    ],
)
def test_what_has_nothing_for_us_is_passed_over(odd: bytes):
    _, reply = read(odd, piece(content="Hi"), odd, piece(finish="stop"), DONE)
    assert reply.parts == (Text("Hi"),)


def test_an_event_over_several_lines_is_one_event():
    whole = json.dumps({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}, indent=1)
    _, reply = read(b"".join(b"data: " + line.encode() + b"\n" for line in whole.splitlines()) + b"\n")
    assert reply.parts == (Text("Hi"),)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_comes_before_the_text_and_is_told_apart(name: str):
    deltas, reply = read(piece(**{name: "hm"}), piece(content="Hi"), piece(finish="stop"))
    assert deltas == [Delta("hm", thinking=True), Delta("Hi")]
    assert reply.parts == (Thinking("hm"), Text("Hi"))


def test_a_refusal_is_what_the_model_says():
    _, reply = read(piece(refusal="I will not."), piece(finish="stop"))
    assert reply.parts == (Text("I will not."),)


def test_content_in_parts_is_joined():
    _, reply = read(piece(content=[{"type": "text", "text": "Hi"}, {"type": "x"}, 3]), piece(finish="stop"))
    assert reply.parts == (Text("Hi"),)


def test_a_character_that_was_escaped_in_two_halves_is_put_together():
    halves = [
        b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % half for half in (b"a\\ud83d", b"\\ude00b")
    ]
    deltas, reply = read(*halves, piece(finish="stop"))
    assert [delta.text for delta in deltas] == ["a", "😀b"]
    assert reply.parts == (Text("a😀b"),)


def test_half_a_character_and_nul_never_leave_the_parser():
    raw = b'data: {"choices":[{"index":0,"delta":{"content":"a\\ude00b\\u0000c\\ud83d"},"finish_reason":"stop"}]}\n\n'
    _, reply = read(raw)
    assert reply.parts == (Text("a\ufffdb\ufffdc"),)


@given(st.lists(st.one_of(st.integers(0xD7F0, 0xE010), st.integers(0, 0x1FFFF))))
def test_mended_text_can_always_be_kept(characters: list[int]):
    kept = mended("".join(map(chr, characters)))
    assert kept.encode().decode() == kept
    assert "\x00" not in kept
    assert mended(kept) == kept


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"message": "slow down", "code": "rate_limit_exceeded"}, Fault.RATE_LIMITED),
        ({"message": "pay", "type": "insufficient_quota"}, Fault.PAYMENT),
        ({"message": "later", "type": "overloaded_error"}, Fault.OVERLOADED),
        ({"message": "no", "code": 400}, Fault.REJECTED),
        ({"message": "who", "code": 401}, Fault.UNAUTHORIZED),
        ({"message": "gone", "code": 502}, Fault.SERVER),
        ("something broke", Fault.SERVER),
        ([1], Fault.SERVER),
    ],
)
def test_an_error_inside_a_stream_is_a_failure_of_its_kind(error: Any, fault: Fault):
    caught = failure(piece(content="Hi"), event(error=error))
    assert (caught.fault, caught.partial) == (fault, "Hi")


def test_an_error_is_told_in_short_and_without_secrets():
    said = "key sk-abcdefghijklmnop is wrong, Bearer abc.def\n\x1b[31m" + "long " * 200
    caught = failure(event(error={"message": said}))
    assert "sk-abc" not in str(caught)
    assert "abc.def" not in str(caught)
    assert "\x1b" not in str(caught)
    assert len(str(caught)) < 400


def answer(**choice: Any) -> bytes:
    return json.dumps({"id": "r1", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 3}}).encode()


def test_an_answer_that_was_not_streamed_is_read_by_the_same_rules():
    call = {"id": "a", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 1}'}}
    parser = Parser("some-model")
    assert parser.whole(answer(message={"content": "Hi", "tool_calls": [call]}, finish_reason="tool_calls")) == [
        Delta("Hi")
    ]
    assert parser.finish() == Reply(
        (Text("Hi"), ToolCall("a", "pay", {"amount": 1})), Finish.TOOL_CALLS, Usage(3), "m", "r1"
    )


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b'{"choices": []}', b'{"error": {"message": "x"}}'])
def test_a_whole_answer_without_a_message_is_a_failure(body: bytes):
    with pytest.raises(ModelFailure):
        Parser("m").whole(body)


def test_a_whole_answer_without_an_end_is_no_answer():
    parser = Parser("m")
    parser.whole(answer(message={"content": "Hi"}))
    with pytest.raises(ModelFailure):
        parser.finish()


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([RECORDED[:200], THE_END, DONE, USAGE])), max_size=8))
def test_whatever_comes_there_is_an_answer_or_a_failure(chunks: list[bytes]):
    parser = Parser("m")
    try:
        for chunk in chunks:
            parser.feed(chunk)
        reply = parser.finish()
    except ModelFailure:
        reply = None
    assert (reply is None) or (THE_END in b"".join(chunks))
