"""Occasions, broken shares and their bound, SPEC §11, in slow plain Python.

Nothing here is shared with the package.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

Event = tuple[int, int, bool]
"""A user, an instant, and whether it is a start."""


def units(events: Sequence[Event]) -> dict[tuple[int, int], float]:
    """The broken share of each (day, user)."""
    found: dict[tuple[int, int], list[bool]] = defaultdict(list)
    for user, at, broken in events:
        found[at // 86_400, user].append(broken)
    return {unit: sum(starts) / len(starts) for unit, starts in found.items()}


def upper_bound(breaks: float, trials: int) -> float:
    """The 95 % quantile of Beta(breaks + 1, trials − breaks), by summing its density."""
    if breaks >= trials:
        return 1.0
    steps = 20_000
    a, b = breaks + 1, trials - breaks
    weights = []
    for k in range(steps):
        x = (k + 0.5) / steps
        weights.append(math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x)))
    total, so_far = sum(weights), 0.0
    for k, weight in enumerate(weights):
        so_far += weight
        if so_far >= 0.95 * total:
            return (k + 1) / steps
    return 1.0
