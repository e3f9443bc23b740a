"""Anatomy of waits: what the pool was like while an attempt waited, without a model (SPEC §10).

With free(t) = capacity(t) − used(t) of each resource, used by all attempts with start ≤ t < end,
each second of the wait [arrival_j, start_j) belongs to one part. Where j fits in free(t):

    room      it still fits after all that wait and come before it in (arrival, submit, sequence),
              and fit, took theirs in that order
    shared    it does not: the room was for others first

Where it does not fit:

    down      it asks for more than capacity(t)
    else the second is divided by what is in use of the *short resource*, that with the greatest
    (request − free)/capacity (of several: the counted one, then the one named first):
    own       by attempts of the same user
    earlier   by others that come before j in that order
    later     by others that come after it

room + shared + own + earlier + later + down = wait, up to rounding. Dividing by occupancy says who
was there, not what they cost. Room is an upper bound of what no competition explains: sums of a
pool do not see fragments or features of nodes.

Conventions: an unknown request is 0, and 0 fits always. Of an unknown user nothing is known to be
its own. Attempts that never started wait until they are cancelled, open ones until ``now``, blocked
ones and those in reservations do not wait; reservations leave the pool with what they hold. Who was
held by a limit that the pool has is not blocked (SPEC §10, *Limits*).

Where it is known when the modelled policy would have started j (``scenario.decisions``), room
splits into

    kept      before that instant: the policy keeps the room for others
    idle      from then on
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

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
from audit.metrics.attempts.lifetimes import time_order
from audit.metrics.attempts.population import only, ordered
from audit.metrics.attempts.reasons import held_up
from audit.model import SEQUENCE, Decision, Limit, Pool, Standing

Ints = NDArray[np.int64]

PARTS: Final = ("room", "shared", "own", "earlier", "later", "down")
COLUMNS: Final = tuple(f"wait_{part}_s" for part in PARTS)
"""What ``anatomy`` adds."""

SPLIT: Final = ("kept_s", "idle_s")
"""What it adds where decisions are known: wait_room_s in two."""

_READ: Final = cs.by_name(
    *("standing", "arrival_time", "submit_time", "start_time", "end_time", "user", "reason"),
    *("reservation", "cpus", "nodes", "gpus", "mem_bytes", "ready_time", *SEQUENCE),
    *("account", "partition", "qos", "size", "walltime_s", "occupancy_s"),
    require_all=False,
)
_NEVER: Final = int(np.iinfo(np.int64).max)


def anatomy(described: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    """Adds the parts of each attempt's wait, in s, ≥ 0.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool, in any order; with
            ready_time, decision and idle_because where ``scenario.decisions`` has added them.
        pool: its amounts, what changed in them, and its limits.
        now: when the log was taken, epoch s.

    Returns:
        ``described`` with ``COLUMNS``: wait_room_s, wait_shared_s and wait_down_s int64, the others
        float64. Their sum is the wait; of attempts that never started, the time until they were
        cancelled, and of pending ones that until ``now``. Null where the arrival or the start is
        not known, and for blocked ones and those in reservations. Where decisions are known also
        ``SPLIT``, int64, null without a decision and for over_capacity; and idle_because is null
        where idle_s is 0 or null. O(n log n + p) with p the
        pairs of an attempt that waits and a span in which what is free stays the same.

    Source: SPEC §10, *Anatomy*.
    """
    numbered = described.select(_READ).with_row_index("row")
    held, reserved = _in_pool(numbered, pool.limits, now)
    waits = held["waits"].to_numpy()
    parts = _take_apart(held, pool, reserved)
    rows = held["row"].to_numpy()
    judged = np.zeros(described.height, np.bool_)
    judged[rows] = waits
    columns = {}
    for part in PARTS:
        values = parts[part]
        column = np.zeros(described.height, values.dtype)
        column[rows] = values
        columns[f"wait_{part}_s"] = column
    added = pl.DataFrame(columns)
    if not judged.all():
        added = added.select(pl.when(pl.Series(judged)).then(pl.all()).name.keep())
    added = described.with_columns(added.get_columns())
    if "decision" not in described.columns:
        return added
    kept = np.zeros(described.height, np.int64)
    kept[rows] = parts["kept"]
    split = pl.col("wait_room_s").is_not_null() & (pl.col("decision") != Decision.OVER_CAPACITY)
    before = pl.Series(kept)
    added = added.with_columns(
        kept_s=pl.when(split).then(before),
        idle_s=pl.when(split).then(pl.col("wait_room_s") - before),
    )
    return added.with_columns(idle_because=pl.when(pl.col("idle_s") > 0).then("idle_because"))


def _in_pool(
    numbered: pl.DataFrame, limits: Sequence[Limit], now: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Those that wait or run in the pool, in their order; and those that run in reservations.

    With ``waits``, whether their wait is taken apart; ``leave``, when they leave the queue; and
    ``end``, of those that run.
    """
    standing, start = pl.col("standing"), pl.col("start_time")
    leaves = (
        pl.when(standing == Standing.PENDING)
        .then(pl.lit(now))
        .when(standing == Standing.NEVER_STARTED)
        .then("end_time")
        .otherwise(start)
    )
    ends = pl.when(standing == Standing.RUNNING).then(pl.max_horizontal(pl.lit(now), start) + 1)
    runs = pl.col("start_time").is_not_null()
    waits = leaves.is_not_null() & pl.col("arrival_time").is_not_null()
    turn = ~held_up(numbered.rename({"occupancy_s": "occupancy"}), limits)
    held = (
        numbered.with_columns(waits=waits & pl.Series(turn), leave=leaves)
        .pipe(only, runs | pl.col("waits"))
        .with_columns(
            arrival_time=pl.coalesce("arrival_time", "start_time"),
            end=ends.otherwise("end_time"),
        )
        .pipe(ordered, "arrival_time", "submit_time", *SEQUENCE)
    )
    inside = reserved_rows(held)
    return only(held, ~inside), held.filter(inside)


