"""Who sees what of a plan (the matrix), and what goes out where (DT-004)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from preceptor.domain.decision import HitPolicy, Is, Row, Table
from preceptor.domain.reasoning.plan import Action


class Reader(StrEnum):
    MODEL = "model"
    USER = "user"
    RECORD = "record"


class Seen(StrEnum):
    ALWAYS = "yes"
    NEVER = "no"
    IF_CLARIFY = "only with clarify"
    UNLESS_GUARDIAN_BLOCK = "not with guardian_block"

    def with_action(self, action: Action) -> bool:
        match self:
            case Seen.ALWAYS:
                return True
            case Seen.NEVER:
                return False
            case Seen.IF_CLARIFY:
                return action is Action.CLARIFY
            case Seen.UNLESS_GUARDIAN_BLOCK:
                return action is not Action.GUARDIAN_BLOCK


class Sight(NamedTuple):
    model: Seen
    user: Seen
    record: Seen
    label: str = ""
    """How the model is shown it, where a template does not name it."""


_YES, _NO = Seen.ALWAYS, Seen.NEVER

MATRIX: Mapping[str, Sight] = {
    "user_intent": Sight(_YES, Seen.UNLESS_GUARDIAN_BLOCK, _YES, "Intent"),
    "topic": Sight(_YES, _NO, _YES, "Topic"),
    "category": Sight(_YES, _NO, _YES, "Request category"),
    "spam_score": Sight(_YES, _NO, _YES, "Spam score"),
    "spam_reason": Sight(_YES, _NO, _YES, "Reason"),
    "intent_confidence": Sight(_YES, _NO, _YES, "Confidence"),
    "uncertainties": Sight(_YES, _NO, _YES, "Uncertainties"),
    "subqueries": Sight(_YES, _NO, _YES, "Subqueries"),
    "action_plan": Sight(_YES, _NO, _YES, "Action Plan"),
    "action": Sight(_YES, _NO, _YES, "Action"),
    "clarification_question": Sight(_YES, Seen.IF_CLARIFY, _YES, "Question"),
    "guard_categories": Sight(_YES, _NO, _YES, "Guard categories"),
    "response": Sight(_YES, _YES, _YES),
    "tool_trace": Sight(_NO, _NO, _YES),
    "raw_plan": Sight(_NO, _NO, _YES),
}
"""Every field, and its three readers."""

SECTIONS = ("response", "tool_trace", "raw_plan")
"""Rows of the matrix that are no field of an analysis."""


def may_see(reader: Reader, name: str, action: Action) -> bool:
    seen: Seen = getattr(MATRIX[name], reader.value)
    return seen.with_action(action)


def shown_to(reader: Reader, action: Action) -> tuple[str, ...]:
    """The fields, in the order of the matrix, that a reader may see when a turn goes this way."""
    return tuple(name for name in MATRIX if name not in SECTIONS and may_see(reader, name, action))


class Emission(msgspec.Struct, frozen=True):
    analysis: bool
    response: bool
    trace: bool
    structured: bool


class OutputFacts(msgspec.Struct, frozen=True):
    channel: Reader


OUTPUTS: Table[OutputFacts, Emission] = Table(
    "DT-004",
    "what goes out where",
    {"channel": tuple(Reader)},
    (
        Row(
            "model",
            {"channel": Is(Reader.MODEL)},
            Emission(analysis=True, response=True, trace=False, structured=False),
        ),
        Row(
            "user", {"channel": Is(Reader.USER)}, Emission(analysis=False, response=True, trace=False, structured=False)
        ),
        Row(
            "record",
            {"channel": Is(Reader.RECORD)},
            Emission(analysis=True, response=True, trace=True, structured=True),
        ),
    ),
    HitPolicy.UNIQUE,
)
