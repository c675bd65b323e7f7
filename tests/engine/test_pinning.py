"""A turn is told one thing from its first call to its last; the next turn is told what holds by then."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from preceptor import tool
from preceptor.domain.conversations.conversation import Conversation, VersionPolicy
from preceptor.domain.ids import AgentId, FamilyId
from preceptor.domain.messages.message import Role
from preceptor.domain.prompts.prompt import Prompt
from preceptor.domain.prompts.source import FromInstruction, FromMessage
from preceptor.testing import Say
from tests.requirements import covers
from tests.talking import Talk, delegate, talking, use

PUBLISHES = 50
AGENT = AgentId("assistant")
meanwhile: list[Callable[[], Awaitable[None]]] = []


@tool(effect="read")
async def work() -> str:
    """Work, while others go on as well."""
    for happen in meanwhile:
        await happen()
    return "Worked."


async def guided(talk: Talk, text: str) -> FamilyId:
    made = await talk.preceptor.instructions.create(name="Guide", type="system", content={"systemPrompt": text})
    await talk.preceptor.assignments.assign(AGENT, instruction_id=made.family_id)
    return made.family_id


def work_first(prompt: Prompt) -> str | Say:
    return "Done." if prompt.shown[-1].message.role is Role.TOOL else use("work")


@covers("F17", "R193")
async def test_a_turn_keeps_its_version_while_others_are_published_and_the_next_has_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PRECEPTOR_TOOLS", f"{__name__}:work")
    async with talking(tmp_path, work_first, tools=("work",)) as talk:
        family = await guided(talk, "Version 0.")
        published = 0

        async def publish() -> None:
            nonlocal published
            published += 1
            await talk.preceptor.instructions.revise(family, content={"systemPrompt": f"Version {published}."})

        meanwhile[:] = [publish]
        for number in range(PUBLISHES):
            answer = await talk.say(str(number))
            first, second = talk.model.prompts[-2:]
            assert first.system_text == second.system_text == f"Version {number}."
            record = await talk.preceptor.turns.record(answer.turn_id)
            [pin] = record["pins"].instructions
            said = await talk.preceptor.instructions.get(pin.instruction_id)
            assert said.content.system_prompt == f"Version {number}."
            assert len({call["system"] for call in record["calls"]}) == 1


async def told(talk: Talk, conversation: Conversation) -> str:
    """Which version speaks in the next turn of a conversation; what its record says of it is true."""
    answer = await talk.preceptor.conversations.say("Who?", conversation=conversation.conversation_id)
    record = await talk.preceptor.turns.record(answer.turn_id)
    [pin] = record["pins"].instructions
    said = await talk.preceptor.instructions.get(pin.instruction_id)
    assert said.content.system_prompt == talk.model.prompts[-1].system_text
    return talk.model.prompts[-1].system_text


@covers("R193")
async def test_a_conversation_follows_new_versions_or_keeps_to_its_own_as_it_was_told_to(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Me.") as talk:
        family, start = await guided(talk, "Version 0."), talk.preceptor.conversations.start
        policies = ("follow", "pin", "drain")
        kept = [await start(agent_id=AGENT, version_policy=policy) for policy in policies]
        assert [await told(talk, one) for one in kept] == ["Version 0."] * 3
        await talk.preceptor.instructions.revise(family, content={"systemPrompt": "Version 1."})
        assert [await told(talk, one) for one in kept] == ["Version 1.", "Version 0.", "Version 0."]
        old = (await talk.preceptor.instructions.versions(family)).items[-1]
        await talk.preceptor.instructions.delete(old.instruction_id)
        assert [await told(talk, one) for one in kept] == ["Version 1.", "Version 0.", "Version 1."]
        kept[2] = await start(agent_id=AGENT, version_policy="drain")
        await talk.preceptor.assignments.remove(AGENT, family)
        assert await told(talk, kept[1]) == "Version 0."
        await talk.preceptor.conversations.say("Who?", conversation=kept[2].conversation_id)
        assert talk.model.prompts[-1].system_text == "You are Assistant."


async def test_a_conversation_can_be_told_later_to_keep_to_what_holds_now_and_to_follow_again(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Me.") as talk:
        family, change = await guided(talk, "Version 0."), talk.preceptor.conversations.change
        started = await talk.preceptor.conversations.start(agent_id=AGENT)
        assert (started.version_policy, started.pinned_at) == (VersionPolicy.FOLLOW, None)
        pinned = await change(started.conversation_id, version_policy="pin")
        await talk.preceptor.instructions.revise(family, content={"systemPrompt": "Version 1."})
        assert await told(talk, pinned) == "Version 0."
        again = await change(started.conversation_id, version_policy="pin")
        assert again.pinned_at == pinned.pinned_at == pinned.updated_at
        assert await told(talk, again) == "Version 0."
        assert await talk.preceptor.conversations.get(started.conversation_id) == again
        followed = await change(started.conversation_id, version_policy="follow")
        assert (await told(talk, followed), followed.pinned_at) == ("Version 1.", None)


@covers("R188")
async def test_a_request_says_what_never_changes_first_and_every_piece_has_its_source(tmp_path: Path):
    async with talking(tmp_path, ["One.", delegate("You check."), "Checked.", "Two."]) as talk:
        await guided(talk, "Be exact.")
        await talk.say("First?")
        await talk.say("Second?")
        main, again, specialist, last = talk.model.prompts
        assert main.system == again.system == last.system
        assert [type(piece.source) for piece in again.system] == [FromInstruction]
        assert {type(shown.source) for shown in again.shown} == {FromMessage}
        assert again.shown[: len(main.shown)] == main.shown
        assert last.shown[: len(again.shown)] == again.shown
        assert specialist.system_text == "You check."
        assert [piece.text for piece in specialist.tail] != []
        for prompt in talk.model.prompts:
            pieces = [*prompt.system, *prompt.shown, *prompt.tail, *prompt.tools]
            assert sum(piece.tokens for piece in pieces) + prompt.overhead == prompt.tokens
