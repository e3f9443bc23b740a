"""Ranks and their correlation, for many resamples at once."""

import numpy as np
from numpy.typing import NDArray

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
