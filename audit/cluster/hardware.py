"""The pools, resources and nodes of a cluster, as far as what ran on them shows (SPEC §12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.contention import peak_in_use
from audit.metrics.nodes import members
from audit.model import Node, Resource

ASKED_SHARE: Final = 0.01
"""Least share of the attempts, or of the waiting, that requests a resource which limits starts."""
ALL_ASK: Final = 0.95
"""Least share of the attempts that request GPUs if GPUs are counted."""
COMPLETE: Final = 0.99
"""Least share of the node-seconds of which the nodes are known."""
MOST_PLACES: Final = 5_000_000
"""Most nodes of all attempts together that are looked at one by one."""


def partition_groups(attempts: pl.DataFrame) -> list[list[str | None]]:
    """Return the partitions that share nodes, as groups; the one with most attempts first in each.

    A list of partitions, in which a pending job may start, belongs to the group of the first that
    ran jobs; partitions that ran none, to the group with most attempts. All are one group if the
    nodes of over a hundredth of the attempts that ran are not known.

    Args:
        attempts: columns of ``model.ATTEMPTS``.
    """
    named = attempts["partition"].unique().sort().to_list()
    ran = attempts.filter(pl.col("start_time").is_not_null() & pl.col("end_time").is_not_null())
    used = ran.select("partition", "node_list").drop_nulls().unique()
    shared = used.join(members(used["node_list"]), on="node_list").select("partition", "node")
    if shared.is_empty() or ran["node_list"].null_count() > (1 - COMPLETE) * ran.height:
        return [named]
    by_partition = shared.unique().group_by("partition").agg("node").sort("partition")
    groups = _connected(
        {*(("partition", name) for name in names.split(",")), *(("node", node) for node in nodes)}
        for names, nodes in by_partition.iter_rows()
    )
    counts = dict(attempts["partition"].value_counts().iter_rows())
    found: list[list[str | None]] = [[] for _ in groups]
    rest: list[str | None] = []
    for name in sorted(named, key=lambda name: (-counts[name], name or "")):
        parts = [("partition", part) for part in (name or "").split(",")]
        homes = [home for part in parts for home, group in enumerate(groups) if part in group]
        (found[homes[0]] if homes else rest).append(name)
    max(found, key=lambda group: sum(counts[name] for name in group)).extend(rest)
    return sorted(found, key=lambda group: str(group[0]))


def _connected(sets: Iterable[set[tuple[str, str]]]) -> list[set[tuple[str, str]]]:
    """Return the unions of sets that share members."""
    found: list[set[tuple[str, str]]] = []
    for one in sets:
        apart = [other for other in found if not other & one]
        joined = set().union(one, *(other for other in found if other & one))
        found = [*apart, joined]
    return found


def counted(attempts: pl.DataFrame) -> Resource:
    """Return GPUs if nearly all attempts request some; else CPUs, or what else the log gives."""
    share = attempts.select((pl.col("gpus") > 0).fill_null(value=False).mean()).item() or 0.0
    if share >= ALL_ASK:
        return Resource.gpus
    return next((one for one in Resource if attempts[one.value].count()), Resource.cpus)


def _requested(attempts: pl.DataFrame) -> dict[str, float]:
    """Return of CPUs and GPUs the share of attempts, or of waiting, that requests some."""
    ready = pl.coalesce("eligible_time", "submit_time")
    waited = (pl.col("start_time") - ready).clip(0)
    shares = {}
    for name in ("cpus", "gpus"):
        some = (pl.col(name) > 0).fill_null(value=False)
        of_waiting = waited.filter(some).sum() / pl.max_horizontal(waited.sum(), 1)
        shares[name] = attempts.select(pl.max_horizontal(some.mean(), of_waiting)).item() or 0.0
    return shares


class Hardware(NamedTuple):
    """What a pool consists of."""

    counted: Resource
    peaks: dict[str, int]
    """The most in use of each resource that limits starts; the counted one first."""
    nodes: tuple[Node, ...]
    """None if the nodes of more than a hundredth of the node-seconds are not known."""


def hardware(attempts: pl.DataFrame) -> Hardware:
    """Return what a pool consists of, by what ran at most.

    CPUs and GPUs limit starts if a hundredth of the attempts, or attempts with a hundredth of the
    waiting, request them. Memory does not: its peak in use is no sign of a capacity.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of the pool.
    """
    found = counted(attempts)
    limits = [name for name, share in _requested(attempts).items() if share >= ASKED_SHARE]
    order = [found.value, *(name for name in limits if name != found.value)]
    spans = _spans(attempts)
    peaks = {name: peak_in_use(spans, name) for name in order}
    # a resource that only jobs of 0 s were given limits nobody
    peaks = {name: peak for name, peak in peaks.items() if peak or name == found}
    return Hardware(found, peaks, _nodes(spans, list(peaks)))


def nodes_of(attempts: pl.DataFrame, resources: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of a pool, with the most of each resource that ran there; see ``Hardware``.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of the pool.
    """
    return _nodes(_spans(attempts), resources)


def _spans(attempts: pl.DataFrame) -> pl.DataFrame:
    start, end = pl.col("start_time"), pl.coalesce("end_time", pl.col("end_time").max())
    return attempts.with_columns(end=end).filter(start.is_not_null() & (pl.col("end") > start))


def _peaks(placed: pl.DataFrame, resources: Sequence[str]) -> pl.DataFrame:
    """Return the most in use at one time on each node: node and the resources."""
    amounts = [pl.col(name).fill_null(0) for name in resources]
    begins = placed.select("node", *amounts, at="start_time")
    ends = placed.select("node", *(-amount for amount in amounts), at="end")
    changes = pl.concat([begins, ends]).group_by("node", "at").agg(pl.col(*resources).sum())
    running = changes.sort("node", "at").select(
        "node", pl.col(*resources).cum_sum().over("node", order_by="at")
    )
    return running.group_by("node").agg(pl.col(*resources).max()).sort("node")


def _nodes(spans: pl.DataFrame, resources: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes on which attempts ran, with the most that ran on each."""
    if spans.is_empty():
        return ()
    listed = members(spans["node_list"])
    sizes = listed.group_by("node_list").agg(listed=pl.len())
    spans = spans.join(sizes, on="node_list", how="left")
    seconds = pl.col("nodes").fill_null(1) * (pl.col("end") - pl.col("start_time"))
    known = pl.col("listed") == pl.coalesce("nodes", "listed")
    share = spans.select(seconds.filter(known).sum() / seconds.sum()).item()
    if share is None or share < COMPLETE or (spans["listed"].sum() or 0) > MOST_PLACES:
        return ()
    placed = spans.filter(known).join(listed, on="node_list")
    each = [(-(-pl.col(name).fill_null(0) // pl.col("listed"))).alias(name) for name in resources]
    alone = _peaks(placed.filter(pl.col("listed") == 1), resources)
    several = placed.select("node", *each).group_by("node").agg(pl.col(*resources).max())
    most = pl.concat([alone, several]).group_by("node").agg(pl.col(*resources).max()).sort("node")
    partitions = dict(
        placed.select("node", pl.col("partition").fill_null(""))
        .group_by("node")
        .agg(pl.col("partition").unique().sort())
        .iter_rows()
    )
    return tuple(
        Node(name, tuple(zip(resources, amounts, strict=True)), tuple(partitions[name]))
        for name, *amounts in most.iter_rows()
    )
