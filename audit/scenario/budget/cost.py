"""What fair start times, forward starts and whole replays will cost, told beforehand.

Both simulate what runs and waits when it arrives, so the cost grows with a power of their number n:

    cost = a · (n + 1)^b

with a by backfilling, and b by that and by what the order goes by, each for fair and for forward
starts. They were fitted, as lines through the logarithms, to what attempts cost whose snapshots
hold up to 25,000 (``bench/scale/deep_queues.py`` does it again; it prints how many times as much
other orders cost where 1,000 run and wait, and the logarithm of that to the base 1,001 is by how
much b is greater). An estimate, not a clock, decides what is computed: the same log gives the same
figures on every machine. Of all attempts it is about right; those that an order lets wait until the
log ends take several times as much, others less.

A replay has a few passes for each attempt, whose cost grows in the same way, with other constants
(fitted by hand to what bench/scale/deep_queues.py's logs cost, n from 40 to 3,000).
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.model import BY_OWNER, Backfill, Order, Policy
from audit.scenario import snapshots
from audit.scenario.workload import Ints, Workload

Floats = NDArray[np.float64]


class Costs(NamedTuple):
    """CPU seconds that each attempt may take, [n], > 0."""

    fair: Floats
    """Its fair start times."""
    forward: Floats
    """Its forward start, with and without what its user brought later."""


# a, in seconds, and b, of fair and of forward starts.
_FITTED: Final = {
    Backfill.none: ((1.5e-06, 0.87), (1.1e-06, 0.97)),
    Backfill.no_guarantee: ((9.2e-07, 1.01), (4.7e-07, 1.22)),
    Backfill.easy: ((7.8e-07, 1.05), (4.3e-07, 1.23)),
    Backfill.conservative: ((2.6e-08, 2.51), (1.5e-08, 2.66)),
    Backfill.conservative_replan: ((5.5e-08, 2.27), (5.5e-09, 3.03)),
}
_ORDERED: Final = {
    Order.fcfs: 0.0,
    Order.sjf: 0.2,
    Order.recorded: 0.2,
    Order.lxf: 0.43,
    Order.multifactor: 0.43,
    **dict.fromkeys(BY_OWNER, 0.3),
}
"""By how much b is greater: who waits for long is passed by many, and order itself takes time."""


def costs(work: Workload, policy: Policy) -> Costs:
    """CPU seconds that the fair start times and the forward start of each attempt may take."""
    deep: Floats = np.float64(1.0) + depths(work)
    more = _ORDERED[policy.order]
    fair, forward = (
        constant * deep ** (power + more) for constant, power in _FITTED[policy.backfill]
    )
    return Costs(fair, forward)


def depths(work: Workload) -> Ints:
    """How many run and wait in each attempt's snapshot, [n], ≥ 0."""
    return snapshots.in_snapshots(work, np.ones(len(work.arrival), np.int64))


_REPLAYED: Final = {
    Backfill.none: (6e-07, 0.0),
    Backfill.no_guarantee: (3e-07, 0.25),
    Backfill.easy: (4.5e-07, 0.25),
    Backfill.conservative: (2.7e-08, 1.4),
    Backfill.conservative_replan: (1.2e-08, 1.8),
}
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
        policy: of the replay.
    """
    constants = [_REPLAYED[policy.backfill]]
    if policy.reservations is not None:
        constants = [_RESERVING]
    if policy.order is not Order.fcfs:
        constants.append(_ORDERING)
    deep: Floats = np.float64(1.0) + depth
    of_passes = sum(float((constant * deep**power).sum()) for constant, power in constants)
    return _TABLES * len(deep) + of_passes
