"""The advice for a pool, read from the database."""

from typing import Any, Final

import polars as pl

from audit.report.figures import Figure
from audit.report.rows import records
from audit.report.sections.advice.record import Advice, AdvicePart, Advised
from audit.report.sections.fair_starts.reading import fidelity_of
from audit.report.sections.fair_starts.record import Fidelity
from audit.report.source import SectionSource

_UNTRIED: Final = ("not_tried", "not_agreeing")
"""Outcomes of changes that were not replayed."""
ADVISED: Final = 3
"""Most changes that are advised."""
GROWTH: Final = 0.1
GROWTH_S: Final = 60
"""Growth of its mean wait above which a class is listed as losing even if it may be chance."""


def read(source: SectionSource) -> dict[str, Advised]:
    """Return the advice for each pool that ``scenario.advice`` found by replays of the period."""
    if not source.observed:
        return {}
    fidelity = source.by_pool("fair_starts/fidelity")
    found = {}
    for pool, resource in source.pools.select("pool", "resource").iter_rows():
        rows = source.rows("advice/changes", pool=pool)
        if not rows.is_empty():
            found[pool] = _advised(rows, resource, fidelity_of(fidelity[pool]))
    return found


def _advised(rows: pl.DataFrame, resource: str, fit: Fidelity | None) -> Advised:
    changes = [group for _, group in rows.group_by("change", maintain_order=True)]
    each = [group.row(0, named=True) for group in changes]
    advised = [group for group in changes if group["place"][0] is not None]
    return Advised(
        tuple(_advice(group, resource) for group in advised[:ADVISED]),
        tuple(one["title"] for one in each if one["outcome"] not in _UNTRIED),
        tuple(one["title"] for one in each if one["outcome"] == "not_tried"),
        None if fit is None else fit.of_policy,
        agrees=all(one["outcome"] != "not_agreeing" for one in each),
        reproduced=all(one["outcome"] != "not_reproduced" for one in each),
        never_start=tuple((one["title"], one["never_start"]) for one in each if one["never_start"]),
    )


def _advice(rows: pl.DataFrame, resource: str) -> Advice:
    loses = pl.col("part_outcome") == "loses"
    grows = pl.col("difference_s") >= pl.max_horizontal(GROWTH_S, GROWTH * pl.col("part_today_s"))
    of_user = (pl.col("part_dimension") == "user").fill_null(value=False)
    users = rows.filter(of_user).sort(pl.col("difference_s") * pl.col("part_attempts"))
    losing = rows.filter(~of_user, loses | ((pl.col("part_outcome") == "unclear") & grows)).sort(
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
        losers=tuple(map(_part, losing.iter_rows(named=True))),
        by_user=tuple(map(_part, users.iter_rows(named=True))),
        sql=_evidence(row),
    )
    return advice


def _part(part: dict[str, Any]) -> AdvicePart:
    return AdvicePart(
        part["part_dimension"],
        part["part"],
        _change(part, "difference_s", "lower_s", "upper_s"),
        part["part_attempts"],
        part["part_outcome"] == "loses",
    )


def _change(row: dict[str, Any], value: str, lower: str, upper: str) -> Figure:
    return Figure("wait_change", row[value], row[lower], row[upper], "s")


def _evidence(row: dict[str, str]) -> str:
    """Return the query for the effects of a change; names are quoted."""
    quoted = {
        column: row[column].replace("'", "''") for column in ("cluster", "pool", "period", "change")
    }
    where = " AND ".join(f"{column} = '{value}'" for column, value in quoted.items())
    return f"SELECT * FROM advice_parts WHERE {where}"  # noqa: S608
