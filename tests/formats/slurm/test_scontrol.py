"""scontrol's partitions: both forms, lists of nodes, hardware counted once, hostile text."""

from collections.abc import Iterable
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm import scontrol
from audit.formats.slurm.scontrol import Partition, PartitionListing, capacity, read, shared

# of our own lab, Slurm 22.05
LAB = """\
PartitionName=batch
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=n[1-4]
   State=UP TotalCPUs=64 TotalNodes=4 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerCPU=1000 MaxMemPerNode=UNLIMITED
   TRES=cpu=64,mem=250G,node=4,billing=254,gres/gpu=16,gres/gpu:a100=16
   TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=8.0

PartitionName=cpuonly
   AllocNodes=ALL Default=NO QoS=N/A
   Nodes=n1
   State=UP TotalCPUs=16 TotalNodes=1 SelectTypeParameters=NONE
   TRES=cpu=16,mem=62.50G,node=1,billing=16,gres/gpu=4,gres/gpu:a100=4

"""
GIB = 1 << 30


def only(text: str) -> Partition:
    (partition,) = read(text).partitions
    return partition


def numbered(first: int, last: int) -> frozenset[str]:
    return frozenset(f"n{number}" for number in range(first, last + 1))


def test_the_long_form() -> None:
    listing = read(LAB)
    assert listing.problems == ()
    assert listing.cluster is None
    assert listing.partitions == (
        Partition(
            "batch",
            numbered(1, 4),
            {"cpus": 64, "nodes": 4, "gpus": 16, "mem_bytes": 250 * GIB},
            {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 8.0},
            max_time="1-00:00:00",
        ),
        Partition(
            "cpuonly",
            numbered(1, 1),
            {"cpus": 16, "nodes": 1, "gpus": 4, "mem_bytes": 64_000 << 20},
        ),
    )


def test_factors_of_priorities() -> None:
    keys = "PriorityJobFactor=50 PriorityTier=3"
    one, other = read(f"PartitionName=a {keys}\nPartitionName=b PriorityTier=x\n").partitions
    assert (one.job_factor, one.tier) == (50, 3)
    assert (other.job_factor, other.tier) == (1, 1)


def test_one_line_each_says_the_same() -> None:
    lines = [" ".join(block.split()) for block in LAB.split("\n\n")]
    assert read("\n".join(lines)) == read(LAB)
    assert read(LAB.replace("\n", "\r\n")) == read(LAB)


def test_the_cluster_s_name_where_its_configuration_stands_before() -> None:
    before = "Configuration data as of 2026\nClusterName             = lab\nSlurmctldPort = 6817\n"
    assert read(before + LAB).cluster == "lab"
    assert read(LAB + before).cluster is None


@pytest.mark.thorough
def test_hostile_text_takes_no_time() -> None:
    begun = process_time()
    for nodes in ("[" * 100_000, "n[1]," * 20_000, "n" + "[1-2]" * 50_000, "n[1-1000000]"):
        read(f"PartitionName=a Nodes={nodes}\nPartitionName=b Nodes={nodes}\n")
    assert process_time() - begun < 20


def test_nodes_that_cannot_be_distinguished_are_shared_by_those_that_list_the_same() -> None:
    listing = read(
        "PartitionName=a Nodes=n[1- TRES=cpu=8\nPartitionName=b Nodes=n[1- TRES=cpu=8\n"
        "PartitionName=c Nodes=n1 TRES=cpu=4\n"
    )
    assert len(listing.problems) == 2
    assert "partition 'a': its nodes 'n[1-' are not a list" in listing.problems[0]
    groups = shared(listing.partitions)
    assert [[part.name for part in group] for group in groups] == [["a", "b"], ["c"]]
    assert capacity(groups[0]) == {"cpus": 8}


def test_a_partition_without_nodes_has_no_hardware() -> None:
    listing = read(
        "PartitionName=a\n   Nodes=(null)\n   TotalCPUs=0 TotalNodes=0\n   TRES=(null)\n"
    )
    assert listing.partitions == (Partition("a", frozenset(), {"cpus": 0, "nodes": 0}),)
    assert shared(listing.partitions) == []


def test_a_partition_that_is_named_twice_or_not_at_all() -> None:
    listing = read("PartitionName=a Nodes=n1\nPartitionName= Nodes=n2\nPartitionName=a Nodes=n3\n")
    assert [(part.name, part.nodes) for part in listing.partitions] == [("a", frozenset({"n3"}))]
    assert len(listing.problems) == 2


