import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preceptor.domain.messages.message import Attachment, Role, Text, Thinking, ToolCall, ToolResult
from preceptor.wire.openai_client import FOREIGN_PART, NotAMessage, Said, said_by_client
from tests.wire.prompts import message
from tests.wire.told_back import told_to_client

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
SPOKEN = TEXTS.filter(bool)
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), TEXTS)
ARGUMENTS = st.dictionaries(TEXTS, st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Conversations as a client of OpenAI's keeps them."""
    messages: list[dict[str, Any]] = []
    for place in range(draw(st.integers(0, 6))):
        match draw(st.sampled_from(["user", "system", "assistant", "calls", "image"])):
            case "calls":
                ids = [f"call_{place}_{number}" for number in range(draw(st.integers(1, 3)))]
                names = {one: draw(NAMES) for one in ids}
                made = [
                    {
                        "id": one,
                        "type": "function",
                        "function": {"name": names[one], "arguments": _compact(draw(ARGUMENTS))},
                    }
                    for one in ids
                ]
                messages.append(
                    {"role": "assistant", "content": draw(st.one_of(st.none(), SPOKEN)), "tool_calls": made}
                )
                messages += [{"role": "tool", "tool_call_id": one, "content": draw(TEXTS)} for one in ids]
            case "image":
                picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}}
                content = [{"type": "text", "text": draw(SPOKEN)}, picture]
                messages.append({"role": "user", "content": content, "name": draw(NAMES)})
            case role:
                parts = [{"type": "text", "text": text} for text in draw(st.lists(SPOKEN, min_size=2, max_size=3))]
                messages.append({"role": role, "content": draw(st.one_of(SPOKEN, st.just(parts)))})
    return messages


def _compact(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


@given(conversations())
@settings(max_examples=300, deadline=None)
def test_their_messages_come_back_as_they_were(messages: list[dict[str, Any]]):
    said = said_by_client(messages)
    back = told_to_client(said)
    assert len(said) == len(messages)
    assert back == [_told(one) for one in messages]
    assert said_by_client(back) == said


def _told(one: dict[str, Any]) -> dict[str, Any]:
    calls = one.get("tool_calls")
    return one | {"tool_calls": [_read_again(call) for call in calls]} if calls else one


def _read_again(call: dict[str, Any]) -> dict[str, Any]:
    """Arguments are text to them and an object to us: written again, they say the same in few characters."""
    written = told_to_client([Said(Role.ASSISTANT, (ToolCall("x", "y", json.loads(call["function"]["arguments"])),))])
    arguments = written[0]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == json.loads(call["function"]["arguments"])
    return call | {"function": call["function"] | {"arguments": arguments}}


def test_our_messages_say_text_then_calls_and_each_result_is_a_message():
    call, other = ToolCall("a", "x", {"n": 1}), ToolCall("b", "y", {})
    ours = [
        message(Role.USER, Text("Hi")),
        message(Role.ASSISTANT, Thinking("hm"), Text("Let me."), call, other),
        message(Role.TOOL, ToolResult("a", "x", "1"), ToolResult("b", "y", "2")),
    ]
    theirs = told_to_client(ours)
    assert theirs == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "Let me.",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "x", "arguments": '{"n":1}'}},
                {"id": "b", "type": "function", "function": {"name": "y", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    back = said_by_client(theirs)
    assert [one.parts for one in back[:2]] == [one.parts for one in ours[:2]]
    assert (*back[2].parts, *back[3].parts) == ours[2].parts


def test_a_role_of_their_own_is_a_users_words_and_never_the_systems():
    (said,) = said_by_client([{"role": "critic", "content": "Too long."}])
    assert said == Said(Role.USER, (Text("[critic] Too long."),))
    (with_image,) = said_by_client([{"role": "critic", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])
    assert with_image.parts[0] == Text("[critic] ")


def test_a_developer_is_the_system():
    assert said_by_client([{"role": "developer", "content": "x"}])[0].role is Role.SYSTEM


def test_a_call_without_an_id_gets_one_from_its_place():
    nameless = {"role": "assistant", "tool_calls": [{"function": {"name": "x", "arguments": "{}"}}] * 2}
    (_, said) = said_by_client([{"role": "user", "content": "Hi"}, nameless])
    assert [part.id for part in said.parts if isinstance(part, ToolCall)] == ["call_1_0", "call_1_1"]


def test_neighbours_are_not_merged():
    two = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert told_to_client(said_by_client(two)) == two


def test_arguments_that_are_no_object_are_kept_as_they_were_written():
    theirs = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "x", "arguments": "{oops"}}],
        }
    ]
    (said,) = said_by_client(theirs)
    assert said.parts == (ToolCall("a", "x", {}, malformed="{oops"),)
    assert told_to_client([said]) == theirs


def test_a_result_knows_the_name_of_its_tool():
    call = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]}
    results = [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "lost", "content": [{"type": "text", "text": "2"}]},
    ]
    assert [one.parts for one in said_by_client([call, *results])[1:]] == [
        (ToolResult("a", "x", "1"),),
        (ToolResult("lost", "unknown", "2"),),
    ]


def test_the_older_form_of_calls_is_understood():
    theirs = [
        {"role": "assistant", "content": None, "function_call": {"name": "x", "arguments": '{"a":1}'}},
        {"role": "function", "name": "x", "content": "done"},
    ]
    assert [one.parts for one in said_by_client(theirs)] == [
        (ToolCall("call_0_0", "x", {"a": 1}),),
        (ToolResult("call_0_0", "x", "done"),),
    ]


def test_what_we_have_no_word_for_is_kept_whole():
    sound = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
    (said,) = said_by_client([{"role": "user", "content": [sound]}])
    assert [part.media_type for part in said.parts if isinstance(part, Attachment)] == [FOREIGN_PART]
    assert told_to_client([said]) == [{"role": "user", "content": [sound]}]


NO_MESSAGES: list[Any] = [
    1,
    {},
    {"role": ""},
    {"role": 3},
    {"role": "user", "content": 1},
    {"role": "user", "content": [{}]},
    {"role": "user", "content": [1]},
    {"role": "assistant", "content": "", "tool_calls": "x"},
]


@pytest.mark.parametrize("bad", NO_MESSAGES)
def test_what_is_no_message_is_named_by_its_place(bad: Any):
    with pytest.raises(NotAMessage, match="essage 1"):
        said_by_client([{"role": "user", "content": "Hi"}, bad])


JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "function", "name", "arguments", "id", "type", "text"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3))
def test_whatever_a_client_sends_is_understood_or_refused(messages: list[Any]):
    try:
        said = said_by_client(messages)
    except NotAMessage:
        return
    assert len(said_by_client(told_to_client(said))) == len(said)
