"""The nodes of a pool, and what attempts use on each of them (SPEC §12).

Conventions: R resources, in their own units; N nodes; n attempts; times in epoch s. An attempt's
*set* holds the nodes of its partitions that have the features that it requires, and GPUs of each
type that it requests. An attempt fits if each of its parts fits on a node.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Bools, Ints
from audit.features import met
from audit.hostlists import amounts_of, count, expand
from audit.kernels import placement
from audit.metrics.attempts.contention import counted_resources, ints, requests, time_order
from audit.model import Absence, Node, Pool
from audit.registry.causes import FEATURES, LACKS
from audit.words import Placement, kind_of

PLACE: Final = ("node_list", "node_amounts")
"""The columns of ``ATTEMPTS`` that tell where an attempt ran."""
MEMORY: Final = "mem_bytes"
IN_ORDER: Final = ("cpus", "nodes")
"""Resources of which an attempt fills its nodes in order, where no field places them."""
MOST_NAMES: Final = 2_000_000
"""Most nodes of all different hostlists together that are read one by one."""

MOST_REQUIRED: Final = 1_000
"""Most different lists of required nodes; with more, none is considered."""

MOST_PARTS: Final = 62
"""Most parts of a machine that may be out of service without the others."""

MANY_STARTS: Final = 50
"""Starts of a user whose nodes show where its jobs can run."""

ANY_NUMBER: Final = 1 << 40
"""Parts per node of an attempt that may be placed unevenly."""


class OnNodes(NamedTuple):
    """The nodes of a pool as the sweep takes them; see ``kernels.placement``."""

    capacity: Ints  # [R, N]
    first_member: Ints  # [sets + 1]
    member: Ints
    first_set: Ints  # [N + 1]
    set: Ints
    home: Ints  # [sets]: the sum of 2 ** part over the parts of the machine that each is in
    first: Ints  # [n + 1]
    node: Ints
    amount: Ints  # [R, …]
    part: Ints  # [R, n]
    parts: Ints  # [n]
    most: Ints  # [n]
    shape: Ints  # [n]: equal numbers: equal sets and parts
    kind: Ints  # [R]: the resource of which each is a type, or itself
    wide: Ints  # [n]: the set of each attempt, if only its partitions counted
    bound: Bools  # [n]: whether it requests GPUs
    consecutive: bool  # see ``Placement``
    least_loaded: bool
    ties: Ints  # [R + 1]: resources, in the order in which a lacking one is named; R: features
    change_time: Ints
    change_node: Ints
    change: Ints

    def ran_on(self, user: Ints, started: Bools) -> Bools:
        """Return on which nodes each user's jobs ran, [users, N]; none where they do not show it.

        A feature that the log does not have may keep a user from the others. Nodes are those of
        users with ``MANY_STARTS``.

        Args:
            user: the number of each attempt's user, [n]; 0: unknown.
            started: which attempts count as starts, [n].
        """
        many = np.bincount(user[started], minlength=int(user.max(initial=0)) + 1) >= MANY_STARTS
        many[0] = False
        ran = np.zeros((len(many), self.capacity.shape[1]), np.bool_)
        ran[np.repeat(user, np.diff(self.first)), self.node] = True
        ran[~many] = False
        return ran


GUESSED: Final = ("nodes_guessed_share", "nodes_uneven_share")
"""The measures of ``Guesses``."""


class Guesses(NamedTuple):
    """Estimates about nodes."""

    amounts: float
    """Share of the node-seconds whose split over nodes is a guess."""
    fits: float
    """Share of the attempts whose requests do not divide evenly among their nodes."""


class Placed(NamedTuple):
    """Where the attempts of a pool may run, and ran."""

    nodes: OnNodes
    set_of: Ints  # [n]
    guessed: Guesses | None
    """None: no nodes."""

    def by_set(self) -> Ints:
        """Return the capacity of each set, [sets · R]."""
        member, edges = self.nodes.member, self.nodes.first_member
        sums = [
            self.nodes.capacity[:, member[begin:end]].sum(axis=1) for begin, end in pairwise(edges)
        ]
        return np.concatenate([np.zeros(0, np.int64), *sums])


def sums_of(rows: pl.DataFrame) -> Placed:
    """Return the attempts of a pool without nodes."""
    edge, empty = np.zeros(1, np.int64), np.zeros((0, 0), np.int64)
    stated = {"bound", "consecutive", "least_loaded"}
    nodes = OnNodes(
        bound=np.zeros(0, np.bool_),
        consecutive=False,
        least_loaded=False,
        **dict.fromkeys({*OnNodes._fields} - stated, np.zeros(0, np.int64))
        | dict.fromkeys(("first_member", "first_set", "first"), edge)
        | dict.fromkeys(("capacity", "amount", "part"), empty),
    )
    return Placed(nodes, np.zeros(rows.height, np.int64), None)


def members(node_lists: pl.Series) -> pl.DataFrame:
    """Return the nodes of each different hostlist: node_list, node; see ``shares``."""
    nothing = pl.lit(None, pl.String)
    lists = pl.select(node_list=pl.lit(node_lists), node_amounts=nothing)
    return shares(lists, ()).select("node_list", "node")


def shares(lists: pl.DataFrame, resources: Sequence[str]) -> pl.DataFrame:
    """Return the nodes of each different hostlist, and the amounts that the log states of each.

    Unreadable hostlists have no nodes. None have any if they name more than ``MOST_NAMES`` nodes
    together.

    Args:
        lists: columns of ``PLACE``.

    Returns:
        Columns of ``PLACE``, node, and the resources: null where the log does not state them.
    """
    different = lists.select(PLACE).filter(pl.col("node_list").is_not_null()).unique().sort(PLACE)
    if sum(map(count, different["node_list"])) > MOST_NAMES:
        different = different.clear()
    nodes = [expand(text) or [] for text in different["node_list"]]
    stated = [
        amounts_of(text, len(names))
        for text, names in zip(different["node_amounts"], nodes, strict=True)
    ]
    each: dict[str, list[Sequence[int | None]]] = {
        name: [
            amounts.get(name) or [None] * len(names)
            for amounts, names in zip(stated, nodes, strict=True)
        ]
        for name in resources
    }
    schema = {"node": pl.List(pl.String), **dict.fromkeys(resources, pl.List(pl.Int64))}
    columns = pl.DataFrame({"node": nodes, **each}, schema=schema)
    return different.hstack(columns).explode("node", *resources).drop_nulls("node")


def placed(rows: pl.DataFrame, reserved: pl.DataFrame, pool: Pool) -> Placed:
    """Return the nodes of a pool, and what its attempts use on them.

    Args:
        rows: n attempts with partition, ``PLACE``, nodes, start_time, ``end``, any_gpu_type,
            constraints, required_nodes and the resources.
        reserved: the same of those in reservations. If a reservation is not declared, its nodes are
            unavailable to others from its first start to its last end.
        pool: with ``nodes``, and ``absences`` of them.
    """
    resources = counted_resources(pool)
    number = {node.name: k for k, node in enumerate(pool.nodes)}
    capacity = _capacity(pool.nodes, resources)
    used = np.stack([ints(rows[name]) for name in resources])
    start, end = ints(rows["start_time"]), ints(rows["end"])
    ran = rows["start_time"].is_not_null().to_numpy() & (end > start)
    known = rows.select(*PLACE, *resources).with_columns(
        pl.when(pl.lit(pl.Series(ran))).then("node_list").alias("node_list")
    )
    first, node, stated, amount = _located(known, number, resources)
    at_work = np.flatnonzero(np.diff(first) > 0)
    guessed = np.zeros(rows.height, np.uint8)
    kinds = _kinds(resources)
    placement.split(
        *(start, end, _by(start, at_work), _by(end, at_work), used, capacity, first, node),
        *(stated, kinds, np.array([name in IN_ORDER for name in resources], np.uint8)),
        *(amount, guessed),
    )
    request = requests(rows, pool)
    parts = _parts(rows, request, resources)
    seconds = np.diff(first) * (end - start)
    wanted = rows.select("partition", "constraints", "required_nodes")
    if wanted["required_nodes"].n_unique() > MOST_REQUIRED:
        wanted = wanted.with_columns(required_nodes=pl.lit(None, pl.String))
    gpus = {name: of > 0 for name, of in zip(resources, request, strict=True) if _is_gpu(name)}
    bound = np.any([np.zeros(rows.height, np.bool_), *gpus.values()], axis=0)
    sets, set_of, wide = _sets(wanted.hstack(pl.DataFrame(gpus)), pool.nodes)
    by_node = [[s for s, held in enumerate(sets) if k in held] for k in range(len(pool.nodes))]
    nodes = OnNodes(
        capacity,
        *_lists([sorted(held) for held in sets]),
        *_lists(by_node),
        _homes(sets, pool.nodes),
        *(first, node, amount),
        *parts,
        shapes(set_of, *parts),
        kinds,
        wide,
        bound,
        pool.placement is Placement.consecutive,
        pool.placement is Placement.least_loaded,
        _ties(resources),
        *_changes(reserved, pool.absences, number),
    )
    total = int(seconds[at_work].sum())
    share = float(seconds[guessed == 1].sum() / total) if total else 0.0
    uneven = nodes.most > 1
    return Placed(nodes, set_of, Guesses(share, float(uneven.mean()) if len(uneven) else 0.0))


def _capacity(nodes: Sequence[Node], resources: Sequence[str]) -> Ints:
    had = [dict(node.amounts) for node in nodes]
    amounts = [[of.get(name, int(name == "nodes")) for of in had] for name in resources]
    return np.array(amounts, np.int64)


def _located(
    rows: pl.DataFrame, number: Mapping[str, int], resources: Sequence[str]
) -> tuple[Ints, Ints, NDArray[np.uint8], Ints]:
    """Return where attempts ran, and what the log states of each of their nodes.

    Stated amounts count if they add up to the attempt's.

    Returns:
        Where the nodes of each attempt begin, [n + 1]; the nodes, in their order; whether amounts
        are stated, [R, n]; the amounts, [R, places], 0 where they are not.
    """
    stated = np.zeros((len(resources), rows.height), np.uint8)
    held: list[list[int]] = []
    amounts: list[list[list[int]]] = []
    known: dict[tuple[str, str | None], tuple[list[int], list[list[int]], list[int | None]]] = {}
    for k, (text, given, *request) in enumerate(rows.iter_rows()):
        if text is None:
            held.append([])
            continue
        if (text, given) not in known:
            known[text, given] = _nodes_of(text, given, number, resources)
        nodes, each, totals = known[text, given]
        held.append(nodes)
        amounts.append(each)
        stated[:, k] = [
            total is not None and total == amount
            for total, amount in zip(totals, request, strict=True)
        ]
    flat = [[a for each in amounts for a in each[x]] for x in range(len(resources))]
    return (*_lists(held), stated, np.array(flat, np.int64).reshape(len(resources), -1))


def _nodes_of(
    text: str, given: str | None, number: Mapping[str, int], resources: Sequence[str]
) -> tuple[list[int], list[list[int]], list[int | None]]:
    """Return the known nodes of a hostlist, the amounts on each, and their sums over all nodes."""
    names = expand(text) or []
    by_name = amounts_of(given, len(names))
    here = [k for k, name in enumerate(names) if name in number]
    each = [[by_name[x][k] if x in by_name else 0 for k in here] for x in resources]
    totals = [sum(by_name[x]) if x in by_name else None for x in resources]
    return [number[names[k]] for k in here], each, totals


def _lists(held: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return lists one behind the other: where each begins, and what they hold."""
    first = np.cumsum([0, *(len(one) for one in held)]).astype(np.int64)
    return first, np.array([k for one in held for k in one], np.int64)


