"""Which attempts a budget allows to compute, and how many each of them stands for.

A stratified sample: the attempts are put into the order of their strata, by chance within each, and
gone through once, so that every stratum has its share (systematic sampling with unequal chances).
The chance of an attempt is 1/m, with m a whole number, and where it is drawn it stands for m of
them: so a sum over the sample, each attempt taken m times, is the sum over all in the mean over all
draws (Horvitz and Thompson), and what sums to whole numbers still does.

    m = ⌈√(cost / (wait + 60 s)) / λ⌉     λ as large as the budget allows

What is best is m in proportion to √cost over the spread of what is summed. Of misses that is not
known beforehand, but no miss is above the wait; that the spread is as its root did best on logs
with deep queues, of misses and of overtaken time. A part of the budget goes to the longest waits
beforehand; these stand for themselves.

Sources: W. G. Madow, On the Theory of Systematic Sampling, II (1949), for the draw; W. G. Cochran,
Sampling Techniques (1977), §5.5, for chances by cost and spread, and §9A.7 for the sum.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LONGEST: Final = 0.25
"""The part of a budget that goes to the longest waits."""
SHORT_S: Final = 60
"""Added to waits, so that those who did not wait are drawn too."""
_HALVINGS: Final = 60


def stands_for(cost: Floats, budget: float, wait: Ints, strata: Sequence[Ints], seed: int) -> Ints:
    """How many attempts each stands for; 0: it is left out.

    Args:
        cost: what each takes, > 0, in the unit of the budget.
        budget: what all that is drawn may take, > 0; in the mean over the draws, it does.
        wait: s, of each.
        strata: columns of numbers, the most important first; equal rows are one stratum.
        seed: of the draw, ≥ 0.

    Returns:
        All 1 where all fit into the budget.
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
