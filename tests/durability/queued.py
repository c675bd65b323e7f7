"""A worker in a process of its own: takes up what waits until it is told to stop, or dies where it is told to."""

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from preceptor.adapters import hands
from preceptor.adapters.storage.faults import reach
from preceptor.engine.means.errands import Errand
from preceptor.engine.repositories.tasks import TaskRow
from preceptor.engine.tasks.tasks import TaskLog
from preceptor.going_on import Hands
from tests.durability.turning import Order, die_at, opening, setup
from tests.durability.worker import History

assert hands, "imported before the first fork"


def mark_moments() -> None:
    """Make each boundary of an execution a moment at which a process may die: before and after each step is begun and
    ended on the record, when it is taken out of its queue, and when it is done with.
    """
    commit, carry = TaskLog.commit, Hands.carry

    async def marked(self: TaskLog, row: Callable[[], TaskRow]) -> None:
        told = [f"{one.kind} {json.loads(one.payload).get('index', '')}" for one in self.waiting]
        for one in told:
            reach(f"before {one}")
        await commit(self, row)
        for one in told:
            reach(f"after {one}")

    async def taken(self: Hands, errand: Errand) -> None:
        reach(f"{errand.kind} taken")
        await carry(self, errand)
        reach(f"{errand.kind} done")

    TaskLog.commit = marked
    Hands.carry = taken


async def work(order: Order) -> None:
    history, stopping = History(Path(order.folder, "history.jsonl")), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    seen: Counter[str] = Counter()
    die_at(order.nth, order.point, seen)
    async with opening(order):
        history.write(did="ready", name=order.name, pid=os.getpid())
        await stopping.wait()
    history.write(did="stopped", name=order.name, moments=dict(seen))


def carry_out(**order: Any) -> None:
    told = Order(**order)
    setup(told)
    mark_moments()
    asyncio.run(work(told))
