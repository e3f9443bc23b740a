"""The schedule check: it refuses impossible schedules (SPEC §4, last paragraph).

A schedule is sound if nothing starts before it arrives or ends before it starts; no start exceeds
the capacity, a limit or a window; every attempt is there once with its real occupancy; and, under
``conservative``, none starts later than first promised (a limit that forbids a planned start voids
the promise).

Conventions: times are epoch seconds, an attempt holds what it requests over ``[start, end)``.
Findings are rows of ``FINDINGS``, in a fixed order; ``require_sound`` raises them. The check knows
no policy: a sound schedule is possible, not necessarily what EASY would have made.
"""

from enum import StrEnum
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl

from audit.errors import SimulationError
from audit.metrics.attempts.contention import counted_resources
from audit.model import Pool
from audit.scenario.engine import PLANNED
from audit.scenario.limit_check import beyond, hindered
from audit.scenario.limits import UNLIMITED, Bools, Ints, Limits
from audit.scenario.workload import KEYS, NEVER, Workload, instants, workload


class Check(StrEnum):
    """Faults of an attempt; the unit of ``amount`` in brackets."""

    LOST = "lost"
    """Not started, and nothing prevents it for ever [rows of the schedule without a start]."""
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
    """After its start more than the capacity is in use [resource: the first of which it is so]."""
    BEYOND_LIMIT = "beyond_limit"
    """A limit or a window forbids its start [amount or attempts in excess; window: 1 or more]."""
    LATER_THAN_PLANNED = "later_than_planned"
    """It starts after the start first promised, though the pool lost nothing [seconds]."""


FINDINGS: Final = pl.Schema(
    {
        "check": pl.String,  # Check
        "cluster": pl.String,
        "job_id": pl.String,
        "attempt": pl.Int64,
        "at": pl.Int64,  # the instant of the fault; null for what has no instant
        "amount": pl.Int64,  # by how much, see Check
    }
)
"""One row per fault found."""


