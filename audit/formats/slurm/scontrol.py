"""Text of Slurm's `scontrol show partition`, in its long form or one line each (`-o`).

    PartitionName=batch
       Nodes=node[01-04,07],gpu1
       State=UP TotalCPUs=96 TotalNodes=6
       TRES=cpu=96,mem=375G,node=6,gres/gpu=4,gres/gpu:a100=4
       TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=8.0

Read are the name, the nodes, how much all of them have together, what a job is billed there, the
factor of its priority and the tier; every other key is passed over. The text may come from anyone:
what cannot be read is unknown and said, and lists of nodes are expanded up to ``MOST_NAMES``.
Sources: scontrol's manual page ("show partition"), slurm.conf's ("NodeName", ranges in brackets,
"TRESBillingWeights"), Slurm 17.11 to 25.05.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Final

import polars as pl

from audit.formats.shaping import LARGEST, MIB
from audit.formats.slurm.fields import amounts, tres, tres_weights

MOST_NAMES: Final = 1 << 20
"""So many names of nodes are written out, for all partitions of a text together."""

LONGEST_NAME: Final = 255
"""No name of a node is longer (Linux allows 64, the Internet 253)."""

MOST_MEMORY: Final = 1 << 60
"""No partition has as many bytes: a larger amount is damage."""

RESOURCES: Final = ("cpus", "nodes", "gpus", "mem_bytes")
"""What is known of a partition's hardware, as config.toml calls it."""

_RECORD = re.compile(r"^[ \t]*PartitionName=", re.MULTILINE)
_KEY = re.compile(
    r"(?<!\S)(Nodes|TotalCPUs|TotalNodes|TRES|TRESBillingWeights|PriorityJobFactor|PriorityTier"
    r"|MaxTime|QoS|OverSubscribe)=(\S*)"
)
_CLUSTER = re.compile(r"^[ \t]*(?:ClusterName[ \t]*=|CLUSTER:)[ \t]*(\S+)", re.MULTILINE)
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NAMES = re.compile(r"[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*")
_NOTHING: Final = ("", "(null)", "N/A")


@dataclass(frozen=True)
class Partition:
    """One partition and the hardware behind it."""

    name: str
    nodes: frozenset[str]
    """Names of its nodes; empty where it has none."""
    total: Mapping[str, int]
    """What its nodes have together, by ``RESOURCES``; what is unknown is left out."""
    billing_weights: Mapping[str, float] = field(default_factory=dict)
    """TRESBillingWeights, see ``formats.slurm.fields``; empty: jobs are billed their CPUs."""
    job_factor: int = 1
    """PriorityJobFactor."""
    tier: int = 1
    """PriorityTier: jobs of a greater one come first, whatever their priority."""
    max_time: str = ""
    """MaxTime, as it is written; empty: none."""
    qos: str | None = None
    """The QOS whose limits hold for all its jobs."""
    exclusive: bool = False
    """Whether each job gets whole nodes (OverSubscribe=EXCLUSIVE)."""


@dataclass(frozen=True)
class Listing:
    """What a text says."""

    partitions: tuple[Partition, ...]
    """In the order of the text; one that it names twice as it says last."""
    cluster: str | None = None
    """Name of the cluster, where the text begins with `scontrol show config`."""
    problems: tuple[str, ...] = ()
    """What could not be used of it, in words for the user."""


def read(text: str) -> Listing:
    """Reads the text of `scontrol show partition`; never raises for what it holds."""
    before, *records = _RECORD.split(text)
    problems: list[str] = []
    entries: dict[str, dict[str, str]] = {}
    for record in records:
        name = re.split(r"\s", record, maxsplit=1)[0]
        if not name:
            problems.append("a partition without a name is left out")
            continue
        if name in entries:
            problems.append(f"partition {name!r} stands there more than once: its last entry holds")
        values = entries[name] = {}
        for key, value in _KEY.findall(record):
            if value not in _NOTHING:
                values.setdefault(key, value)
    nodes = _nodes(entries, problems)
    totals = _totals(entries)
    partitions = tuple(
        Partition(
            name,
            nodes[name],
            totals[name],
            _billing_weights(name, entries[name], problems),
            _whole(entries[name], "PriorityJobFactor"),
            _whole(entries[name], "PriorityTier"),
            entries[name].get("MaxTime", ""),
            entries[name].get("QoS"),
            entries[name].get("OverSubscribe") == "EXCLUSIVE",
        )
        for name in entries
    )
    named = _CLUSTER.search(before)
    return Listing(partitions, named[1] if named else None, tuple(problems))


def expand(hostlist: str, most: int = MOST_NAMES) -> frozenset[str] | None:
    """`node[01-03,07],gpu1` → the names; None where it is malformed or names more than ``most``.

    Numbers keep the width that their range begins with, and a name may have several brackets.
    """
    names: set[str] = set()
    for item in _items(hostlist):
        if not item or not _NAMES.fullmatch(item):
            return None
        parts: list[Sequence[str]] = []
        count, length = 1, 0
        # text and the content of brackets take turns
        for index, part in enumerate(re.split(r"[\[\]]", item)):
            choices = _choices(part, most) if index % 2 else (part,)
            if choices is None:
                return None
            parts.append(choices)
            count *= len(choices)
            length += len(choices[-1])
            if count > most or length > LONGEST_NAME:
                return None
        names.update("".join(chosen) for chosen in product(*parts))
        if len(names) > most:
            return None
    return frozenset(names)


