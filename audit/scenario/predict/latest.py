"""Means, medians and values of the last events of each group, as of one instant after another."""

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints

Number = TypeVar("Number", np.int64, np.float64)

_AT_ONCE = 1 << 16
"""Number of events whose windows are in memory at one time."""


class Latest(Generic[Number]):
    """The value of each group after its last event; ``to`` goes on to a later instant."""

    def __init__(self, group: Ints, value: NDArray[Number], groups: int, unknown: Number) -> None:
        """Begin before the first event.

        Args:
            group: of each event in the order of time, [events], ≥ 0.
            value: of its group after each event.
            groups: their number.
            unknown: the value of a group without events.
        """
        self.value: NDArray[Number] = np.full(groups, unknown, value.dtype)
        self._group: Ints = group
        self._value: NDArray[Number] = value
        self._next: Ints = np.full(len(group), len(group))
        """The next event of the same group."""
        order = np.argsort(group, kind="stable")
        same = group[order[1:]] == group[order[:-1]]
        self._next[order[:-1][same]] = order[1:][same]
        self._taken = 0

    def to(self, events: int) -> None:
        """Take in the first ``events`` events."""
        last = np.flatnonzero(self._next[self._taken : events] >= events) + self._taken
        self.value[self._group[last]] = self._value[last]
        self._taken = max(self._taken, events)


def turns(groups: Ints) -> Ints:
    """Return how many earlier elements are of the same group, [k]."""
    order = np.argsort(groups, kind="stable")
    of = groups[order]
    first = np.concatenate(([True], of[1:] != of[:-1])) if len(of) else np.zeros(0, np.bool_)
    begin = np.maximum.accumulate(np.where(first, np.arange(len(of)), 0))
    turn = np.empty_like(order)
    turn[order] = np.arange(len(of)) - begin
    return turn


def means(group: Ints, value: Floats, most: int) -> Floats:
    """Return the mean of the last ``most`` values of an event's group, with its own, [events]."""
    found = np.zeros(len(group))
    for events, window, count in _windows(group, value, most):
        total = np.zeros(len(events))
        for place in reversed(range(window.shape[1])):  # the oldest first
            total += np.where(place < count, window[:, place], 0)
        found[events] = total / count
    return found


def medians(group: Ints, value: Ints, most: int, fewest: int) -> Ints:
    """Return the median of the last ``most`` values of an event's group, with its own, [events].

    It is the lower one of two middle values; with fewer than ``fewest`` values it is −1.
    """
    found = np.zeros(len(group), np.int64)
    for events, window, count in _windows(group, value, most):
        beyond = np.arange(window.shape[1]) >= count[:, None]
        window[beyond] = np.iinfo(np.int64).max
        window.sort(axis=1)
        middle = window[np.arange(len(events)), (count - 1) // 2]
        found[events] = np.where(count >= fewest, middle, -1)
    return found


def _windows(
    group: Ints, value: NDArray[Number], most: int
) -> Iterator[tuple[Ints, NDArray[Number], Ints]]:
    """Yield some events, the last values of their groups up to each, and how many these are.

    The values, [events, ``most``], are the newest first; behind their number are others.
    """
    order = np.argsort(group, kind="stable")
    of, turn = value[order], turns(group)[order]
    for first in range(0, len(order), _AT_ONCE):
        here = np.arange(first, min(first + _AT_ONCE, len(order)))
        window = of[np.maximum(here[:, None] - np.arange(most), 0)]
        yield order[here], window, np.minimum(turn[here] + 1, most)
