"""How unequally an amount is spread over users: Lorenz curve and Gini index.

Of n users with amounts x_1 ≤ … ≤ x_n that sum to S > 0,

    L(k/n) = (x_1 + … + x_k) / S        Lorenz curve, k = 0 … n
    G = Σ_i Σ_j |x_i − x_j| / (2 n S)   Gini index: 0 where all have the same; (n − 1)/n where
                                        one has everything

Conventions: the index is that of the population, without the factor n/(n − 1) of samples.

Sources: M. O. Lorenz, Methods of measuring the concentration of wealth, 1905; C. Gini, Variabilità
e mutabilità, 1912.
"""

import math
from collections.abc import Sequence
from itertools import accumulate


def lorenz(amounts: Sequence[float]) -> list[tuple[float, float]]:
    """The Lorenz curve of amounts ≥ 0, not all 0: (part of users, part of all), from (0, 0) on.

    Raises:
        ValueError: there are no amounts, one is negative, or all are 0.
    """
    total = _total(amounts)
    ordered = sorted(amounts)
    held = (min(sum_ / total, 1.0) for sum_ in accumulate(ordered))
    points = [(number / len(ordered), part) for number, part in enumerate(held, start=1)]
    return [(0.0, 0.0), *points[:-1], (1.0, 1.0)]


def gini(amounts: Sequence[float]) -> float:
    """The Gini index of amounts ≥ 0, not all 0; in [0, 1).

    Raises:
        ValueError: as ``lorenz``.
    """
    total = _total(amounts)
    number = len(amounts)
    # Σ_i Σ_j |x_i − x_j| = 2 Σ_k (2k − n − 1) x_k over ascending amounts.
    weighted = math.fsum(
        (2 * place - number - 1) * amount for place, amount in enumerate(sorted(amounts), start=1)
    )
    return max(weighted / (number * total), 0.0)


def held_by_top(amounts: Sequence[float], part: float) -> float:
    """What part of everything those ``part`` of the users have who have most; in [0, 1].

    Between two users the Lorenz curve is straight.

    Raises:
        ValueError: as ``lorenz``.
    """
    curve = lorenz(amounts)
    place = (1 - min(max(part, 0.0), 1.0)) * len(amounts)
    below = min(int(place), len(amounts) - 1)
    (_, low), (_, high) = curve[below], curve[below + 1]
    return 1 - (low + (place - below) * (high - low))


def _total(amounts: Sequence[float]) -> float:
    total = math.fsum(amounts)
    if not total > 0 or min(amounts) < 0:  # also where one is not a number
        raise ValueError("amounts must not be negative, nor all of them 0")
    return total
