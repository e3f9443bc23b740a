"""What a report advises: small changes that helped in replays of the period, from the database.

``cluster.advice`` tried them, each against a replay of today's policy on the same log.
"""

from typing import Any, Final

import polars as pl

from audit.metrics.attempts.fidelity import fits
from audit.model import Period
from audit.report.reading import records
from audit.report.record.pool import Advice, Advised, Figure, Loser
from audit.store import queries
from audit.store.database import Connection

MOST: Final = 3
"""Most changes that are advised."""
GROWTH: Final = 0.1
GROWTH_S: Final = 60
"""Growth of its mean wait from which a class is listed although that may be chance."""


def advices(con: Connection, cluster: str, period: Period, pool: str) -> Advised:
    """Return what is advised of a pool in a period; ``Advised()`` where nothing was tried."""
    of = {"cluster": cluster, "period": period.name}
    rows = queries.run(con, "report_advice", **of, pool=pool)
    if rows.is_empty():
        return Advised()
    pools = queries.run(con, "report_pools", cluster=cluster)
    resource = pools.filter(pl.col("pool") == pool)["resource"].item()
    fidelity = queries.run(con, "report_fidelity", **of).filter(pl.col("pool") == pool)
    fit = dict(fidelity.select("metric", "value").iter_rows())
    each = [group for _, group in rows.group_by("change", maintain_order=True)]
    tried, not_tried = (
        tuple(
            of_one["title"][0]
            for of_one in each
            if (of_one["outcome"][0] == "not_tried") is left_out
        )
        for left_out in (False, True)
    )
    advised = [group for group in each if group["place"][0] is not None]
    return Advised(
        tuple(_advice(group, resource) for group in advised[:MOST]),
        tried,
        not_tried,
        fit.get("agreement"),
        fits(fit.get("agreement"), fit.get("forward_correlation")),
        reproduced=not any(of_one["outcome"][0] == "not_reproduced" for of_one in each),
        never_start=tuple(
            (of_one["title"][0], of_one["never_start"][0])
            for of_one in each
            if of_one["never_start"][0]
        ),
    )


def _advice(rows: pl.DataFrame, resource: str) -> Advice:
    loses = pl.col("part_outcome") == "loses"
    grows = pl.col("difference_s") >= pl.max_horizontal(GROWTH_S, GROWTH * pl.col("part_today_s"))
    losing = rows.filter(loses | ((pl.col("part_outcome") == "unclear") & grows)).sort(
        loses,
        pl.col("difference_s") * pl.col("part_attempts"),
        descending=True,
        maintain_order=True,
    )
    row = rows.row(0, named=True)
    (advice,) = records(
        Advice,
        rows.head(1),
        resource=resource,
        width=row["dimension_value"],
        gain=_change(row, "gain_s", "gain_lower_s", "gain_upper_s"),
        losers=tuple(
            Loser(
                part["part_dimension"],
                part["part"],
                _change(part, "difference_s", "lower_s", "upper_s"),
                part["part_attempts"],
                part["part_outcome"] == "loses",
            )
            for part in losing.iter_rows(named=True)
        ),
        sql=_evidence(row),
    )
    return advice


def _change(row: dict[str, Any], value: str, lower: str, upper: str) -> Figure:
    return Figure("wait_change", row[value], row[lower], row[upper], "s")


def _evidence(row: dict[str, str]) -> str:
    """A query of what a change does to whom; names are quoted, whatever is in them."""
    quoted = {
        column: row[column].replace("'", "''") for column in ("cluster", "pool", "period", "change")
    }
    where = " AND ".join(f"{column} = '{value}'" for column, value in quoted.items())
    return f"SELECT * FROM advice_parts WHERE {where}"  # noqa: S608
