"""CPUs that attempts were allocated beyond those that they requested, and why; and their charge.

For each attempt with more CPUs than it requested, the first reason that holds:

    memory   the scheduler raised the request, since its memory per CPU exceeded a limit
    whole    the attempt has all CPUs of its nodes, or the pool gives whole nodes to each attempt
    cores    on each of its nodes, fewer CPUs were added than a core has threads
    unknown  none of these

A core is taken to have ``THREADS`` threads. Without known nodes, only ``exclusive_nodes`` tells
that nodes were allocated as a whole.
"""

from typing import Final

import polars as pl

from audit.metrics.nodes import members
from audit.model import Pool

THREADS: Final = 2


def beyond_request(described: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    """Add the CPU time that each attempt was allocated beyond its request, and the reason.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of one pool.

    Returns:
        ``described`` with beyond_work = max(cpus − req_cpus, 0) · occupancy, float64, CPU·s, null
        where one of these is unknown; and beyond_request, null where it is 0. Both are null if no
        attempt has more CPUs than it requested. With ``penalty`` and ``beyond_penalty``
        (``charges.beyond_requests``) also charge and beyond_charge, these · occupancy.
    """
    charges = [
        (pl.col(rate) * pl.col("occupancy_s")).alias(name)
        for name, rate in (("charge", "penalty"), ("beyond_charge", "beyond_penalty"))
        if rate in described.columns
    ]
    described = described.with_columns(charges)
    added = pl.col("cpus") - pl.col("req_cpus")
    if not described.select((added > 0).any()).item():
        return described.with_columns(
            beyond_work=pl.lit(None, pl.Float64), beyond_request=pl.lit(None, pl.String)
        )
    reason = (
        pl.when("req_for_memory")
        .then(pl.lit("memory"))
        .when((pl.col("cpus") == pl.col("of_nodes")) | pl.lit(pool.exclusive_nodes))
        .then(pl.lit("whole"))
        .when(added <= pl.col("nodes").fill_null(1) * (THREADS - 1), pl.col("cpus") % THREADS == 0)
        .then(pl.lit("cores"))
        .otherwise(pl.lit("unknown"))
    )
    beyond = added.clip(0).cast(pl.Float64) * pl.col("occupancy_s")
    return (
        described.join(
            _of_nodes(described.filter(added > 0)["node_list"], pool),
            *("node_list", "left"),
            maintain_order="left",
        )
        .with_columns(beyond_work=beyond, beyond_request=pl.when(beyond > 0).then(reason))
        .drop("of_nodes")
    )


def _of_nodes(lists: pl.Series, pool: Pool) -> pl.DataFrame:
    """Return the CPUs of the nodes of each hostlist: node_list, of_nodes; null if not all known."""
    cpus = {node.name: dict(node.amounts).get("cpus") for node in pool.nodes}
    sizes = pl.DataFrame(list(cpus.items()), {"node": pl.String, "cpus": pl.Int64}, orient="row")
    held = members(lists).join(sizes, on="node", how="left")
    return held.group_by("node_list").agg(
        of_nodes=pl.when(pl.col("cpus").is_not_null().all()).then(pl.col("cpus").sum())
    )
