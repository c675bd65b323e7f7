"""A session: the store, opened for one caller. Features are built on one, so none can forget whose data it is."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import msgspec
from msgspec.structs import replace

from preceptor.domain.errors import Conflict, Invalid, NotFound
from preceptor.domain.ownership import Caller
from preceptor.engine.means.means import Means
from preceptor.engine.ports import Seal, World
from preceptor.engine.repositories.work import Program, Store, Work
from preceptor.engine.telling.compiled import Compilations

Result = TypeVar("Result")
_ERASABLE = ("conversation_id", "attachment_id", "execution_id", "replay_id")


class Once(msgspec.Struct, frozen=True):
    """A caller's wish that this request be carried out once, however often it is sent."""

    key: str
    fingerprint: str
    encode: Callable[[Any], bytes]


@dataclass(eq=False)
class Replayed(Exception):
    answer: bytes


class IdempotencyMismatch(Invalid):
    code: ClassVar[str] = "idempotency_mismatch"

    def __str__(self) -> str:
        return "This Idempotency-Key was used for a different request. Use a new key for a new request."


class IdempotencyInProgress(Conflict):
    code: ClassVar[str] = "idempotency_in_progress"

    def __str__(self) -> str:
        return "A request with this Idempotency-Key is still being carried out. Ask again in a moment."


class AnswerErased(NotFound):
    what: str = "answer"
    id: str = ""

    def __str__(self) -> str:
        return "What was done with this Idempotency-Key has been erased since. Use a new key for a new request."


class Session(msgspec.Struct, frozen=True):
    store: Store
    world: World
    seal: Seal
    caller: Caller
    once: Once | None = None
    compilations: Compilations = msgspec.field(default_factory=Compilations)
    """Shared by all who use the same store."""
    given: Means | None = None

    def acting_as(self, caller: Caller, once: Once | None = None) -> "Session":
        return Session(self.store, self.world, self.seal, caller, once, self.compilations, self.given)

    @property
    def means(self) -> Means:
        """What turns are taken with."""
        assert self.given is not None, "this session was opened without what turns are taken with"
        return self.given

    def read(self, program: Program[Result]) -> Coroutine[Any, Any, Result]:
        return self.store.read(self.caller.owner, program)

    def write(
        self, program: Program[Result], encode: Callable[[Result], bytes] | None = None
    ) -> Coroutine[Any, Any, Result]:
        """Run `program` in one transaction; with an idempotency key, at most once in a day.

        The key, the effect and the answer are committed together: there is no moment at which one exists without the
        others. Answers are sealed, because an answer may hold a secret that is shown once. `encode` takes the place
        of the surface's own where the transaction only starts something, and its result is not the answer yet.
        """
        if self.once is not None:
            once = self.once if encode is None else replace(self.once, encode=encode)
            program = partial(self._at_most_once, once, program)
        return self.store.write(self.caller.owner, program)

    async def answered_before(self) -> None:
        """Raise what was answered to an earlier request with the same idempotency key, before anything is looked at."""
        if self.once is not None:
            await self.read(partial(self._known, self.once))

    async def _known(self, once: Once, work: Work) -> None:
        """What an idempotency key stands for already is raised, as an answer or as a mistake."""
        context = f"{self.caller.owner.org_id}/{once.key}".encode()
        match await work.idempotency.find(once.key):
            case None:
                return
            case (_, b""):
                raise AnswerErased  # whatever is asked now: what was asked then is not known any more
            case (fingerprint, _) if fingerprint != once.fingerprint:
                raise IdempotencyMismatch
            case (_, None):
                raise IdempotencyInProgress
            case (_, answer):
                raise Replayed(self.seal.open(answer, context))

    async def _at_most_once(self, once: Once, program: Program[Result], work: Work) -> Result:
        await self._known(once, work)
        # Claimed before anything is done: of two at once, one waits here, then finds the other's answer.
        await work.idempotency.claim(once.key, once.fingerprint)
        result = await program(work)
        context = f"{self.caller.owner.org_id}/{once.key}".encode()
        await work.idempotency.settle(once.key, self.seal.seal(once.encode(result), context), _about(result))
        return result


def _about(result: object) -> list[str]:
    """The ids of what can be erased, and whose words a request or its answer may repeat."""
    if isinstance(result, tuple):  # a turn, and where in the log it begins
        begun = cast("tuple[object, int]", result)[0]
        result = getattr(begun, "journal", begun)
    ones = getattr(result, "conversations", (result,))  # an import makes several
    return [str(getattr(one, name)) for one in ones for name in _ERASABLE if hasattr(one, name)]
