"""A session: the store, opened for one caller. Features are built on one, so none can forget whose data it is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

from preceptor.domain.errors import Conflict, Invalid
from preceptor.domain.ownership import Caller
from preceptor.engine.ports import Program, Seal, Store, Work, World

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Once:
    """A caller's wish that this request be carried out once, however often it is sent."""

    key: str
    fingerprint: str
    encode: Callable[[Any], bytes]


@dataclass(eq=False)
class Replayed(Exception):
    answer: bytes


@dataclass(eq=False)
class IdempotencyMismatch(Invalid):
    code: ClassVar[str] = "idempotency_mismatch"

    def __str__(self) -> str:
        return "This Idempotency-Key was used for a different request. Use a new key for a new request."


@dataclass(eq=False)
class IdempotencyInProgress(Conflict):
    code: ClassVar[str] = "idempotency_in_progress"

    def __str__(self) -> str:
        return "A request with this Idempotency-Key is still being carried out. Ask again in a moment."


@dataclass(frozen=True, slots=True)
class Session:
    store: Store
    world: World
    seal: Seal
    caller: Caller
    once: Once | None = None

    def acting_as(self, caller: Caller, once: Once | None = None) -> "Session":
        return Session(self.store, self.world, self.seal, caller, once)

    async def read(self, program: Program[Result]) -> Result:
        return await self.store.read(self.caller.owner, program)

    async def write(self, program: Program[Result]) -> Result:
        """Run `program` in one transaction; with an idempotency key, at most once in a day.

        The key, the effect and the answer are committed together: there is no moment at which one exists without the
        others. Answers are sealed, because an answer may hold a secret that is shown once.
        """
        if self.once is not None:
            program = partial(self._at_most_once, self.once, program)
        return await self.store.write(self.caller.owner, program)

    async def _at_most_once(self, once: Once, program: Program[Result], work: Work) -> Result:
        context = f"{self.caller.owner.org_id}/{once.key}".encode()
        match await work.idempotency.find(once.key):
            case None:
                # Claimed before anything is done: of two at once, one waits here, then finds the other's answer.
                await work.idempotency.claim(once.key, once.fingerprint)
                result = await program(work)
                await work.idempotency.settle(once.key, self.seal.seal(once.encode(result), context))
                return result
            case (fingerprint, _) if fingerprint != once.fingerprint:
                raise IdempotencyMismatch
            case (_, None):
                raise IdempotencyInProgress
            case (_, answer):
                raise Replayed(self.seal.open(answer, context))
