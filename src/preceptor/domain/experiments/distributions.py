"""The distributions that the statistics need, on the standard library. Tests hold them to scipy's."""

import math
from statistics import NormalDist

_TINY = 1e-300
_ENOUGH = 1e-16
_MOST_STEPS = 10_000
_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    return _NORMAL.inv_cdf(probability)


def normal_two_sided(z: float) -> float:
    """How likely a standard normal variable is at least as far from zero as `z`."""
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square_tail(statistic: float) -> float:
    """With one degree of freedom."""
    return math.erfc(math.sqrt(statistic / 2))


def student_two_sided(t: float, degrees: float) -> float:
    """How likely a variable of Student's distribution is at least as far from zero as `t`."""
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))


def student_quantile(tail: float, degrees: float) -> float:
    """The positive `t` beyond which, on both sides together, the probability `tail` lies."""
    t = normal_quantile(1 - tail / 2)
    for _ in range(100):  # from the left of a convex curve, so that no step goes too far
        step = (student_two_sided(t, degrees) - tail) / (2 * _student_density(t, degrees))
        t += step
        if abs(step) < 1e-12 * t:
            break
    return t


def _student_density(t: float, degrees: float) -> float:
    front = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    return math.exp(front - (degrees + 1) / 2 * math.log1p(t * t / degrees))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    if x < (a + 1) / (a + b + 2):
        return math.exp(front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(front) * _fraction(b, a, 1.0 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's method: each step multiplies in two terms, until that changes nothing."""
    c, d = 1.0, 1.0 / _off_zero(1.0 - (a + b) * x / (a + 1.0))
    found = d
    for step in range(1, _MOST_STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        d, c = 1.0 / _off_zero(1.0 + even * d), _off_zero(1.0 + even / c)
        found *= d * c
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        d, c = 1.0 / _off_zero(1.0 + odd * d), _off_zero(1.0 + odd / c)
        found *= d * c
        if abs(d * c - 1.0) < _ENOUGH:
            break
    return found


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
