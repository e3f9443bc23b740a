"""Ranking of attempts as configured: priorities equal those that squeue printed."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from audit import config
from audit.cluster import charges, fairshare, ranking
from audit.config.usage import PriorityWeights
from audit.errors import ConfigError
from audit.kernels.scheduling import multifactor as kernels
from audit.metrics.fairshare.usage import Windows
from audit.metrics.slurm.multifactor import Scale
from audit.model import Order, Policy
from audit.pipeline.opening import ClusterLog, LogRequest, open_log
from audit.scenario.multifactor import kernel_slurm
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.workload import NEVER, workload
from tests.places import SLURM

LAB = SLURM / "decay"
SLURM_S = Policy(Order.multifactor)
USAGE = config.UsageConfig(
    method="slurm",
    penalty="billing",
    operator="fair_tree",
    associations="assoc.psv",
    qos="qos.psv",
    partitions="partitions.txt",
    slurm_conf="config.txt",
)


def opened() -> ClusterLog:
    return open_log(
        LogRequest(logs=(LAB / "sacct.txt",), zone="UTC", cluster="lab"), config.Config()
    )


def test_priorities_equal_those_of_squeue() -> None:
    at, tick = 1_795_234_300, 1_795_234_198
    log, shares = opened(), fairshare.read(USAGE, LAB, "lab")
    ranked = ranking.of(shares, log.setting, [SLURM_S])
    slurm = ranked.multifactor
    assert slurm is not None
    ranked = ranked._replace(
        multifactor=slurm._replace(usage=replace(slurm.usage, phase_s=tick % 60))
    )
    described = charges.charged(log.described, log.setting, shares)
    work, keys = workload(described, log.setting.pools[0], log.setting.now, ranked)
    own, settings = work.owners.priorities, work.owners.fairshare.multifactor
    assert own is not None
    assert settings is not None
    counted = work.start != NEVER
    known, clock = kernel_slurm(settings, own, work.owners.charge, work.start, work.end, counted)
    _, priorities = kernels.priorities(known, kernels.Books(*clock), at, own.node, work.arrival)
    found = dict(zip(keys["job_id"].to_list(), priorities, strict=True))
    lines = [line.split("|") for line in (LAB / "squeue.psv").read_text().splitlines()]
    squeue = pl.DataFrame([dict(zip(lines[0], line, strict=True)) for line in lines[1:]])
    pending = squeue.filter(pl.col("STATE") == "PENDING")
    assert pending.height == 5
    for job, nice, printed in pending.select("JOBID", "NICE", "PRIORITY").iter_rows():
        assert found[job] - int(nice) == int(printed), job


def test_factors_are_normalised_by_the_greatest() -> None:
    log = opened()
    slurm = ranking.of(fairshare.read(USAGE, LAB, "lab"), log.setting, [SLURM_S]).multifactor
    assert slurm is not None
    assert slurm.scale == Scale(
        cpus=64, nodes=4, max_age_s=86_400.0, job_factor=50, qos_priority=1000
    )
    assert slurm.weights["fairshare"] == 10_000
    assert slurm.job_factors == {"batch": 10, "cpuonly": 1, "short": 50}
    assert slurm.tiers == {"batch": 1, "cpuonly": 1, "short": 1}
    assert slurm.qos == {"normal": 100, "high": 1000, "low": 0}
    weights = {"priority_weights": PriorityWeights(age=5.0)}
    other = USAGE.model_copy(update=weights)
    weighed = ranking.of(fairshare.read(other, LAB, "lab"), log.setting, [SLURM_S]).multifactor
    assert weighed is not None
    assert (weighed.weights["age"], weighed.weights["qos"]) == (5, 2000)


def test_orders_without_usage_are_not_ranked() -> None:
    log, shares = opened(), fairshare.read(USAGE, LAB, "lab")
    assert ranking.of(shares, log.setting, [Policy(Order.recorded)]) is EQUAL_SHARES
    plain_shares = fairshare.FairshareInputs(config.UsageConfig())
    by_share = ranking.of(plain_shares, log.setting, [Policy(Order.fairshare)])
    assert isinstance(by_share.method, Windows)
    assert by_share.multifactor is None


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"method": "half_life"}, 'order "multifactor" needs method = "slurm"'),
        ({"qos": None}, "needs four files"),
        ({"associations": None}, "needs four files"),
    ],
)
def test_missing_files_are_reported(update: dict[str, object], said: str) -> None:
    shares = fairshare.read(USAGE.model_copy(update=update), LAB, "lab")
    with pytest.raises(ConfigError, match=said):
        ranking.of(shares, opened().setting, [SLURM_S])


def test_priority_flags(tmp_path: Path) -> None:
    for name in ("assoc.psv", "qos.psv", "partitions.txt"):
        (tmp_path / name).write_text((LAB / name).read_text())
    conf = (LAB / "config.txt").read_text()
    (tmp_path / "config.txt").write_text(conf + "PriorityFlags=NO_FAIR_TREE,DEPTH_OBLIVIOUS\n")
    with pytest.raises(ConfigError, match="does not know the flag DEPTH_OBLIVIOUS"):
        ranking.of(fairshare.read(USAGE, tmp_path, "lab"), opened().setting, [SLURM_S])
    (tmp_path / "config.txt").write_text(conf + "PriorityFlags=NO_NORMAL_QOS,NO_NORMAL_PART\n")
    slurm = ranking.of(fairshare.read(USAGE, tmp_path, "lab"), opened().setting, [SLURM_S])
    assert slurm.multifactor is not None
    assert (slurm.multifactor.scale.qos_priority, slurm.multifactor.scale.job_factor) == (1, 1)
