"""The content of a report, read from the database alone.

A report can therefore be reproduced from the same database, byte for byte. It uses only the logs
behind its figures: logs read since then do not change it.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl
from pydantic import ValidationError

from audit.config import Metrics
from audit.errors import ReportError
from audit.model import OBSERVED, Period
from audit.periods import day_of, zone
from audit.registry import measures
from audit.report.contents import DEFAULT, Assumed, Contents, Options, Settings, Span
from audit.report.figures import Figure
from audit.report.first_page.reading import with_verdicts
from audit.report.pools import in_part, pools
from audit.report.rows import records
from audit.report.sections.changes.reading import trends
from audit.report.sections.definitions.text import definitions
from audit.report.sections.provenance.record import Provenance
from audit.report.sections.records.record import (
    Coverage,
    Gap,
    Input,
    MissingLog,
    Refusal,
    RefusedLine,
    Restated,
    Restatement,
)
from audit.report.sections.records.unplaced import unplaced
from audit.report.sections.usage import reading as usage
from audit.store import queries
from audit.store.database import Connection

_CHANGES: Final = 6
"""Most restated figures shown."""


def build(
    con: Connection,
    cluster: str,
    period: Period,
    options: Options = DEFAULT,
    *,
    schedule: str = OBSERVED,
) -> Contents:
    """Return the content of the report on a cluster and period.

    If the period's figures were not computed, the report says so. ``con`` is a store or a published
    snapshot; ``schedule`` is the observed schedule, or the name of a simulated one.

    Raises:
        ReportError: the database does not have the cluster.
    """
    of_period = {"cluster": cluster, "period": period.name}
    if not (known := queries.rows(con, "report/cluster", **of_period)):
        raise ReportError(f"cluster {cluster!r}: not in the database; ingest its logs first")
    zone_name, text = known[0]
    noted = _noted(text)
    settings = settings_of(con, cluster, period)
    of_inputs = _of_inputs(con, cluster, period)
    span = {"whole": period.whole_log, "from_time": period.from_time, "to_time": period.to_time}
    ((superseded,),) = queries.rows(con, "records/superseded", cluster=cluster, **span)
    inputs = _inputs(con, of_inputs)
    missing = queries.run(con, "records/missing", **of_period)["missing"].drop_nulls()
    run = records(Provenance, queries.run(con, "provenance/run", **of_period))
    trend = trends(con, cluster, period, schedule, zone_name, settings.resamples)
    decayed = usage.usages(con, cluster, period, zone_name, options.rows, settings)
    charges = usage.charges(con, cluster, period)
    read = pools(con, cluster, period, schedule, zone_name, options, settings, trend)
    parts = tuple(in_part(pool, noted.part) for pool in read)
    contents = Contents(
        cluster=cluster,
        span=_span(con, cluster, period, schedule, zone_name),
        pools=parts,
        usages=decayed,
        coverage=_coverage(con, cluster, period, zone_name, options.gaps, inputs),
        notes=noted.notes,
        warnings=noted.warnings,
        inputs=inputs,
        superseded=superseded,
        refusals=_refusals(con, of_inputs, options.examples),
        definitions=definitions(settings.metrics),
        provenance=run[0] if run else Provenance(*["unknown"] * 4),
        options=options,
        occupied=usage.occupied(con, cluster, schedule, period, charges, decayed),
        choice=usage.choice(con, cluster, period, options.rows),
        charges=charges,
        settings=settings,
        missing=tuple(MissingLog(*log) for logs in missing for log in json.loads(logs)),
        restatement=_restatement(con, of_period),
        silent_since=_silent_since(con, cluster, period),
        unplaced=unplaced(con, cluster, period, schedule, parts),
        part=noted.part,
        announced=noted.announced,
    )
    return with_verdicts(con, contents) if schedule == OBSERVED else contents


def settings_of(con: Connection, cluster: str, period: Period) -> Settings:
    """Return the settings behind the figures of a period, or the defaults."""
    rows = queries.run(con, "report/settings", cluster=cluster, period=period.name)
    metrics, resamples, decay, assumed = rows.row(0) if rows.height else (None,) * 4
    usage_ = json.loads(decay) if decay else None
    found = Settings(
        usage=usage_ if isinstance(usage_, dict) else {},
        assumed=_assumed(json.loads(assumed) if assumed else {}),
    )
    try:
        known = None if metrics is None else Metrics.model_validate_json(metrics)
    except ValidationError:  # written by a version with other keys
        known = None
    if known is None:
        return found
    return replace(found, metrics=known, resamples=resamples or found.resamples, known=True)


def _assumed(fitted: Mapping[str, Any]) -> dict[str, Assumed]:
    """Return what ``cluster.fitted`` stored, by pool."""
    return {pool: Assumed(tuple(of["says"])) for pool, of in fitted.items() if of.get("says")}


def _inputs(con: Connection, of_inputs: Mapping[str, Any]) -> tuple[Input, ...]:
    read = queries.run(con, "records/inputs", **of_inputs)
    named = read.rename({"content_sha256": "sha256", "bytes": "size"})
    return records(Input, named.with_columns(notes=pl.col("notes").str.split("\n").fill_null([])))


def _of_inputs(con: Connection, cluster: str, period: Period) -> dict[str, Any]:
    """Return the logs behind a period's figures, as arguments of queries."""
    known = queries.rows(con, "records/input_ids", cluster=cluster, period=period.name)
    if not known and not period.whole_log:
        within = {"from_time": period.from_time, "to_time": period.to_time}
        known = queries.rows(con, "input_ids", cluster=cluster, **within, since=None, lead=0)
    ids = [row[0] for row in known]
    return {"cluster": cluster, "whole": period.whole_log, "inputs": ids}


