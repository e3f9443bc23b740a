"""Jobs that do not start although enough capacity is free whatever starts before them.

The first job of each group of equal ones is *marked* once it could have started for 3,600 s in all
even if every other user's startable job had its request. So are the jobs behind it, and those that
join, until a job of the group starts.

Source: SPEC §11, *Unstartable*.
"""

from collections.abc import Sequence

import polars as pl

from audit.model import Limit, Pool
from audit.scenario.plateaus.entities import plateaued
from audit.scenario.plateaus.sweeping import marked
from audit.scenario.releases.queue import NEVER


def unstartable(
    described: pl.DataFrame, pool: Pool, now: int, log_begin: int, own: Sequence[Limit] = ()
) -> pl.Series:
    """Return when each attempt was marked, epoch s; null: never. A row for each of ``described``.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are never marked.
        pool: with the rules in force.
        log_begin: the begin of the log, epoch s (SPEC §11, *T0*).
        own: limits of single users.
    """
    jobs = plateaued(described.with_row_index("attempt_row"), pool, now)
    found = jobs.queue.rows.select("attempt_row", at=pl.Series(marked(jobs, pool, own, log_begin)))
    first = found.filter(pl.col("at") < NEVER).group_by("attempt_row").agg(pl.col("at").min())
    rows = pl.DataFrame(
        {"attempt_row": pl.int_range(described.height, dtype=pl.UInt32, eager=True)}
    )
    return rows.join(first, on="attempt_row", how="left", maintain_order="left")["at"].alias(
        "unstartable_from"
    )
