from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage.opening import locate
from preceptor.adapters.storage.verifying import verify
from preceptor.testing import Called, Say, SteadyWorld
from tests.conftest import client_of
from tests.requirements import covers
from tests.surfaces.helpers import (
    answers,
    app_of,
    new_key,
    one_of_everything,
    operations,
    problem,
    query,
    rows,
    until_ended,
)
from tests.surfaces.talking import Talk, talking

CANARY = "canary-7b1e"


@pytest.fixture
async def talk(settings: Settings) -> AsyncGenerator[Talk]:
    """A conversation with a secret in every corner of it."""
    async with talking(settings) as opened:
        change = {"title": CANARY, "metadata": {"note": CANARY}}
        assert (await opened.client.patch(opened.path, json=change)).status_code == 200
        prompt = {"agent_prompt": f"You know {CANARY}.", "reason": CANARY}
        hand_over = Say(tool_calls=(Called("delegate_internal_reasoning", prompt),))
        await opened.say(f"Say {CANARY}", hand_over, f"{CANARY} it is.", f"I said {CANARY}.")
        sent = await opened.client.post("/api/attachments", files={"file": (f"{CANARY}.txt", CANARY.encode())})
        part = {"type": "attachment", "attachmentId": sent.json()["attachmentId"]}
        assert (await opened.post("messages", {"content": [part]})).status_code == 200
        await opened.compact(intermediate=True, strategy="summarize")
        yield opened


def found(preceptor: Preceptor) -> list[str]:
    """The tables in which the secret can be read."""
    told = answers(preceptor, "SELECT * FROM {table}")
    return sorted(table for table, known in told.items() if CANARY in str(known))


@covers("S32")
async def test_nothing_that_was_said_is_left_in_any_table_and_the_log_still_verifies(talk: Talk):
    assert found(talk.preceptor) == ["attachments", "blobs", "conversations", "events"]
    before = query(talk.preceptor, f"SELECT seq, kind, hash FROM events WHERE stream = '{talk.id}' ORDER BY seq")
    told = (await talk.post("erase")).json()
    assert (told["conversationId"], told["events"], told["attachments"]) == (talk.id, len(before), 1)
    assert found(talk.preceptor) == []
    after = query(talk.preceptor, f"SELECT seq, kind, hash FROM events WHERE stream = '{talk.id}' ORDER BY seq")
    assert [(seq, kind, bytes(digest)) for seq, kind, digest in after[:-1]] == [
        (seq, kind, bytes(digest)) for seq, kind, digest in before
    ]
    assert after[-1][1] == "conversation.erased"
    assert verify(locate(talk.preceptor.settings.database), None).ok


async def test_what_is_left_is_that_there_was_a_conversation_and_nothing_more_can_be_done_with_it(talk: Talk):
    turn = (await talk.messages())[0]["turnId"]
    message = (await talk.messages())[-1]["id"]
    await talk.post("erase")
    problem(await talk.client.get(talk.path), 404, "not_found")
    left = (await talk.client.get(talk.path, params={"archived": True})).json()
    assert (left["status"], left["title"], left["metadata"], left["agentId"]) == ("erased", None, {}, "assistant")
    problem(await talk.client.get(f"{talk.path}/messages"), 404, "not_found")
    for view in ("current", "all"):
        asked = {"view": view, "audience": "system", "archived": True}
        assert (await talk.client.get(f"{talk.path}/messages", params=asked)).json()["items"] == []
    for path in (f"/api/turns/{turn}", f"/api/messages/{message}/context"):
        problem(await talk.client.get(path), 404, "not_found")
    for what, body in (
        ("messages", {"content": "Still there?"}),
        ("compact", {"intermediate": True, "strategy": "drop"}),
        ("regenerate", {}),
        (f"views/{talk.id}/restore", None),
    ):
        problem(await talk.post(what, body), 404, "not_found")
    listed = (await talk.client.get("/api/conversations")).json()["items"]
    assert talk.id not in {one["conversationId"] for one in listed}


