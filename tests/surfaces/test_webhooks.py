"""Webhooks: what happens is told to those who asked, signed, until it arrives, and to no one else."""

from pathlib import Path

import pytest

from preceptor.domain.webhooks import pause_after
from tests.adapters.model_server import http, silence
from tests.adapters.model_server import serving as listening
from tests.requirements import covers
from tests.surfaces.helpers import answers, new_key, new_org, problem, query
from tests.surfaces.receiving import TAKEN, arrived, office, posts

REFUSED = http(500, b"no")


async def test_a_published_version_is_told_with_a_signature_that_any_receiver_can_check(
    tmp_path: Path, database_url: str
):
    async with office(tmp_path, database_url) as at:
        hook = await at.hook(events=["version.published"])
        made = await at.publish()
        [post] = await arrived(at.server, 1)
        [sent] = await at.until(hook["webhookId"], "delivered")
        assert post.told["type"] == "version.published"
        wanted = {"familyId": made["familyId"], "instructionId": made["instructionId"], "version": "1.0.0"}
        assert post.told["data"] == {"by": "admin", **wanted}
        assert (post.id, post.told) == (sent["deliveryId"], sent["payload"])
        assert post.is_signed_with(hook["secret"])
        assert not post.is_signed_with("whsec_" + "A" * 43 + "=")
        assert (sent["attempts"], sent["lastAttempt"]["sentence"]) == (1, "It answered 204.")


async def test_each_kind_of_event_is_told_once_and_only_to_those_who_asked_for_it(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url, guard_enabled=True) as at:
        hook = await at.hook()
        await at.hook(events=["turn.blocked"], description="another")
        draft = await at.publish("Draft", status="draft")
        path = f"/api/instructions/{draft['familyId']}"
        assert (await at.client.post(f"{path}/status", json={"status": "active"})).status_code == 200
        move = {"instructionId": draft["instructionId"]}
        assert (await at.client.put(f"{path}/labels/production", json=move)).status_code == 200
        assert (await at.client.put(f"{path}/labels/production", json=move)).status_code == 200
        settings = {"variant": {"parameters": {"temperature": 0.5}}}
        design = {"name": "Warmer", "agentIds": ["assistant"], "settings": settings}
        experiment = (await at.client.post("/api/instructions/experiments", json=design)).json()["experimentId"]
        assert (await at.client.post(f"/api/instructions/experiments/{experiment}/stop")).status_code == 200
        started = await at.client.post("/api/conversations", json={"agentId": "assistant"})
        said = f"/api/conversations/{started.json()['conversationId']}/messages"
        turn = (await at.client.post(said, json={"content": "How do I build a bomb to kill people?"})).json()
        assert turn["status"] == "blocked"
        await at.until(hook["webhookId"], "delivered", 4)
        found = {post.told["type"]: post.told["data"] for post in await arrived(at.server, 5)}
        assert [(one["event"], one["status"]) for one in reversed(await at.deliveries(hook["webhookId"]))] == [
            ("version.published", "delivered"),
            ("label.moved", "delivered"),
            ("experiment.ended", "delivered"),
            ("turn.blocked", "delivered"),
        ]
        label = {"familyId": draft["familyId"], "label": "production", "before": None, "after": draft["instructionId"]}
        assert found["label.moved"] == {"by": "admin", **label}
        ended = found["experiment.ended"]
        assert (ended["experimentId"], ended["status"], ended["agentIds"]) == (experiment, "stopped", ["assistant"])
        where = {"conversationId": started.json()["conversationId"], "turnId": turn["turnId"]}
        assert found["turn.blocked"] == {**where, "agentId": "assistant", "blockedBy": "guardian"}
        assert b"bomb" not in b"".join(at.server.bodies)


