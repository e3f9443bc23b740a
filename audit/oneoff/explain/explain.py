"""``fairaudit explain``: why one job waited, from logs or from a published database.

A ``Story`` has the facts of the log, and the delay by later arrivals (SPEC §10).
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from audit.cluster import charges, fairshare, ranking
from audit.cluster.delivered import agreed, held_until
from audit.errors import UsageError
from audit.metrics.attempts.reasons import reason_of
from audit.model import FstStatus, Pool, Standing
from audit.oneoff.explain import facts
from audit.oneoff.explain.facts import NOTHING_KNOWN, LogEvidence
from audit.oneoff.explain.story import Cost, Delay, Story
from audit.pipeline.opening import ClusterLog, Session
from audit.pipeline.published import open_either
from audit.progress import printable
from audit.report import wording
from audit.scenario.delivered.fair_starts import delivered_starts, starts_without
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.ownership import Fairshare as Ranked
from audit.scenario.releases.holds import Holding, inferred_holds
from audit.scenario.scenario import Scenario


def explain(session: Session, job: str, attempt: int | None = None) -> Story:
    """Return the story of one wait.

    Args:
        attempt: None: the only one of the job, else the one that waited longest.

    Raises:
        UsageError: there is no such job, or its arrival is unknown.
        AuditError: logs or the database cannot be read, see ``audit.errors``.
    """
    log = open_either(session, job)
    found = _found(log.described, job, attempt)
    pool = next(pool for pool in log.setting.pools if pool.name == found["pool"][0])
    shown = log.setting.shown_of(pool.name)
    described, ranked = charged(log, pool, session.folder, candidates=True)
    described = described.filter(pl.col("pool") == pool.name)
    row = described.with_row_index("row").join(
        found.select("job_id", "attempt"), on=["job_id", "attempt"]
    )["row"]
    session.on_progress("explaining", 0, 1)
    of = (log.setting.now, log.setting.zone.key, int(row[0]), ranked)
    known = LogEvidence(log.setting.log_begin, shown.holding, shown.passes)
    made = story(described, pool, *of, known)
    session.on_progress("explaining", 1, 1)
    return replace(made, part=log.setting.part)


_NAMED: Final = 3
"""Largest number of similar ids in a message."""


def _found(described: pl.DataFrame, job: str, attempt: int | None) -> pl.DataFrame:
    of_job = described.filter(pl.col("job_id") == job)
    shown = printable(job)
    if of_job.is_empty():
        raise unknown_job(described, job, "explain")
    attempts = of_job["attempt"].to_list()
    if attempt is not None:
        of_job = of_job.filter(pl.col("attempt") == attempt)
        if of_job.is_empty():
            known = ", ".join(map(str, attempts))
            raise UsageError(f"explain: job {shown!r} has no attempt {attempt}: {known}")
    arrived = of_job.filter(pl.col("arrival_time").is_not_null())
    if arrived.is_empty():
        raise UsageError(f"explain: the log does not say when job {shown!r} arrived")
    return arrived.sort("wait_s", descending=True, nulls_last=True, maintain_order=True).head(1)


def unknown_job(described: pl.DataFrame, job: str, command: str) -> UsageError:
    """Return the error about an id that the log does not have, and the ids that begin with it.

    In ids of HTCondor, the name of the schedd may come first: ``schedd#7.0``.
    """
    error = f"{command}: there is no job {printable(job)!r} among {described.height:,} attempts"
    ids = described["job_id"]
    own = ids.str.split("#").list.last()
    begin = ids.filter(own.str.starts_with(job) & own.str.slice(len(job), 1).is_in(["", *"_+.["]))
    known = begin.unique(maintain_order=True)
    if not job or known.is_empty():
        return UsageError(error)
    more = ", …" if len(known) > _NAMED else ""
    listed = ", ".join(repr(printable(one)) for one in known.head(_NAMED))
    return UsageError(f"{error}; there is {listed}{more}")


def charged(
    log: ClusterLog, pool: Pool, folder: Path, *, candidates: bool = False
) -> tuple[pl.DataFrame, Ranked]:
    """Return the attempts, charged if the queue is ordered by usage, and the ranking of owners.

    Args:
        candidates: whether orders by usage are also compared with the log.
    """
    site = log.cluster
    shares = fairshare.of_site(site, folder)
    ranked = ranking.of(shares, log.setting, [pool.policy])
    if candidates:
        ranked = ranking.of_candidates(shares, log.setting, ranked)
    if ranked == EQUAL_SHARES:
        return log.described, ranked
    return charges.charged(log.described, log.setting, shares), ranked


# --- the delay by later arrivals -----------------------------------------------------------------

COSTLY: Final = 5  # largest number of listed users whose later arrivals delay the job

_STANDINGS: Final = {
    Standing.NEVER_STARTED: "the job left the queue without having started",
    Standing.PENDING: "the job had not started when the log was taken",
    Standing.RUNNING: "the job had not ended when the log was taken",
    Standing.START_UNKNOWN: "the log does not say when the job started",
}


def story(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    zone: str,
    row: int,
    fairshare: Ranked = EQUAL_SHARES,
    known: LogEvidence = NOTHING_KNOWN,
) -> Story:
    """Return the story of the wait of the attempt in row ``row``, whose arrival is known.

    Args:
        described: columns of ``model.DESCRIBED``; all attempts of ``pool``.
        now: when the log was taken, epoch s.
        zone: of the cluster.
        fairshare: how users are ranked, by rules that rank them.
        known: when the log begins, and whose jobs were held.
    """
    found = facts.scene(described, pool, now, zone, row)
    account = facts.booked(described, found, now, row, known)
    passers, passed_by = facts.passers(found)
    of = _delay(Scenario(described, pool, now, fairshare), row, known.holding)
    return Story(
        subject=found.subject,
        running=facts.running(found),
        queued=facts.ahead(found),
        account=account,
        passers=passers,
        passed_by=passed_by,
        uses=facts.uses(found),
        crossing=facts.crossing(found.subject, now),
        delay=of if isinstance(of, Delay) else None,
        undelayed=of if isinstance(of, str) else "",
        own_end=facts.own_end(found, account),
    )


def _delay(log: Scenario, row: int, holding: Holding) -> Delay | str:
    """Return the delay of an attempt by later arrivals, or why it is not known."""
    one = log.attempts.row(row, named=True)
    if one["standing"] in _STANDINGS:
        return _STANDINGS[Standing(one["standing"])]
    holds = inferred_holds(log.attempts, log.pool, log.now, holding)
    until = held_until(log.attempts, log.pool, holds)
    found = agreed(log, until)
    chosen = np.arange(log.attempts.height) == row
    made = delivered_starts(log, found.known, held_until=until, chosen=chosen)
    mine = made.row(row, named=True)
    if mine["fst_delivered_status"] == FstStatus.RESERVED:
        return "the job ran in an advance reservation"
    if mine["fst_delivered_status"] == FstStatus.BLOCKED:
        return f"{reason_of(one['reason']).clause} ({wording.name(one['reason'])})"
    if mine["fst_delivered"] is None:
        return "the log does not give its request"
    costs = starts_without(log, found.known, row, held_until=until)
    delaying = costs.filter(pl.col("delay_s") > 0).head(COSTLY)
    return Delay(
        *(mine["fst_delivered"], mine["miss_delivered_s"], mine["miss_cautious_s"]),
        tuple(Cost(user, delay_s) for user, _, delay_s in delaying.iter_rows()),
        found.known.rule.name,
        found.known.agreement,
    )
