"""Joint releases: jobs of one user that waited for days and then start together.

They were held, or waited for a node; nothing in the log says which.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Bools, Ints
from audit.metrics.closed_hours import DAY_S
from audit.scenario.releases.queue import UNKNOWN, UserJobs
from audit.scenario.workload import NEVER

STEP_S: Final = 120
"""Longest time between the starts of two neighbours."""
LEAST_JOBS: Final = 5
NEAR_S: Final = 600
"""Time around the starts in which other users' jobs count that had waited for as long."""
LEAST_FREE: Final = 0.5
MOST_OTHERS: Final = 0.25


class JointRelease(NamedTuple):
    """Jobs of a user that start together."""

    user: str
    jobs: Ints  # numbers of jobs, by start
    since: int  # the first start, epoch s
    until: int  # the last one


def find_releases(jobs: UserJobs) -> list[JointRelease]:
    """Return the joint releases of all users, by user and time."""
    late = np.flatnonzero((jobs.start != NEVER) & (jobs.wait > DAY_S))
    mine = late[jobs.user[late] != UNKNOWN]
    mine = mine[np.lexsort((mine, jobs.start[mine], jobs.user[mine]))]
    apart = (np.diff(jobs.user[mine]) != 0) | (np.diff(jobs.start[mine]) > STEP_S)
    groups = [one for one in np.split(mine, np.flatnonzero(apart) + 1) if len(one) >= LEAST_JOBS]
    return [
        JointRelease(
            jobs.names[int(jobs.user[one[0]]) - 1],
            one,
            int(jobs.start[one[0]]),
            int(jobs.start[one[-1]]),
        )
        for one in groups
        if _had_room(jobs, one) and not _own_started(jobs, one) and not _others(jobs, one)
    ]


def _had_room(jobs: UserJobs, group: Ints) -> bool:
    """Return whether enough was free in the day before, and just before the first start.

    Jobs that may use different nodes are looked at apart.
    """
    begin, sets = int(jobs.start[group[0]]), jobs.room.set_of[group]
    for number in np.unique(sets).tolist():
        sizes, free = np.sort(jobs.size[group[sets == number]]), jobs.room.free(number)
        if free.before(np.array([begin]))[0] < LEAST_FREE * sizes.sum():
            return False
        middle = int(sizes[(len(sizes) - 1) // 2])
        if free.seconds_with(middle, begin - DAY_S, begin) < DAY_S // 2:
            return False
    return True


def _own_started(jobs: UserJobs, group: Ints) -> bool:
    """Return whether a job of the user, submitted by then, started in the day before."""
    begin = jobs.start[group[0]]
    own = (jobs.user == jobs.user[group[0]]) & (jobs.arrival <= begin - DAY_S)
    started: Bools = own & (jobs.start >= begin - DAY_S) & (jobs.start < begin)
    return bool(started.any())


def _others(jobs: UserJobs, group: Ints) -> bool:
    begin, end = jobs.start[group[0]], jobs.start[group[-1]]
    waited = (jobs.user != jobs.user[group[0]]) & (jobs.arrival < begin - DAY_S)
    waited &= jobs.leave >= begin - NEAR_S
    near = waited & (jobs.start >= begin - NEAR_S) & (jobs.start <= end + NEAR_S)
    return int(near.sum()) > MOST_OTHERS * int(waited.sum())
