"""``fairaudit explain``: why one job waited, from logs or from a published database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from audit import config
from audit.cluster import charges, fairshare, ranking
from audit.cluster.fairshare import Fairshare
from audit.cluster.inference import Fact
from audit.config import Usage, places
from audit.errors import UsageError
from audit.ingest.ingest import Progress
from audit.model import Pool
from audit.oneoff.explain import modelled
from audit.oneoff.explain.story import Story
from audit.pipeline.opening import Asked, Log, open_log
from audit.pipeline.published import open_published
from audit.progress import printable
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.ownership import Fairshare as Ranked


@dataclass(frozen=True, kw_only=True)
class Request(Asked):
    """Which job is to be explained, and where it is looked for."""

    job: str
    attempt: int | None = None
    """None: the only one, else the one that waited longest."""
    database: Path
    """A published one, where no logs are given."""


def explain(
    request: Request,
    chosen: config.Config,
    progress: Progress = lambda what, done, of: None,
    inferred: Callable[[Fact], None] = lambda fact: None,
    folder: Path = Path(),
) -> Story:
    """Everything that is known of one wait.

    Args:
        request: the job, and where it is.
        chosen: the configuration in force.
        progress: told how far it is.
        inferred: told what was inferred of logs.
        folder: that of the configuration, which files that it names are relative to.

    Raises:
        UsageError: there is no such job, or nobody knows when it arrived.
        AuditError: logs or the database cannot be read, see ``audit.errors``.
    """
    if request.logs:
        log = open_log(request, chosen, progress)
        for fact in log.setting.facts:
            inferred(fact)
    else:
        progress("reading", 0, 1)
        of = request.database
        kept = places.archive(chosen, folder, of)
        log = open_published(of, chosen, request.cluster, request.job, kept)
    found = _found(log.described, request)
    pool = next(pool for pool in log.setting.pools if pool.name == found["pool"][0])
    described, ranked = _ranked(log, pool, folder)
    described = described.filter(pl.col("pool") == pool.name)
    row = described.with_row_index("row").join(
        found.select("job_id", "attempt"), on=["job_id", "attempt"]
    )["row"]
    progress("explaining", 0, 1)
    zone = log.setting.zone.key
    told = modelled.story(described, pool, log.setting.now, zone, int(row[0]), ranked)
    progress("explaining", 1, 1)
    return told


def _found(described: pl.DataFrame, request: Request) -> pl.DataFrame:
    """The attempt that is meant, as a frame of one row."""
    of_job = described.filter(pl.col("job_id") == request.job)
    shown = printable(request.job)
    if of_job.is_empty():
        raise UsageError(f"explain: there is no job {shown!r} among {described.height:,} attempts")
    attempts = of_job["attempt"].to_list()
    if request.attempt is not None:
        of_job = of_job.filter(pl.col("attempt") == request.attempt)
        if of_job.is_empty():
            known = ", ".join(map(str, attempts))
            raise UsageError(f"explain: job {shown!r} has no attempt {request.attempt}: {known}")
    arrived = of_job.filter(pl.col("arrival_time").is_not_null())
    if arrived.is_empty():
        raise UsageError(f"explain: the log does not say when job {shown!r} arrived")
    return arrived.sort("wait_s", descending=True, nulls_last=True, maintain_order=True).head(1)


def _ranked(log: Log, pool: Pool, folder: Path) -> tuple[pl.DataFrame, Ranked]:
    """Attempts, charged where the order of the queue goes by that, and how owners are ranked."""
    site = log.cluster
    shares = fairshare.read(site.usage, folder, site.name) if site else Fairshare(Usage())
    ranked = ranking.of(shares, log.setting, [pool.policy])
    if ranked is EQUAL_SHARES:
        return log.described, ranked
    return charges.charged(log.described, log.setting, shares), ranked
