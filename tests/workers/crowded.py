"""A pool with long queues, for work that lasts a moment."""

import numpy as np

from audit.model import Backfill, Order, Policy
from audit.scenario.engine import replay
from audit.scenario.workload import Workload
from tests.naive.simulation import Job, Log
from tests.strategies import arrays, performed


def crowded(count: int) -> Workload:
    """Return attempts of few users in a pool that is too small for them, as ``sjf`` runs them."""
    random = np.random.default_rng(5)
    drawn = zip(
        np.sort(random.integers(0, 30 * count, count)).tolist(),
        random.integers(1, 300, count).tolist(),
        random.integers(1, 6, count).tolist(),
        strict=True,
    )
    log = Log(tuple(Job(at, lasts, 2 * lasts, (size,)) for at, lasts, size in drawn), (16,))
    starts = replay(arrays(log), Policy(Order.sjf, Backfill.easy)).start.tolist()
    return arrays(performed(log, dict(enumerate(starts))))
