"""Means, medians and values of the last events of each group, as of one instant after another.

The medians of the latest known waits are simple predictions (SPEC §13, *How good*).
"""

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.scenario.predict.known import QueuedAttempts

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


ALL: Final = 200  # number of latest waits of all attempts
ALIKE: Final = 20  # number of latest waits of one class
FEWEST_ALL: Final = 20
FEWEST_ALIKE: Final = 5
UNKNOWN: Final = -1
"""The median of too few waits."""
WALLTIMES_S: Final = (3_600, 14_400, 43_200, 86_400)


class Baselines:
    """Medians of the latest waits of a pool; ``to`` goes on to a later instant.

    A class is one of width and walltime.
    """

    def __init__(self, known: QueuedAttempts) -> None:
        """Begin with no wait."""
        work = known.work
        begun = np.flatnonzero(work.has_started & known.subject)
        order = begun[np.argsort(work.start[begun], kind="stable")]
        self._starts, self._waits = work.start[order], (work.start - work.arrival)[order]
        width = np.ceil(np.log2(np.maximum(known.size, 1))).astype(np.int64)
        walltime = np.searchsorted(WALLTIMES_S, known.walltime)
        self._class: Ints = width * (len(WALLTIMES_S) + 1) + walltime
        classes = int(self._class.max(initial=-1)) + 1
        own = np.unique(known.user * classes + self._class, return_inverse=True)[1]
        self._own: Ints = own.astype(np.int64)
        self._of_class = self._latest(self._class[order], classes)
        self._of_own = self._latest(self._own[order], int(own.max(initial=-1)) + 1)
        self._taken = 0
        self.recent = UNKNOWN
        """The median of the last ``ALL`` waits."""

    def _latest(self, group: Ints, groups: int) -> Latest[np.int64]:
        value = medians(group, self._waits, ALIKE, FEWEST_ALIKE)
        return Latest(group, value, groups, np.int64(UNKNOWN))

    def to(self, now: int) -> None:
        """Take in the waits that ended before ``now``."""
        taken = int(self._starts.searchsorted(now))
        if taken == self._taken:
            return
        self._taken = taken
        self._of_class.to(taken)
        self._of_own.to(taken)
        last = self._waits[max(0, taken - ALL) : taken]
        if len(last) >= FEWEST_ALL:
            middle = (len(last) - 1) // 2
            self.recent = int(np.partition(last, middle)[middle])

    def alike(self, jobs: Ints) -> Ints:
        """Return the medians of the last ``ALIKE`` waits like those of attempts.

        They are those of the same user and class; with too few those of the same class; with too
        few ``recent``.
        """
        own, of_class = (
            self._of_own.value[self._own[jobs]],
            self._of_class.value[self._class[jobs]],
        )
        return np.where(own >= 0, own, np.where(of_class >= 0, of_class, self.recent))
