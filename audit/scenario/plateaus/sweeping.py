"""A sweep through a pool's queue under rules in force: stops, climbs, and jobs that never start.

Source: SPEC §11, *Plateaus*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.kernels.plateaus.judge import Traces
from audit.kernels.plateaus.model import Barriers, Supply
from audit.kernels.plateaus.stops import StopTables
from audit.kernels.plateaus.sweep import sweep
from audit.kernels.plateaus.unstartable import Marks
from audit.metrics.attempts.contention import amounts, capacity_steps, time_order
from audit.metrics.closed_hours import DAY_S, LocalClock
from audit.metrics.waits.queue import NO_STEPS, coded
from audit.model import Limit, Pool
from audit.scenario.limits import UNLIMITED, AttemptLimits, limits_of
from audit.scenario.plateaus.entities import Plateaued, combined, plateaued
from audit.scenario.workload import NEVER

Which = slice | Ints
Levels = NDArray[np.int32] | NDArray[np.int64]
EACH: Final = slice(None)


@dataclass(frozen=True)
class Climbs:
    """The starts of each entity's jobs, sorted by entity and time, c."""

    first: Ints  # [E + 1]
    job: NDArray[np.int32]  # [c]
    levels: Sequence[Levels]  # [measures][c]: after the start
    day_of: Ints  # [n], local: of the start of each job

    def level(self, measure: int, climb: Which = EACH) -> Ints:
        """Return the levels of some climbs."""
        return self.levels[measure][climb].astype(np.int64)

    def day(self, climb: Which = EACH) -> Ints:
        """Return the local days of some climbs."""
        return self.day_of[self.job[climb]]

    def of_first(self, entities: int) -> "Climbs":
        """Return the climbs of the first entities, in less memory."""
        kept = slice(0, self.first[entities])
        levels = [_narrow(of[kept]) for of in self.levels]
        return Climbs(self.first[: entities + 1], self.job[kept].copy(), levels, self.day_of)


@dataclass(frozen=True)
class Stops:
    """The stops of each entity, sorted by entity and time, s; in i intervals of constant levels.

    An interval ends with several stops, so its levels and its day are kept once.
    """

    first: Ints  # [E + 1]
    group: NDArray[np.int32]  # [s]: one with the stop's request
    interval: NDArray[np.int32]  # [s]
    levels: Sequence[Levels]  # [measures][i]
    days: NDArray[np.int32]  # [i], local
    user_stop: NDArray[np.int32]  # stops of accounts, … with users whose own groups were hungry,
    user: NDArray[np.int32]  # and these users

    def level(self, measure: int, stop: Which = EACH) -> Ints:
        """Return the levels of some stops."""
        return self.levels[measure][self.interval[stop]].astype(np.int64)

    def day(self, stop: Which = EACH) -> Ints:
        """Return the local days of some stops."""
        return self.days[self.interval[stop]].astype(np.int64)

    def of_first(self, entities: int) -> "Stops":
        """Return the stops of the first entities, in less memory."""
        kept = slice(0, self.first[entities])
        users = self.user_stop < self.first[entities]
        return replace(
            self,
            first=self.first[: entities + 1],
            group=self.group[kept].copy(),
            interval=self.interval[kept].copy(),
            user_stop=self.user_stop[users],
            user=self.user[users],
        )


def swept(
    jobs: Plateaued, pool: Pool, limits: Sequence[Limit], since: int, *, climbing: bool
) -> tuple[Stops, Climbs | None]:
    """Return the stops under the pool's rules and ``limits``; with ``climbing`` the climbs too.

    Args:
        since: the begin of the log, epoch s; before it no group is hungry.
    """
    queue, measures = jobs.queue, len(jobs.measures)
    known_from = int(queue.column("arrival_time").min(initial=since))
    first = np.zeros(len(jobs.members) + 1, np.int64)
    if climbing:
        theirs = jobs.entity[jobs.group[jobs.started]]
        first[1:] = np.bincount(theirs[theirs >= 0], minlength=len(jobs.members)).cumsum()
    level, job = np.zeros((measures, first[-1]), np.int64), np.zeros(first[-1], np.int64)
    made = StopTables(measures, level, job, first[:-1].copy() if climbing else first[:0])
    none = np.zeros(0, np.int64)
    unmarked = Marks(none, none, none, none, 0, len(jobs.resources))
    _sweep(jobs, pool, limits, since, made, unmarked)
    clock = LocalClock.of(pool.zone, known_from, _known_to(jobs, since))
    climbs = None
    if climbing:
        begun = clock.seconds(queue.column("start_time")) // DAY_S
        climbs = Climbs(first, job.astype(np.int32), list(level), begun)
    del job
    return _stops(jobs, made, clock), climbs


