"""The medians of known waits that predictions are compared with (SPEC §13, *How good*)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np

from audit.scenario.predict.known import QueuedAttempts

ALL: Final = 200  # number of latest waits of all attempts
ALIKE: Final = 20  # number of latest waits of one class
FEWEST_ALL: Final = 20
FEWEST_ALIKE: Final = 5
_WALLTIMES_S: Final = (3_600, 14_400, 43_200, 86_400)


class Medians(NamedTuple):
    """Two simple predictions of a wait, s; None: too few waits are known."""

    recent: int | None  # of the last ``ALL`` waits
    alike: int | None
    """Of the last ``ALIKE`` waits of the same user, width and walltime class; with too few of the
    same width and walltime class; with too few of those ``recent``."""


class Baselines:
    """The latest waits of a pool; ``at`` goes on to a later instant."""

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

    def at(self, now: int, job: int) -> Medians:
        """Return the predictions for an attempt from the waits that ended before ``now``."""
        while self._taken < len(self._order) and self._starts[self._taken] < now:
            other, wait = self._order[self._taken], self._waits[self._taken]
            self._recent.append(wait)
            self._alike[self._class[other]].append(wait)
            self._alike[self._user[other], *self._class[other]].append(wait)
            self._taken += 1
        recent = _median(self._recent) if len(self._recent) >= FEWEST_ALL else None
        for key in ((self._user[job], *self._class[job]), self._class[job]):
            if len(self._alike[key]) >= FEWEST_ALIKE:
                return Medians(recent, _median(self._alike[key]))
        return Medians(recent, recent)


def _median(waits: Collection[int]) -> int:
    return sorted(waits)[(len(waits) - 1) // 2]
