"""The usage in Slurm's files is in the config.toml that init writes, and a run uses it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit import config
from audit.cluster import fairshare
from audit.cluster.inference import Fact
from audit.cluster.slurm_files import SlurmFiles
from audit.config.places import Site
from audit.errors import UsageError
from audit.nightly.run import run
from audit.setup import doctor
from audit.setup import init as initial
from audit.setup.init import Draft, infer
from audit.store import database
from tests import stores
from tests.logs import write
from tests.places import SLURM
from tests.setup.test_init import fact

FILES = SlurmFiles(
    partitions=SLURM / "decay" / "partitions.txt",
    associations=SLURM / "decay" / "assoc.psv",
    qos=SLURM / "decay" / "qos.psv",
    slurm_conf=SLURM / "decay" / "config.txt",
)
NAMES = {
    "partitions": "partitions.txt",
    "associations": "assoc.psv",
    "qos": "qos.psv",
    "slurm_conf": "slurm.conf",
}
NO_FORGETTING = "PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=NONE\n"
PARTITION = "PartitionName=a Nodes=n1 TotalCPUs=4 MaxTime=60\n"
OWN_PARTITIONS = """\
ClusterName=lab
PriorityFlags=MAX_TRES,NO_FAIR_TREE,DEPTH_OBLIVIOUS
Include other.conf
PartitionName=DEFAULT TRESBillingWeights="CPU=1.0,Mem=0.25G"
PartitionName=batch Nodes=n[1-4]
PartitionName=cpuonly Nodes=n[1-4] TRESBillingWeights=""
"""


def of_files(**texts: str) -> Draft:
    """What is inferred from files with these texts, by their keys in ``SlurmFiles``."""
    return infer(
        [],
        SlurmFiles(**{key: write(Path(NAMES[key]), text) for key, text in texts.items()}),
        name="lab",
        zone="UTC",
    )


def written(draft: Draft) -> config.Cluster:
    """The cluster of the written file, whose usage can be read."""
    path = Path("config.toml")
    initial.save(path, initial.write(draft), force=True)
    (cluster,) = config.load(path).clusters
    assert cluster == draft.cluster
    fairshare.read(cluster.usage, path.parent, cluster.name)
    return cluster


@pytest.mark.thorough
def test_the_content_of_the_files_is_written_and_a_run_computes_usage_as_slurm_does() -> None:
    draft = infer([SLURM / "decay" / "sacct.txt"], FILES, name="lab", zone="UTC")
    cluster = written(draft)
    usage = cluster.usage
    assert (usage.method, usage.penalty, usage.operator) == ("slurm", "billing", "fair_tree")
    assert (usage.half_life_days, usage.reset) == (300 / 86_400, "none")
    assert (usage.recalculation_s, usage.max_tres) == (60, False)
    assert usage.associations == str(FILES.associations)
    assert usage.partitions == str(FILES.partitions)
    assert (usage.qos, usage.slurm_conf) == (str(FILES.qos), str(FILES.slurm_conf))
    assert fact(draft, "share tree").value == "5 accounts with 7 associations of users"
    factors = Fact("usage factors", "normal 1, high 2, low 0.5", "qos.psv")
    assert fact(draft, "usage factors") == factors
    assert fact(draft, "billing weights").source == "partitions.txt"
    assert fact(draft, "decay of usage").value == (
        "half-life 0.00347222 days, reset none, recalculated every 60 s"
    )
    assert fact(draft, "fairshare").value == "fair_tree"
    (pool,) = cluster.pools
    assert (pool.order, pool.backfill) == ("multifactor", "conservative_replan")
    assert pool.policy[2:] == (500, None, 30, None, 60, 3)
    assert config.Limit(most=0, partition=("short",), walltime_above_s=600) in pool.limits
    assert fact(draft, "limits").value == str(len(pool.limits))
    assert fact(draft, "order of the queue").value == (
        "multifactor: age 1000, fairshare 10000, jobsize 1000, partition 1000, qos 2000"
    )
    assert [one.warning for one in draft.facts if one.warning] == []
    text = Path("config.toml").read_text(encoding="utf-8")
    for key in ("half_life_days", "reset", "recalculation_s", "max_tres", "operator"):
        before, _ = text.split(f"\n{key} = ")
        assert before.splitlines()[-1].startswith("# From config.txt (Priority"), key
    assert "\n# Usage factors: normal 1, high 2, low 0.5.\nqos = " in text
    assert "To fill in if there are targets" not in text

    checks = doctor.examine(Path("config.toml"), None)
    assert [check.what for check in checks if not check.ok] == []
    night = run(Site(config.load(Path("config.toml")), Path()), 1_800_000_000)
    assert night.failures == []
    history = stores.fetch(
        Path("fairaudit.duckdb"), "SELECT DISTINCT method FROM fairshare_history"
    )
    assert history["method"].to_list() == ["slurm:billing:fair_tree"]


def test_the_order_of_slurm_is_proposed_if_all_files_are_given() -> None:
    draft = infer([], replace(FILES, qos=None), name="lab", zone="UTC")
    assert {pool.order for pool in draft.cluster.pools} == {"fcfs"}
    warning = fact(draft, "order of the queue").warning
    assert warning == "Slurm's priorities need --qos; fcfs is assumed"
    path = Path("slurm.conf")
    multifactor = "PriorityType=priority/multifactor\nSchedulerType=sched/builtin\n"
    path.write_text(f"{multifactor}PriorityWeightAge=1\n")
    (pool,) = infer([], replace(FILES, slurm_conf=path), name="lab", zone="UTC").cluster.pools
    assert pool.policy[:3] == ("multifactor", "none", None)
    path.write_text("PriorityType=priority/basic\n")
    draft = infer([], replace(FILES, slurm_conf=path), name="lab", zone="UTC")
    assert draft.cluster.pools[0].order == "fcfs"
    assert all(one.what != "order of the queue" for one in draft.facts)


def test_paths_are_relative_to_the_configuration() -> None:
    write(Path("conf.txt"), "ClusterName = lab\n")
    Path("etc").mkdir()
    files = SlurmFiles(slurm_conf=Path("conf.txt"))
    draft = infer([], files, folder=Path("etc"))
    assert draft.usage.slurm_conf == "../conf.txt"
    assert (draft.name, fact(draft, "cluster").source) == ("lab", "conf.txt")


def test_partitions_alone_do_not_change_usage() -> None:
    draft = infer([], SlurmFiles(FILES.partitions), name="lab")
    assert written(draft).usage == config.UsageConfig()


def test_missing_values_have_slurm_s_defaults_and_a_note() -> None:
    draft = infer([], SlurmFiles(associations=FILES.associations))
    cluster = written(draft)
    assert cluster.name == "lab"
    usage = cluster.usage
    assert (usage.method, usage.half_life_days, usage.recalculation_s) == ("slurm", 7.0, 300)
    assert (usage.operator, usage.billing_weights.given) == ("fair_tree", {"cpus": 1.0})
    warnings = " ".join(one.warning for one in draft.facts if one.warning)
    assert "--slurm-conf" in warnings
    assert "--partitions" in warnings
    text = Path("config.toml").read_text(encoding="utf-8")
    assert "To check: TRESBillingWeights are unknown" in " ".join(text.split("\n# "))
    assert written(infer([], SlurmFiles(qos=FILES.qos), name="lab")).usage.operator == "absolute"


def test_weights_of_partitions_in_slurm_conf() -> None:
    write(Path("slurm.conf"), OWN_PARTITIONS)
    files = replace(FILES, partitions=None, slurm_conf=Path("slurm.conf"))
    draft = infer([], files)
    usage = written(draft).usage
    assert (usage.operator, usage.max_tres, usage.partitions) == ("classic", True, None)
    assert not usage.billing_weights.given
    read = fairshare.read(usage, Path(), "lab")
    assert read.partitions == {"batch": {"cpu": 1.0, "mem": 0.25 / 1024}, "cpuonly": {}}
    weights = fact(draft, "billing weights").value
    assert weights == "TRESBillingWeights of batch; the CPUs in cpuonly"
    assert "DEPTH_OBLIVIOUS" in str(fact(draft, "fairshare").warning)
    assert "'Include other.conf' is not followed" in str(fact(draft, "not read").warning)


def test_usage_that_never_decays_is_summed_over_windows() -> None:
    write(Path("slurm.conf"), NO_FORGETTING)
    draft = infer([], replace(FILES, slurm_conf=Path("slurm.conf")), name="lab")
    usage = written(draft).usage
    assert (usage.method, usage.penalty, usage.operator) == ("windows", "billing", "fair_tree")
    assert "usage never decays" in str(fact(draft, "decay of usage").warning)


def test_a_configuration_without_billing_weights_is_refused() -> None:
    write(Path("conf.txt"), "ClusterName = lab\n")
    usage = config.UsageConfig(method="slurm", penalty="billing", slurm_conf="conf.txt")
    with pytest.raises(UsageError, match="no partition in it, so nothing says what jobs are"):
        fairshare.read(usage, Path(), "lab")


def test_every_fault_of_every_file_is_reported() -> None:
    write(Path("assoc.txt"), "Account|User\nchem|ana\n")
    write(Path("qos.txt"), "Name|Priority\nnormal|1\n")
    write(Path("conf.txt"), "PriorityDecayHalfLife = soon\n")
    write(Path("parts.txt"), "PartitionName=batch Nodes=n1 TRESBillingWeights=CPU=much\n")
    names = ("parts.txt", "assoc.txt", "qos.txt", "conf.txt")
    with pytest.raises(UsageError) as refused:
        infer([], SlurmFiles(*map(Path, names)), name="lab")
    message = str(refused.value)
    flags = ("--partitions", "--assoc", "--qos", "--slurm-conf")
    for name, flag in zip(names, flags, strict=True):
        (line,) = (one for one in message.splitlines() if one.startswith(name))
        assert line.endswith(f"({flag})")
    with pytest.raises(UsageError, match=r"none.txt: no such file \(--qos\)"):
        infer([], SlurmFiles(qos=Path("none.txt")), name="lab")


def test_associations_of_several_clusters_need_a_name() -> None:
    header = "Cluster|Account|User|Share|ParentName\n"
    rows = "".join(f"{name}|root||1|\n{name}|chem||1|root\n" for name in ("lab", "sea"))
    write(Path("assoc.txt"), header + rows)
    files = SlurmFiles(associations=Path("assoc.txt"))
    with pytest.raises(UsageError, match="associations of several clusters"):
        infer([], files)
    assert infer([], files, name="sea").usage.operator == "fair_tree"


def test_limits_of_the_whole_cluster_hold_in_each_pool_with_a_warning() -> None:
    draft = of_files(
        partitions=f"{PARTITION}PartitionName=b Nodes=n2 TotalCPUs=4\n",
        qos="Name|UsageFactor|MaxJobsPU|MaxTRESPU\nq|1|3|fs/disk=2\n",
    )
    of_all = config.Limit(most=3, per="user", qos=("q",))
    of_one = config.Limit(most=0, partition=("a",), walltime_above_s=3_600)
    assert [pool.limits for pool in written(draft).pools] == [(of_all, of_one), (of_all,)]
    assert fact(draft, "limits").warning
    assert fact(draft, "limits left out").value == "maxtrespu of fs/disk"


def test_limits_that_slurm_does_not_enforce_are_left_out() -> None:
    files = {"partitions": PARTITION, "qos": "Name|UsageFactor|MaxJobsPU\nq|1|3\n"}
    draft = of_files(**files, slurm_conf="AccountingStorageEnforce=associations\n")
    of_partition = config.Limit(most=0, partition=("a",), walltime_above_s=3_600)
    assert [pool.limits for pool in written(draft).pools] == [(of_partition,)]
    assert fact(draft, "limits of accounts, users and QOS").value == "not enforced"
    draft = of_files(**files, slurm_conf="AccountingStorageEnforce=safe\n")
    assert [len(pool.limits) for pool in written(draft).pools] == [2]


def test_files_without_columns_for_limits_are_named() -> None:
    for header, silent in (("Name|UsageFactor", True), ("Name|UsageFactor|MaxWall", False)):
        draft = of_files(qos=f"{header}\nq|1{'' if silent else '|'}\n")
        named = [one.value for one in draft.facts if one.what == "unknown limits"]
        assert named == (["qos.psv"] if silent else [])
    dump = SlurmFiles(associations=SLURM / "plain" / "dump.cfg")
    draft = infer([], dump, name="lab", zone="UTC")
    assert not [one for one in draft.facts if one.what == "unknown limits"]


@pytest.mark.thorough
def test_a_lab_under_limits_from_its_files_to_the_figures() -> None:
    """A Slurm of four shared nodes: at most 6 jobs of each user with QOS low, 8 CPUs of news."""
    folder = SLURM / "limits"
    files = SlurmFiles(
        folder / "partitions.txt", folder / "assoc.psv", folder / "qos.psv", folder / "config.txt"
    )
    cluster = written(infer([folder / "sacct.txt"], files, zone="UTC"))
    (pool,) = cluster.pools
    of_user = config.Limit(most=8, resource="cpus", user=("news",), account=("physics",))
    of_qos = config.Limit(most=6, per="user", qos=("low",))
    of_partition = config.Limit(most=0, partition=("batch",), walltime_above_s=86_400)
    assert pool.limits == (of_user, of_qos, of_partition)

    night = run(Site(config.load(Path("config.toml")), Path()), 1_800_000_000)
    assert night.failures == []
    found = doctor.examine(Path("config.toml"), None)
    assert [one.found for one in found if one.what.startswith("limits")] == [
        "3 limits, 0 windows; the logs have every name"
    ]
    query = (
        "SELECT reason, count(*), count(*) FILTER (fst_status IS DISTINCT FROM 'blocked') "
        "FROM job_fairness WHERE schedule = 'observed' GROUP BY reason"
    )
    with stores.published(Path("fairaudit.duckdb")) as con:
        judged = database.fetch(con, query)
        status = database.fetch(con, "SELECT DISTINCT fst_status FROM job_fairness")["fst_status"]
    counted = {reason: counts for reason, *counts in judged.rows()}
    for limited in ("AssocGrpCpuLimit", "QOSMaxJobsPerUserLimit"):
        assert counted[limited] == [counted[limited][0]] * 2  # a modelled limit
    assert counted["Dependency"][1:] == [0]  # not modelled
    assert "exceeds_limit" not in status.to_list()


def test_nodes_are_exclusive_if_all_partitions_allocate_whole_nodes() -> None:
    text = (
        "PartitionName=a Nodes=n1 TotalCPUs=4 TotalNodes=1 OverSubscribe=EXCLUSIVE\n"
        "PartitionName=b Nodes=n2 TotalCPUs=4 TotalNodes=1 OverSubscribe=EXCLUSIVE\n"
        "PartitionName=c Nodes=n2 TotalCPUs=4 TotalNodes=1 OverSubscribe=NO\n"
    )
    draft = of_files(partitions=text)
    assert [pool.exclusive_nodes for pool in written(draft).pools] == [True, False]
    text = Path("config.toml").read_text(encoding="utf-8")
    assert "# From partitions.txt (OverSubscribe=EXCLUSIVE).\nexclusive_nodes = true" in text


@pytest.mark.parametrize(
    ("select", "exclusive", "placement", "has_memory"),
    [
        ("SelectTypeParameters=CR_CORE_MEMORY", False, "consecutive", True),
        ("SelectTypeParameters=CR_Core,CR_LLN", False, "least_loaded", False),
        ("SelectType=select/linear", True, "consecutive", True),
    ],
)
def test_allocation_is_that_of_slurm_conf(
    select: str, exclusive: bool, placement: str, has_memory: bool
) -> None:
    text = "PartitionName=a Nodes=n[1-2] TotalCPUs=8 TotalNodes=2 TRES=cpu=8,mem=16G,node=2\n"
    (pool,) = written(of_files(partitions=text, slurm_conf=f"{select}\n")).pools
    assert (pool.exclusive_nodes, pool.placement) == (exclusive, placement)
    assert (pool.capacity.mem_bytes is not None) == has_memory


TIERS = """\
PartitionName=fast Nodes=n1 TotalCPUs=4 TotalNodes=1 PriorityTier=3 PreemptMode=OFF
PartitionName=batch Nodes=n1 TotalCPUs=4 TotalNodes=1 PriorityTier=2 PreemptMode=CANCEL
PartitionName=spare Nodes=n1 TotalCPUs=4 TotalNodes=1 PriorityTier=1
PartitionName=other Nodes=n2 TotalCPUs=4 TotalNodes=1 PriorityTier=9
"""


@pytest.mark.parametrize(
    ("conf", "found"),
    [
        ("PreemptMode=REQUEUE\n", []),  # PreemptType is preempt/none
        (
            "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nAuthInfo=cred_expire=30\n",
            [
                {"partition": ("batch",), "by_partition": ("fast",), "requeue_s": None},
                {"partition": ("spare",), "by_partition": ("fast", "batch"), "requeue_s": 31},
            ],
        ),
        (
            "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n",
            [{"qos": ("low", "test"), "by_qos": ("high",), "requeue_s": 121}],
        ),
    ],
)
def test_preemption_is_that_of_slurm_conf(conf: str, found: list[dict[str, Any]]) -> None:
    qos = (
        "Name|Priority|Preempt|PreemptMode|UsageFactor\n"
        "high|9|low,test|cluster|1\nlow|0||cluster|1\ntest|0||requeue|1\n"
    )
    first, other = written(of_files(partitions=TIERS, slurm_conf=conf, qos=qos)).pools
    assert [
        {key: value for key, value in rule if value is not None or key == "requeue_s"}
        for rule in first.preemption
    ] == found
    assert other.preemption == (() if "partition_prio" in conf or not found else first.preemption)


def test_suspending_preemption_is_named_and_left_out() -> None:
    conf = "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"
    draft = of_files(partitions=TIERS, slurm_conf=conf)
    (told,) = [fact.warning for fact in draft.facts if fact.value == "partly left out"]
    assert told == "PreemptMode gang, suspend is not simulated"
    assert [rule.partition for rule in written(draft).pools[0].preemption] == [("batch",)]
