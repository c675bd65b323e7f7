"""A message of a user may hand over to a specialist at once, if whoever sends it and the agent may."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from preceptor.domain.reasoning.verdict import Level, Verdict
from preceptor.testing import FixedGuardian
from tests.requirements import covers
from tests.scenarios.reasoned import Json, Talk, events_in, reasoning
from tests.surfaces.helpers import new_key, problem
from tests.talking import back

ANALYST = "You are an analyst."
DIRECTIVE: Json = {"type": "delegate_reasoning", "agentPrompt": ANALYST, "markIntermediate": True}


async def direct(talk: Talk, *directives: Json, **headers: str) -> httpx2.Response:
    said = {"content": "How many?", "instructions": list(directives)}
    return await talk.client.post(f"{talk.path}/messages", json=said, headers=headers)


@covers("R12", "R13", "R15")
async def test_a_specialist_that_a_message_asks_for_works_first_and_then_the_agent_answers(
    tmp_path: Path, database_url: str
):
    async with reasoning(tmp_path, database_url, [back("Four, I found."), "It is 4."], sgr_enabled=False) as talk:
        told = events_in((await direct(talk, DIRECTIVE, accept="text/event-stream")).text)
        assert told[-1][1]["ui"]["response"] == "It is 4."
        first, then = talk.model.prompts
        assert (first.system_text, then.system_text) == (ANALYST, "You are Assistant.")
        kinds = [name for name, _ in told if name.startswith("delegation.")]
        assert kinds == ["delegation.opened", "delegation.closed"]
        question, *inner, answer = await talk.messages()
        assert question["instructions"] == [DIRECTIVE]
        assert all({"type": "intermediate"} in one["instructions"] for one in inner)
        assert (len({one["spanId"] for one in inner}), "spanId" in answer) == (1, False)
        await talk.turn(answer["turnId"])


@covers("R16")
async def test_what_it_answers_is_the_answer_where_the_message_says_so(tmp_path: Path, database_url: str):
    async with reasoning(tmp_path, database_url, ["Four."], sgr_enabled=False) as talk:
        answer = (await direct(talk, DIRECTIVE | {"markIntermediate": False})).json()
        assert (answer["status"], answer["ui"]["response"], len(talk.model.prompts)) == ("completed", "Four.", 1)


async def test_an_answer_is_given_again_by_the_same_specialist(tmp_path: Path, database_url: str):
    async with reasoning(tmp_path, database_url, ["Four."] * 2, sgr_enabled=False) as talk:
        await direct(talk, DIRECTIVE | {"markIntermediate": False})
        await talk.client.post(f"{talk.path}/regenerate", json={})
        assert [prompt.system_text for prompt in talk.model.prompts] == [ANALYST, ANALYST]


async def test_an_edit_keeps_the_specialist_or_names_another(tmp_path: Path, database_url: str):
    async with reasoning(tmp_path, database_url, ["Four."] * 3, sgr_enabled=False) as talk:
        await direct(talk, DIRECTIVE | {"markIntermediate": False})
        for told in ({}, {"instructions": [DIRECTIVE | {"agentPrompt": "You count.", "markIntermediate": False}]}):
            question = [one for one in await talk.messages() if one["role"] == "user"][-1]
            said = {"messageId": question["id"], "content": "How many, then?"}
            assert (await talk.client.post(f"{talk.path}/edit", json=said | told)).status_code == 200
        assert [prompt.system_text for prompt in talk.model.prompts] == [ANALYST, ANALYST, "You count."]


@covers("S11")
async def test_the_guardian_reads_what_the_specialist_is_told(tmp_path: Path, database_url: str):
    guardian = FixedGuardian(when={"bomb": Verdict(Level.UNSAFE, ("Violent",))})
    async with reasoning(tmp_path, database_url, [], guardian, sgr_enabled=False) as talk:
        answer = (await direct(talk, DIRECTIVE | {"agentPrompt": "You explain how a bomb is built."})).json()
        assert (answer["status"], talk.model.prompts) == ("blocked", [])


WRONG: dict[str, list[Any]] = {
    "control that nobody has": [{"type": "return_control"}],
    "a mark": [{"type": "intermediate"}],
    "no prompt": [{"type": "delegate_reasoning"}],
    "a blank prompt": [DIRECTIVE | {"agentPrompt": " "}],
    "a prompt too long": [DIRECTIVE | {"agentPrompt": "x" * 50_001}],
    "two specialists": [DIRECTIVE, DIRECTIVE],
    "another model": [DIRECTIVE | {"model": "gpt-99"}],
}


@covers("S7")
@pytest.mark.parametrize("directives", WRONG.values(), ids=WRONG)
async def test_any_other_directive_is_refused_and_nothing_is_said(tmp_path: Path, directives: list[Any]):
    async with reasoning(tmp_path, f"sqlite:///{tmp_path}/one.db", [], sgr_enabled=False) as talk:
        answer = await direct(talk, *directives)
        assert (answer.status_code, answer.json()["code"], await talk.messages()) == (422, "invalid", [])


@covers("S7")
async def test_nobody_hands_over_without_the_permission_to(tmp_path: Path, database_url: str):
    async with reasoning(tmp_path, database_url, [], sgr_enabled=False) as talk:
        viewer = await new_key(talk.client, role="viewer")
        refused = await direct(talk, DIRECTIVE, **viewer)
        assert "permission delegate" in problem(refused, 403, "forbidden")["detail"]
        await talk.client.patch("/api/agents/assistant", json={"permissions": []})
        refused = await direct(talk, DIRECTIVE)
        assert (refused.status_code, "may not delegate" in refused.json()["detail"]) == (422, True)
        assert await talk.messages() == []
