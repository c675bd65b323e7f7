import subprocess
import sys
from collections import Counter
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest

from preceptor.domain.experiments.assigning import Arm, arm_of, place
from preceptor.domain.experiments.experiment import EngineSettings, Guardrail, NewExperiment, Power, SettingArms
from preceptor.domain.experiments.exposure import Enrolment, arm_shown, versions_in
from preceptor.domain.experiments.forecast import forecast
from preceptor.domain.experiments.phrases import PHRASES
from preceptor.domain.experiments.results import LEAST, Results, analyse
from preceptor.domain.ids import ExperimentId, InstructionId
from preceptor.domain.phrases import LANGUAGES
from preceptor.domain.prompts.source import FromEngine, FromInstruction
from preceptor.testing import EPOCH
from tests.domain.experiments import KEY, effect_on, experiment, talked
from tests.requirements import covers

scipy: Any = import_module("scipy.stats")
MIDWAY = EPOCH + timedelta(days=3)


def test_places_are_spread_evenly_and_no_experiment_foretells_another():
    first, second = ([place(KEY, name, f"unit {n}") for n in range(40_000)] for name in ("one", "two"))
    for places in (first, second):
        assert scipy.chisquare(list(Counter(int(at * 100) for at in places).values())).pvalue > 0.001
    pairs = Counter((int(a * 4), int(b * 4)) for a, b in zip(first, second, strict=True))
    assert scipy.chisquare(list(pairs.values())).pvalue > 0.001


@pytest.mark.parametrize("split", [0.01, 0.3, 0.5, 0.95])
def test_the_variant_gets_the_share_that_was_asked_for(split: float):
    arms = Counter(arm_of(KEY, "one", f"unit {n}", split) for n in range(20_000))
    assert scipy.binomtest(arms[Arm.VARIANT], 20_000, split).pvalue > 0.001


@covers("S29")
def test_no_one_without_the_key_can_foretell_an_arm_and_a_larger_share_moves_no_one_back():
    units = [f"unit {n}" for n in range(4_000)]
    ours = [arm_of(KEY, "one", unit, 0.5) for unit in units]
    theirs = [arm_of(b"another key", "one", unit, 0.5) for unit in units]
    agreeing = sum(a is b for a, b in zip(ours, theirs, strict=True))
    assert scipy.binomtest(agreeing, len(units), 0.5).pvalue > 0.001
    more = [arm_of(KEY, "one", unit, 0.7) for unit in units]
    assert all(after is Arm.VARIANT for before, after in zip(ours, more, strict=True) if before is Arm.VARIANT)


def test_a_unit_is_in_the_same_arm_in_every_process():
    units = [f"unit {n} ∂" for n in range(50)]
    code = (
        "import sys; from preceptor.domain.experiments.assigning import arm_of; "
        f"print(*(arm_of({KEY!r}, 'one', unit, 0.5) for unit in {units!r}))"
    )
    here = [arm_of(KEY, "one", unit, 0.5) for unit in units]
    for seed in ("0", "1"):
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert ran.stdout.split() == here


def looked(ratings: dict[Arm, list[float]], design: Any = None, **more: Any) -> Results:
    tallies = [
        talked(f"{arm} {n}", arm, {"rating": rating}, **more)
        for arm, given in ratings.items()
        for n, rating in enumerate(given)
    ]
    return analyse(design or experiment(planned=400), tallies, MIDWAY)


def rated(mean: float, size: int = 200) -> list[float]:
    return [mean + (0.5 if n % 2 else -0.5) for n in range(size)]


def test_a_verdict_is_one_sentence_that_stays_the_same_while_nothing_is_decided():
    few = looked({Arm.CONTROL: rated(3, LEAST - 1), Arm.VARIANT: rated(4, LEAST - 1)})
    assert few.verdict.code == "too_early"
    sentences = {
        looked({Arm.CONTROL: rated(3, size), Arm.VARIANT: rated(3.02, size)}).verdict.sentence
        for size in (LEAST, 60, 100, 200)
    }
    assert sentences == {"So far no difference in rating is shown. Looking does no harm; it goes on."}


