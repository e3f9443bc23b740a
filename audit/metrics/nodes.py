"""The nodes of a pool, and what attempts use on each of them (SPEC §12).

Conventions: R resources, in their own units; N nodes; n attempts; times in epoch s. An attempt's
*set* holds the nodes of its partitions. An attempt fits if each of its parts fits on a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.hostlists import count, expand
from audit.metrics.attempts.contention import counted_resources, time_order
from audit.model import Node, Pool

Ints = NDArray[np.int64]

MOST_NAMES: Final = 2_000_000
"""Most nodes of all different hostlists together that are read one by one."""

ANY_NUMBER: Final = 1 << 40
"""Parts per node of an attempt that may be placed unevenly."""


class OnNodes(NamedTuple):
    """The nodes of a pool as the sweep takes them; see ``kernels.waiting.Nodes``."""

    capacity: Ints  # [R, N]
    first_member: Ints  # [sets + 1]
    member: Ints
    first_set: Ints  # [N + 1]
    set: Ints
    first: Ints  # [n + 1]
    node: Ints
    amount: Ints  # [R, …]
    part: Ints  # [R, n]
    parts: Ints  # [n]
    most: Ints  # [n]
    shape: Ints  # [n]: equal numbers: equal sets and parts
    change_time: Ints
    change_node: Ints
    change: Ints


class Placed(NamedTuple):
    """Where the attempts of a pool may run, and ran."""

    nodes: OnNodes
    set_of: Ints  # [n]
    guessed: float
    """Share of the node-seconds of which the split over nodes is a guess."""

    def by_set(self) -> Ints:
        """Return the capacity of each set, [sets · R]."""
        member, edges = self.nodes.member, self.nodes.first_member
        sums = [
            self.nodes.capacity[:, member[begin:end]].sum(axis=1) for begin, end in pairwise(edges)
        ]
        return np.concatenate([np.zeros(0, np.int64), *sums])


def sums_of(rows: pl.DataFrame) -> Placed:
    """Return the attempts of a pool without nodes."""
    none, edge = np.zeros(0, np.int64), np.zeros(1, np.int64)
    empty = np.zeros((0, 0), np.int64)
    nodes = OnNodes(
        *(empty, edge, none, edge, none, edge, none, empty, empty),
        *(none, none, none, none, none, none),
    )
    return Placed(nodes, np.zeros(rows.height, np.int64), 0.0)


def members(node_lists: pl.Series) -> pl.DataFrame:
    """Return the nodes of each different hostlist: node_list, node; unreadable ones have none.

    None have any if they name more than ``MOST_NAMES`` nodes together.
    """
    different = node_lists.drop_nulls().unique().sort()
    if sum(map(count, different)) > MOST_NAMES:
        different = different.clear()
    return (
        pl.DataFrame(
            {"node_list": different, "node": [expand(text) or [] for text in different]},
            schema={"node_list": pl.String, "node": pl.List(pl.String)},
        )
        .explode("node")
        .drop_nulls()
    )


def placed(rows: pl.DataFrame, reserved: pl.DataFrame, pool: Pool) -> Placed:
    """Return the nodes of a pool, and what its attempts use on them.

    Args:
        rows: n attempts with partition, node_list, nodes, start_time, ``end`` and the resources.
        reserved: the same of those in reservations, whose nodes are unavailable to others from the
            first start to the last end of the reservation.
        pool: with ``nodes``.
    """
    from audit.kernels import placement

    resources = counted_resources(pool)
    number = {node.name: k for k, node in enumerate(pool.nodes)}
    capacity = np.array(
        [
            [dict(node.amounts).get(name, int(name == "nodes")) for node in pool.nodes]
            for name in resources
        ],
        np.int64,
    )
    request = np.stack([_ints(rows[name]) for name in resources])
    start, end = _ints(rows["start_time"]), _ints(rows["end"])
    ran = rows["start_time"].is_not_null().to_numpy() & (end > start)
    first, node = _located(rows["node_list"], number, ran)
    at_work = np.flatnonzero(np.diff(first) > 0)
    amount = np.zeros((len(resources), len(node)), np.int64)
    guessed = np.zeros(rows.height, np.uint8)
    placement.split(
        *(start, end, _by(start, at_work), _by(end, at_work), request),
        *(capacity, first, node, amount, guessed),
    )
    parts = _parts(rows, request)
    seconds = np.diff(first) * (end - start)
    sets, set_of = _sets(rows["partition"], pool.nodes)
    by_node = [[s for s, held in enumerate(sets) if k in held] for k in range(len(pool.nodes))]
    nodes = OnNodes(
        capacity,
        *_lists([sorted(held) for held in sets]),
        *_lists(by_node),
        *(first, node, amount),
        *parts,
        shapes(set_of, *parts),
        *_reservations(reserved, number),
    )
    total = int(seconds[at_work].sum())
    share = float(seconds[guessed == 1].sum() / total) if total else 0.0
    return Placed(nodes, set_of, share)


def _located(
    node_lists: pl.Series, number: dict[str, int], ran: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Return where the nodes of each attempt begin, [n + 1], and the nodes, in their order."""
    known = {
        text: [number[name] for name in expand(text) or [] if name in number]
        for text in node_lists.drop_nulls().unique()
    }
    held = [known.get(text, []) if one else [] for text, one in zip(node_lists, ran, strict=True)]
    return _lists(held)


