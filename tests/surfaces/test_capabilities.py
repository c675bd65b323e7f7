import json
from pathlib import Path

import pytest

from preceptor import Settings
from preceptor.adapters.models.scripted import CAN_DO_ALL
from tests.requirements import covers
from tests.surfaces.talking import talking


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """What a model is offered does not depend on the database."""
    return f"sqlite:///{tmp_path / 'preceptor.db'}"


async def test_a_model_that_calls_no_tools_is_offered_none(settings: Settings):
    plain = CAN_DO_ALL.model_copy(update={"tools": False, "plans": False})
    async with talking(settings, capabilities=plain) as talk:
        told = await talk.say("Hi", "Hello.")
        context = (await talk.client.get(f"/api/messages/{told['message']['id']}/context")).json()
    assert talk.script.prompts[-1].tools == ()
    assert "tools" not in context["request"]
    assert (context["intact"], context["unattributedTokens"]) == (True, 0)


async def test_one_that_does_is_offered_its_agents_tools_and_delegation(settings: Settings):
    able = CAN_DO_ALL.model_copy(update={"plans": False})
    async with talking(settings, capabilities=able) as talk:
        await talk.say("Hi", "Hello.")
    assert [tool.name for tool in talk.script.prompts[-1].tools] == ["calculator", "delegate_internal_reasoning"]


@covers("R197")
async def test_a_model_is_told_of_tools_in_the_keywords_that_it_takes(settings: Settings):
    picky = CAN_DO_ALL.model_copy(update={"plans": False, "schema_without": ("additionalProperties", "description")})
    async with talking(settings, capabilities=picky) as talk:
        told = await talk.say("Hi", "Hello.")
        context = (await talk.client.get(f"/api/messages/{told['message']['id']}/context")).json()
    schemas = [tool.parameters for tool in talk.script.prompts[-1].tools]
    assert schemas
    assert "additionalProperties" not in json.dumps(schemas)
    assert (context["intact"], context["unattributedTokens"]) == (True, 0)


def test_names_and_values_that_look_like_keywords_stay():
    schema = {
        "type": "object",
        "properties": {"format": {"type": "string", "format": "date", "enum": [{"format": 1}]}},
        "anyOf": [{"format": "date"}],
    }
    assert CAN_DO_ALL.model_copy(update={"schema_without": ("format",)}).tool_schema(schema) == {
        "type": "object",
        "properties": {"format": {"type": "string", "enum": [{"format": 1}]}},
        "anyOf": [{}],
    }


@covers("R197")
@pytest.mark.parametrize("able", [True, False])
async def test_a_model_that_calls_one_tool_at_a_time_is_not_told_whether_to_call_several(
    settings: Settings, *, able: bool
):
    model = CAN_DO_ALL.model_copy(update={"plans": False, "parallel_tools": able})
    async with talking(settings, capabilities=model) as talk:
        await talk.client.patch("/api/agents/assistant", json={"parameters": {"parallelToolCalls": True}})
        told = await talk.say("Hi", "Hello.")
        context = (await talk.client.get(f"/api/messages/{told['message']['id']}/context")).json()
    assert ("parallel_tool_calls" in context["request"]) == able