@pytest.mark.parametrize(("better", "code"), [(4.0, "variant_better"), (2.0, "control_better")])
def test_the_better_arm_is_named(better: float, code: str):
    assert looked({Arm.CONTROL: rated(3), Arm.VARIANT: rated(better)}).verdict.code == code


def test_of_cost_less_is_better():
    design = experiment(primary_metric="tokens", planned=400)
    cheap, dear = (
        [talked(f"{n}{arm}", arm, {}, tokens=base + n % 5) for n in range(100)]
        for arm, base in ((Arm.VARIANT, 50), (Arm.CONTROL, 90))
    )
    assert analyse(design, cheap + dear, MIDWAY).verdict.code == "variant_better"


def test_what_has_ended_without_a_difference_says_so():
    design = experiment(planned=400)
    tallies = [talked(f"{arm} {n}", arm, {"rating": float(n % 5)}) for arm in Arm for n in range(100)]
    results = analyse(design, tallies, EPOCH + timedelta(days=8))
    assert (results.status, results.verdict.code) == ("ended", "undecided")


def test_a_guardrail_that_is_broken_outranks_a_variant_that_is_better():
    ratings = {Arm.CONTROL: rated(3), Arm.VARIANT: rated(4)}
    tallies = [
        talked(f"{arm} {n}", arm, {"rating": rating}, tokens=100 + n % 7 + (50 if arm is Arm.VARIANT else 0))
        for arm, given in ratings.items()
        for n, rating in enumerate(given)
    ]
    for limit, code in ((0.0, "guardrail_broken"), (80.0, "variant_better")):
        design = experiment(planned=400, guardrails=(Guardrail(metric="tokens", limit=limit),))
        results = analyse(design, tallies, MIDWAY)
        assert results.verdict.code == code
        assert effect_on(results, "tokens").role == "guardrail"
        assert effect_on(results, "tokens").broken is (code == "guardrail_broken")


def test_units_that_were_shown_both_arms_turn_health_red():
    ratings = {Arm.CONTROL: rated(3), Arm.VARIANT: rated(4)}
    design = experiment(planned=400)
    tallies = [talked(f"{arm} {n}", arm, {"rating": r}) for arm, rs in ratings.items() for n, r in enumerate(rs)]
    for crossed, light in ((0, "green"), (2, "yellow"), (20, "red")):
        for tally in tallies[:crossed]:
            tally.control = tally.variant = 1
        results = analyse(design, tallies, MIDWAY)
        assert (results.health.crossover.status, results.health.crossover.count) == (light, crossed)
    assert results.verdict.code == "withheld"
    assert "both arms" in results.verdict.sentence


def test_units_that_were_shown_nothing_are_not_analysed():
    ratings = {Arm.CONTROL: rated(3, 60), Arm.VARIANT: rated(3, 60)}
    results = looked(ratings, control=0, variant=0, asked=0)
    assert [(arm.assigned, arm.units) for arm in results.arms] == [(60, 0), (60, 0)]
    assert results.verdict.code == "too_early"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_verdict_is_told_in_every_language(language: str):
    design = experiment(planned=400)
    told = analyse(design, [], MIDWAY, language).verdict.sentence
    assert told == PHRASES.say(language, "too_early", least=str(LEAST))
    others = {PHRASES.say(other, "too_early", least=str(LEAST)) for other in LANGUAGES}
    assert len(others) == len(LANGUAGES)


