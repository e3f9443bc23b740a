"""Anatomy of waits: what the pool was like while an attempt waited, without a model (SPEC §10).

With free(t) = capacity(t) − used(t) of each resource, used by all attempts with start ≤ t < end,
each second of the wait [arrival_j, start_j) belongs to one part. Where j fits in free(t):

    room      it still fits after the claims of all that wait and come before it in (arrival,
              submit, sequence), and fit, in that order
    shared    it does not

Where it does not fit:

    down      it requests more than capacity(t)
    else the second is divided by what is in use of the *short resource*, that with the greatest
    (request − free)/capacity (of several: the counted one, then the one named first):
    own       by attempts of the same user
    earlier   by others that come before j in that order
    later     by others that come after it

room + shared + own + earlier + later + down = wait, up to rounding. These are measurements; what a
wait is put down to is its account (``metrics.attempts.account``).

Conventions: an unknown request is 0, and 0 fits always. No attempt is known to belong to an unknown
user. Attempts that never started wait until they are cancelled, open ones until ``now``, blocked
ones and those in reservations do not wait; reservations leave the pool with what they hold. An
attempt that a limit of the pool held is not blocked (SPEC §10, *Limits*).

Where it is known when the modelled policy would have started j (``scenario.decisions``), room
splits into

    kept      before that instant: the policy keeps the capacity for others
    idle      from then on
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.metrics.attempts.reasons import held_up
from audit.metrics.queue_sweep import NEVER, Known, book, in_force, queued
from audit.model import SEQUENCE, Decision, Pool
from audit.registry.causes import PARTS

SPLIT: Final = ("kept_s", "idle_s")
"""What it adds where decisions are known: wait_room_s in two."""

_READ: Final = cs.by_name(
    *("standing", "arrival_time", "submit_time", "start_time", "end_time", "user", "reason"),
    *("reservation", "cpus", "nodes", "gpus", "mem_bytes", "ready_time", *SEQUENCE),
    *("account", "partition", "qos", "size", "walltime_s", "occupancy_s"),
    require_all=False,
)


def anatomy(described: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    """Add the parts of each attempt's wait, in s, ≥ 0.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool, in any order; with
            ready_time, decision and idle_because where ``scenario.decisions`` has added them.
        pool: its amounts, what changed in them, and its limits.
        now: until when open attempts wait, epoch s.

    Returns:
        ``described`` with the column of each of ``PARTS``: int64, or float64 where seconds may be
        divided. Their sum is the wait; of attempts that never started, the time until they were
        cancelled, and of pending ones that until ``now``. Null where the arrival or the start is
        not known, and for blocked ones and those in reservations. Where decisions are known also
        ``SPLIT``, int64, null without a decision and for over_capacity; and idle_because is null
        where idle_s is 0 or null.

    Source: SPEC §10, *Anatomy*.
    """
    rows = described.select(_READ).with_row_index("row")
    turn = ~held_up(rows.rename({"occupancy_s": "occupancy"}), pool.limits)
    queue = queued(rows.with_columns(turn=pl.Series(turn)), now, pl.col("turn"))
    ready = None
    if "ready_time" in rows.columns:
        ready = queue.rows["ready_time"].fill_null(NEVER).to_numpy().astype(np.int64)
    booked, _ = book(queue, pool, in_force(queue, (), (), pool.zone), Known(ready=ready))
    made = {
        part.column: sum((booked.of(key) for key in part.booked), np.zeros(len(queue.rows)))
        for part in PARTS
    }
    placed = pl.DataFrame({"row": queue.rows["row"], **made, "kept_s": booked.of("kept")})
    placed = placed.select(
        "row",
        pl.when(queue.rows["waits"]).then(pl.exclude("row")).name.keep(),
    ).with_columns(
        pl.col(*(part.column for part in PARTS if not part.divided), "kept_s").cast(pl.Int64)
    )
    added = described.hstack(rows.select("row").join(placed, on="row", how="left").drop("row"))
    if "decision" not in described.columns:
        return added.drop("kept_s")
    split = pl.col("wait_room_s").is_not_null() & (pl.col("decision") != Decision.OVER_CAPACITY)
    return added.with_columns(
        kept_s=pl.when(split).then("kept_s"),
        idle_s=pl.when(split).then(pl.col("wait_room_s") - pl.col("kept_s")),
    ).with_columns(idle_because=pl.when(pl.col("idle_s") > 0).then("idle_because"))