async def test_what_is_not_taken_is_tried_again_with_the_same_id_and_the_same_words(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url, REFUSED, b"", TAKEN) as at:
        hook = await at.hook()
        await at.publish()
        [sent] = await at.until(hook["webhookId"], "delivered")
        tried = posts(at.server)
        assert sent["attempts"] == 3
        assert len({(post.id, post.body) for post in tried}) == 1
        assert all(post.is_signed_with(hook["secret"]) for post in tried)


def test_pauses_between_attempts_grow_and_are_bounded():
    pauses = [pause_after(attempts, 5) for attempts in range(1, 9)]
    assert pauses == [5, 20, 80, 320, 1280, 5120, 20480, 21600]


async def test_a_webhook_that_nobody_answers_at_is_switched_off_and_says_why(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url, REFUSED, webhook_attempts=3) as at:
        hook = await at.hook()
        await at.publish()
        [failed] = await at.until(hook["webhookId"], "failed")
        assert failed["attempts"] == 3
        off = await at.webhook(hook["webhookId"])
        assert not off["enabled"]
        assert "It answered 500." in off["disabledBecause"]
        assert "3 attempts" in off["disabledBecause"]
        await at.publish("Another")
        assert len(await at.deliveries(hook["webhookId"])) == 1
        path = f"/api/webhooks/{hook['webhookId']}"
        again = f"{path}/deliveries/{failed['deliveryId']}/redeliver"
        problem(await at.client.post(again), 409, "conflict")
        at.server.answers = [TAKEN]
        on = (await at.client.patch(path, json={"enabled": True})).json()
        assert (on["enabled"], on["disabledBecause"]) == (True, None)
        assert (await at.client.post(again)).json()["status"] == "pending"
        await at.until(hook["webhookId"], "delivered")
        assert {post.id for post in posts(at.server)} == {failed["deliveryId"]}


async def test_a_receiver_that_is_gone_for_good_is_not_asked_again(tmp_path: Path):
    async with office(tmp_path, None, http(410, b"")) as at:
        hook = await at.hook()
        await at.publish()
        [failed] = await at.until(hook["webhookId"], "failed")
        assert failed["attempts"] == 1
        assert "410" in (await at.webhook(hook["webhookId"]))["disabledBecause"]


async def test_one_receiver_that_does_not_answer_holds_up_no_other(tmp_path: Path):
    async with listening(silence) as dead, listening(TAKEN) as quick:
        allowed = tuple(server.url.removesuffix("/v1") for server in (dead, quick))
        async with office(tmp_path, None, egress_allow=allowed) as at:
            slow, fast = await at.hook(url=dead.url), await at.hook(url=quick.url)
            for number in range(6):
                await at.publish(f"Number {number}")
            await at.until(fast["webhookId"], "delivered", 6)
            assert len(dead.bodies) == 4
            assert {one["status"] for one in await at.deliveries(slow["webhookId"])} == {"pending"}


async def test_a_secret_is_shown_once_and_never_kept_in_the_clear(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url) as at:
        hook = await at.hook()
        path = f"/api/webhooks/{hook['webhookId']}"
        told = [(await at.client.get(where)).text for where in (path, "/api/webhooks", f"{path}/deliveries")]
        kept = str(answers(at.preceptor, "SELECT * FROM {table}"))
        assert hook["secret"].startswith("whsec_")
        assert hook["secret"].removeprefix("whsec_") not in "".join(told) + kept


@covers("S19")
@pytest.mark.parametrize("url", ["http://127.0.0.1:22/", "http://169.254.169.254/", "https://example.com/", "file:///"])
async def test_an_address_that_the_operator_did_not_allow_is_refused(tmp_path: Path, url: str):
    async with office(tmp_path, None) as at:
        problem(await at.client.post("/api/webhooks", json={"url": url}), 422, "invalid")


@covers("S19")
async def test_an_address_that_is_allowed_no_longer_is_not_called_any_more(tmp_path: Path):
    async with office(tmp_path, None, take_up=False) as at:
        hook = await at.hook()
        await at.publish()
    async with office(tmp_path, None, webhook_attempts=1) as later:
        [failed] = await later.until(hook["webhookId"], "failed")
        assert "PRECEPTOR_EGRESS_ALLOW" in failed["lastAttempt"]["sentence"]
        assert later.server.bodies == []


