import httpx2

from preceptor import Preceptor
from preceptor.domain.log import ORG_STREAM
from tests.surfaces.helpers import bearer, new_key, problem

ACME = {"orgId": "acme", "name": "Acme"}


async def test_a_new_organisation_comes_with_the_key_of_its_first_admin(client: httpx2.AsyncClient):
    founded = (await client.post("/api/orgs", json=ACME)).json()
    admin = bearer(founded["adminKey"])
    assert [user["userId"] for user in (await client.get("/api/users", headers=admin)).json()["items"]] == ["admin"]
    made = await client.post("/api/agents", json={"name": "Ours"}, headers=admin)
    assert made.json()["owner"] == {"orgId": "acme", "userId": "admin", "groupId": None}
    problem(await client.get(f"/api/agents/{made.json()['agentId']}"), 404, "not_found")


async def test_the_admin_of_an_organisation_does_not_run_the_installation(client: httpx2.AsyncClient):
    admin = bearer((await client.post("/api/orgs", json=ACME)).json()["adminKey"])
    problem(await client.post("/api/orgs", json={"orgId": "more", "name": "More"}, headers=admin), 403, "forbidden")


async def test_lists_of_organisations_and_keys_never_show_a_key(client: httpx2.AsyncClient):
    founded = (await client.post("/api/orgs", json=ACME)).json()
    admin = bearer(founded["adminKey"])
    lists = [await client.get("/api/orgs"), await client.get("/api/keys", headers=admin)]
    assert [founded["adminKey"] in shown.text for shown in lists] == [False, False]


async def test_founding_an_organisation_is_in_its_own_audit_trail(client: httpx2.AsyncClient, preceptor: Preceptor):
    admin = bearer((await client.post("/api/orgs", json=ACME)).json()["adminKey"])
    assert (await client.post("/api/agents", json={"name": "Ours"}, headers=admin)).status_code == 201
    gate = await preceptor.access.by_key(admin["Authorization"].removeprefix("Bearer "))
    events = await preceptor.acting_as(gate).session.read(lambda work: work.log.after(ORG_STREAM, 0, 10))
    assert [event.kind for event in events] == ["org.created", "agent.created"]


async def test_a_key_for_another_user_acts_for_that_user(client: httpx2.AsyncClient):
    await client.post("/api/users", json={"userId": "ann", "name": "Ann"})
    ann = await new_key(client, role="viewer", userId="ann")
    mine = (await client.post("/api/conversations", json={"agentId": "assistant"}, headers=ann)).json()
    other = (await client.post("/api/conversations", json={"agentId": "assistant"})).json()
    assert mine["owner"]["userId"] == "ann"
    seen = (await client.get("/api/conversations", headers=ann)).json()["items"]
    assert [conversation["conversationId"] for conversation in seen] == [mine["conversationId"]]
    problem(await client.get(f"/api/conversations/{other['conversationId']}", headers=ann), 404, "not_found")


async def test_a_key_that_may_less_than_its_maker_sees_only_conversations_of_its_own(client: httpx2.AsyncClient):
    held = {"mine": {}} | {name: await new_key(client, role="viewer") for name in ("one", "other")}
    said: dict[str, str] = {}
    for name, key in held.items():
        made = await client.post("/api/conversations", json={"agentId": "assistant"}, headers=key)
        said[name] = made.json()["conversationId"]
    for name in ("one", "other"):
        seen = (await client.get("/api/conversations", headers=held[name])).json()["items"]
        assert [conversation["conversationId"] for conversation in seen] == [said[name]]
        for path in (said[where] for where in held if where != name):
            problem(await client.get(f"/api/conversations/{path}/messages", headers=held[name]), 404, "not_found")
    for more, holder in ({"role": "admin"}, "admin"), ({"role": "viewer", "userId": "admin"}, "admin"):
        assert (await client.post("/api/keys", json={"name": "k"} | more)).json()["userId"] == holder


async def test_a_key_for_someone_else_needs_leave_and_a_user_that_exists(client: httpx2.AsyncClient):
    wanted = {"name": "k", "permissions": ["agent:read"], "userId": "ann"}
    problem(await client.post("/api/keys", json=wanted), 404, "not_found")
    await client.post("/api/users", json={"userId": "ann", "name": "Ann"})
    clerk = await new_key(client, permissions=["key:manage", "agent:read"])
    problem(await client.post("/api/keys", json=wanted, headers=clerk), 403, "forbidden")
    assert (await client.post("/api/keys", json=wanted)).json()["userId"] == "ann"
