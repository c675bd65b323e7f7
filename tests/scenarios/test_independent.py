"""A conversation of its own, started by a tool call: beside delegation, for work that has nothing to do with it."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from preceptor.domain.conversations.conversation import Conversation
from preceptor.domain.ids import ConversationId
from preceptor.domain.messages.message import Outcome, Role, ToolCall, ToolResult
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.prompts.reply import Fault, ModelFailure
from preceptor.domain.turns.independent import DEEPEST, START
from preceptor.engine.conversations import Wanted
from preceptor.engine.taking.beside import Beside
from preceptor.testing import Say
from tests.requirements import covers
from tests.talking import Talk, delegate, talking, use

TOOLS = (START, "calculator")


async def others(talk: Talk) -> list[Conversation]:
    page = await talk.preceptor.conversations.page(Wanted())
    return [one for one in page.items if one.conversation_id != talk.conversation_id]


async def researcher(talk: Talk, **more: Any) -> None:
    await talk.preceptor.agents.create(agent_id="researcher", name="Researcher", **more)


async def result(talk: Talk) -> ToolResult:
    [found] = [one for one in await talk.results() if one.name == START]
    return found


@covers("R37")
async def test_an_agent_starts_a_conversation_with_another_and_is_told_the_answer(tmp_path: Path):
    call = use(START, agent_id="researcher", message="Who wrote Emma?", title="Emma", expects_response=True)
    async with talking(tmp_path, [call, "Jane Austen.", "It was Jane Austen."], tools=TOOLS) as talk:
        await researcher(talk)
        answer = await talk.say("Find out who wrote Emma.")
        assert answer.response == "It was Jane Austen."
        [other] = await others(talk)
        assert (other.agent_id, other.title, other.parent_id) == ("researcher", "Emma", talk.conversation_id)
        assert other.owner == (await talk.preceptor.conversations.get(talk.conversation_id)).owner
        told = orjson.loads((await result(talk)).content)
        assert told == {"conversationId": other.conversation_id, "status": "completed", "response": "Jane Austen."}
        asked = talk.model.prompts[1]
        assert asked.system_text == "You are Researcher."
        assert [shown.message.text for shown in asked.shown] == ["Who wrote Emma?"]
        assert not (await talk.turn(answer)).spans


@covers("R37")
async def test_without_expecting_a_response_both_go_on_by_themselves(tmp_path: Path):
    def script(prompt: Prompt) -> str | Say:
        if prompt.system_text == "You are Researcher.":
            return "Found it."
        if prompt.shown[-1].message.role is Role.TOOL:
            return "Someone looks into it."
        return use(START, agent_id="researcher", message="Look into it.")

    async with talking(tmp_path, script, tools=TOOLS) as talk:
        await researcher(talk)
        assert (await talk.say()).response == "Someone looks into it."
        [other] = await others(talk)
        assert orjson.loads((await result(talk)).content) == {"conversationId": other.conversation_id}
        assert (await last_said(talk, other.conversation_id)) == "Found it."


async def last_said(talk: Talk, conversation_id: ConversationId) -> str:
    """The answer in another conversation, once there is one."""
    async for batch in talk.preceptor.conversations.follow(conversation_id):
        for event in batch:
            if event.kind == "turn.completed":
                return orjson.loads(event.payload or "")["ui"]["response"]
    raise AssertionError


@covers("R37")
async def test_a_conversation_can_be_opened_without_a_word(tmp_path: Path):
    async with talking(tmp_path, [use(START, agent_id="researcher"), "Done."], tools=TOOLS) as talk:
        await researcher(talk)
        await talk.say()
        [other] = await others(talk)
        assert other.parent_id == talk.conversation_id
        assert len(talk.model.prompts) == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"agent_id": "nobody", "message": "Hi."}, "There is no agent 'nobody' here."),
        ({"agent_id": "researcher", "expects_response": True}, "There is nothing to respond to"),
        ({"agent_id": "researcher", "message": " "}, "The message cannot be blank"),
        ({"agent_id": "researcher", "message": "x" * 100_001}, "The message is too long"),
        ({"agent_id": "researcher", "prompt": "x"}, "The arguments cannot be used"),
        ({"agent_id": "researcher", "title": "x" * 301}, "The arguments cannot be used"),
        ({"message": "Hi."}, "The arguments cannot be used"),
    ],
)
async def test_what_cannot_be_started_is_told_and_nothing_is(tmp_path: Path, arguments: dict[str, Any], complaint: str):
    async with talking(tmp_path, [use(START, **arguments), "Then not."], tools=TOOLS) as talk:
        await researcher(talk)
        assert (await talk.say()).response == "Then not."
        found = await result(talk)
        assert (found.outcome, found.content.startswith(complaint)) == (Outcome.ERROR, True)
        assert await others(talk) == []


async def test_an_agent_that_does_not_name_the_tool_cannot_start_anything(tmp_path: Path):
    call = use(START, agent_id="assistant", message="Hi.")
    async with talking(tmp_path, [call, "Then not.", delegate(tools=[START]), call, "Oh.", "Well."]) as talk:
        await talk.say()
        assert (await result(talk)).content.startswith("There is no tool 'start_conversation' here.")
        await talk.say()
        assert await others(talk) == []


async def test_conversations_cannot_start_one_another_without_end(tmp_path: Path):
    call = use(START, agent_id="assistant", message="You do it.", expects_response=True)
    async with talking(tmp_path, lambda prompt: _once_more(prompt, call), tools=TOOLS) as talk:
        await talk.say()
        assert len(await others(talk)) == DEEPEST
        assert (
            f"At most {DEEPEST} conversations"
            in talk.model.prompts[DEEPEST + 1].shown[-1].message.tool_results[0].content
        )


def _once_more(prompt: Prompt, call: Say) -> str | Say:
    return "Done." if prompt.shown[-1].message.role is Role.TOOL else call


async def test_a_failure_over_there_is_told_and_the_caller_goes_on(tmp_path: Path):
    call = use(START, agent_id="researcher", message="Hi.", expects_response=True)

    def speak(prompt: Prompt) -> Any:
        return script.pop(0) if prompt.system_text != "You are Researcher." else ModelFailure(Fault.REJECTED, "No.")

    script = [call, "It did not work out."]
    async with talking(tmp_path, speak, tools=TOOLS) as talk:
        await researcher(talk)
        assert (await talk.say()).response == "It did not work out."
        told = orjson.loads((await result(talk)).content)
        assert (told["status"], told["response"]) == ("failed", "")
        assert told["error"]


@covers("R20")
async def test_a_delegation_says_why_for_how_long_and_who_asked_whom(tmp_path: Path):
    inner = delegate("You check facts.", "", reason="facts", expected_seconds=5)
    script = [delegate("You are an analyst.", "", reason="numbers", expected_seconds=30), inner, "True.", "Four.", "4."]
    async with talking(tmp_path, script) as talk:
        answer = await talk.say()
        outer, nested = await talk.facts("delegation.opened")
        assert (outer.reason, outer.expected_seconds, outer.parent, outer.depth) == ("numbers", 30, None, 1)
        assert (nested.reason, nested.expected_seconds, nested.parent, nested.depth) == ("facts", 5, outer.span_id, 2)
        record = await talk.preceptor.turns.record(answer.turn_id)
        shown = [(span["reason"], span.get("parent"), span["agentPrompt"]) for span in record["spans"]]
        assert shown == [("numbers", None, "You are an analyst."), ("facts", outer.span_id, "You check facts.")]
        assert record["agentId"] == "assistant"


async def test_a_delegation_that_expects_nonsense_is_refused(tmp_path: Path):
    async with talking(tmp_path, [delegate(expected_seconds=0), "Then not."]) as talk:
        assert (await talk.say()).response == "Then not."
        [found] = await talk.results()
        assert "expected_seconds" in found.content


async def test_a_call_that_is_repeated_after_a_crash_starts_nothing_twice(tmp_path: Path):
    async with talking(tmp_path, ["Once.", "Twice?"], tools=TOOLS) as talk:
        turns = talk.preceptor.turns
        beside = Beside(talk.preceptor.session, turns.start, turns.settled)
        call = ToolCall("c1", START, {"agent_id": "assistant", "message": "Hi.", "expects_response": True})
        first, again = [await beside(talk.conversation_id, call, "turn:c1", 30.0) for _ in range(2)]
        assert first == again
        assert len(await others(talk)) == len(talk.model.prompts) == 1
