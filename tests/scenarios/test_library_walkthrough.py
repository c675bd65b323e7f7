"""From nothing to what an agent is told, over HTTP alone."""

from typing import Any

import httpx2

from tests.domain.instructions import BILINGUAL, POLITE, REVIEW, SUPPORT
from tests.requirements import covers

Json = dict[str, Any]


async def created(client: httpx2.AsyncClient, path: str, body: Json) -> Json:
    answer = await client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def instruction(client: httpx2.AsyncClient, name: str, type_: str, content: Json, **more: Any) -> str:
    body = {"name": name, "type": type_, "content": content} | more
    return (await created(client, "/api/instructions", body))["instructionId"]


async def agent_with(client: httpx2.AsyncClient, agent_id: str, *ids: str) -> Json:
    """A new agent with these instructions, in this order, and what it is told."""
    await created(client, "/api/agents", {"agentId": agent_id, "name": agent_id})
    for priority, id_ in enumerate(ids, 1):
        body = {"instructionId": id_, "priority": priority}
        await created(client, f"/api/agents/{agent_id}/instructions", body)
    return await told(client, agent_id)


async def told(client: httpx2.AsyncClient, agent_id: str) -> Json:
    answer = await client.get(f"/api/agents/{agent_id}/instructions/effective")
    assert answer.status_code == 200, answer.text
    return answer.json()


@covers("R107", "R111", "R116", "R118")
async def test_the_five_steps_from_two_instructions_to_what_an_agent_is_told(client: httpx2.AsyncClient):
    system = await created(
        client,
        "/api/instructions",
        {
            "name": "Support, who we are",
            "type": "system",
            "category": "support",
            "content": {
                "systemPrompt": "You help the customers of a small shop.",
                "guidelines": ["Say hello first", "Take worries seriously"],
                "constraints": ["Keep passwords to yourself"],
            },
        },
    )
    behavior = await created(
        client,
        "/api/instructions",
        {
            "name": "Polite in Vietnamese",
            "type": "behavior",
            "content": {
                "tone": "professional",
                "language": "vi",
                "doList": ["Gọi 'anh/chị'"],
                "dontList": ["Nói lóng"],
            },
        },
    )
    agent = {"agentId": "agent-support-001", "name": "Support", "role": "assistant"}
    assert (await created(client, "/api/agents", agent))["agentId"] == "agent-support-001"
    path = "/api/agents/agent-support-001/instructions"
    first = await created(client, path, {"instructionId": system["instructionId"], "priority": 1})
    second = await created(client, path, {"instructionId": behavior["instructionId"], "priority": 2})
    assert (first["resolvedVersion"], second["priority"]) == ("1.0.0", 2)
    effective = await told(client, "agent-support-001")
    assert {name: effective[name] for name in ("agentId", "systemPrompt", "guidelines", "constraints")} == {
        "agentId": "agent-support-001",
        "systemPrompt": "You help the customers of a small shop.",
        "guidelines": ["Say hello first", "Take worries seriously"],
        "constraints": ["Keep passwords to yourself"],
    }
    assert (effective["tone"], effective["language"], effective["doList"], effective["dontList"]) == (
        "professional",
        "vi",
        ["Gọi 'anh/chị'"],
        ["Nói lóng"],
    )
    assert {source["instructionId"] for source in effective["sources"]} == {
        system["instructionId"],
        behavior["instructionId"],
    }


@covers("R120")
async def test_a_support_agent_is_polite_in_vietnamese(client: httpx2.AsyncClient):
    support = await instruction(client, "Support", "system", SUPPORT)
    polite = await instruction(client, "Polite", "behavior", POLITE)
    effective = await agent_with(client, "support", support, polite)
    assert effective["systemPrompt"] == SUPPORT["systemPrompt"]
    assert (effective["tone"], effective["language"], effective["formality"]) == ("friendly", "vi", "formal")
    assert effective["doList"] == ["Xin lỗi vì sự bất tiện", "Xưng 'em', gọi 'anh/chị'"]
    assert effective["constraints"] == ["Không hứa hoàn tiền", "Không bao giờ chia sẻ mật khẩu"]
    assert [conflict["path"] for conflict in effective["conflicts"]] == ["/tone"]
    assert effective["prompt"].endswith("- Không bao giờ chia sẻ mật khẩu")


@covers("R120", "R87", "R91")
async def test_a_code_reviewer_has_five_steps_two_of_them_optional_and_its_signs(client: httpx2.AsyncClient):
    review = await instruction(client, "Review", "task", REVIEW, category="coding", targetRole="reviewer")
    effective = await agent_with(client, "reviewer", review)
    steps = [(step["order"], step["name"], step["optional"]) for step in effective["steps"]]
    assert steps == [
        (1, "Quality", False),
        (2, "Security", False),
        (3, "Tests", False),
        (4, "Speed", True),
        (5, "Documents", True),
    ]
    assert effective["validationRules"] == {
        "maxResponseLength": None,
        "requiredKeywords": ["✅", "❌", "⚠️"],
        "prohibitedKeywords": ["LGTM without review"],
        "mode": "report",
    }


@covers("R120")
async def test_a_bilingual_agent_speaks_both_languages(client: httpx2.AsyncClient):
    both = await instruction(client, "Vietnamese and English", "behavior", BILINGUAL)
    support = await instruction(client, "Support", "system", SUPPORT)
    effective = await agent_with(client, "bilingual", support, both)
    assert effective["language"] == "multilingual"
    assert effective["guidelines"][2:] == BILINGUAL["guidelines"]
    assert [example["input"] for example in effective["examples"]][1:] == [
        "Hello, I need help",
        "Xin chào, em cần hỗ trợ",
    ]


@covers("R95")
async def test_one_change_reaches_every_agent_without_touching_any(client: httpx2.AsyncClient):
    support = await instruction(client, "Support", "system", SUPPORT)
    for name in ("one", "two", "three"):
        await agent_with(client, name, support)
    changed = await client.put(f"/api/instructions/{support}", json={"content": {"systemPrompt": "Xin chào!"}})
    assert changed.status_code == 200
    assert [(await told(client, name))["systemPrompt"] for name in ("one", "two", "three")] == ["Xin chào!"] * 3
