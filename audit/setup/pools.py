"""The pools of a cluster for config.toml: from Slurm's partitions, from nodes, or from logs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from audit import config
from audit.cluster import hardware, inference, separate
from audit.cluster.inference import Fact
from audit.cluster.setting import latest_instant
from audit.config.toml import value
from audit.formats.dialects import Header
from audit.formats.slurm import scontrol
from audit.model import ATTEMPTS, Node
from audit.rule_text import amount as amount_text

_PEAK: Final = "each run uses the peak in use, node by node if the log names them"


@dataclass(frozen=True)
class SeenInLogs:
    """The content of logs."""

    attempts: pl.DataFrame
    cluster: str | None
    partitions: tuple[str, ...]


def of_partitions(
    listing: scontrol.PartitionListing,
    path: Path,
    seen: SeenInLogs | None,
    facts: list[Fact],
    notes: dict[str, str],
) -> tuple[config.PoolConfig, ...]:
    """Return a pool for each group of partitions that share nodes in Slurm's listing."""
    source = f"scontrol ({path.name})"
    groups = scontrol.shared(listing.partitions)
    pools = []
    for index, group in enumerate(groups):
        amounts = scontrol.capacity(group)
        pool = config.PoolConfig(
            name=_pool_name(group, alone=len(groups) == 1),
            partitions=tuple(sorted(partition.name for partition in group)),
            capacity=config.AmountsConfig(**amounts),
            exclusive_nodes="nodes" in amounts and all(part.exclusive for part in group),
        )
        pools.append(pool)
        listed = ", ".join(amount_text(most, resource) for resource, most in amounts.items())
        found = f"{', '.join(pool.partitions)}: {listed or '?'}"
        facts.append(Fact(f"pool {pool.name!r}", found, source))
        key = f"clusters.pools[{index}]"
        if pool.exclusive_nodes:
            notes[f"{key}.exclusive_nodes"] = f"From {path.name} (OverSubscribe=EXCLUSIVE)."
        notes[f"{key}.capacity"] = (
            f"From {source}."
            if "cpus" in amounts
            else f"To fill in, such as {{ cpus = 512 }}: it is not in {source}, so {_PEAK}."
        )
    facts += [Fact("partitions", str(path), source, problem) for problem in listing.problems]
    empty = [partition.name for partition in listing.partitions if not partition.nodes]
    if empty:
        facts.append(Fact("partitions without nodes", ", ".join(empty), source))
    in_pools = {partition for pool in pools for partition in pool.partitions}
    strays = [name for name in (seen.partitions if seen else ()) if name not in in_pools]
    if strays:
        listed = ", ".join(strays)
        warning = (
            f"the log has partitions without nodes in {path.name}: {listed}. Add each to the pool "
            "whose hardware it uses; otherwise runs put them into a separate pool"
        )
        facts.append(Fact("partitions in no pool", listed, "the log", warning))
        notes["clusters.pools[0].partitions"] = f"To add, from the log: {value(tuple(strays))}"
    return tuple(pools) or (config.PoolConfig(name=inference.POOL),)


def _pool_name(group: Sequence[scontrol.Partition], *, alone: bool) -> str:
    if alone and len(group) > 1:
        return inference.POOL
    return max(group, key=lambda part: (len(part.nodes), part.total.get("cpus", 0))).name


def inferred(
    seen: SeenInLogs | None, headers: Sequence[Header], facts: list[Fact], notes: dict[str, str]
) -> tuple[config.PoolConfig, ...]:
    """Return the pools of a cluster whose hardware no file describes."""
    path = "clusters.pools[0]"
    if seen is None:
        notes[f"{path}.capacity"] = f"To fill in, such as {{ cpus = 512 }}; without it, {_PEAK}."
        return (config.PoolConfig(name=inference.POOL),)
    groups, divided = separate.pools(seen.attempts, headers=headers)
    if divided is not None:
        return _groups(seen.attempts, groups, divided, facts, notes, f"Left out: {_PEAK}.")
    if seen.partitions:
        facts.append(Fact("partitions", ", ".join(seen.partitions), "the log"))
        notes[f"{path}.partitions"] = f"Seen in the log: {value(seen.partitions)}"
    resource = hardware.counted(seen.attempts)
    claimed = inference.claimed(headers, resource)
    amounts: dict[str, int] = {}
    if not claimed or not seen.attempts[resource].count():
        why = "it is not in the log's header"
        note = f"Left out, since {why}: {_PEAK}."
        fact = Fact(f"capacity of pool {inference.POOL!r}", "the peak in use", f"default: {why}")
    else:
        now = latest_instant(seen.attempts) or 0
        amount, fact = inference.capacity(seen.attempts, headers, resource, None, now)
        if fact.warning is None:
            note = f"From {fact.source}."
            amounts = {resource.value: amount}
        else:
            why = f"the log contradicts its header's {claimed:,} {resource}"
            note = f"Left out, since {why}: {_PEAK}."
            warning = f"{why}, since up to {amount:,} were in use: {_PEAK}"
            fact = replace(fact, warning=warning)
    facts.append(fact)
    notes[f"{path}.capacity"] = note
    capacity = config.AmountsConfig(**amounts)
    return (config.PoolConfig(name=inference.POOL, resource=resource, capacity=capacity),)


def of_nodes(
    nodes: Sequence[Node], seen: SeenInLogs | None, facts: list[Fact], notes: dict[str, str]
) -> tuple[config.PoolConfig, ...]:
    """Return a pool for each group of partitions that share declared nodes."""
    attempts = pl.DataFrame(schema=ATTEMPTS) if seen is None else seen.attempts
    named = sorted(
        {name for node in nodes for name in node.partitions} - set(attempts["partition"])
    )
    partitions = pl.DataFrame({"partition": named}, schema={"partition": pl.String})
    every = pl.concat([attempts, partitions], how="diagonal")
    groups, divided = separate.pools(every, nodes)
    facts.append(Fact("nodes", f"{len(nodes):,}", nodes[0].source))
    note = "Left out: each run takes it from its nodes."
    if divided is not None:
        return _groups(attempts, groups, divided, facts, notes, note)
    notes["clusters.pools[0].capacity"] = note
    return (config.PoolConfig(name=inference.POOL, resource=hardware.counted(attempts)),)


def _groups(
    attempts: pl.DataFrame,
    groups: Sequence[Sequence[str | None]],
    divided: Fact,
    facts: list[Fact],
    notes: dict[str, str],
    note: str,
) -> tuple[config.PoolConfig, ...]:
    """Return a pool for each group of partitions that share hardware."""
    pools = []
    facts.append(divided)
    for number, group in enumerate(groups):
        names = tuple(name for name in group if name is not None)
        counted = hardware.counted(attempts.filter(pl.col("partition").is_in(names)))
        pools.append(config.PoolConfig(name=names[0], partitions=names, resource=counted))
        notes[f"clusters.pools[{number}].capacity"] = note
    return tuple(pools)
