"""The story of one wait: what the log tells, and what a model says that fits the log."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts.account import cycle_of
from audit.metrics.attempts.fidelity import (
    ENOUGH_AGREEMENT,
    ENOUGH_CORRELATION,
    fits,
    rank_correlation,
)
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.model import Backfill, Order, Policy, Pool, Standing
from audit.oneoff.explain import facts
from audit.oneoff.explain.story import Cost, Model, Starts, Story, Subject, Trust
from audit.report.text import wording
from audit.scenario.decisions import decisions
from audit.scenario.fair_start import fair_starts
from audit.scenario.forward import NO_USER, forward_starts
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.workload import NEVER, Ints, Workload, workload_of_rows

ALONE: Final = Policy(Order.fcfs, Backfill.none)
"""With an empty queue all policies decide alike."""
COSTLY: Final = 5
"""Most users whose later arrivals are listed."""
TRIED: Final = 40
"""Of the users who came later, those are tried whose arrivals requested most."""
SAMPLE: Final = 500
"""Attempts from which the rank correlation of modelled and observed waits is computed."""

_STANDINGS: Final = {
    Standing.NEVER_STARTED: "the job left the queue without having started",
    Standing.PENDING: "the job had not started when the log was taken",
    Standing.RUNNING: "the job had not ended when the log was taken",
    Standing.START_UNKNOWN: "the log does not say when the job started",
}


class Modelled(NamedTuple):
    """A pool's attempts as a simulated scheduler sees them, and the subject's place there."""

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
    fairshare: Fairshare = EQUAL_SHARES,
    tolerance_s: int = TOLERANCE_S,
) -> Story:
    """Return all that is known of the wait of the attempt in row ``row``, whose arrival is known.

    Args:
        described: columns of ``model.DESCRIBED``; all attempts of one pool.
        pool: that one.
        now: when the log was taken, epoch s.
        zone: of the cluster.
        row: the attempt.
        fairshare: how users are ranked, where the policy asks for it.
        tolerance_s: of the model's starts, s.
    """
    found = facts.scene(described, pool, now, zone, row)
    passers, passed_by = facts.passers(found)
    of = _model(described, pool, now, row, found.subject, passed_by, fairshare, tolerance_s)
    return Story(
        subject=found.subject,
        running=facts.running(found),
        queued=facts.ahead(found),
        account=facts.booked(described, found, now, row, cycle_of(pool, tolerance_s)),
        passers=passers,
        passed_by=passed_by,
        uses=facts.uses(found),
        crossing=facts.crossing(found.subject, now),
        model=of if isinstance(of, Model) else None,
        unmodelled=of if isinstance(of, str) else "",
    )


def modelled(
    described: pl.DataFrame, pool: Pool, now: int, row: int, fairshare: Fairshare = EQUAL_SHARES
) -> Modelled | str:
    """Return what the model simulates; or why the subject has no part in it."""
    one = described.row(row, named=True)
    if one["standing"] in _STANDINGS:
        return _STANDINGS[Standing(one["standing"])]
    work, rows = workload_of_rows(described, pool, now, fairshare)
    places = np.flatnonzero(rows == row)
    if not len(places):
        return "the job ran in an advance reservation"
    place = int(places[0])
    if work.blocked[place]:
        return f"the job waited for something other than its turn ({wording.name(one['reason'])})"
    if not work.queued[place]:
        return "the job requested more than the pool, or a limit of it, ever allows"
    named = described.select(pl.col("user").rank("dense").cast(pl.Int64)).to_series()
    users = np.ascontiguousarray(named.fill_null(NO_USER).gather(rows).to_numpy(), np.int64)
    return Modelled(work, users, described["user"].gather(rows), pool.policy, place)


def _model(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    row: int,
    subject: Subject,
    passed_by: int,
    fairshare: Fairshare,
    tolerance_s: int,
) -> Model | str:
    """Return what the model says, or why it is left out."""
    of = modelled(described, pool, now, row, fairshare)
    if isinstance(of, str):
        return of
    trusted = trust(of, tolerance_s)
    if not fits(trusted.agreement, trusted.correlation):
        return _misfit(trusted)
    made = starts(of, pool)
    if why := contradicted(made, subject.wait_s, passed_by):
        return why
    return Model(made, costs(of, made.modelled), trusted)


def _misfit(of: Trust) -> str:
    if of.agreement is None:
        return "no job waited long enough to tell whether it fits"
    rank = "unknown" if of.correlation is None else wording.number(of.correlation, 2)
    return (
        f"it does not fit this log: it starts {wording.percent(of.agreement)} of the jobs that "
        f"waited when the site did ({wording.percent(ENOUGH_AGREEMENT)} needed), and the rank "
        f"correlation of its waits with those observed is {rank} ({ENOUGH_CORRELATION} needed)"
    )


def contradicted(of: Starts, wait_s: int, passed_by: int) -> str:
    """Return how the log contradicts the modelled delay by later arrivals; empty: it does not."""
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

    The delay by one user's later arrivals is the modelled start less what it would be without them
    (SPEC §5, *Attribution*). Those ``TRIED`` users are tried who requested most between its arrival
    and its modelled start.

    Args:
        of: the model.
        start: the modelled start, epoch s; None: none.
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
    """Return when the subject starts with nobody ahead of it in the queue."""
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
