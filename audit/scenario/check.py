"""The schedule check: it refuses impossible schedules (SPEC §4, last paragraph).

In a sound schedule, nothing starts before it arrives or ends before it starts. No start exceeds the
capacity, a limit or a window. Every attempt occurs once, with its real occupancy. Under
``conservative``, no attempt starts later than first promised (a limit that forbids a planned start
voids the promise).

Times are epoch seconds; an attempt holds what it requests over ``[start, end)``. The check knows no
policy: a sound schedule is possible, not necessarily the one that EASY would have made.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.errors import SimulationError
from audit.metrics.waits.queue import ranges
from audit.model import Pool
from audit.scenario.engine import PLANNED
from audit.scenario.limits import UNLIMITED, AttemptLimits
from audit.scenario.workload import KEYS, NEVER, Workload, instants, sum_until, workload


class Check(StrEnum):
    """Faults of an attempt; the unit of ``amount`` in brackets."""

    LOST = "lost"
    """Not started, though nothing prevents it for ever [rows of the schedule without a start]."""
    STRANGER = "stranger"
    """In the schedule but not among the attempts to schedule [rows]."""
    TWICE = "twice"
    """More than one row of the schedule [rows]."""
    STARTS_BEFORE_ARRIVAL = "starts_before_arrival"
    """[seconds too early]"""
    ENDS_BEFORE_START = "ends_before_start"
    """[seconds]"""
    OCCUPANCY_CHANGED = "occupancy_changed"
    """It runs for longer (+) or shorter (−) than it really did [seconds]."""
    OVER_CAPACITY = "over_capacity"
    """After its start more than the capacity is in use [amount of the first such resource]."""
    BEYOND_LIMIT = "beyond_limit"
    """A limit or a window forbids its start [amount or attempts in excess; window: ≥ 1]."""
    LATER_THAN_PLANNED = "later_than_planned"
    """It starts after the start first promised, though the pool lost nothing [seconds]."""


FINDINGS: Final = pl.Schema(
    {
        "check": pl.String,  # Check
        "cluster": pl.String,
        "job_id": pl.String,
        "attempt": pl.Int64,
        "at": pl.Int64,  # the instant of the fault, or null
        "amount": pl.Int64,  # see Check
    }
)
"""One row per fault."""


class Capacity(NamedTuple):
    """The capacity of a pool in R resources, in S steps."""

    resources: tuple[str, ...]  # columns of the requests
    amounts: Ints  # [R], before all steps
    time: Ints  # [S], ascending
    change: Ints  # [S, R], what each step adds
    planned: Bools  # [S], whether planners knew
    on_nodes: bool = False  # whether nodes have it, so that a loss on one takes from no other

    @property
    def levels(self) -> Ints:
        """Capacity before all steps and after each: [S + 1, R], may be negative."""
        return np.vstack((self.amounts, self.amounts + self.change.cumsum(axis=0)))

    def at(self, times: Ints) -> Ints:
        """Return the capacity right after the steps at each of k ``times``: [k, R]."""
        return self.levels[np.searchsorted(self.time, times, side="right")]

    @property
    def largest(self) -> Ints:
        """The largest capacity of each resource: [R]."""
        largest: Ints = np.vstack((self.amounts, self.at(self.time))).max(axis=0)
        return largest


def check_schedule(
    schedule: pl.DataFrame,
    attempts: pl.DataFrame,
    capacity: int | Capacity,
    *,
    snapshot_time: int | None = None,
    limits: AttemptLimits = UNLIMITED,
) -> pl.DataFrame:
    """Find everything that makes ``schedule`` impossible for ``attempts`` on ``capacity``.

    Args:
        schedule: ``cluster, job_id, attempt, start_time, end_time``, and ``planned_start_time``
            where starts were promised. An attempt with a null end runs on. May be ``attempts``
            itself, to check an observed schedule.
        attempts: ``cluster, job_id, attempt, arrival_time``, the columns that ``capacity`` names,
            and ``occupancy_s`` to compare occupancies. Attempts that request more than the largest
            capacity need not start. If one requests more than is left in the end, it may block the
            queue for ever, and no attempt without a start is lost. Where ``blocked`` is true, the
            attempt takes from the capacity as a step while it runs (SPEC §5). Where ``unfit`` is
            true, no nodes of the pool have room for it, and it need not start.
        capacity: all ≥ 0 before the first step. A number is of ``size``.
        snapshot_time: attempts that started earlier ran when the simulation began, and may exceed
            the capacity. No later start may add to that.
        limits: of the ``attempts``, row for row; those that can never start need not.

    A step may take away what is in use; later starts must fit. On nodes, they may fit elsewhere:
    then steps and blocked attempts do not count. A start may be later than promised if the pool
    lost something unforeseen between the promise and that start.

    Returns:
        ``FINDINGS``, in the order of ``Check``, then of the instant, then of ``attempts``.

    Raises:
        SimulationError: an arrival or request is unknown, a request is negative, or an attempt is
            listed twice in ``attempts``.

    Source: SPEC §4, §5.
    """
    none = np.zeros(0, np.int64)
    has = (
        Capacity(("size",), np.array([capacity]), none, none.reshape(0, 1), none.astype(np.bool_))
        if isinstance(capacity, int)
        else capacity
    )
    listed = _listed(attempts, has.resources)
    rows = schedule.select(*KEYS, "start_time", "end_time", _optional(schedule, PLANNED))
    placed = rows.join(listed, on=KEYS, how="inner", nulls_equal=True, maintain_order="left")
    findings = [
        *_presence(rows, listed, placed, has, limits),
        *_times(placed.filter(~pl.col("blocked"))),
        *_excesses(placed, has, limits, snapshot_time),
        _later_than_planned(placed, has, snapshot_time),
    ]
    return (
        pl.concat(findings)
        .with_columns(pl.col("check").cast(pl.Enum([str(check) for check in Check])))
        .sort("check", "at", "position", *KEYS, nulls_last=True, maintain_order=True)
        .with_columns(pl.col("check").cast(pl.String))
        .select(FINDINGS.names())
    )


def check_simulated(
    schedule: pl.DataFrame, described: pl.DataFrame, pool: Pool, now: int
) -> pl.DataFrame:
    """Check a schedule that ``engine.simulate`` made of ``described``; return ``FINDINGS``.

    Open attempts, which have no end there, run for as long as the simulation assumes.
    """
    work, keys = workload(described, pool, now)
    own = described.filter(pl.col("pool") == pool.name)
    others = own.join(keys, on=KEYS, how="anti", nulls_equal=True)  # left as they were
    rows = schedule.join(others, on=KEYS, how="anti", nulls_equal=True, maintain_order="left")
    assumed = keys.with_columns(_occupancy=pl.Series(work.occupancy))
    ended = rows.join(assumed, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    end = pl.coalesce("end_time", pl.col("start_time") + pl.col("_occupancy"))
    attempts, capacity = _as_checked(work, keys)
    return check_schedule(ended.with_columns(end_time=end), attempts, capacity, limits=work.limits)


def check_replay(
    work: Workload, start: Ints, planned: Ints, from_time: int | None = None
) -> pl.DataFrame:
    """Check the starts of a replay; return ``FINDINGS``, with positions as ``job_id``.

    Args:
        start, planned: start and promised start of each attempt; NEVER: none.
        from_time: when the replay began, see ``engine.replay``.
    """
    count = len(work.arrival)
    keys = pl.DataFrame(
        {"cluster": [""] * count, "job_id": [str(k) for k in range(count)], "attempt": [1] * count},
        schema={"cluster": pl.String, "job_id": pl.String, "attempt": pl.Int64},
    )
    begun, end = start, np.where(start == NEVER, NEVER, start + work.occupancy)
    taking_part = np.ones(count, np.bool_)
    if from_time is not None:
        running = (work.start < from_time) & (work.end > from_time)
        unknown = (work.arrival < from_time) & (work.start == NEVER) & ~work.open
        taking_part = (running | (work.start >= from_time)) & ~unknown
        begun, end = np.where(running, work.start, begun), np.where(running, work.end, end)
    frame = keys.with_columns(
        instants(times).alias(name)
        for name, times in (("start_time", begun), ("end_time", end), (PLANNED, planned))
    )
    attempts, capacity = _as_checked(work, keys)
    chosen = pl.Series(taking_part, dtype=pl.Boolean)
    return check_schedule(
        frame.filter(chosen),
        attempts.filter(chosen),
        capacity,
        snapshot_time=from_time,
        limits=work.limits.of_those(taking_part),
    )


def require_sound(findings: pl.DataFrame, what: str = "schedule") -> None:
    """Raise SimulationError with the first of ``findings``, if there are any."""
    if findings.is_empty():
        return
    first = [
        f"{row['check']}: job {row['job_id']}, attempt {row['attempt']}"
        + (f", at {row['at']}" if row["at"] is not None else "")
        + f", by {row['amount']}"
        for row in findings.head(5).iter_rows(named=True)
    ]
    more = f"\n  and {findings.height - 5} more" if findings.height > 5 else ""
    raise SimulationError(
        f"{what} fails its check; this is a defect of the scheduler that made it:\n  "
        + "\n  ".join(first)
        + more
    )


def _as_checked(work: Workload, keys: pl.DataFrame) -> tuple[pl.DataFrame, Capacity]:
    """Return the attempts of ``work`` and their capacity as ``check_schedule`` takes them."""
    resources = tuple(f"resource_{x}" for x in range(len(work.capacity)))
    request = work.request.reshape(len(work.arrival), len(resources))
    attempts = keys.with_columns(
        pl.Series("arrival_time", work.arrival),
        *(pl.Series(name, request[:, x]) for x, name in enumerate(resources)),
        pl.Series("occupancy_s", work.occupancy),
        pl.Series("blocked", work.blocked),
        pl.Series("unfit", ~work.fitting),
    )
    change = work.step_change.reshape(len(work.step_time), len(resources))
    has = Capacity(
        *(resources, work.capacity, work.step_time, change, work.step_planned),
        on_nodes=work.machines is not None,
    )
    return attempts, has


def _listed(attempts: pl.DataFrame, resources: tuple[str, ...]) -> pl.DataFrame:
    """Return arrival, requests, occupancy and position of the attempts to schedule."""
    listed = attempts.select(
        *KEYS,
        "arrival_time",
        *resources,
        _optional(attempts, "occupancy_s"),
        *(_optional(attempts, name, pl.Boolean).fill_null(False) for name in ("blocked", "unfit")),
    ).with_row_index("position")
    for column in ("arrival_time", *resources):
        if unknown := listed[column].null_count():
            raise SimulationError(
                f"schedule check: {column} is unknown for {unknown} attempts; leave them out, or "
                "pass what the scheduler used"
            )
    for column in resources:
        if listed.filter(pl.col(column) < 0).height:
            raise SimulationError(f"schedule check: a {column} is negative")
    if listed.select(KEYS).is_duplicated().any():
        raise SimulationError("schedule check: an attempt is listed twice among those to schedule")
    return listed


def _presence(
    rows: pl.DataFrame,
    listed: pl.DataFrame,
    placed: pl.DataFrame,
    capacity: Capacity,
    limits: AttemptLimits,
) -> Iterator[pl.DataFrame]:
    """Find lost attempts, strangers, and attempts with more than one row."""
    counts = rows.group_by(KEYS, maintain_order=True).agg(
        rows=pl.len(), starts=pl.col("start_time").count(), at=pl.col("start_time").max()
    )
    both = listed.join(counts, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    strangers = counts.join(listed, on=KEYS, how="anti", nulls_equal=True, maintain_order="left")
    waits = both.filter(pl.col("starts").fill_null(0) == 0, ~pl.col("blocked"))
    request = _requests(waits, capacity)
    queued = (request <= capacity.largest).all(axis=1) & ~waits["unfit"].to_numpy()
    runs_on = placed.filter(pl.col("start_time").is_not_null(), pl.col("end_time").is_null())
    left = capacity.levels[-1] - _requests(runs_on, capacity).sum(axis=0)
    stuck = queued & ((request > 0) & (request > left)).any(axis=1)
    if limits.some:
        waiting, on = (frame["position"].to_numpy().astype(np.int64) for frame in (waits, runs_on))
        queued &= ~limits.exceeded[waiting] & ~hindered(limits, waiting, on)
    if stuck.any():  # it may head the queue for ever
        queued &= waits["rows"].is_null().to_numpy()
    lost = waits.filter(pl.Series(queued, dtype=pl.Boolean))
    yield _finding(Check.LOST, lost, "arrival_time", pl.col("rows").fill_null(0))
    yield _finding(Check.STRANGER, strangers, "at", pl.col("rows"))
    yield _finding(Check.TWICE, both.filter(pl.col("rows") > 1), "at", pl.col("rows"))


def _times(placed: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Find starts before arrivals, ends before starts, and changed occupancies."""
    start, end, arrival = pl.col("start_time"), pl.col("end_time"), pl.col("arrival_time")
    for check, at, amount in (
        (Check.STARTS_BEFORE_ARRIVAL, "start_time", arrival - start),
        (Check.ENDS_BEFORE_START, "end_time", start - end),
    ):
        yield _finding(check, placed.filter(amount > 0), at, amount)
    gain = (end - start) - pl.col("occupancy_s")
    yield _finding(Check.OCCUPANCY_CHANGED, placed.filter(gain != 0), "end_time", gain)


