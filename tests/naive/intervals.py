"""The bootstrap of SPEC §5 and §11 in slow, plain Python."""

from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

Pair = tuple[int | float, int | float]


def stretches(arrivals: Sequence[int], zone: ZoneInfo) -> list[Hashable]:
    """Return the calendar week of each arrival; its day if there are fewer than 8 weeks."""
    dates = [datetime.fromtimestamp(arrival, zone).date() for arrival in arrivals]
    weeks = [date.isocalendar()[:2] for date in dates]
    return list(weeks if len(set(weeks)) >= 8 else dates)


def share(
    units: Sequence[Hashable], pairs: Mapping[Hashable, Sequence[Pair]], seed: int, resamples: int
) -> tuple[float, float] | None:
    """Return the 95 % interval of Σ above / Σ below; None below 8 units or without any below.

    Args:
        units: all units of the population, in the order in which they are numbered.
        pairs: above and below of the attempts of each unit that has any.
    """
    random, number = np.random.Generator(np.random.PCG64(seed)), len(units)
    shares = []
    for numbers in random.integers(0, number, (resamples, number)).tolist():
        taken = [pair for number in numbers for pair in pairs.get(units[number], ())]
        if sum(below for _, below in taken) > 0:
            shares.append(sum(above for above, _ in taken) / sum(below for _, below in taken))
    if len(pairs) < 8 or not shares:
        return None
    shares.sort()
    return shares[-(-25 * len(shares) // 1000) - 1], shares[-(-975 * len(shares) // 1000) - 1]
