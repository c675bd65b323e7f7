"""What was noted in English, said in the language of whoever looks: a sentence is known again by its pattern.

The patterns are those of `recorded`, in `words/recorded.json`. What none of them fits, a provider said: it stays.
"""

import json
import re
from collections.abc import Sequence
from functools import cache

from preceptor.domain.errors import Phrased
from preceptor.surfaces.web.languages import WORDS, Speaker, msg
from preceptor.surfaces.web.views.wording import LABELS

BLANK = re.compile(r"%\((\w+)\)s")
NUMBER = re.compile(r"\d[\d.e+-]*%?")
VERSION = re.compile(r"\d[\w.+-]*")
NUMBERS = frozenset(
    {
        "cost",
        "count",
        "first",
        "last",
        "least",
        "left",
        "length",
        "limit",
        "max_tokens",
        "most",
        "number",
        "room",
        "seconds",
        "size",
        "spent",
        "step",
        "turns",
        "used",
        "wanted",
        "window",
    }
)
"""Blanks in which a number stands."""
WORDED = frozenset({"after", "before", "now", "otherwise", "part", "status", "then", "what", "why"})
"""Blanks in which more of our own words stand."""
MEANT = {
    "compression_failed": msg("it could not be written"),
    "ended": msg("over"),
    "insufficient_history": msg("there are too few messages"),
    "nothing_to_summarise": msg("there is nothing to sum up"),
    "timeout": msg("out of time"),
    "waiting_for_more": msg("it waits for more messages"),
    "within_budget": msg("everything fits"),
    "major": msg("major"),
    "minor": msg("minor"),
    "patch": msg("patch"),
}
"""Words of the record that are not said as they are."""


def recalled(speaker: Speaker, text: str) -> str:
    """What was noted, in the language of the page: one sentence of ours, or several."""
    whole = _known(speaker, text)
    if whole is not None:
        return whole
    each = [_known(speaker, one) for one in re.split(r"(?<=\.) ", text)]
    return " ".join(one for one in each if one is not None) if None not in each else text


def fact(speaker: Speaker, text: str) -> str:
    """What is set somewhere: a number as it is written in the language of the page, or words of ours."""
    if text.isdecimal():
        return speaker.number(int(text))
    return speaker.fraction(text) if NUMBER.fullmatch(text) else speaker.say(text)


def said(speaker: Speaker, text: str) -> str:
    """A phrase in the language of the page. Any other text is someone's own, and stays as it is."""
    if not isinstance(text, Phrased):
        return text
    return speaker.say(text.pattern, **{name: _shown(speaker, name, value) for name, value in text.facts.items()})


def _known(speaker: Speaker, text: str) -> str | None:
    """A sentence may have been noted without its full stop, to stand among others: then it is said without it."""
    bare = text.removesuffix(".")
    for pattern, pieces in _patterns():
        stops = pattern.endswith(".")
        found = _blanks(pieces, bare if stops else text)
        if found is not None:
            told = speaker.say(pattern, **{name: _shown(speaker, name, value) for name, value in found.items()})
            return told.removesuffix(".") if stops and bare == text else told
    return None


def _blanks(pieces: Sequence[str], text: str) -> dict[str, str] | None:
    """What stands in the blanks, if the text is made like this. In one pass: a text can be as long as anyone likes."""
    first, last, at = pieces[0], pieces[-1], len(pieces[0])
    if len(pieces) == 1:
        return {} if text == first else None
    if not (text.startswith(first) and text.endswith(last)):
        return None
    found: dict[str, str] = {}
    for place in range(1, len(pieces), 2):
        name, literal = pieces[place], pieces[place + 1]
        end = len(text) - len(last) if place + 2 == len(pieces) else text.find(literal, at + 1)
        value = text[at : max(end, at)]
        if not value or (name in NUMBERS and not NUMBER.fullmatch(value)):
            return None
        if name == "version" and not VERSION.fullmatch(value):
            return None
        found[name], at = value, end + len(literal)
    return found


def _shown(speaker: Speaker, name: str, value: object) -> str:
    text = str(value)
    if isinstance(value, Phrased):
        return said(speaker, value)
    if name in NUMBERS:
        return fact(speaker, text)
    if name in {"field", "fields"}:
        return ", ".join(speaker.say(LABELS.get(one.rpartition(".")[2], one)) for one in text.split(", "))
    if name in WORDED:
        told = recalled(speaker, text)
        return told if told != text else speaker.say(MEANT.get(text, text))
    return text


@cache
def _patterns() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each with its pieces: words, a blank, words, and so on, up to its full stop. Those that say most in words of
    their own come first.
    """
    known: dict[str, object] = json.loads((WORDS / "recorded.json").read_text(encoding="utf-8"))
    ordered = sorted(known, key=lambda one: len(BLANK.sub("", one)), reverse=True)
    return tuple((one, tuple(BLANK.split(one.removesuffix(".")))) for one in ordered)
