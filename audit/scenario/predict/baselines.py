"""Simple predictions from the latest known waits of a pool (SPEC §13, *How good*)."""

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final

import numpy as np

from audit.scenario.predict.known import QueuedAttempts

ALL: Final = 200  # number of latest waits of all attempts
ALIKE: Final = 20  # number of latest waits of one class
FEWEST_ALL: Final = 20
FEWEST_ALIKE: Final = 5
_WALLTIMES_S: Final = (3_600, 14_400, 43_200, 86_400)


class Baselines:
    """The latest waits of a pool; ``to`` goes on to a later instant."""

    def __init__(self, known: QueuedAttempts) -> None:
        """Begin with no wait."""
        work = known.work
        begun = np.flatnonzero(work.has_started & known.subject)
        order = begun[np.argsort(work.start[begun], kind="stable")]
        self._starts = work.start[order].tolist()
        self._waits = (work.start - work.arrival)[order].tolist()
        width = np.ceil(np.log2(np.maximum(known.size, 1))).astype(int).tolist()
        walltime = np.searchsorted(_WALLTIMES_S, known.walltime).tolist()
        self._class = [*zip(width, walltime, strict=True)]
        self._user = known.user.tolist()
        self._order = order.tolist()
        self._taken = 0
        self._recent = deque[int](maxlen=ALL)
        self._alike = defaultdict[tuple[int, ...], deque[int]](lambda: deque(maxlen=ALIKE))

    def to(self, now: int) -> None:
        """Take in the waits that ended before ``now``."""
        while self._taken < len(self._order) and self._starts[self._taken] < now:
            other, wait = self._order[self._taken], self._waits[self._taken]
            self._recent.append(wait)
            self._alike[self._class[other]].append(wait)
            self._alike[self._user[other], *self._class[other]].append(wait)
            self._taken += 1

    def recent(self) -> list[int]:
        """Return the last ``ALL`` waits, ascending; nothing: too few are known."""
        return sorted(self._recent) if len(self._recent) >= FEWEST_ALL else []

    def alike(self, job: int) -> list[int]:
        """Return the last ``ALIKE`` waits like that of an attempt, ascending.

        They are those of the same user, width and walltime class; with too few those of the same
        width and walltime class; with too few ``recent``.
        """
        for key in ((self._user[job], *self._class[job]), self._class[job]):
            if len(self._alike[key]) >= FEWEST_ALIKE:
                return sorted(self._alike[key])
        return self.recent()


def median(ascending: Sequence[int]) -> int | None:
    """Return the middle wait, the lower one of two; None: there is none."""
    return ascending[(len(ascending) - 1) // 2] if ascending else None
