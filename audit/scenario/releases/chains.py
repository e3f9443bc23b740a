"""Chains: jobs that start when the user's job with the next lower number ends.

A dependency makes chains, or a script that holds the next job until one ends.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.scenario.releases.queue import SHIFTS_S, UNKNOWN, UserJobs
from audit.scenario.workload import NEVER

QUEUED_S: Final = 60
"""Shortest wait, and shortest time in the queue before the previous job ends."""
EARLY_S: Final = -5
LATE_S: Final = 120
LEAST_JOBS: Final = 10
LEAST_DAYS: Final = 3
LEAST_SHARE: Final = 0.5
TIMES_SHIFTED: Final = 3


class JobChain(NamedTuple):
    """A user whose jobs start when the previous one ends."""

    user: str
    jobs: int  # that could have started before the previous job ended
    share: float  # of these, how many start when it ends
    shifted: float  # the same with ends at other times
    held: Ints  # those that do, numbers of jobs
    until: Ints  # when the previous job of each ended, epoch s

    @property
    def accepted(self) -> bool:
        """Whether the jobs are held."""
        return self.share >= LEAST_SHARE and self.share >= TIMES_SHIFTED * self.shifted


def find_chains(jobs: UserJobs, of: Collection[str] | None = None) -> list[JobChain]:
    """Return the users with ``LEAST_JOBS`` that could have started before the previous one ended.

    Of these, some start on ``LEAST_DAYS`` local days when it ends.

    Args:
        of: the users that are examined, whose jobs must also have fitted on single nodes; None: all
            users, by sums over nodes.
    """
    mine, previous, nodes = *_pairs(jobs, of), of is not None
    end = jobs.end[previous]
    could, hit = _starts_at(jobs, mine, end, nodes=nodes)
    shifted = [_starts_at(jobs, mine, end + shift, nodes=nodes) for shift in SHIFTS_S]
    user = jobs.user[mine]
    found = []
    for one in np.unique(user[could]).tolist():
        own = user == one
        count = int((could & own).sum())
        held = np.flatnonzero(hit & own)
        days = np.unique(jobs.days(jobs.start[mine[held]]))
        if count < LEAST_JOBS or len(days) < LEAST_DAYS:
            continue
        others = [_share(after[own], before[own]) for before, after in shifted]
        found.append(
            JobChain(
                jobs.names[one - 1],
                count,
                len(held) / count,
                sum(others) / len(others),
                mine[held],
                end[held],
            )
        )
    return found


def accepted_chains(jobs: UserJobs) -> tuple[JobChain, ...]:
    """Return the chains of all users whose jobs are held.

    On a machine with scattered free cores, jobs that need a node start when one of their user ends.
    """
    found = tuple(one for one in find_chains(jobs) if one.accepted)
    if jobs.room.nodes is None:
        return found
    users = {one.user for one in found}
    return tuple(one for one in find_chains(jobs, users) if one.accepted)


def released(described: pl.DataFrame, jobs: UserJobs, chains: Sequence[JobChain]) -> pl.DataFrame:
    """Return attempts of which those that chains hold arrive when the previous one ends.

    Args:
        described: columns of ``model.DESCRIBED``, of which ``jobs`` were made.
    """
    arrival = described["arrival_time"].clone()
    for one in chains:
        arrival.scatter(jobs.row[one.held], np.minimum(one.until, jobs.start[one.held]))
    return described.with_columns(arrival)


def chain_holds(jobs: UserJobs, users: Collection[str]) -> tuple[Ints, Ints]:
    """Return the jobs that a chain of these users holds, and until when, epoch s."""
    mine, previous = _pairs(jobs, users)
    end = jobs.end[previous]
    _, hit = _starts_at(jobs, mine, end, nodes=True)
    return mine[hit], end[hit]


class OwnEnd(NamedTuple):
    """The end of a user's job after which another job of the user starts."""

    job_id: str
    after_s: int  # from its end to the start; below 0: it ended later


def own_end(own: pl.DataFrame, job_id: str, start: int) -> OwnEnd | None:
    """Return the last end of a user's other jobs just before a start; None if no job ended.

    Args:
        own: jobs of the user: job_id, start_time, end_time.
        job_id: the job that starts.
    """
    after_s = start - pl.col("end_time")
    ended = own.filter(
        pl.col("job_id") != job_id,
        pl.col("start_time") <= start,
        after_s.is_between(EARLY_S, LATE_S),
    ).sort("end_time", "job_id")
    return None if ended.is_empty() else OwnEnd(*ended.select("job_id", after_s).row(-1))


def _pairs(jobs: UserJobs, users: Collection[str] | None) -> tuple[Ints, Ints]:
    """Return the started jobs and the previous ones of their users, which started no later.

    Args:
        users: whose jobs; None: all.
    """
    order = jobs.by_number
    previous, mine = order[:-1], order[1:]
    same = (jobs.user[previous] == jobs.user[mine]) & (jobs.user[mine] != UNKNOWN)
    started = (jobs.start[previous] <= jobs.start[mine]) & (jobs.start[mine] != NEVER)
    if users is not None:
        chosen = [k for k, name in enumerate(jobs.names, 1) if name in users]
        started &= np.isin(jobs.user[mine], chosen)
    return mine[same & started], previous[same & started]


def _starts_at(jobs: UserJobs, mine: Ints, end: Ints, *, nodes: bool) -> tuple[Bools, Bools]:
    """Return the jobs that could have started before an end, and those that start at it.

    Args:
        nodes: whether single nodes must have had enough, instead of all together.
    """
    queued = jobs.arrival[mine] < end - QUEUED_S
    could = queued & (jobs.wait[mine] > QUEUED_S) & jobs.has_room(mine, end)
    could &= ~jobs.limits.forbid(mine, end)
    if nodes:
        could[could] = jobs.room.fits(mine[could], end[could])
    later = jobs.start[mine] - end
    return could, could & (later >= EARLY_S) & (later <= LATE_S)


def _share(hit: Bools, could: Bools) -> float:
    return float(hit.sum() / max(could.sum(), 1))
