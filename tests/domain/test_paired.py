from random import Random

import pytest

from preceptor.domain.replays.comparing import Digest, compared
from preceptor.domain.replays.statistics import paired, t_probability, t_quantile

TABLE = {  # degrees of freedom: the 97.5 % point, from published tables to ten digits
    1: 12.70620474,
    2: 4.302652730,
    5: 2.570581836,
    10: 2.228138852,
    30: 2.042272456,
    120: 1.979930405,
}


@pytest.mark.parametrize(("freedom", "point"), TABLE.items())
def test_student_points_are_those_of_the_tables(freedom: int, point: float):
    assert t_quantile(0.975, freedom) == pytest.approx(point, rel=1e-9)
    assert t_quantile(0.025, freedom) == pytest.approx(-point, rel=1e-9)
    assert t_probability(point, freedom) == pytest.approx(0.975, abs=1e-9)


def test_students_own_example():
    """The sleep data of 1908: the hours that ten patients slept longer with the second drug than with the first."""
    found = paired([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])
    assert found.mean == pytest.approx(1.58)
    assert (found.low, found.high) == (pytest.approx(0.7001142, abs=1e-7), pytest.approx(2.4598858, abs=1e-7))
    assert found.p_value == pytest.approx(0.00283289, abs=1e-8)


def test_without_two_units_there_is_no_interval_and_without_spread_it_is_one_number():
    assert paired([]).low is None
    assert (paired([3.0]).mean, paired([3.0]).low, paired([3.0]).p_value) == (3.0, None, None)
    assert (paired([2.0, 2.0]).low, paired([2.0, 2.0]).high) == (2.0, 2.0)
    assert paired([0.0, 0.0, 0.0]).p_value == 1.0


def test_the_interval_holds_the_truth_as_often_as_it_says():
    random = Random(20_260)
    rounds, held = 2000, 0
    for _ in range(rounds):
        found = paired([random.gauss(0.3, 1.0) for _ in range(12)])
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.3 <= found.high
    assert 0.94 <= held / rounds <= 0.96


def test_turns_of_one_conversation_count_as_one():
    one = [Digest(conversation="a", prompt_before=10, prompt=20) for _ in range(50)]
    other = [Digest(conversation="b", prompt_before=10, prompt=12)]
    [tokens] = compared([*one, *other, Digest(conversation="c", failed=True)])
    assert (tokens.metric, tokens.units, tokens.turns) == ("promptTokens", 2, 51)
    assert (tokens.before, tokens.after, tokens.difference) == (10, 16, 6)
    assert tokens.low is not None
    assert tokens.low < 0 < tokens.difference
