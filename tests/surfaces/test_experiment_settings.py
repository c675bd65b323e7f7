"""Experiments between settings of the engine: the model, how plans are shown, how history is cut."""

from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from preceptor import open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.domain.messages.message import Kind
from preceptor.domain.prompts.prompt import Prompt
from preceptor.testing import Say, ScriptedModel
from tests.conftest import client_of
from tests.requirements import covers
from tests.scenarios.reasoned import plan, planning
from tests.surfaces.experimenting import PATH, after, begun, in_both_arms, results, talk
from tests.talking import settings_in

Json = dict[str, Any]


def answered(prompt: Prompt) -> Say | str:
    return plan() if planning(prompt) else "It is on its way."


@pytest.fixture
def models() -> dict[str, ScriptedModel]:
    return {"local": ScriptedModel(answered), "other": ScriptedModel(answered)}


@pytest.fixture
async def client(
    tmp_path: Path, database_url: str, models: dict[str, ScriptedModel]
) -> AsyncGenerator[httpx2.AsyncClient]:
    settings = settings_in(tmp_path, database_url, sgr_enabled="true")
    registry = ModelRegistry(settings)
    for name, model in models.items():
        registry.add(name, model)
    async with open_preceptor(settings, models=registry) as preceptor, client_of(preceptor) as opened:
        yield opened


def sizes(told: Json) -> dict[str, int]:
    return {arm["name"]: arm["units"] for arm in told["arms"]}


@covers("R181")
async def test_a_plan_as_a_clean_message_is_compared_with_one_as_the_result_of_a_tool(
    client: httpx2.AsyncClient, models: dict[str, ScriptedModel]
):
    arms = {"control": {"sgr": {"injection": "clean"}}, "variant": {"sgr": {"injection": "raw_tool_result"}}}
    experiment = await begun(client, settings=arms, primaryMetric="planConsistency")
    counts = Counter[str]()
    async for _, arm in in_both_arms(client):
        counts[arm] += 1
        shown = [one.message for one in models["local"].prompts[-1].shown]
        as_tool = any(one.tool_calls for one in shown if one.kind is Kind.SYNTHETIC_PLAN)
        assert as_tool is (arm == "variant")
    told = await results(client, experiment)
    assert sizes(told) == counts
    assert told["health"]["renderedMismatch"]["count"] == 0
    assert all(arm["metrics"]["planConsistency"]["mean"] > 0 for arm in told["arms"])
    await after(client, experiment, "promote")
    assert (await client.get("/api/agents/assistant")).json()["sgr"]["injection"] == "raw_tool_result"
    await talk(client)
    assert any(one.message.tool_calls for one in models["local"].prompts[-1].shown)


@pytest.mark.parametrize("control", ["true", "false", "auto"])
async def test_planning_is_compared_with_answering_at_once(
    client: httpx2.AsyncClient, models: dict[str, ScriptedModel], control: str
):
    variant = "true" if control == "false" else "false"
    arms = {"control": {"sgr": {"enabled": control}}, "variant": {"sgr": {"enabled": variant}}}
    experiment = await begun(client, settings=arms, primaryMetric="tokens")
    counts = Counter([arm async for _, arm in in_both_arms(client)])
    planned = sum(map(planning, models["local"].prompts))
    assert planned == counts["variant" if variant == "true" else "control"] * (control != "auto")
    told = await results(client, experiment)
    assert (sizes(told), told["health"]["renderedMismatch"]["count"]) == (counts, 0)


async def test_an_arm_whose_turns_end_at_the_plan_keeps_them(client: httpx2.AsyncClient):
    arms = {"variant": {"sgr": {"thresholds": {"intentConfidence": 0.99}, "injection": "raw_tool_result"}}}
    experiment = await begun(client, settings=arms, primaryMetric="clarifyRate")
    counts = Counter([arm async for _, arm in in_both_arms(client)])
    told = await results(client, experiment)
    assert (sizes(told), told["health"]["renderedMismatch"]["count"]) == (counts, 0)
    assert [arm["metrics"]["clarifyRate"]["mean"] for arm in told["arms"]] == [0, 1]


async def test_models_are_compared_and_what_is_promoted_is_the_agents_own(
    client: httpx2.AsyncClient, models: dict[str, ScriptedModel]
):
    experiment = await begun(client, settings={"variant": {"model": "other"}}, primaryMetric="tokens")
    counts = Counter([arm async for _, arm in in_both_arms(client)])
    asked = {name: sum(not planning(prompt) for prompt in model.prompts) for name, model in models.items()}
    assert asked == {"local": counts["control"], "other": counts["variant"]}
    assert sizes(await results(client, experiment)) == counts
    await after(client, experiment, "promote")
    assert (await client.get("/api/agents/assistant")).json()["model"] == "other"


async def test_history_is_cut_as_the_arm_says_unless_a_message_says_otherwise(
    client: httpx2.AsyncClient, models: dict[str, ScriptedModel]
):
    arms = {"variant": {"parameters": {"maxHistorySize": 1}}}
    experiment = await begun(client, settings=arms, splitRatio=0.999999999)
    first = await talk(client)
    await talk(client, conversation=first["conversationId"])
    said = [one.message for one in models["local"].prompts[-1].shown if one.message.kind is Kind.MESSAGE]
    assert len(said) == 1
    assert (await results(client, experiment))["health"]["renderedMismatch"]["status"] == "green"
    own: Json = {"parameters": {"maxHistorySize": 50}}
    await talk(client, conversation=first["conversationId"], **own)
    assert len([one for one in models["local"].prompts[-1].shown if one.message.kind is Kind.MESSAGE]) > 1
    told = await results(client, experiment)
    assert (told["health"]["renderedMismatch"]["count"], told["health"]["status"]) == (1, "red")


async def test_a_model_that_cannot_be_had_keeps_an_experiment_from_starting(client: httpx2.AsyncClient):
    body = {"name": "x", "agentIds": ["assistant"], "settings": {"variant": {"model": "nonsense"}}}
    refused = await client.post(PATH, json=body)
    assert refused.status_code == 422, refused.text
    assert (await client.get(PATH)).json()["items"] == []


async def test_no_arm_gets_past_the_guardian(client: httpx2.AsyncClient):
    body = {"name": "x", "agentIds": ["assistant"], "settings": {"variant": {"guard": {"enabled": False}}}}
    assert (await client.post(PATH, json=body)).status_code == 422
