"""Text of Slurm's `scontrol show partition`, in its long form or one line each (`-o`).

    PartitionName=batch
       Nodes=node[01-04,07],gpu1
       State=UP TotalCPUs=96 TotalNodes=6
       TRES=cpu=96,mem=375G,node=6,gres/gpu=4,gres/gpu:a100=4
       TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=8.0

The text may come from anyone: what cannot be read is unknown and reported, and lists of nodes are
expanded up to ``MOST_NAMES``. Sources: scontrol's manual page ("show partition"), slurm.conf's
("NodeName", ranges in brackets, "TRESBillingWeights"), Slurm 17.11 to 25.05.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from audit.formats.shaping import LARGEST, MIB, short
from audit.formats.slurm.fields import tres_amounts, tres_weights
from audit.hostlists import expand

MOST_NAMES: Final = 1 << 20  # maximum number of node names, for all partitions of a text together

MOST_MEMORY: Final = 1 << 60  # maximum bytes of a partition: larger amounts are damage

TRACKED: Final = {
    "cpu": ("cpus", 1),
    "node": ("nodes", 1),
    "gres/gpu": ("gpus", 1),
    "mem": ("mem_bytes", MIB),
}
"""Trackable resources that are read, and the name and unit of each in config.toml."""

_RECORD = re.compile(r"^[ \t]*PartitionName=", re.MULTILINE)
_KEY = re.compile(
    r"(?<!\S)(Nodes|TotalCPUs|TotalNodes|TRES|TRESBillingWeights|PriorityJobFactor|PriorityTier"
    r"|MaxTime|QoS|OverSubscribe|PreemptMode)=(\S*)"
)
_CLUSTER = re.compile(r"^[ \t]*(?:ClusterName[ \t]*=|CLUSTER:)[ \t]*(\S+)", re.MULTILINE)
_CONF: Final = re.compile(r"^[ \t]*(?:NodeName=|PartitionName=DEFAULT\b)", re.MULTILINE)
"""Lines of slurm.conf only, whose partitions inherit values and name sets of nodes."""
_NOTHING: Final = ("", "(null)", "N/A")


@dataclass(frozen=True)
class Partition:
    """One partition and the hardware behind it."""

    name: str
    nodes: frozenset[str]  # names of its nodes; may be empty
    total: Mapping[str, int]  # total of its nodes, by ``TRACKED``; unknown ones are left out
    billing_weights: Mapping[str, float] = field(default_factory=dict)
    """TRESBillingWeights, see ``formats.slurm.fields``; empty: jobs are billed their CPUs."""
    job_factor: int = 1  # PriorityJobFactor
    tier: int = 1  # PriorityTier: jobs of a higher one come first, whatever their priority
    max_time: str = ""  # MaxTime, as text; empty: none
    qos: str | None = None  # the QOS whose limits apply to all its jobs
    exclusive: bool = False  # whether each job gets whole nodes (OverSubscribe=EXCLUSIVE)
    preempt_mode: str = ""  # PreemptMode, in lower case; empty: that of the cluster


@dataclass(frozen=True)
class PartitionListing:
    """The partitions of a text."""

    partitions: tuple[Partition, ...]  # in the order of the text; of two with one name, the last
    cluster: str | None = None
    """Name of the cluster, if the text begins with `scontrol show config`."""
    problems: tuple[str, ...] = ()  # what could not be used, in words for the user


def read(text: str) -> PartitionListing:
    """Read the output of `scontrol show partition`; never raises for its content.

    Of slurm.conf, nothing is read.
    """
    if _CONF.search(text):
        return PartitionListing(())
    before, *records = _RECORD.split(text)
    problems: list[str] = []
    entries: dict[str, dict[str, str]] = {}
    for record in records:
        name = re.split(r"\s", record, maxsplit=1)[0]
        if not name:
            problems.append("a partition without a name is left out")
            continue
        if name in entries:
            problems.append(f"partition {name!r} is listed more than once: the last entry is used")
        pairs = [(key, value) for key, value in _KEY.findall(record) if value not in _NOTHING]
        entries[name] = dict(reversed(pairs))  # of keys that repeat, the first
    nodes = _nodes(entries, problems)
    partitions = tuple(
        Partition(
            name,
            nodes=nodes[name],
            total=_total(values),
            billing_weights=_billing_weights(name, values, problems),
            job_factor=_whole(values, "PriorityJobFactor"),
            tier=_whole(values, "PriorityTier"),
            max_time=values.get("MaxTime", ""),
            qos=values.get("QoS"),
            exclusive=values.get("OverSubscribe") == "EXCLUSIVE",
            preempt_mode=values.get("PreemptMode", "").lower(),
        )
        for name, values in entries.items()
    )
    named = _CLUSTER.search(before)
    return PartitionListing(partitions, named[1] if named else None, tuple(problems))


def shared(partitions: Sequence[Partition]) -> list[list[Partition]]:
    """Return groups of partitions that share nodes, directly or through others."""
    groups: dict[int, tuple[set[str], list[int]]] = {}
    group_of: dict[str, int] = {}
    for index, partition in enumerate(partitions):
        nodes, members = set(partition.nodes), [index]
        for other in {group_of[node] for node in partition.nodes if node in group_of}:
            more, earlier = groups.pop(other)
            nodes |= more
            members += earlier
        group_of.update(dict.fromkeys(nodes, index))
        if nodes:
            groups[index] = nodes, members
    found = sorted(sorted(members) for _, members in groups.values())
    return [[partitions[index] for index in members] for members in found]


def capacity(partitions: Sequence[Partition]) -> dict[str, int]:
    """Return the resources of the nodes of some partitions, each node counted once.

    If a partition has all the nodes, its total counts. Otherwise each node gets an even part of its
    partition's total, from the smallest partition on; later totals are reduced by the parts already
    given. This is exact if the nodes of a partition are alike, and for nested partitions. Unknown
    resources and zeros are left out.
    """
    union = frozenset[str]().union(*(partition.nodes for partition in partitions))
    smallest_first = sorted(partitions, key=lambda partition: len(partition.nodes))
    amounts = {}
    for resource, _ in TRACKED.values():
        known = [partition for partition in smallest_first if resource in partition.total]
        whole = [partition.total[resource] for partition in known if partition.nodes == union]
        amount = max(whole) if whole else _in_parts(known, union, resource)
        if amount and amount <= _limit(resource):
            amounts[resource] = amount
    return amounts


def _in_parts(partitions: Sequence[Partition], union: frozenset[str], resource: str) -> int | None:
    each: dict[str, Fraction] = {}
    for partition in partitions:
        if fresh := partition.nodes - each.keys():
            total = partition.total[resource]
            left = total - _sum(each[node] for node in partition.nodes - fresh)
            if left < 0:  # contradiction: the totals of smaller partitions are averages too
                left = Fraction(total * len(fresh), len(partition.nodes))
            each.update(dict.fromkeys(fresh, left / len(fresh)))
    return round(_sum(each.values())) if each.keys() == union else None


def _sum(parts: Iterable[Fraction]) -> Fraction:
    """Add up few distinct numbers, each of which occurs often."""
    return sum((part * count for part, count in Counter(parts).items()), Fraction())


def _nodes(
    entries: Mapping[str, Mapping[str, str]], problems: list[str]
) -> dict[str, frozenset[str]]:
    nodes_of: dict[str, frozenset[str]] = {}
    left = MOST_NAMES
    for name, values in entries.items():
        listed = values.get("Nodes", "")
        nodes = expand(listed, left)
        if nodes is None:
            # the list itself is the node: partitions with the same list still share it
            problems.append(
                f"partition {name!r}: its nodes {short(listed)} are not a list of names and "
                "ranges, or too many: it shares them with the partitions of the same list alone"
            )
            nodes = [listed]
        left -= len(nodes)
        nodes_of[name] = frozenset(nodes)
    return nodes_of


def _billing_weights(
    name: str, values: Mapping[str, str], problems: list[str]
) -> Mapping[str, float]:
    try:
        return tres_weights(values.get("TRESBillingWeights", ""))
    except ValueError as error:
        problems.append(f"partition {name!r}: TRESBillingWeights: {error}: jobs are billed CPUs")
        return {}


def _whole(values: Mapping[str, str], key: str) -> int:
    number = values.get(key, "")
    return int(number) if re.fullmatch(r"[0-9]{1,9}", number) else 1


def _total(values: Mapping[str, str]) -> dict[str, int]:
    """Return a partition's total: TRES, else the older keys, which include reserved cores."""
    listed = tres_amounts(values.get("TRES", ""))
    older = f"cpu={values.get('TotalCPUs')},node={values.get('TotalNodes')}"
    given = tres_amounts(older) | listed
    if "TRES" in values:  # a list without GPUs: there are none
        typed = (amount for name, amount in listed.items() if name.startswith("gres/gpu:"))
        given.setdefault("gres/gpu", sum(typed))
    if given.get("mem", 0) <= given.get("node", 1):  # 1 MiB per node is slurm.conf's default
        given.pop("mem", None)
    amounts = {of: given[name] * unit for name, (of, unit) in TRACKED.items() if name in given}
    return {of: round(amount) for of, amount in amounts.items() if amount <= _limit(of)}


def _limit(resource: str) -> int:
    return MOST_MEMORY if resource == "mem_bytes" else LARGEST