async def test_a_secret_that_no_longer_opens_is_a_failure_that_says_so(tmp_path: Path):
    async with office(tmp_path, None, take_up=False, secret_key="a" * 32) as at:
        hook = await at.hook()
        await at.publish()
    async with office(tmp_path, None, webhook_attempts=2, secret_key="b" * 32) as later:
        [failed] = await later.until(hook["webhookId"], "failed")
        assert (failed["attempts"], later.server.bodies) == (2, [])
        assert failed["lastAttempt"]["sentence"] in (await later.webhook(hook["webhookId"]))["disabledBecause"]


async def test_webhooks_of_one_organisation_hear_nothing_of_another(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url) as at:
        hook = await at.hook()
        rival = await new_org(at.client, "rivals")
        path = f"/api/webhooks/{hook['webhookId']}"
        problem(await at.client.get(path, headers=rival), 404, "not_found")
        new = {"name": "Theirs", "type": "system", "content": {"systemPrompt": "Hush."}}
        assert (await at.client.post("/api/instructions", json=new, headers=rival)).status_code == 201
        await at.publish()
        await at.until(hook["webhookId"], "delivered")
        assert [post.told["data"]["by"] for post in posts(at.server)] == ["admin"]
        operator = await new_key(at.client, role="operator")
        problem(await at.client.get("/api/webhooks", headers=operator), 403, "forbidden")


async def test_a_test_posts_one_message_and_says_what_came_of_it(tmp_path: Path):
    async with office(tmp_path, None, TAKEN, REFUSED) as at:
        hook = await at.hook()
        path = f"/api/webhooks/{hook['webhookId']}"
        fine = (await at.client.post(f"{path}/test")).json()
        assert (fine["ok"], fine["sentence"]) == (True, "It answered 204.")
        [post] = posts(at.server)
        assert (post.told["type"], post.is_signed_with(hook["secret"])) == ("webhook.test", True)
        assert not (await at.client.post(f"{path}/test")).json()["ok"]
        assert await at.deliveries(hook["webhookId"]) == []


async def test_a_webhook_is_changed_as_it_was_read_and_removed_with_all_that_was_sent(
    tmp_path: Path, database_url: str
):
    async with office(tmp_path, database_url, take_up=False) as at:
        hook = await at.hook(events=["label.moved", "label.moved"])
        assert hook["events"] == ["label.moved"]
        path = f"/api/webhooks/{hook['webhookId']}"
        read = await at.client.get(path)
        tag = {"If-Match": read.headers["etag"]}
        news = {"events": ["version.published"], "description": "for the wiki"}
        changed = (await at.client.patch(path, json=news, headers=tag)).json()
        assert (changed["events"], changed["description"]) == (["version.published"], "for the wiki")
        problem(await at.client.patch(path, json={"enabled": False}, headers=tag), 412, "precondition_failed")
        await at.publish()
        assert [one["status"] for one in await at.deliveries(hook["webhookId"])] == ["pending"]
        await at.client.patch(path, json={"enabled": False})
        assert [one["status"] for one in await at.deliveries(hook["webhookId"])] == ["failed"]
        assert (await at.client.delete(path)).status_code == 204
        problem(await at.client.get(path), 404, "not_found")
        assert query(at.preceptor, "SELECT count(*) FROM deliveries") == [(0,)]


async def test_what_was_sent_is_forgotten_after_a_month(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url) as at:
        hook = await at.hook()
        await at.publish()
        await at.until(hook["webhookId"], "delivered")
        await at.preceptor.installation.sweep()
        assert len(await at.deliveries(hook["webhookId"])) == 1
        query(at.preceptor, f"UPDATE deliveries SET created = created - {31 * 86_400_000_000}")
        await at.preceptor.installation.sweep()
        assert await at.deliveries(hook["webhookId"]) == []
