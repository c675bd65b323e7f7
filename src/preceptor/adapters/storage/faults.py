"""Fault points: the named moments around every commit at which a test may stop the world.

In production `hook` is None and reaching a point costs one comparison.
"""

from collections.abc import Callable
from typing import Final

POINTS: Final = (
    "sqlite.begin",
    "sqlite.step",
    "sqlite.before-commit",
    "sqlite.after-commit",
    "sqlite.acknowledged",
    "postgres.begin",
    "postgres.before-commit",
    "postgres.after-commit",
)

hook: Callable[[str], None] | None = None


def reach(point: str) -> None:
    if hook is not None:
        hook(point)
