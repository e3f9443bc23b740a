"""The logs, what they lack, and cautions about their records."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from audit.periods import day_of, zone
from audit.registry import measures
from audit.report import part, wording
from audit.report.contents import Contents, PoolPart
from audit.report.figures import SMALL_SAMPLE, Figure, records
from audit.report.finding import MANY, Notice, in_pool
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
from audit.report.source import ReportSection, SectionSource

_CHANGES: Final = 6
"""Most restated figures shown."""


def read(source: SectionSource, pools: tuple[PoolPart, ...]) -> dict[str, Any]:
    """Return the fields of ``Contents`` about logs and their records."""
    logs = _logs(source)
    read = source.rows("records/inputs", **logs)
    named = read.rename({"content_sha256": "sha256", "bytes": "size"})
    lists = {"notes": "\n", "columns": ","}
    split = [pl.col(name).str.split(by).fill_null([]) for name, by in lists.items()]
    inputs = records(Input, named.with_columns(split))
    ((superseded,),) = source.tuples("records/superseded")
    return {
        "coverage": _coverage(source, inputs),
        "inputs": inputs,
        "superseded": superseded,
        "refusals": _refusals(
            source.tuples("records/refusals", examples=source.options.examples, **logs)
        ),
        "missing": tuple(
            MissingLog(*log)
            for (missing,) in source.tuples("records/missing")
            for log in json.loads(missing or "[]")
        ),
        "restatement": _restatement(source),
        "silent_since": _silent_since(source),
        "unplaced": unplaced(source, pools),
    }


def _logs(source: SectionSource) -> dict[str, Any]:
    """Return the logs behind a period's figures, as arguments of queries."""
    known = source.tuples("records/input_ids")
    if not known and not source.period.whole_log:
        known = source.tuples("input_ids", since=None, lead=0)
    return {"inputs": [number for number, *_ in known]}


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


def _refusals(lines: list[tuple[Any, ...]]) -> tuple[Refusal, ...]:
    by_reason: dict[tuple[str, int], list[RefusedLine]] = {}
    for reason, number, *line in lines:
        by_reason.setdefault((reason, number), []).append(RefusedLine(*line))
    return tuple(Refusal(*reason, tuple(quoted)) for reason, quoted in by_reason.items())


def _restatement(source: SectionSource) -> Restatement | None:
    rows = source.tuples("records/restated")
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
    ended: int | None
    ((ended,),) = source.tuples("records/period_before")
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


_REFUSED: Final = 0.05
_OVER: Final = 0.05
"""Shares of refused records, and of time over capacity, above which page one says so."""
_GRAVE: Final = 0.01
"""Share of lines or of time above which a defect of the log is grave."""
MISSING_SHOWN: Final = 3
"""Most reasons for missing logs that have a notice each; one more notice counts the other logs."""
FILES_SHOWN: Final = 3


def of_records(contents: Contents) -> Iterator[Notice]:
    """Yield what is doubtful about logs and their records."""
    yield from _of_part(contents)
    yield from (
        Notice(wording.name(text, 400), grave=True) for text in one_of_each(contents.warnings)
    )
    yield from _of_missing(contents)
    yield from _of_reading(contents)
    yield from _of_coverage(contents.coverage)
    for pool in contents.pools:
        yield from _of_pool(pool, contents)


def one_of_each(texts: Sequence[str]) -> list[str]:
    """Return one text of each kind, with the number of the others.

    Texts of one kind differ only in file names, quoted names and numbers.
    """
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(_VARYING.sub("…", text), []).append(text)
    return [
        f"{first} ({len(more):,} more of this kind)" if more else first
        for first, *more in kinds.values()
    ]


_VARYING: Final = re.compile(r"""'[^']*'|"[^"]*"|\S*[\d/.]\S*""")


def _of_part(contents: Contents) -> Iterator[Notice]:
    if contents.part:
        why = wording.name(contents.part, 400)
        yield Notice(f"{wording.first_upper(part.VERDICT)}: {why}. {part.CAUTION}", grave=True)


def reasons_missing(contents: Contents) -> list[tuple[str, list[str]]]:
    """Return why logs could not be read, in their order, each reason with the files."""
    files: dict[str, list[str]] = {}
    for log in contents.missing:
        files.setdefault(log.reason, []).append(log.file)
    return [*files.items()]


