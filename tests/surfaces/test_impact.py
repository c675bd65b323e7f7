from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from tests.requirements import covers
from tests.surfaces.helpers import new_key, new_org, problem, rows
from tests.surfaces.test_assignments import CONTENT, PATH, assigned, instruction, revised, told

Json = dict[str, Any]


async def agent(client: httpx2.AsyncClient, name: str, id_: str, pin: str = "latest") -> None:
    assert (await client.post("/api/agents", json={"agentId": name, "name": name})).status_code == 201
    body = {"instructionId": id_, "pin": pin}
    assert (await client.post(f"/api/agents/{name}/instructions", json=body)).status_code == 201


async def asked(client: httpx2.AsyncClient, id_: str, **question: Any) -> Json:
    answer = await client.post(f"/api/instructions/{id_}/impact", json=question)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def imagined(client: httpx2.AsyncClient, **question: Any) -> Json:
    answer = await client.post(f"{PATH}/impact", json=question)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_change_says_which_agents_it_reaches_and_how_before_it_is_made(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    made = await instruction(client)
    for name, pin in (("follows", "latest"), ("ranged", "^1"), ("stays", "exact")):
        await agent(client, name, made["instructionId"], pin)
    for _ in range(3):
        await client.post("/api/conversations", json={"agentId": "follows"})
    archived = (await client.post("/api/conversations", json={"agentId": "follows"})).json()["conversationId"]
    await client.delete(f"/api/conversations/{archived}")
    before = rows(preceptor)
    content = {"guidelines": ["Be brief", "Be kind"]}
    impact = await asked(client, made["familyId"], content=content)
    assert rows(preceptor) == before
    assert (impact["agentsUsing"], impact["openConversations"], impact["nextCursor"]) == (3, 3, None)
    assert [one["agentId"] for one in impact["agents"]] == ["follows", "ranged"]
    first = impact["agents"][0]
    assert (first["versionBefore"], first["versionAfter"], first["openConversations"]) == ("1.0.0", "1.1.0", 3)
    prompt = first["prompt"]
    assert prompt["diff"].startswith("--- before\n+++ after\n@@ ")
    assert [line for line in prompt["diff"].split("\n")[3:] if line[:1] in "+-"] == ["+- Be kind"]
    assert prompt["tokenDifference"] == prompt["tokensAfter"] - prompt["tokensBefore"] > 0
    assert prompt["beforeHash"] == (await effective_of(client, "follows"))["hash"]
    await revised(client, made["familyId"], content=content)
    assert prompt["afterHash"] == (await effective_of(client, "follows"))["hash"]
    assert (await asked(client, made["familyId"], content=content))["agents"] == []


async def effective_of(client: httpx2.AsyncClient, name: str) -> Json:
    return (await client.get(f"/api/agents/{name}/instructions/effective")).json()


async def test_moving_a_label_reaches_those_who_follow_it(client: httpx2.AsyncClient):
    made = await instruction(client)
    second = await revised(client, made["familyId"], content={"tone": "calm"})
    label = f"/api/instructions/{made['familyId']}/labels/production"
    await client.put(label, json={"instructionId": made["instructionId"]})
    await agent(client, "labelled", made["familyId"], "label:production")
    await agent(client, "follows", made["familyId"])
    for version in (second["instructionId"], "1.1.0"):
        impact = await asked(client, made["familyId"], version=version, label="production")
        [one] = impact["agents"]
        assert (one["agentId"], one["versionBefore"], one["versionAfter"]) == ("labelled", "1.0.0", "1.1.0")
    await client.put(label, json={"instructionId": second["instructionId"]})
    assert one["prompt"]["afterHash"] == (await effective_of(client, "labelled"))["hash"]
    fresh = await asked(client, made["familyId"], content={"tone": "brisk"}, label="production")
    assert {one["agentId"] for one in fresh["agents"]} == {"labelled", "follows"}
    assert (await asked(client, made["familyId"], version="1.0.0", label="staging"))["agents"] == []


async def test_going_back_to_a_version_or_bringing_a_draft_into_force_is_imagined_as_well(client: httpx2.AsyncClient):
    made = await instruction(client)
    await agent(client, "follows", made["familyId"])
    await revised(client, made["familyId"], content={"guidelines": ["Be long"]})
    back = await asked(client, made["familyId"], version=made["instructionId"])
    assert [line for line in back["agents"][0]["prompt"]["diff"].split("\n")[3:] if line[:1] in "+-"] == [
        "-- Be long",
        "+- Be brief",
    ]
    restored = await client.post(f"/api/instructions/{made['familyId']}/restore/{made['instructionId']}")
    assert restored.status_code == 201
    assert back["agents"][0]["prompt"]["afterHash"] == (await effective_of(client, "follows"))["hash"]
    assert back["agents"][0]["versionAfter"] == restored.json()["version"]


NONSENSE: dict[str, Json] = {
    "nothing": {},
    "only a label": {"label": "production"},
    "two answers": {"content": {}, "version": "1.0.0"},
    "content that is none": {"content": {"systemPrompt": 1}},
    "a field that is none": {"content": {"colour": "red"}},
    "an unknown field": {"version": "1.0.0", "what": 1},
}


@pytest.mark.parametrize("question", NONSENSE.values(), ids=NONSENSE)
async def test_a_question_that_cannot_be_answered_is_refused(client: httpx2.AsyncClient, question: Json):
    made = await instruction(client)
    problem(await client.post(f"/api/instructions/{made['familyId']}/impact", json=question), 422, "invalid")


async def test_only_ones_own_instructions_and_versions_that_exist_can_be_asked_about(client: httpx2.AsyncClient):
    made = await instruction(client, isPublic=True)
    rival = await new_org(client, "rivals")
    path = f"/api/instructions/{made['familyId']}/impact"
    problem(await client.post(path, json={"version": "1.0.0"}, headers=rival), 404, "not_found")
    problem(await client.post(path, json={"version": "9.9.9"}), 404, "not_found")
    problem(await client.post("/api/instructions/nothing/impact", json={"content": {}}), 404, "not_found")


async def test_many_agents_come_in_pages(client: httpx2.AsyncClient):
    made = await instruction(client)
    for number in range(5):
        await agent(client, f"a{number}", made["familyId"])
    path, question = f"/api/instructions/{made['familyId']}/impact", {"content": {"tone": "calm"}}
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await client.post(f"{path}?limit=2{cursor}", json=question)).json()
        assert page["agentsUsing"] == 5
        seen += [one["agentId"] for one in page["agents"]]
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert seen == [f"a{number}" for number in range(5)]


