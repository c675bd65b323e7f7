"""Power: what an experiment of some size can show, and how large or long it must be."""

import math

from preceptor.domain.experiments.comparing import stretch
from preceptor.domain.experiments.distributions import normal_quantile

POWER = 0.8
SMALL = 0.2
"""Of a standard deviation: the effect that is looked for where none is named."""


def _spread(split: float) -> float:
    return 1 / split + 1 / (1 - split)


def detectable(units: float, deviation: float, split: float, planned: float | None = None) -> float:
    """The smallest difference that so many units, in both arms together, show with a power of 80 %.

    Shown means: the interval that holds at every look leaves zero out.
    """
    reach = stretch(units, planned or units) + normal_quantile(POWER)
    return reach * deviation * math.sqrt(_spread(split) / units)


def units_needed(effect: float, deviation: float, split: float) -> int:
    """How many units, in both arms together, show a difference as large as `effect` with a power of 80 %."""
    reach = stretch(1, 1) + normal_quantile(POWER)
    return math.ceil((reach * deviation / effect) ** 2 * _spread(split))
