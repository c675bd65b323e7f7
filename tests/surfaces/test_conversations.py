import asyncio

import httpx2
import pytest

from preceptor import Settings
from preceptor.testing import Hang
from tests.requirements import covers
from tests.surfaces.helpers import problem
from tests.surfaces.talking import talking

AGENT = {"agentId": "assistant"}


async def test_a_conversation_is_read_back_as_it_was_started(client: httpx2.AsyncClient):
    started = await client.post("/api/conversations", json=AGENT | {"title": "Xin chào", "metadata": {"a": [1, None]}})
    read = await client.get(f"/api/conversations/{started.json()['conversationId']}")
    assert (started.status_code, read.status_code) == (201, 200)
    assert started.json() == read.json()
    assert started.headers["etag"] == read.headers["etag"] == '"1"'


async def test_an_archived_conversation_is_out_of_sight_and_still_there_for_who_asks(client: httpx2.AsyncClient):
    made = (await client.post("/api/conversations", json=AGENT)).json()
    path = f"/api/conversations/{made['conversationId']}"
    assert (await client.delete(path)).is_success
    problem(await client.get(path), 404, "not_found")
    assert (await client.get("/api/conversations")).json()["items"] == []
    kept = (await client.get(path, params={"archived": True})).json()
    assert (kept["conversationId"], kept["status"]) == (made["conversationId"], "archived")
    assert (await client.get("/api/conversations", params={"status": "archived"})).json()["items"] == [kept]


async def test_nothing_of_an_archived_conversation_is_in_sight_unless_it_is_asked_for_as_such(settings: Settings):
    async with talking(settings) as talk:
        said = (await talk.say("Hello."))["message"]["id"]
        [view] = await talk.views()
        assert (await talk.client.delete(talk.path)).status_code == 204
        for part in ("messages", "views", "events", "context/plan"):
            problem(await talk.client.get(f"{talk.path}/{part}"), 404, "not_found")
        for what, body in (
            ("messages", {"content": "Hi."}),
            ("regenerate", {}),
            ("edit", {"messageId": said, "content": "Hi."}),
            ("compact", {"messageIds": [said], "strategy": "drop"}),
            (f"views/{view['viewId']}/restore", None),
            ("cancel", None),
        ):
            problem(await talk.post(what, body), 404, "not_found")
        messages = (await talk.client.get(f"{talk.path}/messages", params={"archived": True})).json()["items"]
        assert [one["parts"][0]["text"] for one in messages] == ["Hello.", "answer 1"]
        assert (await talk.client.get(f"{talk.path}/views", params={"archived": True})).json()["items"] == [view]


async def test_a_conversation_says_whether_it_follows_new_versions(client: httpx2.AsyncClient):
    for sent, policy in (({}, "follow"), ({"versionPolicy": "pin"}, "pin"), ({"versionPolicy": "drain"}, "drain")):
        made = (await client.post("/api/conversations", json=AGENT | sent)).json()
        assert made["versionPolicy"] == policy
        assert made["pinnedAt"] == (None if policy == "follow" else made["createdAt"])
    path = f"/api/conversations/{made['conversationId']}"
    assert (await client.patch(path, json={"versionPolicy": "follow"})).json()["versionPolicy"] == "follow"
    problem(await client.patch(path, json={"versionPolicy": None}), 422, "invalid")
    problem(await client.post("/api/conversations", json=AGENT | {"versionPolicy": "stay"}), 422, "invalid")


@pytest.mark.parametrize("guarded", [True, False])
async def test_what_a_model_cannot_be_asked_is_refused_before_anything_is_written(settings: Settings, guarded: bool):
    async with talking(settings.model_copy(update={"guard_enabled": guarded})) as talk:
        for taken in ("messages", "model", "stream", "tool_choice", "tools"):
            wrong = {"content": "Hello", "parameters": {"extra": {taken: "None."}}}
            told = problem(await talk.post("messages", wrong), 422, "invalid")
            assert [(one["path"], taken in one["message"]) for one in told["errors"]] == [("/parameters/extra", True)]
        wrong = {"content": "Hello", "parameters": {"extra": {"n": 2}}}
        told = problem(await talk.post("messages", wrong), 422, "invalid")
        assert told["detail"] == "The extra parameter 'n' is decided by the prompt. Leave it out."
        assert (talk.script.prompts, await talk.messages("all")) == ([], [])
        assert (await talk.say("Hello"))["status"] == "completed"


