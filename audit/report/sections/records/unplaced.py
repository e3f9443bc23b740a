"""The attempts that ran at an unknown time, read from the database."""

import polars as pl

from audit.model import Period
from audit.report.pool import PoolPart
from audit.report.rows import records
from audit.report.sections.records.record import Unplaced, UnplacedOf
from audit.store import queries
from audit.store.database import Connection


def unplaced(
    con: Connection, cluster: str, period: Period, schedule: str, pools: tuple[PoolPart, ...]
) -> tuple[Unplaced, ...]:
    """Return the attempts of a period that ran at an unknown time, by pool."""
    if not any(pool.unplaced for pool in pools):
        return ()
    span = {"from_time": period.from_time, "to_time": period.to_time, "whole": period.whole_log}
    rows = queries.run(con, "records/unplaced", cluster=cluster, schedule=schedule, **span)
    found = []
    for pool in pools:
        mine = rows.filter(pl.col("pool") == pool.name)
        total = mine.filter(pl.col("kind").is_null())
        if total.is_empty():
            continue
        users, accounts = (
            records(UnplacedOf, mine.filter(pl.col("kind") == kind)) for kind in ("user", "account")
        )
        jobs, measured, consumed = total.select("jobs", "measured", "consumed").row(0)
        whose = (pool.name, pool.resource)
        found.append(Unplaced(*whose, jobs, measured, consumed, users, accounts))
    return tuple(found)
