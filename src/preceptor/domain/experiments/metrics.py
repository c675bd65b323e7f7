"""What is measured of an experiment. Every value is one unit's, so that turns of one unit are never taken for many."""

from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from pydantic import StringConstraints

from preceptor.domain.experiments.assigning import Arm

METRIC_TEXT = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
MetricName = Annotated[str, StringConstraints(pattern=METRIC_TEXT)]
RATING, RESOLUTION = "rating", "resolution"
NOTHING = 0.0, 0


class Tally(msgspec.Struct):
    """What came of one conversation in an experiment, summed up over its turns as they settle."""

    conversation: str
    unit: str
    arm: Arm
    turns: int = 0
    asked: int = 0
    """Turns in which a model was asked, and so shown something."""
    control: int = 0
    """Turns whose manifest shows the control."""
    variant: int = 0
    mismatches: int = 0
    """Turns that were shown something else than what they were assigned."""
    completed: int = 0
    clarified: int = 0
    blocked: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    milliseconds: int = 0
    checked: int = 0
    """Answers that had rules to keep."""
    passed: int = 0
    planned: int = 0
    """Answers that had a plan to keep to."""
    consistency: float = 0.0
    signals: dict[str, tuple[float, int]] = {}
    """What people said of it: by metric the sum, and how many said so."""


class Metric(msgspec.Struct, frozen=True):
    """A value of a unit: one sum divided by another, or the mean of what people said."""

    above: str = ""
    below: str = "turns"
    higher_is_better: bool = True
    deviation: float | None = None
    """What to expect of the standard deviation before anything is known: of a share it is one half at most."""
    signal: str | None = None

    def parts(self, tally: Tally) -> tuple[float, float]:
        if self.signal is not None:
            return tally.signals.get(self.signal, NOTHING)
        return getattr(tally, self.above), getattr(tally, self.below)


COMPUTED: Mapping[str, Metric] = {
    "success": Metric("completed", deviation=0.5),
    "rulePasses": Metric("passed", "checked", deviation=0.5),
    "planConsistency": Metric("consistency", "planned", deviation=0.5),
    "clarifyRate": Metric("clarified", higher_is_better=False, deviation=0.5),
    "blockRate": Metric("blocked", higher_is_better=False, deviation=0.5),
    "failureRate": Metric("failed", higher_is_better=False, deviation=0.5),
    "tokens": Metric("tokens", higher_is_better=False),
    "cost": Metric("cost", higher_is_better=False),
    "latency": Metric("milliseconds", higher_is_better=False),
}
"""What the engine finds out by itself, as turns settle. Latency is in milliseconds."""

TOLD: Mapping[str, Metric] = {
    RATING: Metric(signal=RATING, deviation=1.0),
    RESOLUTION: Metric(signal=RESOLUTION, deviation=0.5),
}


def metric_of(name: str) -> Metric:
    """A metric that is computed, or else one that people tell: the mean of what they say, and more is better."""
    return COMPUTED.get(name) or TOLD.get(name) or Metric(signal=name)


class Unit(msgspec.Struct):
    """What was randomised, and so what is analysed: a conversation, or a user with all conversations."""

    name: str
    arm: Arm
    tallies: list[Tally] = []

    @property
    def control(self) -> int:
        return sum(one.control for one in self.tallies)

    @property
    def variant(self) -> int:
        return sum(one.variant for one in self.tallies)

    def value(self, metric: Metric) -> float | None:
        """None where there is nothing to measure: no one said anything, or there were no rules."""
        if len(self.tallies) == 1:
            above, below = metric.parts(self.tallies[0])
            return above / below if below else None
        above = below = 0.0
        for tally in self.tallies:
            more, of = metric.parts(tally)
            above, below = above + more, below + of
        return above / below if below else None


def units_of(tallies: Iterable[Tally]) -> list[Unit]:
    found: dict[str, Unit] = {}
    for tally in tallies:
        unit = found.get(tally.unit)
        if unit is None:
            unit = found[tally.unit] = Unit(tally.unit, tally.arm)
        unit.tallies.append(tally)
    return list(found.values())
