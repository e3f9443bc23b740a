"""Slurm's limits as those of the model: of whom, what goes before what, and what is left out."""

from audit.formats.slurm import sacctmgr, scontrol
from audit.formats.slurm.limits import limits_of
from audit.model import Limit, Scope

ASSOC = """Account|User|Partition|Share|ParentName|GrpJobs|GrpTRES|MaxJobs|MaxTRES|MaxWall
root|||1||||||
physics|||1|root||cpu=64,mem=1G|4||
theory|||1|physics|10|||node=2|1-00:00:00
theory|ann||1||||||
theory|bob||1||||9||
"""
QOS = """Name|UsageFactor|GrpTRES|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MaxJobsPA
normal|1|||||||
high|1|cpu=8|gres/gpu=1|00:10:00|cpu=4,license/x=3|2|
"""
PARTITIONS = """PartitionName=short
   QoS=N/A MaxTime=02:00:00 MaxNodes=UNLIMITED
PartitionName=long
   QoS=high MaxTime=UNLIMITED
"""


def limits(assoc: str = "", qos: str = "", partitions: str = "") -> list[Limit]:
    rows = sacctmgr.associations(assoc).rows if assoc else ()
    qualities = sacctmgr.qualities(qos).rows if qos else ()
    return list(limits_of(rows, qualities, scontrol.read(partitions).partitions).limits)


def test_associations() -> None:
    below = ("physics", "theory")
    assert limits(ASSOC) == [
        Limit(most=10, account=("theory",)),
        Limit(most=64, resource="cpus", account=below),
        Limit(most=1 << 30, resource="mem_bytes", account=below),
        Limit(most=4, per="user", account=("physics",)),
        # a user with a separate limit does not inherit it, so each user is named
        Limit(most=4, per="user", user=("ann",), account=("theory",)),
        Limit(most=9, per="user", user=("bob",), account=("theory",)),
        Limit(most=2, resource="nodes", per="job", account=("theory",)),
        Limit(most=0, account=("theory",), walltime_above_s=86400),
    ]


def test_a_dump_says_the_same() -> None:
    dump = """Cluster - 'lab':Fairshare=1
Parent - 'root'
Account - 'physics':Fairshare=1:GrpTRES=cpu=64,mem=1G:MaxJobs=4
Parent - 'physics'
Account - 'theory':Fairshare=1:GrpJobs=10:MaxTRESPerJob=node=2:MaxWallDurationPerJob=1440
Parent - 'theory'
User - 'ann':Fairshare=1
User - 'bob':Fairshare=1:MaxJobs=9
"""
    assert limits(dump) == limits(ASSOC)


def test_qualities() -> None:
    of = Scope(qos=("high",))
    assert limits(qos=QOS) == [
        Limit(most=8, resource="cpus", **of.conditions),
        Limit(most=2, per="user", **of.conditions),
        Limit(most=1, resource="gpus", per="job", **of.conditions),
        Limit(most=4, resource="cpus", per="user", **of.conditions),
        Limit(most=0, **of.but(walltime_above_s=600).conditions),
    ]
    assert limits_of((), sacctmgr.qualities(QOS).rows, ()).left_out == ("maxtrespu of license/x",)


def test_a_limit_of_a_qos_goes_before_that_of_an_association() -> None:
    found = limits(ASSOC, QOS)[:8]
    assert [limit.exempt_qos for limit in found] == [
        *((), ("high",), ()),  # of cpus, not of memory
        *(("high",), ("high",), ("high",)),
        *((), ("high",)),  # of gpus, not of nodes
    ]


def test_partitions() -> None:
    assert limits(partitions=PARTITIONS) == [
        Limit(most=0, partition=("short",), walltime_above_s=7200)
    ]
    own = [limit for limit in limits(qos=QOS, partitions=PARTITIONS) if limit.partition]
    assert len(own) == 1 + 5
    assert own[1] == Limit(most=8, resource="cpus", partition=("long",))


def test_nothing_is_limited_where_nothing_is_set() -> None:
    assert (
        limits(
            ASSOC.replace("cpu=64,mem=1G|4", "|")
            .replace("10|||node=2|1-00:00:00", "||||")
            .replace("|9|", "||")
        )
        == []
    )
