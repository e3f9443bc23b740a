"""Scenarios by hand, for the tests of this folder."""

from typing import Any

import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import Pool, Resource
from audit.scenario.scenario import Scenario
from tests.strategies import EPOCH, ended, frame

POOL = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))


def scenario(*lives: tuple[int, int, int, int, str], pool: Pool = POOL, **more: Any) -> Scenario:
    """Arrival, start, end, size and user of each attempt; walltimes are exact unless given."""
    records = [
        ended(*life, account="of " + life[4], **{"walltime_s": life[2] - life[1], **more})
        for life in lives
    ]
    return Scenario(describe(frame(records), [pool]), pool, EPOCH)


def starts(of: pl.DataFrame) -> list[int | None]:
    return of.sort("job_number")["start_time"].to_list()
