"""The attempts of a cluster as a frame that takes little memory, and sums of them by user.

Of periods, the latter is summed up once, when they are computed: the trend of a report goes over up
to 24 of them, whose attempts need not be read again, nor lie in the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from audit.model import ATTEMPTS, COUNTED, OBSERVED, Period
from audit.periods import kind_of
from audit.store import database, queries
from audit.store.database import Connection

if TYPE_CHECKING:
    import polars as pl


def first_arrival(
    con: Connection, cluster: str, from_time: int | None, to_time: int | None
) -> int | None:
    """Of the attempts that ended in a span, epoch s; None where nobody knows any.

    Args:
        from_time: of the span, epoch s; None: no bound.
    """
    span = {"from_time": from_time, "to_time": to_time}
    ((first,),) = queries.rows(con, "first_arrival", cluster=cluster, **span)
    return None if first is None else int(first)


def read_attempts(
    con: Connection, cluster: str, since: int | None = None, until: int | None = None
) -> pl.DataFrame:
    """The attempts that the store holds of a cluster, archived ones included, by arrival.

    What no attempt of a log has, or all have alike, is most of its columns: these are not read, and
    hold one value however many rows there are.

    Args:
        since: epoch s; only those that ended then or later, or not at all. None: no bound.
        until: epoch s; only those that arrived before, or nobody knows when. None: no bound.

    Returns:
        Columns of ``model.ATTEMPTS``, in the order that ``population.describe`` gives them.
    """
    of = {"cluster": cluster, "since": since, "until": until}
    values = queries.run(con, "attempt_values", **of).row(0, named=True)
    alike = {name: values[f"least {name}"] for name in ATTEMPTS if _is_alike(name, values)}
    read = [name for name in ATTEMPTS if name not in alike]
    attempts = queries.run_for(con, "attempts", read, **of)
    attempts = attempts.rechunk()  # spares whoever wants an array a copy of its own
    return attempts.select(
        pl.lit(alike[name], dtype).alias(name) if name in alike else pl.col(name)
        for name, dtype in ATTEMPTS.items()
    )


def _is_alike(name: str, values: Mapping[str, object]) -> bool:
    """Whether a column has one value, or none."""
    if name == "job_id" or not values["rows"]:
        return False  # one column at least tells how many rows there are
    known = values[f"known {name}"]
    same = values[f"least {name}"] == values[f"greatest {name}"]
    return known == 0 or (known == values["rows"] and same)


def keep_course(con: Connection, cluster: str, computed: Sequence[Period]) -> None:
    """Sums up the attempts of periods that were computed, into ``course_result``.

    Of periods that a site reports (a month, say): the trend of any other goes over stretches
    inside it.

    Args:
        con: a store with the attempts of these periods, and no sums of them.
    """
    import polars as pl

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
    """What each user adds to the main figures of stretches of time.

    Args:
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
