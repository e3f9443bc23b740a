"""What a report says of decayed usage, read from the database.

Sums and means are the database's; only rows that are shown come here. All are of the same days:
those of the period from the first on at whose end anybody had used anything.
"""

from collections.abc import Mapping
from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.model import Period
from audit.periods import day_of, zone
from audit.report.charts.series import DAYS_DRAWN
from audit.report.contents import Settings
from audit.report.usage_contents import (
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
    con: Connection, cluster: str, period: Period, zone_name: str, rows: int, settings: Settings
) -> tuple[DecayedUsage, ...]:
    """Decayed usage of the period by method; empty where the database holds none.

    Args:
        con: a store or a published snapshot.
        cluster: its name in the database.
        period: one whose figures were computed.
        zone_name: of the cluster.
        rows: how many users, and accounts, are shown.
        settings: in force when the period was computed.
    """
    key = {"cluster": cluster, "period": period.name}
    entities = queries.run(con, "report_usage", **key, rows=rows)
    in_zone = zone(zone_name)
    decayed = []
    for (name,), of_method in entities.group_by("method", maintain_order=True):
        method = str(name)
        accounts, users = (
            _usage_of(kind, of_method.filter(pl.col("entity_kind") == kind))
            for kind in ("account", "user")
        )
        first, last, days = of_method.select("first_as_of", "last_as_of", "days").row(0)
        decayed.append(
            DecayedUsage(
                method,
                settings.usage if _agree(method, settings.usage) else {},
                last,
                days,
                accounts,
                users,
                _series(con, {**key, "method": method}, drawn_kind(accounts, users), in_zone),
                tuple(
                    _off_targets(con, {**key, "method": method}, kind_usage.kind, rows, in_zone)
                    for kind_usage in (accounts, users)
                    if kind_usage.targets
                ),
                nothing=not (of_method["greatest"] > 0).any(),
                from_first=_day(first, in_zone) > day_of(period.from_time, in_zone).isoformat(),
            )
        )
    return tuple(decayed)


def _day(as_of: int, in_zone: ZoneInfo) -> str:
    """The day that a figure is of: as of midnight, the one which then ended."""
    return day_of(as_of - 1, in_zone).isoformat()


def _off_targets(
    con: Connection, key: Mapping[str, str], kind: str, rows: int, in_zone: ZoneInfo
) -> OffTargets:
    """When users, or accounts, were above or below their targets."""
    spans = queries.run(con, "report_usage_spans", **key, kind=kind, balance=BALANCE, rows=rows)

    def stretch(row: Mapping[str, int | None], side: str) -> Stretch | None:
        days, first, last = (row[f"{side}_{name}"] for name in ("days", "first", "last"))
        if days is None or first is None or last is None:
            return None
        return Stretch(_day(first, in_zone), _day(last, in_zone), days)

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
            for row in spans.iter_rows(named=True)
        ),
        spans.item(0, "off") if spans.height else 0,
        spans.item(0, "entities") if spans.height else 0,
    )


def drawn_kind(accounts: UsageOf, users: UsageOf) -> str | None:
    """What the chart is of: accounts, unless there is nothing to tell apart among them."""
    for kind_usage in (accounts, users):
        if kind_usage.named > 1 or kind_usage.targets:
            return kind_usage.kind
    return next((kind_usage.kind for kind_usage in (users, accounts) if kind_usage.named), None)


def _usage_of(kind: str, entities: pl.DataFrame) -> UsageOf:
    """Users, or accounts, by their part of all usage."""
    columns = ("entity", "share", "now", "mean", "rank", "priority", "parent", "partition")
    rows = [UsageRow(*row) for row in entities.select(columns).iter_rows()]
    above, below = (
        next((row for row, at_end in zip(rows, entities[side], strict=True) if at_end), None)
        for side in ("above", "below")
    )
    if entities.is_empty():
        return UsageOf(kind, 0, 0, (), 0, None, None)
    of_kind = entities.row(0, named=True)
    targets = int(of_kind["targets"])
    return UsageOf(
        kind,
        int(of_kind["named"]),
        targets,
        tuple(rows),
        int(of_kind["left_out"]),
        above,
        below,
        int(of_kind["different"]),
        int(of_kind["without"]) if targets else 0,
        float(of_kind["by_without"]) if targets else 0.0,
        float(of_kind["unused"]) if targets else 0.0,
        any(row.parent is not None for row in rows),
    )


def _series(
    con: Connection, key: Mapping[str, str], kind: str | None, in_zone: ZoneInfo
) -> UsageSeries | None:
    """What is drawn of users, or accounts, over time; None where there is nobody to draw."""
    if kind is None:
        return None
    points = queries.run(
        con, "report_usage_series", **key, kind=kind, shown=LINES, days=DAYS_DRAWN // COLUMNS
    )
    lines = []
    days: tuple[str, ...] = ()
    for _, line in points.group_by("place", maintain_order=True):
        days = days or tuple(_day(as_of, in_zone) for as_of in line["first_as_of"])
        name, others, share = line.select("entity", "others", "share").row(0)
        lines.append(UsageLine(name, others, share, tuple(line["fraction"])))
    return UsageSeries(kind, days, bool(points.item(0, "weekly")), tuple(lines))


def _agree(method: str, settings: Mapping[str, object]) -> bool:
    """Whether settings are those that a method's name tells."""
    configured = [str(settings.get(key)) for key in ("method", "penalty", "operator")]
    named = method.split(":")
    return named == configured[: len(named)]
