"""Turns are carried to an end, whatever happens to those who take them."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from preceptor import Preceptor, open_preceptor, tool
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.models.scripted import CAN_DO_ALL
from preceptor.domain.ids import AgentId
from preceptor.domain.messages.message import Outcome, Text
from preceptor.domain.prompts.prompt import Prompt, Request
from preceptor.domain.prompts.reply import Delta, Reply
from preceptor.domain.turns.facts import TurnStatus
from preceptor.engine.taking.carrying import Taken
from preceptor.testing import Called, Say, ScriptedModel
from tests.durability.provider import complaints
from tests.postgres import Cluster
from tests.requirements import covers
from tests.talking import settings_in, talking

MODEL = "openai-compatible:far-away"


@dataclass
class Silent(ScriptedModel):
    """Never answers; `asked` once it was asked something."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, request: Request, deadline: float) -> AsyncGenerator[Delta | Reply]:
        self.asked.set()
        await asyncio.Event().wait()
        async for piece in super().send(request, deadline):
            yield piece


@asynccontextmanager
async def opened(
    folder: Path, model: ScriptedModel, database: str | None = None, name: str = MODEL
) -> AsyncGenerator[Preceptor]:
    settings = settings_in(folder, database, model=name, max_turns_at_once=1_000)
    registry = ModelRegistry(settings)
    registry.add(name, model)
    async with open_preceptor(settings, models=registry) as preceptor:
        yield preceptor


async def leave_behind(folder: Path, count: int) -> list[Taken]:
    """Turns that wait for a model when their process ends."""
    async with opened(folder, Silent(["Never."])) as preceptor:
        places = [await preceptor.conversations.start(agent_id="assistant") for _ in range(count)]
        saying = (preceptor.turns.begin(one.conversation_id, [Text("Hello.")]) for one in places)
        return await asyncio.gather(*saying)


async def test_a_mistake_that_no_one_thought_of_fails_the_turn_and_not_the_conversation(tmp_path: Path):
    def script(prompt: Prompt) -> str:
        if len(prompt.shown) == 1:
            raise KeyError("a mistake of ours")
        return "Here again."

    async with talking(tmp_path, script) as talk:
        failed = await talk.say()
        assert (failed.status, failed.code) == (TurnStatus.FAILED, "internal")
        assert "KeyError" not in (failed.sentence or "")
        assert (await talk.say()).response == "Here again."


@covers("F1")
async def test_more_turns_than_one_sweep_takes_are_all_taken_up(tmp_path: Path):
    left = await leave_behind(tmp_path, 230)
    async with opened(tmp_path, ScriptedModel(lambda _: "Late, but here.")) as preceptor:
        endings = await asyncio.gather(*(preceptor.turns.settled(one) for one in left))
    assert {(ended.status, ended.ui and ended.ui["response"]) for ended in endings} == {
        (TurnStatus.COMPLETED, "Late, but here.")
    }


async def test_a_turn_whose_model_cannot_be_had_any_more_is_ended(tmp_path: Path):
    [left] = await leave_behind(tmp_path, 1)
    async with opened(tmp_path, ScriptedModel(lambda _: "Not asked."), name="local") as preceptor:
        ended = await preceptor.turns.settled(left)
        again = await preceptor.turns.say(left.conversation_id, [Text("Hello.")])
    assert ended.status is TurnStatus.FAILED
    assert "PRECEPTOR_MODEL_URL" in (ended.sentence or "")
    assert again.response == "Not asked."


@covers("F20")
async def test_a_turn_is_stopped_by_way_of_another_process(postgres: Cluster, postgres_template: str, tmp_path: Path):
    url = postgres.new_database(template=postgres_template)
    model = Silent(["Never."])
    async with opened(tmp_path, model, url) as one, opened(tmp_path, Silent([]), url) as other:
        start = await one.conversations.start(agent_id="assistant")
        taken = await one.turns.begin(start.conversation_id, [Text("Hello.")])
        await model.asked.wait()
        ended = (await other.turns.cancel(start.conversation_id)).ended
        assert ended is not None
        assert ended.status is TurnStatus.CANCELLED
        assert ended == await one.turns.settled(taken)
    postgres.drop(url)


at_work = asyncio.Event()


@tool(effect="once")
async def toil() -> str:
    """Work until somebody says stop."""
    at_work.set()
    return await asyncio.Future[str]()


async def test_of_a_tool_that_was_broken_off_nobody_is_told_that_a_process_ended(tmp_path: Path):
    settings = settings_in(tmp_path, tools=[f"{__name__}:toil"])
    models = ModelRegistry(settings)
    models.add(models.default, ScriptedModel([Say("", (Called("toil"),))]))
    async with open_preceptor(settings, models=models) as preceptor:
        await preceptor.agents.change(AgentId("assistant"), tools=["toil"])
        start = await preceptor.conversations.start(agent_id="assistant")
        taken = await preceptor.turns.begin(start.conversation_id, [Text("Toil.")])
        await at_work.wait()
        await preceptor.turns.cancel(start.conversation_id)
        _, turn = await preceptor.turns.get(taken.turn_id)
        [result] = turn.main.messages[-1].tool_results
        assert (result.outcome, result.is_error) == (Outcome.UNKNOWN, True)
        assert "it was broken off before it could say so" in result.content


@covers("F19")
@pytest.mark.parametrize("window", [900, 1100, 1300, 1500, 1700])
async def test_a_history_that_is_cut_to_the_window_never_begins_within_an_exchange(tmp_path: Path, window: int):
    def script(prompt: Prompt) -> Say:
        length = 7 * len(prompt.shown) % 31
        if prompt.shown[-1].message.tool_results:
            return Say("word " * length + "end.")
        return Say("word " * length, (Called("calculator", {"expression": f"{length} + 1"}),))

    async with talking(tmp_path, script) as talk:
        talk.model.capabilities = CAN_DO_ALL.model_copy(update={"context_window": window})
        for number in range(14):
            answer = await talk.say(f"Question {number}. " + "word " * (number * 11 % 40))
            assert answer.status is TurnStatus.COMPLETED
        for request in talk.model.requests:
            body = json.loads(request.body)
            assert complaints(body) == []
            assert next(one["role"] for one in body["messages"] if one["role"] != "system") == "user"
        shown = [len(prompt.shown) for prompt in talk.model.prompts]
        assert max(shown) < 14 * 4