def _unread(files: Sequence[str]) -> str:
    if len(files) == 1:
        return f"Log {wording.name(files[0])} could not be read, so its records are missing"
    named = ", ".join(map(wording.name, files[:FILES_SHOWN]))
    more = ", …" if len(files) > FILES_SHOWN else ""
    number = wording.count(len(files))
    return f"{number} logs could not be read, so their records are missing ({named}{more})"


def _of_missing(contents: Contents) -> Iterator[Notice]:
    reasons = reasons_missing(contents)
    for reason, files in reasons[:MISSING_SHOWN]:
        why, _, examples = reason.partition("\n")
        first = examples.strip().partition("\n")[0]
        shown = wording.name(f"{why} {first}".strip(), 400)
        yield Notice(f"{_unread(files)}: {shown}", grave=True, first=True)
    if more := sum(len(files) for _, files in reasons[MISSING_SHOWN:]):
        yield Notice(f"{wording.plural(more, 'more log')} could not be read.", grave=True)
    if contents.silent_since is not None:
        zone = contents.span.zone
        since = wording.instant(contents.silent_since, zone)
        until = wording.instant(contents.span.from_time, zone)
        yield Notice(
            f"There are no records between {since} and {until}, right before this period, and so "
            "no figures, reports or mails for that time."
        )


def _of_reading(contents: Contents) -> Iterator[Notice]:
    if contents.refused:
        share = contents.refused / contents.records if contents.records else 0.0
        yield Notice(
            f"{wording.plural(contents.refused, 'line')} of {wording.count(contents.records)} "
            f"refused ({wording.percent(share)}); see Records for the reasons.",
            grave=share > _GRAVE,
            first=share > _REFUSED,
        )


def _of_coverage(coverage: Coverage) -> Iterator[Notice]:
    if coverage.empty > MANY * coverage.days:
        yield Notice(
            f"No job ended on {wording.count(coverage.empty)} of "
            f"{wording.plural(coverage.days, 'day')} "
            f"({wording.percent(coverage.empty / coverage.days)}): either nothing ran, or records "
            "are missing; see Records for the longest gaps."
        )


def _of_pool(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    where = in_pool(pool, contents)
    over = pool.figure("over_capacity_time").value or 0
    if over > 0:
        yield Notice(
            f"For {wording.rough_percent(over)} of the time, more than "
            f"{wording.plural(pool.capacity, wording.resource(pool.resource))} were in use{where} "
            f"(up to {wording.count(pool.figure('peak_in_use').value)}). Either the size of the "
            "machine or the allocations in the log are wrong.",
            grave=pool.overfilled,
            first=over > _OVER,
        )
    for metric, text in _COUNTS:
        if number := pool.figure(metric).value:
            yield Notice(f"{text}{where}: {wording.count(number)}.")
    if pool.attempts and pool.figure("walltime_unknown").value == pool.attempts:
        yield Notice(
            f"The log has no walltimes{where}: fair start times use real run times as estimates, "
            "as if all users had known them."
        )
    conservation = pool.figure("re_conservation").value
    if conservation is not None and conservation > 1e-6:
        yield Notice(
            f"Shortfalls and surpluses{where} do not cancel out (difference: "
            f"{wording.number(conservation)} of all resources used). This is a defect; please "
            "report it.",
            grave=True,
        )
    if pool.attempts and not pool.users.named:
        yield Notice(f"The log names no users{where}, so there are no figures by user.")
    if 0 < pool.attempts < SMALL_SAMPLE:
        attempts = wording.plural(pool.attempts, "attempt")
        yield Notice(
            f"Only {attempts}{where} ended in the period: the figures are anecdotal.", grave=True
        )


_COUNTS: Final = (
    ("exceeds_capacity", "Attempts larger than the whole pool, whose size may be wrong"),
    (
        "overdue",
        "Attempts over a day past their walltime without an end in the log, which count as "
        "running (in Slurm, check sacctmgr show runawayjobs)",
    ),
    (
        "start_unknown",
        "Attempts with unknown start, which waits and utilization leave out",
    ),
    (
        "arrival_unknown",
        "Attempts with unknown arrival, which no figure of waits, fair start times or resource "
        "equality counts",
    ),
    ("size_unknown", "Attempts of unknown size, which count as 0 and not in resource equality"),
    (
        "pending_left_out",
        "Queued attempts of unknown size or walltime, which fair start times leave out",
    ),
    (
        "arrivals_clipped",
        "Attempts that start before they arrive in the log, counted as arriving at their start",
    ),
)


SECTION: Final = ReportSection("records", notices=of_records)
