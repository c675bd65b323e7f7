"""Whether an answer keeps the validation rules."""

from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.instructions.folding import composed, keyword_key
from preceptor.domain.readings import faithful, plain
from preceptor.domain.value import Value


class RuleCheck(Value):
    rule: str
    passed: bool
    detail: str


def check(answer: str, rules: ValidationRules) -> tuple[RuleCheck, ...]:
    """One report per rule that is set. What to do about a failure is up to `rules.mode`."""
    text = keyword_key(answer)
    reports: list[RuleCheck] = []
    if rules.max_response_length is not None:
        reports.append(_length(answer, rules.max_response_length))
    if rules.required_keywords:
        missing = [word for word in rules.required_keywords if not _said(word, text)]
        reports.append(_keywords("requiredKeywords", missing, "missing", "all there"))
    if rules.prohibited_keywords:
        masked = faithful(answer)
        found = [word for word in rules.prohibited_keywords if _said(word, text) or _hidden(word, masked)]
        reports.append(_keywords("prohibitedKeywords", found, "found", "none found"))
    return tuple(reports)


def passes(answer: str, rules: ValidationRules) -> bool:
    return all(report.passed for report in check(answer, rules))


def _said(keyword: str, text: str) -> bool:
    return keyword_key(keyword) in text


def _hidden(keyword: str, masked: tuple[str, ...]) -> bool:
    """Whether it is there in disguise. Best effort: see `readings`."""
    wanted = plain(keyword)
    return bool(wanted.strip()) and any(wanted in reading for reading in masked)


def _length(answer: str, limit: int) -> RuleCheck:
    """Counted in composed form, so that the same text has the same length however its accents are stored."""
    length = len(composed(answer))
    return RuleCheck(
        rule="maxResponseLength", passed=length <= limit, detail=f"{length} characters, at most {limit} allowed"
    )


def _keywords(rule: str, guilty: list[str], problem: str, fine: str) -> RuleCheck:
    detail = f"{problem}: {', '.join(guilty)}" if guilty else fine
    return RuleCheck(rule=rule, passed=not guilty, detail=detail)
