from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.conversations.imports import exchanges
from preceptor.domain.messages.message import Role, ToolCall, ToolResult, texts
from preceptor.wire.traces import format_of, read
from tests.wire.exports import LANGFUSE, LANGSMITH, OPENAI, Json


def spoken(records: list[Json]) -> list[list[tuple[str, str]]]:
    found, unread = read(records, format_of(records))
    assert not unread
    return [[(one.role.value, texts(one.parts)) for one in trace.said] for trace in found]


def test_openai_style_lines_with_the_answer_among_the_messages_or_beside_them():
    assert format_of(OPENAI) == "openai"
    first, second = spoken(OPENAI)
    assert second == [("user", "Hi"), ("assistant", "Hello.")]
    assert first[0] == ("system", "You obey.")
    assert first[-2:] == [("user", "Thanks"), ("assistant", "Bye.")]
    [whole, _] = read(OPENAI, "openai")[0]
    one, two = exchanges(whole.said)
    assert [part for answer in one.answers for part in answer.parts if isinstance(part, ToolCall | ToolResult)] == [
        ToolCall("c1", "look", {"what": "door"}),
        ToolResult("c1", "look", "open"),
    ]
    assert texts(two.question.parts) == "Thanks"


def test_langfuse_traces_of_one_session_are_one_conversation_in_order():
    assert format_of(LANGFUSE) == "langfuse"
    session, single = spoken(LANGFUSE)
    assert session == [("user", "Hi"), ("assistant", "Hello."), ("user", "And?"), ("assistant", "Nothing.")]
    assert single == [("user", "Deep?"), ("assistant", "Deep.")]


def test_langsmith_runs_without_those_inside_them():
    assert format_of(LANGSMITH) == "langsmith"
    first, second, third = spoken(LANGSMITH)
    assert first == [("user", "Hi"), ("assistant", "Hello.")]
    assert second[0] == ("user", "Look")
    assert third == [("user", "Why?"), ("assistant", "Because.")]


def test_a_question_without_an_answer_and_words_before_the_first_question_make_no_turn():
    said = [
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "One"},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "content": "Both."},
        {"role": "user", "content": "Three"},
    ]
    [trace] = read([{"messages": said}], "openai")[0]
    [only] = exchanges(trace.said)
    assert (texts(only.question.parts), texts(only.answers[0].parts)) == ("One\n\nTwo", "Both.")
    assert read([{"messages": [{"role": "assistant", "content": "x"}]}], "openai")[1][0].record == 0


WRITTEN = {
    "an object": ('{"a": 1}', {"a": 1}),
    "no JSON": ("a, b", {"raw": "a, b"}),
    "deeper than we read": ('{"a":' * 300 + "1" + "}" * 300, None),
    "deeper than anyone reads": ("[" * 100_000, None),
    "half a character": (r'{"\ud800": "\ud800"}', None),
    "a number beyond all": ('{"a": ' + "9" * 400 + "}", None),
    "no number": ('{"a": NaN}', None),
}


@pytest.mark.parametrize(("written", "arguments"), WRITTEN.values(), ids=WRITTEN)
def test_arguments_of_a_call_are_read_or_kept_as_they_were_written(written: str, arguments: Json | None):
    call = {"id": "c1", "function": {"name": "search", "arguments": written}}
    said = [{"role": "user", "content": "Where?"}, {"role": "assistant", "tool_calls": [call]}]
    [trace] = read([{"messages": said}], "openai")[0]
    assert trace.said[1].parts == (ToolCall("c1", "search", arguments or {"raw": written}),)


MOMENTS = {
    "of another zone": ("2025-03-01T10:00:00+02:00", datetime(2025, 3, 1, 8, tzinfo=UTC)),
    "of no zone": ("2025-03-01T10:00:00", datetime(2025, 3, 1, 10, tzinfo=UTC)),
    "before all time": ("0001-01-01T00:00:00+14:00", None),
}


@pytest.mark.parametrize(("told", "at"), MOMENTS.values(), ids=MOMENTS)
def test_moments_are_those_of_utc(told: str, at: datetime | None):
    [trace] = read([{"messages": [{"role": "user", "content": "Now?"}], "timestamp": told}], "openai")[0]
    assert str(trace.at) == str(at)


NAMES = st.sampled_from(
    [
        *("messages", "role", "content", "input", "output", "inputs", "outputs", "choices", "message", "generations"),
        *("kwargs", "id", "tool_calls", "function", "observations", "type", "sessionId", "response", "request"),
    ]
)
LEAVES = st.sampled_from([None, True, 0, 1.5, "", "user", "assistant", "human", "ai", "tool", "{", "\x00"])
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


@pytest.mark.parametrize("kind", ["openai", "langfuse", "langsmith"])
@given(records=st.lists(st.dictionaries(NAMES, ANYTHING, max_size=5), max_size=4))
def test_whatever_an_export_holds_it_is_read_or_left_out(kind: str, records: list[Json]):
    found, unread = read(records, kind)
    assert len({number for trace in found for number in trace.records} & {one.record for one in unread}) == 0
    for trace in found:
        for exchange in exchanges(trace.said):
            assert exchange.question.role is Role.USER
            assert any(one.role is Role.ASSISTANT for one in exchange.answers)
