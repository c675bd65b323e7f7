import math
import random
from importlib import import_module
from typing import Any

import pytest

from preceptor.domain.experiments.comparing import (
    ALPHA,
    Comparison,
    Interval,
    Sample,
    always_valid,
    compare,
    sample_ratio,
    stretch,
    two_proportions,
    welch,
)
from preceptor.domain.experiments.distributions import (
    chi_square_tail,
    incomplete_beta,
    normal_quantile,
    normal_two_sided,
    student_quantile,
    student_two_sided,
)
from preceptor.domain.experiments.power import POWER, detectable, units_needed


class Later:
    """A module that takes long to read: only who asks it something reads it, and not whoever collects tests."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


scipy, special = Later("scipy.stats"), Later("scipy.special")
proportion, planning = Later("statsmodels.stats.proportion"), Later("statsmodels.stats.power")

CHANCE = random.Random(20_261_116)


def same(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= 1e-9 * max(1.0, abs(theirs))


def values(size: int, mean: float, deviation: float) -> list[float]:
    return [CHANCE.gauss(mean, deviation) for _ in range(size)]


@pytest.mark.parametrize("degrees", [1, 1.5, 2, 3.7, 10, 57.3, 999, 123_456.7])
def test_students_distribution_is_scipys(degrees: float):
    for t in (-40, -3.1, -0.2, 0.0, 1e-9, 0.7, 1.96, 4.4, 12.0):
        assert same(student_two_sided(t, degrees), 2 * scipy.t.sf(abs(t), degrees))
    for tail in (1e-6, 0.001, 0.05, 0.32, 0.9):
        assert same(student_quantile(tail, degrees), scipy.t.isf(tail / 2, degrees))


def test_the_other_distributions_are_scipys():
    for x in (0.0, 1e-12, 0.3, 1.0, 3.84, 11.0, 40.0):
        assert same(chi_square_tail(x), scipy.chi2.sf(x, 1))
        assert same(normal_two_sided(x), 2 * scipy.norm.sf(x))
    for probability in (1e-9, 0.025, 0.5, 0.8, 0.975, 1 - 1e-9):
        assert same(normal_quantile(probability), scipy.norm.ppf(probability))
    for _ in range(300):
        a, b, x = CHANCE.uniform(0.1, 500), CHANCE.uniform(0.1, 500), CHANCE.random()
        assert same(incomplete_beta(a, b, x), special.betainc(a, b, x))
    assert (incomplete_beta(2, 3, 0.0), incomplete_beta(2, 3, 1.0)) == (0.0, 1.0)


def test_welchs_test_and_interval_are_scipys():
    for _ in range(100):
        control = values(CHANCE.randint(2, 400), 3.0, 1.0)
        variant = values(CHANCE.randint(2, 400), CHANCE.uniform(2.5, 3.5), CHANCE.uniform(0.1, 9.0))
        ours = welch(Sample.of(control), Sample.of(variant))
        theirs = scipy.ttest_ind(variant, control, equal_var=False)
        interval = theirs.confidence_interval(1 - ALPHA)
        assert ours is not None
        assert same(ours.p_value, theirs.pvalue)
        assert same(ours.difference / ours.error, theirs.statistic)
        assert same(ours.interval.low, interval.low)
        assert same(ours.interval.high, interval.high)


def test_the_test_and_interval_of_two_proportions_are_statsmodels():
    for _ in range(200):
        sizes = CHANCE.randint(2, 3000), CHANCE.randint(2, 3000)
        counts = [CHANCE.randint(0, size) for size in sizes]
        control, variant = (
            Sample(size, count / size, 0.0, zero_one=True) for size, count in zip(sizes, counts, strict=True)
        )
        ours = two_proportions(control, variant)
        if sum(counts) in {0, sum(sizes)}:
            assert ours is None
            continue
        _, p_value = proportion.proportions_ztest(counts[::-1], sizes[::-1])
        low, high = proportion.confint_proportions_2indep(
            counts[1], sizes[1], counts[0], sizes[0], method="newcomb", compare="diff", alpha=ALPHA
        )
        assert ours is not None
        assert same(ours.p_value, p_value)
        assert same(ours.interval.low, low)
        assert same(ours.interval.high, high)


def test_a_sample_is_what_statistics_say_of_its_values():
    given = values(1000, 1e6, 0.01)
    sample = Sample.of(given)
    assert same(sample.mean, scipy.tmean(given))
    assert same(sample.variance, scipy.tvar(given))
    assert Sample.of([0.0, 1.0, 1.0]).zero_one
    assert not Sample.of([0.0, 0.5]).zero_one


def test_what_is_always_the_same_has_that_mean_and_differs_by_nothing_at_all():
    for size in range(1, 60):
        for value in (0.1, 0.00005997, 1 / 3, 7e9 / 3):
            assert Sample.of([value] * size) == Sample(size, value, 0.0)


def test_the_check_of_the_split_is_a_chi_square_test():
    for split in (0.5, 0.1, 0.9):
        for control, variant in ((4800, 5200), (10, 12), (0, 40), (903, 97)):
            total = control + variant
            theirs = scipy.chisquare([control, variant], [total * (1 - split), total * split]).pvalue
            ours = sample_ratio(control, variant, split)
            assert ours is not None
            assert same(ours, theirs)
    assert sample_ratio(0, 0, 0.5) is None


def test_a_split_of_52_to_48_among_ten_thousand_is_found():
    found = sample_ratio(5200, 4800, 0.5)
    assert found is not None
    assert math.isclose(found, 6e-5, rel_tol=0.1)


@pytest.mark.parametrize(("effect", "split"), [(0.1, 0.5), (0.3, 0.5), (0.2, 0.2), (0.05, 0.9)])
def test_the_size_for_every_look_is_statsmodels_for_one_look_at_a_stricter_level(effect: float, split: float):
    def solved(alpha: float) -> float:
        size = planning.NormalIndPower().solve_power(
            effect, nobs1=None, alpha=alpha / 2, power=POWER, ratio=split / (1 - split), alternative="larger"
        )
        return size / (1 - split)

    strict = normal_two_sided(stretch(1, 1))
    assert strict < ALPHA
    assert units_needed(effect, 1.0, split) == math.ceil(round(solved(strict), 6)) > solved(ALPHA)


@pytest.mark.parametrize(("effect", "split"), [(0.1, 0.5), (0.3, 0.2)])
def test_what_a_size_can_show_is_the_effect_that_it_is_needed_for(effect: float, split: float):
    units = units_needed(effect, 2.0, split)
    assert detectable(units, 2.0, split) <= effect < detectable(units - 1, 2.0, split)


def test_an_interval_for_every_look_is_wider_and_is_narrowest_about_where_it_was_planned():
    found = Comparison("welch", 0.0, 1.0, Interval(-1.96, 1.96), 1.0)
    fixed = normal_quantile(1 - ALPHA / 2)
    halves = {units: always_valid(found, units, 1000).high for units in (10, 100, 1000, 10_000)}
    assert all(half > fixed for half in halves.values())
    planned_elsewhere = [stretch(1000, planned) for planned in (50, 200, 5000, 50_000)]
    assert all(stretch(1000, 1000) < other for other in planned_elsewhere)


def test_with_too_little_to_compare_nothing_is_said():
    assert compare(Sample.of([]), Sample.of([])) is None
    assert compare(Sample.of([1.0]), Sample.of([2.0, 3.0])) is None
    assert compare(Sample.of([2.0, 2.0]), Sample.of([3.0, 3.0])) is None
    assert compare(Sample.of([1.0, 1.0]), Sample.of([1.0, 1.0])) is None


def test_a_proportion_of_all_or_none_is_not_taken_for_certain():
    found = compare(Sample.of([0.0] * 3), Sample.of([1.0] * 3))
    assert found is not None
    valid = always_valid(found, 6, 1000)
    assert valid.low < 0 < valid.high
