"""What a report says of resources and penalties beside usage, read from the database."""

from itertools import pairwise
from typing import Final

import polars as pl

from audit.model import Period
from audit.periods import day_edges, day_of, zone
from audit.report.charts.series import DAYS_DRAWN
from audit.report.contents import (
    Charge,
    DecayedUsage,
    Occupied,
    OccupiedLine,
    PenaltyChoice,
    PenaltyOf,
    PenaltyRow,
)
from audit.report.decayed import COLUMNS, LINES, drawn_kind
from audit.store import queries
from audit.store.database import Connection
from audit.words import AMOUNTS

PENALTIES: Final = (
    *("cpu", "max", "max_capped", "max_scaled", "sum", "sum_weighted", "product"),
    *("product_weighted", "root", "root_weighted", "pe", "billing"),
)
"""In the order in which they are shown; the first that is known is what the others differ from."""

RESOURCES: Final = AMOUNTS
"""In the order in which they are shown."""


def charges(con: Connection, cluster: str, period: Period) -> tuple[Charge, ...]:
    """What requests were compared with, by pool and resource."""
    found = queries.run(con, "report_charges", cluster=cluster, period=period.name)
    return tuple(Charge(*row) for row in found.iter_rows())


def choice(con: Connection, cluster: str, period: Period, rows: int) -> PenaltyChoice | None:
    """Who is charged for what under each penalty; None where one resource alone is known."""
    own = {"cluster": cluster, "period": period.name}
    names = queries.run(con, "report_penalty_names", **own)
    if names.is_empty():
        return None
    known = [name for name in PENALTIES if name in set(names["penalty"])]
    found = queries.run(con, "report_penalties", **own, base=known[0], rows=rows)
    configured = names.filter("configured")["penalty"]
    kinds = [
        _penalty_of(kind, found.filter(pl.col("entity_kind") == kind), known)
        for kind in ("account", "user")
    ]
    return PenaltyChoice(tuple(known), configured[0] if len(configured) else known[0], *kinds)


def _penalty_of(kind: str, found: pl.DataFrame, known: list[str]) -> PenaltyOf:
    moved = dict(found.select("penalty", "moved").unique().iter_rows())
    rows = []
    for _, of_one in found.group_by("place", maintain_order=True):
        parts = dict(of_one.select("penalty", "part").iter_rows())
        shifts = dict(of_one.select("penalty", "shift").iter_rows())
        furthest = max(range(len(known)), key=lambda k: abs(shifts[known[k]]))
        if abs(shifts[known[furthest]]) > 0:
            name = of_one.item(0, "entity")
            rows.append(PenaltyRow(name, tuple(parts[k] for k in known), furthest))
    entities = int(found.item(0, "entities")) if found.height else 0
    return PenaltyOf(
        kind, tuple(rows), entities - len(rows), tuple(moved.get(name, 0.0) for name in known)
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
        name for name in RESOURCES if name in {charge.resource for charge in known}
    ]
    kind = next((drawn for of in usages if (drawn := drawn_kind(of.accounts, of.users))), None)
    if len(resources) < 2 or kind is None:
        return None
    in_zone = zone(zone_name)
    edges = day_edges(period.from_time, period.to_time, in_zone)
    weekly = len(edges) - 1 > DAYS_DRAWN // COLUMNS
    if weekly:
        edges = sorted({*edges[::7], edges[-1]})
    found = queries.run(
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
    resources = [name for name in resources if name in set(found["resource"])]
    if len(resources) < 2:
        return None
    starts = [first for first, _ in pairwise(edges)]
    lines = []
    for _, line in found.group_by("place", maintain_order=True):
        others = line.item(0, "others") if line.item(0, "place") > LINES else 0
        lines.append(
            OccupiedLine(
                line.item(0, "entity"),
                others,
                line.item(0, "share"),
                *_parts(line, resources, starts),
            )
        )
    return Occupied(
        kind,
        tuple(resources),
        tuple(day_of(first, in_zone).isoformat() for first in starts),
        weekly,
        tuple(lines),
    )


def _parts(
    line: pl.DataFrame, resources: list[str], starts: list[int]
) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """Of each resource the part in the whole period, and in each part of it."""
    whole, over_time = [], []
    for name in resources:
        mine = line.filter(pl.col("resource") == name)
        total = mine.item(0, "total") if mine.height else 1.0
        whole.append(sum(mine["occupied"].to_list()) / total)
        at = {
            first: part / of_all
            for first, part, of_all in mine.select("first", "occupied", "of_all").iter_rows()
        }
        over_time.append(tuple(at.get(first, 0.0) for first in starts))
    return tuple(whole), tuple(over_time)
