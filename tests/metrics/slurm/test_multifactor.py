"""Multifactor priority: what sprio and squeue of our lab print, and each factor by hand."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm import sacctmgr, scontrol, slurm_conf
from audit.metrics.slurm.multifactor import FACTORS, HIGHEST, Scale, factors, priority
from tests.places import SLURM


def lab() -> pl.DataFrame:
    """Return the pending jobs with the figures of squeue, and FairShare of sshare at that time."""
    lines = [line.split("|") for line in (SLURM / "decay" / "squeue.psv").read_text().splitlines()]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    shares = {}
    for line in (
        (SLURM / "decay" / "sshare_samples.txt")
        .read_text()
        .split("== 1795234300\n")[1]
        .splitlines()
    ):
        cells = line.split("|")
        if len(cells) < 8:
            break
        if cells[1]:
            shares[cells[0].strip(), cells[1]] = cells[7]
    parts = scontrol.read((SLURM / "decay" / "partitions.txt").read_text()).partitions
    job_factor = {part.name: part.job_factor for part in parts}
    qualities = sacctmgr.qualities((SLURM / "decay" / "qos.psv").read_text()).rows
    urgency = {qos.name: qos.priority for qos in qualities}
    return pl.DataFrame(
        [
            {
                "job": int(row["JOBID"]),
                "priority": int(row["PRIORITY"]),
                "age_s": 0,  # submitted after the last tick
                "fairshare": float(shares[row["ACCOUNT"], row["USER"]]),
                "cpus": int(row["CPUS"]),
                "nodes": int(row["NODES"]),
                "job_factor": job_factor[row["PARTITION"]],
                "qos_priority": urgency[row["QOS"]],
                "nice": int(row["NICE"]),
            }
            for row in rows
            if row["STATE"] == "PENDING"
        ]
    )


SCALE = Scale(cpus=64, nodes=4, max_age_s=86_400.0, job_factor=50, qos_priority=1000)


def test_squeue_prints_these_priorities() -> None:
    conf = slurm_conf.read((SLURM / "decay" / "config.txt").read_text())
    jobs = lab()
    assert jobs.height == 5
    found = priority(factors(jobs, SCALE), conf.weights)
    assert found.to_list() == jobs["priority"].to_list()


def test_sprio_prints_these_factors() -> None:
    found = {row["job"]: row for row in factors(lab(), SCALE).iter_rows(named=True)}
    for line in (SLURM / "decay" / "sprio_norm.txt").read_text().splitlines()[1:]:
        job, _, _, _, age, assoc, fairshare, size, partition, qos = line.split()
        printed = dict(zip(FACTORS, (age, assoc, fairshare, size, partition, qos), strict=True))
        for name, text in printed.items():
            assert found[int(job)][name] == pytest.approx(float(text), abs=1e-6), name


def job(**changes: Any) -> pl.DataFrame:
    plain = {
        "age_s": 0, "fairshare": 0.0, "cpus": 16, "nodes": 1, "job_factor": 0, "qos_priority": 0,
        "nice": 0,
    }  # fmt: skip
    return pl.DataFrame({name: [value] for name, value in {**plain, **changes}.items()})


def size(jobs: pl.DataFrame, **changes: Any) -> float:
    return float(factors(jobs, Scale(cpus=64, nodes=4, **changes))["jobsize"][0])


def test_sizes_by_hand() -> None:
    assert size(job(cpus=16, nodes=1)) == 0.25
    assert size(job(cpus=64, nodes=4)) == 1.0
    assert size(job(cpus=16, nodes=1), favor_small=True) == 0.75
    hour = job(cpus=16, nodes=2, walltime_s=3600)
    assert size(hour, relative_to_time=True) == 32 / 60 / 64  # its nodes have 32 CPUs
    assert size(hour, relative_to_time=True, favor_small=True) == 1 - 32 / 60 / 64
    unlimited = hour.with_columns(walltime_s=pl.lit(None, pl.Int64))
    assert size(unlimited, relative_to_time=True) == 0.0


def test_age_stops_at_its_limit() -> None:
    def age(seconds: int, limit: float) -> float:
        return float(factors(job(age_s=seconds), Scale(cpus=1, nodes=1, max_age_s=limit))["age"][0])

    assert [age(-5, 100.0), age(50, 100.0), age(500, 100.0), age(9, math.inf)] == [0, 0.5, 1, 0]


def test_priority_stays_within_bounds_and_drops_fractions() -> None:
    one = factors(job(fairshare=0.99999), Scale(cpus=64, nodes=4))
    assert priority(one, {"fairshare": 10.0}).to_list() == [9]
    assert priority(one.with_columns(nice=pl.lit(1000)), {"fairshare": 10.0}).to_list() == [1]
    assert priority(one, {"fairshare": 1e12}).to_list() == [HIGHEST]
    assert priority(one.with_columns(tres=pl.lit(5.5)), {"fairshare": 10.0}).to_list() == [15]


@given(st.lists(st.tuples(st.integers(0, 200), st.floats(0, 1), st.integers(1, 64)), min_size=1))
def test_it_is_a_weighted_sum(rows: list[tuple[int, float, int]]) -> None:
    weights = {"age": 1000.0, "fairshare": 10_000.0, "jobsize": 1000.0}
    scale = Scale(cpus=64, nodes=4, max_age_s=100.0)
    alone = [job(age_s=age, fairshare=share, cpus=cpus) for age, share, cpus in rows]
    together = priority(factors(pl.concat(alone), scale), weights).to_list()
    for found, (age, share, cpus) in zip(together, rows, strict=True):
        total = 1000 * min(age / 100, 1) + 10_000 * share + 1000 * (0.25 + cpus / 64) / 2
        assert total - 1.001 < found < total + 0.001 or found == 1


@pytest.mark.parametrize("wrong", [{"cpus": 0}, {"nodes": 0}, {"max_age_s": 0.0}])
def test_scales_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least one|above 0"):
        Scale(**{"cpus": 1, "nodes": 1, **wrong})


def test_weights_that_are_none() -> None:
    with pytest.raises(ValueError, match="weight of 'size': one of age, assoc"):
        priority(factors(job(), SCALE), {"size": 1.0})
