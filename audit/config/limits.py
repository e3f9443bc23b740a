"""What a pool limits: what may run at one time, and hours in which some are not started."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from audit.config.sections import Section

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_HOURS: Final = re.compile(r"(\w{3})(?:-(\w{3}))?(?: (\d\d?)-(\d\d?))?", re.ASCII)

_Name = Annotated[str, Field(min_length=1)]


def _several(given: Any) -> Any:
    """What may be one or several, as several."""
    return (given,) if isinstance(given, str) else given


_Names = Annotated[tuple[_Name, ...], BeforeValidator(_several), Field(min_length=1)]


def hours_of_week(text: str) -> frozenset[int]:
    """Hours of the week: ``Mon-Fri 08-18``, ``Sat-Sun``, or ``Fri 22-06`` (until Saturday at 6).

    Returns:
        0 is that which begins on Monday at 00:00, 167 the last of Sunday.

    Raises:
        ValueError: it is not written like that.
    """
    match = _HOURS.fullmatch(text)
    named = [] if match is None else [day for day in match.group(1, 2) if day is not None]
    if match is None or not set(named) <= set(DAYS):
        raise ValueError('must be days, and hours if not all, such as "Mon-Fri 08-18" or "Sun"')
    first, last = DAYS.index(named[0]), DAYS.index(named[-1])
    begin, end = (0, 24) if match[3] is None else (int(match[3]), int(match[4]))
    if begin > 23 or end > 24 or begin == end:
        raise ValueError("hours are from 0 to 24, and end at another hour than they begin")
    days = range(first, first + (last - first) % 7 + 1)
    hours = range(begin, end if end > begin else end + 24)
    return frozenset((24 * day + hour) % 168 for day in days for hour in hours)


def _read(text: str) -> str:
    hours_of_week(text)
    return text


_Hours = Annotated[str, AfterValidator(_read)]


class Scope(Section):
    """Which attempts it is about: those that match all that is given."""

    user: _Names | None = None
    account: _Names | None = None
    qos: _Names | None = None
    partition: _Names | None = None
    walltime_above_s: int | None = Field(default=None, ge=0)
    size_above: int | None = Field(default=None, ge=0)
    size_up_to: int | None = Field(default=None, ge=0)


class Limit(Scope):
    """What may run at one time."""

    most: int = Field(ge=0)
    resource: Literal["cpus", "nodes", "gpus", "mem_bytes"] | None = None
    per: Literal["user", "account", "qos", "partition", "job"] | None = None
    exempt_qos: Annotated[tuple[_Name, ...], Field(min_length=1)] | None = None


class Window(Scope):
    """Hours of the week in which none of the scope is started."""

    hours: Annotated[tuple[_Hours, ...], BeforeValidator(_several), Field(min_length=1)]
