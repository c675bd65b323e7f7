"""A process that does something webhooks are told of, and dies before or while they are."""

import asyncio
import os
import signal
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage import faults
from preceptor.adapters.storage.postgres import PostgresStore
from preceptor.adapters.storage.sqlite import SqliteStore

STORES = (SqliteStore, PostgresStore)
"""Named here so that both are imported before the first fork."""
BRIEF = timedelta(seconds=0.3)
SECRET = "s" * 32


@dataclass(frozen=True, slots=True)
class Order:
    database: str
    folder: str
    url: str
    die: str
    """When: `fact` is once it is on the disk, `delivery` is left to whoever receives the message."""


def settings_of(order: Order) -> Settings:
    allowed = (order.url.removesuffix("/v1"),)
    given = {"data_dir": order.folder, "database_url": order.database, "admin_key": "key", "secret_key": SECRET}
    return Settings.load(**given, egress_allow=allowed)


async def work(order: Order) -> None:
    async with open_preceptor(settings_of(order), lease=BRIEF, take_up=order.die != "fact") as preceptor:
        await preceptor.webhooks.create(url=order.url)
        if order.die == "fact":
            faults.hook = die_once_committed
        await publish(preceptor)
        await asyncio.Event().wait()


def die_once_committed(point: str) -> None:
    if point.endswith("after-commit"):
        os.kill(os.getpid(), signal.SIGKILL)


async def publish(preceptor: Preceptor) -> None:
    await preceptor.instructions.create(name="Tone", type="system", content={"systemPrompt": "Be kind."})


def carry_out(**order: str) -> None:
    told = Order(**order)
    Path(told.folder, "pid").write_text(str(os.getpid()), encoding="ascii")
    asyncio.run(work(told))
