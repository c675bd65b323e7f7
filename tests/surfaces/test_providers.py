"""Providers of an organisation's own: sealed keys that belong to one address, used for its own turns."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.model_server import Answer, ModelServer, http, refusal, serving
from tests.requirements import covers
from tests.surfaces.helpers import answers, new_key, new_org, problem, query, until_ended
from tests.surfaces.talking import Talk, talking
from tests.talking import settings_in

Json = dict[str, Any]
KEY = "sk-canary-tenant-5d2f"
SAID: Json = {
    "id": "c1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "From our own."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3},
}
WELL = http(200, json.dumps(SAID).encode())


@asynccontextmanager
async def house(
    folder: Path, *said: Answer, database: str | None = None, **more: Any
) -> AsyncGenerator[tuple[Talk, ModelServer]]:
    """An organisation whose operator allows one server of models."""
    async with (
        serving(*(said or (WELL,))) as server,
        talking(settings_in(folder, database, egress_allow=(server.url.removesuffix("/v1"),), **more)) as talk,
    ):
        yield talk, server


async def provided(talk: Talk, url: str, **more: Any) -> Json:
    new = {"providerId": "own", "kind": "openai-compatible", "url": url, "apiKey": KEY} | more
    made = await talk.client.post("/api/providers", json=new)
    assert made.status_code == 201, made.text
    return made.json()


def keys_sent(server: ModelServer) -> set[str]:
    lines = [line for head in server.heads for line in head.splitlines()]
    return {line.partition(": ")[2] for line in lines if line.lower().startswith(("authorization:", "x-api-key:"))}


@covers("S20", "S22")
async def test_an_organisations_own_key_is_used_for_its_turns_and_never_told(tmp_path: Path, database_url: str):
    async with house(tmp_path, database=database_url) as (talk, server):
        made = await provided(talk, server.url)
        assert (made["hasKey"], made["url"], "apiKey" in made) == (True, server.url, False)
        await talk.client.patch("/api/agents/assistant", json={"model": "own:some-model"})
        turn = await talk.say("Who answers?")
        assert turn["message"]["parts"][-1]["text"] == "From our own."
        assert json.loads(server.bodies[0])["model"] == "some-model"
        assert keys_sent(server) == {f"Bearer {KEY}"}
        record = await talk.client.get(f"/api/turns/{turn['turnId']}")
        shown = await talk.client.get("/api/providers/own")
        listed = await talk.client.get("/api/providers")
        kept = str(answers(talk.preceptor, "SELECT * FROM {table}"))
        assert KEY not in record.text + shown.text + listed.text + kept
        assert query(talk.preceptor, "SELECT count(*) FROM providers WHERE sealed IS NOT NULL") == [(1,)]


@covers("S20")
async def test_a_key_belongs_to_its_address(tmp_path: Path, database_url: str):
    async with house(tmp_path, database=database_url) as (talk, server), serving(WELL) as thief:
        await provided(talk, server.url)
        path = "/api/providers/own"
        same = await talk.client.patch(path, json={"url": server.url})
        assert same.json()["hasKey"]
        moved = await talk.client.patch(path, json={"url": f"{server.url}/other"})
        assert not moved.json()["hasKey"]
        back = await talk.client.patch(path, json={"url": server.url})
        assert not back.json()["hasKey"]
        await talk.client.post(f"{path}/test", json={"model": "m"})
        assert keys_sent(server) == set()
        again = await talk.client.patch(path, json={"apiKey": KEY})
        assert again.json()["hasKey"]
        asked = await talk.client.post(f"{path}/test", json={"model": "m"})
        assert asked.json() | {"seconds": 0} == {"ok": True, "sentence": "From our own.", "seconds": 0}
        assert keys_sent(server) == {f"Bearer {KEY}"}
        both = {"model": "m", "url": thief.url}
        problem(await talk.client.post(f"{path}/test", json=both), 422, "invalid")
        assert thief.heads == []


@covers("S20", "S22")
async def test_a_stored_key_that_is_moved_to_another_address_or_row_opens_nothing(tmp_path: Path, database_url: str):
    async with house(tmp_path, database=database_url) as (talk, server):
        await provided(talk, server.url)
        await provided(talk, f"{server.url}/x", providerId="other", apiKey="another")
        query(talk.preceptor, f"UPDATE providers SET body = replace(body, '{server.url}\"', '{server.url}/y\"')")
        query(
            talk.preceptor,
            "UPDATE providers SET sealed = (SELECT sealed FROM providers WHERE id = 'own') WHERE id = 'other'",
        )
        for name in ("own", "other"):
            told = (await talk.client.post(f"/api/providers/{name}/test", json={"model": "m"})).json()
            assert (told["ok"], f"provider '{name}' cannot be opened" in told["sentence"]) == (False, True)
        assert server.heads == []


@covers("S20")
async def test_a_provider_whose_key_does_not_open_is_not_called_without_it(tmp_path: Path, database_url: str):
    async with serving(WELL) as server:
        allowed = {"egress_allow": (server.url.removesuffix("/v1"),)}
        async with talking(settings_in(tmp_path, database_url, secret_key="a" * 32, **allowed)) as talk:
            await provided(talk, server.url)
            await talk.client.patch("/api/agents/assistant", json={"model": "own:some-model"})
        async with talking(settings_in(tmp_path, database_url, secret_key="b" * 32, **allowed)) as talk:
            refused = problem(await talk.post("messages", {"content": "Who answers?"}), 422, "seal_broken")
            assert "The key of the provider 'own' cannot be opened" in refused["detail"]
            tested = (await talk.client.post("/api/providers/own/test", json={"model": "m"})).json()
            assert (tested["ok"], tested["sentence"]) == (False, refused["detail"])
            assert (await talk.client.get("/api/providers/own")).json()["hasKey"]
            assert server.heads == []
            await talk.client.patch("/api/providers/own", json={"apiKey": KEY})
            assert (await talk.say("And now?"))["message"]["parts"][-1]["text"] == "From our own."
            assert keys_sent(server) == {f"Bearer {KEY}"}


@covers("S19")
@pytest.mark.parametrize("url", ["http://127.0.0.1:22/v1", "http://169.254.169.254/", "https://example.com/v1"])
async def test_an_address_that_the_operator_did_not_allow_is_refused(tmp_path: Path, url: str):
    async with house(tmp_path) as (talk, server):
        new = {"providerId": "own", "kind": "openai-compatible", "url": url, "apiKey": KEY}
        told = problem(await talk.client.post("/api/providers", json=new), 422, "invalid")
        assert KEY not in str(told)
        await provided(talk, server.url)
        problem(await talk.client.patch("/api/providers/own", json={"url": url}), 422, "invalid")
        assert (await talk.client.get("/api/providers/own")).json()["hasKey"]


@covers("S20", "S22")
async def test_a_key_of_one_organisation_serves_no_other(tmp_path: Path, database_url: str):
    async with house(tmp_path, database=database_url) as (talk, server):
        await provided(talk, server.url)
        rival = await new_org(talk.client, "rivals")
        problem(await talk.client.get("/api/providers/own", headers=rival), 404, "not_found")
        agent = {"agentId": "spy", "name": "Spy", "model": "own:some-model"}
        problem(await talk.client.post("/api/agents", json=agent, headers=rival), 422, "invalid")
        theirs = {"providerId": "own", "kind": "openai-compatible", "url": server.url}
        await talk.client.post("/api/providers", json=theirs, headers=rival)
        assert (await talk.client.post("/api/agents", json=agent, headers=rival)).status_code == 201
        await talk.client.delete("/api/providers/own", headers=rival)
        made = await talk.client.post("/api/conversations", json={"agentId": "spy"}, headers=rival)
        path = f"/api/conversations/{made.json()['conversationId']}/messages"
        problem(await talk.client.post(path, json={"content": "Hi"}, headers=rival), 422, "invalid")
        assert server.heads == []
        editor = await new_key(talk.client, role="operator")
        problem(await talk.client.get("/api/providers", headers=editor), 403, "forbidden")


async def test_an_own_provider_takes_the_place_of_the_installations_and_leaves_it_when_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-installation")
    async with house(tmp_path) as (talk, server):
        await provided(talk, server.url, providerId="openai", kind="openai")
        await talk.client.patch("/api/agents/assistant", json={"model": "openai:gpt-5-mini"})
        await talk.say("Who?")
        assert keys_sent(server) == {f"Bearer {KEY}"}
        assert (await talk.client.delete("/api/providers/openai")).status_code == 204
        problem(await talk.client.get("/api/providers/openai"), 404, "not_found")
        models = talk.preceptor.session.means.models
        assert getattr(models.find("openai:gpt-5-mini"), "url", "") == "https://api.openai.com/v1"


@covers("S20")
async def test_whatever_is_done_with_past_and_future_turns_knows_an_organisations_own_models(
    tmp_path: Path, database_url: str
):
    async with house(tmp_path, database=database_url, sgr_enabled=False) as (talk, server):
        await provided(talk, server.url)
        turn = await talk.say("Who answers?")
        for overrides in ({"model": "own:some-model"}, {"parameters": {"temperature": 0.5}}):
            asked = {"turnIds": [turn["turnId"]], "overrides": overrides, "replies": "live"}
            done = await until_ended(talk.client, await talk.client.post("/api/replays", json=asked))
            assert done["summary"]["failed"] == 0, done
            await talk.client.patch("/api/agents/assistant", json={"model": "own:some-model"})
            turn = await talk.say("And now?")
        assert len(server.bodies) == 4
        resource = {"type": "agent", "id": "assistant"}
        speak = {"type": "agent.execute", "resource": resource, "data": {"userMessage": "Hi"}}
        load = {"index": 0, "name": "Load", "command": {"type": "agent.loadInstructions", "resource": resource}}
        steps = [load, {"index": 1, "name": "Speak", "command": speak, "dependsOn": [0]}]
        done = await until_ended(talk.client, await talk.client.post("/api/executions", json={"steps": steps}))
        assert [step["status"] for step in done["steps"]] == ["completed", "completed"]
        record = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi."}]}
        brought = {"agentId": "assistant", "records": [record]}
        design = {"name": "x", "agentIds": ["assistant"], "settings": {"variant": {"model": "own:another"}}}
        for path, body in {"/api/conversations/import": brought, "/api/instructions/experiments": design}.items():
            answer = await talk.client.post(path, json=body)
            assert answer.status_code == 201, answer.text


async def test_what_a_provider_refuses_is_told_without_the_key(tmp_path: Path):
    async with house(tmp_path, refusal(401, message=f"Wrong key {KEY}")) as (talk, server):
        await provided(talk, server.url)
        told = (await talk.client.post("/api/providers/own/test", json={"model": "m"})).json()
        assert not told["ok"]
        assert "401" in told["sentence"]
        assert KEY not in told["sentence"]


async def test_a_provider_without_a_key_or_an_address_says_what_is_missing(tmp_path: Path):
    async with house(tmp_path) as (talk, server):
        lost = {"providerId": "own", "kind": "openai-compatible"}
        assert "url" in problem(await talk.client.post("/api/providers", json=lost), 422, "invalid")["detail"]
        await provided(talk, server.url, kind="anthropic", apiKey=None)
        told = (await talk.client.post("/api/providers/own/test", json={"model": "claude-x"})).json()
        assert not told["ok"]
        assert "needs a key" in told["sentence"]
        again = {"providerId": "own", "kind": "anthropic", "apiKey": KEY}
        problem(await talk.client.post("/api/providers", json=again), 409, "conflict")
        problem(await talk.client.post("/api/providers", json=again | {"apiKey": "a b"}), 422, "invalid")


async def test_the_address_that_was_given_before_moves_a_provider_nowhere_and_keeps_its_key(tmp_path: Path):
    async with house(tmp_path) as (talk, server):
        short = server.url.removesuffix("/v1")
        made = await provided(talk, short)
        same = await talk.client.patch("/api/providers/own", json={"url": short})
        assert (made["url"], same.json()) == (server.url, made)


async def test_a_provider_is_changed_only_as_it_was_read(tmp_path: Path):
    async with house(tmp_path) as (talk, server):
        await provided(talk, server.url)
        read = await talk.client.get("/api/providers/own")
        tag = {"If-Match": read.headers["etag"]}
        assert (await talk.client.patch("/api/providers/own", json={"apiKey": None}, headers=tag)).status_code == 200
        stale = await talk.client.patch("/api/providers/own", json={"apiKey": "x"}, headers=tag)
        problem(stale, 412, "precondition_failed")
        assert [one["hasKey"] for one in (await talk.client.get("/api/providers")).json()["items"]] == [False]


NO_MODELS = ("gpt-5-mini", "openai:", "openai: ", "nowhere:gpt-5", ":x", "scripted", "our own:gpt")


@pytest.mark.parametrize("name", NO_MODELS)
async def test_a_name_that_can_be_no_models_is_refused_when_an_agent_is_saved(tmp_path: Path, name: str):
    async with house(tmp_path) as (talk, server):
        await provided(talk, server.url)
        fields: tuple[Json, ...] = ({"model": name}, {"fallbackModels": ["openai:gpt-5-mini", name]})
        for wrong in fields:
            for answer in (
                await talk.client.post("/api/agents", json={"agentId": "new", "name": "New"} | wrong),
                await talk.client.patch("/api/agents/assistant", json=wrong),
            ):
                detail = problem(answer, 422, "invalid")["detail"]
                assert [known for known in ("local", "anthropic:NAME", "own:NAME") if known not in detail] == []
        problem(await talk.client.get("/api/agents/new"), 404, "not_found")


async def test_a_model_that_cannot_be_had_yet_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Keys and servers may come later: an agent is saved today and answers when they are there."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with house(tmp_path) as (talk, server):
        await provided(talk, server.url)
        named = {"model": "openai:gpt-5-mini", "fallbackModels": ["own:m", "openai-compatible:later", "local"]}
        made = await talk.client.post("/api/agents", json={"agentId": "new", "name": "New"} | named)
        assert made.status_code == 201, made.text
        assert {name: made.json()[name] for name in named} == named
        assert (await talk.client.patch("/api/agents/new", json={"model": None})).json()["model"] is None
        problem(await talk.client.patch("/api/agents/new", json={"fallbackModels": ["local"] * 6}), 422, "invalid")
