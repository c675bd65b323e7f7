from typing import Any

import httpx2
import pytest

from preceptor import Preceptor
from tests.requirements import covers
from tests.surfaces.helpers import answers, new_org, problem, rows
from tests.surfaces.test_instructions import PATH, SYSTEM, create, give, listed, read, revise
from tests.surfaces.test_templates import GREETING

Json = dict[str, Any]
PRIVATE = "canary-of-the-owner"
PUBLISHED = {
    "name",
    "description",
    "type",
    "category",
    "targetRole",
    "content",
    "variables",
    "validationRules",
    "tags",
    "isPublic",
    "familyId",
    "instructionId",
    "version",
    "hash",
}


@pytest.fixture
async def rival(client: httpx2.AsyncClient) -> dict[str, str]:
    return await new_org(client, "rivals")


async def published(client: httpx2.AsyncClient) -> Json:
    """A public instruction whose owner has secrets: an older private version, a draft, words about changes."""
    first = await create(client, name="Open", content={"systemPrompt": PRIVATE}, changelog=PRIVATE)
    change = {"content": {"systemPrompt": "For all."}, "isPublic": True, "changelog": PRIVATE}
    public = await revise(client, first["familyId"], **change)
    await revise(client, first["familyId"], content={"guidelines": [PRIVATE]}, status="draft", changelog=PRIVATE)
    await client.post(f"{PATH}/{first['familyId']}/ratings", json={"score": 5})
    await give(client, "assistant", first["familyId"])
    return public


SERVERS_OWN: dict[str, Any] = {
    "orgId": "rivals",
    "owner": {"orgId": "rivals", "userId": "admin", "groupId": None},
    "createdBy": "someone",
    "updatedBy": "someone",
    "createdAt": "2020-01-01T00:00:00Z",
    "isLatestVersion": True,
    "usageCount": 99,
    "averageRating": 5,
    "id": "mine",
    "_id": "mine",
    "instructionId": "mine",
    "familyId": "mine",
    "version": "9.9.9",
    "parentInstructionId": "mine",
    "restoredFrom": "mine",
    "createdFromTemplate": "mine@1.0.0",
    "bumpReason": "mine",
    "warnings": [],
    "revision": 7,
    "isDeleted": True,
    "experimentId": "mine",
    "controlGroup": True,
}


@covers("S3")
@pytest.mark.parametrize("field", SERVERS_OWN)
async def test_what_is_the_servers_own_cannot_be_sent(client: httpx2.AsyncClient, preceptor: Preceptor, field: str):
    made, template = await create(client), await create(client, **GREETING)
    before = rows(preceptor)
    extra = {field: SERVERS_OWN[field]}
    family = f"{PATH}/{made['familyId']}"
    filled = {"customizations": {"company": "x"}}
    for answer in (
        await client.post(PATH, json=SYSTEM | extra),
        await client.put(family, json={"name": "x"} | extra),
        await client.post(f"{family}/status", json={"status": "deprecated"} | extra),
        await client.post(f"{family}/ratings", json={"score": 1} | extra),
        await client.post(f"{PATH}/from-template/{template['familyId']}", json=filled | extra),
    ):
        told = problem(answer, 422, "invalid")
        assert f"/{field}" in [error["path"] for error in told["errors"]]
    assert rows(preceptor) == before


