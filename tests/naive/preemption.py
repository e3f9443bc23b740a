"""SPEC §12, *Measures*, in slow, plain Python: lost work, and jobs on freed nodes.

Nothing here is shared with the package.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def lost_work(record: Mapping[str, Any]) -> int | None:
    """Size · occupancy if it was preempted or requeued; 0 otherwise; None: not known."""
    if record["size"] is None or record["occupancy_s"] is None:
        return None
    lost = record["state"] in ("PREEMPTED", "REQUEUED")
    return record["size"] * record["occupancy_s"] if lost else 0


def freed_for(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> str | None:
    """The other jobs that started on its nodes within a minute, by start."""
    if record["state"] not in ("PREEMPTED", "REQUEUED") or record["node_list"] is None:
        return None
    nodes, end = set(record["node_list"].split(",")), record["end_time"]
    found: list[str] = []
    for other in sorted(records, key=lambda one: one["start_time"] or 0):
        start = other["start_time"]
        if (
            start is not None
            and end is not None
            and end <= start <= end + 60
            and other["job_id"] != record["job_id"]
            and nodes & set((other["node_list"] or "").split(","))
            and other["job_id"] not in found
        ):
            found.append(other["job_id"])
    return ", ".join(found) or None
