from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from tests.requirements import covers
from tests.surfaces.helpers import Json, new_key, new_org, problem, query

PATH = "/api/instructions"


async def made(client: httpx2.AsyncClient, name: str = "Support", **fields: Any) -> Json:
    body = {"name": name, "type": "system", "content": {"systemPrompt": name}} | fields
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def export(client: httpx2.AsyncClient, query: str = "", **options: Any) -> Json:
    answer = await client.get(f"{PATH}/export{query}", **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def bring_in(client: httpx2.AsyncClient, bundle: Json, query: str = "", **options: Any) -> list[tuple[str, str]]:
    answer = await client.post(f"{PATH}/import{query}", json=bundle, **options)
    assert answer.status_code == 200, answer.text
    return [(step["action"], step["version"]) for step in answer.json()["steps"]]


def bare(bundle: Json) -> list[Json]:
    """Without the ids, which each organisation has its own of."""
    return [{key: value for key, value in one.items() if key != "familyId"} for one in bundle["instructions"]]


async def a_library(client: httpx2.AsyncClient) -> Json:
    first = await made(client, "Support", tags=["a"], validationRules={"maxResponseLength": 10})
    revised = await client.put(f"{PATH}/{first['familyId']}", json={"content": {"guidelines": ["x"]}})
    assert revised.status_code == 200
    where = {"instructionId": first["instructionId"]}
    await client.put(f"{PATH}/{first['familyId']}/labels/production", json=where)
    await made(client, "Lời chào", type="template", content={"systemPrompt": "{{who}}"}, variables=[{"name": "who"}])
    await made(client, "Draft", status="draft")
    return first


async def test_a_library_moves_to_another_organisation_whole_and_only_once(client: httpx2.AsyncClient):
    await a_library(client)
    other = await new_org(client, "acme")
    bundle = await export(client)
    assert (bundle["format"], bundle["formatVersion"]) == ("preceptor-library", 1)
    done = await bring_in(client, bundle, headers=other)
    assert sorted(done) == [
        ("add_version", "1.1.0"),
        ("create", "1.0.0"),
        ("create", "1.0.0"),
        ("create", "1.0.0"),
        ("label", "1.0.0"),
    ]
    theirs = await export(client, headers=other)
    assert bare(theirs) == bare(bundle)
    assert {one["familyId"] for one in theirs["instructions"]}.isdisjoint(
        one["familyId"] for one in bundle["instructions"]
    )
    for again in (bundle, theirs):
        assert {action for action, _ in await bring_in(client, again, headers=other)} == {"unchanged"}
    assert await export(client, headers=other) == theirs


async def test_a_dry_run_tells_the_plan_and_does_nothing(client: httpx2.AsyncClient):
    await a_library(client)
    bundle = await export(client)
    other = await new_org(client, "acme")
    assert len(await bring_in(client, bundle, "?dryRun=true", headers=other)) == 5
    assert (await export(client, headers=other))["instructions"] == []


async def test_an_edit_becomes_a_new_version_with_its_changelog(client: httpx2.AsyncClient):
    first = await made(client)
    bundle = await export(client)
    edited = bundle["instructions"][0]["versions"][0]
    edited["content"]["guidelines"] = ["Be brief"]
    edited["changelog"] = "From git"
    assert await bring_in(client, bundle) == [("revise", "1.1.0")]
    [newest, oldest] = (await client.get(f"{PATH}/{first['familyId']}/versions")).json()["items"]
    assert (newest["version"], newest["changelog"], newest["content"]["guidelines"]) == (
        "1.1.0",
        "From git",
        ["Be brief"],
    )
    assert (newest["parentInstructionId"], newest["isLatestVersion"]) == (oldest["instructionId"], True)
    assert oldest["content"]["guidelines"] == []


async def test_where_both_sides_changed_nothing_is_brought_in_until_it_is_forced(client: httpx2.AsyncClient):
    first = await made(client)
    bundle = await export(client)
    bundle["instructions"][0]["versions"][0]["content"]["systemPrompt"] = "Mine"
    bundle["instructions"].append({"versions": [{"name": "New", "type": "task"}]})
    await client.put(f"{PATH}/{first['familyId']}", json={"content": {"systemPrompt": "Theirs"}})
    refused = await client.post(f"{PATH}/import", json=bundle)
    assert "'Support' 1.0.0" in problem(refused, 409, "conflict")["detail"]
    assert len((await export(client))["instructions"]) == 1
    assert await bring_in(client, bundle, "?force=true") == [("revise", "3.0.0"), ("create", "1.0.0")]
    history = (await client.get(f"{PATH}/{first['familyId']}/versions")).json()["items"]
    assert [one["content"]["systemPrompt"] for one in history] == ["Mine", "Theirs", "Support"]


async def test_assignments_come_along_when_they_are_asked_for(client: httpx2.AsyncClient):
    first = await a_library(client)
    given = {"instructionId": first["instructionId"], "pin": "exact", "priority": 7}
    assert (await client.post("/api/agents/assistant/instructions", json=given)).status_code == 201
    assert (await export(client))["assignments"] == []
    bundle = await export(client, "?assignments=true")
    bundle["assignments"].append({"agentId": "nobody", "instruction": first["familyId"]})
    other = await new_org(client, "acme")
    await client.post("/api/agents", json={"agentId": "assistant", "name": "Assistant"}, headers=other)
    done = await bring_in(client, bundle, headers=other)
    assert done[-2:] == [("assign", "1.0.0"), ("skip", None)]
    [theirs] = (await client.get("/api/agents/assistant/instructions", headers=other)).json()["items"]
    assert (theirs["resolvedVersion"], theirs["pin"], theirs["priority"]) == ("1.0.0", "exact", 7)
    assert (await bring_in(client, bundle, headers=other))[-2:] == [("unchanged", "1.0.0"), ("skip", None)]


async def test_assignments_need_leave_to_change_agents(client: httpx2.AsyncClient):
    first = await made(client)
    bundle = await export(client)
    bundle["assignments"] = [{"agentId": "assistant", "instruction": first["familyId"]}]
    key = await new_key(client, permissions=["instruction:read", "instruction:write"])
    problem(await client.post(f"{PATH}/import", json=bundle, headers=key), 403, "forbidden")
    assert (await client.get("/api/agents/assistant/instructions")).json()["items"] == []


async def test_only_the_newest_version_without_history(client: httpx2.AsyncClient):
    await a_library(client)
    bundle = await export(client, "?history=false")
    assert sorted(version["version"] for one in bundle["instructions"] for version in one["versions"]) == [
        "1.0.0",
        "1.0.0",
        "1.1.0",
    ]


async def test_what_is_deleted_does_not_come_back(client: httpx2.AsyncClient):
    first = await made(client)
    await client.delete(f"{PATH}/{first['familyId']}")
    assert (await export(client))["instructions"] == []


async def test_every_change_leaves_a_trace(client: httpx2.AsyncClient, preceptor: Preceptor):
    await a_library(client)
    bundle = await export(client)
    other = await new_org(client, "acme")
    count = "SELECT count(*) FROM events WHERE org = 'acme'"
    before = query(preceptor, count)[0][0]
    done = await bring_in(client, bundle, headers=other)
    assert query(preceptor, count)[0][0] == before + len(done)


async def test_a_bundle_is_brought_in_once_however_often_it_is_sent(client: httpx2.AsyncClient):
    bundle = {"instructions": [{"versions": [{"name": "New", "type": "task"}]}]}
    header = {"Idempotency-Key": "once"}
    first = await client.post(f"{PATH}/import", json=bundle, headers=header)
    again = await client.post(f"{PATH}/import", json=bundle, headers=header)
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"


# Documents


async def effective(client: httpx2.AsyncClient, query: str = "") -> Json:
    answer = await client.get(f"/api/agents/assistant/instructions/effective{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_document_is_told_with_its_source_and_follows_its_newest_version(client: httpx2.AsyncClient):
    policy = await made(client, "Refund policy", type="task", content={"systemPrompt": "30 days."})
    support = await made(client, content={"guidelines": ["Follow @document:refund-policy"]})
    await client.post("/api/agents/assistant/instructions", json={"instructionId": support["familyId"]})
    told = await effective(client)
    assert "@document:refund-policy (version 1.0.0):\n> 30 days." in told["prompt"]
    [source] = [source for source in told["sources"] if source["path"] == "/documents/0"]
    assert (source["instructionId"], source["rule"]) == (policy["instructionId"], "mentioned_document")
    then = told["hash"]
    changed = await client.put(f"{PATH}/{policy['familyId']}", json={"content": {"systemPrompt": "14 days."}})
    told = await effective(client)
    assert "> 14 days." in told["prompt"]
    assert told["hash"] != then
    past = await effective(client, f"?at={changed.json()['createdAt'].replace('Z', '')[:-1]}0Z")
    assert past["documents"][0]["name"] == "refund-policy"
    await client.delete(f"{PATH}/{policy['familyId']}")
    told = await effective(client)
    assert "[@document:refund-policy is not told: there is no such document]" in told["prompt"]
    assert [warning["code"] for warning in told["warnings"]] == ["document_left_out"]


@covers("R94")
async def test_instructions_in_several_languages_and_layers_are_combined(client: httpx2.AsyncClient):
    layers: list[Json] = [
        {"name": "Giá", "type": "task", "content": {"systemPrompt": "Phở: 50.000 đ", "language": "vi"}},
        {"name": "Меню", "type": "task", "content": {"systemPrompt": "Цены: @document:giá", "language": "ru"}},
        {"name": "House", "type": "system", "content": {"systemPrompt": "Use @document:меню", "language": "en"}},
        {"name": "Bilingual", "type": "behavior", "content": {"language": "multilingual", "doList": ["Xin chào"]}},
    ]
    for body in layers:
        made = (await client.post(PATH, json=body)).json()
        if body["type"] != "task":
            await client.post("/api/agents/assistant/instructions", json={"instructionId": made["familyId"]})
    told = await effective(client)
    assert told["language"] == "multilingual"
    assert [(one["name"], one["text"]) for one in told["documents"]] == [
        ("меню", "Цены: @document:giá\n\n## Style\n- Language: ru"),
        ("giá", "Phở: 50.000 đ\n\n## Style\n- Language: vi"),
    ]


@covers("R94")
async def test_a_new_kind_of_instruction_needs_no_change_of_schema(client: httpx2.AsyncClient, preceptor: Preceptor):
    await made(client)
    query(preceptor, "UPDATE instructions SET type = 'a kind of the future'")
    assert query(preceptor, "SELECT type FROM instructions") == [("a kind of the future",)]


async def test_a_document_can_be_named_by_its_ids(client: httpx2.AsyncClient):
    policy = await made(client, "Refund policy", type="task", content={"systemPrompt": "30 days."})
    await client.put(f"{PATH}/{policy['familyId']}", json={"content": {"systemPrompt": "14 days."}})
    both = [f"See @document:{policy['familyId']}", f"See @document:{policy['instructionId']}"]
    support = await made(client, content={"guidelines": both})
    tried = (await client.post(f"{PATH}/{support['familyId']}/test", json={"input": "x"})).json()
    assert "> 14 days." in tried["prompt"]
    assert "> 30 days." in tried["prompt"]


async def test_a_mention_that_could_not_be_told_is_refused_when_it_is_saved(client: httpx2.AsyncClient):
    body = {"name": "x", "type": "task", "content": {"guidelines": ["See @document:nowhere"]}}
    problem(await client.post(PATH, json=body), 422, "unknown_document")
    one = await made(client, "One", content={"systemPrompt": "text"})
    two = await made(client, "Two", content={"systemPrompt": "see @document:one"})
    circle = {"content": {"systemPrompt": "see @document:two"}}
    problem(await client.put(f"{PATH}/{one['familyId']}", json=circle), 422, "cyclic_reference")
    self = {"content": {"systemPrompt": "see @document:two"}}
    problem(await client.put(f"{PATH}/{two['familyId']}", json=self), 422, "cyclic_reference")
    await made(client, "Long", content={"systemPrompt": "word " * 4_000})
    long = {"content": {"guidelines": ["See @document:long"]}}
    problem(await client.put(f"{PATH}/{one['familyId']}", json=long), 422, "token_budget_exceeded")


async def test_another_organisations_document_is_nobodys(client: httpx2.AsyncClient):
    await made(client, "Salaries", content={"systemPrompt": "secret"})
    other = await new_org(client, "acme")
    body = {"name": "x", "type": "task", "content": {"guidelines": ["See @document:salaries"]}}
    problem(await client.post(PATH, json=body, headers=other), 422, "unknown_document")


async def test_a_bundle_brings_its_documents_in_the_right_order(client: httpx2.AsyncClient):
    def saying(name: str, text: str) -> Json:
        return {"versions": [{"name": name, "type": "task", "content": {"systemPrompt": text}}]}

    bundle = {"instructions": [saying("A", "see @document:b"), saying("B", "see @document:c"), saying("C", "end")]}
    assert len(await bring_in(client, bundle)) == 3
    lost = {"instructions": [saying("D", "see @document:nowhere")]}
    problem(await client.post(f"{PATH}/import", json=lost), 422, "unknown_document")


@pytest.mark.parametrize("query", ["?dryRun=perhaps", "?force=2"])
async def test_a_question_that_is_no_question_is_invalid(client: httpx2.AsyncClient, query: str):
    problem(await client.post(f"{PATH}/import{query}", json={"instructions": []}), 422, "invalid")