def unstartable(
    described: pl.DataFrame, pool: Pool, now: int, log_begin: int, own: Sequence[Limit] = ()
) -> pl.Series:
    """Return when each attempt was marked, epoch s; null: never. A row for each of ``described``.

    Jobs are marked that do not start although enough capacity is free whatever starts before them:
    the first job of each group of equal ones, once it could have started for 3,600 s in all even
    if every other user's startable job had its request; and those behind it, and those that join,
    until a job of the group starts.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are never marked.
        pool: with the rules in force.
        log_begin: the begin of the log, epoch s (SPEC §11, *T0*).
        own: limits of single users.

    Source: SPEC §11, *Unstartable*.
    """
    jobs = plateaued(described.with_row_index("attempt_row"), pool, now)
    found = jobs.queue.rows.select("attempt_row", at=pl.Series(_marked(jobs, pool, own, log_begin)))
    first = found.filter(pl.col("at") < NEVER).group_by("attempt_row").agg(pl.col("at").min())
    rows = pl.select(attempt_row=pl.int_range(described.height, dtype=pl.UInt32))
    at = rows.join(first, on="attempt_row", how="left", maintain_order="left")["at"]
    return at.alias("unstartable_from")


def _marked(jobs: Plateaued, pool: Pool, limits: Sequence[Limit], since: int) -> Ints:
    """Return when each job was marked, epoch s; NEVER."""
    alone = jobs.of_first(0)
    none = np.zeros(0, np.int64)
    made = StopTables(len(jobs.measures), none.reshape(len(jobs.measures), 0), none, none)
    user = coded(jobs.rows["user"])
    pairs, pair = combined(user[:, None], jobs.set_of[:, None])
    first = np.searchsorted(pairs[:, 0], np.arange(int(user.max(initial=0)) + 2))
    sets = np.ascontiguousarray(pairs[:, 1])
    marks = Marks(user, pair[:, 0], first, sets, len(jobs.group), len(jobs.resources))
    _sweep(alone, pool, limits, since, made, marks)
    return marks.made


def _sweep(
    jobs: Plateaued, pool: Pool, limits: Sequence[Limit], since: int, made: StopTables, marks: Marks
) -> None:
    steps, capacity = capacity_steps(pool, jobs.queue.reserved), amounts(pool)
    if pool.nodes:
        steps, capacity = NO_STEPS, jobs.places.by_set()
    rules = pool._replace(limits=(*pool.limits, *limits))
    sweep(
        jobs.jobs,
        jobs.alike,
        jobs.nodes,
        _barriers(jobs, rules, _known_to(jobs, since)),
        Supply(
            capacity=capacity.reshape(-1, len(jobs.resources)), step=steps.time, change=steps.change
        ),
        since,
        made,
        marks,
    )


def _known_to(jobs: Plateaued, since: int) -> int:
    times = (jobs.queue.column(name).max(initial=since) for name in ("leave", "end"))
    return int(max(times))


def _barriers(jobs: Plateaued, pool: Pool, known_to: int) -> Barriers:
    limits: AttemptLimits = limits_of(jobs.rows, pool, known_to)
    if not limits.some:
        limits = UNLIMITED._replace(first=np.zeros(len(jobs.rows) + 1, np.int64))
    return Barriers(
        first=limits.first,
        counter=limits.counter,
        amount=limits.amount,
        binding=limits.binding.astype(np.uint8),
        most=limits.most,
        remaining=limits.remaining.astype(np.uint8),
        edge_time=limits.edges.time,
        edge_counter=limits.edges.counter,
        edge_change=limits.edges.change,
    )


def _stops(jobs: Plateaued, made: StopTables, clock: LocalClock) -> Stops:
    intervals = made.intervals.taken()
    interval, cell = _halves(made.stops.taken())
    at, user = _halves(made.users.taken())
    entity = intervals[interval, 0]
    order = time_order(entity)
    first = np.searchsorted(entity[order], np.arange(len(jobs.members) + 1))
    del entity
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    user_stop = place[at]
    del place, at
    group = jobs.cells[0][:, 1].astype(np.int32)[cell[order]]
    interval = interval[order]
    del order, cell
    begin, end = intervals[:, 1], intervals[:, 2]
    day = (clock.seconds(begin + (end - begin) // 2) // DAY_S).astype(np.int32)
    levels = [_narrow(of_measure) for of_measure in intervals[:, 3:].T]
    return Stops(first, group, interval, levels, day, user_stop, user)


def _halves(rows: Ints) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the two numbers in each row of a table."""
    return (rows[:, 0] >> 32).astype(np.int32), rows[:, 0].astype(np.int32)


def _narrow(levels: Levels) -> Levels:
    """Return a copy of levels, in half the memory if they are small enough."""
    small = levels.max(initial=0) <= np.iinfo(np.int32).max
    return levels.astype(np.int32) if small else levels.astype(np.int64)


def traces(
    jobs: Plateaued, stops: Stops, climbs: Climbs, measure: int, begin: int, end: int
) -> Traces:
    """Return stops and climbs of the entities begin ≤ e < end in one measure, for the kernel.

    Its entities count from ``begin``.
    """
    first_stop, first_climb = stops.first[begin : end + 1], climbs.first[begin : end + 1]
    stop, climb = slice(first_stop[0], first_stop[-1]), slice(first_climb[0], first_climb[-1])
    return Traces(
        first_stop=first_stop - first_stop[0],
        stop_level=stops.level(measure, stop),
        stop_adds=jobs.adds[measure][stops.group[stop]],
        stop_day=stops.day(stop),
        first_climb=first_climb - first_climb[0],
        climb_level=climbs.level(measure, climb),
        climb_adds=jobs.adds[measure][jobs.group[climbs.job[climb]]],
        climb_day=climbs.day(climb),
    )
