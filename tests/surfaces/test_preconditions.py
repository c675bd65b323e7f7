import asyncio
from collections.abc import AsyncGenerator

import httpx2
import pytest

from preceptor import Preceptor, Settings, open_preceptor
from tests.conftest import NOBODY, client_of
from tests.surfaces.helpers import Json, app_of, problem, rows

THINGS = {
    "an agent": ("/api/agents", {"name": "x"}, "agentId", "name"),
    "a conversation": ("/api/conversations", {"agentId": "assistant"}, "conversationId", "title"),
}
MANY = 16


class Thing:
    """Something with a revision, and one field of it that is changed."""

    def __init__(self, client: httpx2.AsyncClient, path: str, field: str) -> None:
        self.client, self.path, self.field = client, path, field

    async def read(self) -> httpx2.Response:
        return await self.client.get(self.path)

    async def change(self, text: str, *if_match: str) -> httpx2.Response:
        headers = [("If-Match", tag) for tag in if_match]
        return await self.client.patch(self.path, json={self.field: text}, headers=headers)


@pytest.fixture(params=THINGS.values(), ids=list(THINGS))
async def thing(client: httpx2.AsyncClient, request: pytest.FixtureRequest) -> Thing:
    path, body, id_name, field = request.param
    made = await client.post(path, json=body)
    assert made.headers["etag"] == '"1"'
    return Thing(client, f"{path}/{made.json()[id_name]}", field)


async def test_a_change_of_what_was_read_succeeds_and_gets_a_new_tag(thing: Thing):
    read = await thing.read()
    changed = await thing.change("new", read.headers["etag"])
    assert (changed.status_code, changed.headers["etag"], changed.json()["revision"]) == (200, '"2"', 2)
    assert (await thing.read()).content == changed.content


async def test_a_stale_tag_is_refused_and_told_the_current_one(thing: Thing):
    await thing.change("first", '"1"')
    before = await thing.read()
    refused = await thing.change("second", '"1"')
    assert '"2"' in problem(refused, 412, "precondition_failed")["detail"]
    assert refused.headers["etag"] == '"2"'
    assert (await thing.read()).content == before.content


FRESH = {
    "any": ("*",),
    "several": ('"7", "1"',),
    "several without spaces": ('"7","1","8"',),
    "several headers": ('"7"', '"1"'),
    "none": (),
}
STALE = {
    "a weak one": ('W/"1"',),
    "another": ('"01"',),
    "empty": ('""',),
    "several": ('"2", "3"',),
    "several headers": ('"2"', '"3"'),
}
MALFORMED = {
    "no quotes": ("1",),
    "half": ('"1',),
    "text": ('"1" or so',),
    "any among others": ('"1", *',),
    "blank": ("",),
}


@pytest.mark.parametrize("tags", FRESH.values(), ids=FRESH)
async def test_a_tag_among_several_any_tag_and_no_tag_let_a_change_through(thing: Thing, tags: tuple[str, ...]):
    assert (await thing.change("new", *tags)).json()["revision"] == 2


@pytest.mark.parametrize("tags", STALE.values(), ids=STALE)
async def test_a_tag_that_is_not_the_current_one_is_refused(thing: Thing, tags: tuple[str, ...]):
    problem(await thing.change("new", *tags), 412, "precondition_failed")


@pytest.mark.parametrize("tags", MALFORMED.values(), ids=MALFORMED)
async def test_a_tag_that_is_none_is_not_taken_for_stale(thing: Thing, tags: tuple[str, ...]):
    problem(await thing.change("new", *tags), 422, "invalid")


async def test_of_sixteen_changes_of_the_same_revision_one_succeeds(thing: Thing):
    answers = await asyncio.gather(*(thing.change(str(number), '"1"') for number in range(MANY)))
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * (MANY - 1)
    [won] = [answer for answer in answers if answer.status_code == 200]
    assert (await thing.read()).content == won.content
    assert {answer.headers["etag"] for answer in answers} == {'"2"'}


async def test_sixteen_changes_without_a_tag_all_succeed_one_after_the_other(thing: Thing):
    answers = await asyncio.gather(*(thing.change(str(number)) for number in range(MANY)))
    assert {answer.status_code for answer in answers} == {200}
    assert sorted(answer.json()["revision"] for answer in answers) == list(range(2, MANY + 2))
    last = max(answers, key=lambda answer: answer.json()["revision"])
    assert (await thing.read()).content == last.content


@pytest.fixture
async def strict_client(settings: Settings) -> AsyncGenerator[httpx2.AsyncClient]:
    strict = settings.model_copy(update={"require_if_match": True})
    async with open_preceptor(strict) as preceptor, client_of(preceptor) as client:
        yield client


async def test_a_server_that_wants_tags_refuses_a_change_without_one(strict_client: httpx2.AsyncClient):
    for path, body, id_name, field in THINGS.values():
        made = await strict_client.post(path, json=body)
        thing = Thing(strict_client, f"{path}/{made.json()[id_name]}", field)
        problem(await thing.change("new"), 428, "precondition_required")
        assert (await thing.change("new", '"1"')).status_code == 200
        assert (await thing.change("new", "*")).status_code == 200


async def test_stale_changes_are_counted_for_those_who_watch(client: httpx2.AsyncClient):
    counted = "preceptor_preconditions_failed_total"
    before = (await client.get("/metrics")).text
    await client.patch("/api/agents/assistant", json={"name": "New"}, headers={"If-Match": '"99"'})
    after = (await client.get("/metrics")).text
    assert (f"{counted} 0.0" in before, f"{counted} 1.0" in after) == (True, True)


