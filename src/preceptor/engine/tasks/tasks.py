"""Tasks: executions and replays go on by themselves. One process claims each, and others can take over."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from preceptor.domain.errors import DiskFull, PreceptorError, Unavailable, recorded
from preceptor.domain.ids import OrgId, StreamId, TaskId
from preceptor.domain.log import Event, Fenced, NewEvent
from preceptor.domain.ownership import SYSTEM, Caller, Owner
from preceptor.engine.means.errands import NOBODY, Errand
from preceptor.engine.repositories.tasks import TaskKind, TaskRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.taking.orphans import orphans

BATCH = 1000
HEEDED = 2.5
"""Seconds within which another process hears that its task is to stop."""
UNEXPECTED = recorded("Something happened that no one had thought of. It is in the server's log.")


class Claim(msgspec.Struct, frozen=True):
    """A task that this process carries out, from what is on its record."""

    session: Session
    """Acting for the task's owner, with every permission: what the task may do is on its own record."""
    row: TaskRow
    epoch: int
    events: tuple[Event, ...]


Beside = Callable[[Work], Awaitable[None]]
"""Something that is written in the same transaction as events."""


class TaskLog(msgspec.Struct):
    """What happened is noted, and committed before anything is done; only while no one else has taken over."""

    session: Session
    task_id: TaskId
    epoch: int
    waiting: list[NewEvent] = []
    beside: list[Beside] = []
    turnstile: Any = None

    def __post_init__(self) -> None:
        self.turnstile = self.session.means.runner.turnstile()

    async def commit(self, row: Callable[[], TaskRow]) -> None:
        """Return once everything noted so far is on the disk; `row` is how the task stands then."""
        async with self.turnstile:
            if not self.waiting:
                return
            events, beside, stands = tuple(self.waiting), tuple(self.beside), row()
            self.waiting, self.beside = [], []

            async def program(work: Work) -> None:
                await work.log.append(StreamId(self.task_id), events, epoch=self.epoch)
                await work.tasks.keep(stands)
                for one in beside:
                    await one(work)

            await self.session.store.write(self.session.caller.owner, program)


class Carrier(msgspec.Struct, frozen=True):
    """How tasks of one kind are carried out, and how one ends that no one knew how to deal with."""

    carry: Callable[[Claim], Awaitable[None]]
    fail: Callable[[Claim, str, str], Awaitable[None]]