async def test_erasing_twice_erases_once(talk: Talk):
    first = (await talk.post("erase")).json()
    before = rows(talk.preceptor)
    again = (await talk.post("erase")).json()
    assert (again["events"], again["erasedAt"]) == (0, first["erasedAt"])
    assert rows(talk.preceptor) == before


async def test_a_message_that_is_sent_again_after_it_was_erased_finds_nothing_rather_than_being_in_progress(talk: Talk):
    first = await talk.post("messages", {"content": "Hello"}, Idempotency_Key="k")
    await talk.post("erase")
    for kind in ("application/json", "text/event-stream"):
        again = await talk.post("messages", {"content": "Hello"}, Idempotency_Key="k", Accept=kind)
        assert "erased" in problem(again, 404, "not_found")["detail"]
    assert first.status_code == 200


async def test_no_trace_of_what_was_asked_with_a_key_is_left_from_which_it_could_be_guessed(settings: Settings):
    async with talking(settings) as talk:
        words, header = {"content": CANARY}, {"X-Preceptor-Conversation": talk.id}
        again = {"model": "assistant", "messages": [{"role": "user", "content": CANARY}]}
        answers = [
            await talk.post("messages", words, Idempotency_Key="said"),
            await talk.post("messages", words | {"queue": True}, Idempotency_Key="queued"),
            await talk.post("messages", words | {"background": True}, Idempotency_Key="later"),
        ]
        await talk.post("cancel")
        answers.append(await talk.post("regenerate", {}, Idempotency_Key="regenerated"))
        headers = header | {"Idempotency-Key": "openai"}
        answers.append(await talk.client.post("/v1/chat/completions", json=again, headers=headers))
        assert [answer.status_code for answer in answers] == [200, 200, 202, 200, 200]
        left = "SELECT key FROM idempotency WHERE fingerprint <> ''"
        assert len(query(talk.preceptor, left)) == len(answers)
        await talk.post("erase")
        assert query(talk.preceptor, left) == []
        before = rows(talk.preceptor)
        for body in (words, {"content": "Other words"}):
            problem(await talk.post("messages", body, Idempotency_Key="said"), 404, "not_found")
        assert rows(talk.preceptor) == before


async def test_no_answer_that_is_kept_for_idempotency_repeats_what_was_erased(settings: Settings):
    async with talking(settings) as talk:
        keys = await everything_said_with_a_key(talk)
        before = kept(talk.preceptor)
        assert {key for key, answer in before.items() if CANARY in answer} == keys
        for conversation in (await talk.client.get("/api/conversations")).json()["items"]:
            path = f"/api/conversations/{conversation['conversationId']}/erase"
            assert (await talk.client.post(path, headers={"Idempotency-Key": path})).status_code == 200
        after = kept(talk.preceptor)
        assert [key for key, answer in after.items() if CANARY in answer] == []
        assert {key for key, answer in after.items() if not answer} >= keys
        assert after["agent"] == before["agent"]


async def test_whatever_answer_is_kept_that_names_a_conversation_is_erased_with_it(settings: Settings):
    async with talking(settings) as talk:
        ids = await one_of_everything(talk.client, "shared")
        for one in operations(app_of(talk.client)):
            if one.method == "POST" and one.id != "erasing_erase":
                await talk.client.post(one.at(ids), headers={"Idempotency-Key": one.id}, **one.sent(ids))
        named = [key for key, answer in kept(talk.preceptor).items() if ids["conversation_id"] in answer]
        assert len(named) > 3
        await talk.client.post(f"/api/conversations/{ids['conversation_id']}/erase")
        after = kept(talk.preceptor)
        assert {key: after[key] for key in named} == dict.fromkeys(named, "")


