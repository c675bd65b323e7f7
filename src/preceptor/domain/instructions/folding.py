"""When two texts are the same. Everything that compares what people wrote does it here."""

import re
import unicodedata

_VARIATION_SELECTORS = re.compile("[\ufe0e\ufe0f]")
_NOT_A_LETTER = re.compile(r"[\W_]+")


def composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """Without regard to case, and to how accents are stored. Folding can undo the normal form, so it is made twice."""
    return text.casefold() if text.isascii() else composed(composed(text).casefold())


def line_key(text: str) -> str:
    """Lines with the same key say the same, and are said once."""
    return (text.casefold() if text.isascii() else folded(text)).strip()


def loose_key(text: str) -> str:
    """Lines with the same loose key differ in punctuation and spaces only: worth a remark, never removed."""
    return _NOT_A_LETTER.sub(" ", folded(text)).strip() or line_key(text)


def keyword_key(text: str) -> str:
    """As `folded`, and ⚠ with or without its emoji selector is the same sign."""
    return _VARIATION_SELECTORS.sub("", folded(text)) or folded(text)
