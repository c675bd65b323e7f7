"""Ids of another organisation, wherever a request can name one: they name nothing, and nothing comes of it."""

from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from tests.requirements import covers
from tests.surfaces.helpers import Json, filled, new_org, one_of_everything, rows

CANARY = "canary-9f3a"
OWN = "own-agent"


def step(command: str, kind: str, known: str, **data: Any) -> Json:
    more = {"data": data} if data else {}
    named: Json = {"type": command, "resource": {"type": kind, "id": known}, **more}
    return {"steps": [{"index": 0, "name": "x", "command": named}]}


STARTED = {"agentId": OWN}
BODIES: dict[str, tuple[str, Json]] = {
    "the agent of a conversation": ("/api/conversations", {"agentId": "{agent_id}"}),
    "the parent of a conversation": ("/api/conversations", STARTED | {"parentId": "{conversation_id}"}),
    "the conversation of a message": ("/api/conversations/{conversation_id}/messages", {"content": "x"}),
    "an instruction to assign": (f"/api/agents/{OWN}/instructions", {"instructionId": "{instruction_id}"}),
    "an instruction to foresee": (f"/api/agents/{OWN}/instructions/impact", {"instructionId": "{instruction_id}"}),
    "a template": ("/api/instructions/from-template/{template_id}", {"customizations": {"who": "x"}}),
    "the agents of an experiment": (
        "/api/instructions/experiments",
        {
            "name": "x",
            "agentIds": ["{agent_id}"],
            "settings": {"variant": {"parameters": {"temperature": 0.5}}},
            "status": "draft",
        },
    ),
    "the arms of an experiment": (
        "/api/instructions/experiments",
        {
            "name": "x",
            "agentIds": [OWN],
            "controlInstructionId": "{version_id}",
            "variantInstructionId": "{version_id}",
            "status": "draft",
        },
    ),
    "the agent of an execution": ("/api/executions", step("agent.loadInstructions", "agent", "{agent_id}")),
    "the agent that an execution asks": (
        "/api/executions",
        step("agent.execute", "agent", "{agent_id}", userMessage="x"),
    ),
    "the conversation that an execution goes on with": (
        "/api/executions",
        step("agent.execute", "agent", OWN, userMessage="x", conversationId="{conversation_id}"),
    ),
    "the turns of a replay": ("/api/replays", {"turnIds": ["{turn_id}"]}),
    "the agent of a table": (
        "/api/decision-tables/DT-001/test",
        {"agentId": "{agent_id}", "facts": {"level": "Safe", "mode": "enforce", "on_error": "block"}},
    ),
    "the agent of an import": (
        "/api/conversations/import",
        {"agentId": "{agent_id}", "records": [{"messages": [{"role": "user", "content": "x"}]}]},
    ),
    "the model of a chat": (
        "/v1/chat/completions",
        {"model": "{agent_id}", "messages": [{"role": "user", "content": "x"}]},
    ),
    "the response to go on after": (
        "/v1/responses",
        {"model": OWN, "input": "x", "previous_response_id": "{turn_id}"},
    ),
}
FILTERS = {
    "conversations of an agent": "/api/conversations?agentId={agent_id}",
    "what was measured of an agent": "/api/reasoning/metrics?agentId={agent_id}",
}
PAGES = ("/api/conversations", "/api/instructions", "/api/agents", "/api/executions", "/api/replays", "/api/keys")


@pytest.fixture
async def ids(client: httpx2.AsyncClient) -> dict[str, str]:
    return await one_of_everything(client, CANARY)


@pytest.fixture
async def rival(client: httpx2.AsyncClient) -> dict[str, str]:
    key = await new_org(client, "rivals")
    await client.post("/api/agents", json={"agentId": OWN, "name": "Own"}, headers=key)
    return key


@covers("S2")
async def test_in_bodies_they_are_not_found_and_nothing_is_stored(
    client: httpx2.AsyncClient, preceptor: Preceptor, ids: dict[str, str], rival: dict[str, str]
):
    before = rows(preceptor)
    nothing = dict.fromkeys(ids, "no-such-thing")
    for what, (path, body) in BODIES.items():
        foreign = await client.post(path.format(**ids), json=filled(body, ids), headers=rival)
        absent = await client.post(path.format(**nothing), json=filled(body, nothing), headers=rival)
        assert (foreign.status_code, absent.status_code) == (404, 404), f"{what}: {foreign.text}"
    assert rows(preceptor) == before


@covers("S2")
async def test_in_filters_they_find_nothing(client: httpx2.AsyncClient, ids: dict[str, str], rival: dict[str, str]):
    for what, path in FILTERS.items():
        answer = await client.get(path.format(**ids), headers=rival)
        assert answer.status_code in {200, 404}, f"{what}: {answer.text}"
        assert answer.status_code == 404 or not answer.json().get("items"), what
        assert CANARY not in answer.text.replace(ids["agent_id"], ""), what


@covers("S2")
async def test_in_cursors_they_lead_to_ones_own_things_only(
    client: httpx2.AsyncClient, ids: dict[str, str], rival: dict[str, str]
):
    await one_of_everything(client, f"{CANARY}-again")
    for path in PAGES:
        first = (await client.get(path, params={"limit": 1})).json()
        assert first["nextCursor"], path
        shown = await client.get(path, params={"cursor": first["nextCursor"]}, headers=rival)
        assert shown.status_code == 200, shown.text
        assert CANARY not in shown.text, path
