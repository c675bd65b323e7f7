"""A/A and A/B experiments by the thousand: the real assignment and the real analysis, with people who are simulated."""

import os
import random
from math import sqrt

import pytest

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.metrics import Tally
from preceptor.domain.experiments.power import units_needed
from preceptor.domain.experiments.results import analyse
from tests.domain.experiments import World, effect_on, excludes_zero, experiment, talked
from tests.requirements import covers

NIGHTLY = bool(os.environ.get("PRECEPTOR_NIGHTLY"))
EXPERIMENTS = 10_000 if NIGHTLY else 1_000
DAYS, A_DAY = 7, 50
DECIDED = {"variant_better", "control_better"}


def stars(chance: random.Random, _: Arm) -> float:
    """Ratings as people give them: mostly good, some very bad, and none in between."""
    return chance.choice((1.0, 2.0, 4.0, 4.0, 5.0, 5.0, 5.0))


def coin(chance: random.Random, _: Arm) -> float:
    return float(chance.random() < 0.3)


@covers("R115")
def test_where_the_arms_are_the_same_a_difference_is_found_as_rarely_as_promised():
    at_the_end = at_any_look = decided = 0
    for number in range(EXPERIMENTS):
        metric, rate = ("rating", stars) if number % 2 else ("resolution", coin)
        design = experiment(number, planned=DAYS * A_DAY, primary_metric=metric)
        world = World(design, rate, number, metric)
        looks = [look_after(world, day) for day in range(1, DAYS + 1)]
        last = effect_on(looks[-1], metric)
        assert last.p_value is not None
        at_the_end += last.p_value < 0.05
        at_any_look += any(excludes_zero(effect_on(look, metric)) for look in looks)
        decided += any(look.verdict.code in DECIDED for look in looks)
    assert 0.04 <= at_the_end / EXPERIMENTS <= 0.06
    assert at_any_look / EXPERIMENTS <= 0.05
    assert decided <= at_any_look


def look_after(world: World, day: int):
    world.arrive(A_DAY)
    return world.look(day - 0.5)


COINS = sqrt((0.3 * 0.7 + 0.5 * 0.5) / 2)
"""How far shares of 0.3 and of 0.5 scatter, taken together."""


@pytest.mark.parametrize(("metric", "effect", "deviation"), [("rating", 0.4, 1.0), ("resolution", 0.2, COINS)])
def test_an_effect_that_is_there_is_found_as_often_as_foretold(metric: str, effect: float, deviation: float):
    """At the size that is needed for it, in four of five experiments; and on the right side."""
    needed, rounds = units_needed(effect, deviation, 0.5), 1_000 if NIGHTLY else 200

    def better(chance: random.Random, arm: Arm) -> float:
        gain = effect if arm is Arm.VARIANT else 0.0
        return chance.gauss(3 + gain, 1) if metric == "rating" else float(chance.random() < 0.3 + gain)

    verdicts: list[str] = []
    for number in range(rounds):
        world = World(experiment(number, planned=needed, primary_metric=metric), better, number, metric)
        world.arrive(needed)
        verdicts.append(world.look(6.5).verdict.code)
    assert verdicts.count("control_better") == 0
    assert abs(verdicts.count("variant_better") / rounds - 0.8) < 0.09 * (0.5 if NIGHTLY else 1)


def test_turns_are_not_taken_for_units():
    """Talkative people weigh as much as others: ten times the turns make no interval narrower."""
    design = experiment(planned=200)
    once, often = (World(design, stars, 7, turns=turns) for turns in (1, 10))
    for world in (once, often):
        world.arrive(200)
    assert effect_on(once.look(3)) == effect_on(often.look(3))
    assert [arm.turns for arm in often.look(3).arms] == [10 * arm.turns for arm in once.look(3).arms]


def test_conversations_of_one_user_are_one_unit():
    chance, alone, together = random.Random(3), list[Tally](), list[Tally]()
    for user in range(120):
        arm = Arm.VARIANT if user % 2 else Arm.CONTROL
        scores = [chance.randint(1, 5) for _ in range(4)]
        together += [talked(f"{user}-{n}", arm, {"rating": score}) for n, score in enumerate(scores)]
        for tally in together[-4:]:
            tally.unit = str(user)
        alone.append(talked(str(user), arm, {"rating": sum(scores) / 4}))
    design = experiment(unit="user", planned=120)
    ours, theirs = (analyse(design, tallies, design.created_at) for tallies in (together, alone))
    assert [arm.units for arm in ours.arms] == [60, 60]
    assert [arm.conversations for arm in ours.arms] == [240, 240]
    assert effect_on(ours) == effect_on(theirs)


def test_a_split_of_52_to_48_turns_health_red_and_the_verdict_is_withheld():
    """People are better off in the variant beyond all doubt; and yet no one is told so."""
    design = experiment(planned=10_000)
    units = [(Arm.VARIANT if number < 5_200 else Arm.CONTROL, number) for number in range(10_000)]
    tallies = [talked(str(number), arm, {"rating": 5.0 if arm is Arm.VARIANT else 1.0}) for arm, number in units]
    for tally in tallies[::7]:
        tally.signals["rating"] = (3.0, 1)
    results = analyse(design, tallies, design.created_at)
    srm = results.health.srm
    assert srm.p_value is not None
    assert srm.p_value < 1e-4
    assert (results.health.status, srm.status, results.verdict.code) == ("red", "red", "withheld")
    assert excludes_zero(effect_on(results))
