"""Queues: who waits to speak in a conversation while someone else does, in the order in which they came."""

from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import ClassVar

import msgspec

from preceptor.domain.errors import Conflict
from preceptor.domain.ids import ConversationId, OrgId
from preceptor.engine.ports import Runner

MOST = 8
"""That wait in one conversation."""


class TurnInProgress(Conflict):
    code: ClassVar[str] = "turn_in_progress"
    turn_id: str = ""

    def __str__(self) -> str:
        return (
            f"The turn {self.turn_id} of this conversation is still running. Wait for it to end (GET "
            f"/api/turns/{self.turn_id}), or cancel it, then send again."
        )


class Queue(msgspec.Struct, eq=False):
    """The one of a conversation, in this process."""

    entrance: AbstractAsyncContextManager[None]
    """Who comes later is looked at later."""
    turnstile: AbstractAsyncContextManager[None]
    """The first of those who wait is through it, the others stand before it."""
    there: int = 0
    waiting: int = 0
    keys: dict[str, str] = {}
    """The idempotency keys of those who wait, each with what it was used for."""
    running: str = ""
    """The turn whose end the first of them waits for."""

    @contextmanager
    def place(self, once: tuple[str, str] | None) -> Generator[None]:
        """A place behind all who wait, if there is one."""
        if self.waiting >= MOST:
            raise TurnInProgress(turn_id=self.running)
        self.waiting += 1
        if once is not None:
            self.keys[once[0]] = once[1]
        try:
            yield
        finally:
            self.waiting -= 1
            if once is not None:
                del self.keys[once[0]]


class Queues(msgspec.Struct):
    kept: dict[tuple[OrgId, ConversationId], Queue] = {}

    @contextmanager
    def of(self, org: OrgId, conversation_id: ConversationId, runner: Runner) -> Generator[Queue]:
        """The queue of a conversation. There is one for as long as someone stands in it."""
        place = org, conversation_id
        queue = self.kept.get(place)
        if queue is None:
            queue = self.kept[place] = Queue(runner.turnstile(), runner.turnstile())
        queue.there += 1
        try:
            yield queue
        finally:
            queue.there -= 1
            if not queue.there:
                del self.kept[place]

    def let_nobody_by(self, org: OrgId, conversation_id: ConversationId) -> None:
        """Who does not wait is not taken before those who do."""
        queue = self.kept.get((org, conversation_id))
        if queue is not None and queue.waiting:
            raise TurnInProgress(turn_id=queue.running)
