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
