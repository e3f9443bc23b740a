"""Begin times: a user's jobs start at the same time of day, though they had room before.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Bools, Ints, ShortInts
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
"""Of the jobs of other users without the same begin time."""
LEAST_OTHERS: Final = 0.5
"""Share of other users' jobs that these have."""


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
    found = []
    for one in np.unique(user[user != UNKNOWN]).tolist():
        own = user == one
        count = int(own.sum())
        if count < LEAST_JOBS:
            continue
        starts = np.bincount(slot[own], minlength=SLOTS)
        pairs = starts + np.roll(starts, -1)  # in each slot and the next one
        begin = int(pairs.argmax())
        at_begin = (slot == begin) | (slot == (begin + 1) % SLOTS)
        inside = own & at_begin
        days = len(np.unique(day[inside]))
        if (
            pairs[begin] >= LEAST_SHARE * count
            and days >= max(LEAST_DAYS, LEAST_SHARE * len(np.unique(day[own])))
            and _is_own_time(one, user, at_begin)
        ):
            found.append(BeginTime(jobs.names[one - 1], count, begin * SLOT_S, mine[inside]))
    return found


def _is_own_time(one: int, user: ShortInts, at_begin: Bools) -> bool:
    """Return whether few others' jobs start at the begin time of a user.

    Args:
        user: of each job.
        at_begin: whether each job starts at that time.
    """
    jobs = np.bincount(user[user != one])
    starts = np.bincount(user[at_begin & (user != one)], minlength=len(jobs))
    without = starts < LEAST_SHARE * jobs
    without[:1] = True  # unknown users
    count = int(jobs[without].sum())
    few = int(starts[without].sum()) <= MOST_OTHERS * count
    return few and count >= LEAST_OTHERS * int(jobs.sum())


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
