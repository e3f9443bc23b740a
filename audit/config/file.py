"""A whole config.toml: read, and all its mistakes told at once."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, field_validator, model_validator

from audit.config.clusters import Cluster
from audit.config.compute import Compute
from audit.config.mail import Mail, Recipient, allowed
from audit.config.output import Output, Report, Sql, Store
from audit.config.runs import Ingest, Retention, Service
from audit.config.sections import Section
from audit.errors import ConfigError


class Metrics(Section):
    """How figures are computed."""

    tau_s: int = Field(default=10, ge=1)
    resource_equality_weights: Literal["size", "jobs"] = "size"
    count_never_started: bool = False
    keep_single_job_users: bool = False
    tolerance_s: int = Field(default=60, ge=0)


class Simulation(Section):
    """How fair start times are computed."""

    threads: int = Field(default=0, ge=0)
    budget_s: int = Field(default=300, ge=1)
    advice_budget_s: int = Field(default=60, ge=0)


class Uncertainty(Section):
    """Bootstrap intervals (SPEC §5)."""

    resamples: int = Field(default=1000, ge=100, le=100_000)


class Threshold(Section):
    """A figure that must not be exceeded; where it is, ``run`` ends with exit code 1."""

    metric: str
    above: float
    dimension: str = "all"


class Bound(Section):
    """From where on a share warns, and from where on it fails."""

    warn: float = Field(ge=0, le=1)
    fail: float = Field(ge=0, le=1)

    @model_validator(mode="after")
    def _in_order(self) -> Bound:
        if self.fail < self.warn:
            raise ValueError(f"fail ({self.fail:g}) must not be below warn ({self.warn:g})")
        return self


class Verdict(Section):
    """When a report says that a scheduler is fair, and when that it is not."""

    overtaken: Bound = Bound(warn=0.1, fail=0.25)
    room: Bound = Bound(warn=0.25, fail=0.5)
    longer: Bound = Bound(warn=0.01, fail=0.1)


class Config(Section):
    """A whole config.toml."""

    metrics: Metrics = Metrics()
    simulation: Simulation = Simulation()
    compute: Compute = Compute()
    uncertainty: Uncertainty = Uncertainty()
    ingest: Ingest = Ingest()
    store: Store = Store()
    sql: Sql = Sql()
    report: Report = Report()
    verdict: Verdict = Verdict()
    output: Output = Output()
    service: Service = Service()
    retention: Retention = Retention()
    thresholds: tuple[Threshold, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    mail: Mail = Mail()
    recipients: tuple[Recipient, ...] = ()

    def hides(self, cluster: str | None = None) -> bool:
        """Whether names of people become pseudonyms in a cluster; None: in any."""
        return any(of.people.hidden for of in self.clusters if cluster in (None, of.name))

    @field_validator("clusters")
    @classmethod
    def _each_once(cls, value: tuple[Cluster, ...]) -> tuple[Cluster, ...]:
        names = [cluster.name for cluster in value]
        if len(set(names)) < len(names):
            raise ValueError("two clusters have the same name")
        return value

    @model_validator(mode="after")
    def _known_recipients(self) -> Config:
        """Each address is one, and lies where mail may go; each named cluster exists."""
        clusters = [cluster.name for cluster in self.clusters]
        wrong = []
        named = [
            *((f"mail.operators[{k}]", address) for k, address in enumerate(self.mail.operators)),
            *(
                (f"recipients[{number}].addresses[{k}]", address)
                for number, recipient in enumerate(self.recipients)
                for k, address in enumerate(recipient.addresses)
            ),
        ]
        for path, address in named:
            try:
                allowed(address, self.mail.domains)
            except ValueError as error:
                wrong.append(f"{path}: {error} (it is {address!r})")
        wrong += [
            f"recipients[{number}].clusters[{k}]: no cluster {name!r}; "
            f"known are {', '.join(clusters) or 'none'}"
            for number, recipient in enumerate(self.recipients)
            for k, name in enumerate(recipient.clusters)
            if name not in clusters
        ]
        if wrong:
            raise ValueError("\n  ".join(wrong))
        return self

    @model_validator(mode="after")
    def _known_times(self) -> Config:
        known = [cluster.name for cluster in self.clusters]
        for key in ("by_cluster", "ping_by_cluster"):
            if unknown := sorted(set(getattr(self.service, key)) - set(known)):
                raise ValueError(
                    f"service.{key}.{unknown[0]}: no such cluster; "
                    f"known are {', '.join(known) or 'none'}"
                )
        return self


def load(path: Path) -> Config:
    """Reads a config.toml.

    Raises:
        ConfigError: it cannot be read, is no TOML, or has wrong keys or values: all of them are
            listed, each by key path, unknown ones with the nearest key that exists.
    """
    try:
        written = path.read_bytes()
        content = tomllib.loads(
            written.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        )
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = written.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: holds a character that is not UTF-8; save the file in UTF-8"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    try:
        return Config.model_validate(_tuples(content))
    except ValidationError as error:
        lines = [f"  {_describe(dict(item))}" for item in error.errors()]
        # without its cause, which repeats what was given: a password in the wrong place, say
        raise ConfigError(f"{path}: {len(lines)} wrong:\n" + "\n".join(lines)) from None


def _tuples(value: Any) -> Any:
    """TOML's arrays as tuples, which are what a frozen section holds."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return value


def _describe(error: dict[str, Any]) -> str:
    path = [part for part in error["loc"] if part != "[key]"]
    key = _path(path)
    if error["type"] == "extra_forbidden":
        *parents, last = path
        if path == ["mail", "password"]:
            return (
                f"{key}: a password has no place in this file; name the environment variable "
                "(mail.password_env) or the private file (mail.password_file) that holds it"
            )
        known = _keys(parents)
        near = difflib.get_close_matches(str(last), known, n=1, cutoff=0.5)
        hint = (
            f"did you mean {_path([*parents, near[0]])}?"
            if near
            else f"known here: {', '.join(known)}"
        )
        return f"{key}: no such key; {hint}"
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"{key}: is missing"
    if not path:  # of several sections; the message names the keys
        return message
    shown = repr(error["input"])
    # A whole section, or what was put in the place of a host, may hold a password; an address to
    # ping is one.
    secret = path[:2] in (["mail", "host"], ["service", "ping"], ["service", "ping_by_cluster"])
    tell = len(shown) < 80 and not isinstance(error["input"], dict) and not secret
    return f"{key}: {message}" + (f" (it is {shown})" if tell else "")


def _path(parts: list[Any]) -> str:
    """``clusters[0].zone`` for the parts of a key path; entries of arrays count from 0."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the file"


def _keys(parents: list[Any]) -> list[str]:
    """The keys that a section knows."""
    section: Any = Config
    for parent in parents:
        if not isinstance(parent, int):
            section = section.model_fields[parent].annotation
        inner = [part for part in get_args(section) if part is not Ellipsis]
        section = inner[0] if isinstance(parent, int) and inner else section
    return list(section.model_fields)