@pytest.mark.parametrize(
    ("keys", "total"),
    [
        ("TotalCPUs=64 TotalNodes=4", {"cpus": 64, "nodes": 4}),
        ("TotalCPUs=64 TRES=cpu=60", {"cpus": 60, "gpus": 0}),
        ("TRES=cpu=1.50K,gres/gpu:a=3,gres/gpu:b=1", {"cpus": 1536, "gpus": 4}),
        ("TRES=mem=1.5T", {"gpus": 0, "mem_bytes": 1536 * GIB}),
        ("TRES=mem=64000", {"gpus": 0, "mem_bytes": 64_000 << 20}),
        ("TRES=mem=4P", {"gpus": 0, "mem_bytes": 4 << 50}),  # more MiB than the flag of a job's
        ("TRES=mem=4M,node=4", {"nodes": 4, "gpus": 0}),  # RealMemory was never set
        ("TotalCPUs=-5 TRES=cpu=x,node=99999999999999999999", {"gpus": 0}),
        ("TRES=mem=9999999999999999Z,cpu=9Z", {"gpus": 0}),
    ],
)
def test_what_a_partition_has(keys: str, total: dict[str, int]) -> None:
    assert only(f"PartitionName=a Nodes=n[1-4] {keys}\n").total == total


def partition(name: str, of: Iterable[str], /, **total: int) -> Partition:
    return Partition(name, frozenset(of), total)


def test_partitions_are_shared_by_way_of_others() -> None:
    parts = [
        partition("a", ["n1"]),
        partition("b", ["n3"]),
        partition("c", ["n9"]),
        partition("d", ["n1", "n2"]),
        partition("e", ["n2", "n3"]),
    ]
    groups = [[part.name for part in group] for group in shared(parts)]
    assert groups == [["a", "b", "d", "e"], ["c"]]


def test_nodes_are_counted_once() -> None:
    parts = [
        partition("a", numbered(1, 4), cpus=64, nodes=4),
        partition("b", numbered(3, 6), cpus=64, nodes=4),
    ]
    assert capacity(parts) == {"cpus": 96, "nodes": 6}


def test_unlike_nodes_of_partitions_within_one_another() -> None:
    parts = [
        partition("all", numbered(1, 4), cpus=100, gpus=8),
        partition("fat", numbered(4, 4), cpus=64, gpus=8),
        partition("more", numbered(4, 5), cpus=80, gpus=8),
    ]
    assert capacity(parts) == {"cpus": 116, "gpus": 8}


def test_what_is_unknown_of_a_node_is_left_out() -> None:
    parts = [
        partition("a", numbered(1, 2), cpus=8, nodes=2),
        partition("b", numbered(2, 3), nodes=2),
    ]
    assert capacity(parts) == {"nodes": 3}


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, int], list[Partition]]:
    """CPUs of each node, and partitions of them that say the truth."""
    nodes = {f"n{index}": draw(st.integers(1, 9)) for index in range(draw(st.integers(1, 8)))}
    sets = draw(st.lists(st.sets(st.sampled_from(sorted(nodes)), min_size=1), max_size=6))
    return nodes, [
        partition(f"p{index}", names, cpus=sum(nodes[name] for name in names), nodes=len(names))
        for index, names in enumerate(sets)
    ]


@given(clusters())
def test_groups_part_the_nodes(cluster: tuple[dict[str, int], list[Partition]]) -> None:
    nodes, parts = cluster
    groups = shared(parts)
    unions = [frozenset[str]().union(*(part.nodes for part in group)) for group in groups]
    assert sorted(name for union in unions for name in union) == sorted(
        {name for part in parts for name in part.nodes}
    )
    assert sorted(part.name for group in groups for part in group) == sorted(
        part.name for part in parts
    )
    for group, union in zip(groups, unions, strict=True):
        assert capacity(group)["nodes"] == len(union)
        whole = [*group, partition("whole", union, cpus=sum(nodes[name] for name in union))]
        assert capacity(whole)["cpus"] == sum(nodes[name] for name in union)


@given(clusters(), st.integers(1, 128))
def test_alike_nodes_are_exact(cluster: tuple[dict[str, int], list[Partition]], each: int) -> None:
    parts = [partition(part.name, part.nodes, cpus=each * len(part.nodes)) for part in cluster[1]]
    for group in shared(parts):
        union = frozenset[str]().union(*(part.nodes for part in group))
        assert capacity(group) == {"cpus": each * len(union)}


_words = st.sampled_from(
    [
        *LAB.split(),
        "PartitionName=",
        "\nPartitionName=x",
        "Nodes=n[1-",
        "TRES=mem=",
        "\n",
        "٣",
        "[,",
    ]
)


@given(st.lists(_words | st.text(max_size=8), max_size=40).map(" ".join))
def test_no_text_is_too_odd(text: str) -> None:
    listing = read(text)
    for group in shared(listing.partitions):
        for resource, amount in capacity(group).items():
            assert resource in {name for name, _ in scontrol.TRACKED.values()}
            assert amount >= 1


@pytest.mark.parametrize("line", ["NodeName=n[1-4] CPUs=4", "PartitionName=DEFAULT MaxTime=60"])
def test_slurm_conf_is_no_list_of_partitions(line: str) -> None:
    """There, partitions inherit limits and name sets of nodes (NodeSet)."""
    assert read(f"{line}\nPartitionName=batch Nodes=n[1-4]\n") == PartitionListing(())
