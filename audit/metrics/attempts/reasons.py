"""Recorded reasons of waits: which attempts were held or blocked (SPEC §5, §10).

The log keeps the last reason that was recorded. A reason that a modelled limit covers does not
block an attempt, since the model itself holds it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Bools
from audit.model import Limit, Scope
from audit.registry.reasons import OTHER, REASONS, Reason
from audit.rules import KINDS
from audit.words import kind_of

NO_END: Final = int(np.iinfo(np.int64).max)
NO_HOLDS: Final = pl.DataFrame(
    schema={"row": pl.Int64, "begin": pl.Int64, "end": pl.Int64, "kind": pl.String}
)
"""``row`` counts the rows of a frame of attempts; begin and end are epoch s; kind is one of
``registry.reasons.HELD_BY`` or ``PLANNED``, else the name of a rule that was recorded."""
REFILLED_S: Final = 60
"""Time within which a place among an array's running tasks is taken again, s."""
LARGEST_ARRAY: Final = 5_000
"""Tasks of an array whose throttle is considered; in larger ones it would cost too much."""

LIMITING: Final = r"(?i)limit|max|^assoc|^qos"  # those of them that name a limit

NOT_MODELLED: Final = r"(?i)min|submit|pernode|array|^partitionnode|grpwall"
"""Limits that no model has: on sums over time (CPUMinutes, CPUMins), least amounts, queued jobs,
single nodes and arrays, and the nodes of a partition's jobs."""

UNNAMED: Final = "AccountingPolicy"
"""The reason of a limit that the scheduler does not name."""
_WHOSE: Final = r"(?i)per_?(job|user|account|acct)"
_NAMED: Final = {
    None: r"(?i)job",
    "cpus": r"(?i)cpu|proc|core",
    "nodes": r"(?i)node",
    "gpus": r"(?i)gpu|gres",
    "mem_bytes": r"(?i)mem",
}
_WALLTIME: Final = r"(?i)wall|time"
"""Patterns of reasons that name a limit on attempts, on a resource, or on walltimes."""


def _by_kind(values: Sequence[object]) -> pl.Expr:
    """Return one of the values for each recorded reason, in the order of ``REASONS``, or null.

    A requeued or preempted attempt does not inherit the reason of the previous one.
    """
    found = pl.lit(None)
    for one, value in reversed(list(zip(REASONS, values, strict=True))):
        matches = pl.col("reason").str.contains(f"(?i){one.pattern}")
        found = pl.when(matches).then(pl.lit(value)).otherwise(found)
    return pl.when(pl.col("attempt") == 1).then(found)


def blocked() -> pl.Expr:
    """Return whether the recorded reason is something other than the attempt's turn."""
    return _by_kind([one.blocks for one in REASONS]).fill_null(value=False)


def hold_kind(held: pl.DataFrame) -> pl.Series:
    """Return the hold that each recorded reason names, one of ``HELD_BY``, or null."""
    return held.select(_by_kind([one.held_by for one in REASONS]).alias("held_by")).to_series()


def reason_of(text: str) -> Reason:
    """Return the kind of a recorded reason."""
    return next((one for one in REASONS if re.search(one.pattern, text, re.IGNORECASE)), OTHER)


def held_up(held: pl.DataFrame, limits: Iterable[Limit]) -> Bools:
    """Return which attempts were *blocked*: for a reason that no modelled limit covers, [n].

    Source: SPEC §5, *Status*; §10, *Limits*.
    """
    found: Bools = held.select(blocked()).to_series().to_numpy()
    return found & ~covered(held, limits) if found.any() else found


def covered(held: pl.DataFrame, limits: Iterable[Limit]) -> Bools:
    """Return which recorded reasons name a modelled limit that applies to the attempt, [n].

    ``held``: as for ``in_scope``, and reason.
    """
    found = np.zeros(held.height, np.bool_)
    reason = pl.col("reason").str.replace_all(_WHOSE, "")
    for limit in limits:
        named = _NAMED[limit.resource and kind_of(limit.resource)]
        if limit.walltime_above_s is not None:
            named = _WALLTIME
        speaks_of_it = held.select(
            reason.str.contains(f"{named}|{UNNAMED}").fill_null(value=False)
        ).to_series()
        theirs = in_scope(held, limit) & ~any_of(held["qos"], limit.exempt_qos)
        found |= speaks_of_it.to_numpy() & theirs
    limiting = pl.col("reason").str.contains(LIMITING) & ~pl.col("reason").str.contains(
        NOT_MODELLED
    )
    found &= held.select(limiting.fill_null(value=False)).to_series().to_numpy()
    if "array_throttle" in held.columns:
        own = pl.col("array_throttle").is_not_null() & pl.col("reason").str.contains("(?i)array")
        found |= held.select(own.fill_null(value=False)).to_series().to_numpy()
    return found


