"""A text as a person would read it, however it was disguised: rules about words are tried on this, nothing is stored.

This is best effort. It undoes the common tricks (case, wide and styled letters, invisible characters, look-alikes of
other alphabets, digits for letters, letters spaced apart or repeated) and cannot undo all of them.
"""

# ruff: noqa: RUF001 - these letters are meant

import html
import re
import unicodedata
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e01ef]"
)
_CYRILLIC = "авекмнорстухіїѕјԁһӏԛԝьё"
_AS_LATIN = "abekmhopctyxiisjdhlqwbe"
_GREEK = "αβεηικνορτυχωγ"
_GREEK_AS_LATIN = "abenikvoptuxwy"
_OTHERS = {"ı": "i", "ɡ": "g", "ɑ": "a", "ո": "n", "ս": "u", "օ": "o", "ⅼ": "l", "ß": "b", "ø": "o", "đ": "d", "ł": "l"}
_TO_LATIN = str.maketrans(
    dict(zip(_CYRILLIC, _AS_LATIN, strict=True)) | dict(zip(_GREEK, _GREEK_AS_LATIN, strict=True)) | _OTHERS
)
_ALIKE = "abekmhopctyx3046"
_TO_CYRILLIC = str.maketrans(_ALIKE, "авекмнорстухзочб")
_LEET = str.maketrans("0134578@$!|", "oieastbasil")
_LEET_WORD = re.compile(r"(?<![a-z0134578@$!|])[a-z]*[0134578@$!|][a-z0134578@$!|]*")
_LETTER = re.compile(r"[a-z]")
_APART = re.compile(r"(?<!\w)\w(?:[\s.\-_*·•/\\|,~+]{1,3}\w(?!\w)){2,}")
_SEPARATORS = re.compile(r"[\s.\-_*·•/\\|,~+]+")
_INSIDE_WORD = re.compile(r"(?<=\w)[.\-_*·•~+](?=\w)")
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_ACCENTS = re.compile(f"[{_MARKS}]")
_LOOSE = re.compile(rf"(?<![\w{_MARKS}])\w*[{_MARKS}][\w{_MARKS}]*")
_PRECOMPOSED = "".join(
    letter
    for letter in map(chr, (*range(0xC0, 0x530), *range(0x1E00, 0x1F00)))
    if len(unicodedata.normalize("NFD", letter)) > 1
)
_DECKED = re.compile(rf"(?<!\w)(?:[^\W{_PRECOMPOSED}]*[{_PRECOMPOSED}]){{3}}\w*")
"""A word with marks on three letters or more: no syllable of Vietnamese has so many, and few words of any language."""
_REPEATED = re.compile(r"(\w)\1{2,}")
# Each begins at the start of a word and never goes back, so that what it costs grows with the text and no faster.
_HALF_CYRILLIC = re.compile(rf"(?<!\S)(?=[^\s{_ALIKE}]*[{_ALIKE}])[^\sа-яё]*[а-яё]\S*")
_OTHER = "\u0370-\u03ff\u0400-\u052f\u0531-\u058fıɡɑⅼ"
_FOREIGN = re.compile(rf"(?<!\w)[^\W{_OTHER}]*[{_OTHER}]\w*")
_HALF_FOREIGN = re.compile(rf"(?<!\w)(?=[^\Wa-z]*[a-z])[^\W{_OTHER}]*[{_OTHER}]\w*")
_OWN_CYRILLIC = re.compile(rf"(?<!\w)[{_CYRILLIC}]*(?![{_CYRILLIC}])[а-яё][а-яё]*(?!\w)")


