"""Those who hear of what happens in this process: metrics, traces, tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from preceptor.domain.turns.turn import Turn
    from preceptor.engine.means.traced import TurnTracer


class Hearers(msgspec.Struct, frozen=True):
    committed: Callable[[int, float], None] | None = None
    """Hears of every commit: how many transactions it held and how many seconds it took."""
    settled: Callable[[Turn], None] | None = None
    """Hears of every turn that has ended here."""
    delivered: Callable[[bool], None] | None = None
    """Hears of every message that was posted to a webhook: whether it was taken."""
    tracer: TurnTracer | None = None
    """Is handed the spans of turns, in place of the one that the settings name."""


NOBODY = Hearers()
