"""Sections [ingest], [service], [retention], [mail] and [[recipients]]."""

import ipaddress
import re
from typing import Annotated, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from audit.config.sections import ConfigSection, checked

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
        words = [word for word in found[1].split("-") if word != "*"]
        values = [self._value(word) for word in words]
        if -1 in values or values != sorted(values):
            return False
        if found[2] is None:
            return True
        named = any(word in self.names for word in words)  # whose steps the timetable ignores
        ends = values if len(values) == 2 else [*values, self.values[-1]]
        return not named and 0 < int(found[2]) <= ends[-1] - (values or self.values)[0]

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
    """Return whether a host is this machine."""
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


class Ingest(ConfigSection):
    """How logs are read."""

    refused_limit: float = Field(default=0.05, ge=0.0, le=1.0)


class Service(ConfigSection):
    """When ``fairaudit service`` runs, and the monitors that it pings."""

    times: Times = "30 4 * * *"
    by_cluster: dict[str, Times] = Field(default={})
    overdue_s: int = Field(default=7200, ge=60)
    ping: Ping | None = None
    ping_by_cluster: dict[str, Ping] = Field(default={})
    ping_timeout_s: float = Field(default=10.0, gt=0, le=300)
    metrics_file: str | None = Field(default=None, pattern=r"\.prom$")
    metrics_accounts: bool = False


class Retention(ConfigSection):
    """How long data is kept; 0: for ever."""

    reports: int = Field(default=0, ge=0)
    reports_days: int = Field(default=0, ge=0)
    runs_days: int = Field(default=400, ge=0)
    refused_days: int = Field(default=0, ge=0)
    evidence_days: int = Field(default=0, ge=0)
    archive_months: int = Field(default=0, ge=0)
    compact: bool = True


SUBJECT_NAMES: Final = ("cluster", "period", "from", "to", "state", "users", "accounts", "verdict")
"""Names that ``mail.subject`` can contain."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*"
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"


def _address(text: str) -> str:
    """Return a bare address of SMTP without extensions, its domain in lower case."""
    plain = re.fullmatch(rf"{_LOCAL}@{_DOMAIN}", text) and "=?" not in text  # no encoded word
    if len(text) > 254 or not plain:
        raise ValueError("must be one bare address, such as anna@example.org")
    local, domain = text.rsplit("@", 1)
    return f"{local}@{domain.lower()}"


def allowed(address: str, domains: tuple[str, ...]) -> str:
    """Return the address in the form that mail is sent to.

    Raises ValueError if it is not an address, or not in ``domains`` (``mail.domains``; empty: any).
    """
    good = _address(address)
    if domains and good.rsplit("@", 1)[1] not in domains:
        raise ValueError(f"its domain is not among mail.domains ({', '.join(domains)})")
    return good


Name = Annotated[str, Field(min_length=1)]
Domain = Annotated[
    str, checked(lambda text: re.fullmatch(_DOMAIN, text), "must be a domain, such as example.org")
]
Host = Annotated[
    str,
    checked(
        lambda text: re.fullmatch(r"[A-Za-z0-9._:\-]+", text),
        "must be only the name of a host, without scheme, user, password or port",
    ),
]


class Mail(ConfigSection):
    """How reports are delivered."""

    via: Literal["none", "smtp", "outbox"] = "none"
    outbox: str = "fairaudit-outbox"
    host: Host = "localhost"
    port: int | None = Field(default=None, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    ca_file: str | None = None
    user: str | None = Field(default=None, pattern=r"^[!-~]+$")
    password_env: str | None = Field(default=None, min_length=1)
    password_file: str | None = Field(default=None, min_length=1)
    timeout_s: int = Field(default=60, ge=1, le=3600)
    attempts: int = Field(default=4, ge=1, le=20)
    backoff_s: int = Field(default=60, ge=0, le=3600)
    sender: Annotated[str, AfterValidator(_address)] | None = None
    # not str.lower itself, whose signature takes pydantic 5 ms to read
    domains: tuple[Annotated[Domain, AfterValidator(lambda name: name.lower())], ...] = ()
    operators: tuple[str, ...] = ()
    subject: str = "{cluster}, {period}: {verdict}"
    message_id_domain: Domain | None = None
    backlog: int = Field(default=1, ge=1)
    corrections: bool = False
    quiet: bool = True
    attachments_mb: float = Field(default=10.0, ge=0.0)

    @field_validator("subject")
    @classmethod
    def _known_names(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("must be one line of printable text")
        if unknown := sorted(set(re.findall(r"\{(.*?)\}", value)) - set(SUBJECT_NAMES)):
            known = ", ".join(f"{{{name}}}" for name in SUBJECT_NAMES)
            raise ValueError(f"{{{unknown[0]}}} is unknown; known names: {known}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> "Mail":
        if self.via != "none" and self.sender is None:
            raise ValueError("sender is missing: the address that reports are sent from")
        secrets = (self.password_env is not None) + (self.password_file is not None)
        if secrets > 1:
            raise ValueError("either password_env or password_file, not both")
        if secrets != (self.user is not None):
            raise ValueError("a login needs user and either password_env or password_file")
        if self.user is not None and self.security == "none":
            raise ValueError('security = "none" would send the password unencrypted')
        return self


class Recipient(ConfigSection):
    """Recipients of reports."""

    addresses: tuple[str, ...] = Field(min_length=1)
    clusters: tuple[str, ...] = ()
    periods: tuple[Literal["day", "week", "month"], ...] = ()
    users: tuple[Name, ...] = ()
    accounts: tuple[Name, ...] = ()
    attach: tuple[Literal["pdf", "csv", "page", "page_pdf"], ...] | None = None
    charts: bool = True

    @field_validator("attach")
    @classmethod
    def _pages_have_owners(
        cls, value: tuple[str, ...] | None, info: ValidationInfo
    ) -> tuple[str, ...] | None:
        pages = [name for name in value or () if name in ("page", "page_pdf")]
        if pages and not (info.data.get("users") or info.data.get("accounts")):
            raise ValueError(
                f'"{pages[0]}" is the page of a user or account: name some in users or accounts, '
                'or attach "pdf", the report'
            )
        return value

    @property
    def owners(self) -> tuple[tuple[str, str], ...]:
        """The users and accounts it is restricted to, as pairs ("user" or "account", name)."""
        users = (("user", name) for name in self.users)
        return (*users, *(("account", name) for name in self.accounts))

    def gets(self, cluster: str, period: str) -> bool:
        """Return whether it gets reports on this cluster over periods of this length."""
        return (not self.clusters or cluster in self.clusters) and (
            not self.periods or period in self.periods
        )
