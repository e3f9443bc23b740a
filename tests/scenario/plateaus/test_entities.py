"""Entities, groups and measures of a pool's jobs."""

from typing import Any

import polars as pl
import pytest

from audit.metrics.attempts.population import describe
from audit.model import Pool, Resource
from audit.scenario.plateaus.entities import Family, LimitedQuantity, Plateaued, plateaued
from tests.strategies import frame

ALL = Pool("all", Resource.cpus, 10, amounts=(("cpus", 10), ("gpus:a100", 4)))


def job(**changes: Any) -> dict[str, Any]:
    """A job of ann that ran for 100 s."""
    times = {"submit_time": 0, "start_time": 10, "end_time": 110, "occupancy_s": 100}
    names = {"user": "ann", "account": "x", "partition": "p", "qos": "m"}
    return {**times, **names, "walltime_s": 100, "cpus": 2, "state": "COMPLETED", **changes}


def grouped(*records: dict[str, Any]) -> Plateaued:
    return plateaued(describe(frame([*records]), [ALL]), ALL, 1_000)


def test_families_that_can_differ() -> None:
    assert grouped(job(), job(user="bob")).families == (Family("user"), Family(None))
    found = grouped(
        *[job()] * 30, job(partition="q", qos="n", account="y"), job(qos="o", partition="r")
    )
    names = {one.family: set[Any]() for one in found.members}
    for one in found.members:
        names[one.family].add((one.place, one.name))
    assert names[Family("partition")] == {(None, "p"), (None, "q"), (None, "r")}
    assert names[Family("account", "partition")] == {("p", "x"), ("q", "y"), ("r", "x")}
    assert Family("qos") not in names  # each has exactly the jobs of one partition
    assert names[Family(None, None, "q")] == {(None, None)}  # all jobs but those of q
    assert Family(None, None, "p") not in names
    without = found.of_first(found.families.index(Family(None, None, "q")))
    assert Family(None, None, "q") not in without.families
    assert len(without.members) == len(found.members) - 2


def test_a_qos_of_several_partitions_is_an_entity() -> None:
    found = grouped(job(), job(partition="q"), job(partition="q", qos="n"))
    of_qos = [one.name for one in found.members if one.family == Family("qos")]
    assert of_qos == ["m", "n"]


def test_unknown_names_belong_to_nobody() -> None:
    found = grouped(job(user=None, account=None), job())
    assert [one.name for one in found.members if one.family == Family("user")] == ["ann"]
    assert len(found.rows) == 2


def test_measures() -> None:
    found = grouped(job(gpu_types="a100:1", gpus=1), job(user="bob"))
    assert found.measures == (
        LimitedQuantity(),
        LimitedQuantity("cpus"),
        LimitedQuantity("gpus:a100"),
        LimitedQuantity("cpus", remaining=True),
    )
    assert found.measured(Family("user")) == [0, 1, 2, 3]
    assert found.measured(Family("partition")) == [0, 1, 2]
    assert found.measured(Family(None)) == [1, 2]
    assert found.adds.tolist() == [[1, 1], [2, 2], [1, 0], [200, 200]]


@pytest.mark.parametrize(("walltime", "keeps"), [(96, True), (95, False)])
def test_remaining_times_mean_nothing_where_jobs_exceed_them(walltime: int, keeps: bool) -> None:
    found = grouped(job(walltime_s=walltime))
    assert found.keeps_walltimes is keeps
    assert (found.measured(Family("user"))[-1] == 3) is keeps


def test_an_unknown_walltime_is_the_occupancy() -> None:
    found = grouped(
        job(walltime_s=None), job(), job(walltime_s=0, state="CANCELLED", start_time=None)
    )
    assert found.walltime.tolist()[:2] == [100, 100]
    assert found.walltime.min() == 1


def test_held_jobs_do_not_queue() -> None:
    found = grouped(
        job(reason="Dependency"), job(reason="Resources"), job(reason="AssocMaxJobsLimit")
    )
    assert found.queue.rows["waits"].to_list() == [False, True, True]


def test_a_record_that_stands_for_many() -> None:
    described = describe(
        frame([job(), job(start_time=None, end_time=50, state="CANCELLED")]), [ALL]
    )
    many = described.with_columns(tasks=pl.Series([1, 3]))
    assert len(plateaued(many, ALL, 1_000).group) == 4
