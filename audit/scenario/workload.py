"""The attempts of one pool as a scheduler meets them: arrays in the order in which ties are broken.

Conventions: n attempts, R resources, S capacity steps; times in epoch seconds, durations in s,
amounts in the resources' own units, all int64. NEVER stands for an instant that does not come.
"""

from typing import Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from audit.metrics.attempts.contention import (
    amounts,
    capacity_steps,
    counted_resources,
    reserved_rows,
)
from audit.metrics.attempts.population import only, ordered
from audit.metrics.attempts.reasons import held_up
from audit.model import SEQUENCE, Pool, Standing
from audit.scenario.limits import UNLIMITED, Limits, limits_of
from audit.scenario.ownership import EQUAL_SHARES, Fairshare, Ownership, owners_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Number = TypeVar("Number", np.int64, np.uint64)

NEVER: Final = int(np.iinfo(np.int64).max)
KEYS: Final = ("cluster", "job_id", "attempt")

_READ: Final = cs.by_name(
    *("pool", "standing", "arrival_time", "submit_time", "start_time", "occupancy_s", "walltime_s"),
    *("cpus", "nodes", "gpus", "mem_bytes", "priority", "state", "reason", "reservation"),
    *("user", "account", "partition", "qos", "size", "suspended_s", "penalty", *SEQUENCE),
    require_all=False,
)
"""Columns that a workload is made of; there may be many more."""


class Workload(NamedTuple):
    """One pool's attempts in the order (arrival, submit, sequence)."""

    arrival: Ints  # [n]
    start: Ints  # [n], observed; NEVER: not started, or not known
    end: Ints  # [n], observed; of open attempts, assumed
    occupancy: Ints  # [n] ≥ 0
    estimate: Ints  # [n] ≥ max(1, occupancy)
    request: Ints  # [n] where R = 1, else [n, R]; ≥ 0, unknown is 0
    priority: Floats  # [n], recorded; NaN where unknown
    blocked: Bools  # [n], waited for something other than their turn
    open: Bools  # [n], running or pending when the log was taken
    no_estimate: Bools  # [n], open and without walltime
    preempted: Bools  # [n]
    capacity: Ints  # [R], before any step
    step_time: Ints  # [S], ascending
    step_change: Ints  # [S] or [S, R]: what is added to what is free
    step_planned: Bools  # [S], known to planners beforehand
    owners: Ownership  # of the n attempts
    limits: Limits = UNLIMITED  # of the n attempts

    @property
    def largest(self) -> Ints:
        """The most of each resource that there ever is, [R]."""
        change = self.step_change.reshape(len(self.step_time), len(self.capacity))
        totals = np.concatenate((np.zeros((1, len(self.capacity)), np.int64), change.cumsum(0)))
        most: Ints = self.capacity + totals.max(0)
        return most

    @property
    def has_started(self) -> Bools:
        """Whose start was observed, [n]."""
        started: Bools = self.start != NEVER
        return started

    @property
    def queued(self) -> Bools:
        """Who is queued at all: not blocked, not larger than the pool ever is or a limit, [n]."""
        return ~self.blocked & self.fitting & ~self.exceeding

    @property
    def fitting(self) -> Bools:
        """Who is not larger than the pool ever is, [n]."""
        request = self.request.reshape(len(self.arrival), len(self.capacity))
        fitting: Bools = ((request <= self.largest) | (request == 0)).all(1)
        return fitting

    @property
    def exceeding(self) -> Bools:
        """Who by itself breaks a limit, [n]."""
        return self.limits.exceeded if self.limits.some else np.zeros(len(self.arrival), np.bool_)

    def first(self, count: int) -> "Workload":
        """The first ``count`` attempts."""
        columns = self._asdict()
        for name in columns:
            if name not in ("capacity", "owners", "limits") and not name.startswith("step_"):
                columns[name] = columns[name][:count]
        own = {"owners": self.owners.first(count), "limits": self.limits.of_first(count)}
        return Workload(**columns | own)


class Met(NamedTuple):
    """One pool's attempts that a scheduler can meet, and where they are."""

    work: Workload
    rows: Ints  # [n], the row of each in the frame that the workload was made of


def workload(
    described: pl.DataFrame, pool: Pool, now: int, fairshare: Fairshare = EQUAL_SHARES
) -> tuple[Workload, pl.DataFrame]:
    """The attempts of ``pool`` that a scheduler can meet.

    Left out are attempts that never started, that ran in an advance reservation, or whose run time
    is not known. Who started but arrived nobody knows when arrives at the start. A reservation
    takes from the capacity, while it lasts, as much as was ever in use in it: from its first start
    to its last end.

    estimate = max(walltime, occupancy), or the occupancy where the walltime is unknown or
    unlimited; at least 1 s. Open attempts occupy max(walltime, now − start + 1).

    Args:
        described: columns of ``model.DESCRIBED``, and ``penalty`` where attempts are charged for
            something else than their size; those of other pools are passed over.
        pool: its capacity, steps, and what else limits who fits: nodes only where they are
            exclusive.
        fairshare: how owners are ranked; see ``scenario.ownership`` for what is charged.

    Returns:
        The workload, and ``cluster, job_id, attempt`` of its attempts, row for row.

    Source: SPEC §4.
    """
    work, rows = workload_of_rows(described, pool, now, fairshare)
    return work, described.select(KEYS)[rows]


