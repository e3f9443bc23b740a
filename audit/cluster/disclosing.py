"""Writes what pages of users and accounts may say about everybody into the store, once."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics import disclosure
from audit.model import OBSERVED, Period, Standing
from audit.periods import covering
from audit.store import database, queries
from audit.store.database import Connection

_FAR: Final = 1 << 62


def keep(con: Connection, cluster: str, zone: ZoneInfo) -> None:
    """Publishes the weeks of a cluster that were closed since the last time.

    A week is closed once an attempt has ended after it. What is published never changes: attempts
    of a published week that the store learns of later are part of no figure about everybody.

    Args:
        con: a store with the results of the cluster's attempts, in a transaction.
        cluster: its name.
        zone: the cluster's, in which weeks begin.
    """
    attempts = queries.run(
        con,
        "unpublished_attempts",
        cluster=cluster,
        schedule=OBSERVED,
        ended=Standing.ENDED.value,
    )
    if attempts.is_empty():
        return
    published = queries.run(con, "published_blocks", cluster=cluster, until=_FAR)
    latest = database.fetch(
        con, "SELECT max(end_time) FROM job_result WHERE cluster = $cluster", {"cluster": cluster}
    ).item()
    ends = attempts["end_time"]
    weeks = covering("week", int(ends.min()), int(ends.max()), zone)  # type: ignore[arg-type]
    closed = [week for week in weeks if week.to_time <= latest]
    for (pool,), of_pool in attempts.partition_by("pool", as_dict=True).items():
        made = disclosure.publish(of_pool, _free(closed, published.filter(pl.col("pool") == pool)))
        of = {"cluster": cluster, "pool": pool}
        database.insert(con, "published_block", made, of)
        database.insert(con, "published_wait", disclosure.waits(of_pool, made), of)


def _free(weeks: list[Period], published: pl.DataFrame) -> list[Period]:
    """The weeks of which no published block holds any part."""
    blocks = published.select("from_time", "to_time").unique().rows()
    return [
        week
        for week in weeks
        if not any(begin < week.to_time and end > week.from_time for begin, end in blocks)
    ]
