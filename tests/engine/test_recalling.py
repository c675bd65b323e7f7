"""A conversation that is known by heart is not read again, and nothing that happened elsewhere is missed for it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from preceptor import Preceptor, open_preceptor, tool
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.conversations.compaction import Dropping
from preceptor.domain.ids import AgentId, ConversationId
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.engine.means.recalling import EACH
from preceptor.testing import ScriptedModel
from tests.adapters.test_counters import traced
from tests.postgres import Cluster
from tests.rebuilding import every_call_is_rebuilt
from tests.scenarios.reasoned import plan, reasoning
from tests.talking import back, delegate, settings_in, talking, use

OF_IT = ("SELECT conversations", "SELECT turns", "SELECT messages", "SELECT views")


def shown(model: ScriptedModel) -> list[str]:
    return [each.message.text for each in model.prompts[-1].shown]


async def test_the_next_turn_reads_nothing_of_the_conversation_again(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Yes.") as talk:
        await talk.say("One?")
        with traced(talk.preceptor) as seen:
            await talk.say("Two?")
        assert shown(talk.model) == ["One?", "Yes.", "Two?"]
        assert [one for one in seen if one.startswith(OF_IT)] == []


async def test_a_change_of_its_settings_holds_from_the_next_turn_on(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Yes.") as talk:
        await talk.say("One?")
        await talk.say("Two?")
        limited = RequestParameters(max_history_size=3)
        await talk.preceptor.conversations.change(talk.conversation_id, parameters=limited)
        await talk.say("Three?")
        assert shown(talk.model) == ["Two?", "Yes.", "Three?"]


async def test_words_that_were_cleaned_up_meanwhile_are_not_shown_again(tmp_path: Path):
    script = iter(["Yes.", delegate(), "Deep thoughts.", "Done.", "Yes."])
    async with talking(tmp_path, lambda _: next(script)) as talk:
        await talk.preceptor.agents.change(AgentId("assistant"), permissions=("delegate",))
        await talk.say("One?")
        await talk.say("Two?")
        drop = Dropping.model_validate({"strategy": "drop", "intermediate": True})
        await talk.preceptor.views.compact(talk.conversation_id, drop)
        await talk.say("Three?")
        assert "Deep thoughts." not in " ".join(shown(talk.model))
        assert shown(talk.model)[-1] == "Three?"


@pytest.mark.parametrize("strategy", ["concat", "summarize"])
async def test_what_stands_for_older_messages_does_not_make_their_turn_the_newest(
    tmp_path: Path, database_url: str, strategy: str
):
    written = ["They agreed."] if strategy == "summarize" else []
    said = iter([plan(), "Yes.", plan(intent_confidence=0.2), *written, plan(intent_confidence=0.2)])
    async with reasoning(tmp_path, database_url, lambda _: next(said)) as talk:
        first = await talk.say("One?")
        second = await talk.say("Two?")
        assert second["status"] == "clarify"
        squash = {"strategy": strategy, "messageIds": [first["message"]["id"]]}
        assert (await talk.client.post(f"{talk.path}/compact", json=squash)).status_code == 200
        assert (await talk.client.post(f"{talk.path}/cancel")).json()["turnId"] == second["turnId"]
        third = await talk.turn((await talk.say("Three?"))["turnId"])
        assert third.accepted is not None
        assert third.accepted.pins.clarifications == 1


meanwhile: list[Callable[[], Awaitable[Any]]] = []


@tool(effect="read")
async def wait() -> str:
    """Wait, while others go on."""
    for happen in meanwhile:
        await happen()
    return "Waited."


async def test_what_is_changed_while_a_turn_runs_holds_from_the_next_one_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PRECEPTOR_TOOLS", f"{__name__}:wait")
    script = iter(["Yes.", use("wait"), "Yes.", "Yes."])
    async with talking(tmp_path, lambda _: next(script), tools=("wait",)) as talk:
        limited = RequestParameters(max_history_size=3)
        meanwhile[:] = [lambda: talk.preceptor.conversations.change(talk.conversation_id, parameters=limited)]
        await talk.say("One?")
        await talk.say("Two?")
        await talk.say("Three?")
        assert len(shown(talk.model)) <= 3


async def _said_by(preceptor: Preceptor, conversation: ConversationId, text: str) -> None:
    await preceptor.turns.say(conversation, [Text(text)])


async def test_two_processes_that_take_turns_in_one_conversation_hear_each_other(
    tmp_path: Path, postgres: Cluster, postgres_template: str
):
    postgres_url = postgres.new_database(template=postgres_template)
    models = [ScriptedModel(lambda _: "From the first."), ScriptedModel(lambda _: "From the second.")]
    registries: list[ModelRegistry] = []
    for number, model in enumerate(models):
        (tmp_path / str(number)).mkdir()
        registry = ModelRegistry(settings_in(tmp_path / str(number), postgres_url))
        registry.add("local", model)
        registries.append(registry)
    async with (
        open_preceptor(settings_in(tmp_path / "0", postgres_url), models=registries[0]) as first,
        open_preceptor(settings_in(tmp_path / "1", postgres_url), models=registries[1]) as second,
    ):
        conversation = (await first.conversations.start(agent_id="assistant")).conversation_id
        for number in range(3):
            await _said_by(first, conversation, f"To the first {number}.")
            await _said_by(second, conversation, f"To the second {number}.")
        assert len(shown(models[1])) == 11
        assert shown(models[1])[-3:] == ["To the first 2.", "From the first.", "To the second 2."]
        await every_call_is_rebuilt(first)
    postgres.drop(postgres_url)


async def test_an_erased_conversation_is_not_kept_in_mind(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Yes.") as talk:
        await talk.say("A secret.")
        memory = talk.preceptor.session.means.memory
        assert len(memory.kept) == 1
        await talk.preceptor.erasing.erase(talk.conversation_id)
        assert (len(memory.kept), memory.weight) == (0, 0)


async def test_there_is_room_for_so_much_and_what_was_spoken_in_last_is_kept(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Yes.") as talk:
        memory = talk.preceptor.session.means.memory
        memory.room = 10 * EACH
        places = [(await talk.preceptor.conversations.start(agent_id="assistant")).conversation_id for _ in range(6)]
        for place in places:
            await _said_by(talk.preceptor, place, "One?")
        assert [place for _, place in memory.kept] == places[-len(memory.kept) :]
        assert 1 < len(memory.kept) < 6
        assert memory.weight == sum(one.weight for one in memory.kept.values()) <= memory.room
        await _said_by(talk.preceptor, places[0], "And now?")
        assert shown(talk.model) == ["One?", "Yes.", "And now?"]


@pytest.mark.parametrize("marked", [True, False])
async def test_what_a_specialist_said_is_recalled_as_it_was_stored(tmp_path: Path, *, marked: bool):
    script = iter([delegate(mark_intermediate=marked), back("Found."), "Done.", "Yes."])
    async with talking(tmp_path, lambda _: next(script)) as talk:
        await talk.preceptor.agents.change(AgentId("assistant"), permissions=("delegate",))
        await talk.say("One?")
        await talk.say("Two?")
        by_heart = shown(talk.model)
    async with talking(tmp_path, lambda _: "Yes.") as later:
        await later.preceptor.turns.say(talk.conversation_id, [Text("Two?")])
        assert shown(later.model)[: len(by_heart)] == by_heart


async def test_of_a_conversation_that_has_just_begun_nothing_is_read(tmp_path: Path):
    async with talking(tmp_path, lambda _: "Yes.") as talk:
        await talk.say("So that everything else is known.")
        with traced(talk.preceptor) as seen:
            taken = await talk.preceptor.turns.open([Text("One?")], agent_id="assistant")
            await talk.preceptor.turns.settled(taken)
        assert shown(talk.model) == ["One?"]
        assert [one for one in seen if one.startswith(OF_IT)] == []
