"""What a run takes in, when it runs, and what it keeps."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator

from audit.config.sections import Section


class Ingest(Section):
    """Taking logs in."""

    refused_limit: float = Field(default=0.05, ge=0.0, le=1.0)


_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


class _Field(NamedTuple):
    """One of the five fields of a crontab."""

    what: str
    first: int
    last: int
    names: tuple[str, ...] = ()
    """Of the values from ``first`` on."""
    alone: tuple[str, ...] = ()
    """Further words that it takes."""

    def fault(self, text: str) -> str | None:
        """What is wrong with it; None where nothing is."""
        if all(self._is_part(part.lower()) for part in text.split(",")):
            return None
        values = f"{self.first} to {self.last}"
        if self.names:
            named = f"{self.names[0]} to {self.names[-1]}"
            values = named if self.what == "day of the week" else f"{values}, or {named}"
        return (
            f"{self.what} {text!r}: must be of {values}; also *, */2, ranges (a-b), and lists (a,b)"
        )

    def _is_part(self, part: str) -> bool:
        found = re.fullmatch(r"(\*|\w+(?:-\w+)?)(?:/(\d+))?", part, re.ASCII)
        if part in self.alone or found is None:
            return part in self.alone
        values = [self._value(word) for word in found[1].split("-") if found[1] != "*"]
        step = found[2] is None or int(found[2]) > 0
        return (
            step and None not in values and values == sorted(values, key=lambda value: value or 0)
        )

    def _value(self, word: str) -> int | None:
        if word in self.names:
            return self.first + self.names.index(word)
        in_numbers = word.isdigit() and self.what != "day of the week"
        return int(word) if in_numbers and self.first <= int(word) <= self.last else None


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31, alone=("last",)),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _DAYS),
)


def _times(value: str) -> str:
    """Five fields as in a crontab; the timetable (audit/nightly/timetable.py) reads them."""
    fields = value.split()
    if len(fields) != 5:
        raise ValueError(
            'must be minute, hour, day, month and day of the week, such as "30 4 * * *"'
        )
    if re.search(r"(?<!/)\d", fields[4]):
        raise ValueError("days of the week are named here: mon, tue, wed, thu, fri, sat, sun")
    for field, text in zip(_FIELDS, fields, strict=True):
        if (fault := field.fault(text)) is not None:
            raise ValueError(fault)
    return value


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ping(value: str) -> str:
    """An address to ping; what is said of a wrong one does not show it, for it is a secret."""
    try:
        parts = urlsplit(value)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError("must be an address such as https://hc.example.org/ping/ID") from None
    printed = value.isascii() and value.isprintable() and " " not in value
    if not (parts.hostname and port_fits and printed and parts.scheme in ("http", "https")):
        raise ValueError("must be an address such as https://hc.example.org/ping/ID")
    if "@" in parts.netloc or "#" in value:
        raise ValueError("must have no user, password or fragment")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("must begin with https://, as who reads it could ping, too")
    return value


Ping = Annotated[str, AfterValidator(_ping)]


class Service(Section):
    """When ``fairaudit service`` runs, and who is told."""

    times: str = "30 4 * * *"
    by_cluster: dict[str, str] = Field(default={})
    overdue_s: int = Field(default=7200, ge=60)
    ping: Ping | None = None
    ping_by_cluster: dict[str, Ping] = Field(default={})
    ping_timeout_s: float = Field(default=10.0, gt=0, le=300)

    @field_validator("times")
    @classmethod
    def _five_fields(cls, value: str) -> str:
        return _times(value)

    @field_validator("by_cluster")
    @classmethod
    def _all_five_fields(cls, value: dict[str, str]) -> dict[str, str]:
        return {name: _times(text) for name, text in value.items()}


class Retention(Section):
    """What is kept; 0 keeps all."""

    reports: int = Field(default=0, ge=0)
    reports_days: int = Field(default=0, ge=0)
    runs_days: int = Field(default=400, ge=0)
    refused_days: int = Field(default=0, ge=0)
    archive_months: int = Field(default=0, ge=0)
    compact: bool = True
