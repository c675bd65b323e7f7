"""Remarks on a merge: what its author would want to know before an agent does."""

import re
from collections.abc import Iterator
from enum import StrEnum

from preceptor.domain.errors import recorded
from preceptor.domain.instructions.effective import Effective, Reason, Rule
from preceptor.domain.instructions.folding import folded, loose_key
from preceptor.domain.value import Value

_LISTS = {
    "guidelines": "guidelines",
    "suggestions": "suggestions",
    "doList": "do_list",
    "dontList": "dont_list",
    "constraints": "constraints",
}
_NEGATION = re.compile(r"^(?:do not|don t|never|avoid|không được|không|đừng|никогда не|нельзя|не)\s+")
_IGNORING = re.compile(
    r"\b(?:ignore|disregard|override|bypass|forget|skip|bỏ qua|phớt lờ|игнорируй\w*|забудь\w*|обойди\w*)\b"
    r".{0,80}?\b(?:constraints?|rules?|instructions?|restrictions?|ràng buộc|quy tắc|hướng dẫn|правил\w*|ограничени\w*"
    r"|инструкци\w*)\b",
    re.DOTALL,
)
_SHOWN = 80


class Kind(StrEnum):
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    WEAKENED = "weakened_constraint"
    UNREACHABLE = "unreachable"


class Finding(Value):
    kind: Kind
    path: str
    sentence: str


def lint(effective: Effective) -> tuple[Finding, ...]:
    return (*_duplicates(effective), *_contradictions(effective), *_weakened(effective), *_unreachable(effective))


def _duplicates(effective: Effective) -> Iterator[Finding]:
    for lost in effective.overridden:
        if lost.reason is Reason.DUPLICATE:
            sentence = recorded(
                "%(line)s is said again by %(id)s; it is told once.", line=_short(lost.text), id=lost.instruction_id
            )
            yield Finding(kind=Kind.DUPLICATE, path=lost.path, sentence=sentence)
    for name, attribute in _LISTS.items():
        first: dict[str, int] = {}
        lines: tuple[str, ...] = getattr(effective, attribute)
        for place, line in enumerate(lines):
            if (other := first.setdefault(loose_key(line), place)) != place:
                sentence = recorded(
                    "%(line)s differs from %(path)s in punctuation only.", line=_short(line), path=f"/{name}/{other}"
                )
                yield Finding(kind=Kind.DUPLICATE, path=f"/{name}/{place}", sentence=sentence)


def _contradictions(effective: Effective) -> Iterator[Finding]:
    """The same thing asked for and forbidden, in whichever list either stands."""
    asked: dict[str, str] = {}
    forbidden = {_bare(line): f"/dontList/{place}" for place, line in enumerate(effective.dont_list)}
    for name in ("doList", "guidelines", "suggestions", "constraints"):
        lines: tuple[str, ...] = getattr(effective, _LISTS[name])
        for place, line in enumerate(lines):
            target = forbidden if _bare(line) != loose_key(line) else asked
            target.setdefault(_bare(line), f"/{name}/{place}")
    for line, path in asked.items():
        if line in forbidden:
            sentence = recorded(
                "%(line)s is asked for here and forbidden at %(path)s.", line=_short(line), path=forbidden[line]
            )
            yield Finding(kind=Kind.CONTRADICTION, path=path, sentence=sentence)


def _bare(line: str) -> str:
    return _NEGATION.sub("", loose_key(line))


def _weakened(effective: Effective) -> Iterator[Finding]:
    for lost in effective.overridden:
        if lost.reason in (Reason.DISABLED, Reason.LOCK_OVERRIDDEN):
            sentence = recorded(
                "%(line)s is switched off by a customization of %(id)s.", line=_short(lost.text), id=lost.assignment
            )
            yield Finding(kind=Kind.WEAKENED, path=lost.path, sentence=sentence)
    for notice in effective.warnings:
        if notice.code == "locked":
            yield Finding(kind=Kind.WEAKENED, path="/constraints", sentence=notice.sentence)
    for source in effective.sources:
        if source.rule is Rule.CUSTOMIZED:
            line = effective.guidelines[int(source.path.rpartition("/")[2])]
            if _IGNORING.search(folded(line)):
                sentence = recorded(
                    "%(line)s tells the agent to ignore its rules. Constraints are told after it, and stay.",
                    line=_short(line),
                )
                yield Finding(kind=Kind.WEAKENED, path=source.path, sentence=sentence)


def _unreachable(effective: Effective) -> Iterator[Finding]:
    for lost in effective.overridden:
        if lost.reason in (Reason.OUTRANKED, Reason.LESS_STRICT):
            sentence = recorded(
                "%(line)s by %(id)s never reaches the agent: another value wins.",
                line=_short(lost.text),
                id=lost.instruction_id,
            )
            yield Finding(kind=Kind.UNREACHABLE, path=lost.path, sentence=sentence)
    for notice in effective.warnings:
        if notice.code in ("template", "not_in_force"):
            yield Finding(kind=Kind.UNREACHABLE, path="", sentence=notice.sentence)


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