async def everything_said_with_a_key(talk: Talk) -> set[str]:
    """Have answers kept that repeat a secret, and one that does not; returns the keys of those that do."""

    async def post(path: str, key: str, **sent: Any) -> Any:
        answer = await talk.client.post(path, headers={"Idempotency-Key": key}, **sent)
        assert answer.status_code < 300, answer.text
        return answer.json()

    await post("/api/agents", "agent", json={"agentId": "other", "name": "Other"})
    begun = await post("/api/conversations", "begun", json={"agentId": "assistant", "title": CANARY})
    file = await post("/api/attachments", "file", files={"file": (f"{CANARY}.txt", b"Hello")})
    part = {"type": "attachment", "attachmentId": file["attachmentId"]}
    path = f"/api/conversations/{begun['conversationId']}"
    turn = await post(f"{path}/messages", "said", json={"content": [part]})
    record = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi."}], "name": CANARY}
    await post("/api/conversations/import", "import", json={"agentId": "assistant", "records": [record]})
    speak = {"type": "agent.execute", "resource": {"type": "agent", "id": "assistant"}, "data": {"userMessage": CANARY}}
    steps = [{"index": 0, "name": "Speak", "command": speak}]
    talk.script.lines += [f"I said {CANARY}."]
    execution = await post("/api/executions", "execution", json={"steps": steps})
    path = f"/api/executions/{execution['executionId']}"
    assert "execution.completed" in (await talk.client.get(f"{path}/events")).text
    await post(f"{path}/retry", "retry")
    replay = {"turnIds": [turn["turnId"]], "overrides": {"parameters": {"temperature": 0.5}}, "replies": "live"}
    talk.script.lines += [f"Otherwise, {CANARY}."]
    replayed = await until_ended(talk.client, await talk.client.post("/api/replays", json=replay))
    await post(f"/api/replays/{replayed['replayId']}/cancel", "replay")
    return {"begun", "file", "import", "execution", "retry", "replay"}


def kept(preceptor: Preceptor) -> dict[str, str]:
    """The answers that are kept, by key, unsealed; empty where one was erased."""
    seal = preceptor.session.seal
    rows = query(preceptor, "SELECT org, key, answer FROM idempotency")
    return {
        key: seal.open(bytes(sealed), f"{org}/{key}".encode()).decode() if sealed else "" for org, key, sealed in rows
    }


async def test_a_request_that_is_sent_again_after_what_it_made_was_erased_is_told_so_and_makes_nothing(talk: Talk):
    new, headers = {"agentId": "assistant", "title": CANARY}, {"Idempotency-Key": "k"}
    made = (await talk.client.post("/api/conversations", json=new, headers=headers)).json()
    path = f"/api/conversations/{made['conversationId']}"
    erased = await talk.client.post(f"{path}/erase", headers={"Idempotency-Key": "e"})
    before = rows(talk.preceptor)
    told = problem(await talk.client.post("/api/conversations", json=new, headers=headers), 404, "not_found")
    assert (CANARY in str(told), "erased" in told["detail"]) == (False, True)
    again = await talk.client.post(f"{path}/erase", headers={"Idempotency-Key": "e"})
    assert (again.status_code, again.content) == (200, erased.content)
    other = await talk.client.post("/api/conversations", json=new | {"title": "Other"}, headers=headers)
    assert problem(other, 404, "not_found")["detail"] == told["detail"]
    assert rows(talk.preceptor) == before


async def test_a_key_that_is_used_again_after_a_day_is_not_erased_with_what_it_was_used_for_before(talk: Talk):
    new, headers = {"agentId": "assistant", "title": CANARY}, {"Idempotency-Key": "k"}
    first = (await talk.client.post("/api/conversations", json=new, headers=headers)).json()
    for table in ("idempotency", "idempotency_about"):
        query(talk.preceptor, f"UPDATE {table} SET created = created - {25 * 3600 * 1_000_000}")
    later = await talk.client.post("/api/conversations", json={"agentId": "assistant"}, headers=headers)
    await talk.client.post(f"/api/conversations/{first['conversationId']}/erase")
    again = await talk.client.post("/api/conversations", json={"agentId": "assistant"}, headers=headers)
    assert (again.status_code, again.content) == (201, later.content)
    query(talk.preceptor, f"UPDATE idempotency_about SET created = created - {25 * 3600 * 1_000_000}")
    await talk.preceptor.installation.sweep()
    assert rows(talk.preceptor)["idempotency_about"] == 0


