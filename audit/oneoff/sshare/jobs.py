"""Jobs of a cluster as ``fairaudit sshare`` charges them: what sacct printed, or the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from audit.ingest.ingest import Progress
from audit.ingest.logs import Opened, open_logs, parsed_blocks
from audit.ingest.naming import called_by
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
    """Columns of ``model.ATTEMPTS``, or of records, which have those that matter here."""
    amounts: Mapping[str, pl.Series]
    """What each was allocated, by Slurm's name of the resource."""
    known_to: int
    """The last instant of which they tell, epoch s."""
    zone: str
    warnings: tuple[str, ...] = ()

    @property
    def run_on(self) -> bool:
        """Whether any has started and not ended, as far as is known."""
        open_ones = pl.col("start_time").is_not_null() & pl.col("end_time").is_null()
        return not self.attempts.filter(open_ones).is_empty()


def read_jobs(
    request: Request, chosen: config.Config, folder: Path, site: Site, progress: Progress
) -> Jobs:
    """Jobs of the files of the request, else of the database that the configuration publishes.

    Raises:
        UsageError: none has started, or nothing says which cluster's are meant.
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
        name, title = log.name, log.dialect.title
        first = tuple((name, line, reason) for line, reason in refusals[:EXAMPLES])
        counted = Counted(log.where, title, count, len(refusals), first)
        check_refused(counted, chosen.ingest.refused_limit)
        frames.append(records.with_columns(input_id=pl.lit(log.source.sha256)))
        refused += [f"{log.where}:{line}: {reason}" for line, reason in refusals]
        warnings += [f"{log.where}: {problem}" for problem in log.header.problems]
        if log.header.local_times:
            warnings.append(f"{log.where}: times are read as UTC; --zone says otherwise")
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
        amounts = tres_columns(allocated, _wanted(site))
    known_to = latest_instant(attempts)
    return Jobs(attempts, amounts, known_to or 0, zone or "UTC", tuple(warnings))


def _with_allocated(log: Opened) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Records with what each was allocated, as sacct wrote it; line and reason of refused ones."""
    reader = replace(log.dialect, parse=partial(sacct.parse, also=(_ALLOCATED,)))
    parts = [part for _, part in parsed_blocks(log._replace(dialect=reader))]
    refusals = [row for part in parts for row in part.refusals.select("line", "reason").rows()]
    return pl.concat(part.records for part in parts), refusals


def _wanted(site: Site) -> list[str]:
    """Resources that something is said of."""
    wanted = {"cpu", "mem", "node", "billing", "gres/gpu", *site.conf.tres}
    return sorted(wanted.union(site.everywhere, *site.weights.values()))


def _from_database(chosen: config.Config, folder: Path, site: Site) -> Jobs:
    assert site.cluster is not None  # seen to when the site was read
    path = folder / chosen.output.database
    con = database.open_snapshot(path, archive=places.archive(chosen, folder, path))
    try:
        attempts = queries.run(con, "attempts", cluster=site.cluster.name, since=None, until=None)
    finally:
        con.close()
    if attempts.is_empty():
        raise UsageError(
            f"{folder / chosen.output.database}: holds no job of cluster {site.cluster.name!r}; "
            "'fairaudit run' reads its logs"
        )
    known_to = latest_instant(attempts)
    return Jobs(attempts, stored(attempts), known_to or 0, site.cluster.zone)


def assumed(site: Site, jobs: Jobs, charged: Charged, places: Places) -> list[str]:
    """What had to be assumed of jobs, in words."""
    lines = []
    if unknown := uncounted(site.weights, jobs.amounts):
        lines.append(
            f"not counted, since the database does not know them: {', '.join(unknown)} "
            "(--sacct reads them)"
        )
    if charged.unknown_partitions and site.weights:
        partitions = _many(charged.unknown_partitions)
        lines.append(f"billed their CPUs, of unknown partitions: {partitions}")
    if charged.unknown_qos and site.factors:
        lines.append(f"usage factor 1, of unknown QOS: {_many(charged.unknown_qos)}")
    if places.strange_users:
        lines.append(
            "charged to the account alone, of users who have no association there: "
            + _many(places.strange_users)
        )
    if places.strange_accounts:
        accounts = _many(places.strange_accounts)
        lines.append(f"charged to root alone, of unknown accounts: {accounts}")
    if places.nameless:
        lines.append(f"charged to nobody, since no account is known: {places.nameless:,} jobs")
    return lines


def _many(counts: Mapping[str, int]) -> str:
    shown: Sequence[str] = [
        f"{printable(name)} ({count:,})" for name, count in list(counts.items())[:EXAMPLES]
    ]
    more = f" and {len(counts) - EXAMPLES} more" if len(counts) > EXAMPLES else ""
    return f"{sum(counts.values()):,} jobs, of {', '.join(shown)}{more}"
