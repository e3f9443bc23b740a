"""Usage, targets and penalties: the records, read from the database.

Queries compute sums and means, and return only the rows that are shown. Decayed usage begins with
the first day of the period with any usage.
"""

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.periods import day_of, zone
from audit.report.charts.series import DAYS_DRAWN
from audit.report.figures import by_value, records
from audit.report.sections.usage.record import (
    Charge,
    DecayedUsage,
    Occupied,
    OffTarget,
    OffTargets,
    PenaltyChoice,
    PenaltyOf,
    PenaltyRow,
    Stretch,
    UsageLine,
    UsageOf,
    UsageRow,
    UsageSeries,
)
from audit.report.source import SectionSource
from audit.words import AMOUNTS

LINES: Final = 8
"""Most entities that a chart shows separately."""
COLUMNS: Final = 4
"""Panels that share the width of a chart."""
BALANCE: Final = 0.75
"""An entity is off target if it uses less than this times its target, or more than its target
divided by this: beyond ±0.25 of the relative operator, the bounds of balance in [R] §4."""
PENALTIES: Final = (
    *("cpu", "max", "max_capped", "max_scaled", "sum", "sum_weighted", "product"),
    *("product_weighted", "root", "root_weighted", "pe", "billing"),
)
"""In the order of the tables, which begin with the configured one."""
_KINDS: Final = ("account", "user")


def read(source: SectionSource) -> dict[str, Any]:
    """Return the fields of ``Contents`` about usage, targets and penalties."""
    decayed, known = usages(source), charges(source)
    return {
        "usages": decayed,
        "charges": known,
        "occupied": occupied(source, known, decayed),
        "choice": choice(source),
    }


def usages(source: SectionSource) -> tuple[DecayedUsage, ...]:
    """Return the decayed usage of the period by method."""
    settings = source.settings
    entities = source.rows("usage/decayed")
    in_zone = zone(source.zone)
    begin = day_of(source.period.from_time, in_zone).isoformat()
    made = []
    for method in entities["method"].unique(maintain_order=True):
        of_method = entities.filter(pl.col("method") == method)
        accounts, users = (
            _usage_of(kind, rows_)
            for kind, rows_ in by_value(of_method, "entity_kind", _KINDS).items()
        )
        first, last, days = of_method.select("first_as_of", "last_as_of", "days").row(0)
        made.append(
            DecayedUsage(
                method,
                settings.usage if _agree(method, settings.usage) else {},
                last,
                days,
                accounts,
                users,
                _series(source, method, drawn_kind(accounts, users), in_zone),
                tuple(
                    _off_targets(source, method, of_kind.kind, in_zone)
                    for of_kind in (accounts, users)
                    if of_kind.targets
                ),
                nothing=not (of_method["greatest"] > 0).any(),
                from_first=_day(first, in_zone) > begin,
            )
        )
    return tuple(made)


def _day(as_of: int, in_zone: ZoneInfo) -> str:
    """Return the day of a figure; one at midnight belongs to the day that ended then."""
    return day_of(as_of - 1, in_zone).isoformat()


def _off_targets(source: SectionSource, method: str, kind: str, in_zone: ZoneInfo) -> OffTargets:
    spans = source.rows("usage/off_target", method=method, kind=kind, balance=BALANCE)

    def stretch(row: Mapping[str, int | None], side: str) -> Stretch | None:
        days, first, last = (row[f"{side}_{name}"] for name in ("days", "first", "last"))
        if days is None or first is None or last is None:
            return None
        return Stretch(_day(first, in_zone), _day(last, in_zone), days)

    plain = spans.select("parent", "partition", "share", "days", "above", "below", name="entity")
    longest = [(stretch(row, "above"), stretch(row, "below")) for row in spans.to_dicts()]
    rows = (
        OffTarget(**row, longest_above=above, longest_below=below)
        for row, (above, below) in zip(plain.to_dicts(), longest, strict=True)
    )
    off, entities = spans.select("off", "entities").row(0) if spans.height else (0, 0)
    return OffTargets(kind, tuple(rows), off, entities)


def drawn_kind(accounts: UsageOf, users: UsageOf) -> str | None:
    """Return whether the chart shows accounts or users: accounts, unless there is only one."""
    for of_kind in (accounts, users):
        if of_kind.named > 1 or of_kind.targets:
            return of_kind.kind
    return next((of_kind.kind for of_kind in (users, accounts) if of_kind.named), None)


