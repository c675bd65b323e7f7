"""Simulated experiments: the real assignment, the real analysis, and people who rate as they are told to."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from preceptor.domain.experiments.assigning import Arm, arm_of
from preceptor.domain.experiments.experiment import Experiment, Status, UnitKind
from preceptor.domain.experiments.forecast import forecast
from preceptor.domain.experiments.metrics import Tally
from preceptor.domain.experiments.results import Effect, Results, analyse
from preceptor.domain.ids import AgentId, ExperimentId, OrgId, UserId
from preceptor.domain.ownership import Owner
from preceptor.testing import EPOCH

KEY = b"the key of the simulations"
OWNER = Owner(org_id=OrgId("default"), user_id=UserId("admin"))

Rate = Callable[[random.Random, Arm], float]


def experiment(number: int = 0, planned: int = 400, days: float = 7.0, **more: Any) -> Experiment:
    said: dict[str, Any] = {
        "experiment_id": ExperimentId(f"experiment {number}"),
        "name": "A simulation",
        "status": Status.RUNNING,
        "agent_ids": (AgentId("assistant"),),
        "split_ratio": 0.5,
        "duration": days,
        "unit": UnitKind.CONVERSATION,
        "primary_metric": "rating",
        "power": forecast(split=0.5, duration=days, effect=None, deviation=1.0, per_day=planned / days),
        "planned_units": planned,
        "started_at": EPOCH,
        "ends_at": EPOCH + timedelta(days=days),
        "owner": OWNER,
        "created_at": EPOCH,
        "updated_at": EPOCH,
    }
    return Experiment(**(said | more))


@dataclass
class World:
    """People arrive, are assigned, talk, and rate what they got."""

    design: Experiment
    rate: Rate
    seed: int
    metric: str = "rating"
    turns: int = 1
    tallies: list[Tally] = field(default_factory=list[Tally])

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def arrive(self, people: int) -> None:
        design = self.design
        for _ in range(people):
            unit = f"{self.seed}-{len(self.tallies)}"
            arm = arm_of(KEY, design.experiment_id, unit, design.split_ratio)
            self.tallies.append(talked(unit, arm, {self.metric: self.rate(self.chance, arm)}, self.turns))

    def look(self, day: float) -> Results:
        return analyse(self.design, self.tallies, EPOCH + timedelta(days=day))


def talked(unit: str, arm: Arm, said: dict[str, float], turns: int = 1, **more: Any) -> Tally:
    shown = {"control": turns} if arm is Arm.CONTROL else {"variant": turns}
    signals = {metric: (value, 1) for metric, value in said.items()}
    plain: dict[str, Any] = {"turns": turns, "asked": turns, "completed": turns, **shown, "signals": signals}
    return Tally(f"conversation {unit}", unit, arm, **(plain | more))


def effect_on(results: Results, metric: str = "rating") -> Effect:
    return next(one for one in results.effects if one.metric == metric)


def excludes_zero(effect: Effect) -> bool:
    valid = effect.always_valid
    return valid is not None and not valid.low <= 0.0 <= valid.high
