"""Work lost to preemption, and the jobs that started on the freed nodes (SPEC §12, *Measures*).

    lost work = size · occupancy of attempts that ended PREEMPTED or were requeued, else 0

This is an upper bound: no log shows checkpoints. Attempts that ended because a node failed are not
among them, even if their jobs started again.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from audit.array_types import Ints
from audit.metrics.attempts.reasons import in_scope
from audit.metrics.nodes import members
from audit.rules import PreemptionRule

PREEMPTED: Final = "PREEMPTED"
LOST: Final = (PREEMPTED, "REQUEUED")
"""States of attempts whose work counts as lost."""
FREED_S: Final = 60
"""Longest time between the end of an attempt and the start of one that was waiting for its nodes,
s."""


def interrupted(described: pl.DataFrame) -> pl.DataFrame:
    """Add the work that each attempt lost, and the jobs that started on its nodes.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of one pool.

    Returns:
        ``described`` with lost_work, float64, resource·s, null where the size or the occupancy is
        unknown; and freed_for, the other jobs that started on one of the attempt's nodes at most
        ``FREED_S`` after its end, by start, null where there are none. Both are null if the log has
        neither lost nor suspended attempts.
    """
    lost = pl.col("state").is_in(LOST).fill_null(value=False)
    some = described.select((lost | (pl.col("suspended_s") > 0)).any()).item()
    if not some:
        return described.with_columns(
            lost_work=pl.lit(None, pl.Float64), freed_for=pl.lit(None, pl.String)
        )
    area = pl.col("size").cast(pl.Float64) * pl.col("occupancy_s")
    return (
        described.with_columns(lost_work=pl.when(lost).then(area).otherwise(area * 0.0))
        .with_row_index("row")
        .join(_freed_for(described.with_row_index("row"), lost), on="row", how="left")
        .sort("row")
        .drop("row")
    )


def _freed_for(rows: pl.DataFrame, lost: pl.Expr) -> pl.DataFrame:
    """Return the jobs that started on the nodes of lost attempts: row, freed_for."""
    ended = rows.filter(lost, pl.col("end_time").is_not_null()).select(
        "row", "job_id", "node_list", "end_time"
    )
    # within FREED_S, starts are in the same stretch of FREED_S as the end, or in the next one
    ended = pl.concat(
        ended.with_columns(stretch=pl.col("end_time") // FREED_S + later) for later in (0, 1)
    )
    began = rows.filter(pl.col("start_time").is_not_null()).select(
        "node_list", "start_time", by="job_id", at="row", stretch=pl.col("start_time") // FREED_S
    )
    began = began.join(ended.select("stretch").unique(), on="stretch", how="semi")
    names = members(pl.concat([ended["node_list"], began["node_list"]]))
    pairs = ended.join(names, on="node_list").join(
        began.join(names, on="node_list"), on=["node", "stretch"]
    )
    return (
        pairs.filter(
            pl.col("start_time").is_between("end_time", pl.col("end_time") + FREED_S),
            pl.col("by") != pl.col("job_id"),
        )
        .unique(["row", "by"])
        .sort("row", "start_time", "at")
        .group_by("row", maintain_order=True)
        .agg(freed_for=pl.col("by").str.join(", "))
    )


def sides(held: pl.DataFrame, rules: Sequence[PreemptionRule]) -> tuple[Ints, Ints]:
    """Return the rules under which attempts give way, and take from others, as bits; [n] each.

    ``held``: as for ``reasons.in_scope``.
    """
    gives_way, takes = np.zeros((2, held.height), np.int64)
    for number, rule in enumerate(rules):
        gives_way |= in_scope(held, rule.gives_way).astype(np.int64) << number
        takes |= in_scope(held, rule.takes).astype(np.int64) << number
    return gives_way, takes


def whole_jobs(described: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each job that was preempted and queued again, instead of its attempts.

    It arrives and starts as the first of them did, and runs for as long as the last.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of one pool.

    Returns:
        The rows that are left, in their order, with runs: of how many attempts each was made.
    """
    job = ("cluster", "job_id")
    gave_way = (pl.col("state") == PREEMPTED).fill_null(value=False)
    continues = gave_way.shift(1).over(job, order_by="attempt").fill_null(value=False)
    numbered = described.with_row_index("row").with_columns(
        chain=(~continues).cum_sum().over(job, order_by="attempt")
    )
    chain = (*job, "chain")
    last = {
        name: pl.col(name).last().over(chain, order_by="attempt")
        for name in ("end_time", "occupancy_s", "suspended_s", "runtime_s", "state", "standing")
    }
    first = pl.col("attempt") == pl.col("attempt").min().over(chain)
    whole = numbered.with_columns(runs=pl.len().over(chain), **last).filter(first)
    return whole.sort("row").drop("row", "chain")
