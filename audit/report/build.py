"""The record of a report, read from the database and nothing else.

So a report can be made again later from the same database, and compared byte for byte. What it says
of a period rests on the inputs that its figures rest on: logs that were read since, and tell of
other periods, change nothing in it.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import polars as pl

from audit.errors import ReportError
from audit.metrics.attempts import users
from audit.model import OBSERVED, Period
from audit.periods import day_of, zone
from audit.report import charged
from audit.report.charts.series import NUWT_CUT
from audit.report.contents import (
    DEFAULT,
    Breakdown,
    Contents,
    Coverage,
    Entities,
    Entity,
    FairStart,
    Figure,
    Gap,
    Input,
    Missed,
    Options,
    PoolPart,
    Provenance,
    Refusal,
    RefusedLine,
    ResourceUse,
    ResourceUser,
    Span,
    Step,
)
from audit.report.decayed import usages
from audit.report.fair_start import fair_starts
from audit.report.text.definitions import definitions
from audit.store import queries
from audit.store.database import Connection


def build(
    con: Connection,
    cluster: str,
    period: Period,
    options: Options = DEFAULT,
    *,
    schedule: str = OBSERVED,
) -> Contents:
    """Everything that the report on ``cluster`` and ``period`` says.

    Args:
        con: a store or a published snapshot.
        cluster: its name in the database.
        period: one whose figures were computed; one without any makes a report that says so.
        options: what the reader chose.
        schedule: the observed schedule, or the name of a simulated one.

    Raises:
        ReportError: the database does not know the cluster.
    """
    known = queries.run(con, "report_cluster", cluster=cluster, period=period.name)
    if known.is_empty():
        raise ReportError(f"cluster {cluster!r}: the database holds nothing of it; ingest its logs")
    notes, warnings = _notes(known.item(0, "notes"))
    span = {"from_time": period.from_time, "to_time": period.to_time}
    spanned = queries.run(
        con,
        "report_data_span",
        cluster=cluster,
        schedule=schedule,
        whole=period.whole_log,
        **span,
    )
    basis = {
        "cluster": cluster,
        "whole": period.whole_log,
        "inputs": queries.run(con, "input_ids", cluster=cluster, **span)["input_id"].to_list(),
    }
    refusals = queries.run(con, "report_refusals", **basis, examples=options.examples)
    inputs = tuple(Input(*row) for row in queries.run(con, "report_inputs", **basis).iter_rows())
    of_period = {"cluster": cluster, "schedule": schedule, "period": period.name}
    summary = queries.run(con, "report_summary", **of_period)
    entities = queries.run(con, "report_entities", **of_period)
    used = queries.run(con, "report_resource_users", **of_period, rows=options.rows)
    pools = queries.run(con, "report_pools", cluster=cluster)
    parts = {name: _breakdowns(summary.filter(pl.col("pool") == name)) for name in pools["pool"]}
    fair = fair_starts(con, cluster, period, schedule, parts)
    decayed = usages(con, cluster, period, known.item(0, "zone"), options.rows)
    charges = charged.charges(con, cluster, period)
    return Contents(
        cluster=cluster,
        span=Span(
            period.name,
            period.from_time,
            period.to_time,
            period.whole_log,
            known.item(0, "zone"),
            spanned.item(0, "first_arrival"),
            spanned.item(0, "last_end"),
        ),
        pools=tuple(
            _pool(
                pool,
                resource,
                capacity,
                parts[pool],
                entities.filter(pl.col("pool") == pool),
                used.filter(pl.col("pool") == pool),
                fair[pool],
            )
            for pool, resource, capacity in pools.iter_rows()
        ),
        usages=decayed,
        coverage=replace(
            _coverage(con, cluster, period, known.item(0, "zone"), options.gaps),
            undated=sum(log.refused for log in inputs),
        ),
        notes=notes,
        warnings=warnings,
        inputs=inputs,
        superseded=int(queries.run(con, "report_superseded", **basis).item()),
        refusals=_refusals(refusals),
        definitions=definitions(),
        provenance=_provenance(con, cluster, period),
        options=options,
        occupied=charged.occupied(
            con, cluster, schedule, period, known.item(0, "zone"), charges, decayed
        ),
        choice=charged.choice(con, cluster, period, options.rows),
        charges=charges,
    )


def _pool(
    name: str,
    resource: str,
    capacity: int,
    parts: dict[str, tuple[Breakdown, ...]],
    entities: pl.DataFrame,
    used: pl.DataFrame,
    fair: FairStart,
) -> PoolPart:
    kinds = {
        kind: _entities(kind, entities.filter(pl.col("entity_kind") == kind), parts)
        for kind in ("user", "account")
    }
    overall = parts.get("all", ())
    return PoolPart(
        name,
        resource,
        capacity,
        figures=overall[0].figures if overall else (),
        widths=tuple(sorted(parts.get("width_class", ()), key=_by_width)),
        hours=tuple(sorted(parts.get("hour_of_week", ()), key=lambda part: int(part.label))),
        days=parts.get("day", ()),
        users=kinds["user"],
        accounts=kinds["account"],
        resources=_resources(parts.get("resource", ()), used),
        fair_start=fair,
    )


def _resources(busy: tuple[Breakdown, ...], used: pl.DataFrame) -> tuple[ResourceUse, ...]:
    """The resources of a pool, in the order in which sites count them."""
    columns = ("user", "value", "share", "share_of_counted", "attempts")
    made = []
    for part in sorted(busy, key=lambda part: _ORDER.get(part.label, len(_ORDER))):
        own = used.filter(pl.col("resource") == part.label)
        total, left_out = own.select("total", "left_out").row(0) if own.height else (0.0, 0)
        made.append(
            ResourceUse(
                part.label,
                part.figure("utilization").value,
                total,
                tuple(ResourceUser(*row) for row in own.select(columns).iter_rows()),
                left_out,
            )
        )
    return tuple(made)


_ORDER: Final = {"cpus": 0, "nodes": 1, "gpus": 2, "mem_bytes": 3}


def _coverage(con: Connection, cluster: str, period: Period, zone_name: str, gaps: int) -> Coverage:
    in_zone = zone(zone_name)
    last = period.to_time if period.whole_log else period.to_time - 1
    span = {
        "cluster": cluster,
        "from_day": day_of(period.from_time, in_zone).isoformat(),
        "to_day": day_of(last, in_zone).isoformat(),
    }
    days, empty, partial = queries.run(con, "report_coverage", **span).row(0)
    found = queries.run(con, "report_gaps", **span, gaps=gaps)
    return Coverage(
        days, empty, partial, undated=0, gaps=tuple(Gap(*row) for row in found.iter_rows())
    )


def _breakdowns(summary: pl.DataFrame) -> dict[str, tuple[Breakdown, ...]]:
    """The figures of a pool by dimension, and within it by value, in the order of the query."""
    found: dict[str, dict[str | None, list[Figure]]] = {}
    columns = ("dimension", "dimension_value", "metric", "value", "lower", "upper", "unit")
    for dimension, value, *figure in summary.select(*columns, "attempts").iter_rows():
        found.setdefault(dimension, {}).setdefault(value, []).append(Figure(*figure))
    return {
        dimension: tuple(
            Breakdown("unknown" if value is None else value, tuple(figures))
            for value, figures in values.items()
        )
        for dimension, values in found.items()
    }


def _by_width(part: Breakdown) -> tuple[int, int]:
    """``1`` before ``2`` before ``9-16`` before ``>128`` before ``unknown``."""
    if part.label.startswith(">"):
        return (1, 0)
    lowest = part.label.partition("-")[0]
    return (0, int(lowest)) if lowest.isdecimal() else (2, 0)


def _entities(
    kind: str, entities: pl.DataFrame, parts: dict[str, tuple[Breakdown, ...]]
) -> Entities:
    spread = next((part for part in parts.get("entity_kind", ()) if part.label == kind), None)
    curve = users.cdf(entities).filter(pl.col("nuwt") <= NUWT_CUT) if entities.height else None
    return Entities(
        kind,
        rows=tuple(_entity(row) for row in entities.drop("pool", "entity_kind").iter_rows()),
        spread=spread.figures if spread else (),
        cdf=()
        if curve is None
        else tuple(Step(nuwt, share) for nuwt, share, _ in curve.iter_rows()),
    )


def _entity(row: tuple[Any, ...]) -> Entity:
    started = row[_OWN:]
    known = None not in started and started[0]
    return replace(Entity(*row[:_OWN]), missed=Missed(*started) if known else None)


_OWN: Final = 10
"""So many columns of ``report_entities`` stand before those of fair start times."""


def _refusals(lines: pl.DataFrame) -> tuple[Refusal, ...]:
    found: dict[str, tuple[int, list[RefusedLine]]] = {}
    for reason, number, file, line, text in lines.iter_rows():
        found.setdefault(reason, (number, []))[1].append(RefusedLine(file, line, text))
    return tuple(
        Refusal(reason, number, tuple(examples)) for reason, (number, examples) in found.items()
    )


def _notes(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Notes and warnings of ``clusters.notes``.

    ``{"notes": […], "warnings": […]}``; a bare list, or an object of texts, is all notes.
    """
    value = json.loads(text)
    if isinstance(value, dict) and set(value) <= {"notes", "warnings"}:
        return _texts(value.get("notes", [])), _texts(value.get("warnings", []))
    if isinstance(value, dict):
        return _texts(f"{key}: {said}" for key, said in value.items()), ()
    return _texts(value), ()


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _provenance(con: Connection, cluster: str, period: Period) -> Provenance:
    found = queries.run(con, "report_run", cluster=cluster, period=period.name)
    if found.is_empty():
        return Provenance(
            version="unknown", config_hash="unknown", input_hash="unknown", run_id="unknown"
        )
    run_id, version, config_hash, input_hash = found.row(0)
    return Provenance(version, config_hash, input_hash, run_id)
