"""What executions, replays and gates need from their storage."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from preceptor.domain.ids import ConversationId, FamilyId, InstructionId, OrgId, TaskId, UserId


class TaskKind(StrEnum):
    EXECUTION = "execution"
    REPLAY = "replay"


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that goes on by itself, as it is found: whose it is, and who carries it out."""

    task_id: TaskId
    kind: TaskKind
    user_id: UserId
    open: bool
    """Whether it has not ended."""
    status: str
    worker: str
    lease: datetime
    cancel: str | None = None
    body: str
    """What lists show of it."""


class WantedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks a list is about. None means any."""

    kind: TaskKind
    status: str | None = None
    user_id: UserId | None = None


class TaskRepository(Protocol):
    async def add(self, row: TaskRow) -> None: ...

    async def find(self, task_id: TaskId) -> TaskRow | None: ...

    async def page(self, wanted: WantedTasks, before: str | None, limit: int) -> list[TaskRow]: ...

    async def keep(self, row: TaskRow) -> None: ...

    async def take(self, task_id: TaskId, worker: str, lease: datetime) -> bool: ...

    async def wait(self, row: TaskRow, until: datetime) -> bool: ...

    async def release(self, worker: str) -> int: ...

    async def request_cancel(self, task_id: TaskId, by: str) -> bool: ...

    async def extend(self, worker: str, until: datetime) -> int: ...

    async def expired(self, before: datetime, but: str, limit: int) -> list[tuple[OrgId, TaskRow]]: ...

    async def to_cancel(self, worker: str) -> list[tuple[OrgId, TaskId]]: ...

    async def use(self, task_id: TaskId, conversation: ConversationId) -> None: ...

    async def using(self, conversation: ConversationId) -> list[TaskId]: ...


class ItemRow(msgspec.Struct, frozen=True):
    """What became of one turn of a replay."""

    place: int
    conversation_id: ConversationId
    changed: bool
    digest: str
    body: str


class ReplayRepository(Protocol):
    async def add(self, replay: TaskId, item: ItemRow) -> None: ...

    async def digests(self, replay: TaskId) -> list[tuple[int, str]]: ...

    async def page(self, replay: TaskId, after: int, limit: int, *, changed: bool) -> list[ItemRow]: ...

    async def using(self, conversation: ConversationId) -> list[TaskId]: ...

    async def erase(self, conversation: ConversationId) -> int: ...


class GateRepository(Protocol):
    async def put(self, family_id: FamilyId, name: str, body: str) -> None: ...

    async def find(self, family_id: FamilyId, name: str) -> str | None: ...

    async def remove(self, family_id: FamilyId, name: str) -> None: ...

    async def judge(self, family_id: FamilyId, name: str, instruction_id: InstructionId, body: str) -> None: ...

    async def verdict(self, family_id: FamilyId, name: str, instruction_id: InstructionId) -> str | None: ...

    async def verdicts(self, family_id: FamilyId, name: str) -> Sequence[str]: ...


class TaskWork(Protocol):
    """The part of a transaction that is about them."""

    @property
    def tasks(self) -> TaskRepository: ...

    @property
    def replays(self) -> ReplayRepository: ...

    @property
    def gates(self) -> GateRepository: ...
