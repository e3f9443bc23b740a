"""Simple predictions from the latest known waits of a pool (SPEC §13, *How good*)."""

from typing import Final

import numpy as np

from audit.array_types import Ints
from audit.scenario.predict.known import QueuedAttempts
from audit.scenario.predict.latest import Latest, medians

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
