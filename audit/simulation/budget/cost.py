"""What the fair start times and the forward start of an attempt will cost, told beforehand.

Both simulate what runs and waits when it arrives, so the cost grows with a power of their number n:

    cost = a · (n + 1)^b

with a and b by backfilling. They were fitted, as a line through the logarithms, to what attempts
cost whose snapshots hold up to 30,000 (``bench/deep_queues.py`` does it again). An estimate, not a
clock, decides what is computed: the same log gives the same figures on every machine.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.model import BY_OWNER, Backfill, Policy
from audit.simulation import snapshots
from audit.simulation.workload import Ints, Workload

Floats = NDArray[np.float64]

# a, in seconds, and b.
_FITTED: Final = {
    Backfill.none: (3.7e-06, 0.87),
    Backfill.no_guarantee: (1.7e-06, 1.21),
    Backfill.easy: (1.2e-06, 1.23),
    Backfill.conservative: (4.8e-07, 2.15),
    Backfill.conservative_replan: (2.8e-07, 2.00),
}
_BY_OWNER: Final = 4.0
"""How many times as much it costs to rank owners at each pass."""


def costs(work: Workload, policy: Policy) -> Floats:
    """CPU seconds that the fair start times and the forward start of each attempt may take, [n]."""
    constant, power = _FITTED[policy.backfill]
    ranked = _BY_OWNER if policy.order in BY_OWNER else 1.0
    deep: Floats = np.float64(1.0) + depths(work)
    return ranked * constant * deep**power


def depths(work: Workload) -> Ints:
    """How many run and wait in each attempt's snapshot, [n], ≥ 0."""
    return snapshots.in_snapshots(work, np.ones(len(work.arrival), np.int64))
