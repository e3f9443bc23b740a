"""Orders by what owners have used, as the kernels of delivered capacity take them.

In passes over observed states, what was observed until then counts; in a simulation, what was
observed until its snapshot, and then what it has run itself (SPEC §4, *Queue order*; §10).
"""

import numpy as np

from audit.kernels.delivered.usage import OutsideUse, UsageOrder
from audit.kernels.scheduling import model
from audit.model import Order
from audit.scenario import engine
from audit.scenario.delivered.observed import ObservedTurns
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER


def usage_order(
    scenario: Scenario, turns: ObservedTurns, order: Order, simulated: int = 0
) -> UsageOrder:
    """Return an order of ``model.BY_USAGE``.

    Attempts without occupancy use nothing.

    Args:
        simulated: the most attempts that a simulation by it runs.

    Raises:
        SimulationError: Slurm's configuration is missing.
    """
    work = scenario.indexed.work
    ranking = engine.kernel_ranking(work, order)
    by_waits = order is Order.nuwt
    charge = work.owners.used if by_waits else np.where(work.occupancy, work.owners.charge, 0.0)
    place = np.flatnonzero(turns.part)
    ran = ~turns.part & work.has_started & (work.end != NEVER)
    end = np.maximum(work.end, work.start + by_waits)  # as the ranking counts it
    outside = np.flatnonzero(ran & (end > work.start)) if simulated else place[:0]
    return UsageOrder(
        model.Order[order.traits.kernel],
        ranking.owners,
        ranking.ledger(simulated, 2 * len(outside)),
        place,
        ranking.owner[place],
        engine.contiguous(charge[place]),
        OutsideUse(
            ranking.owner[outside],
            engine.contiguous(charge[outside]),
            work.arrival[outside],
            work.start[outside],
            end[outside],
        ),
    )