class Tasks(msgspec.Struct, frozen=True):
    session: Session
    carriers: Mapping[TaskKind, Carrier]

    @property
    def first_worker(self) -> str:
        """Who carries out what is new."""
        means = self.session.means
        return means.worker if means.errands is None else NOBODY

    async def go_on(self, kind: TaskKind, task_id: TaskId, epoch: int = 0, *, again: bool = False) -> None:
        """Let it go on by itself: here, or where there is room."""
        errands, owner = self.session.means.errands, self.session.caller.owner
        if errands is None:
            self.here(kind, task_id)
        else:
            await errands.send(Errand(kind, task_id, owner.org_id, owner.user_id, epoch), again=again)

    def here(self, kind: TaskKind, task_id: TaskId, epoch: int | None = None) -> None:
        """Let it go on in this process, unless it does already. With an `epoch`, only if no one else has taken it up
        since.
        """
        means = self.session.means
        if task_id not in means.tasks:
            means.tasks[task_id] = means.runner.spawn(f"{kind} {task_id}", self._carry(kind, task_id, epoch))

    async def carry_out(self, errand: Errand) -> None:
        """Carry out what waits, to its end, unless someone else was before us."""
        kind, task_id = TaskKind(errand.kind), TaskId(errand.id)
        owner = Caller(Owner(org_id=errand.org_id, user_id=errand.user_id), SYSTEM.permissions, "system")
        Tasks(self.session.acting_as(owner), self.carriers).here(kind, task_id, errand.epoch)
        handle = self.session.means.tasks.get(task_id)
        if handle is not None:
            await handle.wait()

    async def holds(self, worker: str, errand: Errand) -> bool:
        """Whether this worker carries it out now, and says so."""

        async def program(work: Work) -> bool:
            row = await work.within(errand.org_id).tasks.find(TaskId(errand.id))
            return row is not None and row.open and row.worker == worker and row.lease > work.now

        return await self.session.acting_as(SYSTEM).read(program)

    def stop(self, task_id: TaskId) -> bool:
        """Stop it here and now, if it is this process that carries it out. The log knows that it was asked to."""
        means = self.session.means
        handle = means.tasks.get(task_id)
        if handle is not None:
            means.ending.add(task_id)
            handle.stop()
        return handle is not None

    async def stopped(self, kind: TaskKind, task_id: TaskId) -> None:
        """Have what was asked to stop do so, in whichever process, and wait until it has."""
        if not self.stop(task_id) and not await self.settled(task_id, HEEDED):
            self.here(kind, task_id)  # whoever carries it out does not listen; it cannot write any more
        await self.settled(task_id)

    async def settled(self, task_id: TaskId, patience: float | None = None) -> bool:
        """Wait until it has ended; False if that takes longer than `patience`."""
        session, stream, org = self.session, StreamId(task_id), self.session.caller.owner.org_id
        began = session.world.monotonic()
        while patience is None or session.world.monotonic() - began < patience:
            handle = session.means.tasks.get(task_id)
            if handle is not None and patience is None:
                await handle.wait()
            head, row = await session.read(lambda work: _stands(work, task_id))
            if row is None or not row.open:
                return True
            await session.store.news(org, stream, head, 15.0 if patience is None else patience)
        return False

    async def take_over(self, *, alone: bool) -> int:
        """Take up what no one carries out any more: all of other processes where we are alone, else the expired."""
        found = await orphans(self.session, lambda work: work.tasks.expired, alone=alone)
        for org, row in found:
            await Tasks(self.session.acting_as(_owner(org, row)), self.carriers).take_up(row)
        return len(found)

    async def take_up(self, row: TaskRow) -> None:
        """Have a task go on that no one carries out any more."""
        means = self.session.means
        if means.errands is None:
            self.here(row.kind, row.task_id)
            return

        async def program(work: Work) -> int | None:
            waits = await work.tasks.wait(row, work.now + means.lease)
            return await _epoch(work, row.task_id) if waits else None

        epoch = await self.session.write(program)
        if epoch is not None:
            await self.go_on(row.kind, row.task_id, epoch, again=True)

    async def keep_alive(self) -> None:
        means = self.session.means
        if means.tasks:
            session = self.session.acting_as(SYSTEM)
            await session.write(lambda work: work.tasks.extend(means.worker, work.now + means.lease))

    async def heed(self) -> None:
        """Stop what was asked to stop by way of another process."""
        means = self.session.means
        if not means.tasks:
            return
        for _, task_id in await self.session.acting_as(SYSTEM).read(lambda work: work.tasks.to_cancel(means.worker)):
            if task_id not in means.ending:
                self.stop(task_id)

    async def _carry(self, kind: TaskKind, task_id: TaskId, epoch: int | None) -> None:
        """Carry it out to its end. What stops us leaves it to be taken up again, unless it is what was asked for."""
        means = self.session.means
        try:
            while True:
                try:
                    if await self._carried_on(kind, task_id, epoch):
                        return
                    await means.runner.pause(means.beat)
                except BaseException:
                    if task_id not in means.ending:
                        raise
                    means.ending.discard(task_id)
        finally:
            means.tasks.pop(task_id, None)
            means.ending.discard(task_id)

    async def _carried_on(self, kind: TaskKind, task_id: TaskId, epoch: int | None) -> bool:
        """False if the storage was away: what is not on the disk has not happened."""
        try:
            claim = await self._claimed(task_id, epoch)
            if claim is not None:
                await self.carriers[kind].carry(claim)
        except Fenced:
            return True
        except (Unavailable, DiskFull):
            return False
        except Exception as error:  # noqa: BLE001 - whatever happens, it must not stay open for ever
            return await self._failed(kind, task_id, error)
        return True

    async def _failed(self, kind: TaskKind, task_id: TaskId, error: Exception) -> bool:
        code, sentence = "internal", UNEXPECTED
        if isinstance(error, PreceptorError):
            code, sentence = error.code, str(error)
        else:
            self.session.means.runner.report(f"{kind} {task_id}", error)
        try:
            claim = await self._claimed(task_id)
            if claim is not None:
                await self.carriers[kind].fail(claim, code, sentence)
        except Fenced:
            return True
        except (Unavailable, DiskFull):
            return False
        return True

    async def _claimed(self, task_id: TaskId, epoch: int | None = None) -> Claim | None:
        """Become the one who carries it out, whoever did before; None if it has ended, or is not as it was left."""
        session = self.session

        async def program(work: Work) -> Claim | None:
            row = await work.tasks.find(task_id)
            if row is None or not row.open:
                return None
            if epoch is not None and row.worker != session.means.worker and await _epoch(work, task_id) != epoch:
                return None
            taken = await work.log.take_over(StreamId(task_id))
            await work.tasks.take(task_id, session.means.worker, work.now + session.means.lease)
            acting = session.acting_as(_owner(work.org, row))
            return Claim(acting, row, taken, tuple(await events_of(work, task_id)))

        return await session.store.write(session.caller.owner, program)


async def events_of(work: Work, task_id: TaskId) -> list[Event]:
    found: list[Event] = []
    while batch := await work.log.after(StreamId(task_id), found[-1].seq if found else 0, BATCH):
        found += batch
        if len(batch) < BATCH:
            break
    return found


async def _epoch(work: Work, task_id: TaskId) -> int:
    head = await work.log.head(StreamId(task_id))
    return 0 if head is None else head.epoch


async def _stands(work: Work, task_id: TaskId) -> tuple[int, TaskRow | None]:
    head = await work.log.head(StreamId(task_id))
    return 0 if head is None else head.seq, await work.tasks.find(task_id)


def _owner(org: OrgId, row: TaskRow) -> Caller:
    return Caller(Owner(org_id=org, user_id=row.user_id), SYSTEM.permissions, "system")
