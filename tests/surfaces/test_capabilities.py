from pathlib import Path

import pytest

from preceptor import Settings
from preceptor.adapters.models.scripted import CAN_DO_ALL
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