def shared(partitions: Sequence[Partition]) -> list[list[Partition]]:
    """Partitions that share nodes, directly or by way of others; in the order of the text.

    Those without nodes have no hardware to share, and are left out.
    """
    parent = list(range(len(partitions)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first: dict[str, int] = {}
    for index, partition in enumerate(partitions):
        for node in partition.nodes:
            one, other = sorted((root(first.setdefault(node, index)), root(index)))
            parent[other] = one
    groups: dict[int, list[Partition]] = {}
    for index, partition in enumerate(partitions):
        if partition.nodes:
            groups.setdefault(root(index), []).append(partition)
    return list(groups.values())


def capacity(partitions: Sequence[Partition]) -> dict[str, int]:
    """What the nodes of some partitions have together, each node counted once.

    A partition that has all the nodes says it outright. Otherwise each node is given an even part
    of its partition's total: partitions of few nodes first, and what they gave is taken from the
    totals of the others. So it is exact where the nodes of a partition are alike, and where
    partitions lie within one another. What is unknown of a node is left out, and so are zeros.
    """
    union = frozenset[str]().union(*(partition.nodes for partition in partitions))
    amounts = {}
    for resource in RESOURCES:
        known = sorted(
            (partition for partition in partitions if resource in partition.total),
            key=lambda partition: len(partition.nodes),
        )
        whole = [partition.total[resource] for partition in known if partition.nodes == union]
        amount = max(whole) if whole else _in_parts(known, union, resource)
        if amount and amount <= _limit(resource):
            amounts[resource] = amount
    return amounts


def _in_parts(partitions: Sequence[Partition], union: frozenset[str], resource: str) -> int | None:
    each: dict[str, Fraction] = {}
    for partition in partitions:
        fresh = partition.nodes - each.keys()
        if not fresh:
            continue
        given = Counter(each[node] for node in partition.nodes - fresh)
        total = partition.total[resource]
        left = total - sum(part * count for part, count in given.items())
        if left < 0:  # they disagree: what the fewer nodes have is an average, too
            left = Fraction(total * len(fresh), len(partition.nodes))
        each.update(dict.fromkeys(fresh, Fraction(left) / len(fresh)))
    if each.keys() != union:
        return None
    return round(sum((part * count for part, count in Counter(each.values()).items()), Fraction()))


def _items(hostlist: str) -> Iterator[str]:
    """Cuts a list at the commas outside brackets."""
    begin = depth = 0
    for index, letter in enumerate(hostlist):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield hostlist[begin:index]
            begin = index + 1
    yield hostlist[begin:]


def _choices(ranges: str, most: int) -> Sequence[str] | None:
    """`01-03,07` → 01, 02, 03, 07; None where it is no such list, or longer than ``most``."""
    names: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or len(names) + last - first >= most:
            return None
        names.extend(str(number).zfill(len(match[1])) for number in range(first, last + 1))
    return names


def _nodes(
    entries: Mapping[str, Mapping[str, str]], problems: list[str]
) -> dict[str, frozenset[str]]:
    nodes_of: dict[str, frozenset[str]] = {}
    left = MOST_NAMES
    for name, values in entries.items():
        listed = values.get("Nodes", "")
        nodes = expand(listed, left) if listed else frozenset()
        if nodes is None:
            # the list stands for itself: partitions that have the same one still share it
            shown = listed if len(listed) <= 60 else f"{listed[:60]}…"
            problems.append(
                f"partition {name!r}: its nodes {shown!r} are no list of names and ranges, or too "
                "many: it shares them with the partitions of the same list alone"
            )
            nodes = frozenset({listed})
        left -= len(nodes)
        nodes_of[name] = nodes
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


def _totals(entries: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, int]]:
    """What each partition has; its TRES before the older keys, which count reserved cores, too."""
    keys = ("TRES", "TotalCPUs", "TotalNodes")
    frame = pl.DataFrame(
        {key: [values.get(key) for values in entries.values()] for key in keys},
        schema=dict.fromkeys(keys, pl.String),
    )
    listed = tres(pl.col("TRES"))
    memory = pl.col("TRES").str.extract(r"(?:^|,)mem=([^,]*)")
    read = frame.select(
        cpus=pl.coalesce(listed["cpus"], amounts(pl.col("TotalCPUs"))),
        nodes=pl.coalesce(listed["nodes"], amounts(pl.col("TotalNodes"))),
        # a list of resources without GPUs: there are none
        gpus=pl.coalesce(listed["gpus"], pl.when(pl.col("TRES").is_not_null()).then(0)),
        # not as a job's memory: 2 PiB of it are no overflow here
        mem_bytes=amounts(
            pl.when(memory.str.contains(r"\d$")).then(memory + "M").otherwise(memory)
        ),
    ).with_columns(
        # slurm.conf gives a node 1 MiB where it says nothing
        mem_bytes=pl.when(pl.col("mem_bytes") > pl.col("nodes").fill_null(1) * MIB).then(
            "mem_bytes"
        )
    )
    return {
        name: {
            resource: amount
            for resource, amount in row.items()
            if amount is not None and 0 <= amount <= _limit(resource)
        }
        for name, row in zip(entries, read.iter_rows(named=True), strict=True)
    }


def _limit(resource: str) -> int:
    return MOST_MEMORY if resource == "mem_bytes" else LARGEST
