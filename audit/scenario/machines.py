"""The nodes of a pool as a simulation sees them (SPEC §12, *Simulation by nodes*).

Conventions: R resources, N nodes, n attempts. *Holders* are the attempts, then the nodes, each of
which outages and reservations take as a whole.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.kernels.scheduling import model as kernels
from audit.metrics.nodes import OnNodes, placed, shapes
from audit.model import Pool


class Machines(NamedTuple):
    """The nodes of a pool, what its attempts request of them, and where they ran."""

    capacity: Ints  # [R, N]
    first_member: Ints  # [sets + 1]
    member: Ints
    set_of: Ints  # [n]
    wide: Ints  # [n], the set of all nodes of its partitions
    part: Ints  # [R, n]
    parts: Ints  # [n]
    most: Ints  # [n]
    bound: Bools  # [n], whether it requests GPUs
    shape: Ints  # [n]
    first: Ints  # [n + N + 1], where the places of each holder begin
    held: Ints  # [n + N], how many of them the observed schedule used
    node: Ints  # [places]
    amount: Ints  # [R, places]
    consecutive: bool
    least_loaded: bool
    whole: bool  # whether attempts take whole nodes, which are then free or not: 1 or 0
    change_time: Ints  # when nodes become unavailable or available
    change_node: Ints
    change: Ints  # 1: unavailable, −1: available

    @property
    def in_kernel(self) -> kernels.NodeFacts:
        """The nodes as the kernels take them."""
        columns = self._asdict()
        columns["set"] = columns.pop("set_of")
        left_out = ("whole", "change_time", "change_node", "change")
        return kernels.NodeFacts(**{k: v for k, v in columns.items() if k not in left_out})

    @property
    def fitting(self) -> Bools:
        """Whether each attempt fits on empty nodes, [n]."""
        fitting = np.zeros(len(self.parts), np.bool_)
        _, firsts, inverse = np.unique(self.shape, return_index=True, return_inverse=True)
        for k, row in enumerate(firsts):
            own = self.member[slice(*self.first_member[self.set_of[row] : self.set_of[row] + 2])]
            part, most = self.part[:, row], self.most[row]
            asked = part > 0
            room = self.capacity[asked][:, own] // part[asked][:, None]
            count = room.min(axis=0, initial=most) if asked.any() else np.full(len(own), most)
            fitting[inverse == k] = np.minimum(count, most).sum() >= self.parts[row]
        return fitting

    @property
    def alike(self) -> bool:
        """Whether attempts take whole nodes, any of the pool: then their number decides."""
        one_set = len(self.first_member) == 2 and len(self.member) == self.capacity.shape[1]
        return self.whole and one_set and bool((self.capacity == 1).all())


NO_NODES = kernels.NodeFacts(
    capacity=np.zeros((0, 0), np.int64),
    part=np.zeros((0, 0), np.int64),
    amount=np.zeros((0, 0), np.int64),
    first_member=np.zeros(1, np.int64),
    first=np.zeros(1, np.int64),
    **{k: np.zeros(0, np.int64) for k in ("member", "set", "wide", "parts", "most", "shape")},
    **{k: np.zeros(0, np.int64) for k in ("held", "node")},
    bound=np.zeros(0, np.bool_),
    consecutive=False,
    least_loaded=False,
)


def machines(rows: pl.DataFrame, reserved: pl.DataFrame, pool: Pool) -> Machines | None:
    """Return the nodes of a pool; None: its sums decide what fits.

    They do if no nodes are known, or if steps of the capacity are declared, which name no nodes. If
    every attempt took whole nodes, that is what they request: nodes, not amounts.

    Args:
        rows, reserved: see ``metrics.nodes.placed``.
    """
    if not pool.by_nodes or "node_list" not in rows.columns:
        return None
    found = placed(rows, reserved, pool)
    nodes, set_of = found.nodes, found.set_of
    used = nodes.amount[0]  # of the counted resource, by each attempt on each of its nodes
    all_of_it = len(used) > 0 and bool((used == nodes.capacity[0][nodes.node]).all())
    whole = pool.exclusive_nodes or all_of_it
    if whole:
        nodes = _whole(nodes, set_of, rows["nodes"])
    count, size = len(nodes.parts), nodes.capacity.shape[1]
    of_set = np.diff(nodes.first_member)[set_of]
    observed = np.diff(nodes.first)
    room = np.maximum(observed, np.minimum(nodes.parts, of_set))
    first = np.concatenate(([0], np.cumsum(np.concatenate((room, np.ones(size, np.int64))))))
    node = np.zeros(first[-1], np.int64)
    amount = np.zeros((len(nodes.capacity), first[-1]), np.int64)
    within = np.arange(len(nodes.node)) - np.repeat(nodes.first[:-1], observed)
    places = np.repeat(first[:count], observed) + within
    node[places], amount[:, places] = nodes.node, nodes.amount
    node[first[count:-1]], amount[:, first[count:-1]] = np.arange(size), nodes.capacity
    change_time, change_node, change = _outages(nodes)
    own = {
        "set_of": set_of,
        "first": first.astype(np.int64),
        "held": np.concatenate((observed, np.ones(size, np.int64))),
        "node": node,
        "amount": amount,
        "whole": whole,
        "change_time": change_time,
        "change_node": change_node,
        "change": change,
    }
    same = {name: each for name, each in nodes._asdict().items() if name in Machines._fields}
    return Machines(**same | own)


def _outages(nodes: OnNodes) -> tuple[Ints, Ints, Ints]:
    """Return when nodes become unavailable or available, whatever the number of reasons."""
    reasons = np.zeros(nodes.capacity.shape[1], np.int64)
    kept = np.zeros(len(nodes.change), np.bool_)
    for k, (node, change) in enumerate(zip(nodes.change_node, nodes.change, strict=True)):
        reasons[node] += change
        kept[k] = reasons[node] == (change > 0)
    return nodes.change_time[kept], nodes.change_node[kept], nodes.change[kept]


def _whole(nodes: OnNodes, set_of: Ints, number: pl.Series) -> OnNodes:
    """Return nodes that are free or not, and what attempts take of them."""
    part = np.minimum(nodes.part, 1)
    part[0] = 1
    capacity = np.minimum(nodes.capacity, 1)
    capacity[0] = 1
    parts = np.maximum(np.ascontiguousarray(number.fill_null(1).to_numpy(), np.int64), 1)
    most = np.ones(len(parts), np.int64)
    return nodes._replace(
        capacity=capacity,
        amount=np.minimum(capacity[:, nodes.node], 1),
        part=part,
        parts=parts,
        most=most,
        shape=shapes(set_of, part, parts, most),
    )
