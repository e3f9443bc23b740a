"""What the fair start times and the forward start of an attempt will cost, told beforehand.

Both simulate what runs and waits when it arrives, so the cost grows with a power of their number n:

    cost = a · (n + 1)^b

with a and b by backfilling. They were fitted, as a line through the logarithms, to what attempts
cost whose snapshots hold up to 25,000 (``bench/deep_queues.py`` does it again). An estimate, not a
clock, decides what is computed: the same log gives the same figures on every machine.
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
_BY_OWNER: Final = 8.0
"""How many times as much it costs to rank owners at each pass (1,000 running and waiting, easy)."""
_BY_LENGTH: Final = 20.0
"""The same of other orders than by arrival: under them who arrives later goes ahead for long."""


def costs(work: Workload, policy: Policy) -> Floats:
    """CPU seconds that the fair start times and the forward start of each attempt may take, [n]."""
    constant, power = _FITTED[policy.backfill]
    ranked = 1.0 if policy.order is Order.fcfs else _BY_LENGTH
    if policy.order in BY_OWNER:
        ranked = _BY_OWNER
    deep: Floats = np.float64(1.0) + depths(work)
    return ranked * constant * deep**power


def depths(work: Workload) -> Ints:
    """How many run and wait in each attempt's snapshot, [n], ≥ 0."""
    return snapshots.in_snapshots(work, np.ones(len(work.arrival), np.int64))
