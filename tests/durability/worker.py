"""A process that works on a database and dies where it is told to: SIGKILL leaves it no time to tidy up."""

import asyncio
import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from preceptor import Preceptor, Settings, open_preceptor
from preceptor.adapters.storage import faults, folding
from preceptor.adapters.storage.postgres import PostgresStore
from preceptor.adapters.storage.sqlite import SqliteStore
from preceptor.domain.conversations.conversation import ConversationChange, NewConversation
from preceptor.domain.ids import ConversationId
from preceptor.engine.conversations import Wanted

STORES = (SqliteStore, PostgresStore)
"""Named here so that both are imported before the first fork."""
OPERATIONS = 200
CONVERSATIONS = 20
WRITERS = 16
"""At most so many wait for one commit, so 200 operations take at least 13."""


@dataclass(frozen=True, slots=True)
class Order:
    """Die the `nth` time that `point` is reached, or after so many milliseconds; with neither, finish and leave."""

    database: str
    folder: str
    name: str = "process"
    point: str = ""
    nth: int = 0
    milliseconds: int = 0
    operations: int = OPERATIONS


class History:
    """What was asked and what was acknowledged, on the disk before anything else happens."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, **facts: object) -> None:
        os.write(self._file, orjson.dumps(facts) + b"\n")
        os.fdatasync(self._file)


def die_at(point: str, nth: int) -> None:
    reached = itertools.count(1)

    def hook(name: str) -> None:
        if name == point and next(reached) == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    faults.hook = hook


async def work(order: Order) -> None:
    """Start conversations and change their titles, and those of conversations that earlier processes left."""
    history = History(Path(order.folder, "history.jsonl"))
    settings = Settings.load(data_dir=order.folder, database_url=order.database, admin_key="key", secret_key="s" * 32)
    async with open_preceptor(settings) as preceptor:
        old = await preceptor.conversations.page(Wanted(), limit=CONVERSATIONS // 2)
        ids = [asyncio.get_running_loop().create_future() for _ in range(CONVERSATIONS)]
        for known, conversation in zip(ids[CONVERSATIONS // 2 :], old.items, strict=False):
            known.set_result(conversation.conversation_id)
        numbers = iter(range(order.operations))
        await asyncio.gather(*(write(preceptor, history, order.name, numbers, ids) for _ in range(WRITERS)))


async def write(
    preceptor: Preceptor,
    history: History,
    name: str,
    numbers: Iterator[int],
    ids: list[asyncio.Future[ConversationId]],
) -> None:
    for number in numbers:
        title, place = f"{name}.{number}", ids[number % CONVERSATIONS]
        history.write(did="invoke", title=title)
        if number < CONVERSATIONS and not place.done():
            done = await preceptor.conversations.start(NewConversation(agent_id="assistant", title=title))
            place.set_result(done.conversation_id)
        else:
            done = await preceptor.conversations.change(await place, ConversationChange(title=title))
        history.write(did="ok", title=title, id=done.conversation_id, seq=done.revision)


def carry_out(**order: str | int) -> None:
    told = Order(**order)  # pyright: ignore[reportArgumentType]
    folding.CHANGES, folding.PAGES = 20, 60  # so often that many die while the log is folded
    if told.point:
        die_at(told.point, told.nth)
    if told.milliseconds:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the kernel ends us in the middle of whatever we do
        signal.setitimer(signal.ITIMER_REAL, told.milliseconds / 1000)
    asyncio.run(work(told))
