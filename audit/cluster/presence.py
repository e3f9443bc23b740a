"""When the nodes of a pool were there, and the steps of its capacity that follow."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.metrics.nodes import members
from audit.model import Absence, CapacityStep, Node
from audit.scenario.workload import sum_until

UNSEEN: Final = "unseen"
"""Why a node is absent that was not there all the time."""
UNSEEN_S: Final = 28 * 86_400
"""Least time without a job, before its first or after its last one, in which a node was absent."""
UNSEEN_JOBS: Final = 20
"""Least number of jobs on a node from which on such a time is no coincidence."""
UNSEEN_BUSY: Final = 0.5
"""Least utilization of the other nodes in such a time: an idle machine needs no more of them."""


def outside(strays: Sequence[Node], spans: pl.DataFrame) -> Iterator[Absence]:
    """Yield the times before the first and after the last job on each node."""
    ran = _first_and_last(spans, members(spans["node_list"]))
    for node, first, last in ran.filter(pl.col("node").is_in([one.name for one in strays])).rows():
        yield Absence(node, 0, first, "down")
        yield Absence(node, last, None, "down")


def _first_and_last(spans: pl.DataFrame, on_lists: pl.DataFrame) -> pl.DataFrame:
    """Return when the first job began and the last one ended on each node: node, first, last."""
    first, last = pl.col("start_time").min(), pl.col("end").max()
    of_lists = spans.group_by("node_list").agg(first=first, last=last)
    by_node = of_lists.join(on_lists, on="node_list").group_by("node")
    return by_node.agg(pl.col("first").min(), pl.col("last").max()).sort("node")


def unseen(spans: pl.DataFrame, nodes: Sequence[Node], counted: str) -> tuple[Absence, ...]:
    """Return the times in which nodes were not there: machines grow, and nodes are replaced.

    They are at least ``UNSEEN_S`` long, and at least twice as long as the node ever was without a
    job between its jobs, of which it has ``UNSEEN_JOBS``; meanwhile, the nodes that were there had
    at least the utilization ``UNSEEN_BUSY`` of the counted resource.
    """
    on_lists = members(spans["node_list"])
    before = pl.col("first") - spans["start_time"].min()
    after = pl.lit(spans["end"].max()) - pl.col("last")
    some = _first_and_last(spans, on_lists).with_columns(before=before, after=after)
    some = some.filter(pl.max_horizontal("before", "after") >= UNSEEN_S)
    placed = on_lists.filter(pl.col("node").is_in(some["node"].implode()))
    jobs = spans.select("node_list", "start_time", "end").join(placed, on="node_list")
    jobs = jobs.sort("node", "start_time", "end")
    idle = pl.col("start_time") - pl.col("end").cum_max().shift().over("node")
    counts = jobs.with_columns(idle=idle).group_by("node").agg(pl.len(), pl.col("idle").max())
    counts = counts.filter(pl.col("len") >= UNSEEN_JOBS)
    found = []
    for row in some.join(counts, on="node").sort("node").iter_rows(named=True):
        least = max(UNSEEN_S, 2 * (row["idle"] or 0))
        if row["before"] >= least:
            found.append(Absence(row["node"], 0, row["first"], UNSEEN))
        if row["after"] >= least:
            found.append(Absence(row["node"], row["last"], None, UNSEEN))
    if not found:
        return ()
    start, stop = (spans[name].to_numpy().astype(np.float64) for name in ("start_time", "end"))
    first, last = start.min(), stop.max()
    begin = np.array([max(one.begin, first) for one in found], np.float64)
    end = np.array([last if one.end is None else one.end for one in found], np.float64)
    size = {node.name: dict(node.amounts).get(counted, 0) for node in nodes}
    gone = np.array([size[one.node] for one in found], np.float64)
    amounts = spans[counted].fill_null(0).to_numpy().astype(np.float64)
    used = _between(start, stop, amounts, begin, end)
    there = sum(size.values()) * (end - begin) - _between(begin, end, gone, begin, end)
    busy = used >= UNSEEN_BUSY * there
    return tuple(one for one, is_busy in zip(found, busy, strict=True) if is_busy)


def _between(begin: Floats, end: Floats, amount: Floats, since: Floats, to: Floats) -> Floats:
    """Return the integral of what spans have together, amount × s, over each of other spans."""
    zero = begin.min()
    begin, end, since, to = (edges - zero for edges in (begin, end, since, to))

    def until(edges: Floats, at: Floats) -> Floats:
        return sum_until(edges, amount, at) * at - sum_until(edges, amount * edges, at)

    return until(begin, to) - until(end, to) - until(begin, since) + until(end, since)


def after_starts(found: Sequence[Absence], attempts: pl.DataFrame) -> list[Absence]:
    """Return absences, those that nodes' own records date after the last start on the node.

    No job starts on a node after the command, so such a record is about an earlier time.

    Args:
        attempts: with node_list and start_time (epoch s).
    """
    doubted = {one.node for one in found if one.before is not None}
    if not doubted:
        return list(found)
    started = attempts.select("node_list", "start_time").drop_nulls()
    on_nodes = members(started["node_list"]).filter(pl.col("node").is_in(doubted))
    starts: dict[str, list[int]] = {}
    for node, start in on_nodes.join(started, on="node_list").select("node", "start_time").rows():
        starts.setdefault(node, []).append(start)
    return [
        one._replace(begin=max([one.begin, *(t + 1 for t in starts[one.node] if t < one.before)]))
        if one.before is not None and one.node in starts
        else one
        for one in found
    ]


def steps_of(
    amounts: Sequence[tuple[str, int]], shapes: Sequence[Node], absences: Iterable[Absence]
) -> tuple[CapacityStep, ...]:
    """Return the steps of a pool's amounts while nodes are drained or down; for sums over a pool.

    What runs in a reservation is taken from the capacity elsewhere (``contention.capacity_steps``).

    Args:
        amounts: those of the pool with all its nodes.
        shapes: its declared nodes.
        absences: of any nodes.
    """
    of_node = {node.name: dict(node.amounts) for node in shapes}
    changes: dict[int, Counter[str]] = {}
    for one in absences:
        if one.node in of_node and one.why != "reserved":
            for at, more in ((one.begin, 1), (one.end, -1)):
                if at is not None:
                    changes.setdefault(at, Counter())[one.node] += more
    reasons: Counter[str] = Counter()
    left, steps = dict(amounts), [CapacityStep(0, tuple(amounts))]
    for at, changed in sorted(changes.items()):
        for node, more in changed.items():
            was, reasons[node] = reasons[node] > 0, reasons[node] + more
            back = was - (reasons[node] > 0)  # 1: it is back, −1: it is gone, 0: neither
            for name in left:
                left[name] += back * of_node[node].get(name, int(name == "nodes"))
        had = tuple((name, max(amount, 0)) for name, amount in left.items())
        if had != steps[-1].amounts:
            steps.append(CapacityStep(at, had))
    return tuple(steps[1:])
