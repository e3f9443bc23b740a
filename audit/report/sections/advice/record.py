"""Changes with a benefit in replays, read from the database."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import polars as pl

from audit.report.figures import Figure, records
from audit.report.sections.fair_starts.record import Fidelity, fidelity_of
from audit.report.source import SectionSource


class AdvicePart(NamedTuple):
    """A width class, walltime class or user that would wait longer or less."""

    dimension: str  # width_class | walltime_class | user
    label: str  # such as 65-128, 0-1h, or a name from the log
    wait: Figure  # change of its mean wait, s; of classes > 0
    attempts: int
    certain: bool  # significant; else the growth is large, but may be chance


@dataclass(frozen=True, slots=True)
class Advice:
    """A change with a significant benefit in replays."""

    change: str  # options of whatif
    title: str  # an imperative without a full stop; may contain names from the log
    resource: str  # that the pool counts
    width: str | None  # width class whose mean wait decides; None: all attempts
    gain: Figure  # reduction of that wait, s, > 0; interval corrected for all changes tried
    losers: tuple[AdvicePart, ...]  # classes, largest loss first
    sql: str  # query for the effect on all classes
    today_s: int | None = None  # that mean wait in the replay of today's rules
    observed_s: int | None = None  # and in the log
    saved_s: int | None = None  # reduction of the total wait of all attempts, s
    by_user: tuple[AdvicePart, ...] = ()  # largest gain in total first


@dataclass(frozen=True, slots=True)
class Advised:
    """The advice for a pool, and its basis."""

    changes: tuple[Advice, ...] = ()  # the best first
    tried: tuple[str, ...] = ()  # titles of all replayed changes
    not_tried: tuple[str, ...] = ()  # titles of changes beyond the budget
    agreement: float | None = None  # of the replayed policy with the observed starts
    agrees: bool = True  # whether it suffices (SPEC §11); else nothing is replayed
    reproduced: bool = True  # whether the replay of today has the observed mean wait (SPEC §11)
    never_start: tuple[tuple[str, int], ...] = ()  # titles, and jobs that would never start
    part: bool = False  # whether the log is a part of the workload, so that none was tried


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
