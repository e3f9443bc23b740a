"""Tests of one-sided hypotheses from few blocks of data, and of many hypotheses at once.

*Delete-one-block jackknife*: with θ_g the statistic without block g of G, and θ̄ their mean,

    variance = (G − 1)/G · Σ_g (θ_g − θ̄)²

and θ divided by its square root is compared with Student's t with G − 1 degrees of freedom.

*Benjamini-Hochberg* at a level a over m hypotheses: the k with the least p are rejected, k being
the greatest with p_(k) ≤ k·a/m.

Sources: B. Efron, C. Stein, The Jackknife Estimate of Variance, Annals of Statistics 9 (1981);
M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4; Y. Benjamini,
Y. Hochberg, Controlling the False Discovery Rate, JRSS B 57 (1995).
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Floats, Ints

LEVEL: Final = 0.05


class TestStatistic(NamedTuple):
    """A statistic, whether it is above 0, and how small it may be."""

    value: float
    p: float  # one-sided, of the hypothesis that it is at most 0
    lower: float  # one-sided 95 % bound


def jackknife(value: float, without: Floats) -> TestStatistic:
    """Estimate a statistic by leaving out one block at a time.

    Args:
        value: of all blocks.
        without: the statistic without each block in turn; at least two.
    """
    blocks = len(without)
    deviation = math.sqrt((blocks - 1) / blocks * float(((without - without.mean()) ** 2).sum()))
    if deviation == 0:
        return TestStatistic(value, 0.0 if value > 0 else 1.0, value)
    p = t_above(value / deviation, blocks - 1)
    return TestStatistic(value, p, value - t_quantile(1 - LEVEL, blocks - 1) * deviation)


def of_sums(above: Floats, below: Floats) -> TestStatistic | None:
    """Estimate Σ above / Σ below from the sums of each block.

    None with fewer than two blocks, or where one of them holds all of ``below``.
    """
    rest = below.sum() - below
    if len(below) < 2 or (rest <= 0).any():
        return None
    return jackknife(float(above.sum() / below.sum()), (above.sum() - above) / rest)


def stretches(days: Ints, most: int) -> Ints:
    """Return the number of the stretch of days of each element, of those in which any lies.

    Args:
        days: of each element, at least one. The time from the first to the last is divided into
            equal stretches.
        most: number of stretches; where the days are fewer, each is one.
    """
    first, span = days.min(), days.max() - days.min() + 1
    stretch = (days - first) * min(most, span) // span
    numbers: Ints = np.unique(stretch, return_inverse=True)[1]
    return numbers


def t_above(t: float, freedom: int) -> float:
    """Return the probability that Student's t exceeds ``t``, with ``freedom`` ≥ 1."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(odd + 1, freedom, 2):  # 1, 3, … of even degrees; 2, 4, … of odd ones
        total += term
        term *= square * k / (k + 1)
    within = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 - within) / 2


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """Return what Student's t does not exceed with a probability in (0, 1)."""
    low, high = -1.0, 1.0
    while t_above(low, freedom) < 1 - probability:
        low *= 2
    while t_above(high, freedom) > 1 - probability:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if t_above(middle, freedom) > 1 - probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def by_hochberg(p: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Return which of the hypotheses with these p are rejected (Benjamini-Hochberg)."""
    ascending = sorted(p)
    passing = [k for k, one in enumerate(ascending, 1) if one <= k * level / len(p)]
    return [bool(passing) and one <= ascending[passing[-1] - 1] for one in p]
