"""Asking the guardian, and what its answer means. This is the one way to ask."""

from typing import ClassVar

import msgspec

from preceptor.domain.decision import Hit
from preceptor.domain.errors import Invalid, Unavailable
from preceptor.domain.reasoning.policy import GuardPolicy
from preceptor.domain.reasoning.verdict import Gate, Judged, gate
from preceptor.engine.ports import Guardian

STOPS = frozenset({Gate.BLOCK, Gate.UNAVAILABLE})
NOT_ALLOWED = "The safety check does not allow this text, so nothing was done. Write it in another way."


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
