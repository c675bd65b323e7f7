"""Words that were misspelled, and which were meant."""

from collections.abc import Sequence

MOST = 100
"""So many words are looked at: comparing two takes up to a fifth of a millisecond."""


def meant(word: str, known: Sequence[str]) -> str | None:
    """The one of these that a word looks like, whatever its case; None if it looks like none."""
    from difflib import get_close_matches  # most words are spelled well

    by_case = {one.lower(): one for one in reversed(known[:MOST])}
    alike = get_close_matches(word.lower(), by_case, 1)
    return by_case[alike[0]] if alike else None
