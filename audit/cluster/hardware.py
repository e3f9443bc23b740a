"""The pools, resources and nodes of a cluster, as declared or as what ran shows (SPEC §12)."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import polars as pl

from audit import config
from audit.cluster.presence import outside, unseen
from audit.metrics.attempts.contention import gpu_types, peak_in_use, requested, with_gpu_types
from audit.metrics.nodes import PLACE, members, shares
from audit.model import Absence, Node, Resource
from audit.words import OF_TYPE, first_of, kind_of, plural

ASKED_SHARE: Final = 0.01
"""Least share of the attempts, or of the waiting, that requests a resource which limits starts."""
ALL_ASK: Final = 0.95
"""Least share of the attempts that request GPUs if GPUs are counted."""
COMPLETE: Final = 0.99
"""Least share of the node-seconds of which the nodes are known."""
ENFORCED: Final = 0.99
"""Least share of the nodes on which no more memory was requested than they have, if it counts."""
CONFIGURED: Final = "config.toml"
"""Source of nodes in its tables."""
NEVER: Final = 1 << 62
"""More than a node can have."""
SHOWN: Final = 5
"""Maximum number of names that a caution lists."""
MOST_PLACES: Final = 5_000_000
"""Most nodes of all attempts together that are looked at one by one."""


def partition_groups(attempts: pl.DataFrame, shapes: Sequence[Node] = ()) -> list[list[str | None]]:
    """Return the partitions that share nodes, as groups; the one with most attempts first in each.

    A list of partitions, in which a pending job may start, belongs to the group of the first that
    ran jobs; partitions that ran none, to the group with most attempts. If the nodes of over a
    hundredth of the attempts that ran are not known, only declared nodes count; without any, all
    partitions are one group. Partitions of declared nodes that no attempt names are in none.

    Args:
        attempts: columns of ``model.ATTEMPTS``.
        shapes: declared nodes.
    """
    named = attempts["partition"].unique().sort().to_list()
    listed = sorted({node.partitions for node in shapes if node.partitions})
    sets = [{("partition", name) for name in names} for names in listed]
    sets += _used(attempts)
    if not sets:
        return [named]
    groups = _connected(sets)
    counts = dict(attempts["partition"].value_counts().iter_rows())
    found: list[list[str | None]] = [[] for _ in groups]
    rest: list[str | None] = []
    for name in sorted(named, key=lambda name: (-counts[name], name or "")):
        parts = [("partition", part) for part in (name or "").split(",")]
        homes = [home for part in parts for home, group in enumerate(groups) if part in group]
        (found[homes[0]] if homes else rest).append(name)
    max(found, key=lambda group: sum(counts[name] for name in group)).extend(rest)
    return sorted(filter(None, found), key=lambda group: str(group[0]))


def _used(attempts: pl.DataFrame) -> list[set[tuple[str, str]]]:
    """Return each partition with the nodes on which its attempts ran; none if few are known."""
    if not names_nodes(attempts):
        return []
    used = _ran(attempts).select("partition", "node_list").drop_nulls().unique()
    shared = used.join(members(used["node_list"]), on="node_list").select("partition", "node")
    by_partition = shared.unique().group_by("partition").agg("node").sort("partition")
    return [
        {*(("partition", name) for name in names.split(",")), *(("node", node) for node in nodes)}
        for names, nodes in by_partition.iter_rows()
    ]


def names_nodes(attempts: pl.DataFrame) -> bool:
    """Return whether the log names the nodes of nearly all attempts that ran."""
    ran = _ran(attempts)
    return ran["node_list"].null_count() <= (1 - COMPLETE) * ran.height and not ran.is_empty()


def _ran(attempts: pl.DataFrame) -> pl.DataFrame:
    return attempts.filter(pl.col("start_time").is_not_null() & pl.col("end_time").is_not_null())


def _connected(sets: Iterable[set[tuple[str, str]]]) -> list[set[tuple[str, str]]]:
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


def _requested(attempts: pl.DataFrame, resources: Iterable[str]) -> dict[str, float]:
    """Return the share of attempts, or of waiting, that requests some of each resource."""
    ready = pl.coalesce("eligible_time", "submit_time")
    waited = (pl.col("start_time") - ready).clip(0)
    shares = {}
    for name in resources:
        some = (requested(name) > 0).fill_null(value=False)
        of_waiting = waited.filter(some).sum() / pl.max_horizontal(waited.sum(), 1)
        shares[name] = attempts.select(pl.max_horizontal(some.mean(), of_waiting)).item() or 0.0
    return shares


class PoolHardware(NamedTuple):
    """The parts of a pool."""

    counted: Resource
    amounts: dict[str, int]
    """Of each resource that limits starts; the counted one first: as declared, else the most that
    ran on each node together, else the most in use."""
    nodes: tuple[Node, ...]
    """None if the nodes of more than a hundredth of the node-seconds are not known."""
    absences: tuple[Absence, ...] = ()
    """Those of nodes that only what ran shows, before the first and after the last job on them:
    with declared nodes, of each other one; without, of those that were not there (``UNSEEN``)."""
    cautions: tuple[str, ...] = ()  # contradictions between what is declared and what ran


def hardware(
    attempts: pl.DataFrame,
    shapes: Sequence[Node] = (),
    resource: Resource | None = None,
    counts_memory: bool | None = None,
) -> PoolHardware:
    """Return what a pool consists of: its declared nodes, else what ran at most.

    CPUs, GPUs, each type of GPUs and declared memory limit starts if a hundredth of the attempts,
    or attempts with a hundredth of the waiting, request them. Memory that is not declared does not:
    its peak in use is no sign of a capacity.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of the pool.
        shapes: its declared nodes.
        resource: the counted resource; None: see ``counted``.
        counts_memory: whether the scheduler allocates memory; None: what ran shows it.
    """
    found = resource or counted(attempts)
    types = gpu_types(attempts)
    attempts = with_gpu_types(attempts, types)
    asked = _requested(attempts, ("cpus", "gpus", *types, "mem_bytes"))
    limits = [name for name, share in asked.items() if share >= ASKED_SHARE]
    all_have_memory = shapes and all("mem_bytes" in dict(node.amounts) for node in shapes)
    if counts_memory is False or not all_have_memory:
        limits = [name for name in limits if name != "mem_bytes"]
    order = [found.value, *(name for name in limits if name != found.value)]
    spans = _spans(attempts)
    if shapes:
        return _declared(found, order, shapes, spans, counts_memory)
    peaks = {name: peak_in_use(spans, name) for name in order}
    # a resource that only jobs of 0 s were given limits nobody
    peaks = {name: peak for name, peak in peaks.items() if peak or name == found}
    nodes = _nodes(spans, list(peaks))
    sums = Counter[str]()
    for node in nodes:
        sums.update(dict(node.amounts))
    amounts = {name: max(peak, sums[name]) for name, peak in peaks.items()}
    absences = unseen(spans, nodes, found.value) if nodes else ()
    return PoolHardware(found, amounts, nodes, absences)


def nodes_of(attempts: pl.DataFrame, resources: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of a pool, with the most of each resource used there; see ``PoolHardware``.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of the pool.
    """
    return _nodes(_spans(attempts), resources)


