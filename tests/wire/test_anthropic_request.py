import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.messages.message import Attachment, Message, Role, Text, Thinking, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Ask, Force, Prompt, Sampling, ToolSpec
from preceptor.wire.anthropic_request import FORMAT, render
from preceptor.wire.openai_chat import CannotRender
from tests.requirements import covers
from tests.wire.prompts import ASK, CLOCK, WEATHER, ask, message, prompt, user

Json = dict[str, Any]
HI = prompt(user("Hi"))


def body(given: Prompt, asked: Ask = ASK) -> Json:
    return json.loads(render(given, asked).body)


def messages(*given: Message, **more: Any) -> list[Json]:
    return body(prompt(*given, **more))["messages"]


def assistant(*parts: Any, **more: Any) -> Message:
    return message(Role.ASSISTANT, *parts, **more)


def answered(call_id: str, content: str, **more: Any) -> Message:
    return message(Role.TOOL, ToolResult(call_id, "weather", content, **more))


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def test_a_prompt_has_one_spelling():
    request = render(HI, ASK)
    assert request.format == FORMAT == "anthropic-messages/1"
    assert request.body == (
        b'{"model":"some-model","max_tokens":8192,"system":[{"type":"text","text":"Be kind.",'
        b'"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],'
        b'"stream":true}'
    )
    assert request.sha256 == sha256(request.body).hexdigest()
    assert request.tokens == HI.tokens


def test_what_seldom_changes_comes_first_and_is_marked_to_be_kept():
    asked = body(prompt(user("Hi"), tools=(WEATHER, CLOCK)))
    assert list(asked)[:4] == ["model", "max_tokens", "tools", "system"]
    assert ["cache_control" in tool for tool in asked["tools"]] == [False, True]
    assert asked["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in json.dumps(asked["messages"])


def test_without_a_system_prompt_there_is_none():
    assert "system" not in body(prompt(user("Hi"), system=""))


def test_users_and_the_assistant_speak_by_turns():
    said = messages(user("One"), user("Two"), assistant(Text("A")), assistant(Text("B")), user("Three"), tail=("Now.",))
    assert said == [
        {"role": "user", "content": [text("One"), text("Two")]},
        {"role": "assistant", "content": [text("A"), text("B")]},
        {"role": "user", "content": [text("Three"), text("Now.")]},
    ]


def test_a_call_and_its_result_go_back_as_blocks_and_results_come_first():
    call = ToolCall("toolu_1", "weather", {"city": "Huế"})
    other = ToolCall("toolu_2", "weather", {}, "{oops")
    said = messages(
        user("Weather?"),
        assistant(Thinking("Hm.", "c2ln"), Text("Let me look."), call, other),
        user("Hurry!"),
        answered("toolu_1", "rain"),
        answered("toolu_2", "no", is_error=True),
    )
    assert said[1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        text("Let me look."),
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Huế"}},
        {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"malformed": "{oops"}},
    ]
    assert said[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": True},
            text("Hurry!"),
        ],
    }


def test_a_thought_goes_back_in_its_place_and_only_with_its_signature():
    first, second = Thinking("a", "s1"), Thinking("", "redacted:c2VjcmV0")
    call = ToolCall("t", "weather", {})
    said = messages(user("Hi"), assistant(first, Text("A"), second, call, Thinking("unsigned")), answered("t", "rain"))
    assert [block["type"] for block in said[1]["content"]] == ["thinking", "text", "redacted_thinking", "tool_use"]
    assert said[1]["content"][2] == {"type": "redacted_thinking", "data": "c2VjcmV0"}


def test_ids_and_names_of_other_providers_are_spelled_so_that_they_are_taken():
    call = ToolCall("call:1/a", "shop.pay", {})
    said = messages(user("Hi"), assistant(call), answered("call:1/a", "done"))
    assert said[1]["content"][0] | {"input": {}} == {
        "type": "tool_use",
        "id": "call_1_a",
        "name": "shop_pay",
        "input": {},
    }
    assert said[2]["content"][0]["tool_use_id"] == "call_1_a"


def test_what_says_nothing_is_not_said():
    assert messages(user("Hi"), assistant(Text("")), user(" "), user("Still there?")) == [
        {"role": "user", "content": [text("Hi"), text("Still there?")]}
    ]


def test_a_conversation_begins_with_a_user():
    assert [one["role"] for one in messages(assistant(Text("Welcome.")), user("Hi"))] == ["user", "assistant", "user"]


def test_a_plan_is_shown_with_its_analysis_and_a_note_of_the_system_as_one():
    plan = assistant(Text("## Response"), analysis="## Analysis")
    said = messages(user("Hi"), plan, message(Role.SYSTEM, Text("Summary.")))
    assert said[1]["content"] == [text("## Analysis"), text("## Response")]
    assert said[2]["content"] == [text("[system] Summary.")]


def test_images_are_shown_and_other_files_named():
    picture = Attachment("a", "image/png", "cat.png", data="aGk=")
    note = Attachment("b", "text/plain", "note.txt")
    [said] = messages(message(Role.USER, Text("Look"), picture, note))
    assert said["content"][0]["text"].splitlines() == [
        "Look",
        "[attachment: cat.png (image/png)]",
        "[attachment: note.txt (text/plain)]",
    ]
    assert said["content"][1:] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    ]


