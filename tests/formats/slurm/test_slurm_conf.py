"""slurm.conf and `scontrol show config`: both forms, lengths of time, what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm.slurm_conf import SlurmConf, read, seconds
from tests.places import SLURM

DAY = 86_400


def test_what_scontrol_shows() -> None:
    conf = read((SLURM / "decay" / "config.txt").read_text())
    assert conf.faults == ()
    assert (conf.cluster, conf.half_life_s, conf.period_s, conf.reset) == ("lab", 300.0, 60, "none")
    assert (conf.dampening, conf.fair_tree, conf.favor_small, conf.max_age_s) == (
        1,
        True,
        False,
        DAY,
    )
    assert conf.weights == {
        "age": 1000, "fairshare": 10_000, "jobsize": 1000, "partition": 1000, "qos": 2000,
    }  # fmt: skip
    assert conf.tres[-2:] == ("gres/gpu", "gres/gpu:a100")
    assert conf.limits_enforced
    assert (conf.multifactor, conf.scheduler) == (True, "sched/backfill")
    conf = read("SchedulerParameters = bf_interval=5, bf_window=1440,defer")
    assert conf.parameters == {"bf_interval": "5", "bf_window": "1440", "defer": ""}
    assert (conf.parameter("bf_interval", 30), conf.parameter("bf_max_job_test", 500)) == (5, 500)
    assert read("SchedulerParameters=bf_interval=-1,defer").parameter("bf_interval", 30) == 30
    assert not read("PriorityType=priority/basic").multifactor


def test_slurm_conf() -> None:
    conf = read("""\
ClusterName=c   # ours
PriorityDecayHalfLife=14-0
prioritycalcperiod=10
PriorityUsageResetPeriod=Monthly
PriorityFlags=max_tres,NO_FAIR_TREE, \\
   DEPTH_OBLIVIOUS
PriorityFavorSmall=YES
PriorityMaxAge=UNLIMITED
PriorityWeightTRES=CPU=100,Mem=1G
AccountingStorageTRES=gres/gpu,license/x
AccountingStorageEnforce=safe
# TRESBillingWeights="CPU=9"
PartitionName=DEFAULT TRESBillingWeights="CPU=1.0,Mem=0.25G" PriorityJobFactor=3
PartitionName=a,b Nodes=n[1-4]
PartitionName=c Nodes=n1 TRESBillingWeights="CPU=0.5" PriorityJobFactor=7
Include more.conf
""")
    assert conf.faults == ()
    assert conf.notes == ("line 16: 'Include more.conf' is not followed",)
    assert (conf.cluster, conf.half_life_s, conf.period_s) == ("c", 14.0 * DAY, 600)
    assert (conf.reset, conf.favor_small, conf.max_age_s) == ("monthly", True, math.inf)
    assert conf.flags == {"MAX_TRES", "NO_FAIR_TREE", "DEPTH_OBLIVIOUS"}
    assert not conf.fair_tree
    assert conf.tres_weights == {"cpu": 100.0, "mem": 1.0 / 1024}
    assert conf.tres[-2:] == ("gres/gpu", "license/x")
    assert conf.limits_enforced
    both = {"cpu": 1.0, "mem": 0.25 / 1024}
    assert conf.partitions == {"a": both, "b": both, "c": {"cpu": 0.5}}
    assert conf.job_factors == {"a": 3, "b": 3, "c": 7}


def test_what_it_does_not_say_is_slurms_default() -> None:
    assert read("") == SlurmConf()
    assert SlurmConf().fair_tree
    assert SlurmConf().half_life_s == 7 * DAY


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("5", 300), ("5:30", 330), ("1:00:00", 3600), ("7-0", 7 * DAY), ("7-12", 7.5 * DAY),
        ("7-12:30", 7.5 * DAY + 1800), ("7-00:00:01", 7 * DAY + 1), ("00:00:00", 0),
        ("UNLIMITED", math.inf), ("x", None), ("", None), ("1:2:3:4", None), ("-5", None),
    ],
)  # fmt: skip
def test_lengths_of_time(text: str, length: float | None) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("PriorityDecayHalfLife=soon", "not a valid duration"),
        ("PriorityDecayHalfLife=UNLIMITED", "not a valid duration"),
        ("PriorityCalcPeriod=0", "not a valid duration"),
        ("PriorityUsageResetPeriod=hourly", "must be one of none, now"),
        ("FairShareDampeningFactor=0", "not a valid number"),
        ("PriorityWeightAge=many", "not a valid number"),
        ("PriorityWeightTRES=CPU", "not a weight"),
        ("PartitionName=a TRESBillingWeights=CPU=x", "partition 'a'"),
    ],
)
def test_what_is_refused(line: str, said: str) -> None:
    (fault,) = read("ClusterName=c\n" + line).faults
    assert fault.line == 2
    assert said in fault.text


@given(st.text(alphabet=st.sampled_from(list('PriorityWeightAge=-:1,\n\\# "')), max_size=60))
def test_nothing_makes_it_raise(text: str) -> None:
    read("PriorityFlags=" + text)
    read("PartitionName=" + text)
    read(text)
