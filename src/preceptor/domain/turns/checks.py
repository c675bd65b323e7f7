"""Checks: whether the answer of a turn kept the validation rules, and what followed."""

from enum import StrEnum

import msgspec

from preceptor.domain.ids import MessageId
from preceptor.domain.phrases import Catalogue

TEXTS = Catalogue(
    {
        "en": {"kept_back": "The answer did not keep the rules that answers have here, so it is not shown. Ask again."},
        "ru": {"kept_back": "Ответ нарушал действующие здесь правила, поэтому он не показан. Спросите ещё раз."},
        "vi": {"kept_back": "Câu trả lời không theo đúng quy tắc ở đây nên không được hiển thị. Xin bạn hỏi lại."},
    },
    {"kept_back": ()},
)
"""What users are told in the place of an answer that nobody gets."""


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
