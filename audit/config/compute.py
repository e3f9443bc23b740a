"""Where the work that comes in many parts is done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from audit.config.sections import Fault, MemoryAmount, Section, refusal


def _word(value: str) -> str:
    if not re.fullmatch(r"[\w.,:+@-]+", value, re.ASCII) or value.startswith("-"):
        raise ValueError("must be a name, of letters, digits and any of . , : + @ _ -")
    return value


def _line(value: str) -> str:
    if not value.isprintable() or not value.strip():
        raise ValueError("must be one line of text")
    return value


def _directive(value: str) -> str:
    if not _line(value).startswith("-"):
        raise ValueError('must be an option of sbatch, such as "--qos=audit"')
    return value


def _walltime(value: str) -> str:
    if not re.fullmatch(r"(\d+-)?\d{1,3}(:\d{2}){1,2}", value, re.ASCII):
        raise ValueError('must be hours, minutes and seconds, such as "02:00:00" or "1-12:00:00"')
    return value


def _place(value: str) -> str:
    if not PurePosixPath(value).is_absolute() or not value.isprintable():
        raise ValueError("must be a whole path, from / on, the same on all machines")
    return value


def _address(value: str) -> str:
    """Where a scheduler of Dask listens."""
    wrong = 'must be an address such as "tls://head.example.org:8786"'
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(wrong) from None
    whole = value.isascii() and value.isprintable() and value == f"{parts.scheme}://{parts.netloc}"
    if not (whole and parts.hostname and port and "@" not in value and " " not in value):
        raise ValueError(wrong)
    if parts.scheme not in ("tcp", "tls"):
        raise ValueError(f"{wrong}; tls is encrypted, tcp is not")
    return value


Word = Annotated[str, AfterValidator(_word)]
Line = Annotated[str, AfterValidator(_line)]
Place = Annotated[str, AfterValidator(_place)]
ENGINES: Final = ("scheduler", "workers", "slurm")
"""The keys that say where workers of Dask are."""


class Tls(Section):
    """What encrypts the connections of Dask, and proves who may use them: PEM files."""

    ca_file: Place
    cert: Place
    key: Place


class Slurm(Section):
    """Jobs in which workers run."""

    partition: Word | None = None
    account: Word | None = None
    cores: int = Field(default=1, ge=1, le=1024)
    memory: MemoryAmount = "4GB"
    walltime: Annotated[str, AfterValidator(_walltime)] = "01:00:00"
    jobs: int = Field(default=1, ge=1, le=10_000)
    directives: tuple[Annotated[str, AfterValidator(_directive)], ...] = ()
    prologue: tuple[Line, ...] = ()
    interface: Word | None = None


class Compute(Section):
    """Where fair start times, forward starts, studies and resamples are computed."""

    engine: Literal["local", "dask"] = "local"
    workers: int | None = Field(default=None, ge=1, le=1024)
    scheduler: Annotated[str, AfterValidator(_address)] | None = None
    slurm: Slurm | None = None
    folder: Place | None = None
    tls: Tls | None = None
    alone_s: int = Field(default=10, ge=0)
    patience_s: int = Field(default=300, ge=1)
    fallback: bool = False

    @property
    def threads(self) -> int:
        """How many threads of workers are asked for; 0: only their scheduler knows."""
        return self.slurm.jobs * self.slurm.cores if self.slurm is not None else self.workers or 0

    @model_validator(mode="after")
    def _goes_together(self) -> Compute:
        if faults := list(self._faults()):
            raise refusal("compute", faults)
        return self

    def _faults(self) -> Iterator[Fault]:
        named = [key for key in ENGINES if getattr(self, key) is not None]
        if self.engine == "dask" and len(named) != 1:
            which = f"it has {' and '.join(named)}" if named else "it has none"
            yield Fault(
                ("engine",),
                "dask needs one of compute.workers (processes of this machine), compute.scheduler "
                f"(an address) or compute.slurm (jobs of this site); {which}",
                self.engine,
            )
        if self.folder is None and self.engine == "dask" and set(named) & {"scheduler", "slurm"}:
            yield Fault(
                ("folder",),
                "is missing: name a folder that this machine and all workers share",
                None,
            )
        encrypted = self.scheduler is not None and self.scheduler.startswith("tls:")
        if encrypted and self.tls is None:
            yield Fault(
                ("tls",),
                "is missing: a tls:// scheduler needs { ca_file = …, cert = …, key = … }",
                None,
            )
        if self.scheduler is not None and not encrypted and self.tls is not None:
            yield Fault(
                ("scheduler",),
                "is not encrypted, but compute.tls is given: write tls://, or leave compute.tls "
                "out",
                self.scheduler,
            )
