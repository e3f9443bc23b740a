"""The attempts of a pool with the instants at which each fact about them became known (SPEC §13).

*Known at an instant* is what happened strictly before it. Conventions as in ``scenario.workload``.
"""

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats, Ints
from audit.model import Order, Pool, Standing
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, Workload, workload_of_rows

LOOKS_AHEAD: Final = (Order.recorded, Order.nuwt)
"""Orders by facts that are known only once an attempt has started or ended."""
UNKNOWN_WALLTIME_S: Final = 86_400


class QueuedAttempts(NamedTuple):
    """The attempts of a pool that were ever in its queue, and those that only ran."""

    work: Workload  # occupancies and estimates are overwritten for each simulation
    pool: Pool  # with the policy of the simulations
    rows: Ints  # [n], in the frame of the scenario
    user: Ints  # [n], a number ≥ 0
    partition: Ints  # [n], a number ≥ 0
    size: Floats  # [n]
    walltime: Ints  # [n]; NEVER: unknown
    leaves: Ints  # [n], when it left the queue: by starting, or because it was cancelled
    gone: Ints  # [n], when it left the pool
    runtime: Ints  # [n], s; NEVER: unknown
    queues: Bools  # [n], whether it waits in the queue of the model
    subject: Bools  # [n], whether its arrival is known, so that its wait can be predicted
    users: int  # their number


def known_of(scenario: Scenario) -> QueuedAttempts:
    """Return the attempts of a scenario; those that were cancelled in the queue have waited in it.

    The order of the queue is that of the pool; first come, first served, where that depends on
    what only the future tells (``LOOKS_AHEAD``).
    """
    pool = scenario.pool
    if pool.policy.order in LOOKS_AHEAD:
        pool = pool._replace(policy=pool.policy._replace(order=Order.fcfs))
    attempts = scenario.attempts
    cancelled = pl.col("standing") == Standing.NEVER_STARTED
    unknown = cancelled & (pl.col("end_time").is_null() | pl.col("arrival_time").is_null())
    attempts = attempts.with_row_index("_row").filter(
        (pl.col("standing") != Standing.START_UNKNOWN) & ~unknown
    )
    as_pending = attempts.with_columns(
        standing=pl.when(cancelled).then(pl.lit(Standing.PENDING.value)).otherwise("standing"),
        start_time=pl.when(~cancelled).then("start_time"),
        walltime_s=pl.col("walltime_s").fill_null(UNKNOWN_WALLTIME_S),
    )
    work, rows = workload_of_rows(as_pending, pool, scenario.now, scenario.fairshare)
    # amounts alone decide what fits: simulations here do not place attempts on nodes
    work = work._replace(
        machines=None, occupancy=work.occupancy.copy(), estimate=work.estimate.copy()
    )
    facts = attempts[rows]
    end = _instants(facts["end_time"])
    started = work.has_started
    dense = (
        facts[name].rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
        for name in ("user", "partition")
    )
    user, partition = (np.ascontiguousarray(codes, np.int64) for codes in dense)
    return QueuedAttempts(
        work=work,
        pool=pool,
        rows=np.ascontiguousarray(facts["_row"].to_numpy(), np.int64),
        user=user,
        partition=partition,
        size=facts["size"].fill_null(0).cast(pl.Float64).to_numpy(),
        walltime=_instants(facts["walltime_s"]),
        leaves=np.where(started, work.start, end),
        gone=end,
        runtime=_instants(facts["runtime_s"]),
        queues=work.queued & work.sized,
        subject=facts["arrival_time"].is_not_null().to_numpy() & work.queued & work.sized,
        users=int(user.max(initial=-1)) + 1,
    )


def _instants(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.fill_null(NEVER).to_numpy(), np.int64)
