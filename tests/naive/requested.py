"""CPU time beyond requests, in slow, plain Python.

Nothing here is shared with the package.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]


def beyond(
    record: Record, records: Sequence[Record], nodes: Mapping[str, int], *, exclusive: bool
) -> tuple[float | None, str | None]:
    """CPU·s beyond the request of a record among those of its pool, and why.

    ``nodes`` are the CPUs of each node.
    """
    known = None not in (record["cpus"], record["req_cpus"], record["occupancy_s"])
    if not known or not any(_added(one) > 0 for one in records):
        return None, None
    added = _added(record)
    time = float(max(added, 0) * record["occupancy_s"])
    names = (record["node_list"] or "").split(",")
    of_nodes = sum(nodes[n] for n in names) if set(names) <= set(nodes) else None
    each = 1 if record["nodes"] is None else record["nodes"]
    reasons = {
        "memory": record["req_for_memory"],
        "whole": exclusive or record["cpus"] == of_nodes,
        "cores": added <= each and record["cpus"] % 2 == 0,
        "unknown": True,
    }
    return time, next(name for name, holds in reasons.items() if holds) if time else None


def _added(record: Record) -> int:
    if record["cpus"] is None or record["req_cpus"] is None:
        return 0
    return int(record["cpus"] - record["req_cpus"])
