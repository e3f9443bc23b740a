"""The logs behind a report, and what they lack, read from the database."""

import json
from typing import Any, Final

import polars as pl

from audit.periods import day_of, zone
from audit.registry import measures
from audit.report.figures import Figure, records
from audit.report.pool import PoolPart
from audit.report.sections.records.record import (
    Coverage,
    Gap,
    Input,
    MissingLog,
    Refusal,
    RefusedLine,
    Restated,
    Restatement,
    Unplaced,
    UnplacedOf,
)
from audit.report.source import SectionSource

_CHANGES: Final = 6
"""Most restated figures shown."""


def read(source: SectionSource, pools: tuple[PoolPart, ...]) -> dict[str, Any]:
    """Return the fields of ``Contents`` about logs and their records."""
    logs = _logs(source)
    read = source.rows("records/inputs", **logs)
    named = read.rename({"content_sha256": "sha256", "bytes": "size"})
    notes = pl.col("notes").str.split("\n").fill_null([])
    inputs = records(Input, named.with_columns(notes=notes))
    missing = source.rows("records/missing")["missing"].drop_nulls()
    return {
        "coverage": _coverage(source, inputs),
        "inputs": inputs,
        "superseded": source.rows("records/superseded").item(),
        "refusals": _refusals(
            source.rows("records/refusals", examples=source.options.examples, **logs)
        ),
        "missing": tuple(MissingLog(*log) for logs in missing for log in json.loads(logs)),
        "restatement": _restatement(source),
        "silent_since": _silent_since(source),
        "unplaced": unplaced(source, pools),
    }


def _logs(source: SectionSource) -> dict[str, Any]:
    """Return the logs behind a period's figures, as arguments of queries."""
    known = source.rows("records/input_ids")
    if known.is_empty() and not source.period.whole_log:
        known = source.rows("input_ids", since=None, lead=0)
    return {"inputs": known.to_series().to_list()}


def _coverage(source: SectionSource, inputs: tuple[Input, ...]) -> Coverage:
    in_zone, period = zone(source.zone), source.period
    last = period.to_time if period.whole_log else period.to_time - 1
    days = {
        "from_day": day_of(period.from_time, in_zone).isoformat(),
        "to_day": day_of(last, in_zone).isoformat(),
    }
    gaps = source.rows("records/gaps", **days, gaps=source.options.gaps)
    (coverage,) = records(
        Coverage,
        source.rows("records/coverage", **days),
        undated=sum(log.refused for log in inputs),
        gaps=records(Gap, gaps),
    )
    return coverage


def _refusals(lines: pl.DataFrame) -> tuple[Refusal, ...]:
    by_reason: dict[tuple[str, int], list[RefusedLine]] = {}
    for reason, number, *line in lines.iter_rows():
        by_reason.setdefault((reason, number), []).append(RefusedLine(*line))
    return tuple(Refusal(*reason, tuple(quoted)) for reason, quoted in by_reason.items())


def _restatement(source: SectionSource) -> Restatement | None:
    rows = source.rows("records/restated").rows()
    if not rows:
        return None
    *_, because, figures = rows[0]
    largest = [
        Restated(measure.label, Figure(metric, old), Figure(metric, new))
        for metric, old, new, *_ in rows
        if (measure := measures.find(metric)) is not None
    ]
    return Restatement(because, figures, tuple(largest[:_CHANGES]))


def _silent_since(source: SectionSource) -> int | None:
    """Return the end of the last period with records, unless this period follows it directly."""
    if source.period.whole_log:
        return None
    ended: int | None = source.rows("records/period_before")["ended"].item()
    return None if ended == source.period.from_time else ended


def unplaced(source: SectionSource, pools: tuple[PoolPart, ...]) -> tuple[Unplaced, ...]:
    """Return the attempts of a period that ran at an unknown time, by pool."""
    if not any(pool.unplaced for pool in pools):
        return ()
    rows = source.rows("records/unplaced")
    found = []
    for pool in pools:
        mine = rows.filter(pl.col("pool") == pool.name)
        total = mine.filter(pl.col("kind").is_null())
        if total.is_empty():
            continue
        users, accounts = (
            records(UnplacedOf, mine.filter(pl.col("kind") == kind)) for kind in ("user", "account")
        )
        jobs, measured, consumed = total.select("jobs", "measured", "consumed").row(0)
        whose = (pool.name, pool.resource)
        found.append(Unplaced(*whose, jobs, measured, consumed, users, accounts))
    return tuple(found)