class Words:
    """A text, and its words each once: what is done to a word without regard to others is done to it once.

    A word is what stands between spaces, so that no other character is lost. Whatever rewrites words must neither make
    nor take away a space.
    """

    __slots__ = ("_all", "distinct", "each", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._all = text.split(" ")
        self.distinct = list(dict.fromkeys(self._all))
        self.each = " ".join(self.distinct)
        """Every word once."""

    def rewritten(self, each: str) -> "Words":
        """The text with other words, given in the order of `each`."""
        if each == self.each:
            return self
        instead = dict(zip(self.distinct, each.split(" "), strict=True))
        return Words(" ".join([instead[word] for word in self._all]))


class Together:
    """Several readings of a text. They have most words in common, and each word is looked through once."""

    __slots__ = ("_each", "_known", "_texts")

    def __init__(self, readings: Iterable[Words]) -> None:
        given = list({reading.text: reading for reading in readings}.values())
        self._texts = [reading.text for reading in given]
        self._each = " ".join(dict.fromkeys(chain.from_iterable(reading.distinct for reading in given)))
        self._known: dict[str, bool] = {}

    def __contains__(self, wanted: str) -> bool:
        """Whether one of them contains this. What has no space in it is there if it is in one of the words."""
        if not all(map(self._has, wanted.split(" "))):
            return False
        return " " not in wanted or any(wanted in text for text in self._texts)

    def _has(self, part: str) -> bool:
        """Keywords have words in common."""
        known = self._known.get(part)
        if known is None:
            known = self._known[part] = part in self._each
        return known


class Readings(NamedTuple):
    plain: str
    """Folded, and without what cannot be seen. Accents stay."""
    latin: str
    """Every look-alike as the Latin letter it stands for, without accents."""
    cyrillic: str
    """In words with a Cyrillic letter, every look-alike as Cyrillic."""
    squeezed: str
    """The Latin reading, with digits as letters, spaced letters joined and repeated ones once."""


def plain(text: str) -> str:
    if text.isascii() and "&" not in text:
        return text.casefold()
    seen = html.unescape(text) if "&" in text else text
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _INVISIBLE.sub("", seen)).casefold())


def readings(text: str) -> Readings:
    folded = plain(text)
    latin = folded if folded.isascii() else _without_accents(folded).translate(_TO_LATIN)
    cyrillic = folded if folded.isascii() else _HALF_CYRILLIC.sub(_as_cyrillic, folded)
    return Readings(folded, latin, cyrillic, _squeezed(Words(latin)).text)


def faithful(text: str, said: Words | None = None) -> tuple[Words, ...]:
    """Readings in which letters keep the marks that make them other letters: `bạn` is not `ban`.

    Only what is plainly a mask is taken off: marks that belong to no letter, or sit on most letters of a word; letters
    of another alphabet inside a word, or in a text that has no word of that alphabet; letters spaced apart. `said` are
    words that the text may well be made of.
    """
    folded = plain(text)
    words = said if said is not None and said.text == folded else Words(folded)
    if folded.isascii():
        return _once(words, _squeezed(words))
    bare = _DECKED.sub(_undecked, _LOOSE.sub(lambda word: _without_accents(word[0]), words.each))
    # Where the text has words of another alphabet, only what is Latin in part is a mask.
    foreign = _HALF_FOREIGN if _OWN_CYRILLIC.search(bare) else _FOREIGN
    latin = words.rewritten(foreign.sub(_as_latin, bare))
    cyrillic = words.rewritten(_HALF_CYRILLIC.sub(_as_cyrillic, bare))
    return _once(words, latin, cyrillic, *map(_squeezed, _once(latin, cyrillic)))


def _once(*readings: Words) -> tuple[Words, ...]:
    return tuple({reading.text: reading for reading in readings}.values())


def _undecked(match: re.Match[str]) -> str:
    """The word without its marks, if most of its letters have one."""
    bare = _without_accents(match[0])
    marked = sum(letter in _PRECOMPOSED for letter in match[0])
    return bare if 2 * marked > len(bare) else match[0]


def _as_latin(match: re.Match[str]) -> str:
    return match[0].translate(_TO_LATIN)


def _as_cyrillic(match: re.Match[str]) -> str:
    return match[0].translate(_TO_CYRILLIC)


def _without_accents(text: str) -> str:
    return _ACCENTS.sub("", unicodedata.normalize("NFD", text))


def _squeezed(latin: Words) -> Words:
    together = _APART.sub(lambda letters: _SEPARATORS.sub("", letters[0]), latin.text)
    words = latin if together == latin.text else Words(together)
    joined = _INSIDE_WORD.sub("", words.each)
    return words.rewritten(_REPEATED.sub(r"\1", _LEET_WORD.sub(_spelled_out, joined)))


def _spelled_out(match: re.Match[str]) -> str:
    """Digits and signs as the letters they stand for, in what has letters; a mark at the end is only a mark."""
    word = match[0].rstrip("!|")
    return word.translate(_LEET) + match[0][len(word) :] if _LETTER.search(word) else match[0]
