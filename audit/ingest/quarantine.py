"""Quarantine: records with doubtful dates, and sources with too many refusals.

A doubtful record is valid, but its date is unlikely (a node's clock was wrong, or a bit flipped).
It is kept with its text in a separate table, and returns when its source has more such records or
the user accepts its dates.

A source's records are grouped by day; gaps of more than ``APART_DAYS`` separate parts. A part is
doubtful if it is *small* (at most ``FEW`` records or 1 % of the largest part, and at most a tenth
of it) and *far*: its distance from the nearest part that is not small exceeds ``APART_DAYS`` and
three times that part's length (ten years are always far). The rule uses all records of a source, so
the order of logs and how they are cut do not matter.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.errors import RefusedError
from audit.ingest import logs
from audit.ingest.attempts import settle
from audit.model import RECORDS
from audit.store import queries
from audit.store.archive import archived_until
from audit.store.database import Connection, execute, insert

APART_DAYS: Final = 366
FEW: Final = 3
_SMALL: Final = 0.01
_SMALLER: Final = 0.1
_TIMES_AS_LONG: Final = 3
_ALWAYS_FAR_DAYS: Final = 3653


class SourceStretch(NamedTuple):
    """A stretch of days of a source in which no gap is longer than ``APART_DAYS``."""

    first: int  # days since the epoch
    last: int
    records: int


class Doubt(NamedTuple):
    """A doubtful part, and the nearest part that is not small."""

    part: SourceStretch
    rest: SourceStretch


def doubts(days: Sequence[tuple[int, int]]) -> list[Doubt]:
    """Return the doubtful parts of a source.

    ``days`` are days since the epoch, ascending, and the number of records of each.
    """
    found = parts(days)
    largest = max((part.records for part in found), default=0)
    few = min(max(FEW, _SMALL * largest), _SMALLER * largest)
    trusted = [part for part in found if part.records > few]
    doubted = []
    for part in found:
        if part.records <= few:
            rest = min(trusted, key=lambda other: _distance(part, other))
            lasts = rest.last - rest.first + 1
            far = max(APART_DAYS, min(_TIMES_AS_LONG * lasts, _ALWAYS_FAR_DAYS))
            if _distance(part, rest) > far:
                doubted.append(Doubt(part, rest))
    return doubted


def parts(days: Sequence[tuple[int, int]]) -> list[SourceStretch]:
    """Return the parts of a source; arguments as ``doubts``."""
    found: list[SourceStretch] = []
    for day, records in days:
        if found and day - found[-1].last <= APART_DAYS:
            found[-1] = SourceStretch(found[-1].first, day, found[-1].records + records)
        else:
            found.append(SourceStretch(day, day, records))
    return found


def _distance(part: SourceStretch, other: SourceStretch) -> int:
    return max(part.first - other.last, other.first - part.last)


EXAMPLES: Final = 5  # refused lines that an error shows

_DAY_S: Final = 86_400
_TIMES: Final = ("submit", "eligible", "start", "end")
_KEPT: Final = (*(name for name in RECORDS if name != "cluster"), "attempt", "superseded")


class Counted(NamedTuple):
    """Counts of one source's new logs."""

    where: str
    title: str  # of their dialect
    records: int  # refused ones included
    refused: int
    first: tuple[tuple[str, int, str], ...]  # file, line and reason of the first refused ones
    unread: int = 0  # number of bytes that were not read


def beyond_limit(counted: Counted, limit: float) -> RefusedError:
    """Return the error of a source of which more than the part ``limit`` (0 to 1) was refused."""
    examples = "".join(f"\n  {file}:{line}: {reason}" for file, line, reason in counted.first)
    early = "the first " if counted.unread else ""
    return RefusedError(
        f"{counted.where}: {counted.refused:,} of {early}{counted.records:,} records were refused, "
        f"more than the limit of {100 * limit:.0f} % (ingest.refused_limit): is it complete, and "
        f"really {counted.title}? The first of them:{examples}"
    )


def weigh_dates(con: Connection, cluster: str, read: Mapping[str, Path], now: int | None) -> None:
    """Set aside records with doubtful dates, and return those that are no longer doubtful.

    ``read`` are the paths of logs by input id, for the text of records; ``now`` is the epoch second
    stored with them, None for reproducible results. Call it within a transaction.
    """
    for source, first, last, some in queries.rows(con, "spans_of_sources", cluster=cluster):
        if not some and (first is None or last - first <= APART_DAYS * _DAY_S):
            continue
        of_source = {"cluster": cluster, "source": source}
        found = doubts(queries.rows(con, "days_of_source", **of_source))
        held = queries.run(con, "doubtful_of_source", **of_source)
        still = _reasons(held, found)
        back = held.filter(still.is_null() | held["accepted"])
        spans = {
            "firsts": [doubt.part.first for doubt in found],
            "lasts": [doubt.part.last for doubt in found],
        }
        new = queries.run(con, "records_of_days", **of_source, **spans)
        aside = _aside(new, _reasons(new, found), read, now)
        _move(con, cluster, aside, back.select("cluster", *_KEPT, "input_id"))


