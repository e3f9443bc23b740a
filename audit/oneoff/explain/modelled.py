"""When the modelled policy would have started an attempt, and what later arrivals cost it."""

from __future__ import annotations

import numpy as np

from audit.model import Backfill, Order, Policy
from audit.oneoff.explain.facts import Scene
from audit.oneoff.explain.story import Starts
from audit.simulation.fair_start import fair_starts
from audit.simulation.workload import NEVER

ALONE = Policy(Order.fcfs, Backfill.none)
"""With an empty queue all policies decide alike."""


def starts(found: Scene) -> Starts | None:
    """When the subject would have started; None where a scheduler never queues it."""
    work, place = found.work, found.place
    if place is None or not work.queued[place]:
        return None
    pool = found.subject.pool
    subject = np.array([place])
    fair = fair_starts(work, pool.policy, subject, fair_order=pool.fair_order)
    waiting = work.queued & ~(work.start < work.arrival[place])
    waiting[place] = False
    empty = work._replace(
        start=np.where(waiting, NEVER, work.start),
        end=np.where(waiting, NEVER, work.end),
        open=work.open & ~waiting,
    )
    alone = fair_starts(empty, ALONE, subject)
    return Starts(
        alone=_known(int(alone.strict[place])),
        strict=_known(int(fair.strict[place])),
        relaxed=_known(int(fair.relaxed[place])),
        modelled=None,
        ready=None,
        own_s=None,
    )


def _known(instant: int) -> int | None:
    return None if instant == NEVER else instant