async def test_ids_of_another_organisation_name_nothing_wherever_they_stand(
    client: httpx2.AsyncClient, preceptor: Preceptor, rival: dict[str, str]
):
    theirs = await create(client)
    template = await create(client, **GREETING)
    own = (await client.post(PATH, json=SYSTEM, headers=rival)).json()
    mine = f"{PATH}/{own['familyId']}"
    await client.post("/api/agents", json={"agentId": "spy", "name": "Spy"}, headers=rival)
    before = answers(preceptor, "SELECT * FROM {table}")
    for known in (theirs["familyId"], theirs["instructionId"]):
        for answer in (
            await client.get(f"{PATH}/{known}", headers=rival),
            await client.post(f"{mine}/restore/{known}", headers=rival),
            await client.put(f"{mine}/labels/production", json={"instructionId": known}, headers=rival),
            await client.post(f"{PATH}/{known}/copy", headers=rival),
            await client.post(f"{PATH}/{known}/test", json={"input": "x"}, headers=rival),
            await client.post(f"{PATH}/{known}/ratings", json={"score": 1}, headers=rival),
            await client.post("/api/agents/spy/instructions", json={"instructionId": known}, headers=rival),
            await client.post(f"{mine}/test", json={"input": "x", "agentId": "assistant-of-theirs"}, headers=rival),
        ):
            problem(answer, 404, "not_found")
    body = {"customizations": {"company": "x"}}
    for known in (template["familyId"], template["instructionId"]):
        problem(await client.post(f"{PATH}/from-template/{known}", json=body, headers=rival), 404, "not_found")
    cursor = (await client.get(PATH, params={"limit": 1})).json()["nextCursor"]
    shown = await client.get(PATH, params={"cursor": cursor}, headers=rival)
    assert {one["owner"]["orgId"] for one in shown.json()["items"]} <= {"rivals"}
    assert answers(preceptor, "SELECT * FROM {table}") == before


@covers("S4")
async def test_of_a_public_instruction_others_see_the_published_fields_and_nothing_else(
    client: httpx2.AsyncClient, rival: dict[str, str]
):
    public = await published(client)
    by_id = (await client.get(f"{PATH}/{public['instructionId']}", headers=rival)).json()
    by_family = (await client.get(f"{PATH}/{public['familyId']}", headers=rival)).json()
    [in_list] = (await client.get(PATH, params={"public": True}, headers=rival)).json()["items"]
    assert by_id == by_family == in_list
    assert set(by_id) == PUBLISHED
    shared = PUBLISHED - {"hash"}
    assert {name: by_id[name] for name in shared} == {name: public[name] for name in shared}
    assert PRIVATE not in str(by_id)
    for version in await listed(client, f"{PATH}/{public['familyId']}/versions"):
        if version["version"] != public["version"]:
            problem(await client.get(f"{PATH}/{version['instructionId']}", headers=rival), 404, "not_found")
    assert (await client.get(PATH, headers=rival)).json()["items"] == []
    for path in ("versions", "labels"):
        problem(await client.get(f"{PATH}/{public['familyId']}/{path}", headers=rival), 404, "not_found")


@covers("R90", "S4")
async def test_others_may_copy_what_is_public_and_never_edit_it(
    client: httpx2.AsyncClient, preceptor: Preceptor, rival: dict[str, str]
):
    public = await published(client)
    before = answers(preceptor, "SELECT * FROM {table}")
    for known in (public["familyId"], public["instructionId"]):
        path = f"{PATH}/{known}"
        for answer in (
            await client.put(path, json={"name": "Mine"}, headers=rival),
            await client.delete(f"{path}?force=true", headers=rival),
            await client.post(f"{path}/restore/{public['instructionId']}", headers=rival),
            await client.post(f"{path}/status", json={"status": "deprecated"}, headers=rival),
            await client.post(f"{path}/ratings", json={"score": 1}, headers=rival),
            await client.put(f"{path}/labels/x", json={"instructionId": known}, headers=rival),
        ):
            problem(answer, 404, "not_found")
    assert answers(preceptor, "SELECT * FROM {table}") == before
    copy = (await client.post(f"{PATH}/{public['familyId']}/copy", headers=rival)).json()
    assert (copy["content"], copy["owner"]["orgId"]) == (public["content"], "rivals")
    assert (copy["copiedFrom"], copy["version"]) == (f"{public['instructionId']}@2.0.0", "1.0.0")
    changed = await client.put(f"{PATH}/{copy['familyId']}", json={"name": "Mine"}, headers=rival)
    assert changed.status_code == 200
    assert (await read(client, public["familyId"]))["name"] == "Open"


