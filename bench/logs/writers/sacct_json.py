"""Records as `sacct --json` prints them."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from audit.hostlists import amounts_of

_MIB: Final = 1 << 20
_ID: Final = re.compile(r"(\d+)(?:_(?:(\d+)|\[(.*)\])|\+(\d+))?")


def write(
    frame: pl.DataFrame, *, objects: bool = True, indent: int | None = 2, before: bool = False
) -> bytes:
    """Attempts as one document.

    Any text can be held. Memory is written in MiB, the limit in minutes, both rounded down. The
    number that Slurm has beside `3_0` or `23+1` (JobIDRaw) is unknown; the number in front replaces
    it.

    Args:
        frame: columns of ``model.RECORDS``.
        objects: whether numbers that may be unset are objects, and states lists (as from 23.11 on);
            else both are plain (as in 22.05).
        indent: of each level; None writes one line.
        before: whether the document's metadata precedes its jobs (until 23.02).
    """
    jobs = [_job(row, objects=objects) for row in frame.iter_rows(named=True)]
    meta = {"plugin": {"data_parser": "data_parser/v0.0.43", "accounting_storage": "slurmdbd"}}
    document: dict[str, Any] = {"meta": meta} if before else {}
    document |= {"jobs": jobs}
    document |= {} if before else {"meta": meta}
    document |= {"errors": [], "warnings": []}
    return (json.dumps(document, ensure_ascii=False, indent=indent) + "\n").encode()


def _job(row: Mapping[str, Any], *, objects: bool) -> dict[str, Any]:
    def number(value: float | None) -> Any:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if not objects:
            return whole
        return {"set": whole is not None, "infinite": False, "number": whole or 0}

    def limit(seconds: int | None) -> Any:
        return number(None if seconds is None else seconds // 60)

    def name(text: str | None) -> str | None:
        return text or ("" if objects else None)

    started = row["start_time"] is not None
    spent = None
    if started and row["end_time"] is not None:
        spent = row["end_time"] - row["start_time"] - (row["suspended_s"] or 0)
    tres = _tres(row)
    raw, array, het = _ids(row["job_id"], number)
    return {
        "account": name(row["account"]),
        "allocation_nodes": (row["nodes"] or 0) if started else 0,
        "array": array,
        "association": {"account": name(row["account"]), "cluster": name(row["cluster"])},
        "cluster": name(row["cluster"]),
        "group": name(row["group"]),
        "het": het,
        "job_id": raw,
        "name": "job",
        "nodes": (row["node_list"] or "") if started else "None assigned",
        "partition": name(row["partition"]),
        "priority": number(row["priority"]),
        "qos": name(row["qos"]),
        "required": {"CPUs": row["cpus"] or 0},
        "reservation": {"id": 0, "name": name(row["reservation"])},
        "state": {
            "current": [row["state"]] if objects else row["state"],
            "reason": row["reason"] or "None",
        },
        "steps": [_batch(row)] if row["node_amounts"] else [],
        "time": {
            "elapsed": spent or 0,
            "eligible": row["eligible_time"] or 0,
            "end": row["end_time"] or 0,
            "limit": limit(row["walltime_s"]),
            "start": row["start_time"] or 0,
            "submission": row["submit_time"] or 0,
            "suspended": row["suspended_s"] or 0,
        },
        "tres": {"allocated": tres if started else [], "requested": tres},
        "user": name(row["user"]),
    }


def _batch(row: Mapping[str, Any]) -> dict[str, Any]:
    """The batch step, on the first node."""
    each = amounts_of(row["node_amounts"], row["nodes"])
    first = {name: amounts[0] for name, amounts in each.items()}
    tres = _tres({"cpus": None, "gpus": None, "mem_bytes": None, **first, "nodes": 1})
    return {"step": {"id": f"{row['job_id']}.batch", "name": "batch"}, "tres": {"allocated": tres}}


def _ids(text: str, number: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """``job_id``, ``array`` and ``het``."""
    limits = {"max": {"running": {"tasks": 0}}}
    array: dict[str, Any] = {"job_id": 0, "limits": limits, "task_id": number(None), "task": ""}
    het: dict[str, Any] = {"job_id": 0, "job_offset": number(None)}
    match = _ID.fullmatch(text)
    if match is None:
        return text, array, het
    first, task, waiting, offset = match.groups()
    raw = int(first)
    if task is not None or waiting is not None:
        array |= {"job_id": raw, "task": waiting or ""}
        array |= {"task_id": number(None if task is None else int(task))}
    if offset is not None:
        het |= {"job_id": raw, "job_offset": number(int(offset))}
    return raw, array, het


def _tres(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    memory = row["mem_bytes"]
    counts = {
        ("cpu", ""): row["cpus"],
        ("mem", ""): None if memory is None else memory // _MIB,
        ("node", ""): row["nodes"],
        ("gres", "gpu"): row["gpus"],
    }
    return [
        {"type": kind, "name": name, "id": 0, "count": count}
        for (kind, name), count in counts.items()
        if count is not None
    ]
