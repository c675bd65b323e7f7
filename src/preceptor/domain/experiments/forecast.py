"""Forecast: whether an experiment can ever decide, said before it starts and while it runs."""

import math

from preceptor.domain.experiments.experiment import Power
from preceptor.domain.experiments.phrases import PHRASES
from preceptor.domain.experiments.power import SMALL, detectable, units_needed
from preceptor.domain.phrases import grouped, pointed


def forecast(  # noqa: PLR0913 - all by name
    *,
    split: float,
    duration: float,
    effect: float | None,
    deviation: float | None,
    per_day: float | None,
    units: int = 0,
    language: str = "en",
) -> Power:
    """`effect` is what is looked for, in the metric's own units: without one, a fifth of a standard deviation.

    Where nothing is known of the spread, an effect is told in standard deviations. `units` are those it has already.
    """
    spread = 1.0 if deviation is None else deviation
    wanted = SMALL * spread if effect is None or deviation is None else effect
    needed = units_needed(wanted, spread, split)
    planned = None if not per_day else max(1, round(per_day * duration))
    days = None if not per_day else round(max(0, needed - units) / per_day, 1)
    in_time = None if planned is None else needed <= planned
    return Power(
        mde=None if planned is None else detectable(planned, spread, split),
        in_standard_deviations=deviation is None,
        units_planned=planned,
        units_needed=needed,
        units_per_day=per_day,
        days_to_decision=days,
        decides_in_time=in_time,
        sentence=_sentence(needed, days, duration, language, in_time=in_time, begun=units > 0),
    )


def retold(power: Power, duration: float, language: str, *, begun: bool = False) -> Power:
    """What was foreseen, in another language, or once there has been some traffic."""
    needed, days, in_time = power.units_needed, power.days_to_decision, power.decides_in_time
    return power.model_copy(
        update={"sentence": _sentence(needed, days, duration, language, in_time=in_time, begun=begun)}
    )


def _sentence(
    needed: int, days: float | None, duration: float, language: str, *, in_time: bool | None, begun: bool = False
) -> str:
    about = grouped(language, _about(needed))
    if days is None:
        return PHRASES.say(language, "power_not_yet" if begun else "power_unknown", needed=about)
    key = "power_in_time" if in_time else "power_too_late"
    whole, time = grouped(language, max(1, math.ceil(days))), pointed(language, f"{duration:g}")
    return PHRASES.say(language, key, needed=about, days=whole, duration=time)


def _about(number: int) -> int:
    """With two digits that mean something: it is an estimate, and must not look like more."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return math.ceil(number / unit) * unit