def _lists(held: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return lists one behind the other: where each begins, and what they hold."""
    first = np.cumsum([0, *(len(one) for one in held)]).astype(np.int64)
    return first, np.array([k for one in held for k in one], np.int64)


def _sets(partitions: pl.Series, nodes: Sequence[Node]) -> tuple[list[set[int]], Ints]:
    """Return the different sets of nodes that attempts may use, and the number of each one's."""
    sets: list[set[int]] = []
    number: dict[str | None, int] = {}
    for text in partitions.unique().sort():
        named = set((text or "").split(","))
        held = {k for k, node in enumerate(nodes) if text is None or named & set(node.partitions)}
        if held not in sets:
            sets.append(held)
        number[text] = sets.index(held)
    return sets, np.array([number[text] for text in partitions], np.int64)


def _parts(rows: pl.DataFrame, request: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the parts of attempts: amounts of one, their number, the most of them on a node.

    A request that divides evenly among its nodes has one part for each of them. Any other is
    placed CPU by CPU, with the other resources in proportion.
    """
    nodes = np.maximum(_ints(rows["nodes"]), 1)
    even = (request % nodes == 0).all(axis=0)
    parts = np.where(even, nodes, np.maximum(request[0], 1))
    part = -(-request // parts)
    return part, parts, np.where(even, 1, ANY_NUMBER)


def shapes(set_of: Ints, part: Ints, parts: Ints, most: Ints) -> Ints:
    """Return numbers that are equal where all of these are."""
    columns = {str(k): column for k, column in enumerate((set_of, parts, most, *part))}
    alike = pl.DataFrame(columns).select(shape=pl.struct(pl.all()).rank("dense") - 1)
    return _ints(alike["shape"].cast(pl.Int64))


def _reservations(reserved: pl.DataFrame, number: dict[str, int]) -> tuple[Ints, Ints, Ints]:
    """Return when reservations take nodes, and give them back: time, node, 1 or −1; ascending."""
    begun = reserved.filter(pl.col("start_time").is_not_null() & pl.col("node_list").is_not_null())
    changes = []
    for _, rows in begun.group_by("reservation"):
        names = {name for text in rows["node_list"].unique() for name in expand(text) or []}
        begin, end = rows["start_time"].min(), rows["end"].max()
        for name in names & number.keys():
            changes += [(begin, number[name], 1), (end, number[name], -1)]
    times = np.array(sorted(changes), np.int64).reshape(-1, 3)
    return (*(np.ascontiguousarray(times[:, k]) for k in range(3)),)  # type: ignore[return-value]


def _by(times: Ints, chosen: Ints) -> Ints:
    order: Ints = chosen[time_order(times[chosen])]
    return order


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.fill_null(0).to_numpy(), np.int64)
