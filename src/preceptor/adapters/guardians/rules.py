"""The embedded guardian: our own rules, tried on a normalised copy of the text. It says that it is no model."""

import asyncio
import re
from collections.abc import Iterator

import msgspec

from preceptor.adapters.guardians.rule_book import PRETEXT, Rule, Script
from preceptor.adapters.guardians.rules_en import ENGLISH
from preceptor.adapters.guardians.rules_ru import RUSSIAN
from preceptor.adapters.guardians.rules_vi import VIETNAMESE
from preceptor.domain.readings import Readings, readings
from preceptor.domain.reasoning.verdict import SEVERITY, Judged, Level, Verdict

RULES = (*ENGLISH, *RUSSIAN, *VIETNAMESE)
NAME = "rules (keyword rules, not a model)"
REACH = 60
"""Characters that may lie between what is asked for and what it is about."""
ON_THE_LOOP = 20_000
"""A longer text is judged in a thread, so that nobody else has to wait."""
_END = re.compile(r"[.?!;\n]")


class RulesGuardian(msgspec.Struct, frozen=True):
    name: str = NAME

    async def judge(self, text: str) -> Judged:
        return judged(text) if len(text) <= ON_THE_LOOP else await asyncio.to_thread(judged, text)

    async def close(self) -> None:
        """Nothing to close."""


def judged(text: str) -> Verdict:
    found = list(broken(text))
    level = max((level for _, level in found), key=SEVERITY.__getitem__, default=Level.SAFE)
    return Verdict(level, tuple(dict.fromkeys(rule.category for rule, _ in found)))


def broken(text: str) -> Iterator[tuple[Rule, Level]]:
    """The rules that a text breaks, and how badly."""
    read = readings(text)
    for rule in RULES:
        levels = [level for reading in _tried(rule.script, read) if (level := _breaks(rule, reading))]
        if levels:
            yield rule, max(levels, key=SEVERITY.__getitem__)


def _tried(script: Script, read: Readings) -> tuple[str, ...]:
    match script:
        case Script.LATIN:
            return (read.latin,) if read.squeezed == read.latin else (read.latin, read.squeezed)
        case Script.CYRILLIC:
            return (read.cyrillic,)
        case Script.ACCENTED:
            return (read.plain,)


def _breaks(rule: Rule, text: str) -> Level | None:
    if not any(stem in text for stem in rule.needed):
        return None
    doubtful = False
    for start, end in _places(rule, text):
        around = text[max(0, start - REACH) : end + REACH]
        if rule.excuses is not None and rule.excuses.search(around):
            continue
        if PRETEXT.search(around) is None:
            return rule.level
        doubtful = True
    return Level.CONTROVERSIAL if doubtful else None


def _places(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    """Where the rule may be broken. Linear: both lists are in order, and each thing looks at the last act before it."""
    things = rule.things.finditer(text)
    if rule.acts is None:
        yield from (thing.span() for thing in things)
        return
    acts = rule.acts.finditer(text)
    following = next(acts, None)
    last: re.Match[str] | None = None
    for thing in things:
        while following is not None and following.end() <= thing.start():
            last, following = following, next(acts, None)
        if last is None or thing.start() - last.end() > REACH or _END.search(text, last.end(), thing.start()):
            continue
        yield last.start(), thing.end()