async def test_an_agent_may_be_given_less_than_any_turn_may_take_and_never_more(settings: Settings):
    async with talking(settings.model_copy(update={"turn_budget_tokens": 10_000})) as talk:
        path = "/api/agents/assistant"
        for sent, limits in (
            ({"tokens": 20_000, "seconds": 30, "cost": 0.5}, {"tokens": 10_000, "seconds": 30.0, "cost": 0.5}),
            ({"seconds": 900}, {"tokens": 10_000, "seconds": 600.0, "cost": None}),
            (None, {"tokens": 10_000, "seconds": 600.0, "cost": None}),
        ):
            assert (await talk.client.patch(path, json={"budget": sent})).status_code == 200
            record = (await talk.client.get(f"/api/turns/{(await talk.say('Hello'))['turnId']}")).json()
            assert {name: record["pins"]["limits"][name] for name in limits} == limits
        await talk.client.patch(path, json={"budget": {"tokens": 5}})
        problem(await talk.post("messages", {"content": "Hello"}), 429, "budget_exceeded")
        problem(await talk.client.patch(path, json={"budget": {"tokens": 0}}), 422, "invalid")


async def test_a_turn_whose_seconds_run_out_while_a_model_is_silent_is_over_budget_wherever_that_is_told(
    settings: Settings,
):
    async with talking(settings) as talk:
        await talk.client.patch("/api/agents/assistant", json={"budget": {"seconds": 0.5}})
        asked = {"model": "assistant", "messages": [{"role": "user", "content": "Hello"}]}
        told = list[str]()
        for path, body in ((f"{talk.path}/messages", {"content": "Hello"}), ("/v1/chat/completions", asked)):
            talk.script.lines = [Hang(), Hang("Half a")]
            refused = problem(await talk.client.post(path, json=body), 429, "budget_exceeded")
            assert refused["detail"].startswith("The turn took longer than the 0.5 s it had. Raise the budget ")
            record = (await talk.client.get(f"/api/turns/{refused['turnId']}")).json()
            assert (record["code"], len(record["calls"])) == ("budget_exceeded", 1)
            streamed = body | ({"stream": True} if body is asked else {})
            told.append((await talk.client.post(path, json=streamed, headers={"Accept": "text/event-stream"})).text)
        events, chunks = told
        assert ("event: turn.failed" in events, events.count('"code":"budget_exceeded"')) == (True, 1)
        assert ('"code":"budget_exceeded"' in chunks, "upstream_timeout" in events + chunks) == (True, False)


@covers("F14")
async def test_a_turn_that_failed_is_told_again_as_what_it_is_to_the_same_key(settings: Settings):
    async with talking(settings) as talk:
        await talk.client.patch("/api/agents/assistant", json={"budget": {"tokens": 5}})
        asked = {"model": "assistant", "messages": [{"role": "user", "content": "Hello"}]}
        for path, body in (
            (f"{talk.path}/messages", {"content": "Hello"}),
            ("/v1/chat/completions", asked),
            ("/v1/responses", {"model": "assistant", "input": "Hello"}),
        ):
            headers = {"Idempotency-Key": path}
            first, again = [await talk.client.post(path, json=body, headers=headers) for _ in range(2)]
            told = [problem(answer, 429, "budget_exceeded") for answer in (first, again)]
            assert told[0]["turnId"] == told[1]["turnId"]
            assert "idempotent-replayed" not in first.headers
            assert again.headers["idempotent-replayed"] == "true"


@covers("F14")
async def test_a_message_for_later_that_is_sent_again_while_it_is_answered_is_accepted_again(settings: Settings):
    async with talking(settings) as talk:
        for queue in (False, True):
            talk.script.lines = [Hang()]
            later = {"content": "Hi", "background": True, "queue": queue}
            sent = [await talk.post("messages", later, idempotency_key=f"queue={queue}") for _ in range(2)]
            assert [answer.status_code for answer in sent] == [202, 202], sent[1].text
            assert sent[0].content == sent[1].content
            assert sent[1].headers["idempotent-replayed"] == "true"
            assert (await talk.post("cancel")).json()["turnId"] == sent[0].json()["turnId"]


async def test_what_still_goes_on_in_an_archived_conversation_can_be_stopped(settings: Settings):
    async with talking(settings) as talk:
        asked = asyncio.Event()

        async def meanwhile() -> None:
            asked.set()

        talk.script.lines, talk.model.meanwhile = [Hang()], meanwhile
        begun = (await talk.post("messages", {"content": "Hi", "background": True})).json()
        await asked.wait()
        assert (await talk.client.delete(talk.path)).status_code == 204
        stopped = await talk.post("cancel")
        assert (stopped.status_code, stopped.json()["turnId"]) == (200, begun["turnId"])
        assert stopped.json()["status"] == "cancelled"
        problem(await talk.post("cancel"), 404, "not_found")