def _excesses(
    placed: pl.DataFrame, capacity: Capacity, limits: AttemptLimits, snapshot_time: int | None
) -> Iterator[pl.DataFrame]:
    """Find attempts whose start exceeds the capacity, or that limits or windows forbid."""
    rows = placed.filter(pl.col("start_time").is_not_null())
    start, blocked = rows["start_time"].to_numpy(), rows["blocked"].to_numpy()
    # an end before the start is another finding
    end = np.maximum(rows["end_time"].fill_null(NEVER).to_numpy(), start)
    position = rows["position"].to_numpy().astype(np.int64)
    given = pl.col("blocked")
    if snapshot_time is not None:
        given |= pl.col("start_time") < snapshot_time
    for check, excess in (
        (Check.OVER_CAPACITY, _over(capacity, _requests(rows, capacity), start, end, blocked)),
        (Check.BEYOND_LIMIT, beyond(limits, position, start, end, blocked)),
    ):
        faults = rows.with_columns(excess=pl.Series(excess)).filter(pl.col("excess") > 0, ~given)
        yield _finding(check, faults, "start_time", pl.col("excess"))


def _over(capacity: Capacity, request: Ints, start: Ints, end: Ints, blocked: Bools) -> Ints:
    """Return by how much each start exceeds the capacity, in the first such resource.

    An attempt that starts at t must fit beside all that runs right after t; without occupancy,
    beside what runs from before t to after it, as it can go first. Blocked attempts come and go as
    steps do, before all passes.
    """
    brief = end == start
    own, steps = ~brief & ~blocked, ~brief & blocked
    has = capacity.at(start)
    if capacity.on_nodes:
        has, steps = np.broadcast_to(capacity.amounts, has.shape), np.zeros_like(steps)
    excess = np.zeros(len(start), np.int64)
    for x in reversed(range(len(capacity.resources))):
        asks = request[:, x]
        ended = sum_until(end[own | steps], asks[own | steps], start)
        taken = sum_until(start[steps], asks[steps], start) - ended
        right_after = taken + sum_until(start[own], asks[own], start)
        through = taken + sum_until(start[own], asks[own], start - 1)
        over = np.where(brief, through + asks, right_after) - has[:, x]
        excess = np.where((over > 0) & (asks > 0), over, excess)
    return excess


