"""Figures of waits by the depth of the queue, the account beside one that visits all that waits.

Logs have equally many attempts, started first come, first served. The first ones arrive at once and
then as many as the pool can do, so that the queue keeps its depth. The size is that depth.
"""

import heapq
from collections.abc import Iterator, Sequence
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics.attempts.account import account
from audit.metrics.attempts.population import describe
from audit.metrics.pairs import Log, paired
from audit.model import Limit, Period, Pool, Resource
from bench.measure.figures import Figure
from bench.measure.pairs import measured
from bench.stages.metrics import attempts

ATTEMPTS = 20_000
DEPTHS = (500, 2_000, 8_000)
SIZES = np.array([1, 1, 2, 4, 8, 16, 32])
POOL = Pool("all", Resource.cpus, 2_000)
WALKED = POOL._replace(limits=(Limit(most=10**9),))
"""A limit that nothing reaches makes the account walk through the whole queue."""
EVER = Period("all", 0, 1 << 40)


def queued(depth: int) -> pl.DataFrame:
    """Attempts of which ``depth`` wait for most of the time."""
    random = np.random.Generator(np.random.PCG64(depth))
    size = random.choice(SIZES, ATTEMPTS)
    occupancy = random.exponential(1_800, ATTEMPTS).astype(np.int64) + 1
    apart = random.exponential(float((size * occupancy).mean()) / POOL.capacity, ATTEMPTS)
    made = attempts(ATTEMPTS)
    arrival = made["submit_time"][0] + np.cumsum(apart * (np.arange(ATTEMPTS) >= depth)).astype(int)
    start = np.zeros(ATTEMPTS, np.int64)
    running: list[tuple[int, int]] = []
    now, free = 0, POOL.capacity
    for k, (came, takes) in enumerate(zip(arrival.tolist(), size.tolist(), strict=True)):
        now = max(now, came)
        while running and (running[0][0] <= now or free < takes):
            end, freed = heapq.heappop(running)
            now, free = max(now, end), free + freed
        heapq.heappush(running, (now + int(occupancy[k]), takes))
        start[k], free = now, free - takes
    return made.with_columns(
        submit_time=pl.Series(arrival),
        start_time=pl.Series(start),
        end_time=pl.Series(start + occupancy),
        cpus=pl.Series(size),
    )


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Both at each depth, whatever the ``sizes`` of other stages."""
    for depth in DEPTHS:
        described = describe(queued(depth), [POOL])
        now = int(described["end_time"].to_numpy().max())
        yield measured(
            *("Queues", "account of waits, by depth", depth),
            partial(account, described, POOL, now),
            twin=("a walk through the queue", partial(account, described, WALKED, now)),
        )
        log = Log.of(described, POOL, EVER, ZoneInfo("UTC"))
        yield measured(*("Queues", "pairs of users, by depth", depth), partial(paired, log, "user"))
