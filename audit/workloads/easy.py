"""What EASY makes of made-up attempts: the waits of synthetic logs."""

import numpy as np
from numpy.typing import NDArray

from audit.model import Backfill, Order, Policy
from audit.scenario.engine import replay
from audit.scenario.ownership import unowned
from audit.scenario.workload import NEVER, Workload

Ints = NDArray[np.int64]


def easy(arrival: Ints, size: Ints, occupancy: Ints, walltime: Ints, capacity: int) -> Ints:
    """When attempts start in an empty pool, first come first served with EASY backfilling.

    Args:
        arrival: epoch seconds, ascending; those that arrive together are served in this order.
        size: processors that each asks for, in [0, ``capacity``].
        occupancy: actual seconds from start to end, ≥ 0.
        walltime: seconds that each asked for.
        capacity: processors of the pool.

    Source: SPEC §4.
    """
    count, none = len(arrival), np.zeros(0, np.int64)
    unknown, no = np.full(count, NEVER), np.zeros(count, np.bool_)
    work = Workload(
        arrival=arrival,
        start=unknown,
        end=unknown,
        occupancy=occupancy,
        estimate=np.maximum(np.maximum(walltime, occupancy), 1),
        request=size,
        priority=np.full(count, np.nan),
        blocked=no,
        open=no,
        no_estimate=no,
        preempted=no,
        capacity=np.array([capacity]),
        step_time=none,
        step_change=none,
        step_planned=none.astype(np.bool_),
        owners=unowned(count),
    )
    return replay(work, Policy(Order.fcfs, Backfill.easy)).start
