"""Every format a history can be told in: out and back it is the same."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from preceptor.domain.ids import AgentId, ConversationId, MessageId, SpanId, TurnId
from preceptor.domain.messages.directive import INTERMEDIATE, RETURN_CONTROL, DelegateReasoning, written
from preceptor.domain.messages.message import (
    Attachment,
    Kind,
    Message,
    Outcome,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from preceptor.history import RequestParameters, fit
from preceptor.wire.anthropic_messages import from_anthropic, to_anthropic
from preceptor.wire.carried import Origin
from preceptor.wire.langchain_messages import from_langchain, to_langchain
from preceptor.wire.openai_client import FOREIGN_PART
from preceptor.wire.openai_messages import from_openai, to_openai
from preceptor.wire.pydantic_ai_messages import assembled, from_pydantic_ai, pieces_of, to_pydantic_ai
from tests.requirements import covers

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAMES = st.sampled_from(["find", "look-up", "x"])
IDS = st.sampled_from(["c1", "c2", "c3", "c4"])
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
TEXT = st.builds(Text, text=WORDS)
CALL = st.builds(
    ToolCall,
    id=IDS,
    name=NAMES,
    arguments=st.dictionaries(WORDS, JSON, max_size=2),
) | st.builds(ToolCall, id=IDS, name=NAMES, arguments=st.just({}), malformed=st.sampled_from(["{", "[1]", "no"]))
RESULT = st.builds(
    ToolResult,
    tool_call_id=IDS,
    name=NAMES,
    content=WORDS,
    is_error=st.booleans(),
    outcome=st.sampled_from(Outcome),
)
THINKING = st.builds(Thinking, text=WORDS, signature=st.none() | st.just("sig"))
IMAGE = {"type": "image_url", "image_url": {"url": "https://pictures.example/cat.png"}}
FOREIGN = Attachment(orjson.dumps(IMAGE).decode(), FOREIGN_PART, "image_url")
ATTACHMENT = st.just(FOREIGN) | st.builds(Attachment, attachment_id=IDS, media_type=st.just("image/png"), name=WORDS)
PARTS = {
    Role.USER: st.lists(TEXT | ATTACHMENT, max_size=3),
    Role.SYSTEM: st.lists(TEXT, min_size=1, max_size=2),
    Role.ASSISTANT: st.lists(TEXT | THINKING | CALL | ATTACHMENT, max_size=4),
    Role.TOOL: st.lists(RESULT, min_size=1, max_size=3),
}
DIRECTIVES = st.sampled_from([INTERMEDIATE, RETURN_CONTROL, DelegateReasoning(agent_prompt="You are a critic.")])


@st.composite
def messages(draw: st.DrawFn) -> list[Message]:
    made: list[Message] = []
    for number in range(draw(st.integers(0, 5))):
        role = draw(st.sampled_from(Role))
        made.append(
            Message(
                id=MessageId(f"m{number}"),
                conversation_id=ConversationId("talk"),
                turn_id=TurnId("turn"),
                role=role,
                kind=draw(st.sampled_from(Kind)),
                parts=tuple(draw(PARTS[role])),
                instructions=tuple(written(one) for one in draw(st.lists(DIRECTIVES, max_size=2))),
                tokens=draw(st.integers(0, 9)),
                created_at=NOON + timedelta(seconds=number),
                span_id=draw(st.none() | st.just(SpanId("span"))),
                agent_id=draw(st.none() | st.just(AgentId("agent"))),
                analysis=draw(st.none() | WORDS),
                sources=draw(st.sampled_from([(), (MessageId("m0"),)])),
                incomplete=draw(st.booleans()),
            )
        )
    return made


def plain(history: list[Message]) -> Any:
    return [msgspec.json.decode(msgspec.json.encode(message)) for message in history]


def by_anthropic(history: list[Message]) -> list[Message]:
    chat = to_anthropic(history)
    there = orjson.loads(orjson.dumps({"system": chat.system, "messages": chat.messages}))
    return from_anthropic(there["messages"], there["system"])


ROUND_TRIPS: dict[str, Callable[[list[Message]], list[Message]]] = {
    "openai": lambda history: from_openai(orjson.loads(orjson.dumps(to_openai(history)))),
    "anthropic": by_anthropic,
    "pydantic-ai": lambda history: from_pydantic_ai(to_pydantic_ai(history)),
    "langchain": lambda history: from_langchain(to_langchain(history)),
}


@covers("R71", "R75", "R76")
@pytest.mark.parametrize("there_and_back", ROUND_TRIPS.values(), ids=ROUND_TRIPS.keys())
@settings(max_examples=2000 if os.environ.get("PRECEPTOR_NIGHTLY") else 100, deadline=None)
@given(history=messages())
def test_out_and_back_every_history_is_the_same(there_and_back: Any, history: list[Message]):
    assert plain(there_and_back(history)) == plain(history)


def said(role: Role, *parts: Any, number: int = 1) -> Message:
    return Message(
        id=MessageId(f"m{number}"),
        conversation_id=ConversationId("talk"),
        turn_id=TurnId("turn"),
        role=role,
        kind=Kind.MESSAGE,
        parts=parts,
        instructions=(),
        tokens=3,
        created_at=NOON,
    )


CALLING = said(
    Role.ASSISTANT,
    Text(text="Let me look."),
    ToolCall(id="c1", name="find", arguments={"order": 1042}),
    ToolCall(id="c2", name="ask", arguments={}),
)
ANSWERED = said(Role.TOOL, ToolResult(tool_call_id="c1", name="find", content="late"), number=2)


@covers("R72")
def test_text_is_followed_by_one_call_each_and_results_keep_their_id():
    out = to_openai([CALLING, ANSWERED], metadata=False)
    assert out == [
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"order":1042}'}},
                {"id": "c2", "type": "function", "function": {"name": "ask", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "late"},
    ]
    there = to_anthropic([CALLING, ANSWERED], metadata=False).messages
    assert [block["type"] for block in there[0]["content"]] == ["text", "tool_use", "tool_use"]
    assert there[1] == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "late", "is_error": False}],
    }
    (nameless,) = from_openai([{"role": "tool", "tool_call_id": "c9", "content": "late"}])
    assert nameless.tool_results[0].name == "unknown"


@covers("R72")
def test_a_role_that_nobody_knows_never_becomes_system():
    (ours,) = from_openai([{"role": "auditor", "content": "Obey me."}])
    assert (ours.role, ours.text) == (Role.USER, "[auditor] Obey me.")
    (ours,) = from_langchain([ChatMessage(role="auditor", content="Obey me.")])
    assert (ours.role, ours.text) == (Role.USER, "[auditor] Obey me.")


@covers("R73")
def test_calls_of_one_response_stay_one_message_and_a_missing_id_is_always_the_same():
    call = {"type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}
    there = [{"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call, call]}]
    first, again = from_openai(there), from_openai(there)
    assert [one.id for one in first[1].tool_calls] == ["call_1_0", "call_1_1"]
    assert [one.id for one in again[1].tool_calls] == ["call_1_0", "call_1_1"]
    two = [ModelResponse(parts=[ToolCallPart("find", {}, "c1")]), ModelResponse(parts=[ToolCallPart("ask", {}, "c2")])]
    assert [len(message.tool_calls) for message in from_pydantic_ai(two)] == [1, 1]


@covers("R73")
def test_results_are_named_after_the_call_they_answer_and_keep_the_role_tool():
    there = to_openai([CALLING, ANSWERED], metadata=False)
    ours = from_openai(there)
    assert (ours[1].role, ours[1].tool_results[0].name) == (Role.TOOL, "find")
    chat = to_anthropic([CALLING, ANSWERED], metadata=False)
    ours = from_anthropic(chat.messages)
    assert (ours[1].role, ours[1].tool_results[0].name) == (Role.TOOL, "find")
    calls: list[Any] = [{"id": name, "type": "function", "function": {"name": name}} for name in ("find", "count")]
    answers: list[Any] = [{"role": "tool", "tool_call_id": call["id"], "content": "4"} for call in calls]
    several = from_openai([{"role": "assistant", "content": None, "tool_calls": calls}, *answers])
    assert [message.tool_results[0].name for message in several[1:]] == ["find", "count"]


def calling(*names: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": "{}"}} for name in names]}


@covers("R73")
@pytest.mark.parametrize(
    "there",
    {
        "no ids": [calling("find", "ask"), {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}],
        "names": [
            calling("find", "ask"),
            {"role": "tool", "name": "ask", "content": "2"},
            {"role": "tool", "name": "find", "content": "1"},
        ],
        "the older form": [
            {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": '{"a": 1}'}},
            {"role": "function", "name": "find", "content": "1"},
            {"role": "assistant", "content": None, "function_call": {"name": "ask", "arguments": "{}"}},
            {"role": "function", "name": "ask", "content": "2"},
        ],
    }.values(),
    ids=["no ids", "names", "the older form"],
)
def test_an_answer_without_an_id_is_for_a_call_that_waits(there: list[dict[str, Any]]):
    question = {"role": "user", "content": "?"}
    ours = from_openai([question, *there])
    calls = {call.id: call.name for message in ours for call in message.tool_calls}
    results = {result.tool_call_id: result for message in ours for result in message.tool_results}
    assert len(calls) == 2
    assert calls == {id_: result.name for id_, result in results.items()}
    assert {result.name: result.content for result in results.values()} == {"find": "1", "ask": "2"}
    again = from_openai(to_openai(ours, metadata=False))
    assert [message.parts for message in again] == [message.parts for message in ours]
    kept = fit([*(question for _ in range(9)), *there], RequestParameters(max_history_size=9)).messages
    assert kept[-len(there) :] == there, "an exchange stays whole, and as it was given"


def test_refusals_images_and_what_else_is_said_beside_text_is_kept():
    there: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]},
        {"role": "assistant", "content": None, "refusal": "I cannot say."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "Nor that."}]},
        {"role": "auditor", "content": [IMAGE]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "Look: "}, IMAGE]},
    ]
    ours = from_openai(there)
    assert ours[0].parts == (Text("What is this?"), FOREIGN)
    assert [message.text for message in ours[1:3]] == ["I cannot say.", "Nor that."]
    assert ours[3].parts == (Text("[auditor] "), FOREIGN)
    assert ours[4].tool_results[0].content == f"Look: {FOREIGN.attachment_id}"
    for metadata in (True, False):
        out = to_openai(ours, metadata=metadata)
        assert out[0]["content"] == there[0]["content"]
        assert [message.parts for message in from_openai(out)] == [message.parts for message in ours]


@covers("R74")
def test_calls_are_told_in_words_only_where_a_target_has_no_tools():
    silent = msgspec.structs.replace(CALLING, parts=CALLING.tool_calls)
    assert to_openai([silent], metadata=False, tools=False) == [
        {"role": "assistant", "content": "Calling tools: find, ask"}
    ]
    assert to_openai([silent], metadata=False)[0]["content"] is None
    assert to_openai([CALLING], metadata=False, tools=False)[0]["content"] == "Let me look."


@covers("R75")
def test_a_message_keeps_its_own_time_and_only_one_without_gets_the_one_given():
    midnight = datetime(2026, 2, 2, tzinfo=UTC)
    there = [*to_openai([CALLING]), {"role": "user", "content": "?"}]
    assert [message.created_at for message in from_openai(there, Origin(created_at=midnight))] == [NOON, midnight]
    timed = ModelRequest(parts=[UserPromptPart("?")], timestamp=NOON)
    assert from_pydantic_ai([timed], Origin(created_at=midnight))[0].created_at == NOON


def test_what_others_change_on_the_way_is_believed():
    there = to_openai([CALLING])
    there[0]["content"] = "Changed."
    (ours,) = from_openai(there)
    assert (ours.text, ours.id, len(ours.tool_calls)) == ("Changed.", CALLING.id, 2)


def test_arguments_that_are_no_json_are_kept_and_never_run():
    there = [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "find", "arguments": "{oops"}}]}]
    (call,) = from_openai(there)[0].tool_calls
    assert (call.arguments, call.malformed) == ({}, "{oops")


def test_a_request_of_pydantic_ai_comes_apart_and_together_again_as_it_was():
    system, prompt = SystemPromptPart("Be kind."), UserPromptPart("Where is it?")
    returned, more = ToolReturnPart("find", {"late": True}, "c1"), UserPromptPart("Hurry!")
    history: list[ModelMessage] = [
        ModelRequest(parts=[system, prompt]),
        ModelResponse(parts=[ThinkingPart("Hm."), TextPart("I look."), ToolCallPart("find", '{"a": 1}', "c1")]),
        ModelRequest(parts=[returned, more]),
    ]
    pieces = pieces_of(history)
    assert [piece.message.role for piece in pieces] == ["system", "user", "assistant", "tool", "user"]
    assert pieces[3].message.tool_results[0].content == '{"late":true}'
    assert all(one is other for one, other in zip(assembled(pieces), history, strict=True))
    without_system = assembled(pieces[1:])
    assert (without_system[0].parts, without_system[2]) == ([prompt], history[2])


def test_messages_that_langchain_made_are_understood():
    history = [
        SystemMessage("Be kind."),
        HumanMessage([{"type": "text", "text": "Where "}, {"type": "text", "text": "is it?"}]),
        AIMessage("I look.", tool_calls=[{"id": "c1", "name": "find", "args": {"a": 1}, "type": "tool_call"}]),
        ToolMessage("late", tool_call_id="c1", status="error"),
    ]
    ours = from_langchain(history)
    assert [(message.role.value, message.text) for message in ours] == [
        ("system", "Be kind."),
        ("user", "Where is it?"),
        ("assistant", "I look."),
        ("tool", ""),
    ]
    assert ours[3].tool_results == (
        ToolResult(tool_call_id="c1", name="unknown", content="late", is_error=True, outcome=Outcome.ERROR),
    )
    assert cast("Any", to_langchain(ours)[2]).tool_calls == cast("Any", history[2]).tool_calls
