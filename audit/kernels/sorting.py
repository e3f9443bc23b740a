"""Sorting by merging, where a few steps of insertion would not do."""

from audit.kernels.arrays import Floats, Ints
from audit.kernels.compiled import inner, kernel


@kernel
def sort_by(keys: Floats, order: Ints, spare: Ints, count: int) -> None:
    """Puts the first ``count`` of ``order`` in order of their keys, ascending, stably.

    ``order`` holds indices of ``keys``, none of which is NaN; ``spare`` is working space of as many
    elements. What is in order already is left alone.
    """
    width = 1
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            if middle < high and keys[order[middle - 1]] > keys[order[middle]]:
                merge(keys, order, spare, low, middle, high)
            low = high
        width *= 2


@inner
def merge(keys: Floats, order: Ints, spare: Ints, low: int, middle: int, high: int) -> None:
    """Merges two neighbouring parts of ``order``, each of them in order."""
    left = low
    right = middle
    for k in range(low, high):
        if right == high or (left < middle and keys[order[left]] <= keys[order[right]]):
            spare[k] = order[left]
            left += 1
        else:
            spare[k] = order[right]
            right += 1
    for k in range(low, high):
        order[k] = spare[k]