async def test_a_key_may_be_used_for_the_same_conversation_on_another_day(talk: Talk):
    told = {"metric": "resolution", "value": True}
    for _ in range(2):
        answer = await talk.post("outcome", told, Idempotency_Key="k")
        assert (answer.status_code, "idempotent-replayed" in answer.headers) == (201, False)
        for table in ("idempotency", "idempotency_about"):
            query(talk.preceptor, f"UPDATE {table} SET created = created - {25 * 3600 * 1_000_000}")


async def test_other_conversations_and_what_they_share_with_it_stay(talk: Talk):
    other = (await talk.client.post("/api/conversations", json={"agentId": "assistant"})).json()["conversationId"]
    path = f"/api/conversations/{other}/messages"
    said = (await talk.client.post(path, json={"content": "Hello."})).json()
    await talk.post("erase")
    assert len((await talk.client.get(path)).json()["items"]) == 2
    context = await talk.client.get(f"/api/messages/{said['message']['id']}/context")
    assert context.json()["intact"] is True


async def test_an_archived_conversation_can_be_erased_and_who_did_is_in_the_audit_trail(talk: Talk):
    await talk.client.delete(talk.path)
    assert (await talk.post("erase")).status_code == 200
    [(payload,)] = query(
        talk.preceptor, "SELECT payload FROM events WHERE stream = '@org' AND kind = 'conversation.erased'"
    )
    assert (talk.id in payload, '"by":"admin"' in payload) == (True, True)


async def test_only_who_may_erase_does(talk: Talk):
    operator = await new_key(talk.client, role="operator")
    problem(await talk.client.post(f"{talk.path}/erase", headers=operator), 403, "forbidden")
    assert "attachments" in found(talk.preceptor)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_is_erased_is_overwritten_in_the_file(settings: Settings):
    async with talking(settings) as talk:
        await talk.say(CANARY * 2000, CANARY * 2000)
        await talk.post("erase")
        query(talk.preceptor, "PRAGMA wal_checkpoint(TRUNCATE)")
        assert CANARY.encode() not in bytes_in(settings)


def bytes_in(settings: Settings) -> bytes:
    return Path(settings.database.removeprefix("sqlite:///")).read_bytes()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_conversations_are_erased_so_many_days_after_their_last_word(settings: Settings):
    world = SteadyWorld()
    kept = settings.model_copy(update={"retention_days": 30})
    async with open_preceptor(kept, world=world) as preceptor, client_of(preceptor) as client:
        ids = [
            (await client.post("/api/conversations", json={"agentId": "assistant", "title": CANARY})).json()
            for _ in range(2)
        ]
        [quiet, busy] = [one["conversationId"] for one in ids]
        world.move(days=20)
        await client.patch(f"/api/conversations/{busy}", json={"title": "Still talking"})
        world.move(days=11)
        assert await preceptor.installation.sweep() == 1
        assert await preceptor.installation.sweep() == 0
        statuses = [
            (await client.get(f"/api/conversations/{one}", params={"archived": True})).json()["status"]
            for one in (quiet, busy)
        ]
        assert statuses == ["erased", "active"]
        world.move(days=20)
        assert await preceptor.installation.sweep() == 1
        assert verify(locate(kept.database), None).ok


async def test_answers_kept_for_idempotency_go_with_conversations_that_are_too_old(talk: Talk):
    new = {"agentId": "assistant", "title": CANARY}
    await talk.client.post("/api/conversations", json=new, headers={"Idempotency-Key": "k"})
    assert await talk.preceptor.erasing.expire(timedelta()) == 2
    assert kept(talk.preceptor) == {"k": ""}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_without_a_setting_nothing_is_ever_erased(settings: Settings):
    world = SteadyWorld()
    async with open_preceptor(settings, world=world) as preceptor, client_of(preceptor) as client:
        made = (await client.post("/api/conversations", json={"agentId": "assistant"})).json()
        world.move(days=36_500)
        assert await preceptor.installation.sweep() == 0
        assert (await client.get(f"/api/conversations/{made['conversationId']}")).json()["status"] == "active"
