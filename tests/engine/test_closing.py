"""The running state: what is opened runs until it is closed, for all who use it at once, and then says so."""

import asyncio

import pytest

from preceptor import Preceptor
from preceptor.domain.errors import ShuttingDown
from preceptor.domain.messages.message import Text
from preceptor.domain.prompts.parameters import RequestParameters
from preceptor.testing import ScriptedModel
from tests.requirements import covers


@covers("R68")
async def test_an_agent_is_made_from_its_configuration_and_many_use_it_at_once(
    preceptor: Preceptor, model: ScriptedModel
):
    agent = await preceptor.agents.create(name="Support", tools=("calculator",))
    assert model.requests == []  # nothing is made of it before it is asked
    started = [await preceptor.conversations.start(agent_id=agent.agent_id) for _ in range(16)]
    answers = await asyncio.gather(
        *(preceptor.turns.say(one.conversation_id, [Text("Hello.")]) for one in started),
        *(preceptor.agents.get(agent.agent_id) for _ in range(16)),
    )
    assert len(answers) == 32
    assert len(model.requests) == 16


@pytest.mark.breaks_the_database
@covers("R68", "R69")
async def test_what_is_closed_says_so_and_refuses_whatever_is_asked(preceptor: Preceptor):
    started = await preceptor.conversations.start(agent_id="assistant")
    assert preceptor.is_running
    await preceptor.close()
    assert not preceptor.is_running
    for asked in (
        preceptor.turns.say(started.conversation_id, [Text("Hello.")]),
        preceptor.foreseeing.plan(started.conversation_id, RequestParameters()),
        preceptor.agents.page(),
    ):
        with pytest.raises(ShuttingDown, match="Preceptor is stopping"):
            await asked
    await preceptor.close()  # again does no harm
