"""Section [compute]: where independent parts of work are computed."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from audit.config.sections import ConfigFault, ConfigSection, MemoryAmount, checked, refusal


def _address(value: str) -> str:
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


Word = Annotated[
    str,
    checked(
        lambda value: re.fullmatch(r"(?!-)[\w.,:+@-]+", value, re.ASCII),
        "must be a name of letters, digits and . , : + @ _ -, and must not begin with -",
    ),
]
Line = Annotated[
    str, checked(lambda value: value.isprintable() and value.strip(), "must be one line of text")
]
Directive = Annotated[
    Line,
    checked(
        lambda value: value.startswith("-"), 'must be an option of sbatch, such as "--qos=audit"'
    ),
]
Walltime = Annotated[
    str,
    checked(
        lambda value: re.fullmatch(r"(\d+-)?\d{1,3}(:\d{2}){1,2}", value, re.ASCII),
        'must be hours, minutes and seconds, such as "02:00:00" or "1-12:00:00"',
    ),
]
Place = Annotated[
    str,
    checked(
        lambda value: PurePosixPath(value).is_absolute() and value.isprintable(),
        "must be an absolute path that is the same on all machines",
    ),
]


class Tls(ConfigSection):
    """PEM files that encrypt and authenticate the connections of Dask."""

    ca_file: Place
    cert: Place
    key: Place


class Slurm(ConfigSection):
    """Jobs in which workers run."""

    partition: Word | None = None
    account: Word | None = None
    cores: int = Field(default=1, ge=1, le=1024)
    memory: MemoryAmount = "4GB"
    walltime: Walltime = "01:00:00"
    jobs: int = Field(default=1, ge=1, le=10_000)
    directives: tuple[Directive, ...] = ()
    prologue: tuple[Line, ...] = ()
    interface: Word | None = None


class Compute(ConfigSection):
    """Where fair start times, modelled starts, advice, studies and resamples are computed."""

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
        """Number of worker threads requested; 0 if only their scheduler knows it."""
        return self.slurm.jobs * self.slurm.cores if self.slurm is not None else self.workers or 0

    @model_validator(mode="after")
    def _consistent(self) -> "Compute":
        if faults := list(self._faults()):
            raise refusal("compute", faults)
        return self

    def _faults(self) -> Iterator[ConfigFault]:
        dask = self.engine == "dask"
        named = [key for key in ("scheduler", "workers", "slurm") if getattr(self, key) is not None]
        if dask and len(named) != 1:
            yield ConfigFault(
                ("engine",),
                "dask needs one of compute.workers (processes on this machine), compute.scheduler "
                "(an address) or compute.slurm (jobs of this site); it has "
                f"{' and '.join(named) or 'none'}",
                self.engine,
            )
        if dask and self.folder is None and set(named) & {"scheduler", "slurm"}:
            what = "is missing: name a folder that this machine and all workers share"
            yield ConfigFault(("folder",), what, None)
        encrypted = self.scheduler is not None and self.scheduler.startswith("tls:")
        if encrypted and self.tls is None:
            what = "is missing: a tls:// scheduler needs { ca_file = …, cert = …, key = … }"
            yield ConfigFault(("tls",), what, None)
        if self.scheduler is not None and not encrypted and self.tls is not None:
            what = "is not encrypted, but compute.tls is set: write tls://, or remove compute.tls"
            yield ConfigFault(("scheduler",), what, self.scheduler)