def test_a_model_is_held_to_a_tool_by_its_name_or_by_showing_no_other():
    named = Ask("m", forced_tool="weather", force=Force.NAMED)
    assert body(prompt(user("Hi"), tools=(WEATHER, CLOCK)), named)["tool_choice"] == {"type": "tool", "name": "weather"}
    required = Ask("m", forced_tool="weather", force=Force.REQUIRED)
    assert body(prompt(user("Hi"), tools=(WEATHER,)), required)["tool_choice"] == {"type": "any"}
    some = Ask("m", force=Force.REQUIRED)
    assert body(prompt(user("Hi"), tools=(WEATHER, CLOCK)), some)["tool_choice"] == {"type": "any"}
    for wrong, tools in (
        (required, (WEATHER, CLOCK)),
        (named, (CLOCK,)),
        (Ask("m", forced_tool="weather", force=Force.JSON_SCHEMA), (WEATHER,)),
    ):
        with pytest.raises(CannotRender):
            render(prompt(user("Hi"), tools=tools), wrong)


def test_a_model_that_is_held_to_a_tool_is_not_asked_to_think_first():
    thinking = Sampling(extra={"thinking": {"type": "enabled", "budget_tokens": 2000}, "other": 1})
    asked = body(prompt(user("Hi"), tools=(WEATHER,)), Ask("m", thinking, "weather", Force.NAMED))
    assert ("thinking" in asked, asked["other"], asked["max_tokens"]) == (False, 1, 8192)
    assert "thinking" not in body(prompt(user("Hi"), tools=(WEATHER,)), Ask("m", thinking, force=Force.REQUIRED))


def test_one_call_at_a_time_can_be_asked_for():
    asked = body(prompt(user("Hi"), tools=(CLOCK,)), ask(parallel_tool_calls=False))
    assert asked["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert "tool_choice" not in body(HI, ask(parallel_tool_calls=False))


def test_what_is_asked_of_the_model_has_their_names():
    asked = body(
        HI,
        ask(temperature=0.5, top_p=0.9, top_k=5, stop=("END",), user="ann", max_completion_tokens=7, extra={"x": 1}),
    )
    wanted = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "stop_sequences": ["END"], "max_tokens": 7, "x": 1}
    assert {name: asked[name] for name in wanted} == wanted
    assert asked["metadata"] == {"user_id": "ann"}
    assert "stream" not in body(HI, Ask("m", stream=False))


def test_every_answer_has_a_limit_that_its_model_takes():
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    assert body(HI, Ask("claude-3-haiku-20240307"))["max_tokens"] == 4096
    assert body(HI, Ask("claude-haiku-4-5"))["max_tokens"] == 8192
    assert body(HI, ask(extra=thinking))["max_tokens"] == 10192


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": 1},
        {"frequency_penalty": 0.1},
        {"presence_penalty": 0.1},
        {"response_format": {"type": "json_object"}},
        {"temperature": 1.5},
        {"extra": {"system": "x"}},
        {"extra": {"max_tokens": 1}},
        {"custom_headers": {"X-Api-Key": "x"}},
        {"custom_headers": {"anthropic-version": "x"}},
        {"custom_headers": {"Authorization": "x"}},
    ],
    ids=str,
)
def test_what_these_models_do_not_know_is_refused_in_words(wrong: Json):
    with pytest.raises(CannotRender) as caught:
        render(HI, ask(**wrong))
    assert str(caught.value).endswith(".")


def test_a_tool_with_a_name_they_do_not_take_is_refused_in_words():
    with pytest.raises(CannotRender, match=r"shop\.pay"):
        render(prompt(user("Hi"), tools=(ToolSpec("shop.pay", "", {}),)), ASK)


@covers("R196")
def test_the_last_word_is_a_users_unless_the_model_goes_on_where_an_answer_breaks_off():
    for wrong in (prompt(user("Hi"), assistant(Text("Well"))), prompt(user(" ")), prompt()):
        with pytest.raises(CannotRender):
            render(wrong, ASK)
    assert render(prompt(user("Hi"), assistant(Text("Well"))), ASK, prefill=True).body
    assert body(prompt(user("Hi"), assistant(Text("Well")), tail=("Go on.",)))["messages"][-1]["role"] == "user"


PARTS = st.one_of(
    st.builds(Text, st.text(max_size=5)),
    st.builds(Thinking, st.text(max_size=5), st.none() | st.text(max_size=5)),
    st.builds(ToolCall, st.text(max_size=5), st.text(max_size=5), st.dictionaries(st.text(max_size=3), st.integers())),
    st.builds(ToolResult, st.text(max_size=5), st.just("t"), st.text(max_size=5)),
)


@given(st.lists(st.tuples(st.sampled_from(Role), st.lists(PARTS, max_size=3))))
def test_whatever_was_said_roles_take_turns_and_no_message_is_empty(given: list[tuple[Role, list[Any]]]):
    said = messages(*(message(role, *parts) for role, parts in given), tail=("Now.",))
    assert [one["role"] for one in said] == (["user", "assistant"] * len(said))[: len(said)]
    assert all(one["content"] for one in said)
    assert not any(block["type"] == "text" and not block["text"].strip() for one in said for block in one["content"])
