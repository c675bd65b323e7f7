"""Paired comparison: the same units before and after. Their differences have a mean, and an interval around it."""

from collections.abc import Sequence
from math import exp, lgamma, log, log1p, sqrt

import msgspec

CONFIDENCE = 0.95
_TINY = 1e-300
_CLOSE = 1e-15


class Paired(msgspec.Struct, frozen=True):
    mean: float
    low: float | None
    high: float | None
    p_value: float | None


def paired(differences: Sequence[float], confidence: float = CONFIDENCE) -> Paired:
    """The mean difference with its Student interval, and how likely one as far from nothing would be by chance.

    Below two units there is no interval. Where all differ by the same, the interval is that one number.
    """
    count = len(differences)
    mean = sum(differences) / count if count else 0.0
    if count < 2:
        return Paired(mean, None, None, None)
    variance = sum((one - mean) ** 2 for one in differences) / (count - 1)
    error = sqrt(variance / count)
    if error <= abs(mean) * 1e-12:
        return Paired(mean, mean, mean, None if mean else 1.0)
    reach = t_quantile((1 + confidence) / 2, count - 1) * error
    return Paired(mean, mean - reach, mean + reach, 2 * (1 - t_probability(abs(mean) / error, count - 1)))


def t_probability(t: float, freedom: int) -> float:
    """How likely a Student variable with so many degrees of freedom is below `t`."""
    tail = 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))
    return 1 - tail if t >= 0 else tail


def t_quantile(probability: float, freedom: int) -> float:
    """Below which value such a variable is with this probability, by halving."""
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_probability(high, freedom) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_probability(middle, freedom) < probability else (low, middle)
        if high - low <= _CLOSE * high:
            break
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, _away(1 - (a + b) * x / (a + 1))
    d = 1 / d
    found = d
    for step in range(1, 1000):
        for term in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            found *= d * c
        if abs(d * c - 1) < _CLOSE:
            break
    return found


def _away(value: float) -> float:
    return _TINY if abs(value) < _TINY else value