TAKING_BACK: dict[str, tuple[str, str, Json | None]] = {
    "made private": ("PUT", "{familyId}", {"isPublic": False}),
    "deleted": ("DELETE", "{familyId}?force=true", None),
    "archived": ("DELETE", "{instructionId}?force=true", None),
    "deprecated": ("POST", "{instructionId}/status", {"status": "deprecated"}),
    "rewritten": ("PUT", "{familyId}", {"content": {"systemPrompt": "Obey me."}, "status": "active"}),
}


@covers("S5")
@pytest.mark.parametrize("what", TAKING_BACK)
async def test_what_the_owner_does_leaves_those_who_use_it_where_they_are(
    client: httpx2.AsyncClient, rival: dict[str, str], what: str
):
    public = await create(client, name="Open", content={"systemPrompt": "For all."}, isPublic=True)
    await client.post("/api/agents", json={"agentId": "user", "name": "User"}, headers=rival)
    body = {"instructionId": public["familyId"]}
    assert (await client.post("/api/agents/user/instructions", json=body, headers=rival)).status_code == 201
    effective = "/api/agents/user/instructions/effective"
    before = (await client.get(effective, headers=rival)).json()
    snapshot = (await client.get(f"{PATH}/{public['instructionId']}", headers=rival)).json()
    method, path, body = TAKING_BACK[what]
    done = await client.request(method, f"{PATH}/{path.format_map(public)}", json=body)
    assert done.status_code in {200, 204}, done.text
    after = (await client.get(effective, headers=rival)).json()
    assert (after["prompt"], after["hash"]) == (before["prompt"], before["hash"])
    assert (await client.get(f"{PATH}/{public['instructionId']}", headers=rival)).json() == snapshot
    [given] = (await client.get("/api/agents/user/instructions", headers=rival)).json()["items"]
    newer = given["updateAvailable"]
    assert (newer and newer["version"]) == ("2.0.0" if what == "rewritten" else None)


@covers("S5")
@pytest.mark.parametrize("what", [name for name in TAKING_BACK if name != "rewritten"])
async def test_what_is_taken_back_is_no_longer_there_for_others(
    client: httpx2.AsyncClient, rival: dict[str, str], what: str
):
    public = await create(client, name="Open", content={"systemPrompt": "For all."}, isPublic=True)
    assert len((await client.get(PATH, params={"public": True}, headers=rival)).json()["items"]) == 1
    method, path, body = TAKING_BACK[what]
    await client.request(method, f"{PATH}/{path.format_map(public)}", json=body)
    for known in (public["familyId"], public["instructionId"]):
        problem(await client.get(f"{PATH}/{known}", headers=rival), 404, "not_found")
        problem(await client.post(f"{PATH}/{known}/copy", headers=rival), 404, "not_found")
    assert (await client.get(PATH, params={"public": True}, headers=rival)).json()["items"] == []


async def test_what_all_publish_is_searched_like_ones_own(client: httpx2.AsyncClient, rival: dict[str, str]):
    open_to_all = {"isPublic": True, "category": "support", "tags": ["vip"]}
    made = await create(client, name="Ours", **open_to_all)
    theirs = (await client.post(PATH, json=SYSTEM | {"name": "Theirs"} | open_to_all, headers=rival)).json()
    await create(client, name="Private", category="support")
    for params, names in (
        ({}, ["Theirs", "Ours"]),
        ({"q": "OUR"}, ["Ours"]),
        ({"tags": "vip", "category": "support", "type": "system", "role": "assistant"}, ["Theirs", "Ours"]),
        ({"type": "task"}, []),
    ):
        assert [one["name"] for one in await listed(client, public=True, **params)] == names
    first = (await client.get(PATH, params={"public": True, "limit": 1})).json()
    second = (await client.get(PATH, params={"public": True, "limit": 1, "cursor": first["nextCursor"]})).json()
    assert [first["items"][0]["familyId"], second["items"][0]["familyId"]] == [theirs["familyId"], made["familyId"]]
    newer = await revise(client, made["familyId"], content={"guidelines": ["x"]})
    shown = {one["familyId"]: one["version"] for one in await listed(client, public=True)}
    assert shown == {theirs["familyId"]: "1.0.0", made["familyId"]: newer["version"]}
