from datetime import UTC, datetime, timedelta

import pytest

from preceptor.domain.experiments.assigning import Arm
from preceptor.domain.experiments.experiment import Guardrail
from preceptor.domain.experiments.metrics import Tally
from preceptor.domain.experiments.results import analyse
from preceptor.domain.experiments.series import series_of
from preceptor.testing import EPOCH
from tests.domain.experiments import effect_on, experiment, talked


def on(day: float, number: int, tally: Tally) -> Tally:
    """The same in a conversation that began then."""
    milliseconds = int((EPOCH + timedelta(days=day)).timestamp() * 1000)
    text = f"{milliseconds:012x}"
    tally.conversation = f"{text[:8]}-{text[8:]}-7000-8000-{number:012x}"
    return tally


def four_days() -> list[Tally]:
    return [
        on(day, number, talked(f"{arm} {day} {number}", arm, {"rating": 3.0 + number % 3 + (arm is Arm.VARIANT)}))
        for day in (0.1, 0.9, 2.5, 3.5)
        for arm in Arm
        for number in range(30)
    ]


def test_a_series_grows_by_the_units_of_each_day_and_ends_in_what_the_results_say():
    design = experiment(planned=400, guardrails=(Guardrail(metric="tokens"), Guardrail(metric="latency")))
    tallies = four_days()
    told = series_of(design, tallies)
    results = analyse(design, tallies, EPOCH + timedelta(days=4))
    assert [one.metric for one in told.metrics][:3] == ["rating", "tokens", "latency"]
    for one in told.metrics:
        assert [point.day for point in one.points] == [(EPOCH + timedelta(days=n)).date() for n in (0, 2, 3)]
        assert [point.control_units for point in one.points] == [60, 90, 120]
        effect, last = effect_on(results, one.metric), one.points[-1]
        assert one.role == effect.role
        assert (last.difference is None) is (effect.difference is None)
        if last.difference is not None and last.always_valid is not None:
            assert effect.always_valid is not None
            assert last.difference == pytest.approx(effect.difference, abs=1e-9)
            assert last.always_valid.low == pytest.approx(effect.always_valid.low, abs=1e-9)


def test_every_point_is_what_someone_who_looked_then_would_have_seen():
    design, tallies = experiment(planned=400), four_days()
    early = [one for one in tallies if one.unit.split()[1] in {"0.1", "0.9"}]
    first = series_of(design, tallies).metrics[0].points[0]
    seen = effect_on(analyse(design, early, EPOCH + timedelta(days=1)))
    assert first.always_valid is not None
    assert seen.always_valid is not None
    assert (first.always_valid.low, first.always_valid.high) == pytest.approx(
        (seen.always_valid.low, seen.always_valid.high), abs=1e-9
    )


def test_conversations_that_began_before_the_start_join_on_its_day_and_a_draft_has_no_series():
    design = experiment(started_at=datetime(2026, 1, 5, 23, tzinfo=UTC))
    (rating, *_) = series_of(design, four_days()).metrics
    assert [point.day.isoformat() for point in rating.points] == ["2026-01-05"]
    assert series_of(experiment(started_at=None), []).metrics == ()
