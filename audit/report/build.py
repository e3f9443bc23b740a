"""The record of a report, read from the database and nothing else.

So a report can be made again later from the same database, and compared byte for byte. What it says
of a period rests on the inputs that its figures rest on: logs that were read since, and tell of
other periods, change nothing in it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import polars as pl

from audit.errors import ReportError
from audit.metrics import measures
from audit.metrics.attempts import users
from audit.model import OBSERVED, Period
from audit.periods import day_of, zone
from audit.report.charts.series import NUWT_CUT
from audit.report.contents import (
    DEFAULT,
    Breakdown,
    Contents,
    Entities,
    Entity,
    FairStart,
    Figure,
    Missed,
    Options,
    PoolPart,
    Provenance,
    ResourceUse,
    ResourceUser,
    Restated,
    Restatement,
    Settings,
    Span,
    Step,
    Stuck,
    StuckAttempt,
)
from audit.report.pictured_contents import NOTHING_PICTURED
from audit.report.read_contents import Coverage, Gap, Input, MissingLog, Refusal, RefusedLine
from audit.report.reading import charged
from audit.report.reading.advice import advices
from audit.report.reading.decayed import usages
from audit.report.reading.elsewhere import elsewhere
from audit.report.reading.fair_start import fair_starts
from audit.report.reading.pictured import pictured
from audit.report.reading.settings import settings_of
from audit.report.reading.trending import trends
from audit.report.text.definitions import definitions
from audit.report.trend import Trend
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
    zone_name, noted = known.row(0)
    notes, warnings = _notes(noted)
    settings = settings_of(con, cluster, period)
    of_inputs = _of_inputs(con, cluster, period)
    inputs = tuple(
        Input(*row) for row in queries.run(con, "report_inputs", **of_inputs).iter_rows()
    )
    trend = trends(con, cluster, period, schedule, zone_name, settings.resamples)
    decayed = usages(con, cluster, period, zone_name, options.rows, settings)
    charges = charged.charges(con, cluster, period)
    span = _span(con, cluster, period, schedule, zone_name)
    made = _pools(con, cluster, period, schedule, options, settings)
    pools = _shown(con, cluster, period, schedule, zone_name, trend, made)
    occupied = charged.occupied(con, cluster, schedule, period, zone_name, charges, decayed)
    return Contents(
        cluster=cluster,
        span=span,
        pools=pools,
        usages=decayed,
        coverage=_coverage(con, cluster, period, zone_name, options.gaps, inputs),
        notes=notes,
        warnings=warnings,
        inputs=inputs,
        superseded=_superseded(con, **of_inputs),
        refusals=_refusals(con, of_inputs, options.examples),
        definitions=definitions(settings.metrics),
        provenance=_provenance(con, cluster, period),
        options=options,
        occupied=occupied,
        choice=charged.choice(con, cluster, period, options.rows),
        charges=charges,
        settings=settings,
        missing=_missing(con, cluster, period),
        restatement=_restatement(con, cluster, period),
        silent_since=_silent_since(con, cluster, period),
    )


def _of_inputs(con: Connection, cluster: str, period: Period) -> dict[str, Any]:
    """Which logs a period rests on, as queries about logs are asked for them."""
    known = queries.rows(con, "report_input_ids", cluster=cluster, period=period.name)
    if not known and not period.whole_log:
        within = {"from_time": period.from_time, "to_time": period.to_time}
        known = queries.rows(con, "input_ids", cluster=cluster, **within, since=None)
    ids = [row[0] for row in known]
    return {"cluster": cluster, "whole": period.whole_log, "inputs": ids}


def _superseded(con: Connection, *, cluster: str, whole: bool, inputs: list[str]) -> int:
    """How many records of the logs of a period give way to others."""
    of = None if whole else inputs
    ((number,),) = queries.rows(con, "report_superseded", cluster=cluster, inputs=of)
    return int(number)


def _span(con: Connection, cluster: str, period: Period, schedule: str, zone_name: str) -> Span:
    """The period, and what of it the data cover."""
    first_arrival, last_end = (
        queries.run(
            con,
            "report_data_span",
            cluster=cluster,
            schedule=schedule,
            whole=period.whole_log,
            from_time=period.from_time,
            to_time=period.to_time,
        )
        .select("first_arrival", "last_end")
        .row(0)
    )
    return Span(
        period.name,
        period.from_time,
        period.to_time,
        period.whole_log,
        zone_name,
        first_arrival,
        last_end,
    )


def _pools(
    con: Connection,
    cluster: str,
    period: Period,
    schedule: str,
    options: Options,
    settings: Settings,
) -> tuple[PoolPart, ...]:
    """What is said of each pool, the largest first."""
    key = {"cluster": cluster, "schedule": schedule, "period": period.name}
    pools = queries.run(con, "report_pools", cluster=cluster)
    summary, entities, peers, used = (
        {
            pool: rows.filter(pl.col("pool") == pool)
            for rows in [queries.run(con, query, **key, **more)]
            for pool in pools["pool"]
        }
        for query, more in (
            ("report_summary", {}),
            ("report_entities", {}),
            ("report_peers", {}),
            ("report_resource_users", {"rows": options.rows}),
        )
    )
    parts = {
        pool: _breakdowns(rows)
        | {f"peers of {kind}": of for kind, of in _breakdowns(peers[pool]).items()}
        for pool, rows in summary.items()
    }
    fair = fair_starts(con, cluster, period, schedule, parts, settings)
    keep_single = settings.metrics.keep_single_job_users
    named = dict(zip(("period", "from_time", "to_time"), period, strict=True))
    stuck = queries.run(con, "report_stuck", cluster=cluster, **named, most=options.rows)
    made = tuple(
        _pool(
            name,
            resource,
            capacity,
            parts[name],
            entities[name],
            used[name],
            fair[name],
            keep_single,
        )
        for name, resource, capacity in pools.iter_rows()
    )
    if schedule != OBSERVED:
        return made
    return tuple(
        replace(
            pool,
            stuck=_stuck(stuck.filter(pl.col("pool") == pool.name)),
            advised=advices(con, cluster, period, pool.name),
        )
        for pool in made
    )


def _shown(
    con: Connection,
    cluster: str,
    period: Period,
    schedule: str,
    zone_name: str,
    trend: Mapping[str, Trend],
    pools: Iterable[PoolPart],
) -> tuple[PoolPart, ...]:
    """The pools, with what went over time, what pictures show, and what other tools count."""
    pictures = pictured(con, cluster, schedule, period, zone_name)
    counted = elsewhere(con, cluster, schedule, period)
    return tuple(
        replace(
            pool,
            trend=trend.get(pool.name),
            pictured=pictures.get(pool.name, NOTHING_PICTURED),
            elsewhere=counted.get(pool.name),
        )
        for pool in pools
    )


def _pool(
    name: str,
    resource: str,
    capacity: int,
    parts: dict[str, tuple[Breakdown, ...]],
    entities: pl.DataFrame,
    used: pl.DataFrame,
    fair: FairStart,
    keep_single: bool,
) -> PoolPart:
    users_, accounts = (
        _entities(kind, entities.filter(pl.col("entity_kind") == kind), parts, keep_single)
        for kind in ("user", "account")
    )
    overall = parts.get("all", ())
    return PoolPart(
        name,
        resource,
        capacity,
        figures=overall[0].figures if overall else (),
        widths=tuple(sorted(parts.get("width_class", ()), key=_by_width)),
        hours=tuple(sorted(parts.get("hour_of_week", ()), key=lambda part: int(part.label))),
        days=parts.get("day", ()),
        users=users_,
        accounts=accounts,
        resources=_resources(parts.get("resource", ()), used),
        fair_start=fair,
    )


def _stuck(rows: pl.DataFrame) -> Stuck | None:
    if rows.is_empty():
        return None
    waiting, gave_up = rows.select("all_waiting", "all_gave_up").row(0)
    told = rows.drop("pool", "all_waiting", "all_gave_up")
    return Stuck(waiting, gave_up, tuple(StuckAttempt(*row) for row in told.iter_rows()))


def _resources(busy: tuple[Breakdown, ...], used: pl.DataFrame) -> tuple[ResourceUse, ...]:
    """The resources of a pool, in the order in which sites count them."""
    columns = ("user", "value", "share", "share_of_counted", "attempts")
    resources = []
    for part in sorted(busy, key=lambda part: _ORDER.get(part.label, len(_ORDER))):
        users_ = used.filter(pl.col("resource") == part.label)
        total, left_out = users_.select("total", "left_out").row(0) if users_.height else (0.0, 0)
        resources.append(
            ResourceUse(
                part.label,
                part.figure("utilization").value,
                total,
                tuple(ResourceUser(*row) for row in users_.select(columns).iter_rows()),
                left_out,
            )
        )
    return tuple(resources)


_ORDER: Final = {"cpus": 0, "nodes": 1, "gpus": 2, "mem_bytes": 3}


def _coverage(
    con: Connection,
    cluster: str,
    period: Period,
    zone_name: str,
    gaps: int,
    inputs: tuple[Input, ...],
) -> Coverage:
    in_zone = zone(zone_name)
    last = period.to_time if period.whole_log else period.to_time - 1
    span = {
        "cluster": cluster,
        "from_day": day_of(period.from_time, in_zone).isoformat(),
        "to_day": day_of(last, in_zone).isoformat(),
    }
    days, empty, partial = queries.run(con, "report_coverage", **span).row(0)
    longest = queries.run(con, "report_gaps", **span, gaps=gaps)
    undated = sum(log.refused for log in inputs)
    told = tuple(Gap(*row) for row in longest.iter_rows())
    return Coverage(days, empty, partial, undated, told)


def _breakdowns(summary: pl.DataFrame) -> dict[str, tuple[Breakdown, ...]]:
    """The figures of a pool by dimension, and within it by value, in the order of the query."""
    figures_of: dict[str, dict[str | None, list[Figure]]] = {}
    columns = ("dimension", "dimension_value", "metric", "value", "lower", "upper", "unit")
    for dimension, value, *figure in summary.select(*columns, "attempts").iter_rows():
        figures_of.setdefault(dimension, {}).setdefault(value, []).append(Figure(*figure))
    return {
        dimension: tuple(
            Breakdown("unknown" if value is None else value, tuple(figures))
            for value, figures in values.items()
        )
        for dimension, values in figures_of.items()
    }


def _by_width(part: Breakdown) -> tuple[int, int]:
    """``1`` before ``2`` before ``9-16`` before ``>128`` before ``unknown``."""
    if part.label.startswith(">"):
        return (1, 0)
    lowest = part.label.partition("-")[0]
    return (0, int(lowest)) if lowest.isdecimal() else (2, 0)


def _entities(
    kind: str,
    entities: pl.DataFrame,
    parts: dict[str, tuple[Breakdown, ...]],
    keep_single: bool,
) -> Entities:
    spread = next((part for part in parts.get("entity_kind", ()) if part.label == kind), None)
    steps = users.cdf(entities, keep_single) if entities.height else pl.DataFrame()
    peered = [
        part
        for part in parts.get(f"peers of {kind}", ())
        if part.figure("peer_named").value is not None
    ]
    peered.sort(key=lambda part: (-(part.figure("excess_wait").value or 0.0), part.label))
    return Entities(
        kind,
        rows=tuple(_entity(row) for row in entities.drop("pool", "entity_kind").iter_rows()),
        spread=spread.figures if spread else (),
        cdf=tuple(Step(nuwt, share) for nuwt, share, _ in steps.iter_rows() if nuwt <= NUWT_CUT),
        longer=tuple(part for part in peered if part.figure("peer_named").value),
        floods=tuple(part for part in peered if part.figure("peer_flood").value),
        peered=len(peered),
    )


def _entity(row: tuple[Any, ...]) -> Entity:
    missed = row[_PLAIN:]
    judged = None not in missed and missed[0]
    return replace(Entity(*row[:_PLAIN]), missed=Missed(*missed) if judged else None)


_PLAIN: Final = 10
"""So many columns of ``report_entities`` stand before those of fair start times."""


def _refusals(con: Connection, of_inputs: dict[str, Any], examples: int) -> tuple[Refusal, ...]:
    lines = queries.run(con, "report_refusals", **of_inputs, examples=examples)
    by_reason: dict[str, tuple[int, list[RefusedLine]]] = {}
    for reason, number, file, line, text in lines.iter_rows():
        by_reason.setdefault(reason, (number, []))[1].append(RefusedLine(file, line, text))
    return tuple(
        Refusal(reason, number, tuple(quoted)) for reason, (number, quoted) in by_reason.items()
    )


def _missing(con: Connection, cluster: str, period: Period) -> tuple[MissingLog, ...]:
    """The logs that are missing, as the run of the period keeps them."""
    kept = queries.run(con, "report_missing", cluster=cluster, period=period.name)["missing"]
    return tuple(
        MissingLog(file, reason) for text in kept.drop_nulls() for file, reason in json.loads(text)
    )


def _restatement(con: Connection, cluster: str, period: Period) -> Restatement | None:
    """The largest changes since the figures of the period were computed the last time."""
    rows = queries.rows(con, "report_restated", cluster=cluster, period=period.name)
    if not rows:
        return None
    *_, because, figures = rows[0]
    largest = [
        Restated(measure.label, Figure(metric, old), Figure(metric, new))
        for metric, old, new, *_ in rows
        if (measure := measures.find(metric)) is not None
    ]
    return Restatement(because, figures, tuple(largest[:_CHANGES]))


_CHANGES: Final = 6
"""So many figures that changed are shown."""


def _silent_since(con: Connection, cluster: str, period: Period) -> int | None:
    """When the last period before ended, where others lie between that have no record."""
    if period.whole_log:
        return None
    before = queries.run(con, "report_before", cluster=cluster, from_time=period.from_time)
    ended: int | None = before["ended"].item()
    return None if ended == period.from_time else ended


def _notes(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Notes and warnings of ``clusters.notes``.

    ``{"notes": […], "warnings": […]}``; a bare list, or an object of texts, is all notes.
    """
    value = json.loads(text)
    if isinstance(value, dict) and set(value) <= {"notes", "warnings"}:
        return _texts(value.get("notes", [])), _texts(value.get("warnings", []))
    if isinstance(value, dict):
        return _texts(f"{key}: {text}" for key, text in value.items()), ()
    return _texts(value), ()


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _provenance(con: Connection, cluster: str, period: Period) -> Provenance:
    runs = queries.run(con, "report_run", cluster=cluster, period=period.name)
    if runs.is_empty():
        return Provenance(
            version="unknown", config_hash="unknown", input_hash="unknown", run_id="unknown"
        )
    run_id, version, config_hash, input_hash = runs.row(0)
    return Provenance(version, config_hash, input_hash, run_id)
