"""The whole config.toml; all its faults are reported at once."""

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from audit.config.clusters import Cluster
from audit.config.compute import Compute
from audit.config.faults import validated
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

    @model_validator(mode="after")
    def _divided(self) -> "Threshold":
        has = SUMMARY[self.metric].dimensions
        if self.dimension not in has:
            raise ValueError(
                f"{self.metric} has no dimension {self.dimension!r}; it has {', '.join(has)}"
            )
        return self


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
    def _known_names(self) -> "Config":
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
    return validated(Config, content, str(path))
