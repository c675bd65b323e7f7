"""Series: how what an experiment shows came about, day by day, as units joined it."""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

import msgspec

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.comparing import Sample, always_valid, compare
from preceptor.domain.experiments.experiment import Experiment
from preceptor.domain.experiments.metrics import Tally, Unit, metric_of, units_of
from preceptor.domain.experiments.results import Bounds, Role, alpha_of, names_of, role_of
from preceptor.domain.ids import ExperimentId
from preceptor.domain.times import from_micros
from preceptor.domain.value import Value

_TIMED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")


class Point(Value):
    """Variant less control, of all units that joined up to the end of this day (UTC), by what is known of them now."""

    day: date
    control_units: int
    variant_units: int
    difference: float | None
    always_valid: Bounds | None


class MetricSeries(Value):
    metric: str
    role: Role
    higher_is_better: bool
    points: tuple[Point, ...]
    """Days on which no unit joined are left out."""


class Series(Value):
    """The primary metric first. The last point of each is what the results say."""

    experiment_id: ExperimentId
    metrics: tuple[MetricSeries, ...]


class _Growing(msgspec.Struct):
    """A sample, one value after another."""

    size: int = 0
    mean: float = 0.0
    squares: float = 0.0
    zero_one: bool = True

    def add(self, value: float) -> None:
        self.size += 1
        away = value - self.mean
        self.mean += away / self.size
        self.squares += away * (value - self.mean)
        self.zero_one = self.zero_one and value in {0.0, 1.0}

    @property
    def sample(self) -> Sample:
        variance = self.squares / (self.size - 1) if self.size > 1 else 0.0
        return Sample(self.size, self.mean, variance, self.zero_one and self.size > 0)


def series_of(experiment: Experiment, tallies: Iterable[Tally]) -> Series:
    """Of each metric of which anything is known."""
    every = units_of(tallies)
    shown = [unit for unit in every if unit.control or unit.variant]
    joined = sorted(((_joined(experiment, unit), unit) for unit in shown), key=lambda one: one[0])
    found = [_series(experiment, name, joined) for name in names_of(experiment, every)]
    return Series(experiment_id=experiment.experiment_id, metrics=tuple(one for one in found if one.points))


def _series(experiment: Experiment, name: str, joined: Sequence[tuple[date, Unit]]) -> MetricSeries:
    metric, points = metric_of(name), dict[date, Point]()
    arms = {arm: _Growing() for arm in Arm}
    days = [(day, unit.arm, value) for day, unit in joined if (value := unit.value(metric)) is not None]
    for place, (day, arm, value) in enumerate(days):
        arms[arm].add(value)
        if place + 1 == len(days) or days[place + 1][0] != day:
            points[day] = _point(experiment, name, day, arms[Arm.CONTROL].sample, arms[Arm.VARIANT].sample)
    return MetricSeries(
        metric=name,
        role=role_of(experiment, name),
        higher_is_better=metric.higher_is_better,
        points=tuple(points.values()),
    )


def _point(experiment: Experiment, name: str, day: date, control: Sample, variant: Sample) -> Point:
    found, units = compare(control, variant), control.size + variant.size
    valid = found and always_valid(found, units, experiment.planned_units, alpha_of(experiment, name))
    return Point(
        day=day,
        control_units=control.size,
        variant_units=variant.size,
        difference=found and found.difference,
        always_valid=Bounds(low=valid.low, high=valid.high) if valid and math.isfinite(valid.low) else None,
    )


def _joined(experiment: Experiment, unit: Unit) -> date:
    """When its first conversation began; the day of the start for those that were there before it."""
    start = experiment.started_at or experiment.created_at
    began = min((_began(tally.conversation, start) for tally in unit.tallies), default=start)
    return max(began, start).astimezone(start.tzinfo).date()


def _began(conversation: str, otherwise: datetime) -> datetime:
    """Ids of conversations begin with the millisecond in which they were given."""
    if not _TIMED.match(conversation):
        return otherwise
    milliseconds = int(conversation[:8] + conversation[9:13], 16)
    return from_micros(0) + timedelta(milliseconds=milliseconds)
