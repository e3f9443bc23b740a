"""The attempts of a cluster as a frame that takes little memory."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from audit.model import ATTEMPTS
from audit.store import queries
from audit.store.database import Connection


def first_arrival(
    con: Connection, cluster: str, from_time: int | None, to_time: int | None
) -> int | None:
    """Of the attempts that ended in a span, epoch s; None where nobody knows any.

    Args:
        con: an open store, or a published database.
        cluster: whose.
        from_time: of the span, epoch s; None: no bound.
        to_time: the same.
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
        con: an open store, or a published database.
        cluster: whose.
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