class Capacity(NamedTuple):
    """The capacity of a pool in R resources, in S steps."""

    resources: tuple[str, ...]
    """Columns of the requests."""
    amounts: Ints  # [R], before all steps
    time: Ints  # [S], ascending
    change: Ints  # [S, R], what each step adds
    planned: Bools  # [S], whether planners knew

    @classmethod
    def constant(cls, amount: int) -> "Capacity":
        """Return a constant ``amount`` of what the column ``size`` requests."""
        none = np.zeros(0, np.int64)
        return cls(("size",), np.array([amount]), none, none.reshape(0, 1), none.astype(np.bool_))

    @property
    def levels(self) -> Ints:
        """Capacity before all steps and after each: [S + 1, R], may be negative."""
        levels: Ints = np.vstack((self.amounts, self.amounts + self.change.cumsum(axis=0)))
        return levels

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
    limits: Limits = UNLIMITED,
) -> pl.DataFrame:
    """Find everything that makes ``schedule`` impossible for ``attempts`` on ``capacity``.

    Args:
        schedule: ``cluster, job_id, attempt, start_time, end_time``, and ``planned_start_time``
            where starts were promised. An attempt with a null end runs on. May be the same frame as
            ``attempts``, to check an observed schedule.
        attempts: ``cluster, job_id, attempt, arrival_time``, the columns that ``capacity`` names,
            and ``occupancy_s`` where the occupancy is to be compared. Attempts that request more
            than the largest capacity need not start; nor need any whose row has no start, where one
            requests more than is left in the end and may block the queue for ever. Where
            ``blocked`` is true, the attempt takes from the capacity as a step, for as long as the
            schedule says (SPEC §5).
        capacity: all ≥ 0 before the first step. A number is of ``size``.
        snapshot_time: attempts that started before it were running when the simulation began, and
            may exceed the capacity. Nothing may start from then on that adds to that.
        limits: of the ``attempts``, row for row; those that can never start need not.

    A step may take away what is in use; from then on starts must fit. A start may be later than
    promised where the pool lost something unforeseen between the promise and that start.

    Returns:
        ``FINDINGS``, in the order of ``Check``, then of the instant, then of ``attempts``.

    Raises:
        SimulationError: an arrival or request is unknown, a request is negative, or an attempt is
            listed twice in ``attempts``.

    Source: SPEC §4, §5.
    """
    has = Capacity.constant(capacity) if isinstance(capacity, int) else capacity
    asked = _asked(attempts, has.resources)
    rows = schedule.select(*KEYS, "start_time", "end_time", _optional(schedule, PLANNED))
    placed = rows.join(asked, on=KEYS, how="inner", nulls_equal=True, maintain_order="left")
    own = placed.filter(~pl.col("blocked"))
    findings = [
        *_presence(rows, asked, placed, has, limits),
        *_times(own),
        _over_capacity(placed, has, snapshot_time),
        _beyond_limit(placed, limits, snapshot_time),
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
    """Find everything that makes ``schedule`` impossible for ``described`` on ``pool``.

    Args:
        schedule: see ``engine.simulate``. Open attempts, which have no end there, run for as long
            as the simulation assumes.
        described: the attempts that it was made of, columns of ``model.DESCRIBED``.

    Returns:
        ``FINDINGS``, see ``check_schedule``.
    """
    work, keys = workload(described, pool, now)
    own = described.filter(pl.col("pool") == pool.name)
    others = own.join(keys, on=KEYS, how="anti", nulls_equal=True)  # those left as they were
    rows = schedule.join(others, on=KEYS, how="anti", nulls_equal=True, maintain_order="left")
    assumed = keys.with_columns(_occupancy=pl.Series(work.occupancy))
    ended = rows.join(assumed, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    end = pl.coalesce("end_time", pl.col("start_time") + pl.col("_occupancy"))
    resources = tuple(counted_resources(pool))
    return check_schedule(
        ended.with_columns(end_time=end),
        _attempts(work, keys, resources),
        _capacity(work, resources),
        limits=work.limits,
    )


def check_replay(
    work: Workload, start: Ints, planned: Ints, from_time: int | None = None
) -> pl.DataFrame:
    """Find everything that makes the starts of a replay impossible.

    Args:
        start, planned: start and promised start of each attempt; NEVER: none.
        from_time: when the replay began, see ``engine.replay``.

    Returns:
        ``FINDINGS``, see ``check_schedule``; ``job_id`` is the position of the attempt.
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
        left = (work.start < from_time) & ~running
        unknown = (work.arrival < from_time) & (work.start == NEVER) & ~work.open
        begun, end = np.where(running, work.start, begun), np.where(running, work.end, end)
        taking_part = ~left & ~unknown
    frame = keys.with_columns(
        instants(times).alias(name)
        for name, times in (("start_time", begun), ("end_time", end), (PLANNED, planned))
    )
    resources = tuple(f"resource_{x}" for x in range(len(work.capacity)))
    return check_schedule(
        frame.filter(pl.Series(taking_part, dtype=pl.Boolean)),
        _attempts(work, keys, resources).filter(pl.Series(taking_part, dtype=pl.Boolean)),
        _capacity(work, resources),
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


def _attempts(work: Workload, keys: pl.DataFrame, resources: tuple[str, ...]) -> pl.DataFrame:
    """Return the attempts of ``work`` as ``check_schedule`` takes them."""
    request = work.request.reshape(len(work.arrival), len(resources))
    return keys.with_columns(
        pl.Series("arrival_time", work.arrival),
        *(pl.Series(name, request[:, x]) for x, name in enumerate(resources)),
        pl.Series("occupancy_s", work.occupancy),
        pl.Series("blocked", work.blocked),
    )


def _capacity(work: Workload, resources: tuple[str, ...]) -> Capacity:
    """Return the capacity for the attempts of ``work``."""
    change = work.step_change.reshape(len(work.step_time), len(resources))
    return Capacity(resources, work.capacity, work.step_time, change, work.step_planned)


def _asked(attempts: pl.DataFrame, resources: tuple[str, ...]) -> pl.DataFrame:
    """Return arrival, requests, occupancy and position of the attempts to schedule."""
    blocked = pl.col("blocked") if "blocked" in attempts.columns else pl.lit(value=False)
    asked = attempts.select(
        *KEYS,
        "arrival_time",
        *resources,
        _optional(attempts, "occupancy_s"),
        blocked.fill_null(value=False).alias("blocked"),
    ).with_row_index("position")
    for column in ("arrival_time", *resources):
        if asked[column].null_count():
            raise SimulationError(
                f"schedule check: {column} is unknown for {asked[column].null_count()} attempts; "
                "leave them out, or pass what the scheduler used"
            )
    for column in resources:
        if asked.filter(pl.col(column) < 0).height:
            raise SimulationError(f"schedule check: a {column} is negative")
    if asked.select(KEYS).is_duplicated().any():
        raise SimulationError("schedule check: an attempt is listed twice among those to schedule")
    return asked


def _presence(
    rows: pl.DataFrame,
    asked: pl.DataFrame,
    placed: pl.DataFrame,
    capacity: Capacity,
    limits: Limits,
) -> list[pl.DataFrame]:
    """Find lost attempts, strangers, and attempts with more than one row."""
    counts = rows.group_by(KEYS, maintain_order=True).agg(
        rows=pl.len(), starts=pl.col("start_time").count(), at=pl.col("start_time").max()
    )
    both = asked.join(counts, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    strangers = counts.join(asked, on=KEYS, how="anti", nulls_equal=True, maintain_order="left")
    waits = both.filter(pl.col("starts").fill_null(0) == 0, ~pl.col("blocked"))
    request = _requests(waits, capacity)
    queued = (request <= capacity.largest).all(axis=1)
    runs_on = placed.filter(pl.col("start_time").is_not_null(), pl.col("end_time").is_null())
    left = capacity.levels[-1] - _requests(runs_on, capacity).sum(axis=0)
    stuck = queued & ((request > 0) & (request > left)).any(axis=1)
    if limits.some:
        waiting = waits["position"].to_numpy().astype(np.int64)
        on = runs_on["position"].to_numpy().astype(np.int64)
        queued &= ~limits.exceeded[waiting] & ~hindered(limits, waiting, on)
    if stuck.any():  # it may head the queue for ever
        queued &= waits["rows"].is_null().to_numpy()
    return [
        _finding(
            Check.LOST,
            waits.filter(pl.Series(queued, dtype=pl.Boolean)),
            at="arrival_time",
            amount=pl.col("rows").fill_null(0),
        ),
        _finding(Check.STRANGER, strangers, at="at", amount=pl.col("rows")),
        _finding(Check.TWICE, both.filter(pl.col("rows") > 1), at="at", amount=pl.col("rows")),
    ]


def _times(placed: pl.DataFrame) -> list[pl.DataFrame]:
    """Find starts before arrivals, ends before starts, and changed occupancies."""
    start, end, arrival = pl.col("start_time"), pl.col("end_time"), pl.col("arrival_time")
    gain = (end - start) - pl.col("occupancy_s")
    return [
        _finding(
            Check.STARTS_BEFORE_ARRIVAL,
            placed.filter(start < arrival),
            at="start_time",
            amount=arrival - start,
        ),
        _finding(
            Check.ENDS_BEFORE_START, placed.filter(end < start), at="end_time", amount=start - end
        ),
        _finding(Check.OCCUPANCY_CHANGED, placed.filter(gain != 0), at="end_time", amount=gain),
    ]


def _over_capacity(
    placed: pl.DataFrame, capacity: Capacity, snapshot_time: int | None
) -> pl.DataFrame:
    """Find attempts whose start leaves more in use than the capacity.

    An attempt that starts at t must fit beside all that runs right after t; without occupancy,
    beside what runs from before t to after it, as it can go first. Blocked attempts come and go as
    steps do, before all passes.
    """
    rows, start, end, blocked = _started(placed)
    request = _requests(rows, capacity)
    brief = end == start
    own, steps = ~brief & ~blocked, ~brief & blocked
    has = capacity.at(start)
    excess = np.zeros(len(start), np.int64)
    for x in reversed(range(len(capacity.resources))):
        asks = request[:, x]
        ended = _total_at(end[~brief], asks[~brief], start, "right")
        taken = _total_at(start[steps], asks[steps], start, "right") - ended
        right_after = taken + _total_at(start[own], asks[own], start, "right")
        through = taken + _total_at(start[own], asks[own], start, "left")
        over = np.where(brief, through + asks, right_after) - has[:, x]
        excess = np.where((over > 0) & (asks > 0), over, excess)
    return _exceeding(Check.OVER_CAPACITY, rows, excess, snapshot_time)


def _beyond_limit(placed: pl.DataFrame, limits: Limits, snapshot_time: int | None) -> pl.DataFrame:
    """Find attempts whose start limits or windows forbid."""
    rows, start, end, blocked = _started(placed)
    position = rows["position"].to_numpy().astype(np.int64)
    excess = beyond(limits, position, start, end, blocked)
    return _exceeding(Check.BEYOND_LIMIT, rows, excess, snapshot_time)


def _started(placed: pl.DataFrame) -> tuple[pl.DataFrame, Ints, Ints, Bools]:
    """Return the rows that start, with start and end, and whether each is blocked."""
    rows = placed.filter(pl.col("start_time").is_not_null())
    start = rows["start_time"].to_numpy()
    # an end before the start is another finding
    end = np.maximum(rows["end_time"].fill_null(NEVER).to_numpy(), start)
    return rows, start, end, rows["blocked"].to_numpy()


def _exceeding(
    check: Check, rows: pl.DataFrame, excess: Ints, snapshot_time: int | None
) -> pl.DataFrame:
    """Return findings where there is an ``excess`` and the start was the simulation's to choose."""
    given = pl.col("blocked")
    if snapshot_time is not None:
        given |= pl.col("start_time") < snapshot_time
    faults = rows.with_columns(excess=pl.Series(excess)).filter(pl.col("excess") > 0, ~given)
    return _finding(check, faults, at="start_time", amount=pl.col("excess"))


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
    before = np.searchsorted(losses, promised, side="right")
    kept = np.searchsorted(losses, late["start_time"].to_numpy(), side="right") == before
    return _finding(
        Check.LATER_THAN_PLANNED,
        late.filter(pl.Series(kept, dtype=pl.Boolean)),
        at="start_time",
        amount=pl.col("start_time") - pl.col(PLANNED),
    )


def _requests(rows: pl.DataFrame, capacity: Capacity) -> Ints:
    """Return what each of the ``rows`` requests: [n, R]."""
    return np.column_stack([rows[name].cast(pl.Int64).to_numpy() for name in capacity.resources])


def _total_at(at: Ints, amounts: Ints, times: Ints, side: Literal["left", "right"]) -> Ints:
    """Return the sum of the ``amounts`` before each time (left), or up to it (right)."""
    order = np.argsort(at, kind="stable")
    totals = np.concatenate((np.zeros(1, np.int64), np.cumsum(amounts[order])))
    found: Ints = totals[np.searchsorted(at[order], times, side=side)]
    return found


def _optional(frame: pl.DataFrame, column: str) -> pl.Expr:
    """Return the int64 ``column`` of ``frame``, or nulls."""
    return (
        (pl.col(column) if column in frame.columns else pl.lit(None)).cast(pl.Int64).alias(column)
    )


def _finding(check: Check, faults: pl.DataFrame, *, at: str, amount: pl.Expr) -> pl.DataFrame:
    """Return rows of ``FINDINGS`` with the position of the attempt, null for a stranger."""
    position = pl.col("position") if "position" in faults.columns else pl.lit(None)
    return faults.select(
        pl.lit(str(check)).alias("check"),
        *KEYS,
        pl.col(at).cast(pl.Int64).alias("at"),
        amount.cast(pl.Int64).alias("amount"),
        position.cast(pl.UInt32).alias("position"),
    )
