"""config.toml: typed, frozen, and all its mistakes reported at once.

The shipped config.toml shows every key with its default, and is itself read by a test against the
defaults below. Time in seconds, memory as DuckDB writes it (``4GB``).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from audit.errors import ConfigError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Metrics(_Section):
    """How figures are computed."""

    tau_s: int = Field(default=10, ge=1)
    resource_equality_weights: Literal["size", "jobs"] = "size"
    count_never_started: bool = False
    keep_single_job_users: bool = False


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


class Config(_Section):
    """A whole config.toml."""

    metrics: Metrics = Metrics()
    uncertainty: Uncertainty = Uncertainty()
    ingest: Ingest = Ingest()
    store: Store = Store()
    sql: Sql = Sql()
    report: Report = Report()

    def digest(self) -> str:
        """SHA-256 over all keys and their values, whatever the order they were written in."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()


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
        return Config.model_validate(content)
    except ValidationError as error:
        lines = [f"  {_describe(dict(item))}" for item in error.errors()]
        raise ConfigError(f"{path}: {len(lines)} wrong:\n" + "\n".join(lines)) from error


def _describe(error: dict[str, Any]) -> str:
    *parents, last = (str(part) for part in error["loc"])
    key = ".".join([*parents, last])
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(last, _keys(parents), n=1, cutoff=0.5)
        hint = (
            f"did you mean {'.'.join([*parents, near[0]])}?"
            if near
            else (f"known here: {', '.join(_keys(parents))}")
        )
        return f"{key}: no such key; {hint}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{key}: {message} (it is {error['input']!r})"


def _keys(parents: list[str]) -> list[str]:
    section: type[BaseModel] = Config
    for parent in parents:
        field = section.model_fields.get(parent)
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        section = annotation
    return list(section.model_fields)
