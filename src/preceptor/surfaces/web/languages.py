"""The words of the pages, in every language we speak.

A text is known by its English words. `words/*.json` gives the others, side by side: `{"Settings": {"ru": …, "vi": …}}`.
What is counted has one form for each plural of its language, in the order of `FORMS`, and is known by its singular.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from preceptor.domain.phrases import LANGUAGES, form, grouped, pointed

WORDS = Path(__file__).parent / "words"
FORMS = {"en": ("one", "many"), "ru": ("one", "few", "many"), "vi": ("many",)}
NAMES = {"en": "English", "ru": "Русский", "vi": "Tiếng Việt"}
Forms = str | tuple[str, ...]
_FRACTION = re.compile(r"\d+\.\d+")


def msg(text: str) -> str:
    """Mark a text that is translated where it is shown."""
    return text


@cache
def catalogue(language: str) -> Mapping[str, Forms]:
    """English to `language`."""
    found: dict[str, Forms] = {}
    for file in sorted(WORDS.glob("*.json")):
        entries: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        for text, others in entries.items():
            if language in others:
                told = others[language]
                found[text] = told if isinstance(told, str) else tuple(told)
    return found


class Speaker(msgspec.Struct, frozen=True):
    """Says things in one language."""

    language: str

    def say(self, text: str, /, **blanks: Any) -> str:
        told = catalogue(self.language).get(text, text)
        said = told if isinstance(told, str) else told[-1]
        return said % blanks if blanks else said

    def count(self, one: str, many: str, number: int, **blanks: Any) -> str:
        """The form for so many; `%(num)s` is the number."""
        return self.form_of(one, many, number) % {"num": self.number(number), **blanks}

    def form_of(self, one: str, many: str, number: int) -> str:
        forms = self.forms(one, many)
        return forms[form(self.language, number)]

    def forms(self, one: str, many: str) -> dict[str, str]:
        """By the name of the plural, for scripts that count on their own."""
        told = catalogue(self.language).get(one, (one, many) if self.language == "en" else (one, many, many))
        texts = (told,) if isinstance(told, str) else told
        return dict(zip(FORMS[self.language], texts[-len(FORMS[self.language]) :], strict=True))

    def number(self, value: int) -> str:
        return grouped(self.language, value)

    def fraction(self, digits: str) -> str:
        """A number as it is written here, from one with a point."""
        return pointed(self.language, digits)

    def fractions(self, text: str) -> str:
        """A text in which numbers stand with a point."""
        return _FRACTION.sub(lambda found: self.fraction(found[0]), text)

    def fixed(self, value: float, places: int = 1) -> str:
        return self.fraction(f"{value:.{places}f}")


SPEAKERS = {language: Speaker(language) for language in LANGUAGES}
