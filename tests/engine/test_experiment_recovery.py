"""Turns of experiments that are left behind keep their arms, and are counted once."""

import asyncio
from pathlib import Path
from typing import Any

from preceptor import Preceptor
from preceptor.domain.experiments.experiment import Experiment
from preceptor.domain.ids import AgentId
from preceptor.domain.messages.message import Text
from preceptor.engine.taking.carrying import Taken
from preceptor.testing import ScriptedModel
from tests.engine.test_turn_carrying import Silent, opened

TURNS = 6


async def begun(preceptor: Preceptor) -> Experiment:
    said: dict[str, Any] = {"name": "Manner", "type": "system", "content": {"system_prompt": "Be brief."}}
    first = await preceptor.instructions.create(**said)
    second = await preceptor.instructions.revise(first.family_id, content={"system_prompt": "Be thorough."})
    return await preceptor.experiments.create(
        name="Length",
        agent_ids=("assistant",),
        control_instruction_id=first.instruction_id,
        variant_instruction_id=second.instruction_id,
    )


async def left_behind(folder: Path) -> tuple[Experiment, list[Taken]]:
    async with opened(folder, Silent(["Never."])) as preceptor:
        experiment = await begun(preceptor)
        places = [await preceptor.conversations.start(agent_id="assistant") for _ in range(TURNS)]
        saying = (preceptor.turns.begin(one.conversation_id, [Text("Hello.")]) for one in places)
        return experiment, await asyncio.gather(*saying)


async def test_a_turn_that_is_taken_up_again_stays_in_its_arm_whatever_happened_since(tmp_path: Path):
    experiment, left = await left_behind(tmp_path)
    async with opened(tmp_path, Silent(["Never."])) as preceptor:
        await preceptor.experiments.stop(experiment.experiment_id)
        await preceptor.assignments.remove(AgentId("assistant"), experiment.control_instruction_id or "")
    async with opened(tmp_path, ScriptedModel(lambda _: "Late, but here.")) as preceptor:
        await asyncio.gather(*(preceptor.turns.settled(one) for one in left))
        results = await preceptor.experiments.results(experiment.experiment_id)
        shown = (await preceptor.experiments.conversations(experiment.experiment_id)).items
        pinned = {
            one.conversation_id: (await preceptor.turns.record(one.turn_id))["pins"].experiments[0].arm for one in left
        }
    assert {one.conversation_id: one.arm for one in shown} == pinned
    assert sum(arm.turns for arm in results.arms) == sum(arm.units for arm in results.arms) == TURNS
    assert results.health.rendered_mismatch.count == 0