def _take_apart(held: pl.DataFrame, pool: Pool, reserved: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """The parts of each wait of those in the pool."""
    from audit.kernels import anatomy as kernels

    resources = counted_resources(pool)
    arrival, leave = _ints(held["arrival_time"]), _ints(held["leave"].fill_null(0))
    start, end = _ints(held["start_time"].fill_null(0)), _ints(held["end"].fill_null(0))
    waiting = np.flatnonzero(held["waits"].to_numpy() & (leave > arrival))
    at_work = np.flatnonzero(held["start_time"].is_not_null().to_numpy() & (end > start))
    user = _numbered(held["user"])
    by_leave = _by(leave, waiting)
    log = kernels.Log(
        arrival=arrival,
        leave=leave,
        start=start,
        end=end,
        user=user,
        request=np.stack([_ints(held[name].fill_null(0)) for name in resources]),
        ready=_ready(held),
        by_arrival=waiting,
        by_leave=by_leave,
        by_start=_by(start, at_work),
        by_end=_by(end, at_work),
    )
    gone = np.searchsorted(leave[by_leave], arrival[waiting], side="right")
    most = int((np.arange(1, len(waiting) + 1) - gone).max(initial=0))
    parts: dict[str, NDArray[Any]] = {
        **{part: np.zeros(held.height, np.int64) for part in ("room", "kept", "shared", "down")},
        **{part: np.zeros(held.height) for part in ("own", "earlier", "later")},
    }
    steps = capacity_steps(pool, reserved)
    kernels.take_waits_apart(
        log, kernels.Steps(steps.time, steps.change), amounts(pool), most, kernels.Parts(**parts)
    )
    return parts


def _ready(held: pl.DataFrame) -> Ints:
    """From when on each would have been started; _NEVER: not, or nobody knows."""
    if "ready_time" not in held.columns:
        return np.full(held.height, _NEVER)
    return _ints(held["ready_time"].fill_null(_NEVER))


def _by(times: Ints, chosen: Ints) -> Ints:
    """Those that are chosen, by time."""
    order: Ints = chosen[time_order(times[chosen])]
    return order


def _numbered(users: pl.Series) -> Ints:
    """Users as numbers from 1 on; 0: unknown."""
    known = users.unique().drop_nulls()
    return _ints(users.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(-1)) + 1


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.to_numpy(), np.int64)
