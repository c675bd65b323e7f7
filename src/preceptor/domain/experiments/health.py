"""ExperimentHealth: whether the numbers of an experiment can be believed at all."""

from collections.abc import Sequence
from enum import StrEnum

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.comparing import sample_ratio
from preceptor.domain.experiments.metrics import Unit
from preceptor.domain.value import Value

ALARM, WATCH = 0.001, 0.01
"""How unlikely a split must be by chance alone to be an alarm, or to be watched."""
LEAST_EXPECTED = 8
"""Units that an arm must be due before its share is judged."""
TOLERATED = 0.01
"""The share of units, or of turns, that may have been shown what they were not assigned."""


class Light(StrEnum):
    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


class RatioCheck(Value):
    """Whether units are split as was asked. `pValue` is null while there are too few to judge."""

    status: Light
    p_value: float | None
    control: int
    variant: int
    expected_variant: float


class ShareCheck(Value):
    """How many were shown what they should not have been."""

    status: Light
    count: int
    share: float


class ExperimentHealth(Value):
    status: Light
    srm: RatioCheck
    crossover: ShareCheck
    """Units that were shown both arms."""
    rendered_mismatch: ShareCheck
    """Turns that were shown something else than what they were assigned."""

    @property
    def red(self) -> tuple[str, ...]:
        checks = {"srm": self.srm, "crossover": self.crossover, "rendered_mismatch": self.rendered_mismatch}
        return tuple(name for name, check in checks.items() if check.status is Light.RED)


def health_of(units: Sequence[Unit], split: float) -> ExperimentHealth:
    """Of all units, also of those that were shown nothing yet."""
    shown = [unit for unit in units if unit.control or unit.variant]
    srm = _ratio(shown, split)
    both = sum(1 for unit in shown if unit.control and unit.variant)
    crossover = _share(both, len(shown))
    tallies = [tally for unit in units for tally in unit.tallies]
    mismatch = _share(sum(tally.mismatches for tally in tallies), sum(tally.asked for tally in tallies))
    lights = {srm.status, crossover.status, mismatch.status}
    worst = next(light for light in (Light.RED, Light.YELLOW, Light.GREEN) if light in lights)
    return ExperimentHealth(status=worst, srm=srm, crossover=crossover, rendered_mismatch=mismatch)


def _ratio(shown: Sequence[Unit], split: float) -> RatioCheck:
    variant = sum(1 for unit in shown if unit.arm is Arm.VARIANT)
    control = len(shown) - variant
    due = min(split, 1 - split) * len(shown)
    p_value = sample_ratio(control, variant, split) if due >= LEAST_EXPECTED else None
    light = Light.GREEN
    if p_value is not None and p_value < WATCH:
        light = Light.RED if p_value < ALARM else Light.YELLOW
    return RatioCheck(
        status=light, p_value=p_value, control=control, variant=variant, expected_variant=split * len(shown)
    )


def _share(count: int, of: int) -> ShareCheck:
    share = count / of if of else 0.0
    light = Light.GREEN if not count else Light.RED if share > TOLERATED else Light.YELLOW
    return ShareCheck(status=light, count=count, share=share)
