"""What charts of a pool show beside tables, read from the database."""

from typing import Final

import polars as pl

from audit.metrics.bursts import bursts
from audit.model import Period
from audit.periods import day_edges, day_of, zone
from audit.report.sections.machine.record import Burst, Pictured
from audit.report.sections.waits.record import Walltimes
from audit.report.source import attempts_of
from audit.store import queries
from audit.store.database import Connection

BURST_DAYS: Final = 0.25
"""Least work of a burst that charts mark, in days of the whole pool."""
_DAY_S: Final = 86_400


def pictured(
    con: Connection, cluster: str, schedule: str, period: Period, zone_name: str
) -> dict[str, Pictured]:
    """Return daily waiting work, bursts and used walltimes of each pool with any of them."""
    in_zone = zone(zone_name)
    edges = day_edges(period.from_time, period.to_time, in_zone)
    days = {first: day_of(first, in_zone).isoformat() for first in edges[:-1]}
    of = {"cluster": cluster, "schedule": schedule}
    waiting: dict[str, dict[int, float]] = {}
    found: dict[str, tuple[Burst, ...]] = {}
    if days:
        for pool, first, seconds in queries.rows(con, "machine/waiting_work", **of, edges=edges):
            waiting.setdefault(pool, {})[first] = seconds
        span = {"from_time": period.from_time, "to_time": period.to_time}
        attempts = queries.run(con, "machine/bursts", **of, **span)
        for (pool,), of_pool in attempts.group_by("pool", maintain_order=True):
            rows = _bursts(of_pool, period.from_time)
            found[str(pool)] = tuple(
                Burst(day_of(first, in_zone).isoformat(), day_of(last, in_zone).isoformat(), *burst)
                for first, last, *burst in rows.iter_rows()
            )
    walltimes: dict[str, Walltimes] = {}
    of_attempts = attempts_of(cluster, schedule, period)
    for pool, tenth, number, median in queries.rows(con, "waits/walltimes", **of_attempts):
        known, tenths, _ = walltimes.get(pool, Walltimes(0, (0,) * 11, median))
        tenths = (*tenths[:tenth], number, *tenths[tenth + 1 :])
        walltimes[pool] = Walltimes(known + number, tenths, median)
    return {
        pool: Pictured(
            tuple((day, waiting[pool].get(first, 0.0)) for first, day in days.items())
            if pool in waiting
            else (),
            found.get(pool, ()),
            walltimes.get(pool),
        )
        for pool in sorted({*waiting, *found, *walltimes})
    }


def _bursts(attempts: pl.DataFrame, from_time: int) -> pl.DataFrame:
    """Return first and last arrival, user, attempts and work of a pool's large bursts."""
    arrival = pl.col("arrival_time")
    return (
        attempts.with_columns(burst=bursts(attempts))
        .group_by("burst")
        .agg(
            arrival.min().clip(lower_bound=from_time).alias("first"),
            arrival.max().alias("last"),
            pl.col("user").first(),
            pl.len().alias("attempts"),
            pl.col("work_s").sum(),
        )
        .filter(
            pl.col("last") >= from_time,
            pl.col("attempts") > 1,
            pl.col("work_s") >= BURST_DAYS * _DAY_S,
        )
        .sort("work_s", "first", "user", descending=[True, False, False])
        .drop("burst")
    )
