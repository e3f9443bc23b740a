"""Sums that are kept as unevaluated pairs of doubles, so that their order hardly matters."""

from audit.kernels.arrays import Floats
from audit.kernels.compiled import inner


@inner
def two_sum(high: float, low: float, value: float) -> tuple[float, float]:
    """The pair (high, low) plus ``value``; nothing is lost but what rounds off ``low``.

    Source: Knuth's TwoSum.
    """
    total = high + value
    part = total - high
    return total, low + ((high - (total - part)) + (value - part))


@inner
def add(high: Floats, low: Floats, index: int, value: float) -> None:
    """Adds ``value`` to one element of sums that are kept as pairs."""
    high[index], low[index] = two_sum(high[index], low[index], value)
