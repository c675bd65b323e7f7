"""Cutting text without harm: at a word if there is one, and never inside a character that people see as one."""

import unicodedata

_JOINER = "\u200d"
ELLIPSIS = "…"


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis: `limit` characters at most."""
    if len(text) <= limit:
        return text
    cut = limit - 1
    space = text.rfind(" ", cut // 2, cut + 1)
    if space > 0:
        return text[:space].rstrip() + ELLIPSIS
    return text[: _whole(text, cut)] + ELLIPSIS


def _whole(text: str, cut: int) -> int:
    """The nearest place at or before `cut` that is not inside a grapheme; if there is none, `cut`."""
    for place in range(cut, max(0, cut - 32), -1):
        if not _goes_on(text[place]) and text[place - 1] != _JOINER:
            return place
    return cut


def _goes_on(sign: str) -> bool:
    skin = "\U0001f3fb" <= sign <= "\U0001f3ff"
    return skin or sign == _JOINER or unicodedata.category(sign) in {"Mn", "Me", "Mc"}
