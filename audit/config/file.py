"""The whole config.toml; all its faults are reported at once."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, ValidationError, field_validator, model_validator

from audit.config.clusters import Cluster
from audit.config.compute import Compute
from audit.config.runs import Ingest, Mail, Recipient, Retention, Service, allowed
from audit.config.sections import ConfigSection, MemoryAmount
from audit.errors import ConfigError
from audit.registry import gone
from audit.registry.measures import SUMMARY
from audit.words import ARCHIVE


class Metrics(ConfigSection):
    """How metrics are computed."""

    tau_s: int = Field(default=10, ge=1)
    resource_equality_weights: Literal["size", "jobs"] = "size"
    count_never_started: bool = False
    keep_single_job_users: bool = False
    tolerance_s: int = Field(default=60, ge=0)


class Simulation(ConfigSection):
    """How fair start times are computed."""

    threads: int = Field(default=0, ge=0)
    budget_s: int = Field(default=5, ge=1)
    advice_budget_s: int = Field(default=60, ge=0)


class Uncertainty(ConfigSection):
    """Bootstrap intervals (SPEC §5)."""

    resamples: int = Field(default=1000, ge=100, le=100_000)


class Store(ConfigSection):
    """The database."""

    memory_limit: MemoryAmount = "512MB"


class Sql(ConfigSection):
    """Limits of ``fairaudit sql``."""

    timeout_s: int = Field(default=60, ge=1)
    memory_limit: MemoryAmount = "2GB"
    rows: int = Field(default=1000, ge=1)


class ReportConfig(ConfigSection):
    """Contents of the report."""

    rows: int = Field(default=10, ge=1, le=100)
    examples: int = Field(default=3, ge=0, le=20)
    owner_pages: Literal["named", "asked"] = "named"
    owner_cards: bool = False
    owner_starts: bool = False
    pdf: bool = True
    pdf_timeout_s: int = Field(default=120, ge=1)
    pdf_memory_limit: MemoryAmount = "2GB"


class Output(ConfigSection):
    """Places of ``fairaudit run``, relative to the folder of the configuration."""

    state: str = "fairaudit-state"
    reports: str = "fairaudit-reports"
    database: str = "fairaudit.duckdb"
    archive: str = ARCHIVE
    shared_with_group: bool = False


class Threshold(ConfigSection):
    """A maximum of a figure; ``run`` exits with code 1 where it is exceeded."""

    metric: str
    above: float
    dimension: str = "all"

    @field_validator("metric")
    @classmethod
    def _exists(cls, metric: str) -> str:
        if metric in SUMMARY:
            return metric
        near = difflib.get_close_matches(metric, SUMMARY, n=1, cutoff=0.5)
        if heir := gone.MEASURES.get(metric):
            near = [heir]
        hint = f"; the nearest one is {near[0]!r}" if near else ""
        raise ValueError(f"there is no measure {metric!r}{hint} (docs/metrics.md lists all)")


_Share = Annotated[float, Field(ge=0, le=1)]


class VerdictConfig(ConfigSection):
    """The thresholds of the verdict (``metrics.verdict``); shares are of 1."""

    few_jobs: int = Field(default=30, ge=1)
    few_share: _Share = 0.01
    long_wait_s: int = Field(default=600, ge=0)
    little_waiting: _Share = 0.05
    not_judged: _Share = 0.5
    treated_worse: _Share = 0.03
    each: _Share = 0.02
    not_tested: _Share = 0.05
    held: _Share = 0.8
    fail: tuple[Literal["fair", "mixed", "unfair", "cannot tell", "quiet"], ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_overtaken(cls, given: object) -> object:
        if isinstance(given, dict) and "overtaken" in given:
            raise ValueError(
                "overtaken is no longer a bound of the verdict: remove it, and see the keys of "
                "[verdict] in docs/report.md"
            )
        return given


class Config(ConfigSection):
    """A whole config.toml."""

    metrics: Metrics = Metrics()
    simulation: Simulation = Simulation()
    compute: Compute = Compute()
    uncertainty: Uncertainty = Uncertainty()
    ingest: Ingest = Ingest()
    store: Store = Store()
    sql: Sql = Sql()
    report: ReportConfig = ReportConfig()
    verdict: VerdictConfig = VerdictConfig()
    output: Output = Output()
    service: Service = Service()
    retention: Retention = Retention()
    thresholds: tuple[Threshold, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    mail: Mail = Mail()
    recipients: tuple[Recipient, ...] = ()

    def hides(self, cluster: str | None = None) -> bool:
        """Return whether names become pseudonyms in a cluster, or in any (None)."""
        return any(of.people.hidden for of in self.clusters if cluster in (None, of.name))

    @field_validator("clusters")
    @classmethod
    def _each_once(cls, value: tuple[Cluster, ...]) -> tuple[Cluster, ...]:
        if len({cluster.name for cluster in value}) < len(value):
            raise ValueError("two clusters have the same name")
        return value

    @model_validator(mode="after")
    def _known_names(self) -> Config:
        """Check addresses, their domains, and the names of clusters outside [[clusters]]."""
        clusters = [cluster.name for cluster in self.clusters]
        known = ", ".join(clusters) or "none"
        addresses = {f"mail.operators[{k}]": one for k, one in enumerate(self.mail.operators)}
        named: dict[str, str] = {}
        for number, recipient in enumerate(self.recipients):
            path = f"recipients[{number}]"
            for k, address in enumerate(recipient.addresses):
                addresses[f"{path}.addresses[{k}]"] = address
            named |= {f"{path}.clusters[{k}]": name for k, name in enumerate(recipient.clusters)}
        for key in ("by_cluster", "ping_by_cluster"):
            named |= {f"service.{key}.{name}": name for name in getattr(self.service, key)}
        wrong = []
        for path, address in addresses.items():
            try:
                allowed(address, self.mail.domains)
            except ValueError as error:
                wrong.append(f"{path}: {error} (it is {address!r})")
        wrong += [
            f"{path}: no such cluster: {name!r}; known clusters: {known}"
            for path, name in named.items()
            if name not in clusters
        ]
        if wrong:
            raise ValueError("\n  ".join(wrong))
        return self


def load(path: Path) -> Config:
    """Return the configuration in a file.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or has wrong keys or values. The message
            lists all of them by key path, and the nearest known key for each unknown one.
    """
    try:
        written = path.read_bytes()
        text = written.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        content = tomllib.loads(text)
    except FileNotFoundError as error:
        remedy = "name it with --config, or let 'fairaudit init LOG' write one"
        raise ConfigError(f"{path}: no such file; {remedy}") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = written.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: contains a character that is not UTF-8; save the file in UTF-8"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    try:
        return Config.model_validate(_tuples(content))
    except ValidationError as error:
        lines = [f"  {_describe(dict(item))}" for item in error.errors()]
        # without its cause, which repeats the input, perhaps a password in the wrong place
        raise ConfigError(f"{path}: {len(lines)} wrong:\n" + "\n".join(lines)) from None


def _tuples(value: Any) -> Any:
    """Return arrays as tuples, which frozen sections hold."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _describe(error: dict[str, Any]) -> str:
    path = [part for part in error["loc"] if part != "[key]"]
    key = _path(path)
    if error["type"] == "missing":
        return f"{key}: is missing"
    if error["type"] == "extra_forbidden":
        if path == ["mail", "password"]:
            return (
                f"{key}: a password must not be in this file; name the environment variable "
                "(mail.password_env) or the private file (mail.password_file) that holds it"
            )
        *parents, last = path
        known = _keys(parents)
        near = difflib.get_close_matches(str(last), known, n=1, cutoff=0.5)
        hint = f"did you mean {_path([*parents, *near])}?" if near else f"known: {', '.join(known)}"
        return f"{key}: no such key; {hint}"
    message = str(error["msg"]).removeprefix("Value error, ")
    if not path:  # a fault of several sections, whose message names the keys
        return message
    shown = repr(error["input"])
    # a section or a value that is not a host may contain a password; an address to ping is a secret
    secret = path[:2] in (["mail", "host"], ["service", "ping"], ["service", "ping_by_cluster"])
    tell = len(shown) < 80 and not isinstance(error["input"], dict) and not secret
    return f"{key}: {message}" + (f" (it is {shown})" if tell else "")


def _path(parts: list[Any]) -> str:
    """Return a key path such as ``clusters[0].zone``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".") or "the file"


def _keys(parents: list[Any]) -> list[str]:
    """Return the keys of a section."""
    section: Any = Config
    for parent in parents:
        if not isinstance(parent, int):
            section = section.model_fields[parent].annotation
        inner = [part for part in get_args(section) if part is not Ellipsis]
        section = inner[0] if isinstance(parent, int) and inner else section
    return list(section.model_fields)
