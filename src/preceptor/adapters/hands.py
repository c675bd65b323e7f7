"""A worker: takes errands out of the queues, as many as it has room for, and does chores when it is their time."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime
from threading import Lock, current_thread
from typing import Any

import msgspec
import sqlalchemy as sa
from dbos import DBOS, DBOSConfig, ScheduleInput
from sqlalchemy import event

from preceptor.adapters.errands import APPLICATION, CARRY, QUEUES, VERSION, Json, Queues, quieten, read_errand
from preceptor.domain.errors import CannotStart
from preceptor.engine.means.errands import Errand

POLLED_EVERY = 0.1
LAST_WORDS = 1.0
"""Seconds in which errands that were cut short can say so."""
_one_worker = Lock()
_log = logging.getLogger(__name__)

Chore = Callable[[], Awaitable[Any]]


class Room(msgspec.Struct, frozen=True):
    """How much of each kind may go on at once."""

    worker: int
    org: int
    org_starts_per_minute: int | None = None


class Worker(msgspec.Struct, frozen=True):
    name: str
    room: Room
    carry: Callable[[Errand], Awaitable[None]]
    leave: Chore
    """Stop whatever still goes on."""
    chores: Mapping[str, tuple[str, Chore]]
    """Done by one worker of all, when the schedule says so: by name the schedule and what to do."""
    grace: float
    """Seconds in which it may finish what it is at when it is told to stop."""
    at_work: "set[asyncio.Task[Any]]" = set()

    async def take_up(self, errand: Errand) -> None:
        self.note_work()
        await self.carry(errand)

    def note_work(self) -> None:
        """This task is at work until it has ended: DBOS still writes down there what came of an errand."""
        task = asyncio.current_task()
        assert task is not None
        self.at_work.add(task)
        task.add_done_callback(self.at_work.discard)

    async def finish(self, seconds: float) -> None:
        if self.at_work and seconds:
            await asyncio.wait(set(self.at_work), timeout=seconds)

    async def let_go(self) -> None:
        """Of errands that were sent again meanwhile: of each, DBOS waits for what comes of it where it is taken up."""
        for task in self.at_work:
            task.cancel()
        await self.finish(LAST_WORDS)


@asynccontextmanager
async def working(queues: Queues, worker: Worker) -> AsyncGenerator[None]:
    """Take errands up until the end; then no more of them. There is one worker in a process, as there is one DBOS."""
    if not _one_worker.acquire(blocking=False):
        raise CannotStart("This process is a worker already, and can be one only once. Start another process.")
    dbos = _initialised(queues.engine, worker)
    schedules = [_schedule(worker, name, when, chore) for name, (when, chore) in worker.chores.items()]
    quieten()
    _notice_looks(queues)
    try:
        DBOS.launch()
        await _register(worker.room)
        await DBOS.apply_schedules_async(schedules)
        yield
    finally:
        for stop in dbos.background_thread_stop_events:
            stop.set()
        await worker.finish(worker.grace)
        await worker.leave()
        await worker.finish(LAST_WORDS)
        await worker.let_go()
        await queues.apart(DBOS.destroy, destroy_registry=True)
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())  # its own was taken away by DBOS
        _one_worker.release()


def _notice_looks(queues: Queues) -> None:
    """DBOS looks into each queue from a thread of its own, which can be held up while all others go on."""
    threads = {f"queue-worker-{name}": name for name in QUEUES}

    def notice(*_: object) -> None:
        if (name := threads.get(current_thread().name)) is not None:
            queues.looked[name] = time.monotonic()

    queues.looked = dict.fromkeys(QUEUES, -math.inf)
    event.listen(queues.engine, "after_cursor_execute", notice)


def _initialised(engine: sa.Engine, worker: Worker) -> DBOS:
    config: DBOSConfig = {
        "name": APPLICATION,
        "system_database_engine": engine,
        "serializer": Json(),
        "application_version": VERSION,
        "executor_id": worker.name,
        "log_level": "WARNING",
    }
    dbos = DBOS(config=config)

    async def carry(kind: str, name: str, org: str, user: str, epoch: int) -> None:
        await worker.take_up(read_errand(kind, name, org, user, epoch))

    DBOS.workflow(name=CARRY)(carry)
    return dbos


def _schedule(worker: Worker, name: str, when: str, chore: Chore) -> ScheduleInput:
    does = DBOS.workflow(name=name)(_scheduled(worker, name, chore))
    return {"schedule_name": name, "schedule": when, "workflow_fn": does}


def _scheduled(worker: Worker, name: str, chore: Chore) -> Callable[[datetime, Any], Coroutine[Any, Any, None]]:
    async def scheduled(at: datetime, about: Any) -> None:  # noqa: ARG001 - as schedules are called
        worker.note_work()
        try:
            await chore()
        except Exception as error:  # noqa: BLE001 - it is tried again next time
            _log.warning("a chore must wait", extra={"chore": name, "reason": str(error)})

    return scheduled


async def _register(room: Room) -> None:
    starts = room.org_starts_per_minute
    for name in QUEUES:
        await DBOS.register_queue_async(
            name,
            worker_concurrency=room.worker,
            partition_concurrency=room.org,
            partition_limiter=None if starts is None else {"limit": starts, "period": 60.0},
            polling_interval_sec=POLLED_EVERY,
            on_conflict="always_update",
        )
