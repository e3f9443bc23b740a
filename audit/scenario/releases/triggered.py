"""Own-triggered starts: a user's jobs start when others of its jobs end, though they had room.

They show that something holds the user's jobs, and only ever excuse.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Bools, Floats, Ints, ShortInts
from audit.scenario.releases.queue import SHIFTS_S, UNKNOWN, UserJobs
from audit.scenario.workload import NEVER

BEFORE_S: Final = 120
"""Time before a start in which an own end triggers it, and before which there must be room."""
WAITED_S: Final = 600
LEAST_JOBS: Final = 20
LEAST_DAYS: Final = 3
LEAST_SHARE: Final = 0.5
TIMES_SHIFTED: Final = 2.5
TIMES_EXPECTED: Final = 2
TIMES_ODDS: Final = 4
"""Factor of the odds above the expected ones, which counts where twice the share is nearly 1."""
LEAST_MOST: Final = 0.6
"""Share of the jobs from which most of them start after own ends."""


class OwnTriggered(NamedTuple):
    """A user whose jobs start after its own ends."""

    user: str
    jobs: int  # that had room before their start
    share: float  # of these, how many start after an own end
    shifted: float  # the same with own ends at other times
    expected: float  # the same if ends were those of running jobs at random
    triggered: Ints  # numbers of jobs

    @property
    def accepted(self) -> bool:
        """Whether own ends trigger the starts."""
        share, expected = self.share, self.expected
        odds = share * (1 - expected) > TIMES_ODDS * expected * (1 - share)
        more = share >= TIMES_EXPECTED * expected or odds
        return share >= max(LEAST_SHARE, TIMES_SHIFTED * self.shifted) and more

    @property
    def most(self) -> bool:
        """Whether most jobs start after own ends, whatever would be expected."""
        return self.share >= max(LEAST_MOST, TIMES_SHIFTED * self.shifted)


def find_triggered(jobs: UserJobs) -> list[OwnTriggered]:
    """Return the users with ``LEAST_JOBS`` that had room, on ``LEAST_DAYS`` local days."""
    mine = waiters(jobs, WAITED_S)
    mine = mine[jobs.user[mine] != UNKNOWN]
    chance = _expected(jobs, mine)
    found = []
    for one in np.unique(jobs.user[mine]).tolist():
        own = mine[jobs.user[mine] == one]
        if len(own) < LEAST_JOBS or len(np.unique(jobs.days(jobs.start[own]))) < LEAST_DAYS:
            continue
        ends = _ends(jobs, one)
        hit = _after_others(jobs, own, ends)
        shifted = [float(_after_others(jobs, own, ends, by).mean()) for by in SHIFTS_S]
        found.append(
            OwnTriggered(
                jobs.names[one - 1],
                len(own),
                float(hit.mean()),
                sum(shifted) / len(shifted),
                float(chance[jobs.user[mine] == one].mean()),
                own[hit],
            )
        )
    return found


def triggered_jobs(jobs: UserJobs, users: Collection[str]) -> Ints:
    """Return the jobs of these users that had room before they started after an own end."""
    mine = waiters(jobs, WAITED_S)
    found = [np.zeros(0, np.int64)]
    for number, name in enumerate(jobs.names, 1):
        if name in users:
            own = mine[jobs.user[mine] == number]
            found.append(own[_after_others(jobs, own, _ends(jobs, number))])
    return np.concatenate(found)


def waiters(jobs: UserJobs, waited_s: int) -> Ints:
    """Return the jobs that waited for longer, and had room ``BEFORE_S`` before their start."""
    late = np.flatnonzero((jobs.start != NEVER) & (jobs.wait > waited_s))
    return late[jobs.has_room(late, jobs.start[late] - BEFORE_S)]


def _ends(jobs: UserJobs, user: int) -> Ints:
    ends = jobs.end[jobs.of_user(user)]
    return np.sort(ends[ends != NEVER])


def _after_others(jobs: UserJobs, own: Ints, ends: Ints, shift: int = 0) -> Bools:
    """Return which jobs start after an end of another; all ends are moved by ``shift``."""
    start, end = jobs.start[own], jobs.end[own] + shift
    itself = (start - BEFORE_S <= end) & (end <= start)
    return _number(start, ends + shift) > itself


def _number(start: Ints, ends: Ints) -> Ints:
    """Return how many of these ends, ascending, lie within ``BEFORE_S`` before each start."""
    return np.searchsorted(ends, start, "right") - np.searchsorted(ends, start - BEFORE_S)


def _expected(jobs: UserJobs, mine: Ints) -> Floats:
    """Return the probability that one of the pool's ends before each start is an own one."""
    start, before = jobs.start[mine], jobs.start[mine] - BEFORE_S
    of_all = _running(jobs, np.arange(len(jobs.start)), before)
    own = np.zeros(len(mine), np.int64)
    for one in np.unique(jobs.user[mine]).tolist():
        theirs = jobs.user[mine] == one
        own[theirs] = _running(jobs, jobs.of_user(one), before[theirs])
    number = _number(start, np.sort(jobs.end[jobs.end != NEVER]))
    return 1 - (1 - own / np.maximum(of_all, 1)) ** number


def _running(jobs: UserJobs, which: Ints | ShortInts, at: Ints) -> Ints:
    """Return how many of these jobs run just before each instant."""
    ran = which[(jobs.start[which] != NEVER) & (jobs.end[which] > jobs.start[which])]
    starts, ends = np.sort(jobs.start[ran]), np.sort(jobs.end[ran])
    return np.searchsorted(starts, at) - np.searchsorted(ends, at)
