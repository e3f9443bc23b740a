"""A small modern site: 16 nodes of five kinds, six partitions, accounts, QOS and limits.

Disjoint sets of nodes make four pools: shared CPU nodes with two of much memory, whole nodes, GPU
nodes of two types, and a debug partition. A scavenger partition over all nodes is preempted.
"""

from typing import Final

_CPU: Final = "CPUs=16 CoresPerSocket=16 RealMemory=64000"
_MEMORY: Final = "CPUs=16 CoresPerSocket=16 RealMemory=256000"
_A100: Final = "CPUs=32 CoresPerSocket=32 RealMemory=128000 Gres=gpu:a100:4"
_V100: Final = "CPUs=16 CoresPerSocket=16 RealMemory=64000 Gres=gpu:v100:4"
_DEBUG: Final = "CPUs=8 CoresPerSocket=8 RealMemory=32000"

NODES: Final = {
    **dict.fromkeys(("c01", "c02"), f"{_CPU} Feature=avx2"),
    **dict.fromkeys(("c03", "c04"), f"{_CPU} Feature=avx512"),
    **dict.fromkeys(("m01", "m02"), f"{_MEMORY} Feature=avx512"),
    **dict.fromkeys(("w01", "w02", "w03", "w04"), f"{_CPU} Feature=avx2"),
    **dict.fromkeys(("a01", "a02"), f"{_A100} Feature=avx512,nvlink"),
    **dict.fromkeys(("v01", "v02"), f"{_V100} Feature=avx2"),
    **dict.fromkeys(("d01", "d02"), f"{_DEBUG} Feature=avx2"),
}

_PARTITION: Final = "PriorityTier=10 PreemptMode=OFF MaxTime=60"
_GPU_WEIGHTS: Final = "CPU=0.5,Mem=0.1G,GRES/gpu:a100=12.0,GRES/gpu:v100=5.0"

SETTINGS: Final = {
    "PreemptType": "preempt/partition_prio",
    "MinJobAge": "300",
    "SchedulerParameters": "bf_interval=15",
    "PriorityDecayHalfLife": "00:20:00",
    "PriorityUsageResetPeriod": "NONE",
    "PriorityMaxAge": "0-1",
    "PriorityWeightAge": "3000",
    "PriorityWeightFairshare": "10000",
    "PriorityWeightJobSize": "500",
    "PriorityWeightPartition": "1000",
    "PriorityWeightQOS": "3000",
    "AccountingStorageTRES": "gres/gpu,gres/gpu:a100,gres/gpu:v100",
    "Licenses": "solver:2",
    "SlurmctldDebug": "debug",
    "DebugFlags": "Backfill",
    "PartitionName=cpu": (
        f"Nodes=c[01-04],m[01-02] Default=YES DefaultTime=10 {_PARTITION} PriorityJobFactor=20 "
        "DefMemPerCPU=2000 MaxMemPerCPU=4000 TRESBillingWeights=CPU=1.0,Mem=0.25G"
    ),
    "PartitionName=bigmem": (
        f"Nodes=m[01-02] DefaultTime=10 {_PARTITION} PriorityJobFactor=20 "
        "DefMemPerCPU=8000 TRESBillingWeights=CPU=1.0,Mem=0.05G"
    ),
    "PartitionName=whole": (
        f"Nodes=w[01-04] DefaultTime=10 {_PARTITION} PriorityJobFactor=20 OverSubscribe=EXCLUSIVE "
        "DefMemPerNode=60000 TRESBillingWeights=CPU=1.0"
    ),
    "PartitionName=gpu": (
        f"Nodes=a[01-02],v[01-02] DefaultTime=10 {_PARTITION} PriorityJobFactor=20 "
        f"DefMemPerCPU=3000 TRESBillingWeights={_GPU_WEIGHTS}"
    ),
    "PartitionName=debug": (
        "Nodes=d[01-02] DefaultTime=2 PriorityTier=20 PreemptMode=OFF MaxTime=5 "
        "PriorityJobFactor=50 DefMemPerCPU=2000 QOS=debugging TRESBillingWeights=CPU=1.0"
    ),
    "PartitionName=scavenger": (
        "Nodes=ALL DefaultTime=10 PriorityTier=1 PreemptMode=REQUEUE MaxTime=30 "
        f"PriorityJobFactor=1 DefMemPerCPU=1500 TRESBillingWeights={_GPU_WEIGHTS}"
    ),
}
"""Lines of slurm.conf. A requeued job waits 120 s: cred_expire has its default."""

QUALITIES: Final = (
    ("modify", "qos", "normal", "set", "priority=100"),
    ("add", "qos", "high", "priority=1000", "usagefactor=2.0", "maxjobsperuser=2"),
    ("add", "qos", "low", "priority=0", "usagefactor=0.5"),
    ("add", "qos", "debugging", "priority=0", "maxjobsperuser=2"),
    ("add", "qos", "scavenging", "priority=0", "usagefactor=0.25", "maxtresperuser=cpu=32"),
)
"""Arguments of sacctmgr, before the clusters start."""

LIMITS: Final = (
    ("modify", "qos", "normal", "set", "maxjobsperuser=12", "maxtresperuser=gres/gpu=5"),
)
"""The same, for when a cluster has registered its GPUs with the accounting."""

ASSOCIATIONS: Final = """\
Cluster - '{name}':Fairshare=1:QOS='normal,high,low,scavenging':DefaultQOS='normal'
Parent - 'root'
Account - 'physics':Description='physics':Organization='science':Fairshare=40
Account - 'chemistry':Description='chemistry':Organization='science':Fairshare=30
Account - 'biology':Description='biology':Organization='science':Fairshare=20
Account - 'learning':Description='learning':Organization='science':Fairshare=30
Account - 'guests':Description='guests':Organization='others':Fairshare=5
Parent - 'physics'
Account - 'theory':Description='theory':Organization='science':Fairshare=3:GrpTRES=cpu=48
Account - 'experiment':Description='experiment':Organization='science':Fairshare=2
Parent - 'theory'
User - 'games':DefaultAccount='theory':Fairshare=10
User - 'mail':DefaultAccount='theory':Fairshare=20
Parent - 'experiment'
User - 'news':DefaultAccount='experiment':Fairshare=1:MaxJobs=5
Parent - 'chemistry'
User - 'list':DefaultAccount='chemistry':Fairshare=5
User - 'irc':DefaultAccount='chemistry':Fairshare=2147483647
Parent - 'biology'
User - 'uucp':DefaultAccount='biology':Fairshare=3
User - 'proxy':DefaultAccount='biology':Fairshare=1
Parent - 'learning'
User - 'backup':DefaultAccount='learning':Fairshare=1
User - 'lp':DefaultAccount='learning':Fairshare=2
Parent - 'guests'
User - 'man':DefaultAccount='guests':Fairshare=1
"""
"""As `sacctmgr dump` writes it, for each cluster."""