def workload_of_rows(
    described: pl.DataFrame, pool: Pool, now: int, fairshare: Fairshare = EQUAL_SHARES
) -> Met:
    """As ``workload``, but with the row of each attempt in ``described`` instead of its key."""
    resources = counted_resources(pool)
    numbered = described.select(_READ).with_row_index("row")
    held = _met(only(numbered, pl.col("pool") == pool.name), now)
    reserved = reserved_rows(held)
    steps = capacity_steps(pool, held.filter(reserved))
    held = only(held, ~reserved)
    request = [held[name].fill_null(0).to_numpy().astype(np.int64) for name in resources]
    occupancy = _ints(held["occupancy"])
    one = len(resources) == 1
    work = Workload(
        arrival=_ints(held["arrival_time"]),
        start=_ints(held["start_time"].fill_null(NEVER)),
        end=_ints(held["end"].fill_null(NEVER)),
        occupancy=occupancy,
        estimate=np.maximum(np.maximum(_ints(held["walltime_s"].fill_null(0)), occupancy), 1),
        request=request[0] if one else np.stack(request, 1),
        priority=held["priority"].fill_null(float("nan")).to_numpy().astype(np.float64),
        blocked=held_up(held, pool.limits),
        open=held["open"].to_numpy(),
        no_estimate=(held["open"] & held["walltime_s"].is_null()).to_numpy(),
        preempted=(held["state"] == "PREEMPTED").fill_null(False).to_numpy(),
        capacity=amounts(pool),
        step_time=steps.time,
        step_change=steps.change[:, 0] if one else steps.change,
        step_planned=steps.planned,
        owners=owners_of(held, fairshare),
        limits=limits_of(held, pool, _known_to(held, now)),
    )
    return Met(work, _ints(held["row"]))


def limited(work: Workload, described: pl.DataFrame, pool: Pool, now: int) -> Workload:
    """The attempts of a workload under the limits and windows of ``pool``.

    Args:
        work: of a pool that has none, and else is the same.
        described: of its attempts, row for row; see ``workload``.
        pool: with limits and windows.
    """
    if not pool.limits and not pool.windows:
        return work
    held = described.with_columns(
        occupancy=pl.Series(work.occupancy),
        arrival_time=pl.Series(work.arrival),
        end=pl.Series(work.end).replace(NEVER, None),
    )
    blocked = held_up(held, pool.limits) if work.blocked.any() else work.blocked
    return work._replace(blocked=blocked, limits=limits_of(held, pool, _known_to(held, now)))


def _met(described: pl.DataFrame, now: int) -> pl.DataFrame:
    """Those of a pool whose arrival and run time are known, in their order.

    With ``open``, and ``occupancy`` and ``end`` as the simulation assumes them.
    """
    running = pl.col("standing") == Standing.RUNNING
    pending = pl.col("standing") == Standing.PENDING
    start = pl.col("start_time")
    return (
        described.with_columns(arrival_time=pl.coalesce("arrival_time", "start_time"))
        .pipe(
            only,
            (pl.col("standing") != Standing.NEVER_STARTED) & pl.col("arrival_time").is_not_null(),
        )
        .pipe(ordered, "arrival_time", "submit_time", *SEQUENCE)
        .with_columns(
            open=running | pending,
            occupancy=pl.when(running)
            .then(pl.max_horizontal("walltime_s", now - start + 1))
            .when(pending)
            .then(pl.max_horizontal("walltime_s", pl.lit(1)))
            .otherwise("occupancy_s"),
        )
        .pipe(only, pl.col("occupancy").is_not_null())
        .with_columns(end=start + pl.col("occupancy"))
    )


def _known_to(held: pl.DataFrame, now: int) -> int:
    """The last instant that anything is known of."""
    last = held.select(pl.max_horizontal("arrival_time", "end").max()).item()
    return max(now, last or now)


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.to_numpy(), np.int64)


# --- sums over snapshots (SPEC §5), without simulating anything ----------------------------------


def in_snapshots(work: Workload, weight: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``weight`` over those that matter in each attempt's snapshot; sums wrap around.

    These are the queued and the blocked from their arrival on, and those larger than the pool ever
    is from their start on.
    """
    started = work.has_started
    arriving = (work.queued & (started | work.open)) | (work.blocked & started)
    large = started & ~work.queued & ~work.blocked
    there = sum_before(work, np.where(arriving, weight, 0).astype(weight.dtype))
    enters = np.where(large, work.start, NEVER)
    entered = sum_until(enters, np.where(large, weight, 0).astype(weight.dtype), work.arrival - 1)
    return there + entered - gone(work, np.where(arriving | large, weight, 0).astype(weight.dtype))


def sum_before(work: Workload, amounts: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``amounts`` over those before each attempt in the order."""
    sums: NDArray[Number] = np.cumsum(amounts, dtype=amounts.dtype) - amounts
    return sums


def gone(work: Workload, amounts: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``amounts`` over those that a snapshot holds no longer."""
    started = work.has_started
    leaves = np.maximum(np.where(started, work.start, NEVER - 1) + 1, work.end)
    return sum_until(leaves, amounts, work.arrival)


def sum_until(times: Ints, amounts: NDArray[Number], instants: Ints) -> NDArray[Number]:
    """Σ of the ``amounts`` whose time is not after each of ``instants``."""
    order = np.argsort(times, kind="stable")
    totals = np.concatenate(
        (np.zeros(1, amounts.dtype), np.cumsum(amounts[order], dtype=amounts.dtype))
    )
    by_then: NDArray[Number] = totals[np.searchsorted(times[order], instants, side="right")]
    return by_then


def largest_snapshot(work: Workload, present: Bools) -> int:
    """The most attempts that a snapshot and its subject can be."""
    amounts = present.astype(np.int64)
    return int((sum_before(work, amounts) - gone(work, amounts)).max(initial=0)) + 1