def _declared(
    counted: Resource,
    order: Sequence[str],
    shapes: Sequence[Node],
    spans: pl.DataFrame,
    counts_memory: bool | None,
) -> PoolHardware:
    """Return declared nodes, with those on which jobs ran and which are not declared."""
    known = {node.name for node in shapes}
    used = {node.name: node for node in _nodes(spans, order, known)}
    over = {
        name: [
            node.name
            for node in shapes
            if node.name in used
            and dict(used[node.name].amounts)[name] > dict(node.amounts).get(name, NEVER)
        ]
        for name in order
    }
    cautions = []
    excess = len(over.get("mem_bytes", ()))
    if counts_memory is None and excess > (1 - ENFORCED) * len(known & used.keys()):
        order = [name for name in order if name != "mem_bytes"]
        cautions.append(
            f"on {excess:,} of {plural(len(known & used.keys()), 'node')} jobs requested more "
            "memory at one time than is declared: the scheduler does not count memory, so it "
            "decides nothing"
        )
    contradicted = sorted({name for resource in order for name in over[resource]})
    if contradicted:
        which = first_of(contradicted, SHOWN)
        cautions.append(f"{plural(len(contradicted), 'node')} ran more than declared: {which}")
    strays = [node for name, node in used.items() if name not in known]
    if strays:
        which = first_of([node.name for node in strays], SHOWN)
        cautions.append(
            f"jobs ran on {plural(len(strays), 'undeclared node')}: {which}; each counts with "
            "what ran on it, from the first to the last of its jobs"
        )
    if not used:
        cautions.append(
            "the log does not say on which nodes jobs ran: sums over the declared nodes decide"
        )
    listed = {name for node in shapes for name in node.partitions}
    filled = [_filled(node, used.get(node.name), order, listed) for node in shapes]
    amounts = {name: sum(dict(node.amounts)[name] for node in filled) for name in order}
    nodes = (*filled, *strays) if used else ()
    return PoolHardware(counted, amounts, nodes, tuple(outside(strays, spans)), tuple(cautions))


