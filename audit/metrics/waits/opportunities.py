"""When waiting attempts could have started: step 5 of the walk, and free requests (SPEC §11).

Conventions: as ``waits.walk``.
"""

from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Ints
from audit.kernels.growing import GrowingTable
from audit.kernels.waits import walk as kernels
from audit.metrics.waits.queue import NEVER, ranges
from audit.metrics.waits.walk import BOOKED, Plan, PoolLog, Starts, sweep

MOST_ROOM: Final = 25_000_000
"""Greatest number of stretches in which requests of attempts were free: 0.6 GB."""
_AT_ONCE: Final = 1 << 18


class Opportunities(NamedTuple):
    """When waiting attempts could have started, and what started.

    Stretches of waits are rows of the attempt, begin and end (epoch s); those of an attempt follow
    on each other, ascending and disjoint.
    """

    possible: Ints  # [k, 3]: it could start (step 5 of the walk), so it had not lapsed
    free: Ints  # [m, 3]: its request was free, and neither a rule nor a hold forbade its start
    started: Ints  # the attempts that started since the log began, by start


class SweptRoom(NamedTuple):
    """The opportunities that a walk finds, by class and block."""

    spans: Ints  # of blocks: first and last attempt, cause, begin, end
    room: Ints  # class, begin, end: stretches in which its request was free
    waiting: Ints  # [4, w]: place, class, arrival and leave of all that wait, ascending
    started: Ints
    agree: Starts | None  # None: it was not counted

    def by_attempt(self, row: Ints) -> Opportunities | None:
        """Return the opportunities of attempts; None: more than ``MOST_ROOM`` stretches.

        Args:
            row: [n], what to name each attempt by, in place of its place.
        """
        free = self._free()
        if free is None:
            return None
        could = self.spans[:, 2] == BOOKED.index("unexplained")
        possible = _joined(_of_members(self.spans[could], *self.waiting[[0, 3]]))
        free = _without(free, _of_members(self.spans[~could], *self.waiting[[0, 3]]))
        for spans in (possible, free):
            spans[:, 0] = row[spans[:, 0]]
        started: Ints = row[self.started].astype(np.int64)
        return Opportunities(possible, free, started)

    def _free(self) -> Ints | None:
        """Return when the request of each attempt was free; rows as of ``Opportunities``."""
        place, alike, arrival, leave = self.waiting
        since = min(arrival.min(initial=NEVER), self.room[:, 1].min(initial=NEVER))
        last = max(leave.max(initial=since), self.room[:, 2].max(initial=since))
        length = last - since + 1
        room = self.room[np.lexsort((self.room[:, 1], self.room[:, 0]))]
        begins, ends = (room[:, 0] * length + room[:, k] - since for k in (1, 2))
        low = np.searchsorted(ends, alike * length + arrival - since, side="right")
        number = np.searchsorted(begins, alike * length + leave - since) - low
        behind = np.cumsum(number)
        if len(behind) and behind[-1] > MOST_ROOM:
            return None
        made = np.empty((int(number.sum()), 3), np.int64)
        for first in range(0, len(place), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            of, at = ranges(low[part], number[part])
            out = made[behind[first] - number[first] :][: len(at)]
            out[:, 0] = place[part][of]
            out[:, 1] = np.maximum(room[at, 1], arrival[part][of])
            out[:, 2] = np.minimum(room[at, 2], leave[part][of])
        return made


def sweep_room(of: PoolLog, plan: Plan, *, counts: bool = False) -> SweptRoom:
    """Walk under a plan for the opportunities alone; with ``counts`` also for how starts agree."""
    spans, room = GrowingTable(5), GrowingTable(3)
    none = np.zeros((max(len(BOOKED), of.rule_count, of.log_resources + 2), 0), np.int64)
    floats, flags = none.astype(np.float64), np.zeros(0, np.uint8)
    agree = np.zeros(len(Starts._fields) if counts else 0, np.int64)
    made = kernels.Bookings(floats, none, none, flags, floats[0], spans, room, agree)
    sweep(of, plan, made)
    place = of.waiting["place"].to_numpy()
    columns = (place, np.asarray(of.log.alike)[place], np.asarray(of.log.arrival)[place])
    return SweptRoom(
        *(spans.taken(), room.taken()),
        np.stack((*columns, of.waiting["leave"].to_numpy())),
        np.array(of.log.starters),
        Starts(*agree.tolist()) if counts else None,
    )


def _of_members(spans: Ints, places: Ints, leave: Ints) -> Ints:
    """Return the stretches of blocks as those of their members, by attempt and time.

    Args:
        spans: as those of ``SweptRoom``, in the order in which they begin.
        places: of all that wait, ascending.
        leave: when each leaves the queue.
    """
    low = np.searchsorted(places, spans[:, 0])
    of, at = ranges(low, np.searchsorted(places, spans[:, 1], side="right") - low)
    made = np.column_stack((places[at], spans[of, 3], np.minimum(spans[of, 4], leave[at])))
    made = made[made[:, 1] < made[:, 2]]
    return made[np.argsort(made[:, 0], kind="stable")]


def _joined(spans: Ints) -> Ints:
    """Return stretches of attempts, those that follow on each other as one."""
    follows = np.zeros(len(spans) + 1, np.bool_)
    follows[1:-1] = (spans[1:, 0] == spans[:-1, 0]) & (spans[1:, 1] == spans[:-1, 2])
    joined: Ints = spans[~follows[:-1]]
    joined[:, 2] = spans[~follows[1:], 2]
    return joined


def _without(spans: Ints, others: Ints) -> Ints:
    """Return stretches of attempts without the parts that are in others."""
    met = np.isin(spans[:, 0], others[:, 0])
    if not met.any():
        return spans
    edges = np.concatenate([some[:, (0, k)] for some in (spans[met], others) for k in (1, 2)])
    change = np.repeat([1, -1, -1, 1], 2 * [int(met.sum())] + 2 * [len(others)])
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    edges, level = edges[order], change[order].cumsum()
    last = (np.diff(edges, axis=0) == 0).all(axis=1)
    kept = np.flatnonzero((level[:-1] == 1) & ~last)
    left = np.column_stack((edges[kept], edges[kept + 1, 1]))
    made = np.concatenate((spans[~met], left))
    return made[np.argsort(made[:, 0], kind="stable")]
