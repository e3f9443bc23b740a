"""Sums over the attempts of a cluster by user.

The sums of a period are stored when it is computed: the trend of a report covers up to 24 periods,
whose attempts then need not be read again.
"""

from collections.abc import Sequence

import polars as pl

from audit.model import OBSERVED, Period
from audit.periods import kind_of
from audit.store import database, queries
from audit.store.database import Connection


def first_arrival(
    con: Connection, cluster: str, from_time: int | None, to_time: int | None
) -> int | None:
    """Return the first arrival of attempts that ended in a span, epoch s; None if none is known.

    A bound that is None does not apply.
    """
    span = {"from_time": from_time, "to_time": to_time}
    ((first,),) = queries.rows(con, "first_arrival", cluster=cluster, **span)
    return None if first is None else int(first)


def keep_course(con: Connection, cluster: str, computed: Sequence[Period]) -> None:
    """Store sums over the attempts of computed periods in ``course_result``.

    Only for periods that a site reports, such as months: trends of other periods cover parts of
    them.
    """
    periods = [period for period in computed if kind_of(period.name) is not None]
    if not periods:
        return
    sums = _of_attempts(con, cluster, OBSERVED, periods)
    names = pl.Series([period.name for period in periods]).gather(sums["stretch"])
    of = {"cluster": cluster, "schedule": OBSERVED}
    database.insert(con, "course_result", sums.drop("stretch").with_columns(period=names), of)


def course_sums(
    con: Connection, cluster: str, schedule: str, over: Sequence[Period]
) -> pl.DataFrame:
    """Return the contribution of each user to the main figures of stretches of time.

    Stored sums are used if there are any; otherwise attempts are read.

    Returns:
        Columns pool and those of ``audit.metrics.course.SUMS``, by pool, stretch and user.
    """
    of = {"cluster": cluster, "schedule": schedule, **_bounds(over)}
    names = [stretch.name for stretch in over]
    known = queries.run(con, "changes/course_known", **of, periods=names)
    stored = {*known["stretch"]}
    left = [number for number in range(len(over)) if number not in stored]
    if not left:
        return known
    read = _of_attempts(con, cluster, schedule, [over[number] for number in left])
    read = read.with_columns(stretch=pl.Series(left, dtype=pl.Int64).gather(read["stretch"]))
    return pl.concat([known, read]).sort("pool", "stretch", "user", nulls_last=False)


def cause_sums(
    con: Connection, cluster: str, schedule: str, over: Sequence[Period]
) -> pl.DataFrame:
    """Return attempts and their total waits by cause, by pool and stretch of time."""
    of = {"cluster": cluster, "schedule": schedule, **_bounds(over)}
    return queries.run(con, "changes/causes", **of)


def _of_attempts(
    con: Connection, cluster: str, schedule: str, over: Sequence[Period]
) -> pl.DataFrame:
    of = {"cluster": cluster, "schedule": schedule, **_bounds(over)}
    return queries.run(con, "changes/course", **of)


def _bounds(over: Sequence[Period]) -> dict[str, list[int]]:
    return {
        "from_times": [stretch.from_time for stretch in over],
        "to_times": [stretch.to_time for stretch in over],
    }