def weigh_ages(
    con: Connection, cluster: str, inputs: Sequence[str], read: Mapping[str, Path], now: int | None
) -> None:
    """Set aside new records of archived months, until these are brought back.

    Records that the archive has count as duplicates. ``inputs`` are the ids of the new logs; other
    arguments as ``weigh_dates``.
    """
    until = archived_until(con, cluster)
    if until is None or not inputs:
        return
    late = queries.run(con, "late_records", cluster=cluster, inputs=list(inputs), until=until)
    if late.is_empty():
        return
    known = late.filter("known")
    nearest = _date((until + _DAY_S // 2) // _DAY_S)  # midnight of some zone
    reason = (
        f"ended before {nearest}, up to which its cluster is archived "
        "('fairaudit archive --back' brings months back)"
    )
    aside = _aside(late.filter(~pl.col("known")).drop("known"), pl.lit(reason), read, now)
    _remove(con, "records", known)
    for input_id, duplicates in known.group_by("input_id").len().iter_rows():
        execute(
            con,
            "UPDATE inputs SET duplicates = duplicates + ? WHERE input_id = ?",
            [duplicates, input_id],
        )
    _move(con, cluster, aside, aside.clear().select("cluster", *_KEPT, "input_id"))


def _aside(
    records: pl.DataFrame, reasons: pl.Expr | pl.Series, read: Mapping[str, Path], now: int | None
) -> pl.DataFrame:
    texts = {
        (input_id, offset): text
        for (input_id,), part in records.group_by("input_id")
        if input_id in read
        for offset, text in logs.lines_at(read[str(input_id)], part["byte_offset"]).items()
    }
    places = records.select("input_id", "byte_offset").iter_rows()
    return records.with_columns(
        doubt=reasons,
        text=pl.Series([texts.get(place) for place in places], dtype=pl.String),
        refused_at=pl.lit(now, pl.Int64),
    )


def _move(con: Connection, cluster: str, aside: pl.DataFrame, back: pl.DataFrame) -> None:
    if aside.is_empty() and back.is_empty():
        return
    _remove(con, "records", aside)
    _remove(con, "doubtful", back)
    insert(con, "doubtful", aside)
    insert(con, "records", back)
    count_refused(con, sorted({*aside["input_id"], *back["input_id"]}))
    jobs = sorted({*aside["job_id"], *back["job_id"]})
    settle(con, cluster, jobs)


def _remove(con: Connection, table: str, gone: pl.DataFrame) -> None:
    if gone.is_empty():
        return
    execute(
        con,
        f"DELETE FROM {table} WHERE (input_id, byte_offset) IN "  # noqa: S608
        "(SELECT unnest(?), unnest(?))",
        [gone["input_id"].to_list(), gone["byte_offset"].to_list()],
    )


def count_refused(con: Connection, inputs: Sequence[str]) -> None:
    """Update the number of refused or doubtful records of inputs."""
    execute(
        con,
        """
        UPDATE inputs SET refused = unkept + (
            SELECT count(*) FROM refused
            WHERE refused.input_id = inputs.input_id AND replayed_at IS NULL
        ) + (SELECT count(*) FROM doubtful WHERE doubtful.input_id = inputs.input_id)
        WHERE input_id IN (SELECT unnest(?))
        """,
        [list(inputs)],
    )


def _reasons(records: pl.DataFrame, found: Sequence[Doubt]) -> pl.Series:
    """Return why each record is doubtful; null: it is not."""
    reasons = [
        pl.when((pl.col(f"{name}_time") // _DAY_S).is_between(part.first, part.last)).then(
            pl.lit(
                f"its {name} is of {_date(part.first).year}, but the rest of its source of "
                f"{_date(rest.first)} to {_date(rest.last)}: was a clock "
                "wrong? ('fairaudit refused --accept' takes it)"
            )
        )
        for part, rest in found
        for name in _TIMES
    ]
    unknown = pl.lit(None, pl.String)
    return records.with_columns(doubt=pl.coalesce(*reasons, unknown))["doubt"]


def _date(day: int) -> date:
    return datetime.fromtimestamp(day * _DAY_S, UTC).date()
