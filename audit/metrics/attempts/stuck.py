"""Who is stuck: waits, or gave up, beyond what peers wait (SPEC §10, *Peers*).

Stuck is an attempt that still waits, or that left the queue without having started, and has waited
longer than the 95th percentile of what its peers waited (nearest-rank over these attempts; see
``waits``), by more than the tolerance.

Its probable cause is the first of

    reason             the log says why it waited, and it is not Priority or Resources
    exceeds_capacity   it asks for more than the pool ever has
    room               most of the wait, there was room for it (``anatomy``)
    own                …, what it lacked was in use by its own user
    others             …, others had it, or came first
    down               …, the pool had less than it asked for

where "most" is the greatest of the last four. Blocked attempts are judged too: their peers are
those that waited for their turn.
"""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
import polars as pl

from audit.metrics.attempts.contention import counted_resources, largest_amounts
from audit.metrics.attempts.peers import READ, Alike, by_period
from audit.metrics.attempts.population import ordered
from audit.metrics.quantiles import P95, rank
from audit.model import Period, Pool, Standing
from audit.registry.causes import CAUSES, COLUMNS, STUCK

NO_CAUSE: Final = ("", "None", "Priority", "Resources")
"""Recorded reasons that say no more than that it waited for its turn."""

STUCK_SCHEMA: Final = pl.Schema(
    {
        "job_id": pl.String,
        "attempt": pl.Int64,
        "waited_s": pl.Int64,
        "peer_p95_s": pl.Int64,
        "peers": pl.Int64,
        "cause": pl.String,
    }
)
"""Columns of ``stuck_result`` that are the metrics' own."""


def stuck(
    with_parts: pl.DataFrame, pool: Pool, now: int, periods: Sequence[Period], tolerance_s: int
) -> pl.DataFrame:
    """The attempts of a pool that are stuck.

    Args:
        with_parts: what ``anatomy`` gave for all attempts of the pool.
        pool: its amounts.
        now: when the log was taken, epoch s; until then open attempts have waited.
        periods: the current ones. Who gave up is compared with peers that ended before its period
            did, who still waits with all.
        tolerance_s: by how much a wait has to be longer, s.

    Returns:
        Columns of ``STUCK_SCHEMA``, the longest beyond its peers first; waits in s.
    """
    held = _held(with_parts, pool, now)
    cut = np.full(held.height, np.iinfo(np.int64).max)
    for before, mine in by_period(held, periods):
        cut[mine] = before
    cut[(held["standing"] == Standing.PENDING.value).to_numpy()] = np.iinfo(np.int64).max
    alike = Alike(held)
    candidates = held.with_row_index("i").filter(pl.col("waited_s") > tolerance_s)
    found = []
    for i, waited_s in candidates.select("i", "waited_s").iter_rows():
        peers = alike.waits(i, int(cut[i]))
        if peers is not None:
            p95 = np.sort(peers)[rank(len(peers), P95) - 1]
            if waited_s > p95 + tolerance_s:
                found.append((i, p95, len(peers)))
    beyond = pl.DataFrame(
        found, {"i": pl.UInt32, "peer_p95_s": pl.Int64, "peers": pl.Int64}, orient="row"
    )
    return (
        candidates.join(beyond, on="i", how="inner", maintain_order="left")
        .with_columns(cause=_cause(pool))
        .sort(pl.col("peer_p95_s") - pl.col("waited_s"), "job_id", "attempt", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in STUCK_SCHEMA.items())
    )


def _held(with_parts: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    """Those that may be stuck, with what they waited, and those that may be their peers."""
    waits = pl.col("standing") == Standing.PENDING
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    left = pl.when(waits).then(pl.lit(now)).when(gave_up).then("end_time")
    known = pl.col("user").is_not_null() & pl.col("arrival_time").is_not_null()
    read = (*READ, *COLUMNS, "job_id", "attempt", "reason", *counted_resources(pool))
    return (
        with_parts.filter(known & (pl.col(COLUMNS[0]).is_not_null() | waits | gave_up))
        .select(*dict.fromkeys(read), waited_s=left - pl.col("arrival_time"))
        .pipe(ordered, "arrival_time")
    )


def _cause(pool: Pool) -> pl.Expr:
    """The probable cause; see above."""
    told = pl.col("reason").is_not_null() & ~pl.col("reason").is_in(NO_CAUSE)
    exceeds = pl.any_horizontal(
        pl.col(name).fill_null(0) > most for name, most in largest_amounts(pool).items()
    )
    of = {name: [one.column for one in CAUSES if one.stuck == name] for name in STUCK}
    parts = {
        name: reduce(operator.add, map(pl.col, columns)) for name, columns in of.items() if columns
    }
    most = pl.max_horizontal(parts.values())
    cause = pl.when(told).then(pl.lit("reason")).when(exceeds).then(pl.lit("exceeds_capacity"))
    for name, part in parts.items():
        cause = cause.when(part >= most).then(pl.lit(name))
    return cause.otherwise(pl.lit(None, pl.String))