def names_throttles(attempts: pl.DataFrame) -> bool:
    """Return whether any attempt has a throttle."""
    column = attempts.get_column("array_throttle", default=None)
    return column is not None and column.null_count() < len(column)


def throttle() -> pl.Expr:
    """Return the throttle of each task's array; null: none, or it has too many tasks."""
    most = pl.when(pl.len() <= LARGEST_ARRAY).then(pl.col("array_throttle").max())
    return most.over("job_number")


def throttled(described: pl.DataFrame) -> pl.DataFrame:
    """Return when the throttles of job arrays kept tasks from starting.

    A throttle N holds the waiting tasks of its array while N others run. A place that is taken
    again within ``REFILLED_S`` was not free for those behind the task that took it. If the log
    gives the throttle with some tasks only, it holds for the whole array.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool.

    Returns:
        Columns of ``NO_HOLDS``; those of an attempt ascend.
    """
    if not names_throttles(described):
        return NO_HOLDS
    tasks = (
        described.with_row_index("row")
        .with_columns(most=throttle())
        .filter(pl.col("most").is_not_null())
        .sort("job_number", "row")
    )
    rows = list[tuple[int, int, int, str]]()
    for array in tasks.partition_by("job_number", maintain_order=True):
        ran = array.filter(pl.col("start_time").is_not_null()).select(
            start="start_time", end=pl.col("end_time").fill_null(NO_END)
        )
        full = _full(ran["start"].to_numpy(), ran["end"].to_numpy(), int(array["most"][0]))
        waits = array.select(
            "row", "arrival_time", pl.coalesce("start_time", "end_time").fill_null(NO_END)
        )
        joined = _joined(full)
        ends, begins = [end for _, end in joined], [begin for begin, _ in full]
        for row, arrival, leaves in waits.drop_nulls().iter_rows():
            for place in range(bisect_right(ends, arrival), len(joined)):
                begin, end = joined[place]
                if begin >= leaves:
                    break
                # a gap that ends when the task leaves was its own place
                last = full[bisect_left(begins, leaves) - 1][1] if end > leaves else end
                if min(last, leaves) > arrival:
                    rows.append((row, max(begin, arrival), min(last, leaves), "array"))
    return pl.DataFrame(rows, NO_HOLDS.schema, orient="row")


def _full(start: NDArray[np.int64], end: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Return the stretches in which at least ``most`` tasks run."""
    times = np.unique(np.concatenate((start, end)))
    running = np.searchsorted(np.sort(start), times, "right") - np.searchsorted(
        np.sort(end), times, "right"
    )
    full = np.concatenate(([False], running >= most, [False]))
    edges = np.flatnonzero(full[1:] != full[:-1])
    times = np.append(times, NO_END)
    pairs = times[edges].reshape(-1, 2).tolist()
    return [(begin, end) for begin, end in pairs]


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in stretches:
        if joined and begin - joined[-1][1] <= REFILLED_S:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    return joined


def in_scope(held: pl.DataFrame, scope: Scope) -> Bools:
    """Return which attempts are in a scope, [n].

    ``held``: columns user, account, qos, partition, walltime_s, occupancy (s), size.
    """
    inside = np.ones(held.height, np.bool_)
    for name in KINDS:
        names = getattr(scope, name)
        if names is not None:
            inside &= any_of(held[name], names)
    if scope.walltime_above_s is not None:
        walltime = held["walltime_s"].fill_null(held["occupancy"]).fill_null(0).to_numpy()
        inside &= walltime > scope.walltime_above_s
    if scope.size_above is not None:
        inside &= held["size"].fill_null(0).to_numpy() > scope.size_above
    if scope.size_up_to is not None:
        inside &= held["size"].fill_null(0).to_numpy() <= scope.size_up_to
    return inside


def any_of(column: pl.Series, names: Sequence[str]) -> Bools:
    """Return which elements are one of these names."""
    found: Bools = column.is_in(list(names)).fill_null(value=False).to_numpy()
    return found
