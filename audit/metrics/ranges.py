"""Order statistics of ranges of a sequence, by wavelet matrices.

Queries are arrays, answered together: O(log of the greatest value) steps for each.
"""

from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Ints

_Counts = NDArray[np.int32]


class Ranges:
    """A sequence of n whole numbers ≥ 0, below 2^``bits``."""

    def __init__(self, values: Ints, bits: int) -> None:
        self._bits: Final = bits
        self._zeros: Final[list[_Counts]] = []
        """By bit, highest first: how many of the first 0, …, n numbers have a 0 there."""
        for bit in reversed(range(bits)):
            zero = (values >> bit) & 1 == 0
            counts = np.zeros(len(values) + 1, np.int32)
            np.cumsum(zero, out=counts[1:])
            self._zeros.append(counts)
            values = np.concatenate((values[zero], values[~zero]))

    def below(self, begin: Ints, end: Ints, bounds: Ints) -> Ints:
        """Return how many numbers at places [begin, end) are below the bounds, at most 2^bits."""
        count = np.where(bounds >> self._bits > 0, end - begin, 0)
        for level, zeros in enumerate(self._zeros):
            one = (bounds >> (self._bits - 1 - level)) & 1 == 1
            low, high = zeros[begin], zeros[end]
            count += np.where(one & (bounds >> self._bits == 0), high - low, 0)
            begin = np.where(one, zeros[-1] + begin - low, low)
            end = np.where(one, zeros[-1] + end - high, high)
        return count

    def nth_without(
        self, begin: Ints, end: Ints, other: Self, without: tuple[Ints, Ints], nth: Ints
    ) -> Ints:
        """Return the nth smallest numbers (from 0) of ranges without those of others.

        Args:
            begin, end: places of each range.
            other: a sequence with as many bits.
            without: begins and ends of ranges of ``other``, whose numbers are all in [begin, end).
            nth: below the number of those that are left.
        """
        found = np.zeros(len(nth), np.int64)
        left, right = without
        for mine, theirs in zip(self._zeros, other._zeros, strict=True):
            low, high = mine[begin].astype(np.int64), mine[end].astype(np.int64)
            from_, to = theirs[left].astype(np.int64), theirs[right].astype(np.int64)
            zeros = (high - low) - (to - from_)
            one = nth >= zeros
            found = 2 * found + one
            nth = np.where(one, nth - zeros, nth)
            begin = np.where(one, mine[-1] + begin - low, low)
            end = np.where(one, mine[-1] + end - high, high)
            left = np.where(one, theirs[-1] + left - from_, from_)
            right = np.where(one, theirs[-1] + right - to, to)
        return found
