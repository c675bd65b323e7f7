"""A webhook's secret is replaced without a message that its receiver cannot check."""

import json
from pathlib import Path

import pytest

from preceptor.domain.log import ORG_STREAM
from preceptor.testing import SteadyWorld
from tests.surfaces.helpers import answers, new_key, new_org, problem
from tests.surfaces.receiving import Office, Post, arrived, office


def signing(post: Post, *hooks: dict[str, str]) -> list[bool]:
    return [post.is_signed_with(hook["secret"]) for hook in hooks]


async def trail(at: Office) -> list[tuple[str, dict[str, str]]]:
    events = await at.preceptor.session.read(lambda work: work.log.after(ORG_STREAM, 0, 100))
    return [(event.kind, json.loads(event.payload or "{}")) for event in events]


async def test_for_a_day_both_secrets_sign_and_then_the_new_one_alone(tmp_path: Path):
    world = SteadyWorld()
    async with office(tmp_path, None, world=world, take_up=False) as at:
        old = await at.hook()
        id_ = old["webhookId"]
        assert signing(await at.tested(id_), old) == [True]
        new = await at.rotate(id_)
        assert new["secret"].startswith("whsec_")
        assert new["secret"] != old["secret"]
        assert new["oldSecretsEndAt"] == "2026-01-02T00:00:00Z"
        assert signing(await at.tested(id_), old, new) == [True, True]
        world.move(hours=23, minutes=59)
        assert signing(await at.tested(id_), old, new) == [True, True]
        world.move(minutes=1)
        post = await at.tested(id_)
        assert signing(post, old, new) == [False, True]
        assert len(post.headers["webhook-signature"].split(" ")) == 1


async def test_what_happens_during_an_overlap_is_delivered_with_both_signatures(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url) as at:
        old = await at.hook()
        new = await at.rotate(old["webhookId"])
        await at.publish()
        [post] = await arrived(at.server, 1)
        assert signing(post, old, new) == [True, True]
        newest = await at.rotate(old["webhookId"], overlapHours=0)
        await at.publish("Another")
        post = (await arrived(at.server, 2))[-1]
        assert signing(post, old, new, newest) == [False, False, True]


async def test_rotated_again_no_secret_signs_longer_than_it_was_to(tmp_path: Path):
    world = SteadyWorld()
    async with office(tmp_path, None, world=world, take_up=False) as at:
        first = await at.hook()
        id_ = first["webhookId"]
        second = await at.rotate(id_, overlapHours=1)
        third = await at.rotate(id_, overlapHours=168)
        assert signing(await at.tested(id_), first, second, third) == [True, True, True]
        world.move(hours=1)
        assert signing(await at.tested(id_), first, second, third) == [False, True, True]
        fourth = await at.rotate(id_, overlapHours=2)
        world.move(hours=2)
        assert signing(await at.tested(id_), second, third, fourth) == [False, False, True]


async def test_a_rotation_is_on_the_record_and_shows_its_secret_nowhere_else(tmp_path: Path, database_url: str):
    async with office(tmp_path, database_url, take_up=False) as at:
        old = await at.hook()
        path = f"/api/webhooks/{old['webhookId']}"
        new = await at.rotate(old["webhookId"])
        shown = await at.client.get(path)
        assert shown.json() == {name: value for name, value in new.items() if name != "secret"}
        assert shown.headers["etag"] != f'"{old["revision"]}"'
        kind, facts = (await trail(at))[-1]
        assert (kind, facts["by"], facts["webhookId"]) == ("webhook.rotated", "admin", old["webhookId"])
        assert facts["oldSecretsEndAt"].startswith(new["oldSecretsEndAt"][:19])
        told = [(await at.client.get(where)).text for where in (path, "/api/webhooks")]
        kept = str(answers(at.preceptor, "SELECT * FROM {table}"))
        for hook in (old, new):
            assert hook["secret"].removeprefix("whsec_") not in "".join(told) + kept


async def test_only_so_many_secrets_sign_at_once(tmp_path: Path):
    async with office(tmp_path, None, take_up=False) as at:
        first = await at.hook()
        id_ = first["webhookId"]
        hooks = [first, *[await at.rotate(id_) for _ in range(4)]]
        assert signing(await at.tested(id_), *hooks) == [True] * 5
        problem(await at.client.post(f"/api/webhooks/{id_}/rotate"), 409, "conflict")
        assert signing(await at.tested(id_), *hooks) == [True] * 5
        last = await at.rotate(id_, overlapHours=0)
        assert signing(await at.tested(id_), *hooks, last) == [*[False] * 5, True]


@pytest.mark.parametrize("hours", ["-1", "169", "1.5", "soon"])
async def test_an_overlap_that_is_no_number_of_hours_up_to_a_week_is_refused(tmp_path: Path, hours: str):
    async with office(tmp_path, None, take_up=False) as at:
        hook = await at.hook()
        refused = await at.client.post(f"/api/webhooks/{hook['webhookId']}/rotate", params={"overlapHours": hours})
        problem(refused, 422, "invalid")
        assert signing(await at.tested(hook["webhookId"]), hook) == [True]


async def test_secrets_are_rotated_by_those_who_may_manage_settings_of_that_organisation(
    tmp_path: Path, database_url: str
):
    async with office(tmp_path, database_url, take_up=False) as at:
        path = f"/api/webhooks/{(await at.hook())['webhookId']}/rotate"
        problem(await at.client.post(path, headers=await new_org(at.client, "rivals")), 404, "not_found")
        problem(await at.client.post(path, headers=await new_key(at.client, role="operator")), 403, "forbidden")


async def test_a_secret_that_no_longer_opens_is_replaced_without_an_overlap(tmp_path: Path):
    async with office(tmp_path, None, take_up=False, secret_key="a" * 32) as at:
        hook = await at.hook()
        allowed = at.server.url.removesuffix("/v1")
    async with office(tmp_path, None, take_up=False, secret_key="b" * 32) as later:
        path = f"/api/webhooks/{hook['webhookId']}/rotate"
        problem(await later.client.post(path), 422, "seal_broken")
        new = await later.rotate(hook["webhookId"], overlapHours=0)
        assert (new["url"].removesuffix("/v1"), new["secret"] != hook["secret"]) == (allowed, True)
