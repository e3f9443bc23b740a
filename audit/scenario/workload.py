"""The attempts of one pool as a scheduler sees them: arrays in the order in which ties are broken.

Conventions: n attempts, R resources, S capacity steps. Times are epoch seconds, durations seconds,
amounts in the resources' own units, all int64. NEVER is an instant that does not come.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from audit.array_types import Bools, Floats, Ints
from audit.metrics.attempts.contention import (
    amounts,
    capacity_steps,
    counted_resources,
    ints,
    reserved_rows,
)
from audit.metrics.attempts.population import only, ordered, unplannable
from audit.metrics.attempts.reasons import held_up
from audit.metrics.nodes import PLACE
from audit.metrics.preemption import sides
from audit.model import SEQUENCE, Pool, PreemptionRule, Standing
from audit.scenario.limits import UNLIMITED, AttemptLimits, limits_of
from audit.scenario.machines import Machines, machines
from audit.scenario.ownership import EQUAL_SHARES, Fairshare, Ownership, owners_of, unowned
from audit.words import OF_TYPE

Number = TypeVar("Number", np.int64, np.float64)
NEVER: Final = int(np.iinfo(np.int64).max)
KEYS: Final = ("cluster", "job_id", "attempt")

LEAST_ALIKE: Final = 20

_READ: Final = cs.by_name(
    *("pool", "standing", "arrival_time", "submit_time", "start_time", "occupancy_s", "walltime_s"),
    *("cpus", "nodes", "gpus", "mem_bytes", "priority", "state", "reason", "reservation"),
    *PLACE,
    *("user", "account", "partition", "qos", "size", "width_class", "suspended_s", "penalty"),
    *("any_gpu_type", "constraints", "required_nodes", "array_throttle", "nice", "runs"),
    *SEQUENCE,
    require_all=False,
) | cs.starts_with(OF_TYPE)
"""The columns of a workload."""

_OF_LIMITS: Final = cs.by_name(
    *("user", "account", "qos", "partition", "reason", "attempt", "walltime_s", "start_time"),
    *("size", "cpus", "nodes", "gpus", "mem_bytes", "job_number", "array_throttle"),
    require_all=False,
) | cs.starts_with(OF_TYPE)
"""The columns of ``limited``."""


class Preemptible(NamedTuple):
    """Which attempts give way to which, by the rules of the pool, as bits."""

    gives_way: Ints  # [n], the rules under which each gives way,
    takes: Ints  # [n], and those under which others give way to it
    delay: Ints  # [n], until it may run again, s ≥ 1; NEVER: it does not


class Workload(NamedTuple):
    """One pool's attempts in the order (arrival, submit, sequence)."""

    arrival: Ints  # [n]
    start: Ints  # [n], observed; NEVER: not started, or not known
    end: Ints  # [n], observed; assumed where the attempt is open
    occupancy: Ints  # [n] ≥ 0
    estimate: Ints  # [n] ≥ max(1, occupancy)
    request: Ints  # [n] where R = 1, else [n, R]; ≥ 0, unknown is 0
    priority: Floats  # [n], recorded; NaN where unknown
    blocked: Bools  # [n], waited for something other than their turn
    open: Bools  # [n], running or pending when the log was taken
    assumed: Bools  # [n], running and without walltime, so that ``end`` is assumed
    preempted: Bools  # [n]
    sized: Bools  # [n], the size is known; else it is 0, and snapshots do not queue the attempt
    capacity: Ints  # [R], before any step
    step_time: Ints  # [S], ascending
    step_change: Ints  # [S] or [S, R]: what is added to what is free
    step_planned: Bools  # [S], known to planners
    owners: Ownership  # of the n attempts
    limits: AttemptLimits = UNLIMITED  # of the n attempts
    machines: Machines | None = None  # of the n attempts, and perhaps later ones; None: sums decide
    preemptible: Preemptible | None = None  # of the n attempts; None: none gives way

    @property
    def largest(self) -> Ints:
        """The largest capacity of each resource, [R]; steps at one time count together."""
        change = self.step_change.reshape(len(self.step_time), len(self.capacity))
        last = np.searchsorted(self.step_time, self.step_time, side="right") - 1
        most: Ints = self.capacity + change.cumsum(0)[last].max(0, initial=0)
        return most

    @property
    def has_started(self) -> Bools:
        """Whether the start of each attempt is known, [n]."""
        started: Bools = self.start != NEVER
        return started

    @property
    def present(self) -> Bools:
        """Whether snapshots can hold each attempt, [n]: those that have started or are open."""
        return self.has_started | self.open

    @property
    def queued(self) -> Bools:
        """Whether each attempt is ever queued, [n]: not blocked, and within capacity and limits."""
        return ~self.blocked & self.fitting & ~self.exceeding

    @property
    def fitting(self) -> Bools:
        """Whether each attempt requests at most the largest capacity, [n]."""
        request = self.request.reshape(len(self.arrival), len(self.capacity))
        fitting: Bools = ((request <= self.largest) | (request == 0)).all(1)
        if self.machines is not None:
            fitting &= self.machines.fitting[: len(fitting)]
        return fitting

    @property
    def exceeding(self) -> Bools:
        """Whether each attempt alone exceeds a limit, [n]."""
        return self.limits.exceeded if self.limits.some else np.zeros(len(self.arrival), np.bool_)

    def first(self, count: int) -> "Workload":
        """Return the first ``count`` attempts."""
        return self.of_those(np.arange(len(self.arrival)) < count)

    def of_those(self, chosen: Bools, *, owned: bool = True) -> "Workload":
        """Return the ``chosen`` attempts; with machines, they must be the first ones.

        ``owned``: else without owners, to save memory.
        """
        if chosen.all():
            return self if owned else self._replace(owners=unowned(0))
        columns, count = self._asdict(), int(chosen.sum())
        for name, column in columns.items():
            whole = ("capacity", "owners", "limits", "machines", "preemptible")
            if name not in whole and not name.startswith("step_"):
                columns[name] = column[chosen] if column.strides[0] else column[:count]
        owners = self.owners.of_those(chosen) if owned else unowned(0)
        own = {"owners": owners, "limits": self.limits.of_those(chosen)}
        if self.preemptible is not None:
            own["preemptible"] = Preemptible(*(each[chosen] for each in self.preemptible))
        return Workload(**columns | own)