async def test_an_assignment_is_imagined_changed_and_removed_without_being_made(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    made = await instruction(client)
    before = rows(preceptor)
    new = await imagined(client, instructionId=made["instructionId"])
    assert (new["versionBefore"], new["versionAfter"], new["prompt"]["tokensBefore"]) == (None, "1.0.0", 0)
    assert rows(preceptor) == before
    await assigned(client, made["familyId"])
    assert new["prompt"]["afterHash"] == (await told(client))["hash"]
    custom = {"additionalGuidelines": ["Smile"], "disabledConstraints": ["Stay polite"]}
    more = await imagined(client, instructionId=made["familyId"], customizations=custom)
    changed = [line for line in more["prompt"]["diff"].split("\n")[3:] if line[:1] in "+-"]
    assert changed == ["+- Smile", "-- Stay polite"]
    gone = await imagined(client, instructionId=made["familyId"], remove=True)
    assert (gone["versionAfter"], gone["prompt"]["tokensAfter"]) == (None, 0)
    same = await imagined(client, instructionId=made["familyId"], priority=100)
    assert same["prompt"]["diff"] == ""
    template = await instruction(client, CONTENT, type="template")
    silent = await imagined(client, instructionId=template["familyId"])
    assert ([one["code"] for one in silent["warnings"]], silent["prompt"]["diff"]) == (["template"], "")
    assert (await client.get(PATH)).json()["items"][0]["revision"] == 1


@covers("S6")
async def test_what_may_not_be_done_may_not_be_imagined(client: httpx2.AsyncClient):
    made = await instruction(client)
    editor = await new_key(client, role="editor")
    custom = {"disabledConstraints": ["safe"], "reason": "x"}
    question = {"instructionId": made["familyId"], "customizations": custom}
    problem(await client.post(f"{PATH}/impact", json=question, headers=editor), 403, "forbidden")
    assert (await imagined(client, **question))["versionAfter"] == "1.0.0"
    problem(await client.post(f"{PATH}/impact", json={"instructionId": "nothing"}), 404, "not_found")
    absent = {"instructionId": made["familyId"], "remove": True}
    problem(await client.post(f"{PATH}/impact", json=absent), 404, "not_found")
    problem(await client.post("/api/agents/nobody/instructions/impact", json=question), 404, "not_found")
