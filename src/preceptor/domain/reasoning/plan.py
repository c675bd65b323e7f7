"""The plan that a model writes before it answers."""

from enum import StrEnum

import msgspec

TOOL_NAME = "analyse_user_request"


class Action(StrEnum):
    """Where a plan leads. The value is the name of the template."""

    NORMAL = "normal"
    CLARIFY = "clarify"
    BLOCK = "block"
    GUARDIAN_BLOCK = "guardian_block"


class Plan(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="plan"):
    """What was understood and intended. As it is read every text is harmless and short, every score from 0 to 1."""

    spam_score: float
    spam_reason: str = ""
    user_intent: str = ""
    topic: str = ""
    category: str = "general"
    subqueries: tuple[str, ...] = ()
    action_plan: tuple[str, ...] = ()
    intent_confidence: float
    uncertainties: tuple[str, ...] = ()
    action: Action | None = None
    """The model's own opinion, or None when it gave none that can be read."""
    clarification_question: str | None = None
    truncated: tuple[str, ...] = ()
    """Fields that were longer, and are cut."""
    repaired: tuple[str, ...] = ()
    """Fields that were not as asked for, and could be put right."""
    degraded: bool = False
    """No model made it: it stands in for a plan that could not be had."""


class Malformed(msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="malformed"):
    """There is no plan in what the model wrote; the reasons are what it is told when it is asked again."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.reasons)


def degraded(confidence: float = 0.6) -> Plan:
    """The last resort: nothing is held against the request, and just enough is thought to be understood to go on."""
    return Plan(spam_score=0.0, intent_confidence=confidence, degraded=True)
