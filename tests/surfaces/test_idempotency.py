import asyncio
import os

import httpx2
import pytest

from preceptor import Preceptor
from preceptor.domain.ownership import Role
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Once, Replayed
from tests.requirements import covers
from tests.surfaces.helpers import (
    app_of,
    bearer,
    insert_key,
    new_org,
    one_of_everything,
    operations,
    problem,
    query,
    rows,
    until_ended,
)

ROUNDS = 2000 if os.environ.get("PRECEPTOR_NIGHTLY") else 20
DAY = 24 * 3600 * 1_000_000
AGENT = {"agentId": "once", "name": "Once"}
KEY = {"Idempotency-Key": "a-key"}
DRY = {
    "assignments_impact",
    "impact_ask",
    "instructions_test",
    "mcp_speak",
    "providers_test",
    "reasoning_back_test",
    "reasoning_test",
    "webhooks_test",
}
"""What changes nothing is carried out each time it is asked for."""
REPLAYED = "idempotent-replayed"


@covers("F14")
async def test_every_post_is_carried_out_once_and_answered_alike(client: httpx2.AsyncClient, preceptor: Preceptor):
    posts = [one for one in operations(app_of(client)) if one.method == "POST" and one.id not in DRY]
    assert len(posts) > 5
    ids = await one_of_everything(client, "shared")
    for operation in posts:
        path, sent = operation.at(ids), operation.sent(ids)
        key = {"Idempotency-Key": operation.id}
        first = await client.post(path, headers=key, **sent)
        if first.status_code == 202:
            await until_ended(client, first)
        before = rows(preceptor)
        again = await client.post(path, headers=key, **sent)
        assert (first.status_code, again.status_code) == (operation.status, operation.status), first.text
        assert again.content == first.content, operation.id
        for header in ("etag", "location"):
            assert again.headers.get(header) == first.headers.get(header), operation.id
        assert (first.headers.get(REPLAYED), again.headers.get(REPLAYED)) == (None, "true"), operation.id
        assert rows(preceptor) == before


async def test_what_goes_on_by_itself_is_answered_with_where_to_read_how_far_it_is(client: httpx2.AsyncClient):
    ids = await one_of_everything(client, "shared")
    paths = app_of(client).openapi()["paths"]
    begun = [one for one in operations(app_of(client)) if one.status == 202 and one.id != "mcp_speak"]
    assert {one.id for one in begun} == {"executions_create", "executions_retry", "replays_create", "replays_run_gate"}
    for one in begun:
        answer = await client.post(one.at(ids), headers={"Idempotency-Key": one.id}, **one.sent(ids))
        read = await client.get(answer.headers["location"])
        kind = "execution" if "executionId" in answer.json() else "replay"
        assert (read.status_code, read.json()[f"{kind}Id"]) == (200, answer.json()[f"{kind}Id"])
        assert "Location" in paths[one.path]["post"]["responses"]["202"]["headers"]
        await until_ended(client, answer)


async def test_a_message_for_later_that_is_sent_again_is_answered_alike_and_said_to_be_so(client: httpx2.AsyncClient):
    made = await client.post("/api/conversations", json={"agentId": "assistant"})
    path, later = f"/api/conversations/{made.json()['conversationId']}/messages", {"content": "Hi", "background": True}
    first = await client.post(path, json=later, headers=KEY)
    await client.post(path.replace("messages", "cancel"))
    again = await client.post(path, json=later, headers=KEY)
    assert (first.status_code, again.status_code, again.content) == (202, 202, first.content)
    assert again.headers["location"] == first.headers["location"] == f"/api/turns/{first.json()['turnId']}"
    assert (first.headers.get(REPLAYED), again.headers.get(REPLAYED)) == (None, "true")


