"""The schedule check: a machine that refuses impossible schedules (SPEC §4, last paragraph).

A schedule is sound where nothing starts before it arrives or ends before it starts, no start
overfills the pool, every attempt that was asked for is there once with the occupancy it really
had, and, under ``conservative``, none starts later than first planned.

Conventions: times are epoch seconds, an attempt holds its size over ``[start, end)``. What is
found is data, one row of ``FINDINGS`` each, in a fixed order; ``require_sound`` makes it an error.
The check knows no policy: it says that a schedule is possible, not that EASY would have made it.
"""

from enum import StrEnum
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import SimulationError

IntArray = NDArray[np.int64]

KEY: Final = ("cluster", "job_id", "attempt")
PLANNED: Final = "planned_start_time"
"""Optional column of a schedule: the start first promised to an attempt, epoch seconds."""


class Check(StrEnum):
    """What can be wrong with an attempt; the unit of ``amount`` in brackets."""

    LOST = "lost"
    """Neither started nor larger than the pool [rows of the schedule without a start]."""
    STRANGER = "stranger"
    """In the schedule but not among the attempts that were to be scheduled [rows]."""
    TWICE = "twice"
    """More than one row of the schedule [rows]."""
    STARTS_BEFORE_ARRIVAL = "starts_before_arrival"
    """[seconds too early]"""
    ENDS_BEFORE_START = "ends_before_start"
    """[seconds]"""
    OCCUPANCY_CHANGED = "occupancy_changed"
    """It runs for longer (+) or shorter (−) than it really did [seconds]."""
    OVER_CAPACITY = "over_capacity"
    """It starts at an instant after which more than the capacity is in use [resource]."""
    LATER_THAN_PLANNED = "later_than_planned"
    """It starts after the start it was first promised [seconds]."""


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


def check_schedule(
    schedule: pl.DataFrame,
    attempts: pl.DataFrame,
    capacity: int,
    *,
    snapshot_time: int | None = None,
) -> pl.DataFrame:
    """Everything that makes ``schedule`` impossible for ``attempts`` on a pool of ``capacity``.

    Args:
        schedule: ``cluster, job_id, attempt, start_time, end_time``, and ``planned_start_time``
            where starts were promised. A null end is an attempt that runs on. May be the same
            frame as ``attempts``: an observed schedule is checked as it is.
        attempts: ``cluster, job_id, attempt, arrival_time, size``, and ``occupancy_s`` where the
            occupancy is to be compared (null: not compared). Those that were to start: leave out
            what never started. Attempts larger than ``capacity`` need not start.
        capacity: amount of the counted resource, constant, ≥ 0.
        snapshot_time: what started before it was running in the snapshot that the simulation
            began from, and may hold more than the capacity. What starts from then on may not add
            to that: free amounts may be negative, but then nothing starts (SPEC §4, *fits*).

    Returns:
        ``FINDINGS``, in the order of ``Check``, then of the instant, then of ``attempts``; empty
        where the schedule is sound.

    Raises:
        SimulationError: an arrival or size is unknown, a size is negative, or an attempt is
            listed twice in ``attempts``: then there is nothing to check against.

    Source: SPEC §4.
    """
    asked = _asked(attempts)
    rows = schedule.select(*KEY, "start_time", "end_time", _optional(schedule, PLANNED))
    placed = rows.join(asked, on=KEY, how="inner", nulls_equal=True, maintain_order="left")
    findings = [
        *_presence(rows, asked, capacity),
        *_times(placed),
        _over_capacity(placed, capacity, snapshot_time),
        _finding(
            Check.LATER_THAN_PLANNED,
            placed.filter(pl.col("start_time") > pl.col(PLANNED)),
            at="start_time",
            amount=pl.col("start_time") - pl.col(PLANNED),
        ),
    ]
    return (
        pl.concat(findings)
        .with_columns(pl.col("check").cast(pl.Enum([str(check) for check in Check])))
        .sort("check", "at", "position", *KEY, nulls_last=True, maintain_order=True)
        .with_columns(pl.col("check").cast(pl.String))
        .select(FINDINGS.names())
    )


def require_sound(findings: pl.DataFrame, what: str = "schedule") -> None:
    """Raises SimulationError that tells the first of ``findings``, if there is any."""
    if findings.is_empty():
        return
    told = [
        f"{row['check']}: job {row['job_id']}, attempt {row['attempt']}"
        + (f", at {row['at']}" if row["at"] is not None else "")
        + f", by {row['amount']}"
        for row in findings.head(5).iter_rows(named=True)
    ]
    more = f"\n  and {findings.height - 5} more" if findings.height > 5 else ""
    raise SimulationError(
        f"{what} fails its check; this is a defect of the scheduler that made it:\n  "
        + "\n  ".join(told)
        + more
    )


