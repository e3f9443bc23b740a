"""Days, weeks and months in a zone, as half-open spans of epoch seconds.

``model``, and polars with it, is imported only where a period is made: the configuration needs only
zones.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from audit.errors import UsageError

if TYPE_CHECKING:
    from audit.model import Period


def zone(name: str) -> ZoneInfo:
    """Return the time zone ``name`` of the IANA database, or raise UsageError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(
            f"time zone {name!r}: not in the IANA database; write it like Europe/Berlin or UTC"
        ) from error


def day_start(day: date, in_zone: ZoneInfo) -> int:
    """Return the first epoch second of ``day``, even if a clock change skips midnight."""
    return int(datetime.combine(day, time(), tzinfo=in_zone).astimezone(UTC).timestamp())


def day_of(instant: int, in_zone: ZoneInfo) -> date:
    """Return the calendar day of an epoch second."""
    return datetime.fromtimestamp(instant, tz=in_zone).date()


def day_edges(from_time: int, to_time: int, in_zone: ZoneInfo) -> list[int]:
    """Return ``from_time``, every midnight inside the span, and ``to_time``.

    No end if it is empty.
    """
    edges = [from_time]
    day = day_of(from_time, in_zone) + timedelta(days=1)
    while (edge := day_start(day, in_zone)) < to_time:
        edges.append(edge)
        day += timedelta(days=1)
    return [*edges, to_time] if to_time > from_time else edges


def between(from_day: date, to_day: date, in_zone: ZoneInfo) -> Period:
    """Return the period from ``from_day`` up to, but not including, ``to_day``.

    UsageError if empty.
    """
    from audit.model import Period

    if to_day <= from_day:
        raise UsageError(f"period {from_day}..{to_day}: its end must be a later day than its start")
    name = f"{from_day.isoformat()}..{to_day.isoformat()}"
    return Period(name, day_start(from_day, in_zone), day_start(to_day, in_zone))


def parse_day(text: str) -> date:
    """Return the day written as ``2026-10-31``, or raise UsageError."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a day: write it like 2026-10-31") from error


def day_after(day: date) -> date:
    """Return the next calendar day."""
    return day + timedelta(days=1)


_NAMES = {
    "day": r"\d{4}-\d\d-\d\d",
    "week": r"\d{4}-W\d\d",
    "month": r"\d{4}-\d\d",
    "quarter": r"\d{4}-Q\d",
    "year": r"\d{4}",
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def covering(kind: str, first: int, last: int, in_zone: ZoneInfo) -> list[Period]:
    """Return the periods that contain the epoch seconds from ``first`` to ``last`` (≥ ``first``).

    ``kind`` is ``"day"`` (named 2026-10-31), ``"week"`` (from Monday; 2026-W44), ``"month"``
    (2026-10), ``"quarter"`` (2026-Q4) or ``"year"`` (2026).
    """
    from audit.model import Period

    found = []
    start, end = day_of(first, in_zone), day_of(last, in_zone)
    if kind in _MONTHS:
        start = start.replace(month=start.month - (start.month - 1) % _MONTHS[kind], day=1)
    elif kind == "week":
        start -= timedelta(days=start.weekday())
    while start <= end:
        name = {
            "day": start.isoformat(),
            "week": "{}-W{:02d}".format(*start.isocalendar()[:2]),
            "month": f"{start:%Y-%m}",
            "quarter": f"{start.year}-Q{(start.month + 2) // 3}",
            "year": str(start.year),
        }[kind]
        if kind in _MONTHS:
            years, month = divmod(start.month - 1 + _MONTHS[kind], 12)
            after = start.replace(year=start.year + years, month=month + 1)
        else:
            after = start + timedelta(days=7 if kind == "week" else 1)
        found.append(Period(name, day_start(start, in_zone), day_start(after, in_zone)))
        start = after
    return found


def kind_of(name: str) -> str | None:
    """Return the kind of a period that :func:`covering` names so, or None."""
    return next((kind for kind, form in _NAMES.items() if re.fullmatch(form, name)), None)


def instant(text: str, zone: ZoneInfo, flag: str) -> int:
    """Return the epoch second of a text, or raise UsageError.

    It has the form of epoch seconds, a day, or ``2026-10-25T12:00[:00]``.
    """
    if re.fullmatch(r"[0-9]{1,10}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{flag} {text!r}: write it as 2026-10-25, 2026-10-25T12:00:00 or epoch seconds"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp())
