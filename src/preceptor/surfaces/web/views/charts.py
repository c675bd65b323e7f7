"""Drawings of an experiment: differences around a line at zero, and how the difference came about day by day.

Only where things stand on the drawing; the templates draw.
"""

from collections.abc import Sequence
from math import sqrt

import msgspec

from preceptor.domain.experiments.results import Effect, Results
from preceptor.domain.experiments.series import MetricSeries, Point

WIDE = 200.0
"""Of a row of the forest."""
ROOM = 1.08
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720.0, 240.0, 56.0, 64.0, 12.0, 28.0
STEEP = 3.0
"""How much wider than the newest interval the drawing is: the first ones, of a handful of units, run out of it."""


class Bar(msgspec.Struct, frozen=True):
    """One metric: places on a common scale, in standard deviations, with nothing in the middle."""

    effect: Effect
    point: float
    low: float
    high: float
    always_low: float
    always_high: float


class Forest(msgspec.Struct, frozen=True):
    bars: dict[str, Bar]
    reach: float
    """Standard deviations from the middle to either side."""


def forest(results: Results) -> Forest:
    spreads = {effect.metric: _spread(results, effect.metric) for effect in results.effects}
    drawn = [one for one in results.effects if one.always_valid is not None and spreads[one.metric]]
    reach = max((_farthest(one) / spreads[one.metric] for one in drawn), default=1.0) * ROOM or 1.0
    return Forest({one.metric: _bar(one, spreads[one.metric] * reach) for one in drawn}, reach)


def _spread(results: Results, metric: str) -> float:
    """The standard deviation of a unit within its arm."""
    known = [arm.metrics[metric] for arm in results.arms if metric in arm.metrics]
    free = sum(one.units - 1 for one in known)
    return sqrt(sum((one.units - 1) * one.deviation**2 for one in known) / free) if free > 0 else 0.0


def _farthest(effect: Effect) -> float:
    valid = effect.always_valid
    assert valid is not None
    return max(abs(valid.low), abs(valid.high))


def _bar(effect: Effect, side: float) -> Bar:
    valid = effect.always_valid
    assert valid is not None

    def at(value: float | None) -> float:
        return round(WIDE / 2 * (1 + (value or 0.0) / side), 2)

    ends = effect.low, effect.high, valid.low, valid.high
    return Bar(effect, at(effect.difference), *(min(max(at(one), 0.0), WIDE) for one in ends))


class Dot(msgspec.Struct, frozen=True):
    x: float
    y: float
    low: float
    high: float
    point: Point


class Cumulative(msgspec.Struct, frozen=True):
    """The difference up to each day, in its band."""

    series: MetricSeries
    dots: tuple[Dot, ...]
    line: str
    band: str
    zero: float
    top: float
    """The value at the upper edge; the lower one is as far below zero."""


def cumulative(series: MetricSeries) -> Cumulative | None:
    points = [one for one in series.points if one.difference is not None and one.always_valid is not None]
    if not points:
        return None
    top = _top(points)
    first, days = points[0].day, (points[-1].day - points[0].day).days or 1

    def down(value: float) -> float:
        middle = (TOP + HEIGHT - BOTTOM) / 2
        place = middle - value / top * (middle - TOP)
        return round(min(max(place, TOP), HEIGHT - BOTTOM), 1)

    def across(point: Point) -> float:
        share = (point.day - first).days / days if len(points) > 1 else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    dots = tuple(
        Dot(across(one), down(one.difference or 0.0), down(one.always_valid.low), down(one.always_valid.high), one)
        for one in points
        if one.always_valid is not None
    )
    upper = [f"{dot.x} {dot.high}" for dot in dots]
    lower = [f"{dot.x} {dot.low}" for dot in reversed(dots)]
    line = " ".join(f"{dot.x},{dot.y}" for dot in dots)
    return Cumulative(series, dots, line, "M" + " L".join([*upper, *lower]) + "Z", down(0.0), top)


def _top(points: Sequence[Point]) -> float:
    newest = points[-1].always_valid
    assert newest is not None
    widest = max(max(abs(one.always_valid.low), abs(one.always_valid.high)) for one in points if one.always_valid)
    told = max(abs(one.difference or 0.0) for one in points)
    wanted = max(STEEP * max(abs(newest.low), abs(newest.high)), told)
    return min(widest, wanted) * ROOM or 1.0
