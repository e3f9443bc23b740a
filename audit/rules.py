"""The rules of a pool: what may run at one time, and hours in which some jobs are not started.

There is one definition of each, for config.toml, the simulation, fit, what-if and advice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
)

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY: Final = 24
WEEK: Final = 168
"""Hours of a day, and of a week."""

Kind = Literal["user", "account", "qos", "partition"]
KINDS: Final[tuple[Kind, ...]] = ("user", "account", "qos", "partition")
"""Columns by whose names a scope may select attempts."""
Per = Literal["user", "account", "qos", "partition", "job"]

_HOURS: Final = re.compile(r"(\w{3})(?:-(\w{3}))?(?: (\d\d?)-(\d\d?))?", re.ASCII)


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
    begin, end = (0, DAY) if match[3] is None else (int(match[3]), int(match[4]))
    if begin > 23 or end > DAY or begin == end:
        raise ValueError("hours are from 0 to 24, and end at another hour than they begin")
    days = range(first, first + (last - first) % 7 + 1)
    hours = range(begin, end if end > begin else end + DAY)
    return frozenset((DAY * day + hour) % WEEK for day in days for hour in hours)


def texts(hours: Iterable[int]) -> list[str]:
    """Write hours of the week as ``hours_of_week`` reads them, those of the same days in one."""
    by_stretch: dict[tuple[int, int], list[int]] = {}
    held = set(hours)
    for day in range(7):
        for begin, end in runs(hour for hour in range(DAY) if day * DAY + hour in held):
            by_stretch.setdefault((begin, end), []).append(day)
    return [
        DAYS[first]
        + ("" if behind == first + 1 else f"-{DAYS[behind - 1]}")
        + ("" if (begin, end) == (0, DAY) else f" {begin:02}-{end:02}")
        for (begin, end), days in sorted(by_stretch.items(), key=lambda one: (one[1], one[0]))
        for first, behind in runs(days)
    ]


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Runs of ascending numbers that follow each other: first, and the one behind the last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = found[-1][0], number + 1
        else:
            found.append((number, number + 1))
    return found


def _several(given: Any) -> Any:
    """What may be one or several, as a tuple; JSON has lists."""
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, list) else given


if TYPE_CHECKING:
    _Amount: TypeAlias = str
else:
    _Amount = Literal["cpus", "nodes", "gpus", "mem_bytes"]
_Name = Annotated[str, Field(min_length=1)]
_Names = Annotated[tuple[_Name, ...], BeforeValidator(_several), Field(min_length=1)]
_Texts: TypeAdapter[tuple[frozenset[int], ...]] = TypeAdapter(
    tuple[Annotated[frozenset[int], BeforeValidator(hours_of_week)], ...]
)


def _hours(given: Any) -> Any:
    """Hours of the week as numbers, where they are texts."""
    given = _several(given)
    if isinstance(given, tuple) and given and all(isinstance(hour, int) for hour in given):
        return given
    return tuple(sorted(frozenset().union(*_Texts.validate_python(given))))


class Scope(BaseModel):
    """The attempts that match all conditions that are given."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    user: _Names | None = None
    account: _Names | None = None
    qos: _Names | None = None
    partition: _Names | None = None
    walltime_above_s: int | None = Field(default=None, ge=0)
    """They ask for more seconds, or, where the log does not say that, took more."""
    size_above: int | None = Field(default=None, ge=0)
    """They ask for more of the pool's counted resource."""
    size_up_to: int | None = Field(default=None, ge=0)
    """They ask for no more of it."""

    @property
    def conditions(self) -> dict[str, Any]:
        """Each condition, None where it is not given."""
        return {name: getattr(self, name) for name in Scope.model_fields}

    def but(self, **changes: Any) -> Self:
        """The same with these fields instead, which are not validated."""
        return self.model_copy(update=changes)


class Limit(Scope):
    """What may run at one time (SPEC §10, *Limits*)."""

    most: int = Field(ge=0)
    resource: _Amount | None = None
    """The column of ``model.ATTEMPTS`` of which ``most`` is an amount; None: of attempts."""
    per: Per | None = None
    """Whom the limit counts for separately; None: all that are in the scope, together."""
    exempt_qos: tuple[_Name, ...] = ()
    """Attempts of the scope with these QOS count, but never wait."""

    def __repr__(self) -> str:
        """All that figures depend on: its text is part of the bases of fair start times."""
        most, per = f"most={self.most}, resource={self.resource!r}", f"per={self.per!r}"
        return f"Limit({most}, {per}, scope={_written(self)}, exempt_qos={self.exempt_qos!r})"


class Window(Scope):
    """Hours of the week in which none of the scope is started, on the pool's clock."""

    hours: Annotated[
        tuple[Annotated[int, Field(ge=0, lt=WEEK)], ...],
        BeforeValidator(_hours),
        Field(min_length=1),
        PlainSerializer(texts),
    ]
    """Ascending; 0 begins on Monday at 00:00, 167 is the last of Sunday."""

    def __repr__(self) -> str:
        """All that figures depend on; see ``Limit``."""
        return f"Window(hours={self.hours!r}, scope={_written(self)})"


def _written(rule: Scope) -> str:
    return f"Scope({', '.join(f'{name}={value!r}' for name, value in rule.conditions.items())})"
