"""``fairaudit explain``: why one job waited, from logs or from a published database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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
from audit.pipeline.opening import Log, Request, open_log
from audit.pipeline.published import open_published
from audit.progress import printable
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.ownership import Fairshare as Ranked


class Subject(NamedTuple):
    """Which wait is to be explained."""

    job: str
    attempt: int | None = None
    """None: the only one, else the one that waited longest."""


def explain(
    request: Request,
    subject: Subject,
    database: Path,
    chosen: config.Config,
    progress: Progress = lambda what, done, of: None,
    inferred: Callable[[Fact], None] = lambda fact: None,
    folder: Path = Path(),
) -> Story:
    """Return all that is known of one wait.

    Args:
        request: logs, if any.
        subject: the job.
        database: a published one, where no logs are given.

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
        kept = places.Site(chosen, folder).archive_of(database)
        log = open_published(database, chosen, request.cluster, subject.job, kept)
    found = _found(log.described, subject)
    pool = next(pool for pool in log.setting.pools if pool.name == found["pool"][0])
    described, ranked = _ranked(log, pool, folder)
    described = described.filter(pl.col("pool") == pool.name)
    row = described.with_row_index("row").join(
        found.select("job_id", "attempt"), on=["job_id", "attempt"]
    )["row"]
    progress("explaining", 0, 1)
    zone, tolerance_s = log.setting.zone.key, chosen.metrics.tolerance_s
    made = modelled.story(described, pool, log.setting.now, zone, int(row[0]), ranked, tolerance_s)
    progress("explaining", 1, 1)
    return made


def _found(described: pl.DataFrame, subject: Subject) -> pl.DataFrame:
    """The attempt that is meant, as a frame of one row."""
    of_job = described.filter(pl.col("job_id") == subject.job)
    shown = printable(subject.job)
    if of_job.is_empty():
        raise UsageError(f"explain: there is no job {shown!r} among {described.height:,} attempts")
    attempts = of_job["attempt"].to_list()
    if subject.attempt is not None:
        of_job = of_job.filter(pl.col("attempt") == subject.attempt)
        if of_job.is_empty():
            known = ", ".join(map(str, attempts))
            raise UsageError(f"explain: job {shown!r} has no attempt {subject.attempt}: {known}")
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
