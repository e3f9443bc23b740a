"""Days, weeks and months in a zone, as half-open spans of epoch seconds.

The configuration asks this module for zones alone, so ``model``, and polars with it, is loaded
where a period is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from audit.errors import UsageError

if TYPE_CHECKING:
    from audit.model import Period


def zone(name: str) -> ZoneInfo:
    """The time zone called ``name`` in the IANA database.

    Raises:
        UsageError: there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"time zone {name!r}: not in the IANA database; write it like Europe/Berlin or UTC"
        ) from error


def day_start(day: date, in_zone: ZoneInfo) -> int:
    """Epoch second at which ``day`` begins in ``in_zone``.

    Where a clock change skips midnight, it is the first instant that exists on that day.
    """
    return int(datetime.combine(day, time(), tzinfo=in_zone).astimezone(UTC).timestamp())


def day_of(instant: int, in_zone: ZoneInfo) -> date:
    """The calendar day in ``in_zone`` that holds the epoch second ``instant``."""
    return datetime.fromtimestamp(instant, tz=in_zone).date()


def day_edges(from_time: int, to_time: int, in_zone: ZoneInfo) -> list[int]:
    """Cuts ``[from_time, to_time]`` at every midnight inside it; both ends are included.

    Days of a clock change last 23 or 25 hours, as they do. Returns ``[from_time]`` alone where
    the span is empty.
    """
    edges = [from_time]
    day = day_of(from_time, in_zone) + timedelta(days=1)
    while (edge := day_start(day, in_zone)) < to_time:
        edges.append(edge)
        day += timedelta(days=1)
    if to_time > from_time:
        edges.append(to_time)
    return edges


def between(from_day: date, to_day: date, in_zone: ZoneInfo) -> Period:
    """The period from the start of ``from_day`` to the start of ``to_day``.

    Raises:
        UsageError: it would be empty.
    """
    from audit.model import Period

    if to_day <= from_day:
        raise UsageError(f"period {from_day}..{to_day}: its end must be a later day than its start")
    name = f"{from_day.isoformat()}..{to_day.isoformat()}"
    return Period(name, day_start(from_day, in_zone), day_start(to_day, in_zone))


def days(period: Period, in_zone: ZoneInfo) -> Iterator[tuple[date, int, int]]:
    """Each calendar day that ``period`` touches, with the part of it inside the period."""
    edges = day_edges(period.from_time, period.to_time, in_zone)
    for start, end in pairwise(edges):
        yield day_of(start, in_zone), start, end


def parse_day(text: str) -> date:
    """A day written as ``2026-10-31``.

    Raises:
        UsageError: it is not.
    """
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no day: write it like 2026-10-31") from error


def day_after(day: date) -> date:
    """The next calendar day."""
    return day + timedelta(days=1)


def covering(kind: str, first: int, last: int, in_zone: ZoneInfo) -> list[Period]:
    """The periods of one kind that hold the epoch seconds from ``first`` to ``last``.

    Args:
        kind: ``"day"`` (named 2026-10-31), ``"week"`` (from Monday; 2026-W44), ``"month"``
            (2026-10), ``"quarter"`` (2026-Q4) or ``"year"`` (2026).
        first: epoch s.
        last: epoch s, ≥ ``first``.
        in_zone: in which they begin.
    """
    from audit.model import Period

    found = []
    start = _period_start(kind, day_of(first, in_zone))
    end = day_of(last, in_zone)
    while start <= end:
        after = _period_after(kind, start)
        name = {
            "day": start.isoformat(),
            "week": "{}-W{:02d}".format(*start.isocalendar()[:2]),
            "month": f"{start:%Y-%m}",
            "quarter": f"{start.year}-Q{(start.month + 2) // 3}",
            "year": str(start.year),
        }[kind]
        found.append(Period(name, day_start(start, in_zone), day_start(after, in_zone)))
        start = after
    return found


def kind_of(name: str) -> str | None:
    """The kind of the period that :func:`covering` names so; None for any other name."""
    return next((kind for kind, form in _NAMES.items() if re.fullmatch(form, name)), None)


_NAMES = {
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "quarter": r"\d{4}-Q\d",
    "year": r"\d{4}",
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _period_start(kind: str, day: date) -> date:
    if kind in _MONTHS:
        return day.replace(month=day.month - (day.month - 1) % _MONTHS[kind], day=1)
    return day - timedelta(days=day.weekday()) if kind == "week" else day


def _period_after(kind: str, start: date) -> date:
    if kind in _MONTHS:
        months = start.month - 1 + _MONTHS[kind]
        return start.replace(year=start.year + months // 12, month=months % 12 + 1)
    return start + timedelta(days=7 if kind == "week" else 1)
