"""Whether an answer keeps the validation rules."""

from collections.abc import Iterator
from functools import lru_cache

from preceptor.domain.errors import recorded
from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.instructions.folding import composed, keyword_key
from preceptor.domain.readings import Together, Words, faithful, plain
from preceptor.domain.value import Value

_key = lru_cache(maxsize=4096)(keyword_key)
_plain = lru_cache(maxsize=4096)(plain)


class RuleCheck(Value):
    rule: str
    passed: bool
    detail: str


def check(answer: str, rules: ValidationRules) -> tuple[RuleCheck, ...]:
    """One report per rule that is set. What to do about a failure is up to `rules.mode`."""
    reports: list[RuleCheck] = []
    if rules.max_response_length is not None:
        reports.append(_length(answer, rules.max_response_length))
    if rules.required_keywords or rules.prohibited_keywords:
        said = Words(keyword_key(answer))
        reports += _looked_for(answer, said, rules)
    return tuple(reports)


def passes(answer: str, rules: ValidationRules) -> bool:
    return all(report.passed for report in check(answer, rules))


def _looked_for(answer: str, said: Words, rules: ValidationRules) -> Iterator[RuleCheck]:
    plainly = Together([said])
    if rules.required_keywords:
        missing = [word for word in rules.required_keywords if _key(word) not in plainly]
        detail = recorded("missing: %(words)s", words=", ".join(missing)) if missing else recorded("all there")
        yield RuleCheck(rule="requiredKeywords", passed=not missing, detail=detail)
    if rules.prohibited_keywords:
        anyhow = Together([said, *faithful(answer, said)])
        found = [word for word in rules.prohibited_keywords if _is_there(word, plainly, anyhow)]
        detail = recorded("found: %(words)s", words=", ".join(found)) if found else recorded("none found")
        yield RuleCheck(rule="prohibitedKeywords", passed=not found, detail=detail)


def _is_there(keyword: str, plainly: Together, anyhow: Together) -> bool:
    """Whether it is there, in disguise or not. Best effort: see `readings`."""
    key, wanted = _key(keyword), _plain(keyword)
    if key == wanted and wanted.strip():
        return wanted in anyhow
    return key in plainly or (bool(wanted.strip()) and wanted in anyhow)


def _length(answer: str, limit: int) -> RuleCheck:
    """Counted in composed form, so that the same text has the same length however its accents are stored."""
    length = len(composed(answer))
    return RuleCheck(
        rule="maxResponseLength",
        passed=length <= limit,
        detail=recorded("%(length)s characters, at most %(limit)s allowed", length=length, limit=limit),
    )