def _later_than_planned(
    placed: pl.DataFrame, capacity: Capacity, snapshot_time: int | None
) -> pl.DataFrame:
    """Find attempts that start later than promised though no resource was lost meanwhile."""
    taken = placed.filter(
        pl.col("blocked"), (pl.col("start_time") < pl.col("end_time")).fill_null(value=True)
    )
    lost = capacity.time[~capacity.planned & (capacity.change < 0).any(axis=1)]
    losses = np.sort(np.concatenate((lost, taken["start_time"].drop_nulls().to_numpy())))
    late = placed.filter(~pl.col("blocked"), pl.col("start_time") > pl.col(PLANNED))
    promised = late["arrival_time"].to_numpy()
    if snapshot_time is not None:
        promised = np.maximum(promised, snapshot_time)
    before, then = (
        np.searchsorted(losses, times, side="right")
        for times in (promised, late["start_time"].to_numpy())
    )
    kept = late.filter(pl.Series(then == before, dtype=pl.Boolean))
    by = pl.col("start_time") - pl.col(PLANNED)
    return _finding(Check.LATER_THAN_PLANNED, kept, "start_time", by)


def _requests(rows: pl.DataFrame, capacity: Capacity) -> Ints:
    return np.column_stack([rows[name].cast(pl.Int64).to_numpy() for name in capacity.resources])


