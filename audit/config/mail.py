"""How reports leave, and who gets which."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from audit.config.sections import Section

SUBJECT_NAMES = ("cluster", "period", "from", "to", "state", "users", "accounts", "verdict")
"""What ``mail.subject`` may name."""

Name = Annotated[str, Field(min_length=1)]
"""Of a user or account, as the log has it."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*"
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"


def _address(text: str) -> str:
    """A bare address, as SMTP takes it without extensions; its domain in small letters."""
    if len(text) > 254 or not re.fullmatch(rf"{_LOCAL}@{_DOMAIN}", text):
        raise ValueError("must be one bare address, such as anna@example.org")
    local, domain = text.rsplit("@", 1)
    return f"{local}@{domain.lower()}"


def allowed(address: str, domains: tuple[str, ...]) -> str:
    """The address as it is written to.

    Args:
        domains: ``mail.domains``; empty allows any.

    Raises:
        ValueError: it is none, or lies in none of ``domains``.
    """
    good = _address(address)
    if domains and good.rsplit("@", 1)[1] not in domains:
        raise ValueError(f"its domain is not among mail.domains ({', '.join(domains)})")
    return good


class Mail(Section):
    """How reports leave."""

    via: Literal["none", "smtp", "outbox"] = "none"
    outbox: str = "fairaudit-outbox"
    host: str = "localhost"
    port: int | None = Field(default=None, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    ca_file: str | None = None
    user: str | None = Field(default=None, pattern=r"^[!-~]+$")
    password_env: str | None = Field(default=None, min_length=1)
    password_file: str | None = Field(default=None, min_length=1)
    timeout_s: int = Field(default=60, ge=1, le=3600)
    attempts: int = Field(default=4, ge=1, le=20)
    backoff_s: int = Field(default=60, ge=0, le=3600)
    sender: str | None = None
    domains: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    subject: str = "{cluster}, {period}: {verdict}"
    message_id_domain: str | None = None
    backlog: int = Field(default=1, ge=1)
    corrections: bool = False
    attachments_mb: float = Field(default=10.0, ge=0.0)

    @field_validator("host")
    @classmethod
    def _bare_host(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9._:\-]+", value):
            raise ValueError("must be the name of a host alone: no scheme, user, password or port")
        return value

    @field_validator("sender")
    @classmethod
    def _sender(cls, value: str | None) -> str | None:
        return value if value is None else _address(value)

    @field_validator("message_id_domain")
    @classmethod
    def _domain(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(_DOMAIN, value):
            raise ValueError("must be a domain, such as example.org")
        return value

    @field_validator("domains")
    @classmethod
    def _domains(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [name for name in value if not re.fullmatch(_DOMAIN, name)]:
            raise ValueError(f"not a domain, such as example.org: {', '.join(map(repr, wrong))}")
        return tuple(name.lower() for name in value)

    @field_validator("subject")
    @classmethod
    def _known_names(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise ValueError("must be one line of printable text")
        if unknown := sorted(set(re.findall(r"\{(.*?)\}", value)) - set(SUBJECT_NAMES)):
            raise ValueError(
                f"{{{unknown[0]}}} is unknown; known are "
                + ", ".join(f"{{{name}}}" for name in SUBJECT_NAMES)
            )
        return value

    @model_validator(mode="after")
    def _whole(self) -> Mail:
        if self.via != "none" and self.sender is None:
            raise ValueError("sender is missing: the address that reports are sent from")
        secrets = (self.password_env is not None) + (self.password_file is not None)
        if secrets > 1:
            raise ValueError("either password_env or password_file, not both")
        if secrets != (self.user is not None):
            raise ValueError("a login is user together with password_env or password_file")
        if self.user is not None and self.security == "none":
            raise ValueError('security = "none" would send the password for everybody to read')
        return self


class Recipient(Section):
    """Who gets which reports."""

    addresses: tuple[str, ...] = Field(min_length=1)
    clusters: tuple[str, ...] = ()
    periods: tuple[Literal["day", "week", "month"], ...] = ()
    users: tuple[Name, ...] = ()
    accounts: tuple[Name, ...] = ()
    attach: tuple[Literal["pdf", "csv", "page", "page_pdf"], ...] | None = None
    charts: bool = True

    @field_validator("attach")
    @classmethod
    def _of_somebody(
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
        """Whom it is about, if not everybody: ``user`` or ``account``, and the name."""
        return (
            *(("user", name) for name in self.users),
            *(("account", name) for name in self.accounts),
        )

    def gets(self, cluster: str, period: str) -> bool:
        """Whether reports on a cluster, over periods of this length, go there."""
        return (not self.clusters or cluster in self.clusters) and (
            not self.periods or period in self.periods
        )
