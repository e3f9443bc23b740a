"""Begin times: a user's jobs start at the same time of day, though they had room before.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Ints
from audit.metrics.closed_hours import DAY_S
from audit.scenario.releases.queue import UNKNOWN, UserJobs
from audit.scenario.releases.triggered import waiters

SLOT_S: Final = 120
SLOTS: Final = DAY_S // SLOT_S
WAITED_S: Final = 3_600
LEAST_JOBS: Final = 8
LEAST_SHARE: Final = 0.3
LEAST_DAYS: Final = 5
MOST_OTHERS: Final = 0.02


class BeginTime(NamedTuple):
    """A user whose jobs start at one time of the day."""

    user: str
    jobs: int  # that had room before their start
    at_s: int  # the begin of the two slots, s since local midnight
    held: Ints  # the jobs that start in them


def find_begin_times(jobs: UserJobs) -> list[BeginTime]:
    """Return the users whose jobs have a begin time; of several the one with most jobs."""
    mine = waiters(jobs, WAITED_S)
    slot = jobs.seconds_of_day(jobs.start[mine]) // SLOT_S
    day = jobs.days(jobs.start[mine])
    user = jobs.user[mine]
    of_all = _in_pairs(slot)
    found = []
    for one in np.unique(user[user != UNKNOWN]).tolist():
        own = user == one
        count = int(own.sum())
        if count < LEAST_JOBS:
            continue
        pairs = _in_pairs(slot[own])
        others = of_all - pairs
        begin = int(pairs.argmax())
        inside = own & ((slot == begin) | (slot == (begin + 1) % SLOTS))
        days = len(np.unique(day[inside]))
        if (
            pairs[begin] >= LEAST_SHARE * count
            and days >= max(LEAST_DAYS, LEAST_SHARE * len(np.unique(day[own])))
            and others[begin] <= MOST_OTHERS * (len(mine) - count)
        ):
            found.append(BeginTime(jobs.names[one - 1], count, begin * SLOT_S, mine[inside]))
    return found


def jobs_at(jobs: UserJobs, begin_s: Mapping[str, int]) -> Ints:
    """Return the jobs that had room before they started at a begin time of their user.

    Args:
        begin_s: by user; as ``BeginTime.at_s``.
    """
    mine = waiters(jobs, WAITED_S)
    of_user = np.array([-1, *(begin_s.get(name, -1) for name in jobs.names)])
    begin = of_user[jobs.user[mine]]
    late = (jobs.seconds_of_day(jobs.start[mine]) - begin) % DAY_S
    held: Ints = mine[(begin >= 0) & (late < 2 * SLOT_S)]
    return held


def _in_pairs(slot: Ints) -> Ints:
    """Return the number of starts in each slot and the next one of the day, [SLOTS]."""
    counts = np.bincount(slot, minlength=SLOTS)
    pairs: Ints = counts + np.roll(counts, -1)
    return pairs
