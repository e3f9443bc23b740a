"""The jobs that ``fairaudit sshare`` charges, from the output of sacct or the database."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from audit import config
from audit.cluster.setting import latest_instant
from audit.config import places
from audit.errors import UsageError
from audit.formats.sacct import text as sacct
from audit.formats.slurm.fields import tres_columns
from audit.ingest.attempts import attempts_of
from audit.ingest.ingest import Progress, called_by
from audit.ingest.logs import Opened, open_logs, parsed_blocks
from audit.ingest.quarantine import EXAMPLES, Counted, check_refused
from audit.metrics.slurm.shares import Places
from audit.metrics.slurm.usage import Charged, stored, uncounted
from audit.oneoff.sshare.site import Request, Site
from audit.progress import printable
from audit.store import database, queries

_ALLOCATED: Final = "AllocTRES"


@dataclass(frozen=True)
class Jobs:
    """Attempts of one cluster."""

    attempts: pl.DataFrame
    """Columns of ``model.ATTEMPTS``, or those of records."""
    amounts: Mapping[str, pl.Series]
    """Allocated amounts, by Slurm's name of the resource."""
    zone: str
    warnings: tuple[str, ...] = ()

    @property
    def known_to(self) -> int:
        """The latest time of any attempt, epoch s."""
        return latest_instant(self.attempts) or 0

    @property
    def run_on(self) -> bool:
        """Whether an attempt is still running at ``known_to``."""
        open_ones = pl.col("start_time").is_not_null() & pl.col("end_time").is_null()
        return not self.attempts.filter(open_ones).is_empty()


def read_jobs(
    request: Request, chosen: config.Config, folder: Path, site: Site, progress: Progress
) -> Jobs:
    """Return the jobs in the files of the request, else in the published database.

    Raises:
        UsageError: no job has started, or the cluster is unknown.
        AuditError: a log or the database cannot be read, see ``audit.errors``.
    """
    jobs = (
        _from_files(request, chosen, site, progress)
        if request.sacct
        else _from_database(chosen, folder, site)
    )
    if not jobs.attempts["start_time"].count():
        raise UsageError("sshare: no job has started, so there is no usage")
    return jobs


def _from_files(request: Request, chosen: config.Config, site: Site, progress: Progress) -> Jobs:
    zone = request.zone or (site.cluster.zone if site.cluster else None)
    logs = open_logs(request.sacct, sacct.DIALECT.name, replace(request.reading, zone=zone))
    frames, refused, warnings = [], [], []
    for done, log in enumerate(logs):
        progress("reading sacct", done, len(logs))
        records, refusals = _with_allocated(log)
        count = len(records) + len(refusals)
        first = tuple((log.name, line, reason) for line, reason in refusals[:EXAMPLES])
        counted = Counted(log.where, log.dialect.title, count, len(refusals), first)
        check_refused(counted, chosen.ingest.refused_limit)
        frames.append(records.with_columns(input_id=pl.lit(log.source.sha256)))
        refused += [f"{log.where}:{line}: {reason}" for line, reason in refusals]
        warnings += [f"{log.where}: {problem}" for problem in log.header.problems]
        if log.header.local_times:
            warnings.append(f"{log.where}: times are read as UTC; --zone sets another zone")
    progress("reading sacct", len(logs), len(logs))
    if refused:
        warnings.append(f"{len(refused):,} records were refused, the first: {refused[0]}")
    records = pl.concat(frames)
    names = records["cluster"].drop_nulls().unique().sort().to_list()
    called = called_by(request.cluster or site.conf.cluster, names, "--cluster")
    if called is not None:
        records = records.filter((pl.col("cluster") == called).fill_null(value=True))
    attempts = attempts_of(records.with_columns(cluster=pl.lit(called or "")))
    allocated = attempts[_ALLOCATED]
    if allocated.null_count() == len(allocated):
        warnings.append(
            f"the log has no column {_ALLOCATED}: only CPUs, nodes, GPUs and memory are known"
        )
        amounts = stored(attempts)
    else:
        common = {"cpu", "mem", "node", "billing", "gres/gpu", *site.conf.tres}
        needed = common.union(site.everywhere, *site.weights.values())
        amounts = tres_columns(allocated, sorted(needed))
    return Jobs(attempts, amounts, zone or "UTC", tuple(warnings))


def _with_allocated(log: Opened) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Return records with their AllocTRES, and line and reason of the refused ones."""
    reader = replace(log.dialect, parse=partial(sacct.parse, also=(_ALLOCATED,)))
    parts = [part for _, part in parsed_blocks(log._replace(dialect=reader))]
    refusals = [row for part in parts for row in part.refusals.select("line", "reason").rows()]
    return pl.concat(part.records for part in parts), refusals


def _from_database(chosen: config.Config, folder: Path, site: Site) -> Jobs:
    assert site.cluster is not None  # checked in read_site
    path = folder / chosen.output.database
    archive = places.Site(chosen, folder).archive_of(path)
    with closing(database.open_snapshot(path, archive=archive)) as con:
        attempts = queries.run(con, "attempts", cluster=site.cluster.name, since=None, until=None)
    if attempts.is_empty():
        raise UsageError(
            f"{path}: has no job of cluster {site.cluster.name!r}; 'fairaudit run' reads its logs"
        )
    return Jobs(attempts, stored(attempts), site.cluster.zone)


def assumed(site: Site, jobs: Jobs, charged: Charged, places: Places) -> list[str]:
    """Return the assumptions about jobs as sentences."""
    lines = []
    if unknown := uncounted(site.weights, jobs.amounts):
        listed = ", ".join(unknown)
        lines.append(f"not counted, since the database lacks them: {listed} (--sacct reads them)")
    for text, counts in (
        (
            "billed their CPUs, since the partition is unknown",
            site.weights and charged.unknown_partitions,
        ),
        ("usage factor 1, since the QOS is unknown", site.factors and charged.unknown_qos),
        ("charged to the account only, since the user has no association", places.strange_users),
        ("charged to root only, since the account is unknown", places.strange_accounts),
    ):
        if counts:
            shown = [f"{printable(name)} ({n:,})" for name, n in list(counts.items())[:EXAMPLES]]
            more = f" and {len(counts) - EXAMPLES} more" if len(counts) > EXAMPLES else ""
            lines.append(f"{text}: {sum(counts.values()):,} jobs, of {', '.join(shown)}{more}")
    if places.nameless:
        lines.append(f"not charged, since the account is missing: {places.nameless:,} jobs")
    return lines
