"""Logs that repeat one episode for fresh users, far apart, so that every resample says the same."""

from collections.abc import Sequence

import polars as pl

from audit.metrics.attempts.population import describe
from audit.metrics.draws import Draws
from audit.model import Pool, Resource
from audit.scenario.tabu import TabuSearch
from audit.studies.users import compute as users
from audit.studies.users.compute import ESTIMATES, RUNS, Estimates, PolicyComparison
from tests.strategies import ended, frame

Attempt = tuple[str, int, int, int]
"""User, arrival, run time; and the size."""

PERIOD = 30_000_000  # a multiple of 300, so each episode meets the tabu search alike
NOW = 10**12


def attempts(
    episode: Sequence[Attempt], repeated: int, walltimes: Sequence[int | None] = ()
) -> pl.DataFrame:
    """A log that repeats an episode for ``repeated`` sets of users."""
    told = walltimes or [None] * len(episode)
    return frame(
        [
            ended(
                at + arrival,
                at + arrival,
                at + arrival + lasts,
                size,
                f"{user}{k}",
                walltime_s=limit,
            )
            for k in range(repeated)
            for at in (k * PERIOD,)
            for (user, arrival, lasts, size), limit in zip(episode, told, strict=True)
        ]
    )


def compare(log: pl.DataFrame, capacity: int, estimates: Estimates = "exact") -> PolicyComparison:
    pool = Pool("all", Resource.cpus, capacity)
    cells = [*users.cells(describe(log, [pool]), pool, NOW, TabuSearch(seed=3))]
    begin = list(ESTIMATES).index(estimates) * len(RUNS)
    frames = [cell.compute() for cell in cells[begin : begin + len(RUNS)]]
    return users.compared(pool, estimates, frames, Draws(1, 200))
