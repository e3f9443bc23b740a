"""Estimated cost of fair start times and whole replays.

Fair start times simulate the n attempts that run or wait on arrival, at a cost of

    cost = a · (n + 1)^b

with a and b by backfilling and order (``audit.policies``), fitted to measured snapshots of up to
25,000 attempts as lines through the logarithms (``bench/scale/deep_queues.py`` repeats this). A
replay has a few passes for each attempt, whose cost grows likewise, with other constants (fitted by
hand to the same logs, n from 40 to 3,000).

Estimates, not a clock, decide what is computed, so that a log gives the same figures on every
machine. The sum over all attempts is about right; attempts that wait until the log ends take
several times their estimate, others less.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from audit.array_types import Floats, Ints
from audit.policies import Order, Policy
from audit.scenario.workload import Workload, in_snapshots


def fair_cost(work: Workload, policy: Policy) -> Floats:
    """Return the estimated CPU seconds of each attempt's fair start times, [n], > 0."""
    deep: Floats = np.float64(1.0) + depths(work)
    constant, power = policy.backfill.traits.fair
    if work.limits.some:
        deep = deep * (1.0 + deep / _DOUBLES)
    on_nodes = 1.0 if work.machines is None else _ON_NODES
    return on_nodes * constant * deep ** (power + policy.order.traits.deeper)


_ON_NODES: Final = 3.0
"""Factor where nodes decide what fits.

Measured on 100,000 jobs of 50 nodes, with up to 16,000 queued: 1.9 to 3.2.
"""


_DOUBLES: Final = 3_000
"""Attempts in a snapshot from which on limits double its cost: passes examine those that they hold.

Measured on arrays of 10,000 and 30,000 tasks with a throttle: 4 and 9 times as much.
"""


def depths(work: Workload) -> Ints:
    """Return the number of running and queued attempts in each attempt's snapshot, [n]."""
    return in_snapshots(work, np.ones(len(work.arrival), np.int64))


_RESERVING: Final = (1.5e-07, 0.75)  # ``conservative_replan`` with few reservations
_ORDERING: Final = (7e-08, 0.85)  # added by an order other than by arrival
_SCANNING: Final = (2e-08, 1.0)  # added by limits: jobs that they hold are passed over one by one
_TABLES: Final = 3e-06  # per attempt, to make a workload and to compare waits


def replay_cost(depth: Floats | Ints, policy: Policy, *, limited: bool = False) -> float:
    """Return the estimated CPU seconds of a replay, with the tables around it; see ``depths``."""
    constants = [policy.backfill.traits.replay if policy.reservations is None else _RESERVING]
    if policy.order is not Order.fcfs:
        constants.append(_ORDERING)
    if limited:
        constants.append(_SCANNING)
    deep: Floats = np.float64(1.0) + depth
    of_passes = sum(float((constant * deep**power).sum()) for constant, power in constants)
    return _TABLES * len(deep) + of_passes


# --- which attempts a budget allows to compute ---------------------------------------------------


LONGEST: Final = 0.25  # share of a budget that goes to the longest waits
SHORT_S: Final = 60  # added to waits, so that attempts that did not wait are drawn too
_HALVINGS: Final = 60


def weights(cost: Floats, budget: float, wait: Ints, strata: Sequence[Ints], seed: int) -> Ints:
    """Return the weights of a sample whose cost fits a budget; 0: left out, all 1: all fit.

    Systematic sampling with unequal chances: the attempts are sorted by strata, randomly within
    each, and passed once, so that every stratum has its share. An attempt is drawn with chance 1/m,
    m a whole number, and then has weight m, so that weighted sums over the sample are unbiased
    (Horvitz and Thompson), and sums of whole numbers stay whole.

        m = ⌈√(cost / (wait + 60 s)) / λ⌉     λ as large as the budget allows

    The optimum is m in proportion to √cost over the spread of the summed values. The spread of
    misses is unknown, but no miss exceeds the wait; the root of the wait did best on logs with deep
    queues. A part of the budget goes to the longest waits first, with weight 1.

    Args:
        cost: of each, > 0, in the unit of the budget.
        budget: > 0, for all that is drawn, on average over draws.
        wait: s, of each.
        strata: columns of numbers, the most important first; equal rows are one stratum.

    Sources: W. G. Madow, On the Theory of Systematic Sampling, II (1949); W. G. Cochran, Sampling
    Techniques (1977), §5.5 and §9A.7.
    """
    count = len(cost)
    if cost.sum() <= budget:
        return np.ones(count, np.int64)
    random = np.random.Generator(np.random.PCG64(seed))
    by_chance, shift = random.permutation(count), random.random()
    longest = np.lexsort((by_chance, -wait))
    certain = longest[np.cumsum(cost[longest]) <= budget * LONGEST]
    number = np.zeros(count, np.int64)
    number[certain] = 1
    order = np.lexsort((by_chance, *reversed(strata)))
    order = order[number[order] == 0]
    each = _each(cost[order], wait[order], budget - float(cost[certain].sum()))
    passed = np.floor(np.cumsum(1 / each) + shift)
    drawn = np.diff(passed, prepend=0.0) > 0
    number[order[drawn]] = each[drawn]
    return number


def _each(cost: Floats, wait: Ints, budget: float) -> Ints:
    """Return m of each, with the largest λ whose expected cost is within the budget."""
    size = np.sqrt(cost / (wait + SHORT_S))
    low, high = budget / float((cost / size).sum()), float(size.max())  # low is within it
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (cost / np.ceil(size / middle)).sum() <= budget:
            low = middle
        else:
            high = middle
    return np.ceil(size / low).astype(np.int64)
