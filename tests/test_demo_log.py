"""The demo log is deterministic, looks like a site's log, and its waits are EASY's."""

from typing import TypedDict

import numpy as np
import polars as pl
import pytest

from audit.array_types import Ints
from audit.errors import SimulationError, UsageError
from audit.scenario.check import check_schedule
from audit.studies.workload.compute.synthetic import easy
from bench.logs import demo_schedule as module
from bench.logs.demo_schedule import as_schedule, demo_log

CAPACITY = 512


class Arguments(TypedDict):
    """Of ``demo_log``."""

    seed: int
    jobs: int
    capacity: int
    load: float


# So crowded that cancelled jobs would often have become the head of the queue.
SMALL: Arguments = {"seed": 4, "jobs": 1500, "capacity": 128, "load": 0.97}


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """The log that `make demo` shows."""
    return demo_log()


@pytest.fixture(scope="module")
def small() -> pl.DataFrame:
    return demo_log(**SMALL)


def started(log: pl.DataFrame) -> pl.DataFrame:
    return log.filter(pl.col("start_time").is_not_null()).with_columns(
        occupancy=pl.col("end_time") - pl.col("start_time"),
        wait=pl.col("start_time") - pl.col("submit_time"),
    )


def gave_up(log: pl.DataFrame) -> pl.DataFrame:
    return log.filter(pl.col("start_time").is_null())


def replay(log: pl.DataFrame, capacity: int) -> list[int]:
    """EASY on the rows of a log; those without a start are taken to run for their walltime."""
    occupancy = (pl.col("end_time") - pl.col("start_time")).fill_null(pl.col("walltime_s"))
    rows = log.select("submit_time", "cpus", occupancy.alias("occupancy"), "walltime_s")
    arrival, size, lasts, limit = (column.to_numpy() for column in rows)
    return list(easy(arrival, size, lasts, limit, capacity).tolist())


def test_the_pool_is_loaded_and_waits_are_real(log: pl.DataFrame) -> None:
    rows = started(log)
    span = log["submit_time"][-1] - log["submit_time"][0]
    load = rows.select((pl.col("occupancy") * pl.col("cpus")).sum()).item() / (CAPACITY * span)
    assert 0.78 < load < 0.88
    waits = rows["wait"].to_numpy()
    assert waits.min() == 0
    assert 3600 < np.median(waits) < waits.mean() < 12 * 3600
    assert 0.1 < (waits == 0).mean() < 0.5


def test_it_passes_the_schedule_check(log: pl.DataFrame) -> None:
    schedule = as_schedule(started(log))
    assert check_schedule(schedule, schedule, CAPACITY).is_empty()
    assert check_schedule(schedule, schedule, CAPACITY - 1).height > 0


def test_an_unsound_schedule_never_gets_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(arrival: Ints, *_: object) -> Ints:
        return arrival

    monkeypatch.setattr(module, "easy", at_once)
    with pytest.raises(SimulationError, match="over_capacity: job"):
        demo_log(jobs=500)


def test_those_who_gave_up_had_no_effect_while_they_waited(small: pl.DataFrame) -> None:
    """With one of them in the queue, all is the same until it gives up; it has not started."""
    left = gave_up(small)
    assert left.height > 20
    for row in left.iter_rows(named=True):
        beside = small.filter(
            pl.col("start_time").is_not_null() | (pl.col("job_number") == row["job_number"])
        )
        simulated = replay(beside, SMALL["capacity"])
        for number, recorded, start in zip(
            beside["job_number"], beside["start_time"], simulated, strict=True
        ):
            if number == row["job_number"]:
                assert start >= row["end_time"]
            elif min(start, recorded) < row["end_time"]:
                assert start == recorded


@pytest.mark.parametrize(
    "arguments", [{"seed": -1}, {"jobs": 99}, {"capacity": 31}, {"load": 0.0}, {"load": 1.0}]
)
def test_refuses_what_makes_no_log(arguments: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="demo log"):
        demo_log(**arguments)
