"""What each user adds to the main figures of stretches of time: what trends are made of.

Of periods it is summed up once, when they are computed: the trend of a report goes over up to 24 of
them, whose attempts need not be read again, nor lie in the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from audit.model import COUNTED, OBSERVED, Period
from audit.periods import kind_of
from audit.store import database, queries
from audit.store.database import Connection

if TYPE_CHECKING:
    import polars as pl


def keep(con: Connection, cluster: str, computed: Sequence[Period]) -> None:
    """Sums up the attempts of periods that were computed, into ``course_result``.

    Of periods that a site reports (a month, say): the trend of any other goes over stretches
    inside it.

    Args:
        con: a store with the attempts of these periods, and no sums of them.
        cluster: its name.
        computed: the periods.
    """
    import polars as pl

    periods = [period for period in computed if kind_of(period.name) is not None]
    if not periods:
        return
    sums = _of_attempts(con, cluster, OBSERVED, periods)
    names = pl.Series([period.name for period in periods]).gather(sums["stretch"])
    of = {"cluster": cluster, "schedule": OBSERVED}
    database.insert(con, "course_result", sums.drop("stretch").with_columns(period=names), of)


def sums(con: Connection, cluster: str, schedule: str, over: Sequence[Period]) -> pl.DataFrame:
    """What each user adds to the main figures of stretches of time.

    Args:
        con: a store or a published snapshot.
        cluster: its name.
        schedule: whose.
        over: the stretches; those that are periods and were summed up are taken as they are, of all
            others the attempts are read.

    Returns:
        Columns pool and those of ``audit.metrics.course.SUMS``, by pool, stretch and user.
    """
    import polars as pl

    known = queries.run(
        con,
        "report_course_known",
        cluster=cluster,
        schedule=schedule,
        periods=[stretch.name for stretch in over],
        **_bounds(over),
    )
    held = {*known["stretch"]}
    left = [number for number in range(len(over)) if number not in held]
    if not left:
        return known
    read = _of_attempts(con, cluster, schedule, [over[number] for number in left])
    read = read.with_columns(stretch=pl.Series(left, dtype=pl.Int64).gather(read["stretch"]))
    return pl.concat([known, read]).sort("pool", "stretch", "user", nulls_last=False)


def _of_attempts(
    con: Connection, cluster: str, schedule: str, over: Sequence[Period]
) -> pl.DataFrame:
    return queries.run(
        con,
        "report_course",
        cluster=cluster,
        schedule=schedule,
        counted=list(COUNTED),
        **_bounds(over),
    )


def _bounds(over: Sequence[Period]) -> dict[str, list[int]]:
    return {
        "from_times": [stretch.from_time for stretch in over],
        "to_times": [stretch.to_time for stretch in over],
    }
