"""How much is done, counted and not timed: a busy machine makes no difference."""

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """Calls and returns, of our own functions and of built-in ones, while this is done."""
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