def _span(con: Connection, cluster: str, period: Period, schedule: str, zone_name: str) -> Span:
    within = {"from_time": period.from_time, "to_time": period.to_time}
    of = {"cluster": cluster, "schedule": schedule, "whole": period.whole_log}
    known = queries.run(con, "records/span", **of, **within, period=period.name)
    ((newest,),) = queries.rows(con, "latest_instant", cluster=cluster)
    fixed = {"whole_log": period.whole_log, "zone": zone_name, "newest": newest}
    (span,) = records(Span, known, name=period.name, **within, **fixed)
    return span


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
    days = {
        "cluster": cluster,
        "from_day": day_of(period.from_time, in_zone).isoformat(),
        "to_day": day_of(last, in_zone).isoformat(),
    }
    (coverage,) = records(
        Coverage,
        queries.run(con, "records/coverage", **days),
        undated=sum(log.refused for log in inputs),
        gaps=records(Gap, queries.run(con, "records/gaps", **days, gaps=gaps)),
    )
    return coverage


def _refusals(con: Connection, of_inputs: dict[str, Any], examples: int) -> tuple[Refusal, ...]:
    lines = queries.rows(con, "records/refusals", **of_inputs, examples=examples)
    by_reason: dict[tuple[str, int], list[RefusedLine]] = {}
    for reason, number, *line in lines:
        by_reason.setdefault((reason, number), []).append(RefusedLine(*line))
    return tuple(Refusal(*reason, tuple(quoted)) for reason, quoted in by_reason.items())


def _restatement(con: Connection, of_period: Mapping[str, str]) -> Restatement | None:
    """Return the changes since the period's figures were last computed."""
    rows = queries.rows(con, "records/restated", **of_period)
    if not rows:
        return None
    *_, because, figures = rows[0]
    largest = [
        Restated(measure.label, Figure(metric, old), Figure(metric, new))
        for metric, old, new, *_ in rows
        if (measure := measures.find(metric)) is not None
    ]
    return Restatement(because, figures, tuple(largest[:_CHANGES]))


def _silent_since(con: Connection, cluster: str, period: Period) -> int | None:
    """Return the end of the last period with records, unless this period follows it directly."""
    if period.whole_log:
        return None
    before = queries.run(con, "records/period_before", cluster=cluster, from_time=period.from_time)
    ended: int | None = before["ended"].item()
    return None if ended == period.from_time else ended


class _Noted(NamedTuple):
    """What ``clusters.notes`` holds."""

    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    part: str  # why the log is a part of the workload
    announced: tuple[int, int] | None  # records, and those that headers announce


def _noted(text: str) -> _Noted:
    """Return the content of ``clusters.notes``: an object, or only a list or object of notes."""
    value = json.loads(text)
    keys = {"notes", "warnings", "part", "announced"}
    if isinstance(value, dict) and not set(value) <= keys:
        value = [f"{key}: {text}" for key, text in value.items()]
    if not isinstance(value, dict):
        value = {"notes": value}
    notes, warnings = (tuple(map(str, value.get(key, ()))) for key in ("notes", "warnings"))
    announced = value.get("announced")
    counts = (int(announced[0]), int(announced[1])) if announced else None
    return _Noted(notes, warnings, str(value.get("part", "")), counts)
