"""What fair start times, forward starts and whole replays will cost, told beforehand.

Both simulate what runs and waits when it arrives, so the cost grows with a power of their number n:

    cost = a · (n + 1)^b

with a by backfilling, and b by that and by what the order goes by. They were fitted, as a line
through the logarithms, to what attempts cost whose snapshots hold up to 25,000
(``bench/deep_queues.py`` does it again; it prints how many times as much other orders cost where
1,000 run and wait, and the logarithm of that to the base 1,001 is by how much b is greater). An
estimate, not a clock, decides what is computed: the same log gives the same figures on every
machine.

A replay has a few passes for each attempt, whose cost grows in the same way, with other constants
(fitted by hand to what bench/deep_queues.py's logs cost, n from 40 to 3,000).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.model import BY_OWNER, Backfill, Order, Policy
from audit.simulation import snapshots
from audit.simulation.workload import Ints, Workload

Floats = NDArray[np.float64]

# a, in seconds, and b.
_FITTED: Final = {
    Backfill.none: (3.7e-06, 0.87),
    Backfill.no_guarantee: (1.7e-06, 1.21),
    Backfill.easy: (1.5e-06, 1.18),
    Backfill.conservative: (4.8e-07, 2.15),
    Backfill.conservative_replan: (3.7e-08, 2.66),
}
_BY_OWNER: Final = 0.30
"""By how much b is greater where owners are ranked at each pass."""
_BY_LENGTH: Final = 0.43
"""The same of other orders than by arrival: under them who arrives later goes ahead for long."""


def costs(work: Workload, policy: Policy) -> Floats:
    """CPU seconds that the fair start times and the forward start of each attempt may take, [n]."""
    constant, power = _FITTED[policy.backfill]
    if policy.order in BY_OWNER:
        power += _BY_OWNER
    elif policy.order is not Order.fcfs:
        power += _BY_LENGTH
    deep: Floats = np.float64(1.0) + depths(work)
    return constant * deep**power


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
