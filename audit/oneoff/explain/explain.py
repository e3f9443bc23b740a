"""``fairaudit explain``: why one job waited, from logs or from a published database.

A ``Story`` has the facts of the log, and the results of a model if it fits the log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit import config
from audit.cluster import charges, fairshare, ranking
from audit.cluster.fairshare import Fairshare
from audit.cluster.inference import Fact
from audit.config import Usage
from audit.errors import UsageError
from audit.ingest.ingest import Progress
from audit.metrics.attempts.fidelity import (
    ENOUGH_AGREEMENT,
    ENOUGH_CORRELATION,
    fits,
    rank_correlation,
)
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.attempts.reasons import reason_of
from audit.model import Backfill, Order, Policy, Pool, Standing
from audit.oneoff.explain import facts
from audit.oneoff.explain.facts import NOTHING_KNOWN, LogEvidence
from audit.oneoff.explain.story import Cost, Model, Starts, Story, Trust
from audit.pipeline.opening import Log, Request
from audit.pipeline.published import open_either
from audit.pipeline.shown import shown
from audit.progress import printable
from audit.report.text import wording
from audit.scenario.decisions import decisions
from audit.scenario.fair_start import fair_starts
from audit.scenario.forward import NO_USER, forward_starts
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.ownership import Fairshare as Ranked
from audit.scenario.releases.holds import NOT_HOLDING
from audit.scenario.workload import NEVER, Ints, Workload, workload_of_rows


class Subject(NamedTuple):
    """The wait to explain."""

    job: str
    attempt: int | None = None  # None: the only one, else the one that waited longest


def explain(
    request: Request,
    subject: Subject,
    database: Path,
    chosen: config.Config,
    progress: Progress = lambda what, done, of: None,
    inferred: Callable[[Fact], None] = lambda fact: None,
    folder: Path = Path(),
) -> Story:
    """Return the story of one wait.

    Args:
        request: logs, if any.
        database: a published one, where no logs are given.

    Raises:
        UsageError: there is no such job, or its arrival is unknown.
        AuditError: logs or the database cannot be read, see ``audit.errors``.
    """
    log = open_either(request, database, chosen, progress, inferred, folder, subject.job)
    found = _found(log.described, subject)
    pool = next(pool for pool in log.setting.pools if pool.name == found["pool"][0])
    holding = log.setting.holding.get(pool.name, NOT_HOLDING)
    if request.logs:  # a database has what its audit found
        begin = log.setting.log.from_time
        pool, _, _, holding = shown(log.described, pool, log.setting.now, begin)
    described, ranked = charged(log, pool, folder)
    described = described.filter(pl.col("pool") == pool.name)
    row = described.with_row_index("row").join(
        found.select("job_id", "attempt"), on=["job_id", "attempt"]
    )["row"]
    progress("explaining", 0, 1)
    zone, tolerance_s = log.setting.zone.key, chosen.metrics.tolerance_s
    of = (log.setting.now, zone, int(row[0]), ranked, tolerance_s)
    known = LogEvidence(log.setting.log_begin, holding)
    made = story(described, pool, *of, known)
    progress("explaining", 1, 1)
    return replace(made, part=log.setting.part)


def _found(described: pl.DataFrame, subject: Subject) -> pl.DataFrame:
    """Return the attempt as a frame of one row."""
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


def charged(log: Log, pool: Pool, folder: Path) -> tuple[pl.DataFrame, Ranked]:
    """Return the attempts, charged if the queue is ordered by usage, and the ranking of owners."""
    site = log.cluster
    shares = fairshare.read(site.usage, folder, site.name) if site else Fairshare(Usage())
    ranked = ranking.of(shares, log.setting, [pool.policy])
    if ranked is EQUAL_SHARES:
        return log.described, ranked
    return charges.charged(log.described, log.setting, shares), ranked


# --- the model -----------------------------------------------------------------------------------

ALONE: Final = Policy(Order.fcfs, Backfill.none)  # with an empty queue all policies decide alike
COSTLY: Final = 5  # largest number of listed users whose later arrivals delay the job
TRIED: Final = 40  # number of users who are tried: those whose later arrivals requested most
SAMPLE: Final = 500
"""Attempts from which the rank correlation of modelled and observed waits is computed."""

_STANDINGS: Final = {
    Standing.NEVER_STARTED: "the job left the queue without having started",
    Standing.PENDING: "the job had not started when the log was taken",
    Standing.RUNNING: "the job had not ended when the log was taken",
    Standing.START_UNKNOWN: "the log does not say when the job started",
}


class Modelled(NamedTuple):
    """A pool's attempts as a simulated scheduler sees them, and the subject's place in them."""

    work: Workload
    users: Ints  # [n]; NO_USER where the log names none
    names: pl.Series  # of the users, [n]
    policy: Policy
    place: int


def story(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    zone: str,
    row: int,
    fairshare: Ranked = EQUAL_SHARES,
    tolerance_s: int = TOLERANCE_S,
    known: LogEvidence = NOTHING_KNOWN,
) -> Story:
    """Return the story of the wait of the attempt in row ``row``, whose arrival is known.

    Args:
        described: columns of ``model.DESCRIBED``; all attempts of ``pool``.
        now: when the log was taken, epoch s.
        zone: of the cluster.
        fairshare: how users are ranked, if the policy ranks them.
        tolerance_s: of the model's starts, s.
        known: when the log begins, and whose jobs were held.
    """
    found = facts.scene(described, pool, now, zone, row)
    account = facts.booked(described, found, now, row, known)
    passers, passed_by = facts.passers(found)
    simulated = modelled(described, pool, now, row, fairshare)
    of: Model | str = (
        simulated
        if isinstance(simulated, str)
        else _model(simulated, pool, found.subject.wait_s, passed_by, tolerance_s)
    )
    return Story(
        subject=found.subject,
        running=facts.running(found),
        queued=facts.ahead(found),
        account=account,
        passers=passers,
        passed_by=passed_by,
        uses=facts.uses(found),
        crossing=facts.crossing(found.subject, now),
        model=of if isinstance(of, Model) else None,
        unmodelled=of if isinstance(of, str) else "",
        own_end=facts.own_end(found, account),
    )


def modelled(
    described: pl.DataFrame, pool: Pool, now: int, row: int, fairshare: Ranked = EQUAL_SHARES
) -> Modelled | str:
    """Return what the model simulates, or why the subject takes no part in it."""
    one = described.row(row, named=True)
    if one["standing"] in _STANDINGS:
        return _STANDINGS[Standing(one["standing"])]
    work, rows = workload_of_rows(described, pool, now, fairshare)
    places = np.flatnonzero(rows == row)
    if not len(places):
        return "the job ran in an advance reservation"
    place = int(places[0])
    if work.blocked[place]:
        return f"{reason_of(one['reason']).clause} ({wording.name(one['reason'])})"
    if not work.queued[place]:
        return "the job requested more than the pool, or a limit of it, ever allows"
    named = described.select(pl.col("user").rank("dense").cast(pl.Int64)).to_series()
    users = np.ascontiguousarray(named.fill_null(NO_USER).gather(rows).to_numpy(), np.int64)
    return Modelled(work, users, described["user"].gather(rows), pool.policy, place)


def _model(of: Modelled, pool: Pool, wait_s: int, passed_by: int, tolerance_s: int) -> Model | str:
    """Return the results of the model, or why they are left out."""
    trusted = trust(of, tolerance_s)
    if not fits(trusted.agreement, trusted.correlation):
        return _misfit(trusted)
    made = starts(of, pool)
    if why := contradicted(made, wait_s, passed_by):
        return why
    return Model(made, costs(of, made.modelled), trusted)


def _misfit(of: Trust) -> str:
    if of.agreement is None:
        return "no job waited long enough to tell whether it fits"
    rank = "unknown" if of.correlation is None else wording.number(of.correlation, 2)
    return (
        f"it does not fit this log: it starts {wording.percent(of.agreement)} of the jobs that "
        f"waited when the site did ({wording.percent(ENOUGH_AGREEMENT)} required), and the rank "
        f"correlation of modelled and observed waits is {rank} ({ENOUGH_CORRELATION} required)"
    )


def contradicted(of: Starts, wait_s: int, passed_by: int) -> str:
    """Return how the log contradicts the modelled delay by later arrivals; "" if it does not."""
    if of.fair is None or of.modelled is None:
        return "it does not fit this job, which would never have started"
    delay_s = of.modelled - of.fair
    if delay_s > wait_s:
        return (
            f"it does not fit this job: the delay by later arrivals would be "
            f"{wording.duration(delay_s)}, longer than the wait"
        )
    if delay_s > 0 and not passed_by:
        return (
            "it does not fit this job: the delay would come from later arrivals, none of which "
            "started before it"
        )
    return ""


def starts(of: Modelled, pool: Pool) -> Starts:
    """Return when the subject would have started."""
    subject = np.array([of.place])
    fair = fair_starts(of.work, of.policy, subject, fair_order=pool.fair_order)
    forward = forward_starts(of.work, of.policy, subject, user=of.users)
    start, without = int(forward.start[of.place]), int(forward.without_own[of.place])
    return Starts(
        alone=_known(_alone(of, subject)),
        fair=_known(int(fair.strict[of.place])),
        modelled=_known(start),
        own_s=start - without if NEVER not in (start, without) else None,
    )


def costs(of: Modelled, start: int | None) -> tuple[Cost, ...]:
    """Return the users whose later arrivals delay the subject most, most first.

    The delay by one user's later arrivals is the modelled ``start`` (epoch s) less that without
    them (SPEC §5, *Attribution*). ``TRIED`` users are tried: those who requested most between its
    arrival and its modelled start.
    """
    work, place, users = of.work, of.place, of.users
    if start is None:
        return ()
    later = (np.arange(len(users)) > place) & (work.queued | work.blocked)
    later &= (work.arrival <= start) & (users != NO_USER) & (users != users[place])
    request = work.request.reshape(-1, len(work.capacity))[:, 0]
    requested = np.bincount(users[later], (request * work.estimate)[later])
    came = np.bincount(users[later], minlength=len(requested))
    made = []
    for user in np.argsort(-requested, kind="stable")[:TRIED].tolist():
        if not came[user]:
            continue
        only = np.where(users == user, user, NO_USER)
        only[place] = user
        forward = forward_starts(work, of.policy, np.array([place]), user=only)
        without = int(forward.without_own[place])
        if without < start:
            name = of.names[int(np.argmax(users == user))]
            made.append(Cost(name, int(came[user]), start - without))
    made.sort(key=lambda cost: (-cost.cost_s, cost.user or ""))
    return tuple(made[:COSTLY])


def trust(of: Modelled, tolerance_s: int = TOLERANCE_S) -> Trust:
    """Return how well the policy explains the pool's waits.

    The agreement is over all attempts that waited longer than ``tolerance_s``, s; the correlation
    over a sample of ``SAMPLE`` of all, evenly spaced by arrival.
    """
    work = of.work
    decided = decisions(work, of.policy, tolerance_s)
    ended = work.queued & work.has_started & ~work.open & ~decided.over_capacity
    waited = ended & (work.start - work.arrival > tolerance_s)
    if not waited.any():
        return Trust(None, None)
    on_time = (decided.ready != NEVER) & (work.start - decided.ready <= tolerance_s)
    every = np.flatnonzero(ended)
    chosen = every[np.unique(np.linspace(0, len(every) - 1, SAMPLE).round().astype(np.int64))]
    forward = forward_starts(work, of.policy, chosen)
    chosen = chosen[forward.start[chosen] != NEVER]
    correlation = rank_correlation(
        (forward.start - work.arrival)[chosen], (work.start - work.arrival)[chosen]
    )
    return Trust(float(on_time[waited].mean()), correlation)


def _alone(of: Modelled, subject: Ints) -> int:
    """Return when the subject starts if it is alone in the queue."""
    work, place = of.work, of.place
    waiting = work.queued & ~(work.start < work.arrival[place])
    waiting[place] = False
    empty = work._replace(
        start=np.where(waiting, NEVER, work.start),
        end=np.where(waiting, NEVER, work.end),
        open=work.open & ~waiting,
    )
    return int(fair_starts(empty, ALONE, subject).strict[place])


def _known(instant: int) -> int | None:
    return None if instant == NEVER else instant
