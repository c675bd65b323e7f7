"""Messages to webhooks, when the process that was to send them is killed."""

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from preceptor import Preceptor, open_preceptor
from tests.adapters.model_server import serving
from tests.durability.announcing import BRIEF, Order, publish, settings_of
from tests.durability.forks import Forks
from tests.requirements import covers
from tests.surfaces.receiving import TAKEN, arrived, posts


@pytest.fixture(scope="module")
def workers() -> Iterator[Forks]:
    with Forks("tests.durability.announcing:carry_out") as opened:
        yield opened


@covers("F1")
async def test_what_was_on_the_disk_when_the_process_died_is_told_by_the_next(
    workers: Forks, database_url: str, tmp_path: Path
):
    async with serving(TAKEN) as receiver:
        order = Order(database_url, str(tmp_path), receiver.url, "fact")
        assert await asyncio.to_thread(workers.call, **asdict(order)) == -signal.SIGKILL
        assert receiver.bodies == []
        async with open_preceptor(settings_of(order), lease=BRIEF):
            [post] = await arrived(receiver, 1)
            assert post.told["type"] == "version.published"


@covers("F1")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_was_on_its_way_when_the_process_died_is_sent_again_under_the_same_id(
    workers: Forks, database_url: str, tmp_path: Path
):
    """At once where no other process can be sending it; elsewhere once its claim has run out."""

    async def kill(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        os.kill(int((tmp_path / "pid").read_text(encoding="ascii")), signal.SIGKILL)
        await reader.read()

    async with serving(kill, TAKEN) as receiver:
        order = Order(database_url, str(tmp_path), receiver.url, "delivery")
        assert await asyncio.to_thread(workers.call, **asdict(order)) == -signal.SIGKILL
        assert len(receiver.bodies) == 1
        async with open_preceptor(settings_of(order), lease=BRIEF):
            first, again = await arrived(receiver, 2)
            assert (first.id, first.body) == (again.id, again.body)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_processes_that_share_a_database_send_each_message_once(database_url: str, tmp_path: Path):
    async with serving(TAKEN) as receiver:
        order = Order(database_url, str(tmp_path), receiver.url, "")
        opened = [open_preceptor(settings_of(order), lease=BRIEF) for _ in range(2)]
        async with opened[0] as first, opened[1] as second:
            hook = await first.webhooks.create(url=receiver.url)
            for number in range(20):
                await publish((first, second)[number % 2])
            while not await all_delivered(first, hook.webhook_id):  # noqa: ASYNC110 - it goes on by itself
                await asyncio.sleep(0.01)
        assert len(receiver.bodies) == len({post.id for post in posts(receiver)}) == 20


async def all_delivered(preceptor: Preceptor, webhook_id: str) -> bool:
    found = await preceptor.webhooks.deliveries(webhook_id)
    return {one.status for one in found.items} == {"delivered"}
