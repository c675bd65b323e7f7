"""Results: what an experiment has shown so far, and how far that can be believed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from pydantic import AwareDatetime

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.comparing import ALPHA, Comparison, Interval, Sample, always_valid, compare
from preceptor.domain.experiments.experiment import Experiment, Guardrail, Power, Status, UnitKind
from preceptor.domain.experiments.forecast import forecast, retold
from preceptor.domain.experiments.health import ExperimentHealth, health_of
from preceptor.domain.experiments.metrics import COMPUTED, RATING, RESOLUTION, Tally, Unit, metric_of, units_of
from preceptor.domain.experiments.phrases import PHRASES
from preceptor.domain.ids import ExperimentId
from preceptor.domain.value import Value

LEAST = 50
"""Units of each arm before anything is decided: the intervals hold for samples that are not tiny."""
A_DAY = timedelta(days=1)
"""The traffic of less says little of the traffic there will be."""


Role = Literal["primary", "guardrail", "other"]


class Bounds(Value):
    low: float
    high: float


class Mean(Value):
    """Of the units for which there is something to measure."""

    mean: float
    units: int
    deviation: float


class ArmResults(Value):
    name: Arm
    assigned: int
    """Units."""
    units: int
    """Of those, the ones that were really shown an arm. They are what is analysed."""
    conversations: int
    turns: int
    metrics: dict[str, Mean]


class Effect(Value):
    """Variant less control. `low`, `high`, `pValue` are for one look, at the planned end; `alwaysValid` is for all."""

    metric: str
    role: Role
    higher_is_better: bool
    method: str | None
    difference: float | None
    relative: float | None
    low: float | None
    high: float | None
    p_value: float | None
    always_valid: Bounds | None
    broken: bool = False
    """A guard-rail whose limit the variant has passed."""


class Verdict(Value):
    code: Literal[
        "not_started",
        "withheld",
        "too_early",
        "collecting",
        "undecided",
        "variant_better",
        "control_better",
        "guardrail_broken",
    ]
    sentence: str
    metric: str | None = None
    """What it is about, where it is about one."""


class Results(Value):
    experiment_id: ExperimentId
    name: str
    status: Status
    unit: UnitKind
    """What is counted: a turn is never taken for a unit."""
    started_at: AwareDatetime | None
    ends_at: AwareDatetime | None
    health: ExperimentHealth
    arms: tuple[ArmResults, ...]
    effects: tuple[Effect, ...]
    power: Power
    verdict: Verdict


class _Measured(NamedTuple):
    """One metric in both arms."""

    control: Sample
    variant: Sample
    found: Comparison | None

    @property
    def units(self) -> int:
        return self.control.size + self.variant.size

    @property
    def enough(self) -> bool:
        return min(self.control.size, self.variant.size) >= LEAST


def analyse(experiment: Experiment, tallies: Iterable[Tally], now: datetime, language: str = "en") -> Results:
    """Everything that is told of an experiment, from what came of its conversations."""
    experiment = experiment.at(now)
    every = units_of(tallies)
    shown = [unit for unit in every if unit.control or unit.variant]
    measured = {name: _measured(name, shown) for name in names_of(experiment, every)}
    health = health_of(every, experiment.split_ratio)
    effects = tuple(_effect(experiment, name, one) for name, one in measured.items())
    primary = measured[experiment.primary_metric]
    return Results(
        experiment_id=experiment.experiment_id,
        name=experiment.name,
        status=experiment.status,
        unit=experiment.unit,
        started_at=experiment.started_at,
        ends_at=experiment.ends_at,
        health=health,
        arms=tuple(_arm(arm, every, shown, measured) for arm in Arm),
        effects=effects,
        power=_power(experiment, primary, now, language),
        verdict=verdict_of(experiment, health, effects, primary.enough, language),
    )


def names_of(experiment: Experiment, units: Sequence[Unit]) -> list[str]:
    """The primary metric first, then what is guarded, then all others that are known of."""
    guarded = (one.metric for one in experiment.guardrails)
    told = sorted({name for unit in units for tally in unit.tallies for name in tally.signals})
    return list(dict.fromkeys((experiment.primary_metric, *guarded, RATING, RESOLUTION, *COMPUTED, *told)))


def role_of(experiment: Experiment, name: str) -> Role:
    if name == experiment.primary_metric:
        return "primary"
    return "guardrail" if any(one.metric == name for one in experiment.guardrails) else "other"


def alpha_of(experiment: Experiment, name: str) -> float:
    """All guard-rails share what one metric alone may err."""
    return ALPHA / len(experiment.guardrails) if role_of(experiment, name) == "guardrail" else ALPHA


def _measured(name: str, units: Sequence[Unit]) -> _Measured:
    metric = metric_of(name)
    values: Mapping[Arm, list[float]] = {arm: [] for arm in Arm}
    for unit in units:
        value = unit.value(metric)
        if value is not None:
            values[unit.arm].append(value)
    control, variant = Sample.of(values[Arm.CONTROL]), Sample.of(values[Arm.VARIANT])
    return _Measured(control, variant, compare(control, variant))


def _arm(arm: Arm, every: Sequence[Unit], shown: Sequence[Unit], measured: Mapping[str, _Measured]) -> ArmResults:
    ours = [unit for unit in shown if unit.arm is arm]
    tallies = [tally for unit in ours for tally in unit.tallies]
    samples = {name: one.variant if arm is Arm.VARIANT else one.control for name, one in measured.items()}
    return ArmResults(
        name=arm,
        assigned=sum(1 for unit in every if unit.arm is arm),
        units=len(ours),
        conversations=len(tallies),
        turns=sum(tally.turns for tally in tallies),
        metrics={
            name: Mean(mean=one.mean, units=one.size, deviation=math.sqrt(one.variance))
            for name, one in samples.items()
            if one.size
        },
    )


def _effect(experiment: Experiment, name: str, measured: _Measured) -> Effect:
    guard = next((one for one in experiment.guardrails if one.metric == name), None)
    found, metric, alpha = measured.found, metric_of(name), alpha_of(experiment, name)
    valid = None if found is None else always_valid(found, measured.units, experiment.planned_units, alpha)
    level = measured.control.mean
    return Effect(
        metric=name,
        role=role_of(experiment, name),
        higher_is_better=metric.higher_is_better,
        method=found and found.method,
        difference=found and found.difference,
        relative=found.difference / level if found is not None and level else None,
        low=found and found.interval.low,
        high=found and found.interval.high,
        p_value=found and found.p_value,
        always_valid=valid and Bounds(low=valid.low, high=valid.high),
        broken=guard is not None and valid is not None and measured.enough and _harms(guard, valid),
    )


def _harms(guard: Guardrail, valid: Interval) -> bool:
    """Whether all of the interval is worse than the limit."""
    better = metric_of(guard.metric).higher_is_better
    return valid.high < -guard.limit if better else valid.low > guard.limit


def verdict_of(
    experiment: Experiment, health: ExperimentHealth, effects: Sequence[Effect], enough: bool, language: str
) -> Verdict:
    """By the interval that holds at every look, so that a verdict does not come and go as people look."""
    primary = experiment.primary_metric
    broken = next((one.metric for one in effects if one.broken), None)
    say = PHRASES.say
    if experiment.status is Status.DRAFT:
        return Verdict(code="not_started", sentence=say(language, "not_started"))
    if health.red:
        checks = "; ".join(say(language, check) for check in health.red)
        return Verdict(code="withheld", sentence=say(language, "withheld", checks=checks))
    if broken is not None:
        return Verdict(
            code="guardrail_broken", sentence=say(language, "guardrail_broken", metric=broken), metric=broken
        )
    if not enough:
        return Verdict(code="too_early", sentence=say(language, "too_early", least=str(LEAST)))
    code = _decided(effects[0]) or ("collecting" if experiment.status is Status.RUNNING else "undecided")
    return Verdict(code=code, sentence=say(language, code, metric=primary), metric=primary)


def _decided(primary: Effect) -> Literal["variant_better", "control_better"] | None:
    valid = primary.always_valid
    if valid is None or valid.low <= 0.0 <= valid.high:
        return None
    return "variant_better" if (valid.low > 0.0) is primary.higher_is_better else "control_better"


def _power(experiment: Experiment, primary: _Measured, now: datetime, language: str) -> Power:
    """What it can show, by what is known now: the spread since it started and, after a day, the traffic since then."""
    began = experiment.started_at
    if began is None or primary.found is None:
        return retold(experiment.power, experiment.duration, language, begun=primary.units > 0)
    ran = min(now, experiment.ended_at or now) - began
    long_enough = ran >= min(A_DAY, experiment.lasts)
    sizes = primary.control.size - 1, primary.variant.size - 1
    pooled = (sizes[0] * primary.control.variance + sizes[1] * primary.variant.variance) / sum(sizes)
    return forecast(
        split=experiment.split_ratio,
        duration=experiment.duration,
        effect=experiment.minimum_effect,
        deviation=math.sqrt(pooled) or None,
        per_day=primary.units / (ran / A_DAY) if long_enough else experiment.power.units_per_day,
        units=primary.units,
        language=language,
    )
