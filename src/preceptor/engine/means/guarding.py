"""Asking the guardian, and what its answer means. This is the one way to ask."""

from collections.abc import Callable
from typing import ClassVar

import msgspec

from preceptor.domain.decision import Hit
from preceptor.domain.errors import Invalid, Unavailable, phrased
from preceptor.domain.reasoning.policy import GuardPolicy
from preceptor.domain.reasoning.verdict import Gate, GuardFailure, GuardFault, Judged, gate
from preceptor.engine.ports import Guardian

HARMLESS = "Where is my order?"
REMEMBERED = 5.0
"""Seconds for which it is known whether the guardian gives verdicts."""
STOPS = frozenset({Gate.BLOCK, Gate.UNAVAILABLE})
NOT_ALLOWED = phrased("The safety check does not allow this text, so nothing was done. Write it in another way.")


class GuardUnavailable(Unavailable):
    code: ClassVar[str] = "guard_unavailable"
    sentence: str = "The safety check gives no verdict right now, and without one nothing is sent to a model."
    retry_after: int = 5


class GuardClient(msgspec.Struct, frozen=True):
    """A guardian, and the policy under which it is asked."""

    guardian: Guardian | None
    policy: GuardPolicy

    async def classify(self, message: str) -> Judged | None:
        """What the guardian says, or None where there is none."""
        if self.guardian is None or not self.policy.enabled:
            return None
        return await self.guardian.judge(message)

    def gate(self, judged: Judged | None) -> Hit[Gate]:
        return gate(judged, self.policy.mode, self.policy.on_error)

    @property
    def indispensable(self) -> bool:
        """Whether nothing goes on without a verdict."""
        unknown = self.gate(GuardFailure(GuardFault.UNREACHABLE)).outcome
        return self.guardian is not None and self.policy.enabled and unknown is Gate.UNAVAILABLE

    def should_block(self, judged: Judged | None) -> bool:
        return self.gate(judged).outcome in STOPS

    async def require(self, text: str) -> None:
        """Refuse a text that would reach models by another way than a message of its own."""
        match self.gate(await self.classify(text)).outcome:
            case Gate.BLOCK:
                raise Invalid(NOT_ALLOWED)
            case Gate.UNAVAILABLE:
                raise GuardUnavailable
            case _:
                return


class GuardWatch(msgspec.Struct):
    """Whether the guardian gives verdicts. Anyone may want to know, so it is asked once in a while, not each time."""

    judged: Judged | None = None
    known_until: float = 0.0

    async def look(self, client: GuardClient, monotonic: Callable[[], float]) -> Judged | None:
        """What it says of a harmless sentence, or said of it a moment ago."""
        if monotonic() >= self.known_until:
            self.judged = await client.classify(HARMLESS)
            self.known_until = monotonic() + REMEMBERED
        return self.judged