def _usage_of(kind: str, entities: pl.DataFrame) -> UsageOf:
    if entities.is_empty():
        return UsageOf(kind, 0, 0, (), 0, None, None)
    rows = records(UsageRow, entities.rename({"entity": "name"}))
    ends = {
        side: next((row for row, at_end in zip(rows, entities[side], strict=True) if at_end), None)
        for side in ("above", "below")
    }
    whole = entities.head(1).drop(*ends)
    if not whole.item(0, "targets"):
        whole = whole.drop("without", "by_without", "unused")
    tree = any(row.parent is not None for row in rows)
    (of_kind,) = records(UsageOf, whole, kind=kind, rows=rows, tree=tree, **ends)
    return of_kind


def _series(
    source: SectionSource, method: str, kind: str | None, in_zone: ZoneInfo
) -> UsageSeries | None:
    if kind is None:
        return None
    size = {"shown": LINES, "days": DAYS_DRAWN // COLUMNS}
    points = source.rows("usage/series", method=method, kind=kind, **size)
    lines = []
    days: tuple[str, ...] = ()
    for _, line in points.group_by("place", maintain_order=True):
        days = days or tuple(_day(as_of, in_zone) for as_of in line["first_as_of"])
        name, others, share = line.select("entity", "others", "share").row(0)
        lines.append(UsageLine(name, others, share, tuple(line["fraction"])))
    return UsageSeries(kind, days, bool(points.item(0, "weekly")), tuple(lines))


def _agree(method: str, settings: Mapping[str, object]) -> bool:
    """Return whether the settings are those in the name of a method."""
    configured = [str(settings.get(key)) for key in ("method", "penalty", "operator")]
    named = method.split(":")
    return named == configured[: len(named)]


def charges(source: SectionSource) -> tuple[Charge, ...]:
    """Return how usage counts each resource of each pool."""
    return records(Charge, source.rows("usage/charges"))


def choice(source: SectionSource) -> PenaltyChoice | None:
    """Return usage by penalty; None if only one resource is known."""
    known = source.rows("usage/penalty_names")
    if known.is_empty():
        return None
    configured = set(known.filter("configured")["penalty"])
    present = set(known["penalty"])
    penalties = sorted(
        (name for name in PENALTIES if name in present), key=lambda name: name not in configured
    )
    parts = source.rows("usage/penalties", base=penalties[0])
    accounts, users = (
        _penalty_of(kind, of_kind, penalties)
        for kind, of_kind in by_value(parts, "entity_kind", _KINDS).items()
    )
    return PenaltyChoice(tuple(penalties), accounts, users)


def _penalty_of(kind: str, parts: pl.DataFrame, penalties: list[str]) -> PenaltyOf:
    moved = dict(parts.select("penalty", "moved").unique().iter_rows())
    rows = []
    for _, of_entity in parts.group_by("place", maintain_order=True):
        part, shift = (
            dict(of_entity.select("penalty", column).iter_rows()) for column in ("part", "shift")
        )
        shifts = [abs(shift[penalty]) for penalty in penalties]
        if max(shifts) > 0:
            shares = tuple(part[penalty] for penalty in penalties)
            rows.append(PenaltyRow(of_entity.item(0, "entity"), shares, shifts.index(max(shifts))))
    entities = int(parts.item(0, "entities")) if parts.height else 0
    return PenaltyOf(
        kind, tuple(rows), entities - len(rows), tuple(moved.get(name, 0.0) for name in penalties)
    )


def occupied(
    source: SectionSource, known: tuple[Charge, ...], usages: tuple[DecayedUsage, ...]
) -> Occupied | None:
    """Return the fractions of each resource that entities occupied; None if only one is known.

    Entities are users or accounts, as in the chart of ``usages``.
    """
    charged = {charge.resource for charge in known}
    kind = next((drawn for of in usages if (drawn := drawn_kind(of.accounts, of.users))), None)
    if len(charged) < 2 or kind is None:
        return None
    shown = {"kind": kind, "resources": sorted(charged), "shown": LINES}
    parts = source.rows("usage/occupied", **shown)
    found = set(parts["resource"])
    resources = tuple(name for name in AMOUNTS if name in found)
    if len(resources) < 2:
        return None
    lines = []
    for (place,), of_line in parts.group_by("place", maintain_order=True):
        name, others, share = of_line.select("entity", "others", "share").row(0)
        part = dict(of_line.select("resource", "part").iter_rows())
        shares = tuple(part.get(resource, 0.0) for resource in resources)
        lines.append(UsageLine(name, others if place == LINES + 1 else 0, share, shares))
    return Occupied(kind, resources, tuple(lines))
