"""Who sends messages to webhooks looks for them only where someone can be told."""

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from preceptor import Settings, open_preceptor
from tests.adapters.model_server import http, serving
from tests.adapters.test_counters import traced
from tests.durability.announcing import BRIEF, Order, publish, settings_of
from tests.surfaces.helpers import query
from tests.surfaces.receiving import TAKEN, arrived, office


async def test_nothing_is_looked_for_before_the_first_webhook_is_made(tmp_path: Path):
    async with office(tmp_path, None, take_up=False) as at:
        preceptor = at.preceptor
        with traced(preceptor) as seen:
            preceptor.session.means.runner.spawn("deliveries", preceptor.deliveries.go_on(alone=True))
            while "SELECT webhooks" not in seen:  # noqa: ASYNC110 - it goes on by itself
                await asyncio.sleep(0.01)
            await at.publish("Unheard")
            assert "SELECT deliveries" not in seen
            await at.hook()
            await at.publish("Heard")
            [post] = await arrived(at.server, 1)
        assert post.told["type"] == "version.published"
        assert seen.index("SELECT deliveries") > seen.index("INSERT webhooks")


async def test_with_the_last_webhook_gone_it_waits_for_another(tmp_path: Path):
    async with office(tmp_path, None, take_up=False) as at:
        preceptor = at.preceptor
        hook = await at.hook()
        with traced(preceptor) as seen:
            preceptor.session.means.runner.spawn("deliveries", preceptor.deliveries.go_on(alone=True))
            await at.publish()
            await arrived(at.server, 1)
            await at.until(hook["webhookId"], "delivered")
            assert (await at.client.delete(f"/api/webhooks/{hook['webhookId']}")).status_code == 204
            seen.clear()
            while "SELECT webhooks" not in seen:  # noqa: ASYNC110 - it goes on by itself
                await asyncio.sleep(0.01)
            again = await at.hook()
            await at.publish("Another")
            await at.until(again["webhookId"], "delivered")


async def test_what_is_announced_or_due_again_here_is_sent_although_no_one_looks_for_a_minute(tmp_path: Path):
    async with serving(http(500, b""), TAKEN) as receiver:
        order = Order(f"sqlite:///{tmp_path}/preceptor.db", str(tmp_path), receiver.url, "")
        settings = settings_of(order).model_copy(update={"webhook_retry_seconds": 0.01})
        async with open_preceptor(settings) as preceptor:
            with traced(preceptor) as seen:
                while "SELECT webhooks" not in seen:  # noqa: ASYNC110 - it goes on by itself
                    await asyncio.sleep(0.01)
            await preceptor.webhooks.create(url=receiver.url)
            await publish(preceptor)
            first, again = await arrived(receiver, 2)
    assert first.id == again.id


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_webhook_that_another_process_made_is_found(database_url: str, tmp_path: Path):
    async with serving(TAKEN) as receiver:
        settings = settings_of(Order(database_url, str(tmp_path), receiver.url, ""))
        async with open_preceptor(settings, lease=BRIEF), open_preceptor(settings, take_up=False) as passing:
            await passing.webhooks.create(url=receiver.url)
            await publish(passing)
            [post] = await arrived(receiver, 1)
    assert post.told["type"] == "version.published"


def with_another_key(settings: Settings) -> Settings:
    return settings.model_copy(update={"secret_key": SecretStr("another" * 5)})


async def until_said(caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(20):
        while not complaints(caplog):  # noqa: ASYNC110 - it goes on by itself
            await asyncio.sleep(0.01)


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [said for said in (str(vars(one).get("what")) for one in caplog.records) if "to the webhook" in said]


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_what_a_server_cannot_sign_is_no_attempt_and_is_left_to_one_that_can(
    tmp_path: Path, database_url: str, caplog: pytest.LogCaptureFixture
):
    async with serving(TAKEN) as receiver:
        ours = settings_of(Order(database_url, str(tmp_path), receiver.url, ""))
        async with open_preceptor(ours, take_up=False) as preceptor:
            hook = await preceptor.webhooks.create(url=receiver.url)
        async with open_preceptor(with_another_key(ours), lease=BRIEF) as stranger:
            for _ in range(3):
                await publish(stranger)
            await until_said(caplog)
            waiting = (await stranger.webhooks.deliveries(hook.webhook_id)).items
            assert [(one.status.value, one.attempts) for one in waiting] == [("pending", 0)] * 3
        assert receiver.heads == []
        async with open_preceptor(ours, lease=BRIEF) as preceptor:
            arrived_there = {post.id for post in await arrived(receiver, 3)}
            assert arrived_there == {one.delivery_id for one in waiting}
            assert (await preceptor.webhooks.get(hook.webhook_id)).enabled
    assert len(complaints(caplog)) == 1


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_what_no_server_can_sign_holds_up_no_other(
    tmp_path: Path, database_url: str, caplog: pytest.LogCaptureFixture
):
    async with serving(TAKEN) as receiver:
        ours = settings_of(Order(database_url, str(tmp_path), receiver.url, ""))
        async with open_preceptor(ours, take_up=False) as preceptor:
            await preceptor.webhooks.create(url=receiver.url)
        async with open_preceptor(with_another_key(ours), take_up=False) as stranger:
            await publish(stranger)
            deliveries = stranger.deliveries

            async def looked() -> float:
                """Seconds until it looks at the message again."""
                await deliveries.send_due(3600)
                await stranger.session.means.runner.together([one.wait() for _, one in deliveries.on_the_way.values()])
                return await deliveries.send_due(3600)

            assert 50 < await looked() <= 60
            query(stranger, "UPDATE deliveries SET due = due - 60000000")
            assert 110 < await looked() <= 120
    assert (receiver.heads, len(complaints(caplog))) == ([], 1)
