"""What fair start times, forward starts and whole replays will cost, told beforehand.

Both simulate what runs and waits when it arrives, so the cost grows with a power of their number n:

    cost = a · (n + 1)^b

with a by backfilling, and b by that and by what the order goes by, each for fair and for forward
starts (``audit.policies`` has them). They were fitted, as lines through the logarithms, to what
attempts cost whose snapshots hold up to 25,000 (``bench/scale/deep_queues.py`` does it again; it
prints how many times as much other orders cost where 1,000 run and wait, and the logarithm of that
to the base 1,001 is by how much b is greater). An estimate, not a clock, decides what is computed:
the same log gives the same figures on every machine. Of all attempts it is about right; those that
an order lets wait until the log ends take several times as much, others less.

A replay has a few passes for each attempt, whose cost grows in the same way, with other constants
(fitted by hand to what bench/scale/deep_queues.py's logs cost, n from 40 to 3,000).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.policies import Order, Policy
from audit.scenario.workload import Ints, Workload, in_snapshots

Floats = NDArray[np.float64]


class Costs(NamedTuple):
    """CPU seconds that each attempt may take, [n], > 0."""

    fair: Floats
    """Its fair start times."""
    forward: Floats
    """Its forward start, with and without what its user brought later."""


def costs(work: Workload, policy: Policy) -> Costs:
    """CPU seconds that the fair start times and the forward start of each attempt may take."""
    deep: Floats = np.float64(1.0) + depths(work)
    more, of = policy.order.traits.deeper, policy.backfill.traits
    fair, forward = (constant * deep ** (power + more) for constant, power in (of.fair, of.forward))
    return Costs(fair, forward)


def depths(work: Workload) -> Ints:
    """How many run and wait in each attempt's snapshot, [n], ≥ 0."""
    return in_snapshots(work, np.ones(len(work.arrival), np.int64))


_RESERVING: Final = (1.5e-07, 0.75)
"""``conservative_replan`` with few reservations."""
_ORDERING: Final = (7e-08, 0.85)
"""What an order other than by arrival adds."""
_TABLES: Final = 3e-06
"""To make a workload of an attempt, and to compare its waits."""


def replay_cost(depth: Floats | Ints, policy: Policy) -> float:
    """CPU seconds that a replay may take, with the tables around it.

    Args:
        depth: how many run and wait in each attempt's snapshot, ≥ 0; see ``depths``.
    """
    constants = [policy.backfill.traits.replay]
    if policy.reservations is not None:
        constants = [_RESERVING]
    if policy.order is not Order.fcfs:
        constants.append(_ORDERING)
    deep: Floats = np.float64(1.0) + depth
    of_passes = sum(float((constant * deep**power).sum()) for constant, power in constants)
    return _TABLES * len(deep) + of_passes


# --- which attempts a budget allows to compute ---------------------------------------------------


LONGEST: Final = 0.25
"""The part of a budget that goes to the longest waits."""
SHORT_S: Final = 60
"""Added to waits, so that those who did not wait are drawn too."""
_HALVINGS: Final = 60


def stands_for(cost: Floats, budget: float, wait: Ints, strata: Sequence[Ints], seed: int) -> Ints:
    """How many attempts each stands for; 0: it is left out.

    A stratified sample: the attempts are put into the order of their strata, by chance within each,
    and gone through once, so that every stratum has its share (systematic sampling with unequal
    chances). The chance of an attempt is 1/m, with m a whole number, and where it is drawn it
    stands for m of them: so a sum over the sample, each attempt taken m times, is the sum over all
    in the mean over all draws (Horvitz and Thompson), and what sums to whole numbers still does.

        m = ⌈√(cost / (wait + 60 s)) / λ⌉     λ as large as the budget allows

    What is best is m in proportion to √cost over the spread of what is summed. Of misses that is
    not known beforehand, but no miss is above the wait; that the spread is as its root did best on
    logs with deep queues, of misses and of overtaken time. A part of the budget goes to the longest
    waits beforehand; these stand for themselves.

    Args:
        cost: what each takes, > 0, in the unit of the budget.
        budget: what all that is drawn may take, > 0; in the mean over the draws, it does.
        wait: s, of each.
        strata: columns of numbers, the most important first; equal rows are one stratum.

    Returns:
        All 1 where all fit into the budget.

    Sources: W. G. Madow, On the Theory of Systematic Sampling, II (1949), for the draw; W. G.
    Cochran, Sampling Techniques (1977), §5.5, for chances by cost and spread, and §9A.7 for the
    sum.
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
    """m of each, with the largest λ at which what is drawn costs at most the budget in the mean."""
    size = np.sqrt(cost / (wait + SHORT_S))
    low, high = budget / float((cost / size).sum()), float(size.max())  # it does at the first
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (cost / np.ceil(size / middle)).sum() <= budget:
            low = middle
        else:
            high = middle
    return np.ceil(size / low).astype(np.int64)