def _optional(
    frame: pl.DataFrame, column: str, kind: type[pl.Int64 | pl.Boolean] = pl.Int64
) -> pl.Expr:
    values = pl.col(column) if column in frame.columns else pl.lit(None)
    return values.cast(kind).alias(column)


def _finding(check: Check, faults: pl.DataFrame, at: str, amount: pl.Expr) -> pl.DataFrame:
    """Return rows of ``FINDINGS`` with the position of the attempt, null for a stranger."""
    position = pl.col("position") if "position" in faults.columns else pl.lit(None)
    return faults.select(
        pl.lit(str(check)).alias("check"),
        *KEYS,
        pl.col(at).cast(pl.Int64).alias("at"),
        amount.cast(pl.Int64).alias("amount"),
        position.cast(pl.UInt32).alias("position"),
    )


# --- limits and windows --------------------------------------------------------------------------

_LAST: Final = 1 << 40  # longer than any schedule, s


def beyond(limits: AttemptLimits, attempt: Ints, start: Ints, end: Ints, blocked: Bools) -> Ints:
    """Return by how much each row's start exceeds what its counters allow, over all limits.

    Within an instant blocked attempts come and go first, then come the starts, in unknown order: an
    attempt bound by a limit must fit beside all that runs through the instant and all others that
    are bound and start then; one without occupancy, beside what runs through it. Limits on
    remaining times are not checked: they depend on estimates, which a schedule does not have.

    Args:
        attempt: the attempt of each row, one of the n of ``limits``.
        start, end: of each row, epoch s; known.

    Returns:
        Per row; 0: no excess; in a closed window 1 or more.
    """
    excess = np.zeros(len(attempt), np.int64)
    if not limits.some or len(attempt) == 0:
        return excess
    begin = limits.first[attempt]
    row, at = ranges(begin, limits.first[attempt + 1] - begin)
    counter, amount = limits.counter[at], limits.amount[at]
    begins, ends, aside = start[row], end[row], blocked[row]
    brief = begins == ends
    binds = limits.binding[at] & ~aside & ~limits.remaining[counter]

    def total(of: Bools, times: Ints, until: Ints) -> Ints:
        amounts = np.where(brief, 0, amount)[of]
        return _totals(counter[of], times[of], amounts, counter, until)

    gone = total(~brief, ends, begins)
    through = total(~aside, begins, begins - 1) + total(aside, begins, begins) - gone
    together = through + total(binds, begins, begins) - total(binds, begins, begins - 1)
    used = np.where(brief, through + amount, together) + _closed(limits, counter, begins)
    over = np.where(binds, np.maximum(used - limits.most[counter], 0), 0)
    np.maximum.at(excess, row, over)
    return excess


