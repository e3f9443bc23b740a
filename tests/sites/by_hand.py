"""Sites of a few jobs that are written by hand."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from bench.logs.sites.kinds import EPOCH, SiteKind
from bench.logs.sites.site import TrueSite, of_demand
from bench.logs.sites.workload import NEVER, NO_JOB, Demand


@dataclass(frozen=True)
class HandJob:
    """A job; times count from the epoch of made sites, and links are places in the list."""

    submit: int
    size: int
    runtime: int
    walltime: int | None = None
    """None: its runtime."""
    user: int | None = None
    """None: a user without other jobs."""
    account: int = 0
    partition: int = 0
    qos: int = 0
    node_class: int = 0
    release: int = 0
    depends: int = NO_JOB
    follows: int = NO_JOB
    array: int = NO_JOB
    gives_up: int = NEVER
    exempt: int = 0


def by_hand(kind: SiteKind, *jobs: HandJob) -> TrueSite:
    """Return the site of these jobs."""
    columns: dict[str, Any] = {
        field.name: [getattr(job, field.name) for job in jobs] for field in fields(Demand)
    }
    columns["user"] = [k if job.user is None else job.user for k, job in enumerate(jobs)]
    columns["walltime"] = [job.walltime or job.runtime for job in jobs]
    for name in ("submit", "release"):
        columns[name] = [EPOCH + at for at in columns[name]]
    demand = Demand(**{name: np.array(of, np.int64) for name, of in columns.items()})
    return of_demand(kind, demand, np.random.Generator(np.random.PCG64(0)))


def starts(site: TrueSite) -> list[int | None]:
    """Return when each job starts, from the epoch of made sites; None: never."""
    return (site.jobs["start_time"] - EPOCH).to_list()


def told(site: TrueSite) -> list[tuple[int, int, int, str, str | None]]:
    """Return the stretches, with times from the epoch of made sites."""
    times = [pl.col(name) - EPOCH for name in ("begin", "end")]
    return site.reasons.with_columns(times).rows()