def _sets(rows: pl.DataFrame, nodes: Sequence[Node]) -> tuple[list[set[int]], Ints, Ints]:
    """Return the different sets of nodes that attempts may use, and the number of each one's.

    The second number is that of its set if it required no features, GPUs and nodes.

    Args:
        rows: partition, constraints, required_nodes, and whether each requests GPUs: ``gpus`` and
            types.
    """
    sets: list[set[int]] = []
    number: dict[tuple[str | bool | None, ...], int] = {}
    gpus = rows.columns[3:]
    without = rows.with_columns(
        pl.lit(None, pl.String).alias("constraints"),
        pl.lit(None, pl.String).alias("required_nodes"),
        *(pl.lit(value=False).alias(name) for name in gpus),
    )
    for row in pl.concat([rows, without]).unique().sort(rows.columns).rows():
        partition, constraints, required, *asks = row
        named = set((partition or "").split(","))
        held = {
            k
            for k, node in enumerate(nodes)
            if partition is None or not node.partitions or named & set(node.partitions)
        }
        # features change over time: a constraint that no node meets today says nothing
        held = {k for k in held if _has(nodes[k], constraints)} or held
        types = {name for name, asked in zip(gpus, asks, strict=True) if asked}
        held = {k for k in held if types <= _gpus(nodes[k])} or held
        names = set(expand(required or "") or ())
        # a job on several nodes gets the others from the rest of its partition
        held = {k for k in held if nodes[k].name in names} or held
        if held not in sets:
            sets.append(held)
        number[row] = sets.index(held)
    set_of, wide = (
        np.array([number[row] for row in some.iter_rows()], np.int64) for some in (rows, without)
    )
    return sets, set_of, wide


