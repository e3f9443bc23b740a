"""Held attempts in the log: by a chain, by a limit of their user, or in another way.

These are evidence and no records: a chain may be a dependency or a script, and a limit of one user
may be a throttle or a dependency.

Source: SPEC §11, *Plateaus*, *Chains, releases, begin times*.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from audit import periods
from audit.array_types import Ints
from audit.metrics.attempts.population import only
from audit.metrics.attempts.reasons import NO_HOLDS
from audit.metrics.waits.queue import Queued, queued, ranges, validity
from audit.model import Limit, Pool
from audit.registry.reasons import DEPENDENCY_INFERRED, OWN_LIMIT_INFERRED
from audit.scenario.releases.begin import jobs_at
from audit.scenario.releases.chains import chain_holds
from audit.scenario.releases.queue import user_jobs
from audit.scenario.releases.triggered import triggered_jobs
from audit.scenario.workload import NEVER


class Holding(NamedTuple):
    """The evidence of a log that some users' jobs were held."""

    own: tuple[Limit, ...] = ()  # limits of single users, which are no rules of the site
    chained: tuple[str, ...] = ()  # users whose jobs start when their previous one ends
    released: tuple[str, ...] = ()  # users with a joint release
    triggered: tuple[str, ...] = ()  # users with own-triggered starts
    by_own_ends: tuple[str, ...] = ()  # users with most starts after own ends
    begin_times: tuple[tuple[str, int], ...] = ()  # users with a begin time, s since local midnight


NOT_HOLDING = Holding()


def inferred_holds(described: pl.DataFrame, pool: Pool, now: int, holding: Holding) -> pl.DataFrame:
    """Return when attempts were held, columns of ``reasons.NO_HOLDS``.

    The times of an attempt may overlap: those of a chain, and of several limits.

    Args:
        described: columns of ``model.DESCRIBED``, of one pool.
    """
    found = [NO_HOLDS]
    if holding.chained:
        jobs = user_jobs(described, pool, now)
        held, until = chain_holds(jobs, holding.chained)
        rows = {"row": jobs.row[held], "begin": jobs.arrival[held], "end": until}
        found.append(pl.DataFrame(rows).with_columns(kind=pl.lit(DEPENDENCY_INFERRED)))
    for limit in holding.own:
        rows = _under(limit, described, pool, now)
        found.append(pl.DataFrame(rows).with_columns(kind=pl.lit(OWN_LIMIT_INFERRED)))
    return pl.concat(found).filter(pl.col("begin") < pl.col("end"))


def silent_starts(described: pl.DataFrame, pool: Pool, now: int, holding: Holding) -> pl.Series:
    """Return whether each attempt starts after an own end, or at a begin time, of such a user.

    Args:
        described: columns of ``model.DESCRIBED``, of one pool.
    """
    silent = np.zeros(described.height, np.bool_)
    if holding.triggered or holding.begin_times:
        jobs = user_jobs(described, pool, now)
        silent[jobs.row[triggered_jobs(jobs, holding.triggered)]] = True
        silent[jobs.row[jobs_at(jobs, dict(holding.begin_times))]] = True
    return pl.Series(silent)


def _under(limit: Limit, described: pl.DataFrame, pool: Pool, now: int) -> dict[str, Ints]:
    """Return when a limit of one user forbids that user's waiting jobs."""
    assert limit.user is not None
    mine = only(described.with_row_index("row"), pl.col("user").is_in(limit.user))
    queue = queued(mine, now, pl.col("size") > 0)
    occupancy = (pl.col("end") - pl.col("start_time")).fill_null(1)
    asked = queue.rows.select(pl.col("walltime_s").fill_null(occupancy).clip(1)).to_series()
    walltime = asked.to_numpy()
    adds = np.ones(queue.rows.height, np.int64)
    if limit.resource is not None:
        adds = queue.column(limit.resource)
    level = _level(limit, queue, adds, walltime)
    if limit.remaining:
        adds = adds * walltime
    waits = queue.rows["waits"].to_numpy() & (adds > 0) & (adds <= limit.most)
    arrival, leave = queue.column("arrival_time"), queue.column("leave")
    row = queue.rows["row"].to_numpy().astype(np.int64)
    since, until = validity(limit, periods.zone(pool.zone))
    found = list[tuple[Ints, Ints, Ints]]()
    for amount in np.unique(adds[waits]).tolist():
        jobs = np.flatnonzero(waits & (adds == amount))
        begin, end = level.above(limit.most - amount)
        low = np.searchsorted(end, arrival[jobs], side="right")
        count = np.maximum(np.searchsorted(begin, leave[jobs]) - low, 0)
        of, place = ranges(low, count)
        job = jobs[of]
        found.append(
            (
                row[job],
                np.maximum(np.maximum(begin[place], arrival[job]), since),
                np.minimum(np.minimum(end[place], leave[job]), until),
            )
        )
    none = np.zeros(0, np.int64)
    columns = zip(*(found or [(none, none, none)]), strict=True)
    return dict(zip(("row", "begin", "end"), map(np.concatenate, columns), strict=True))


class _Level(NamedTuple):
    """The level of a user: value + slope × (t − at) from each instant to the next one."""

    at: Ints  # ascending, epoch s
    value: Ints
    slope: Ints  # ≤ 0

    def above(self, most: int) -> tuple[Ints, Ints]:
        """Return the maximal stretches in which it is above ``most``: begins and ends."""
        over = np.maximum(self.value - most, 0)
        lasts = np.where(self.slope < 0, -(-over // np.maximum(-self.slope, 1)), NEVER)
        following = np.append(self.at[1:], NEVER)
        places = np.flatnonzero(over > 0)
        begin = self.at[places]
        end = begin + np.minimum(lasts[places], following[places] - begin)
        anew = np.ones(len(begin), np.bool_)  # where the one before has ended
        anew[1:] = begin[1:] > end[:-1]
        return begin[anew], end[np.roll(anew, -1)]


def _level(limit: Limit, queue: Queued, adds: Ints, walltime: Ints) -> _Level:
    start, end = queue.column("start_time"), queue.column("end")
    ran = np.flatnonzero(queue.rows["start_time"].is_not_null().to_numpy() & (end > start))
    start, end, adds = start[ran], end[ran], adds[ran]
    planned = start + walltime[ran]
    if limit.remaining:  # of each job n × (planned end − t), until the first of both ends
        last = np.minimum(end, planned)
        times = np.concatenate((start, last))
        change = np.concatenate((adds * planned, -adds * planned))
        turn = np.concatenate((-adds, adds))
    else:
        times, change = np.concatenate((start, end)), np.concatenate((adds, -adds))
        turn = np.zeros_like(change)
    at, place = np.unique(times, return_inverse=True)
    value, slope = np.zeros((2, len(at)), np.int64)
    np.add.at(value, place, change)
    np.add.at(slope, place, turn)
    slope = np.cumsum(slope)
    return _Level(at, np.cumsum(value) + slope * at, slope)
