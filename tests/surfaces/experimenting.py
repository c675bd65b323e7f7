"""Experiments over HTTP, with real turns."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2

Json = dict[str, Any]
PATH = "/api/instructions/experiments"
CONTROL, VARIANT = "Answer briefly.", "Answer at length."


async def versions(client: httpx2.AsyncClient, pin: str = "latest", agent: str = "assistant") -> tuple[Json, Json]:
    """Two versions of one instruction, which the agent follows."""
    new = {"name": "Manner", "type": "system", "content": {"systemPrompt": CONTROL}}
    first = (await client.post("/api/instructions", json=new)).json()
    if pin.startswith("label:"):
        where = f"/api/instructions/{first['familyId']}/labels/{pin.removeprefix('label:')}"
        assert (await client.put(where, json={"instructionId": first["instructionId"]})).status_code == 200
    body = {"instructionId": first["familyId"], "pin": pin}
    given = await client.post(f"/api/agents/{agent}/instructions", json=body)
    assert given.status_code == 201, given.text
    changed = await client.put(f"/api/instructions/{first['familyId']}", json={"content": {"systemPrompt": VARIANT}})
    return first, changed.json()


async def begun(client: httpx2.AsyncClient, **more: Any) -> Json:
    made = await client.post(PATH, json={"name": "Length", "agentIds": ["assistant"], **more})
    assert made.status_code == 201, made.text
    return made.json()


async def between(client: httpx2.AsyncClient, arms: tuple[Json, Json], **more: Any) -> Json:
    ids = {"controlInstructionId": arms[0]["instructionId"], "variantInstructionId": arms[1]["instructionId"]}
    return await begun(client, **ids, **more)


async def talk(client: httpx2.AsyncClient, text: str = "Hello.", agent: str = "assistant", **more: Any) -> Json:
    """One turn in a conversation of its own, or in the one that is named."""
    named = more.pop("conversation", None)
    if named is None:
        named = (await client.post("/api/conversations", json={"agentId": agent})).json()["conversationId"]
    answer = await client.post(f"/api/conversations/{named}/messages", json={"content": text, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def arms_of(client: httpx2.AsyncClient, turn: Json) -> list[Json]:
    return (await client.get(f"/api/turns/{turn['turnId']}")).json()["pins"].get("experiments", [])


async def results(client: httpx2.AsyncClient, experiment: Json) -> Json:
    answer = await client.get(f"{PATH}/{experiment['experimentId']}/results")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def after(client: httpx2.AsyncClient, experiment: Json, what: str, status: int = 200) -> Json:
    answer = await client.post(f"{PATH}/{experiment['experimentId']}/{what}")
    assert answer.status_code == status, answer.text
    return answer.json()


async def in_both_arms(client: httpx2.AsyncClient, least: int = 8) -> AsyncGenerator[tuple[Json, str]]:
    """Turns in conversations of their own, each with its arm: so many at least, and until both arms had some."""
    seen: set[str] = set()
    for number in range(100):
        if number >= least and len(seen) == 2:
            return
        turn = await talk(client)
        [enrolled] = await arms_of(client, turn)
        seen.add(enrolled["arm"])
        yield turn, enrolled["arm"]
    raise AssertionError("a hundred conversations in one arm: that is no coincidence")