def _homes(sets: Sequence[set[int]], nodes: Sequence[Node]) -> Ints:
    """Return the parts of the machine in which each set has nodes; see ``OnNodes.home``.

    Partitions are its parts if each node is in one; else the machine is one part.
    """
    parts = sorted({name for node in nodes for name in node.partitions})
    if len(parts) > MOST_PARTS or any(len(node.partitions) != 1 for node in nodes):
        return np.ones(len(sets), np.int64)
    of = [1 << parts.index(node.partitions[0]) for node in nodes]
    return np.array([sum({of[k] for k in held}) for held in sets], np.int64)


def _is_gpu(resource: str) -> bool:
    return kind_of(resource) == "gpus"


def _gpus(node: Node) -> set[str]:
    """Return ``gpus`` and the types of which a node has any."""
    return {name for name, amount in node.amounts if amount > 0 and _is_gpu(name)}


def _has(node: Node, constraints: str | None) -> bool:
    return constraints is None or node.features is None or met(constraints, node.features)


def _parts(rows: pl.DataFrame, request: Ints, resources: Sequence[str]) -> tuple[Ints, Ints, Ints]:
    """Return the parts of attempts: amounts of one, their number, the most of them on a node.

    A request of which all but the memory divides evenly among its nodes has one part for each of
    them; amounts of parts are rounded up. Any other is placed CPU by CPU, with the other resources
    in proportion.
    """
    nodes = np.maximum(ints(rows["nodes"]), 1)
    whole = [name != MEMORY for name in resources]
    even = (request[whole] % nodes == 0).all(axis=0)
    parts = np.where(even, nodes, np.maximum(request[0], 1))
    part = -(-request // parts)
    return part, parts, np.where(even, 1, ANY_NUMBER)


def shapes(set_of: Ints, part: Ints, parts: Ints, most: Ints) -> Ints:
    """Return numbers that are equal where all of these are."""
    columns = {str(k): column for k, column in enumerate((set_of, parts, most, *part))}
    alike = pl.DataFrame(columns).select(shape=pl.struct(pl.all()).rank("dense") - 1)
    return ints(alike["shape"].cast(pl.Int64))


def _kinds(resources: Sequence[str]) -> Ints:
    """Return the place of the resource of which each is a type, or its own."""
    place = {name: x for x, name in enumerate(resources)}
    return np.array([place.get(kind_of(name), place[name]) for name in resources], np.int64)


def _ties(resources: Sequence[str]) -> Ints:
    kinds = [lack.resource for lack in LACKS]
    named = [*(kind_of(resource) for resource in resources), FEATURES]
    return np.array(sorted(range(len(named)), key=lambda x: kinds.index(named[x])), np.int64)


def _changes(
    reserved: pl.DataFrame, absences: Sequence[Absence], number: dict[str, int]
) -> tuple[Ints, Ints, Ints]:
    """Return when nodes become unavailable, and available again: time, node, 1 or −1; ascending."""
    begun = reserved.filter(pl.col("start_time").is_not_null() & pl.col("node_list").is_not_null())
    spans = [(one.begin, one.end, number[one.node]) for one in absences if one.node in number]
    for _, rows in _undeclared(begun, absences).group_by("reservation"):
        names = {name for text in rows["node_list"].unique() for name in expand(text) or []}
        begin, end = rows["start_time"].min(), rows["end"].max()
        spans += [(begin, end, number[name]) for name in names & number.keys()]  # type: ignore[misc]
    changes = [(begin, node, 1) for begin, _, node in spans]
    changes += [(end, node, -1) for _, end, node in spans if end is not None]
    times = np.array(sorted(changes), np.int64).reshape(-1, 3)
    return tuple(np.ascontiguousarray(times[:, k]) for k in range(3))  # type: ignore[return-value]


def _undeclared(begun: pl.DataFrame, absences: Sequence[Absence]) -> pl.DataFrame:
    """Return the attempts whose reservation was not declared for the time of their start."""
    spans = {(one.reservation, one.begin, one.end) for one in absences if one.reservation}
    schema = {"reservation": pl.String, "begin": pl.Int64, "until": pl.Int64}
    declared = pl.DataFrame(sorted(spans, key=str), schema, orient="row")
    inside = (
        begun.with_row_index("at")
        .join(declared, on="reservation")
        .filter(
            (pl.col("begin") <= pl.col("start_time"))
            & (pl.col("start_time") < pl.col("until")).fill_null(value=True)
        )
    )
    return begun.with_row_index("at").join(inside, on="at", how="anti").drop("at")


def _by(times: Ints, chosen: Ints) -> Ints:
    order: Ints = chosen[time_order(times[chosen])]
    return order
