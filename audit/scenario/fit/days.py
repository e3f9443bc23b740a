"""Capacity in force: days on which use never exceeded a level although attempts waited.

Nodes that are drained, down or kept for others are not in the log; the pool is just never full. A
*ceiling* is a run of whole days on which waiting attempts would have fitted, and the amount in use
often came close to its maximum but never exceeded it. It lasts from the last start before these
days with more in use until the first such start after them. It is read from these days, like a
site's record of drained nodes, and is judged as a whole: whether it explains such days in a part of
the log that was not examined.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from audit.model import Step
from audit.scenario.fit.evidence import LEAST_USERS
from audit.scenario.fit.levels import numbered
from audit.scenario.fit.observed import Observed
from audit.scenario.workload import Ints

DAY_S: Final = 86_400
LEAST_DAYS: Final = 3
"""A shorter run may be chance."""
NEAR: Final = 0.03
"""Of the capacity: so near its most a run is full, and so near the capacity it has no ceiling."""
AT_CEILING: Final = 0.25
"""Least share of a run's free capacity, in attempts·s, that passes at the ceiling."""
LEAST_WITHHELD: Final = 20
"""Attempts that must have been left waiting though they would have fitted into the difference."""
LEVELS: Final = 64
"""So many levels are tried."""


class Ceiling(NamedTuple):
    """A period in which no attempt started that would have raised the use above ``most``.

    So all of those that would have fitted into the difference were left waiting (SPEC §11).
    """

    since: int  # epoch s
    until: int
    most: int
    explained: int
    """Seconds of room of those who would not fit under it."""
    withheld: int = 0
    """Attempts that would have fitted into the difference, and were left waiting."""


def ceilings(observed: Observed) -> list[Ceiling]:
    """The runs of days with less in force than the pool has, in order; none overlap."""
    work, spans = observed.work, observed.spans
    if len(spans.job) == 0 or len(work.capacity) != 1 or len(work.step_time):
        return []
    capacity = int(work.capacity[0])
    day = (spans.since - observed.first) // DAY_S
    most = _most_of_days(observed, int(day.max()) + 1)
    user = numbered(observed, "user")[spans.job]
    used = used_at(observed, spans.since)
    room = _Room(spans.job, user, day, used, work.request[spans.job], spans.seconds)
    found = [
        Ceiling(*_lasting(observed, first, last, top), top, explained, withheld)
        for first, last in _runs(most, capacity)
        for top in [int(most[first : last + 1].max())]
        for explained, withheld in [_explained(room, first, last, top, NEAR * capacity)]
        if withheld >= LEAST_WITHHELD
    ]
    chosen: list[Ceiling] = []
    for one in sorted(found, key=lambda one: (-one.explained, one.since, one.until)):
        if all(one.until <= other.since or other.until <= one.since for other in chosen):
            chosen.append(one)
    return sorted(chosen)


class _Room(NamedTuple):
    """The spans of room: whose, on which day, what was in use and asked, and the seconds."""

    job: Ints
    user: Ints
    day: Ints
    used: Ints
    asked: Ints
    seconds: Ints


def _lasting(observed: Observed, first: int, last: int, top: int) -> tuple[int, int]:
    """Return the period around some days in which no start raised the use above ``top``.

    Without such a start before or after, it begins with the first day, or ends with the last.
    """
    since, until = observed.first + first * DAY_S, observed.first + (last + 1) * DAY_S
    starts = np.unique(observed.work.start[observed.work.has_started])
    over = starts[used_at(observed, starts) > top]
    place = int(np.searchsorted(over, since))
    before, after = over[:place], over[np.searchsorted(over, until) :]
    return (
        int(before[-1]) + 1 if len(before) else since,
        int(after[0]) if len(after) else until,
    )


def _explained(room: _Room, first: int, last: int, top: int, near: float) -> tuple[int, int]:
    """Of those who do not fit under ``top`` from day ``first`` to ``last``: seconds and number.

    0 where what was in use did not stay close to it, or where they are of too few users.
    """
    inside = (room.day >= first) & (room.day <= last)
    full = inside & (room.used >= top - near)
    if room.seconds[full].sum() < AT_CEILING * room.seconds[inside].sum():
        return 0, 0
    above = inside & (room.used + room.asked > top)
    if len(np.unique(room.user[above])) < LEAST_USERS:
        return 0, 0
    return int(room.seconds[above].sum()), len(np.unique(room.job[above]))


def steps(found: list[Ceiling], resource: str, capacity: int) -> tuple[Step, ...]:
    """Return the ceilings as steps of the capacity, unknown in advance."""
    made = []
    for number, one in enumerate(found):
        made.append(Step(one.since, ((resource, one.most),)))
        if number + 1 == len(found) or found[number + 1].since > one.until:
            made.append(Step(one.until, ((resource, capacity),)))
    return tuple(made)


def used_at(observed: Observed, times: Ints) -> Ints:
    """Return the amount in use at each instant, after all events at it."""
    at, used = observed.once("in use", None, lambda: in_use(observed))
    place = np.searchsorted(at, times, side="right") - 1
    amounts: Ints = np.where(place >= 0, used[np.maximum(place, 0)], 0)
    return amounts


def in_use(observed: Observed, amount: Ints | None = None) -> tuple[Ints, Ints]:
    """The instants at which use changes, and what is in use from then on.

    ``amount``: what each attempt uses, [n]; None: of the counted resource.
    """
    work = observed.work
    ran = np.flatnonzero(work.has_started)
    if amount is None:
        amount = observed.size
    size = amount[ran]
    times = np.concatenate((work.start[ran], np.maximum(work.end[ran], work.start[ran])))
    at, place = np.unique(times, return_inverse=True)
    change = np.zeros(len(at), np.int64)
    np.add.at(change, place, np.concatenate((size, -size)))
    return at, np.cumsum(change)


def peak(observed: Observed, amount: Ints) -> int:
    """The most in use at one time, of what each attempt uses, [n]."""
    return int(in_use(observed, amount)[1].max(initial=0))


def _most_of_days(observed: Observed, days: int) -> Ints:
    """The most in use on each day since the first arrival."""
    at, used = observed.once("in use", None, lambda: in_use(observed))
    most = np.zeros(days, np.int64)
    for number in range(days):
        since = observed.first + number * DAY_S
        low, high = np.searchsorted(at, [since, since + DAY_S])
        most[number] = used[max(int(low) - 1, 0) : max(int(high), 1)].max(initial=0)
    return most


def _runs(most: Ints, capacity: int) -> list[tuple[int, int]]:
    """Runs of days, first and last, whose most stays below some level below the capacity."""
    below = np.unique(most[most < (1 - NEAR) * capacity])
    found = set()
    for level in below[:: max(len(below) // LEVELS, 1)]:
        low = np.concatenate(([0], (most <= level).astype(np.int64), [0]))
        edges = np.flatnonzero(np.diff(low))
        found |= {
            (int(first), int(behind) - 1)
            for first, behind in edges.reshape(-1, 2)
            if behind - first >= LEAST_DAYS
        }
    return sorted(found)
