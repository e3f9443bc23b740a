"""What a report advises: small changes that helped in replays of the period, from the database.

``cluster.advice`` tried them, each against a replay of today's policy on the same log.
"""

from typing import Final

import polars as pl

from audit.metrics.attempts.fidelity import fits
from audit.model import Period
from audit.report.advice_contents import MOST, Advice, Advised, Change, Loser
from audit.store import queries
from audit.store.database import Connection

GROWTH: Final = 0.1
GROWTH_S: Final = 60
"""From such a growth of its mean wait on, a class is told of though it may be chance."""


def advices(con: Connection, cluster: str, period: Period, pool: str) -> Advised:
    """What is advised of a pool in a period; ``Advised()`` where nothing was tried.

    Args:
        con: a store or a published snapshot.
        cluster, pool: their names in the database.
        period: one whose figures were computed.
    """
    of = {"cluster": cluster, "period": period.name}
    rows = queries.run(con, "report_advice", **of, pool=pool)
    if rows.is_empty():
        return Advised()
    pools = queries.run(con, "report_pools", cluster=cluster)
    resource = pools.filter(pl.col("pool") == pool)["resource"].item()
    fidelity = queries.run(con, "report_fidelity", **of).filter(pl.col("pool") == pool)
    fit = dict(fidelity.select("metric", "value").iter_rows())
    each = [group for _, group in rows.group_by("change", maintain_order=True)]
    titles = {
        tried: tuple(
            group["title"][0] for group in each if (group["outcome"][0] != "not_tried") is tried
        )
        for tried in (True, False)
    }
    advised = [group for group in each if group["place"][0] is not None]
    return Advised(
        tuple(_advice(group, resource) for group in advised[:MOST]),
        titles[True],
        titles[False],
        fit.get("agreement"),
        fit.get("wait_correlation"),
        fits(fit.get("agreement"), fit.get("forward_correlation")),
    )


def _advice(rows: pl.DataFrame, resource: str) -> Advice:
    row = rows.row(0, named=True)
    loses = pl.col("part_outcome") == "loses"
    grows = pl.col("difference_s") >= pl.max_horizontal(GROWTH_S, GROWTH * pl.col("part_today_s"))
    losing = rows.filter(loses | ((pl.col("part_outcome") == "unclear") & grows)).sort(
        loses,
        pl.col("difference_s") * pl.col("part_attempts"),
        descending=True,
        maintain_order=True,
    )
    return Advice(
        change=row["change"],
        title=row["title"],
        resource=resource,
        width=row["dimension_value"],
        today_s=row["today_s"],
        gain=Change(row["gain_s"], row["gain_lower_s"], row["gain_upper_s"]),
        saved_s=row["saved_s"],
        losers=tuple(
            Loser(
                part["part_dimension"],
                part["part"],
                Change(part["difference_s"], part["lower_s"], part["upper_s"]),
                part["part_attempts"],
                part["part_outcome"] == "loses",
            )
            for part in losing.iter_rows(named=True)
        ),
        users=row["users"],
        gaining_users=row["gaining_users"],
        losing_users=row["losing_users"],
        sql=_evidence(row),
    )


def _evidence(row: dict[str, str]) -> str:
    """A query of what a change does to whom; names are quoted, whatever is in them."""
    quoted = {
        column: row[column].replace("'", "''") for column in ("cluster", "pool", "period", "change")
    }
    where = " AND ".join(f"{column} = '{value}'" for column, value in quoted.items())
    return f"SELECT * FROM advice_parts WHERE {where}"  # noqa: S608
