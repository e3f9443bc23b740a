"""A made site: the log of a true schedule, why each job waited, and the limits in force."""

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Ints
from audit.metrics.attempts.population import describe
from audit.model import ATTEMPTS, Policy, Pool, Resource
from bench.logs.sites.kinds import SiteKind, TrueRule
from bench.logs.sites.limits import gpus_of, named, within_limits
from bench.logs.sites.reasons import STRETCHES
from bench.logs.sites.scheduler import TrueScheduler, capacities
from bench.logs.sites.workload import NEVER, NO_JOB, Demand, Random, demand

CLUSTER: Final = "made"


class TrueSite(NamedTuple):
    """The site of one kind and one seed."""

    kind: SiteKind
    jobs: pl.DataFrame
    """Columns of ``model.DESCRIBED``, by arrival; the log names no hold, dependency or limit."""
    pool: Pool
    """Its declared capacity and its interval, without limits."""
    reasons: pl.DataFrame
    """Columns of ``reasons.STRETCHES``, by row and begin; ``row`` is that of ``jobs``."""
    node_class: Ints
    """Of each row: the class of nodes on which the job runs."""
    rules: tuple[TrueRule, ...]
    """The limits in force, none of which the log names; closed hours are in ``kind.closed``."""
    steps: tuple[tuple[int, int, int], ...]
    """True changes of capacity: epoch s, class of nodes, change."""
    tied: frozenset[str]
    """Users of chains, throttled arrays and scripts, whose jobs wait for others of theirs."""
    now: int
    """The log's last instant."""


def made(kind: SiteKind, *seed: int) -> TrueSite:
    """Return the site of a kind and a seed; the same seed makes the same bytes."""
    random = np.random.Generator(np.random.PCG64(seed))
    return of_demand(kind, within_limits(kind, demand(kind, random)), random)


def of_demand(kind: SiteKind, asked: Demand, random: Random) -> TrueSite:
    """Return the site of a kind with these jobs; drains and latencies are random."""
    site = TrueScheduler(kind, asked, random)
    site.run()
    arrival = np.array(site.arrival)
    order = np.lexsort((np.arange(len(arrival)), arrival))
    start, left, end = (np.array(one)[order] for one in (site.start, site.left_at, site.end))
    started = start < NEVER
    names = {key: np.array(one)[order] for key, one in named(kind, asked).items()}
    gpus = np.array(gpus_of(kind, asked))[order]
    tasks = asked.array[order]
    number = pl.int_range(1, len(order) + 1, eager=True)
    log = pl.DataFrame(
        {
            "cluster": pl.repeat(CLUSTER, len(order), eager=True),
            "job_id": number.cast(pl.String),
            "job_number": number,
            "array_task": pl.Series(tasks).replace(NO_JOB, None),
            "user": names["user"],
            "account": names["account"],
            "partition": names["partition"],
            "qos": names["qos"],
            "state": np.where(started, "COMPLETED", "CANCELLED"),
            "submit_time": arrival[order],
            "start_time": pl.Series(start).set(pl.Series(~started), None),
            "end_time": np.where(started, end, left),
            "walltime_s": asked.walltime[order],
            "cpus": asked.size[order],
            "gpus": gpus,
            "gpu_types": _gpu_types(gpus, names["node_class"]),
            "line": number,
            "attempt": pl.repeat(1, len(order), eager=True),
        }
    )
    pool = _pool(kind)
    jobs = describe(pl.DataFrame({**_unknown(log), **log.to_dict()}, ATTEMPTS), [pool])
    row = np.argsort(order)
    found = pl.DataFrame(site.record.stretches, STRETCHES, orient="row")
    reasons = found.with_columns(row=pl.Series(row).gather(found["row"])).sort("row", "begin")
    now = int(np.where(started, end, left).max())
    return TrueSite(
        kind,
        jobs,
        pool,
        reasons,
        asked.node_class[order],
        kind.rules,
        tuple(site.steps),
        _tied(kind, asked),
        now,
    )


def _tied(kind: SiteKind, asked: Demand) -> frozenset[str]:
    linked = np.stack((asked.depends, asked.follows, asked.array)).max(0) != NO_JOB
    users = np.array(named(kind, asked)["user"])[linked]
    return frozenset(users.tolist())


def _unknown(log: pl.DataFrame) -> dict[str, pl.Series]:
    return {
        name: pl.repeat(None, log.height, dtype=dtype, eager=True)
        for name, dtype in ATTEMPTS.items()
    }


def _gpu_types(gpus: Ints, classes: np.ndarray) -> list[str | None]:
    return [
        f"{name}:{count}" if count else None
        for name, count in zip(classes.tolist(), gpus.tolist(), strict=True)
    ]


def _pool(kind: SiteKind) -> Pool:
    gpus = tuple(
        (f"gpus:{one.name}", cpus // one.cpus_per_gpu)
        for one, cpus in zip(kind.classes, capacities(kind), strict=True)
        if one.cpus_per_gpu
    )
    return Pool(
        "main",
        Resource.cpus,
        kind.capacity,
        amounts=(("cpus", kind.capacity), *gpus),
        policy=Policy(interval_s=kind.interval_s or None),
    )
