"""What a report says of decayed usage, read from the database.

Sums and means are the database's; only rows that are shown come here.
"""

import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from audit.model import Period
from audit.periods import day_of, zone
from audit.report.charts.series import DAYS_DRAWN
from audit.report.contents import (
    DecayedUsage,
    OffTarget,
    OffTargets,
    Stretch,
    UsageLine,
    UsageOf,
    UsageRow,
    UsageSeries,
)
from audit.store import queries
from audit.store.database import Connection

LINES: Final = 8
"""At most so many are drawn by themselves."""
COLUMNS: Final = 4
"""So many panels share the width of a chart."""
BALANCE: Final = 0.75
"""Off target is who uses less than this times the target, or more than the target divided by it:
beyond ±0.25 of the relative operator, which [R] §4 calls balance."""


def usages(
    con: Connection, cluster: str, period: Period, zone_name: str, rows: int
) -> tuple[DecayedUsage, ...]:
    """Decayed usage of the period by method; empty where the database holds none.

    Args:
        con: a store or a published snapshot.
        cluster: its name in the database.
        period: one whose figures were computed.
        zone_name: of the cluster.
        rows: how many users, and accounts, are shown.
    """
    own = {"cluster": cluster, "period": period.name}
    found = queries.run(con, "report_usage", **own, rows=rows)
    settings = _settings(con, own) if found.height else {}
    made = []
    for (method,), of_method in found.group_by("method", maintain_order=True):
        kinds = {
            kind: _usage_of(kind, of_method.filter(pl.col("entity_kind") == kind))
            for kind in ("account", "user")
        }
        drawn = drawn_kind(kinds["account"], kinds["user"])
        series = None
        if drawn is not None:
            points = queries.run(
                con,
                "report_usage_series",
                **own,
                method=method,
                kind=drawn,
                shown=LINES,
                days=DAYS_DRAWN // COLUMNS,
            )
            series = _series(drawn, points, zone_name)
        made.append(
            DecayedUsage(
                str(method),
                settings if _agree(str(method), settings) else {},
                of_method.item(0, "last_as_of"),
                of_method.item(0, "days"),
                kinds["account"],
                kinds["user"],
                series,
                tuple(
                    _off_targets(con, own, str(method), of.kind, rows, zone_name)
                    for of in kinds.values()
                    if of.targets
                ),
                nothing=not (of_method["greatest"] > 0).any(),
            )
        )
    return tuple(made)


def _off_targets(
    con: Connection, own: Mapping[str, str], method: str, kind: str, rows: int, zone_name: str
) -> OffTargets:
    """When users, or accounts, were above or below their targets."""
    found = queries.run(
        con, "report_usage_spans", **own, method=method, kind=kind, balance=BALANCE, rows=rows
    )
    in_zone = zone(zone_name)

    def day(as_of: int) -> str:  # a figure as of midnight is that of the day which then ended
        return day_of(as_of - 1, in_zone).isoformat()

    def stretch(row: Mapping[str, int | None], side: str) -> Stretch | None:
        days, first, last = (row[f"{side}_{name}"] for name in ("days", "first", "last"))
        if days is None or first is None or last is None:
            return None
        return Stretch(day(first), day(last), days)

    return OffTargets(
        kind,
        tuple(
            OffTarget(
                row["entity"],
                row["parent"],
                row["partition"],
                row["share"],
                row["days"],
                row["above"],
                row["below"],
                stretch(row, "above"),
                stretch(row, "below"),
            )
            for row in found.iter_rows(named=True)
        ),
        found.item(0, "off") if found.height else 0,
        found.item(0, "entities") if found.height else 0,
    )


def drawn_kind(accounts: UsageOf, users: UsageOf) -> str | None:
    """What the chart is of: accounts, unless there is nothing to tell apart among them."""
    for of in (accounts, users):
        if of.named > 1 or of.targets:
            return of.kind
    return next((of.kind for of in (users, accounts) if of.named), None)


def _usage_of(kind: str, found: pl.DataFrame) -> UsageOf:
    columns = ("entity", "share", "now", "mean", "rank", "priority", "parent", "partition")
    rows = [UsageRow(*row) for row in found.select(columns).iter_rows()]
    ends = {
        end: next((row for row, it in zip(rows, found[end], strict=True) if it), None)
        for end in ("above", "below")
    }
    named, targets, left_out = (
        int(found.item(0, name)) if found.height else 0 for name in ("named", "targets", "left_out")
    )
    more = found.row(0, named=True) if found.height else {}
    return UsageOf(
        kind,
        named,
        targets,
        tuple(rows),
        left_out,
        ends["above"],
        ends["below"],
        int(more.get("different", 0)),
        int(more.get("without", 0)) if targets else 0,
        float(more.get("by_without", 0.0)) if targets else 0.0,
        float(more.get("unused", 0.0)) if targets else 0.0,
        any(row.parent is not None for row in rows),
    )


def _series(kind: str, points: pl.DataFrame, zone_name: str) -> UsageSeries:
    in_zone = zone(zone_name)
    lines = []
    days: tuple[str, ...] = ()
    for _, line in points.group_by("place", maintain_order=True):
        # A figure as of midnight is that of the day which then ended.
        days = days or tuple(day_of(t - 1, in_zone).isoformat() for t in line["first_as_of"])
        name, others, share = line.select("entity", "others", "share").row(0)
        lines.append(UsageLine(name, others, share, tuple(line["fraction"])))
    return UsageSeries(kind, days, bool(points.item(0, "weekly")), tuple(lines))


def _settings(con: Connection, own: Mapping[str, str]) -> Mapping[str, object]:
    found = queries.run(con, "report_usage_settings", **own)
    text = found.item(0, "settings") if found.height else None
    value = json.loads(text) if text else None
    return value if isinstance(value, dict) else {}


def _agree(method: str, settings: Mapping[str, object]) -> bool:
    """Whether settings are those that a method's name tells."""
    told = [str(settings.get(key)) for key in ("method", "penalty", "operator")]
    named = method.split(":")
    return named == told[: len(named)]
