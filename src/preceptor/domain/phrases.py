"""The sentences people read, in every language we speak. A catalogue that lacks one cannot be loaded."""

from collections.abc import Mapping
from typing import ClassVar

from preceptor.domain.errors import CannotStart
from preceptor.domain.gaps import filled, require_known

LANGUAGES = ("en", "ru", "vi")
Phrase = str | Mapping[str, str]
"""A sentence or, where something is counted, one for each form of the plural."""

_SEPARATORS = {"en": ",", "ru": "\u00a0", "vi": "."}
_POINTS = {"en": ".", "ru": ",", "vi": ","}
_FORMS = {"en": ("one", "many"), "ru": ("one", "few", "many"), "vi": ("many",)}


class IncompletePhrases(CannotStart):
    code: ClassVar[str] = "cannot_start"
    sentence: str = "A catalogue of phrases is incomplete."


def form(language: str, count: int) -> str:
    """Which form of the plural a number takes."""
    match language:
        case "ru" if count % 10 == 1 and count % 100 != 11:
            return "one"
        case "ru" if count % 10 in {2, 3, 4} and count % 100 not in {12, 13, 14}:
            return "few"
        case "en" if count == 1:
            return "one"
        case _:
            return "many"


def grouped(language: str, number: int) -> str:
    """A whole number, as it is written in a language."""
    return f"{number:,}".replace(",", _SEPARATORS.get(language, ","))


def pointed(language: str, digits: str) -> str:
    """A number as it is written in a language, from one with a point."""
    return digits.replace(".", _POINTS.get(language, "."))


class Catalogue:
    """By language, then by key. Each key says in `gaps` what may be filled in."""

    __slots__ = ("_phrases",)

    def __init__(self, phrases: Mapping[str, Mapping[str, Phrase]], gaps_of: Mapping[str, tuple[str, ...]]) -> None:
        self._phrases = phrases
        for language in LANGUAGES:
            _require_complete(language, phrases.get(language, {}), gaps_of)

    def say(self, language: str, key: str, /, **blanks: str) -> str:
        """The sentence, filled in. In a language we do not speak it is English, and an unknown key is itself."""
        phrase = self._find(language, key)
        text = phrase if isinstance(phrase, str) else phrase["many"]
        return filled(text, blanks) if "{{" in text else text

    def count(self, language: str, key: str, number: int, /, **blanks: str) -> str:
        """The same, for so many: `{{count}}` is the number."""
        phrase = self._find(language, key)
        text = phrase if isinstance(phrase, str) else phrase[form(self._spoken(language), number)]
        return filled(text, {"count": grouped(language, number), **blanks})

    def _find(self, language: str, key: str) -> Phrase:
        return self._phrases[self._spoken(language)].get(key, key)

    def _spoken(self, language: str) -> str:
        return language if language in self._phrases else "en"


def _require_complete(language: str, phrases: Mapping[str, Phrase], gaps_of: Mapping[str, tuple[str, ...]]) -> None:
    if missing := sorted(set(gaps_of) ^ set(phrases)):
        raise IncompletePhrases(f"The phrases in {language!r} and the keys differ in {', '.join(missing)}.")
    for key, phrase in phrases.items():
        forms = {"": phrase} if isinstance(phrase, str) else phrase
        if not isinstance(phrase, str) and set(forms) != set(_FORMS[language]):
            raise IncompletePhrases(f"{key!r} in {language!r} needs the forms {', '.join(_FORMS[language])}.")
        for text in forms.values():
            require_known(text, gaps_of[key])
            if not text.strip():
                raise IncompletePhrases(f"{key!r} in {language!r} says nothing.")