def _filled(node: Node, used: Node | None, order: Sequence[str], listed: Collection[str]) -> Node:
    """Return a declared node with what ran on it and is not declared.

    That is the most in use of other resources, and partitions that are not ``listed`` anywhere,
    such as those that a site has renamed.
    """
    if used is None:
        used = Node(node.name, (), ())
    had, most = dict(node.amounts), dict(used.amounts)
    missing = ((name, most.get(name, 0)) for name in order if name not in had)
    others = [name for name in used.partitions if name not in listed] if node.partitions else []
    return node._replace(amounts=(*node.amounts, *missing), partitions=(*node.partitions, *others))


def tables(pool: config.PoolConfig) -> tuple[Node, ...]:
    """Return the nodes of ``[[clusters.pools.nodes]]``."""
    return tuple(
        Node(name, _amounts(table), table.partitions, table.features, CONFIGURED)
        for table in pool.nodes
        for name in table.each
    )


def _amounts(table: config.Nodes) -> tuple[tuple[str, int], ...]:
    memory = None if table.mem is None else config.in_bytes(table.mem)
    found = {"cpus": table.cpus, "mem_bytes": memory, "nodes": 1, "gpus": table.gpus}
    if table.gpu_type is not None and table.gpus:
        found[OF_TYPE + table.gpu_type.lower()] = table.gpus
    return tuple((name, amount) for name, amount in found.items() if amount is not None)


def in_partitions(
    shapes: Sequence[Node], partitions: Collection[str | None], attempts: pl.DataFrame | None
) -> tuple[Node, ...]:
    """Return the declared nodes of a pool: those of its partitions.

    Nodes without partitions (PBS) belong to the pool whose jobs ran on them.

    Args:
        partitions: as in the log; lists of partitions are split.
        attempts: columns of ``model.ATTEMPTS``; all of the pool. None: there is no other pool.
    """
    named = {part for text in partitions for part in (text or "").split(",")}
    ran = None if attempts is None else set(members(attempts["node_list"])["node"])
    return tuple(
        node
        for node in shapes
        if (named & set(node.partitions) if node.partitions else ran is None or node.name in ran)
    )


_UNREAD: Final = (
    *("job_id", "job_number", "line", "byte_offset", "user", "account", "group", "state"),
    *("submit_time", "eligible_time", "end_time", "occupancy_s", "walltime_s", "priority"),
)
"""Columns of ``model.ATTEMPTS`` that would be copied for nothing."""


def without_lost_ends(attempts: pl.DataFrame) -> pl.DataFrame:
    """Return attempts without open ones whose walltime had passed when the log ended.

    They may have ended unrecorded and share their nodes with later ones, so they show no size.
    """
    latest = pl.max_horizontal(pl.col("submit_time", "start_time", "end_time").max())
    lost = pl.col("end_time").is_null() & (pl.col("start_time") + pl.col("walltime_s") < latest)
    return attempts.filter(~lost.fill_null(value=False))