async def test_a_stream_of_what_was_said_before_says_so(client: httpx2.AsyncClient):
    made = await client.post("/api/conversations", json={"agentId": "assistant"})
    asked = {"model": "assistant", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    for path, body in (
        (f"/api/conversations/{made.json()['conversationId']}/messages", {"content": "Hi"}),
        ("/v1/chat/completions", asked),
    ):
        headers = {"Idempotency-Key": path, "Accept": "text/event-stream"}
        first = await client.post(path, json=body, headers=headers)
        again = await client.post(path, json=body, headers=headers)
        assert (first.headers.get(REPLAYED), again.headers.get(REPLAYED)) == (None, "true")
        assert first.headers["content-type"].startswith("text/event-stream")
        told = app_of(client).openapi()["paths"]["/v1/chat/completions"]["post"]["responses"]["200"]["headers"]
        assert "Idempotent-Replayed" in told


@covers("F14")
async def test_a_key_used_for_another_request_is_refused(client: httpx2.AsyncClient, preceptor: Preceptor):
    assert (await client.post("/api/agents", json=AGENT, headers=KEY)).status_code == 201
    before = rows(preceptor)
    colleague = bearer(await insert_key(preceptor, user="colleague"))
    others = [
        await client.post("/api/agents", json=AGENT | {"name": "Twice"}, headers=KEY),
        await client.post(
            "/api/agents",
            content=b' {"agentId": "once", "name": "Once"}',
            headers=KEY | {"Content-Type": "application/json"},
        ),
        await client.post("/api/keys", json={"name": "x", "role": "viewer"}, headers=KEY),
        await client.post("/api/agents", json=AGENT, headers=KEY | colleague),
    ]
    for answer in others:
        problem(answer, 422, "idempotency_mismatch")
    assert {name: count for name, count in rows(preceptor).items() if name != "api_keys"} == {
        name: count for name, count in before.items() if name != "api_keys"
    }


@covers("F14")
async def test_fifty_at_once_act_once(client: httpx2.AsyncClient, preceptor: Preceptor):
    for number in range(ROUNDS):
        path, body = (
            ("/api/agents", {"agentId": f"agent-{number}", "name": "x"}),
            ("/api/conversations", {"agentId": "assistant"}),
            ("/api/keys", {"name": "x", "role": "viewer"}),
        )[number % 3]
        table = {"/api/agents": "agents", "/api/conversations": "conversations", "/api/keys": "api_keys"}[path]
        before = rows(preceptor)
        key = {"Idempotency-Key": f"round-{number}"}
        answers = await asyncio.gather(*(client.post(path, json=body, headers=key) for _ in range(50)))
        done = [answer for answer in answers if answer.status_code == 201]
        for answer in answers:
            assert answer in done or problem(answer, 409, "idempotency_in_progress")
        assert len({answer.content for answer in done}) == 1
        assert [REPLAYED in answer.headers for answer in done].count(False) == 1
        after = rows(preceptor)
        assert (after[table] - before[table], after["idempotency"] - before["idempotency"]) == (1, 1)
        assert after["events"] - before["events"] == 1


@covers("F14")
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_one_that_comes_while_another_is_at_work_waits_and_reads_its_answer(preceptor: Preceptor):
    at_work, go_on, acted = asyncio.Event(), asyncio.Event(), list[str]()
    once = Once("a-key", "the same request", str.encode)

    async def slow(_: Work) -> str:
        at_work.set()
        await go_on.wait()
        acted.append("slow")
        return "slow"

    async def quick(_: Work) -> str:
        acted.append("quick")
        return "quick"

    session = preceptor.session.acting_as(preceptor.session.caller, once)
    first = asyncio.create_task(session.write(slow))
    await at_work.wait()
    second = asyncio.create_task(session.write(quick))
    waits = "SELECT 1 FROM pg_locks WHERE NOT granted"
    while not second.done() and not await asyncio.to_thread(query, preceptor, waits):
        pass
    go_on.set()
    with pytest.raises(Replayed) as replayed:
        await second
    assert (await first, replayed.value.answer, acted) == ("slow", b"slow", ["slow"])


@covers("F14")
async def test_two_organisations_may_use_the_same_key(client: httpx2.AsyncClient, preceptor: Preceptor):
    rival = await new_org(client, "rivals")
    ours = await client.post("/api/agents", json=AGENT, headers=KEY)
    theirs = await client.post("/api/agents", json=AGENT, headers=KEY | rival)
    assert (ours.status_code, theirs.status_code, REPLAYED in theirs.headers) == (201, 201, False)
    assert (ours.json()["owner"]["orgId"], theirs.json()["owner"]["orgId"]) == ("default", "rivals")


@covers("F14")
async def test_a_key_is_kept_for_a_day_and_free_again_after_it(client: httpx2.AsyncClient, preceptor: Preceptor):
    body = {"agentId": "assistant"}
    first = await client.post("/api/conversations", json=body, headers=KEY)
    query(preceptor, f"UPDATE idempotency SET created = created - {DAY - 60_000_000}")
    assert (await client.post("/api/conversations", json=body, headers=KEY)).content == first.content
    query(preceptor, f"UPDATE idempotency SET created = created - {60_000_000}")
    later = await client.post("/api/conversations", json=body, headers=KEY)
    assert (later.status_code, REPLAYED in later.headers) == (201, False)
    assert later.content != first.content
    assert rows(preceptor)["idempotency"] == 1
    query(preceptor, f"UPDATE idempotency SET created = created - {DAY}")
    assert await preceptor.installation.sweep() == 1
    assert rows(preceptor)["idempotency"] == 0


@covers("F14")
async def test_work_that_has_not_ended_answers_that_it_goes_on(client: httpx2.AsyncClient, preceptor: Preceptor):
    assert (await client.post("/api/agents", json=AGENT, headers=KEY)).status_code == 201
    query(preceptor, "UPDATE idempotency SET answer = NULL")
    problem(await client.post("/api/agents", json=AGENT, headers=KEY), 409, "idempotency_in_progress")
    problem(await client.post("/api/agents", json={"name": "x"}, headers=KEY), 422, "idempotency_mismatch")


@covers("F14")
async def test_a_request_that_failed_leaves_its_key_unused(client: httpx2.AsyncClient, preceptor: Preceptor):
    before = rows(preceptor)
    problem(await client.post("/api/agents", json={"agentId": "assistant", "name": "x"}, headers=KEY), 409, "conflict")
    problem(await client.post("/api/agents", json={"name": ""}, headers=KEY), 422, "invalid")
    problem(await client.post("/api/conversations", json={"agentId": "nobody"}, headers=KEY), 404, "not_found")
    assert rows(preceptor) == before
    assert (await client.post("/api/agents", json=AGENT, headers=KEY)).status_code == 201


@covers("F14", "S22")
async def test_a_secret_in_a_kept_answer_cannot_be_read_from_the_database(
    client: httpx2.AsyncClient, preceptor: Preceptor
):
    made = await client.post("/api/keys", json={"name": "x", "role": "admin"}, headers=KEY)
    key: str = made.json()["key"]
    secret = key.split("_", 2)[2]
    kept = str(query(preceptor, "SELECT * FROM idempotency") + query(preceptor, "SELECT * FROM api_keys"))
    kept += str(query(preceptor, "SELECT * FROM events"))
    assert secret not in kept
    assert secret not in "".join(
        chr(byte) for [answer] in query(preceptor, "SELECT answer FROM idempotency") for byte in answer
    )
    assert (await client.get("/api/agents", headers=bearer(key))).status_code == 200


MALFORMED = {
    "empty": [b""],
    "a space": [b"a b"],
    "a tab": [b"a\tb"],
    "not ASCII": ["é".encode()],
    "a control character": [b"a\x01"],
    "too long": [b"k" * 256],
    "two of them": [b"a", b"a"],
}


@covers("F14")
@pytest.mark.parametrize("keys", MALFORMED.values(), ids=MALFORMED)
async def test_a_malformed_key_is_refused(client: httpx2.AsyncClient, preceptor: Preceptor, keys: list[bytes]):
    before = rows(preceptor)
    headers = [(b"Idempotency-Key", key) for key in keys]
    problem(await client.post("/api/agents", json=AGENT, headers=headers), 422, "invalid")
    assert rows(preceptor) == before


async def test_the_longest_key_and_a_viewer_are_served(client: httpx2.AsyncClient, preceptor: Preceptor):
    viewer = bearer(await insert_key(preceptor, user="vera", role=Role.VIEWER))
    headers = viewer | {"Idempotency-Key": "~" * 255}
    first, again = [
        await client.post("/api/conversations", json={"agentId": "assistant"}, headers=headers) for _ in range(2)
    ]
    assert (first.status_code, again.content) == (201, first.content)