class Indexed(NamedTuple):
    """A workload, and the rows of its attempts in its frame."""

    work: Workload
    rows: Ints  # [n]


def workload(
    described: pl.DataFrame, pool: Pool, now: int, fairshare: Fairshare = EQUAL_SHARES
) -> tuple[Workload, pl.DataFrame]:
    """Return a workload, and ``cluster, job_id, attempt`` of each of its attempts."""
    work, rows = workload_of_rows(described, pool, now, fairshare)
    return work, described.select(KEYS)[rows]


def workload_of_rows(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    fairshare: Fairshare = EQUAL_SHARES,
    *,
    owned: bool = True,
) -> Indexed:
    """Return the workload of ``pool`` (SPEC §4).

    It leaves out attempts that never started, that ran in an advance reservation, or of unknown run
    time, and pending ones without a walltime or of unknown size. An attempt of unknown arrival
    arrives at its start. A reservation lowers the capacity, from its first start to its
    last end, by its peak use.

    estimate = max(walltime, occupancy), or the occupancy where the walltime is unknown or
    unlimited; at least 1 s. Open attempts occupy max(walltime, now − start + 1). Without a walltime
    a running one is assumed to occupy at least the 90th percentile of ended attempts of its width
    class and partition, of the pool if there are fewer than ``LEAST_ALIKE`` of them.

    Args:
        described: columns of ``model.DESCRIBED``, and ``penalty`` where usage is charged by
            something other than size; attempts of other pools are ignored.
        owned: whether owners are needed.
    """
    resources = counted_resources(pool)
    numbered = described.select(_READ).with_row_index("row")
    attempts = _schedulable(only(numbered, pl.col("pool") == pool.name), now)
    reserved = reserved_rows(attempts)
    in_reservations = attempts.filter(reserved)
    steps = capacity_steps(pool, in_reservations)
    attempts = only(attempts, ~reserved)
    request = [attempts[name].fill_null(0).to_numpy().astype(np.int64) for name in resources]
    occupancy = ints(attempts["occupancy"])
    one = len(resources) == 1
    work = Workload(
        arrival=ints(attempts["arrival_time"]),
        start=ints(attempts["start_time"].fill_null(NEVER)),
        end=ints(attempts["end"].fill_null(NEVER)),
        occupancy=occupancy,
        estimate=np.maximum(np.maximum(ints(attempts["walltime_s"]), occupancy), 1),
        request=request[0] if one else np.stack(request, 1),
        priority=_priorities(attempts["priority"]),
        blocked=held_up(attempts, pool.limits),
        open=attempts["open"].to_numpy(),
        assumed=(attempts["open"] & attempts["walltime_s"].is_null()).to_numpy(),
        preempted=(attempts["state"] == "PREEMPTED").fill_null(False).to_numpy(),
        sized=attempts["size"].is_not_null().to_numpy(),
        capacity=amounts(pool),
        step_time=steps.time,
        step_change=steps.change[:, 0] if one else steps.change,
        step_planned=steps.planned,
        owners=owners_of(attempts, fairshare) if owned else unowned(0),
        limits=limits_of(attempts, pool, _last_known(attempts, now)),
        preemptible=_preemptible(attempts, pool.preemption) if "runs" in attempts.columns else None,
    )
    nodes = machines(attempts, in_reservations, pool)
    return Indexed(work if nodes is None else on_nodes(work, nodes), ints(attempts["row"]))


