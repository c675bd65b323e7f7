"""Tasks in SQL: which go on, who carries them out, and until when they may."""

from datetime import datetime
from typing import Any

import msgspec

from preceptor.adapters.storage.connection import Transaction
from preceptor.adapters.storage.ready.tasks import (
    ADD,
    CANCEL,
    EXPIRED,
    EXTEND,
    FIND,
    KEEP,
    PAGE,
    RELEASE,
    TAKE,
    TO_CANCEL,
    USE,
    USING,
    WAIT,
)
from preceptor.domain.ids import ConversationId, OrgId, TaskId
from preceptor.domain.times import from_micros, to_micros
from preceptor.engine.repositories.tasks import TaskKind, TaskRow, WantedTasks

LATER_THAN_ALL = "g"
"""After every id: they are written in hexadecimal digits."""


class SqlTasks(msgspec.Struct, frozen=True):
    work: Transaction

    async def add(self, row: TaskRow) -> None:
        await self.work.put(
            ADD,
            id=row.task_id,
            kind=row.kind.value,
            user=row.user_id,
            open=int(row.open),
            status=row.status,
            worker=row.worker,
            lease=to_micros(row.lease),
            cancel=row.cancel,
            body=row.body,
        )

    async def find(self, task_id: TaskId) -> TaskRow | None:
        row = await self.work.one(FIND, named=task_id)
        return _task(row) if row else None

    async def page(self, wanted: WantedTasks, before: str | None, limit: int) -> list[TaskRow]:
        """The newest first. Ids grow with time, so the last of them says where to go on."""
        rows = await self.work.all(
            PAGE,
            of_kind=wanted.kind.value,
            before=before or LATER_THAN_ALL,
            any_status=int(wanted.status is None),
            with_status=wanted.status or "",
            any_user=int(wanted.user_id is None),
            of_user=wanted.user_id or "",
            limit=limit,
        )
        return [_task(row) for row in rows]

    async def keep(self, row: TaskRow) -> None:
        """Write down how it stands; who carries it out stays."""
        await self.work.put(
            KEEP,
            named=row.task_id,
            to_open=int(row.open),
            to_status=row.status,
            to_cancel=row.cancel,
            to_body=row.body,
        )

    async def take(self, task_id: TaskId, worker: str, lease: datetime) -> bool:
        """Give it to this worker; False if it has ended meanwhile."""
        return bool(await self.work.run(TAKE, named=task_id, to_worker=worker, to_lease=to_micros(lease)))

    async def wait(self, row: TaskRow, until: datetime) -> bool:
        """Let it wait for someone to take it up; False if it is not as it was any more."""
        before = {"of_worker": row.worker, "of_lease": to_micros(row.lease)}
        return bool(await self.work.run(WAIT, named=row.task_id, until=to_micros(until), **before))

    async def release(self, worker: str) -> int:
        """Let go of all that a worker holds: others may take it up at once."""
        return await self.work.run(RELEASE, by=worker)

    async def request_cancel(self, task_id: TaskId, by: str) -> bool:
        return bool(await self.work.run(CANCEL, named=task_id, by=by))

    async def extend(self, worker: str, until: datetime) -> int:
        return await self.work.run(EXTEND, by=worker, until=to_micros(until))

    async def expired(self, before: datetime, but: str, limit: int) -> list[tuple[OrgId, TaskRow]]:
        rows = await self.work.all(EXPIRED, before=to_micros(before), but=but, limit=limit)
        return [(row[0], _task(row)) for row in rows]

    async def to_cancel(self, worker: str) -> list[tuple[OrgId, TaskId]]:
        return [(org, task) for org, task in await self.work.all(TO_CANCEL, by=worker)]

    async def use(self, task_id: TaskId, conversation: ConversationId) -> None:
        await self.work.put(USE, conversation=conversation, task=task_id)

    async def using(self, conversation: ConversationId) -> list[TaskId]:
        return [row[0] for row in await self.work.all(USING, of=conversation)]


def _task(row: tuple[Any, ...]) -> TaskRow:
    _, task_id, kind, user, is_open, status, worker, lease, cancel, body = row
    return TaskRow(
        task_id=task_id,
        kind=TaskKind(kind),
        user_id=user,
        open=bool(is_open),
        status=status,
        worker=worker,
        lease=from_micros(lease),
        cancel=cancel,
        body=body,
    )
