"""Sections [ingest], [service] and [retention]."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Final, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from audit.config.sections import Section

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


class _Field(NamedTuple):
    """One of the five fields of a crontab."""

    what: str
    values: range
    names: tuple[str, ...] = ()
    """Names of the values."""
    extra: str | None = None
    """A further word that is accepted."""
    numbers: bool = True

    def check(self, text: str) -> None:
        """Raise ValueError unless the timetable accepts the field."""
        if all(self._is_part(part.lower()) for part in text.split(",")):
            return
        forms = [f"{self.values[0]} to {self.values[-1]}"] if self.numbers else []
        forms += [f"{self.names[0]} to {self.names[-1]}"] if self.names else []
        raise ValueError(
            f"{self.what} {text!r}: must be {', or '.join(forms)}; also *, */2, ranges (a-b) and "
            "lists (a,b)"
        )

    def _is_part(self, part: str) -> bool:
        found = re.fullmatch(r"(\*|\w+(?:-\w+)?)(?:/(\d+))?", part, re.ASCII)
        if found is None or part == self.extra:
            return part == self.extra
        values = [self._value(word) for word in found[1].split("-") if word != "*"]
        return int(found[2] or 1) > 0 and -1 not in values and values == sorted(values)

    def _value(self, word: str) -> int:
        """Return the value of a number or name, or -1."""
        if word in self.names:
            return self.values[self.names.index(word)]
        return int(word) if self.numbers and word.isdigit() and int(word) in self.values else -1


_FIELDS: Final = (
    _Field("minute", range(60)),
    _Field("hour", range(24)),
    _Field("day", range(1, 32), extra="last"),
    _Field("month", range(1, 13), _MONTHS),
    _Field("day of the week", range(7), _DAYS, numbers=False),
)


def _times(value: str) -> str:
    """Check the five fields of a crontab, which audit/nightly/timetable.py reads."""
    fields = value.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            'must be minute, hour, day, month and day of the week, such as "30 4 * * *"'
        )
    if re.search(r"(?<!/)\d", fields[4]):
        raise ValueError("days of the week must be names: mon, tue, wed, thu, fri, sat, sun")
    for field, text in zip(_FIELDS, fields, strict=True):
        field.check(text)
    return value


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _ping(value: str) -> str:
    """Check an address to ping; messages do not contain it, since it is a secret."""
    wrong = "must be an address such as https://hc.example.org/ping/ID"
    try:
        parts = urlsplit(value)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(wrong) from None
    printed = value.isascii() and value.isprintable() and " " not in value
    if not (parts.hostname and port_fits and printed and parts.scheme in ("http", "https")):
        raise ValueError(wrong)
    if "@" in parts.netloc or "#" in value:
        raise ValueError("must have no user, password or fragment")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("must begin with https://, since anyone who reads the address can ping")
    return value


Ping = Annotated[str, AfterValidator(_ping)]
Times = Annotated[str, AfterValidator(_times)]


class Ingest(Section):
    """How logs are read."""

    refused_limit: float = Field(default=0.05, ge=0.0, le=1.0)


class Service(Section):
    """When ``fairaudit service`` runs, and the monitors that it pings."""

    times: Times = "30 4 * * *"
    by_cluster: dict[str, Times] = Field(default={})
    overdue_s: int = Field(default=7200, ge=60)
    ping: Ping | None = None
    ping_by_cluster: dict[str, Ping] = Field(default={})
    ping_timeout_s: float = Field(default=10.0, gt=0, le=300)


class Retention(Section):
    """How long data is kept; 0: for ever."""

    reports: int = Field(default=0, ge=0)
    reports_days: int = Field(default=0, ge=0)
    runs_days: int = Field(default=400, ge=0)
    refused_days: int = Field(default=0, ge=0)
    archive_months: int = Field(default=0, ge=0)
    compact: bool = True
