"""Capacity in force: days on which use stays below the capacity although jobs wait.

A log does not record drained, failed or reserved nodes; the pool just never fills. A *ceiling* is
the greatest use in a run of whole days, if use came close to it repeatedly while a waiting attempt
would have fitted. It is in force from the last start before these days with more in use until the
first such start after them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from audit.model import Step
from audit.scenario.fit.evidence import LEAST_USERS
from audit.scenario.fit.levels import numbered
from audit.scenario.fit.observed import Observed
from audit.scenario.fit.occasions import DAY_S
from audit.scenario.workload import Ints

LEAST_DAYS: Final = 3
"""A shorter run may be chance."""
NEAR: Final = 0.03
"""Share of the capacity within which use is close to a ceiling, and a ceiling to the capacity."""
AT_CEILING: Final = 0.25
"""Least share of the attempts·s with free capacity that must pass while use is near the ceiling."""
LEAST_WITHHELD: Final = 20
"""Least number of attempts that were left waiting though they would have fitted."""
LEVELS: Final = 64
"""Number of levels that are tried."""


class Ceiling(NamedTuple):
    """A period in which no start brought use above ``most``.

    All attempts that would have fitted above it were left waiting (SPEC §11).
    """

    since: int  # epoch s
    until: int
    most: int
    explained: int
    """Seconds during which attempts would have fitted, but not under the ceiling."""
    withheld: int = 0
    """The number of these attempts."""


def ceilings(observed: Observed) -> list[Ceiling]:
    """Return the periods with less in force than the pool has, in order; none overlap."""
    work, spans = observed.work, observed.spans
    if len(spans.job) == 0 or len(work.capacity) != 1 or len(work.step_time):
        return []
    capacity = int(work.capacity[0])
    day = (spans.since - observed.first) // DAY_S
    user = numbered(observed, "user")[spans.job]
    used = used_at(observed, spans.since)
    needed = used + work.request[spans.job]
    most = _most_of_days(observed, int(day.max()) + 1)
    found = []
    for first, last in _runs(most, capacity):
        top = int(most[first : last + 1].max())
        inside = (day >= first) & (day <= last)
        above = inside & (needed > top)
        near = spans.seconds[inside & (used >= top - NEAR * capacity)].sum()
        if near < AT_CEILING * spans.seconds[inside].sum():
            continue
        withheld = len(np.unique(spans.job[above]))
        if withheld >= LEAST_WITHHELD and len(np.unique(user[above])) >= LEAST_USERS:
            since, until = _lasting(observed, first, last, top)
            found.append(Ceiling(since, until, top, int(spans.seconds[above].sum()), withheld))
    chosen: list[Ceiling] = []
    for one in sorted(found, key=lambda one: (-one.explained, one.since, one.until)):
        if all(one.until <= other.since or other.until <= one.since for other in chosen):
            chosen.append(one)
    return sorted(chosen)


def _lasting(observed: Observed, first: int, last: int, top: int) -> tuple[int, int]:
    """Return the period around days in which no start brought use above ``top``.

    If no start ever did before them, or after them, it begins, or ends, with these days.
    """
    since, until = observed.first + first * DAY_S, observed.first + (last + 1) * DAY_S
    starts = np.unique(observed.work.start[observed.work.has_started])
    over = starts[used_at(observed, starts) > top]
    before, after = over[over < since], over[over >= until]
    return (
        int(before[-1]) + 1 if len(before) else since,
        int(after[0]) if len(after) else until,
    )


def steps(found: list[Ceiling], resource: str, capacity: int) -> tuple[Step, ...]:
    """Return the ceilings as steps of the capacity, which are not announced."""
    made = []
    for number, one in enumerate(found):
        made.append(Step(one.since, ((resource, one.most),)))
        if number + 1 == len(found) or found[number + 1].since > one.until:
            made.append(Step(one.until, ((resource, capacity),)))
    return tuple(made)


def used_at(observed: Observed, times: Ints) -> Ints:
    """Return the use at each instant, after all events at it."""
    at, used = observed.once("in use", None, lambda: in_use(observed, observed.size))
    place = np.searchsorted(at, times, side="right") - 1
    amounts: Ints = np.where(place >= 0, used[np.maximum(place, 0)], 0)
    return amounts


def in_use(observed: Observed, amount: Ints) -> tuple[Ints, Ints]:
    """Return the instants at which use changes, and the use from then on.

    ``amount``: the use of each attempt, [n].
    """
    work = observed.work
    ran = np.flatnonzero(work.has_started)
    times = np.concatenate((work.start[ran], np.maximum(work.end[ran], work.start[ran])))
    at, place = np.unique(times, return_inverse=True)
    change = np.zeros(len(at), np.int64)
    np.add.at(change, place, np.concatenate((amount[ran], -amount[ran])))
    return at, np.cumsum(change)


def _most_of_days(observed: Observed, days: int) -> Ints:
    """Return the greatest use on each day since the first arrival."""
    at, used = observed.once("in use", None, lambda: in_use(observed, observed.size))
    most = np.zeros(days, np.int64)
    for number in range(days):
        since = observed.first + number * DAY_S
        low, high = np.searchsorted(at, [since, since + DAY_S])
        most[number] = used[max(int(low) - 1, 0) : max(int(high), 1)].max(initial=0)
    return most


def _runs(most: Ints, capacity: int) -> list[tuple[int, int]]:
    """Return the runs of days, first and last, that stay below a level below the capacity."""
    below = np.unique(most[most < (1 - NEAR) * capacity])
    found = set()
    for level in below[:: max(len(below) // LEVELS, 1)]:
        low = np.concatenate(([0], (most <= level).astype(np.int64), [0]))
        found |= {
            (first, behind - 1)
            for first, behind in np.flatnonzero(np.diff(low)).reshape(-1, 2).tolist()
            if behind - first >= LEAST_DAYS
        }
    return sorted(found)