def hindered(limits: AttemptLimits, attempt: Ints, runs_on: Ints) -> Bools:
    """Return whether the attempts ``runs_on``, which never end, keep each attempt from starting."""
    used = np.zeros(len(limits.most), np.int64)
    for k in runs_on.tolist():
        own = slice(limits.first[k], limits.first[k + 1])
        np.add.at(used, limits.counter[own], limits.amount[own])
    full = limits.binding & ~limits.remaining[limits.counter]
    full &= (used[limits.counter] + limits.amount) > limits.most[limits.counter]
    so_far = np.concatenate(([0], np.cumsum(full)))
    return so_far[limits.first[attempt + 1]] > so_far[limits.first[attempt]]


def _closed(limits: AttemptLimits, counter: Ints, until: Ints) -> Ints:
    edges = limits.edges
    if edges.cycle:  # after the known edges the last period repeats
        last = edges.time[-edges.cycle] + edges.period - 1
        repeated = last - (edges.period - 1) + (until - last - 1) % edges.period
        until = np.where(until > last, repeated, until)
    return _totals(edges.counter, edges.time, edges.change, counter, until)


def _totals(of: Ints, times: Ints, amounts: Ints, counter: Ints, until: Ints) -> Ints:
    if len(times) == 0:
        return np.zeros(len(counter), np.int64)
    origin = min(int(times.min()), int(until.min(initial=times.min())))
    order = np.lexsort((times, of))
    sums = np.concatenate(([0], np.cumsum(amounts[order])))
    key = of[order] * _LAST + np.minimum(times[order] - origin, _LAST - 1)
    low = np.searchsorted(key, counter * _LAST)
    high = np.searchsorted(key, counter * _LAST + until - origin, side="right")
    return sums[high] - sums[low]