def on_nodes(work: Workload, nodes: Machines) -> Workload:
    """Return a workload of which the nodes of the pool decide what fits."""
    taken = nodes.change * -nodes.capacity[:, nodes.change_node]
    request, capacity = (nodes.part * nodes.parts).T, nodes.capacity.sum(axis=1)
    if nodes.alike:
        request, capacity, taken = request[:, :1], capacity[:1], taken[:1]
    one = len(capacity) == 1
    return work._replace(
        request=request.reshape(-1) if one else np.ascontiguousarray(request),
        capacity=capacity,
        step_time=nodes.change_time,
        step_change=taken[0] if one else np.ascontiguousarray(taken.T),
        step_planned=np.zeros(len(nodes.change_time), np.bool_),
        machines=None if nodes.alike else nodes,
    )


def of_limits(described: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Return these rows, with the columns that ``limited`` uses: they are held for long."""
    return described.select(_OF_LIMITS)[rows]


def limited(work: Workload, described: pl.DataFrame, pool: Pool, now: int) -> Workload:
    """Return a workload of a pool without limits under the limits and windows of ``pool``.

    Args:
        described: its attempts, row for row; at least the columns of ``of_limits``.
    """
    if not pool.limits and not pool.windows:
        return work
    attempts = described.with_columns(
        occupancy=pl.Series(work.occupancy),
        arrival_time=pl.Series(work.arrival),
        end=instants(work.end),
    )
    limits = limits_of(attempts, pool, _last_known(attempts, now))
    held = held_up(attempts, pool.limits) if work.blocked.any() else work.blocked
    return work._replace(blocked=held, limits=limits)


def _schedulable(described: pl.DataFrame, now: int) -> pl.DataFrame:
    """Return attempts of known arrival and run time, in order, with open, occupancy and end."""
    running = pl.col("standing") == Standing.RUNNING
    pending = pl.col("standing") == Standing.PENDING
    start, walltime = pl.col("start_time"), pl.col("walltime_s")
    if described.select((running & walltime.is_null()).any()).item():
        walltime = pl.coalesce(walltime, _usual_occupancy())
    return (
        described.with_columns(arrival_time=pl.coalesce("arrival_time", "start_time"))
        .pipe(
            only,
            (pl.col("standing") != Standing.NEVER_STARTED) & pl.col("arrival_time").is_not_null(),
        )
        .pipe(ordered, "arrival_time", "submit_time", *SEQUENCE)
        .pipe(only, ~unplannable())
        .with_columns(
            open=running | pending,
            occupancy=pl.when(running)
            .then(pl.max_horizontal(walltime, now - start + 1))
            .when(pending)
            .then(pl.max_horizontal("walltime_s", pl.lit(1)))
            .otherwise("occupancy_s"),
        )
        .pipe(only, pl.col("occupancy").is_not_null())
        .with_columns(end=start + pl.col("occupancy"))
    )


def _usual_occupancy() -> pl.Expr:
    """Return the 90th percentile, nearest-rank, of the occupancies of similar ended attempts."""
    ended = pl.when(pl.col("standing") == Standing.ENDED).then("occupancy_s")
    rank = (ended.count().cast(pl.Int64) * 9 + 9) // 10
    percentile = ended.sort(nulls_last=True).get(rank - 1, null_on_oob=True)
    group = ("width_class", "partition")
    enough = ended.count().over(group) >= LEAST_ALIKE
    return pl.when(enough).then(percentile.over(group)).otherwise(percentile)


def _preemptible(attempts: pl.DataFrame, rules: Sequence[PreemptionRule]) -> Preemptible | None:
    """Return which attempts give way; of rules for one attempt, the shortest delay holds."""
    if not rules:
        return None
    gives_way, takes = sides(attempts, rules)
    delay = np.full(attempts.height, NEVER)
    for number, rule in enumerate(rules):
        own = gives_way >> number & 1 > 0
        if rule.requeue_s is not None:
            delay[own] = np.minimum(delay[own], max(rule.requeue_s, 1))
    return Preemptible(gives_way, takes, delay)


def _last_known(attempts: pl.DataFrame, now: int) -> int:
    last = attempts.select(pl.max_horizontal("arrival_time", "end").max()).item()
    return max(now, last or now)


def _priorities(column: pl.Series) -> Floats:
    """Return priorities; NaN where unknown, which takes no memory if all are."""
    if column.null_count() == len(column):
        return np.broadcast_to(np.nan, len(column))
    return column.fill_null(float("nan")).to_numpy().astype(np.float64)


def instants(times: Ints) -> pl.Series:
    """Return times as a column that is null where they are NEVER."""
    return pl.Series(times).replace(NEVER, None)


# --- sums over snapshots (SPEC §5), without simulating anything ----------------------------------


def in_snapshots(work: Workload, weight: Ints) -> Ints:
    """Return the sum of ``weight`` over each attempt's snapshot.

    Queued and blocked attempts count from their arrival, those that exceed the capacity or are of
    unknown size from their start.
    """
    started = work.has_started
    arriving = (work.queued & work.sized & work.present) | (work.blocked & started)
    large = started & ~(work.queued & work.sized) & ~work.blocked
    early, late = (np.where(which, weight, 0) for which in (arriving, large))
    entered: Ints = sum_until(np.where(large, work.start, NEVER), late, work.arrival - 1)
    return np.cumsum(early) - early + entered - gone(work, early + late)


def gone(work: Workload, amounts: Ints) -> Ints:
    """Return the sum of ``amounts`` over the attempts that have left each attempt's snapshot."""
    leaves = np.maximum(np.where(work.has_started, work.start, NEVER - 1) + 1, work.end)
    return sum_until(leaves, amounts, work.arrival)


def sum_until(
    times: NDArray[Number], amounts: NDArray[Number], until: NDArray[Number]
) -> NDArray[Number]:
    """Return the sum of the ``amounts`` whose time is at most each of ``until``."""
    order = np.argsort(times, kind="stable")
    totals = np.append(np.zeros(1, amounts.dtype), np.cumsum(amounts[order]))
    return totals[np.searchsorted(times[order], until, side="right")]


def largest_snapshot(work: Workload, present: Bools) -> int:
    """Return the largest number of attempts in a snapshot, its subject included."""
    amounts = present.astype(np.int64)
    return int((np.cumsum(amounts) - amounts - gone(work, amounts)).max(initial=0)) + 1


def distinct_of_ordered(values: Ints) -> Ints:
    """Return the distinct values of ascending ones; of many sooner than ``np.unique``."""
    first: Ints = values[np.append(True, values[1:] != values[:-1])[: len(values)]]
    return first
