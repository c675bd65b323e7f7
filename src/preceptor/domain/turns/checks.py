"""Checks: whether the answer of a turn kept the validation rules, and what followed."""

from enum import StrEnum

import msgspec

from preceptor.domain.ids import MessageId


class Checking(StrEnum):
    """What follows from a check of an answer."""

    KEPT = "kept"
    """It is the answer, whether or not it keeps the rules."""
    RETRIED = "retried"
    BLOCKED = "blocked"


class RuleReport(msgspec.Struct, frozen=True, rename="camel"):
    rule: str
    passed: bool
    detail: str


class Checked(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Which validation rules an answer keeps, and what follows. Its `text` is here only where nobody was shown it."""

    message_id: MessageId
    reports: tuple[RuleReport, ...]
    then: Checking
    text: str = ""

    @property
    def broken(self) -> tuple[RuleReport, ...]:
        return tuple(one for one in self.reports if not one.passed)