def test_a_forecast_says_before_the_start_whether_it_can_ever_decide():
    known: dict[str, Any] = {"split": 0.5, "duration": 7.0, "effect": None, "deviation": 1.0}
    silent = forecast(**known, per_day=None)
    assert (silent.mde, silent.days_to_decision, silent.decides_in_time) == (None, None, None)
    slow, quick = forecast(**known, per_day=10.0), forecast(**known, per_day=1_000.0)
    assert (slow.decides_in_time, quick.decides_in_time) == (False, True)
    assert slow.mde is not None
    assert quick.mde is not None
    assert slow.mde > 0.2 > quick.mde
    assert "will not decide in the 7 days" in slow.sentence
    assert slow.days_to_decision == pytest.approx(slow.units_needed / 10, abs=0.06)
    known["deviation"] = None
    unknown = forecast(**known, per_day=10.0)
    assert unknown.in_standard_deviations


def test_how_long_it_takes_is_not_told_by_the_traffic_of_seconds():
    ratings = {Arm.CONTROL: rated(3, 10), Arm.VARIANT: rated(3, 10)}
    unforeseen = forecast(split=0.5, duration=7.0, effect=None, deviation=1.0, per_day=None)

    def after(**time: float) -> Power:
        tallies = [
            talked(f"{arm} {n}", arm, {"rating": one}) for arm, all_ in ratings.items() for n, one in enumerate(all_)
        ]
        return analyse(experiment(power=unforeseen), tallies, EPOCH + timedelta(**time)).power

    early, known = after(seconds=5), after(days=2)
    assert (early.units_per_day, early.days_to_decision, early.decides_in_time, early.mde) == (None,) * 4
    assert early.sentence == PHRASES.say("en", "power_not_yet", needed="1,600")
    alike = analyse(experiment(power=unforeseen), [talked("a", Arm.CONTROL, {"rating": 3.0})], EPOCH).power
    assert alike.sentence == early.sentence
    assert (known.units_per_day, known.units_planned) == (10.0, 70)
    assert known.days_to_decision == pytest.approx((known.units_needed - 20) / 10, abs=0.06)


def test_in_its_first_day_an_experiment_is_foreseen_by_the_traffic_there_was_before():
    results = analyse(experiment(planned=70), [talked("a", Arm.CONTROL, {"rating": 3.0})], EPOCH + timedelta(hours=1))
    assert results.power.units_per_day == 10.0


def test_a_forecast_writes_its_numbers_as_its_language_does():
    known: dict[str, Any] = {"split": 0.5, "duration": 1.5, "effect": 0.01, "deviation": 1.0, "per_day": 10.0}
    for language, needed, days in (("en", "610,000", "1.5"), ("ru", "610\u00a0000", "1,5"), ("vi", "610.000", "1,5")):
        sentence = forecast(**known, language=language).sentence
        assert needed in sentence
        assert days in sentence


def test_an_arm_is_known_by_the_version_that_a_prompt_shows_and_only_by_that():
    enrolment = Enrolment(experiment_id=ExperimentId("one"), arm=Arm.VARIANT, unit="u", shows="new", instead="old")
    new, old = (FromInstruction(InstructionId(name), "1.0.0", "systemPrompt") for name in ("new", "old"))
    heading = FromEngine("heading")
    assert arm_shown(enrolment, versions_in([heading, new])) is Arm.VARIANT
    assert arm_shown(enrolment, versions_in([heading, old])) is Arm.CONTROL
    assert arm_shown(enrolment, versions_in([heading])) is None
    assert arm_shown(enrolment, versions_in([new, old])) is None


def test_an_experiment_has_two_versions_or_two_settings_and_not_both():
    settings = SettingArms(variant=EngineSettings(model="other"))
    said: dict[str, Any] = {"name": "x", "agent_ids": ("assistant",)}
    arms: dict[str, Any] = {"control_instruction_id": "a", "variant_instruction_id": "b"}
    wrongs: tuple[dict[str, Any], ...] = ({}, {**arms, "settings": settings}, {"control_instruction_id": "a"})
    for wrong in wrongs:
        with pytest.raises(ValueError, match="or else settings"):
            NewExperiment(**said, **wrong)
    assert NewExperiment(**said, **arms, guardrails=("cost",)).guarded == (Guardrail(metric="cost"),)
