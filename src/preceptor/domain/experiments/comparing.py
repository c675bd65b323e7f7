"""Comparing two arms: differences with intervals, fixed in advance or good at every look."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from preceptor.domain.experiments.distributions import (
    chi_square_tail,
    normal_quantile,
    normal_two_sided,
    student_quantile,
    student_two_sided,
)

ALPHA = 0.05
_ZERO_ONE = frozenset({0.0, 1.0})


class Sample(NamedTuple):
    """What is known of one arm: one value of each unit, however many turns the unit had."""

    size: int
    mean: float
    variance: float
    """Of the sample, divided by one less than its size; zero for fewer than two."""
    zero_one: bool = False
    """Whether every value is 0 or 1: then the mean is a proportion."""

    @classmethod
    def of(cls, values: Sequence[float]) -> "Sample":
        size = len(values)
        if not size:
            return cls(0, 0.0, 0.0)
        first = values[0]  # all are measured from it, so that the mean of equal values is that value
        mean = first + math.fsum([value - first for value in values]) / size
        squares = math.fsum([(value - mean) * (value - mean) for value in values])
        return cls(size, mean, squares / (size - 1) if size > 1 else 0.0, _ZERO_ONE.issuperset(values))

    @property
    def successes(self) -> float:
        return self.mean * self.size


class Interval(NamedTuple):
    low: float
    high: float


class Comparison(NamedTuple):
    """Variant less control. The interval and the p-value are for one look, at the end that was planned."""

    method: str
    difference: float
    error: float
    """The standard error of the difference."""
    interval: Interval
    p_value: float


def compare(control: Sample, variant: Sample, alpha: float = ALPHA) -> Comparison | None:
    """None while there is too little to say anything: less than two units in an arm, or none that differ."""
    if control.size < 2 or variant.size < 2:
        return None
    if control.zero_one and variant.zero_one:
        return two_proportions(control, variant, alpha)
    return welch(control, variant, alpha)


def welch(control: Sample, variant: Sample, alpha: float = ALPHA) -> Comparison | None:
    """Welch's test for two means, of arms that need not vary alike."""
    first, second = control.variance / control.size, variant.variance / variant.size
    squared = first + second
    if squared <= 0.0:
        return None
    error, difference = math.sqrt(squared), variant.mean - control.mean
    degrees = squared**2 / (first**2 / (control.size - 1) + second**2 / (variant.size - 1))
    half = student_quantile(alpha, degrees) * error
    p_value = student_two_sided(difference / error, degrees)
    return Comparison("welch", difference, error, Interval(difference - half, difference + half), p_value)


def two_proportions(control: Sample, variant: Sample, alpha: float = ALPHA) -> Comparison | None:
    """The pooled z-test, with Newcombe's interval, which stays within what a difference can be."""
    pooled = (control.successes + variant.successes) / (control.size + variant.size)
    spread = pooled * (1 - pooled) * (1 / control.size + 1 / variant.size)
    if spread <= 0.0:
        return None
    difference = variant.mean - control.mean
    interval = _newcombe(control, variant, alpha)
    return Comparison(
        "two_proportions",
        difference,
        math.sqrt(_smoothed(control) + _smoothed(variant)),
        interval,
        normal_two_sided(difference / math.sqrt(spread)),
    )


def _newcombe(control: Sample, variant: Sample, alpha: float) -> Interval:
    ours, theirs = _wilson(variant, alpha), _wilson(control, alpha)
    difference = variant.mean - control.mean
    below = math.hypot(variant.mean - ours.low, theirs.high - control.mean)
    above = math.hypot(ours.high - variant.mean, control.mean - theirs.low)
    return Interval(difference - below, difference + above)


def _wilson(sample: Sample, alpha: float) -> Interval:
    z = normal_quantile(1 - alpha / 2)
    share, size = sample.mean, sample.size
    scale = 1 + z * z / size
    centre = (share + z * z / (2 * size)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return Interval(centre - half, centre + half)


def _smoothed(sample: Sample) -> float:
    """The squared error of a proportion, as if one more had succeeded and one more failed: none is ever certain."""
    share = (sample.successes + 1) / (sample.size + 2)
    return share * (1 - share) / sample.size


def stretch(units: float, planned: float, alpha: float = ALPHA) -> float:
    """How many standard errors an interval must reach to hold at every look, and not only at one.

    The boundary of a normal mixture (a confidence sequence), which is narrowest about where it was `planned` to end.
    """
    information = units * _width(alpha) / planned
    return math.sqrt(2 * (information + 1) / information * math.log(math.sqrt(information + 1) / alpha))


def _width(alpha: float) -> float:
    """Of the mixture, times the planned size: the choice that is nearly best there."""
    return -2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)


def always_valid(found: Comparison, units: int, planned: int, alpha: float = ALPHA) -> Interval:
    """An interval that holds at all looks together, so that looking early does no harm."""
    half = stretch(units, planned, alpha) * found.error
    return Interval(found.difference - half, found.difference + half)


def sample_ratio(control: int, variant: int, split: float) -> float | None:
    """How likely a split at least as far from the one that was asked for is; None while there is none to judge."""
    total = control + variant
    if not total:
        return None
    expected = total * (1 - split), total * split
    statistic = (control - expected[0]) ** 2 / expected[0] + (variant - expected[1]) ** 2 / expected[1]
    return chi_square_tail(statistic)
