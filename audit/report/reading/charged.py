"""What a report says of resources and penalties beside usage, read from the database."""

from typing import Final

import polars as pl

from audit.model import Period
from audit.periods import day_edges, day_of, zone
from audit.report.charts.series import DAYS_DRAWN
from audit.report.reading.decayed import COLUMNS, LINES, drawn_kind
from audit.report.usage_contents import (
    Charge,
    DecayedUsage,
    Occupied,
    OccupiedLine,
    PenaltyChoice,
    PenaltyOf,
    PenaltyRow,
)
from audit.store import queries
from audit.store.database import Connection
from audit.words import AMOUNTS

PENALTIES: Final = (
    *("cpu", "max", "max_capped", "max_scaled", "sum", "sum_weighted", "product"),
    *("product_weighted", "root", "root_weighted", "pe", "billing"),
)
"""In the order in which they are shown, behind the configured one."""


def charges(con: Connection, cluster: str, period: Period) -> tuple[Charge, ...]:
    """What requests were compared with, by pool and resource."""
    rows = queries.run(con, "report_charges", cluster=cluster, period=period.name)
    return tuple(Charge(*row) for row in rows.iter_rows())


def choice(con: Connection, cluster: str, period: Period, rows: int) -> PenaltyChoice | None:
    """Who is charged for what under each penalty, beside the one that is configured.

    Args:
        con: a store or a published snapshot.
        cluster: its name in the database.
        period: one whose figures were computed.
        rows: how many users, and accounts, are shown.

    Returns:
        None where one resource alone is known.
    """
    of_period = {"cluster": cluster, "period": period.name}
    known = queries.run(con, "report_penalty_names", **of_period)
    if known.is_empty():
        return None
    configured = set(known.filter("configured")["penalty"])
    present = set(known["penalty"])
    penalties = sorted(
        (name for name in PENALTIES if name in present), key=lambda name: name not in configured
    )
    parts = queries.run(con, "report_penalties", **of_period, base=penalties[0], rows=rows)
    accounts, users = (
        _penalty_of(kind, parts.filter(pl.col("entity_kind") == kind), penalties)
        for kind in ("account", "user")
    )
    return PenaltyChoice(tuple(penalties), accounts, users)


def _penalty_of(kind: str, parts: pl.DataFrame, penalties: list[str]) -> PenaltyOf:
    """Users, or accounts, whose part of all usage depends on the penalty."""
    moved = dict(parts.select("penalty", "moved").unique().iter_rows())
    rows = []
    for _, of_entity in parts.group_by("place", maintain_order=True):
        part = dict(of_entity.select("penalty", "part").iter_rows())
        shift = dict(of_entity.select("penalty", "shift").iter_rows())
        furthest = max(range(len(penalties)), key=lambda at: abs(shift[penalties[at]]))
        if abs(shift[penalties[furthest]]) > 0:
            name = of_entity.item(0, "entity")
            rows.append(PenaltyRow(name, tuple(part[penalty] for penalty in penalties), furthest))
    entities = int(parts.item(0, "entities")) if parts.height else 0
    return PenaltyOf(
        kind, tuple(rows), entities - len(rows), tuple(moved.get(name, 0.0) for name in penalties)
    )


def occupied(
    con: Connection,
    cluster: str,
    schedule: str,
    period: Period,
    zone_name: str,
    known: tuple[Charge, ...],
    usages: tuple[DecayedUsage, ...],
) -> Occupied | None:
    """Who occupied which part of each resource; None where one alone is known.

    Args:
        con: a store or a published snapshot.
        cluster: its name in the database.
        schedule: whose attempts.
        period: what is looked at.
        zone_name: of the cluster.
        known: what is known of the pools' resources.
        usages: which tell whether users or accounts are of interest.
    """
    resources: list[str] = [
        name for name in AMOUNTS if name in {charge.resource for charge in known}
    ]
    kind = next((drawn for of in usages if (drawn := drawn_kind(of.accounts, of.users))), None)
    if len(resources) < 2 or kind is None:
        return None
    edges, weekly = _edges(period, zone_name)
    parts = queries.run(
        con,
        "report_occupied",
        cluster=cluster,
        schedule=schedule,
        period=period.name,
        kind=kind,
        resources=resources,
        edges=edges,
        shown=LINES,
    )
    resources = [name for name in resources if name in set(parts["resource"])]
    if len(resources) < 2:
        return None
    starts = edges[:-1]
    return Occupied(
        kind,
        tuple(resources),
        tuple(day_of(start, zone(zone_name)).isoformat() for start in starts),
        weekly,
        tuple(
            _line(of_line, resources, starts)
            for _, of_line in parts.group_by("place", maintain_order=True)
        ),
    )


def _edges(period: Period, zone_name: str) -> tuple[list[int], bool]:
    """Where the parts of a period that are drawn begin and end, and whether they are weeks."""
    edges = day_edges(period.from_time, period.to_time, zone(zone_name))
    weekly = len(edges) - 1 > DAYS_DRAWN // COLUMNS
    return (sorted({*edges[::7], edges[-1]}) if weekly else edges), weekly


def _line(rows: pl.DataFrame, resources: list[str], starts: list[int]) -> OccupiedLine:
    """What one entity, or all others together, occupied of each resource, and when."""
    whole, over_time = [], []
    for name in resources:
        of_resource = rows.filter(pl.col("resource") == name)
        total = of_resource.item(0, "total") if of_resource.height else 1.0
        whole.append(sum(of_resource["occupied"].to_list()) / total)
        at = {
            start: occupied / of_all
            for start, occupied, of_all in of_resource.select(
                "first", "occupied", "of_all"
            ).iter_rows()
        }
        over_time.append(tuple(at.get(start, 0.0) for start in starts))
    others = rows.item(0, "others") if rows.item(0, "place") > LINES else 0
    entity, share = rows.select("entity", "share").row(0)
    return OccupiedLine(entity, others, share, tuple(whole), tuple(over_time))
