"""From when to when a log speaks, and which periods of it are asked for."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import polars as pl

from audit import periods
from audit.model import Period


def latest_instant(attempts: pl.DataFrame) -> int | None:
    """The last thing that the log knows of: no time in it is later. Null for an empty log."""
    latest = attempts.select(
        pl.max_horizontal(pl.col("submit_time", "eligible_time", "start_time", "end_time").max())
    ).item()
    return None if latest is None else int(latest)


def whole_log(attempts: pl.DataFrame, now: int) -> Period:
    """The period ``all``: from the first arrival to the last instant of the log."""
    first = attempts.select(
        pl.min_horizontal(pl.col("submit_time", "eligible_time", "start_time").min())
    ).item()
    return Period("all", now if first is None else int(first), now)


def covered(period: Period, log: Period) -> tuple[int, int]:
    """From when to when a log speaks of a period, epoch s; all of one that it does not touch.

    Nobody knows what a cluster did before its first record and after the last one, so figures by
    time are of this span.
    """
    begin, end = max(period.from_time, log.from_time), min(period.to_time, log.to_time)
    return (begin, end) if begin < end else (period.from_time, period.to_time)


def between_days(from_day: str | None, to_day: str | None, log: Period, zone: ZoneInfo) -> Period:
    """The period that ``--from`` and ``--to`` ask for; what is left out is the log's own bound.

    Raises:
        UsageError: a day is not written YYYY-MM-DD, or the period would be empty.
    """
    first = periods.parse_day(from_day) if from_day else periods.day_of(log.from_time, zone)
    last = periods.day_of(log.to_time, zone)
    after = periods.parse_day(to_day) if to_day else periods.day_after(last)
    return periods.between(first, after, zone)