@pytest.mark.parametrize("body", [{}, {"title": "Same"}], ids=["nothing", "what it is already"])
async def test_a_change_of_nothing_changes_nothing_and_leaves_others_their_etag(
    client: httpx2.AsyncClient, preceptor: Preceptor, body: dict[str, str]
):
    new = {"agentId": "assistant", "title": "Same", "versionPolicy": "pin", "metadata": {"a": 1}}
    conversation = (await client.post("/api/conversations", json=new)).json()
    agent = (await client.post("/api/agents", json={"agentId": "a", "name": "Same", "tools": ["calculator"]})).json()
    before = rows(preceptor)
    path = f"/api/conversations/{conversation['conversationId']}"
    same = await client.patch(path, json=body)
    assert (same.status_code, same.json(), same.headers["etag"]) == (200, conversation, '"1"')
    same = await client.patch("/api/agents/a", json={"name": body["title"]} if body else {})
    assert (same.status_code, same.json(), same.headers["etag"]) == (200, agent, '"1"')
    assert rows(preceptor) == before
    problem(await client.patch(path, json=body, headers={"If-Match": '"7"'}), 412, "precondition_failed")


async def test_nothing_is_removed_that_has_changed_since_it_was_read(client: httpx2.AsyncClient):
    made = [
        ("/api/conversations", {"agentId": "assistant"}, "conversationId", {"title": "New"}),
        ("/api/webhooks", {"url": NOBODY}, "webhookId", {"enabled": False}),
        ("/api/providers", {"providerId": "own", "kind": "anthropic", "url": NOBODY}, "providerId", {"apiKey": "k"}),
        ("/api/mcp-servers", {"serverId": "own", "url": NOBODY}, "serverId", {"apiKey": "k"}),
    ]
    for path, new, name, change in made:
        created = await client.post(path, json=new)
        one = f"{path}/{created.json()[name]}"
        changed = await client.patch(one, json=change)
        stale = await client.delete(one, headers={"If-Match": created.headers["etag"]})
        problem(stale, 412, "precondition_failed")
        assert (await client.get(one)).status_code == 200
        assert (await client.delete(one, headers={"If-Match": changed.headers["etag"]})).status_code == 204


async def test_the_document_says_which_answers_carry_an_etag(client: httpx2.AsyncClient):
    paths = app_of(client).openapi()["paths"]
    own, theirs = paths["/api/agents/{agent_id}"], paths["/api/instructions/{instruction_id}"]
    assert own["get"]["responses"]["200"]["headers"]["ETag"] == {"$ref": "#/components/headers/ETag"}
    assert theirs["get"]["responses"]["200"]["headers"]["ETag"]["required"] is False


async def test_a_change_of_nothing_leaves_what_an_organisation_connects_and_assigns_as_it_is(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    hook = (await client.post("/api/webhooks", json={"url": NOBODY, "events": ["turn.blocked"]})).json()["webhookId"]
    for path, new in {
        "/api/providers": {"providerId": "own", "kind": "openai-compatible", "url": NOBODY},
        "/api/mcp-servers": {"serverId": "own", "url": NOBODY},
        "/api/agents": {"agentId": "a", "name": "A"},
    }.items():
        assert (await client.post(path, json=new)).status_code == 201
    written = {"name": "x", "type": "system", "content": {"systemPrompt": "x"}}
    family = (await client.post("/api/instructions", json=written)).json()["familyId"]
    given = {"instructionId": family, "customizations": {"additionalGuidelines": ["Be kind."]}}
    assert (await client.post("/api/agents/a/instructions", json=given)).status_code == 201
    before = rows(preceptor)
    guidelines = given["customizations"]
    changes: list[tuple[str, str, list[Json]]] = [
        ("PATCH", "/api/providers/own", [{}, {"url": NOBODY}, {"apiKey": None}]),
        ("PATCH", "/api/mcp-servers/own", [{}, {"url": NOBODY}, {"apiKey": None}]),
        ("PUT", "/api/mcp-servers/own/tools", [{"tools": []}]),
        ("PATCH", f"/api/webhooks/{hook}", [{}, {"enabled": True}, {"events": ["turn.blocked", "turn.blocked"]}]),
        ("PUT", f"/api/agents/a/instructions/{family}", [{}, {"pin": "latest"}, {"customizations": guidelines}]),
    ]
    for method, path, bodies in changes:
        read = (await client.get(path.removesuffix("/tools"))).json()
        for body in bodies:
            same = await client.request(method, path, json=body)
            assert (same.status_code, same.json(), same.headers["etag"]) == (200, read, '"1"'), (path, body)
    assert rows(preceptor) == before


async def test_a_key_that_is_entered_again_counts_as_a_change(client: httpx2.AsyncClient):
    new = {"providerId": "own", "kind": "openai-compatible", "url": NOBODY, "apiKey": "k"}
    assert (await client.post("/api/providers", json=new)).headers["etag"] == '"1"'
    for body, etag, has_key in (({"apiKey": "k"}, '"2"', True), ({"apiKey": None}, '"3"', False)):
        changed = await client.patch("/api/providers/own", json=body)
        assert (changed.headers["etag"], changed.json()["hasKey"]) == (etag, has_key)
