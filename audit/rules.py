"""The rules of a pool: limits on what may run at one time, and hours when some jobs do not start.

config.toml, the simulation, fit, what-if and advice share these definitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    model_validator,
)

from audit.words import AMOUNTS, is_amount

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY: Final = 24
WEEK: Final = 168
"""Hours of a day, and of a week."""

Kind = Literal["user", "account", "qos", "partition"]
KINDS: Final[tuple[Kind, ...]] = ("user", "account", "qos", "partition")
"""Columns that a scope may select attempts by."""
Per = Literal["user", "account", "qos", "partition", "job"]

_HOURS: Final = re.compile(r"(\w{3})(?:-(\w{3}))?(?: (\d\d?)-(\d\d?))?", re.ASCII)


def hours_of_week(text: str) -> frozenset[int]:
    """Return the hours of ``Mon-Fri 08-18``, ``Sat-Sun``, or ``Fri 22-06`` (until Saturday at 6).

    Hour 0 begins on Monday at 00:00, hour 167 is the last of Sunday. Raises ValueError if the text
    has another form.
    """
    match = _HOURS.fullmatch(text)
    named = [] if match is None else [day for day in match.group(1, 2) if day is not None]
    if match is None or not set(named) <= set(DAYS):
        raise ValueError('must be days, and hours if not all, such as "Mon-Fri 08-18" or "Sun"')
    first, last = DAYS.index(named[0]), DAYS.index(named[-1])
    begin, end = (0, DAY) if match[3] is None else (int(match[3]), int(match[4]))
    if begin > 23 or end > DAY or begin == end:
        raise ValueError("hours must be from 0 to 24, with an end that differs from the start")
    days = range(first, first + (last - first) % 7 + 1)
    hours = range(begin, end if end > begin else end + DAY)
    return frozenset((DAY * day + hour) % WEEK for day in days for hour in hours)


def texts(hours: Iterable[int]) -> list[str]:
    """Return hours of the week as texts that ``hours_of_week`` reads, the same days in one."""
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
    """Return runs of consecutive numbers as (first, last + 1); the numbers are ascending."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = found[-1][0], number + 1
        else:
            found.append((number, number + 1))
    return found


def _several(given: Any) -> Any:
    """Return one value or several as a tuple; JSON has lists."""
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, list) else given


def amount_name(name: str) -> str:
    """Return the name of a resource, or raise ValueError."""
    if not is_amount(name):
        *others, last = (repr(each) for each in (*AMOUNTS, "gpus:TYPE"))
        raise ValueError(f"Input should be {', '.join(others)} or {last}, the type in lower case")
    return name


if TYPE_CHECKING:
    _Amount: TypeAlias = str
else:
    _Amount = Annotated[str, AfterValidator(amount_name)]
_Name = Annotated[str, Field(min_length=1)]
_Names = Annotated[tuple[_Name, ...], BeforeValidator(_several), Field(min_length=1)]
_Texts: TypeAdapter[tuple[frozenset[int], ...]] = TypeAdapter(
    tuple[Annotated[frozenset[int], BeforeValidator(hours_of_week)], ...]
)


def _hours(given: Any) -> Any:
    """Return hours of the week as numbers, from texts if necessary."""
    given = _several(given)
    if isinstance(given, tuple) and given and all(isinstance(hour, int) for hour in given):
        return given
    return tuple(sorted(frozenset().union(*_Texts.validate_python(given))))


class Scope(BaseModel):
    """The attempts that match all conditions that are set."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    user: _Names | None = None
    account: _Names | None = None
    qos: _Names | None = None
    partition: _Names | None = None
    walltime_above_s: int | None = Field(default=None, ge=0)
    """The walltime is longer; if it is unknown, the runtime is."""
    size_above: int | None = Field(default=None, ge=0)
    size_up_to: int | None = Field(default=None, ge=0)

    @property
    def conditions(self) -> dict[str, Any]:
        """Each condition; None if it is not set."""
        return {name: getattr(self, name) for name in Scope.model_fields}

    def but(self, **changes: Any) -> Self:
        """Return a copy with these fields, which are not validated."""
        return self.model_copy(update=changes)


class Rule(Scope):
    """A rule for the attempts of a scope, in force at all times or for some days only."""

    valid_from: date | None = None  # the first day in force, on the pool's clock
    valid_to: date | None = None  # the day after the last one


class Limit(Rule):
    """A limit on the attempts that run at one time (SPEC §10, *Limits*)."""

    most: int = Field(ge=0)
    resource: _Amount | None = None
    """The resource that ``most`` limits (``words.is_amount``); None: the number of attempts."""
    remaining: bool = False
    """Whether ``most`` limits Σ amount × remaining walltime, in resource-seconds."""
    per: Per | None = None
    """The entities that are counted separately; None: the whole scope is counted together."""
    exempt_qos: tuple[_Name, ...] = ()
    """Attempts of the scope with these QOS count, but never wait."""

    @model_validator(mode="after")
    def _remains_of_something(self) -> Self:
        if self.remaining and (self.resource is None or self.per == "job"):
            raise ValueError("remaining needs a resource, and no limit per job")
        return self


class Window(Rule):
    """Hours of the week, on the pool's clock, in which no attempt of the scope starts.

    An *overlap window* also keeps jobs from starting whose walltime reaches into the hours.
    """

    hours: Annotated[
        tuple[Annotated[int, Field(ge=0, lt=WEEK)], ...],
        BeforeValidator(_hours),
        Field(min_length=1),
        PlainSerializer(texts),
    ]
    """Ascending; 0 begins on Monday at 00:00, 167 is the last of Sunday."""
    overlap: bool = False
    """Whether a job does not start at t either if [t, t + walltime) reaches into the hours; an
    unknown walltime is taken to be the occupancy."""


class PreemptionRule(BaseModel):
    """Which running attempts give way to which others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    partition: _Names | None = None
    qos: _Names | None = None
    by_partition: _Names | None = None
    by_qos: _Names | None = None
    requeue_s: int | None = Field(default=None, ge=0)
    """Time until an attempt that gave way may run again; None: it does not."""

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        for names in ("partition", "qos"), ("by_partition", "by_qos"):
            if all(getattr(self, name) is None for name in names):
                raise ValueError(f"{' or '.join(names)} is missing")
        return self

    @property
    def gives_way(self) -> Scope:
        """The attempts that give way."""
        return Scope(partition=self.partition, qos=self.qos)

    @property
    def takes(self) -> Scope:
        """The attempts to which they give way."""
        return Scope(partition=self.by_partition, qos=self.by_qos)
