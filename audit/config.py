"""config.toml: typed, frozen, and all its mistakes reported at once.

The shipped config.toml shows every key with its default, and is itself read by a test against the
defaults below. Time in seconds, memory as DuckDB writes it (``4GB``).
"""

from __future__ import annotations

import difflib
import tomllib
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from audit import periods
from audit.errors import ConfigError, UsageError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Metrics(_Section):
    """How figures are computed."""

    tau_s: int = Field(default=10, ge=1)
    resource_equality_weights: Literal["size", "jobs"] = "size"
    count_never_started: bool = False
    keep_single_job_users: bool = False
    tolerance_s: int = Field(default=60, ge=0)


class Simulation(_Section):
    """How fair start times are computed."""

    threads: int = Field(default=0, ge=0)


class Uncertainty(_Section):
    """Bootstrap intervals (SPEC §5)."""

    resamples: int = Field(default=1000, ge=100, le=100_000)


class Ingest(_Section):
    """Taking logs in."""

    refused_limit: float = Field(default=0.05, ge=0.0, le=1.0)


class Store(_Section):
    """The database."""

    memory_limit: str = "4GB"

    @field_validator("memory_limit")
    @classmethod
    def _amount(cls, value: str) -> str:
        number = value.rstrip("KMGTiB")
        if not number.isdigit() or int(number) == 0 or value == number:
            raise ValueError('must be an amount with its unit, such as "4GB"')
        return value


class Sql(_Section):
    """Limits of ``fairaudit sql``."""

    timeout_s: int = Field(default=60, ge=1)
    memory_limit: str = "2GB"
    rows: int = Field(default=1000, ge=1)


class Report(_Section):
    """What the report shows."""

    rows: int = Field(default=10, ge=1, le=100)
    examples: int = Field(default=3, ge=0, le=20)
    pdf: bool = True


class Output(_Section):
    """Where ``fairaudit run`` keeps and puts things; relative to the configuration's folder."""

    state: str = "fairaudit-state"
    reports: str = "fairaudit-reports"
    database: str = "fairaudit.duckdb"


class Threshold(_Section):
    """A figure that must not be exceeded; where it is, ``run`` ends with exit code 1."""

    metric: str
    above: float
    dimension: str = "all"


class Amounts(_Section):
    """Amounts of what a pool has."""

    cpus: int | None = Field(default=None, ge=1)
    nodes: int | None = Field(default=None, ge=1)
    gpus: int | None = Field(default=None, ge=1)
    mem_bytes: int | None = Field(default=None, ge=1)


class Step(Amounts):
    """Amounts that hold from the start of a day on."""

    since: date
    planned: bool = False


class Pool(_Section):
    """A set of partitions that share hardware."""

    name: str = Field(min_length=1)
    partitions: tuple[str, ...] = ()
    resource: Literal["cpus", "nodes", "gpus"] = "cpus"
    capacity: Amounts = Amounts()
    steps: tuple[Step, ...] = ()
    exclusive_nodes: bool = False
    order: Literal["fcfs", "sjf", "lxf", "recorded"] = "fcfs"
    backfill: Literal["none", "no_guarantee", "easy", "conservative", "conservative_replan"] = (
        "easy"
    )
    depth: int | None = Field(default=None, ge=1)
    window_s: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> Pool:
        days = [step.since for step in self.steps]
        if any(later <= earlier for earlier, later in pairwise(days)):
            raise ValueError("steps must be in the order of their days, each day once")
        return self


class Source(_Section):
    """Where a cluster's logs come from."""

    files: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: int = Field(default=600, ge=1)
    dialect: str | None = None
    columns: tuple[str, ...] | None = None
    separator: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        if (self.files is None) == (self.command is None):
            raise ValueError("a source has either files or a command")
        if self.command is not None and not self.command:
            raise ValueError("a command has at least a program")
        return self


class Usage(_Section):
    """Decayed usage, and the targets it is compared with."""

    method: Literal["windows", "half_life"] = "windows"
    penalty: Literal["cpu", "max", "billing"] = "cpu"
    interval_days: int = Field(default=7, ge=1)
    depth: int = Field(default=7, ge=1, le=1000)
    decay: float = Field(default=0.7, ge=0.0)
    alignment: Literal["trailing", "calendar"] = "trailing"
    half_life_days: float = Field(default=7.0, gt=0.0)
    billing_weights: dict[str, float] = {}
    users: dict[str, float] = {}
    accounts: dict[str, float] = {}


class Cluster(_Section):
    """One cluster: its pools, its logs, its periods."""

    name: str = Field(min_length=1)
    zone: str = "UTC"
    period: Literal["day", "week", "month"] = "month"
    pools: tuple[Pool, ...] = ()
    sources: tuple[Source, ...] = ()
    usage: Usage = Usage()

    @field_validator("zone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            periods.zone(value)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return value

    @model_validator(mode="after")
    def _no_partition_twice(self) -> Cluster:
        named = [partition for pool in self.pools for partition in pool.partitions]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"partitions in two pools: {', '.join(twice)}")
        if len(self.pools) > 1 and sum(not pool.partitions for pool in self.pools) > 1:
            raise ValueError("only one pool may leave out its partitions: it gets all others")
        names = [pool.name for pool in self.pools]
        if len(set(names)) < len(names):
            raise ValueError("two pools have the same name")
        return self


class Config(_Section):
    """A whole config.toml."""

    metrics: Metrics = Metrics()
    simulation: Simulation = Simulation()
    uncertainty: Uncertainty = Uncertainty()
    ingest: Ingest = Ingest()
    store: Store = Store()
    sql: Sql = Sql()
    report: Report = Report()
    output: Output = Output()
    thresholds: tuple[Threshold, ...] = ()
    clusters: tuple[Cluster, ...] = ()

    @field_validator("clusters")
    @classmethod
    def _each_once(cls, value: tuple[Cluster, ...]) -> tuple[Cluster, ...]:
        names = [cluster.name for cluster in value]
        if len(set(names)) < len(names):
            raise ValueError("two clusters have the same name")
        return value


def load(path: Path) -> Config:
    """Reads a config.toml.

    Raises:
        ConfigError: it cannot be read, is no TOML, or has wrong keys or values: all of them are
            listed, each by key path, unknown ones with the nearest key that exists.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    try:
        return Config.model_validate(_tuples(content))
    except ValidationError as error:
        lines = [f"  {_describe(dict(item))}" for item in error.errors()]
        raise ConfigError(f"{path}: {len(lines)} wrong:\n" + "\n".join(lines)) from error


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
    shown = repr(error["input"])
    return f"{key}: {message}" + (f" (it is {shown})" if len(shown) < 80 else "")


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
