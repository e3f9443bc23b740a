"""Nearest-rank quantiles, exactly rounded sums, and ranks.

Quantiles and sums give the same bits whatever the order of the values (SPEC §1: percentiles are
nearest-rank, the median included).
"""

import itertools
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.kernels import sums

MEDIAN: Final = 500
LOWER_QUARTILE: Final = 250
UPPER_QUARTILE: Final = 750
P90: Final = 900
P95: Final = 950
P99: Final = 990


def rank(count: int, thousandths: int) -> int:
    """Return max(1, ⌈count · q⌉), in whole numbers since 0.07 · 100 > 7 in floating point."""
    return max(1, -(-count * thousandths // 1000))


def nearest_rank(ascending: Floats, thousandths: int) -> float | None:
    """Return the least value that at least ``thousandths``/1000 of all values do not exceed."""
    count = len(ascending)
    return float(ascending[rank(count, thousandths) - 1]) if count else None


_WHOLE: Final = 2.0**52  # sums of whole numbers up to it need no rounding
_FEW: Final = 256  # values per group below which ``math.fsum`` is faster than sums of digits


def are_whole(values: Floats) -> bool:
    """Return whether sums of the values are whole numbers that doubles hold exactly."""
    return bool(np.abs(values).sum() < _WHOLE) and np.array_equal(values, np.trunc(values))


def exact_sum(values: Floats) -> float:
    """Return the sum, rounded once: independent of the order of the values."""
    return grouped_sums(np.zeros(len(values), np.int64), values, 1)[0]


def exact_mean(values: NDArray[np.generic]) -> float | None:
    """Return the mean, independent of the order of the values; None without any."""
    return exact_sum(values.astype(np.float64)) / len(values) if len(values) else None


def grouped_sums(groups: Ints, values: Floats, count: int) -> list[float]:
    """Return ``exact_sum`` of the values of each group 0, …, ``count`` − 1."""
    if are_whole(values):
        whole: list[float] = np.bincount(groups, values, count).tolist()
        return whole
    if len(values) >= _FEW * count:
        digits = np.zeros((count, sums.DIGITS), np.int64)
        bits = np.ascontiguousarray(values, np.float64).view(np.int64)
        if sums.add_to_digits(groups, bits, digits):
            used = np.flatnonzero(digits.any(axis=0))
            return [
                sum(digit << 32 * k for k, digit in zip(used.tolist(), of, strict=True))
                / (1 << 1074)
                for of in digits[:, used].tolist()
            ]
    ordered = values[order_of(groups, count)]
    ends = [0, *np.cumsum(np.bincount(groups, minlength=count))[:count].tolist()]
    return [math.fsum(ordered[begin:end].tolist()) for begin, end in itertools.pairwise(ends)]


def order_of(numbers: Ints, bound: int) -> Ints:
    """Return the stable order that sorts numbers from 0 to below ``bound``; by radix if few."""
    small = bound <= 1 << 16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def add_ints(groups: Ints, values: Ints, count: int) -> Ints:
    """Return the sum of the values of each group 0, …, ``count`` − 1."""
    out = np.zeros(count, np.int64)
    sums.add_ints(groups, values, out)
    return out


def renumbered(keys: Ints, bound: int) -> tuple[Ints, Ints]:
    """Return the distinct keys, ascending, and the place of each key among them.

    Keys are from 0 to below ``bound``. They are counted, unless there are far fewer than that.
    """
    if bound > 8 * len(keys):
        return np.unique(keys, return_inverse=True)
    found = np.flatnonzero(np.bincount(keys, minlength=bound))
    place = np.zeros(bound, np.int64)
    place[found] = np.arange(len(found))
    return found, place[keys]


def ranks(values: Floats) -> Floats:
    """Return average ranks 1 … n along the first axis; all NaN in a column that has a NaN."""
    less = (values[:, None] > values[None]).sum(1)
    same = (values[:, None] == values[None]).sum(1)
    known = ~np.isnan(values).any(0)
    averages: Floats = np.where(known, less.astype(np.float64) + (same + 1) / 2, np.nan)
    return averages


def spearman(one: Floats, other: Floats) -> Floats:
    """Return Spearman's rank correlation along the first axis, with average ranks for ties.

    Args:
        one, other: n paired values, [n] or [n, columns].

    Returns:
        A value in [−1, 1] per column; NaN if one of them is constant or contains a NaN.
    """
    first, second = ranks(one), ranks(other)
    first, second = first - first.mean(0), second - second.mean(0)
    scale = np.sqrt((first**2).sum(0) * (second**2).sum(0))
    correlations = np.full(scale.shape, np.nan)
    np.divide((first * second).sum(0), scale, out=correlations, where=scale > 0)
    return correlations
