"""The story of one wait: what is known without a model, and what the modelled policy would do.

That is when it would have started the attempt, and what later arrivals cost it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from audit.metrics.attempts.fidelity import rank_correlation
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.model import Backfill, Order, Policy, Pool
from audit.oneoff.explain import facts
from audit.oneoff.explain.facts import Scene, counted
from audit.oneoff.explain.story import Cost, Starts, Story, Trust
from audit.scenario.decisions import Decisions, decisions
from audit.scenario.fair_start import fair_starts
from audit.scenario.forward import NO_USER, forward_starts
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.workload import NEVER, Ints

ALONE: Final = Policy(Order.fcfs, Backfill.none)
"""With an empty queue all policies decide alike."""
COSTLY: Final = 5
"""So many users are named whose later arrivals cost most."""
TRIED: Final = 40
"""Of the users who came later, those are tried whose arrivals asked for most."""
SAMPLE: Final = 500
"""So many attempts tell how the model's waits rank."""


def starts(found: Scene, decided: Decisions) -> Starts | None:
    """When the subject would have started; None where a scheduler never queues it."""
    work, place = found.work, found.place
    if place is None or not work.queued[place]:
        return None
    pool = found.subject.pool
    subject = np.array([place])
    fair = fair_starts(work, pool.policy, subject, fair_order=pool.fair_order)
    forward = forward_starts(work, pool.policy, subject, user=_users(found))
    start, without = int(forward.start[place]), int(forward.without_own[place])
    return Starts(
        alone=_known(_alone(found, subject)),
        strict=_known(int(fair.strict[place])),
        relaxed=_known(int(fair.relaxed[place])),
        modelled=_known(start),
        ready=_known(int(decided.ready[place])),
        own_s=start - without if NEVER not in (start, without) else None,
    )


def costs(found: Scene, modelled: int | None) -> tuple[Cost, ...]:
    """The users whose later arrivals cost the subject most, most first; at most ``COSTLY``.

    What one user's later arrivals cost is its forward start less what that would be without them
    (SPEC §5, *Attribution*). Tried are the ``TRIED`` users who asked for most of what came between
    its arrival and its forward start.

    Args:
        found: the subject, which is queued.
        modelled: its forward start, epoch s; None: none.
    """
    work, place = found.work, found.place
    if place is None or modelled is None:
        return ()
    users = _users(found)
    later = (np.arange(len(users)) > place) & (work.queued | work.blocked)
    later &= (work.arrival <= modelled) & (users != NO_USER) & (users != users[place])
    asked = np.bincount(users[later], (counted(work) * work.estimate)[later])
    came = np.bincount(users[later], minlength=len(asked))
    tried = [int(user) for user in np.argsort(-asked, kind="stable")[:TRIED] if came[user]]
    made = []
    for user in tried:
        only = np.where(users == user, user, NO_USER)
        only[place] = user
        without = forward_starts(work, found.subject.pool.policy, np.array([place]), user=only)
        start = int(without.without_own[place])
        if start != NEVER:
            name = found.described["user"][int(found.rows[int(np.argmax(users == user))])]
            made.append(Cost(name, int(came[user]), modelled - start))
    made.sort(key=lambda cost: (-cost.cost_s, cost.user or ""))
    return tuple(cost for cost in made[:COSTLY] if cost.cost_s > 0)


def trust(found: Scene, decided: Decisions, tolerance_s: int = TOLERANCE_S) -> Trust:
    """How far the policy explains the pool's waits: agreement, and how forward waits rank.

    Agreement is over all attempts that waited longer than ``tolerance_s``, s; the correlation over
    a sample of ``SAMPLE`` of all, evenly spaced by arrival.
    """
    work = found.work
    ended = work.queued & work.has_started & ~work.open & ~decided.over_capacity
    waited = ended & (work.start - work.arrival > tolerance_s)
    places = np.flatnonzero(waited)
    if not len(places):
        return Trust(None, None, 0)
    on_time = (decided.ready != NEVER) & (work.start - decided.ready <= tolerance_s)
    every = np.flatnonzero(ended)
    chosen = every[np.unique(np.linspace(0, len(every) - 1, SAMPLE).round().astype(np.int64))]
    forward = forward_starts(work, found.subject.pool.policy, chosen)
    chosen = chosen[forward.start[chosen] != NEVER]
    correlation = rank_correlation(
        (forward.start - work.arrival)[chosen], (work.start - work.arrival)[chosen]
    )
    return Trust(float(on_time[places].mean()), correlation, len(places))


def decided(found: Scene, tolerance_s: int = TOLERANCE_S) -> Decisions:
    """What the pool's policy says at each instant; see ``scenario.decisions``."""
    return decisions(found.work, found.subject.pool.policy, tolerance_s)


def _alone(found: Scene, subject: Ints) -> int:
    """When the subject starts with nobody before it in the queue."""
    work, place = found.work, int(subject[0])
    waiting = work.queued & ~(work.start < work.arrival[place])
    waiting[place] = False
    empty = work._replace(
        start=np.where(waiting, NEVER, work.start),
        end=np.where(waiting, NEVER, work.end),
        open=work.open & ~waiting,
    )
    return int(fair_starts(empty, ALONE, subject).strict[place])


def _users(found: Scene) -> Ints:
    """Numbers of the users, [n]; NO_USER where the log names none."""
    named = found.described.select(pl.col("user").rank("dense").cast(pl.Int64)).to_series()
    users: Ints = named.fill_null(NO_USER).gather(found.rows).to_numpy()
    return np.ascontiguousarray(users, np.int64)


def _known(instant: int) -> int | None:
    return None if instant == NEVER else instant


def story(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    zone: str,
    row: int,
    fairshare: Fairshare = EQUAL_SHARES,
) -> Story:
    """All that is known of the wait of the attempt in row ``row``; args as ``facts.scene``."""
    found = facts.scene(described, pool, now, zone, row, fairshare)
    unmodelled = facts.not_modelled(found)
    when, cost, trusted = None, tuple[Cost, ...](), None
    if not unmodelled:
        made = decided(found)
        when = starts(found, made)
        cost = costs(found, when.modelled if when else None)
        trusted = trust(found, made)
    passers, passed_by = facts.passers(found)
    parts, peer_wait_s = facts.without_model(found, now)
    return Story(
        subject=found.subject,
        running=facts.running(found),
        queued=facts.queued(found),
        parts=parts,
        peer_wait_s=peer_wait_s,
        passers=passers,
        passed_by=passed_by,
        starts=when,
        unmodelled=unmodelled,
        costs=cost,
        trust=trusted,
        uses=facts.uses(found),
    )
