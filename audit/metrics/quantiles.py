"""Nearest-rank quantiles and exactly rounded sums, which all figures use.

Both give the same bits whatever the order of the values, and neither invents a value between two
(SPEC §1: percentiles are nearest-rank, the median included).

Ranks and their correlation are for many resamples at once.
"""

import itertools
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

MEDIAN: Final = 500
LOWER_QUARTILE: Final = 250
UPPER_QUARTILE: Final = 750
P90: Final = 900
P95: Final = 950
P99: Final = 990


def rank(count: int, thousandths: int) -> int:
    """max(1, ⌈count · q⌉), in whole numbers, since 0.07 · 100 exceeds 7 in floating point."""
    return max(1, -(-count * thousandths // 1000))


def nearest_rank(ascending: NDArray[np.float64], thousandths: int) -> float | None:
    """The least value that at least ``thousandths``/1000 of all values do not exceed.

    That is the value of ``rank``. Null where there are no values.
    """
    count = len(ascending)
    if count == 0:
        return None
    return float(ascending[rank(count, thousandths) - 1])


_FEW: Final = 256
"""Fewer values of a group are added more quickly without digits."""


def exact_sum(values: NDArray[np.float64]) -> float:
    """The sum, rounded once: independent of the values' order."""
    return grouped_sums(np.zeros(len(values), np.int64), values, 1)[0]


def grouped_sums(groups: NDArray[np.int64], values: NDArray[np.float64], count: int) -> list[float]:
    """``exact_sum`` of the values of each group 0, …, ``count`` − 1; 0 for an empty one."""
    from audit.kernels import sums

    if len(values) >= _FEW * count:
        digits = np.zeros((count, sums.DIGITS), np.int64)
        bits = np.ascontiguousarray(values, np.float64).view(np.int64)
        if sums.add_to_digits(groups, bits, digits):
            return [
                sum(digit << 32 * k for k, digit in enumerate(of) if digit) / (1 << 1074)
                for of in digits.tolist()
            ]
    ordered = values[np.argsort(groups, kind="stable")]
    ends = [0, *np.cumsum(np.bincount(groups, minlength=count))[:count].tolist()]
    return [math.fsum(ordered[begin:end].tolist()) for begin, end in itertools.pairwise(ends)]


Floats = NDArray[np.float64]


def ranks(values: Floats) -> Floats:
    """Average ranks 1 … n along the first axis; NaN everywhere in a column that holds one."""
    less = (values[:, None] > values[None]).sum(1)
    same = (values[:, None] == values[None]).sum(1)
    known = ~np.isnan(values).any(0)
    averages: Floats = np.where(known, less.astype(np.float64) + (same + 1) / 2, np.nan)
    return averages


def spearman(one: Floats, other: Floats) -> Floats:
    """Spearman's rank correlation along the first axis, with average ranks for ties.

    Args:
        one, other: arrays [n] or [n, columns]; n values that belong together in pairs.

    Returns:
        For each column in [−1, 1]; NaN where one of them is constant, or holds a NaN.
    """
    first, second = ranks(one), ranks(other)
    first, second = first - first.mean(0), second - second.mean(0)
    scale = np.sqrt((first**2).sum(0) * (second**2).sum(0))
    correlations = np.full(scale.shape, np.nan)
    np.divide((first * second).sum(0), scale, out=correlations, where=scale > 0)
    return correlations