def _asked(attempts: pl.DataFrame) -> pl.DataFrame:
    """Arrival, size and occupancy of the attempts that were to be scheduled, positions added."""
    asked = attempts.select(
        *KEY, "arrival_time", "size", _optional(attempts, "occupancy_s")
    ).with_row_index("position")
    for column in ("arrival_time", "size"):
        if asked[column].null_count():
            raise SimulationError(
                f"schedule check: {column} is unknown for {asked[column].null_count()} attempts; "
                "leave them out, or give the value that the scheduler was given"
            )
    if asked.filter(pl.col("size") < 0).height:
        raise SimulationError("schedule check: a size is negative")
    if asked.select(KEY).is_duplicated().any():
        raise SimulationError("schedule check: an attempt is listed twice among those to schedule")
    return asked


def _presence(rows: pl.DataFrame, asked: pl.DataFrame, capacity: int) -> list[pl.DataFrame]:
    """Attempts lost, strangers, attempts with more than one row."""
    counts = rows.group_by(KEY, maintain_order=True).agg(
        rows=pl.len(), starts=pl.col("start_time").count(), at=pl.col("start_time").max()
    )
    both = asked.join(counts, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    strangers = counts.join(asked, on=KEY, how="anti", nulls_equal=True, maintain_order="left")
    return [
        _finding(
            Check.LOST,
            both.filter(pl.col("starts").fill_null(0) == 0, pl.col("size") <= capacity),
            at="arrival_time",
            amount=pl.col("rows").fill_null(0),
        ),
        _finding(Check.STRANGER, strangers, at="at", amount=pl.col("rows")),
        _finding(Check.TWICE, both.filter(pl.col("rows") > 1), at="at", amount=pl.col("rows")),
    ]


def _times(placed: pl.DataFrame) -> list[pl.DataFrame]:
    """Starts before arrivals, ends before starts, occupancies that are not the real ones."""
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


def _over_capacity(placed: pl.DataFrame, capacity: int, snapshot_time: int | None) -> pl.DataFrame:
    """Attempts that start at an instant which leaves more in use than the capacity.

    Two conditions hold for each start at t, and together suffice, as within one instant what has
    no occupancy can go first: what has an occupancy fits beside all that runs right after t; what
    has none fits beside what runs through t, from before t to after it.
    """
    rows = placed.filter(pl.col("start_time").is_not_null(), pl.col("size") > 0)
    start = rows["start_time"].to_numpy()
    size = rows["size"].to_numpy()
    # No end: it runs on beyond everything. An end before the start is a finding of its own, and
    # holds nothing here.
    forever = np.iinfo(np.int64).max
    end = np.maximum(rows["end_time"].fill_null(forever).to_numpy(), start)
    brief = end == start
    lasting_start, lasting_end, lasting_size = start[~brief], end[~brief], size[~brief]
    ended = _total_at(lasting_end, lasting_size, start, "right")
    right_after = _total_at(lasting_start, lasting_size, start, "right") - ended
    through = _total_at(lasting_start, lasting_size, start, "left") - ended
    excess = np.where(brief, through + size, right_after) - capacity
    given = np.zeros(len(start), bool) if snapshot_time is None else start < snapshot_time
    faults = rows.with_columns(pl.Series("excess", excess)).filter(pl.Series((excess > 0) & ~given))
    return _finding(Check.OVER_CAPACITY, faults, at="start_time", amount=pl.col("excess"))


def _total_at(
    instants: IntArray, amounts: IntArray, times: IntArray, side: Literal["left", "right"]
) -> IntArray:
    """Sum of the ``amounts`` whose instant is before (left) or not after (right) each time."""
    order = np.argsort(instants, kind="stable")
    totals = np.concatenate((np.zeros(1, np.int64), np.cumsum(amounts[order])))
    found: IntArray = totals[np.searchsorted(instants[order], times, side=side)]
    return found


def _optional(frame: pl.DataFrame, column: str) -> pl.Expr:
    """The int64 ``column`` of ``frame``, or nulls where it has none."""
    return (
        (pl.col(column) if column in frame.columns else pl.lit(None)).cast(pl.Int64).alias(column)
    )


def _finding(check: Check, faults: pl.DataFrame, *, at: str, amount: pl.Expr) -> pl.DataFrame:
    """Rows of ``FINDINGS`` with the position of the attempt, null for a stranger's."""
    position = pl.col("position") if "position" in faults.columns else pl.lit(None)
    return faults.select(
        pl.lit(str(check)).alias("check"),
        *KEY,
        pl.col(at).cast(pl.Int64).alias("at"),
        amount.cast(pl.Int64).alias("amount"),
        position.cast(pl.UInt32).alias("position"),
    )