def _spans(attempts: pl.DataFrame) -> pl.DataFrame:
    """Return the attempts that ran for some time, with their ``end``, the last of all if open."""
    attempts = without_lost_ends(attempts)
    start, end = pl.col("start_time"), pl.coalesce("end_time", pl.col("end_time").max())
    spans = attempts.with_columns(end=end).drop(_UNREAD, strict=False)
    return spans.filter(start.is_not_null() & (pl.col("end") > start))


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


def _nodes(
    spans: pl.DataFrame, resources: Sequence[str], declared: Collection[str] = ()
) -> tuple[Node, ...]:
    """Return the nodes on which attempts ran, with the most that ran on each.

    Args:
        declared: nodes that only certain amounts describe further.
    """
    if spans.is_empty():
        return ()
    listed = shares(spans, resources)
    sizes = listed.group_by(PLACE).agg(pl.len().alias("listed"))
    spans = spans.join(sizes, on=PLACE, how="left", nulls_equal=True)
    seconds = pl.col("nodes").fill_null(1) * (pl.col("end") - pl.col("start_time"))
    known = pl.col("listed") == pl.coalesce("nodes", "listed")
    share = spans.select(seconds.filter(known).sum() / seconds.sum()).item()
    if share is None or share < COMPLETE or (spans["listed"].sum() or 0) > MOST_PLACES:
        return ()
    placed = _placed(spans.filter(known), listed, resources)
    names = pl.col(*resources)
    some = placed.filter(pl.any_horizontal(names.is_not_null()))
    at_once = _peaks(some.select("node", "start_time", "end", *resources), resources)
    at_least = _at_least(placed, at_once, resources, declared)
    most = pl.concat([at_once, at_least]).group_by("node").agg(names.max().fill_null(0))
    partitions = dict(
        placed.select("node", pl.col("partition").fill_null(""))
        .group_by("node")
        .agg(pl.col("partition").unique().sort())
        .iter_rows()
    )
    return tuple(
        Node(name, tuple(zip(resources, amounts, strict=True)), tuple(partitions[name]))
        for name, *amounts in most.sort("node").iter_rows()
    )


def _placed(spans: pl.DataFrame, listed: pl.DataFrame, resources: Sequence[str]) -> pl.DataFrame:
    """Return what attempts used on each of their nodes: the resources, null where not certain.

    It is certain on a single node, and where the log states it. ``whole …`` is then the amount on
    all nodes of the attempt, whose number is ``row``.
    """
    sums = pl.col(*resources).sum().over(PLACE).name.prefix("sum ")
    listed = listed.with_columns(sums).rename({name: f"stated {name}" for name in resources})
    placed = spans.with_row_index("row").join(listed, on=PLACE, nulls_equal=True)
    whole = {name: pl.col(name).fill_null(0) for name in resources}
    certain = {
        name: pl.when(pl.col("listed") == 1)
        .then(amount)
        .when(pl.col(f"sum {name}") == amount)
        .then(f"stated {name}")
        for name, amount in whole.items()
    }
    uncertain = {
        f"whole {name}": pl.when(certain[name].is_null()).then(amount)
        for name, amount in whole.items()
    }
    return placed.with_columns(**certain, **uncertain)


def _at_least(
    placed: pl.DataFrame, at_once: pl.DataFrame, resources: Sequence[str], declared: Collection[str]
) -> pl.DataFrame:
    """Return the most that a node had if its attempts used their nodes evenly; as ``_peaks``.

    One node of each attempt had as much. GPUs that fit into what their nodes certainly have show
    nothing.

    Args:
        placed: as ``_placed`` returns it.
        at_once: the most that certainly ran on each node.
        declared: nodes without such amounts.
    """
    typed = [name for name in resources if kind_of(name) == Resource.gpus]
    if typed:
        certain = at_once.select("node", pl.col(*typed).name.prefix("most "))
        placed = placed.join(certain, on="node", how="left").with_columns(
            pl.col(f"most {name}").sum().over("row") for name in typed
        )

    def even(name: str) -> pl.Expr:
        whole = pl.col(f"whole {name}")
        part = -(-whole // pl.col("listed"))
        shows = whole > pl.col(f"most {name}") if name in typed else pl.lit(value=True)
        return pl.when(shows & ~pl.col("node").is_in(declared)).then(part).max().alias(name)

    return placed.group_by("node").agg(map(even, resources))
