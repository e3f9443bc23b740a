"""Priorities of owners as of the observed schedule, at ticks (SPEC §4, *Queue order*; §10)."""

from typing import Final

import numpy as np

from audit.array_types import Floats, Ints
from audit.kernels.delivered.model import TickedPriorities
from audit.kernels.scheduling import model, queue
from audit.model import Order
from audit.scenario import engine, multifactor
from audit.scenario.delivered.observed import ObservedTurns
from audit.scenario.ownership import Ranking
from audit.scenario.scenario import Scenario

_NONE: Final[Ints] = np.zeros(0, np.int64)
NO_PRIORITIES: Final = TickedPriorities(
    _NONE, np.zeros(0), _NONE, _NONE, np.zeros((0, 0)), weight=0.0, longest=1.0, phase=0, period=1
)
MOST_LEVELS: Final = 20_000_000
"""Numbers kept of all ticks and owners; beyond it, evenly spaced ticks are."""
_AT_ONCE: Final = 512


def observed_priorities(
    scenario: Scenario, turns: ObservedTurns, order: Order, at: Ints | None = None
) -> TickedPriorities:
    """Return the priorities of attempts under an order of ``model.BY_USAGE``.

    They follow from what was observed to run, also in a simulation from a snapshot.

    Args:
        at: the instants at which they are needed; None: those of ``turns`` at which any waits.

    Raises:
        SimulationError: Slurm's configuration is missing.
    """
    work = scenario.indexed.work
    ranking = engine.kernel_ranking(work, order)
    owners, owner = np.unique(ranking.owner[turns.part], return_inverse=True)
    phase, period = _clock(scenario, ranking, order)
    needed = turns.instants[turns.waiting > 0] if at is None else at
    ticks = np.unique(needed if period == 0 else phase + (needed - phase) // period * period)
    most = max(MOST_LEVELS // max(len(owners), 1), 1)
    if len(ticks) > most:
        ticks = ticks[np.arange(most) * len(ticks) // most]
    level = _levels(ranking, order, ticks, owners)
    changed = np.append(True, (level[1:] != level[:-1]).any(1))[: len(ticks)]
    count = len(turns.start)
    tier, fixed, weight, longest = np.zeros(count, np.int64), np.zeros(count), 0.0, 1.0
    own, slurm = work.owners.priorities, scenario.fairshare.multifactor
    if order is Order.multifactor and own is not None and slurm is not None:
        tier, fixed = own.tier[turns.part], own.fixed[turns.part]
        weight, longest = multifactor.aging(slurm)
    return TickedPriorities(
        tier=engine.contiguous(tier),
        fixed=engine.contiguous(fixed),
        owner=owner.astype(np.int64),
        tick=ticks[changed],
        level=engine.contiguous(level[changed]),
        weight=weight,
        longest=longest,
        phase=phase,
        period=max(period, 1),
    )


def _clock(scenario: Scenario, ranking: Ranking, order: Order) -> tuple[int, int]:
    """Return an instant of a recalculation, and the time between two, s; 0: at each pass."""
    if order is Order.multifactor:
        return ranking.clock.phase, ranking.clock.period
    if order is Order.fairshare:
        first = int(scenario.indexed.work.arrival.min(initial=2**62))
        return first, scenario.fairshare.recalculation_s
    return 0, 0


def _levels(ranking: Ranking, order: Order, ticks: Ints, owners: Ints) -> Floats:
    """Return the part of the priority that depends on the owner, ticks × owners.

    It is the number of owners with a lower priority, or, of ``multifactor``, its own fairshare.
    """
    code = model.Order[order.traits.kernel]
    ledger = ranking.ledger(0, 0)
    level = np.zeros((len(ticks), len(owners)))
    for low in range(0, len(ticks), _AT_ONCE):
        some = ticks[low : low + _AT_ONCE]
        keys = np.zeros((len(some), ranking.path.shape[1], len(owners)))
        queue.observed_levels(code, ranking.owners, ledger, some, owners, keys)
        if order is Order.multifactor:
            level[low : low + _AT_ONCE] = keys[:, 0]
        else:
            level[low : low + _AT_ONCE] = [_ranks(each) for each in keys]
    return level


def _ranks(keys: Floats) -> Ints:
    """Return the rank of each owner from 1, the lowest, by its keys, levels × owners."""
    order = np.lexsort(keys[::-1])
    differs = (keys[:, order[1:]] != keys[:, order[:-1]]).any(0)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.append(1, 1 + differs.cumsum())[: len(order)]
    return ranks
