"""Records as PBS Professional logs them."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.formats.pbs.records import REQUEUED
from audit.hostlists import amounts_of
from audit.model import JobState

_EXIT: Final = {
    JobState.COMPLETED.value: 0,
    JobState.CANCELLED.value: 271,
    "TIMEOUT": -29,
    "OUT_OF_MEMORY": -27,
}
_FAILED: Final = 1
_STEERING: Final = re.compile(r"[\x00-\x1f\x7f]")


def write(frame: pl.DataFrame, *, zone: str = "UTC") -> bytes:
    r"""Attempts as lines of a PBS accounting log, in the order of ``frame``.

    An attempt that ended is written as `E`, or `R` if it was requeued, a running one as `S`, a
    waiting one as `Q`, and one that never started as `Q` and `D`. PBS has no state for jobs
    cancelled after their walltime: they are read as TIMEOUT. Of a name, control characters are
    escaped (`\x0a`), and so are quotes in one that holds a blank and both kinds.

    Args:
        frame: columns of ``model.RECORDS``; what happened at one instant (``LEFT``) is left out.
        zone: that the times of heads are of.
    """
    clock = ZoneInfo(zone)
    lines = (line for row in frame.iter_rows(named=True) for line in _lines(row, clock))
    return "".join(f"{line}\n" for line in lines).encode()


def text(name: str) -> str:
    """A name as it is written, and read again."""
    escaped = _STEERING.sub(lambda match: f"\\x{ord(match[0]):02x}", name)
    if " " in escaped and '"' in escaped:
        return escaped.replace("'", "\\x27")
    return escaped


def _lines(row: Mapping[str, Any], clock: ZoneInfo) -> Iterator[str]:
    start, end = row["start_time"], row["end_time"]
    submit = row["submit_time"]

    def head(instant: int, kind: str) -> str:
        moment = datetime.fromtimestamp(instant, clock).strftime("%m/%d/%Y %H:%M:%S")
        return f"{moment};{kind};{row['job_id']};"

    if start is None:
        yield head(submit, "Q") + _items(_asked(row))
        if end is not None:
            yield head(end, "D") + f"requestor={text(row['user'] or 'root')}@head"
    elif end is None:
        yield head(start, "S") + _items({**_asked(row), "start": start, **_given(row)})
    else:
        spent = {"start": start, **_given(row), "end": end, "Exit_status": _exit(row["state"])}
        kind = "R" if row["state"] == REQUEUED else "E"
        yield head(end, kind) + _items({**_asked(row), **spent, "run_count": 1})


def _exit(state: str | None) -> int | None:
    return None if state is None else _EXIT.get(state, _FAILED)


def _asked(row: Mapping[str, Any]) -> dict[str, object]:
    memory, walltime = row["mem_bytes"], row["walltime_s"]
    return {
        "user": row["user"],
        "group": row["group"],
        "account": row["account"],
        "queue": row["partition"],
        "resvID": row["reservation"],
        "ctime": row["submit_time"],
        "qtime": row["submit_time"],
        "etime": row["eligible_time"],
        "Resource_List.ncpus": row["cpus"],
        "Resource_List.nodect": row["nodes"],
        "Resource_List.ngpus": row["gpus"],
        "Resource_List.mem": None if memory is None else _size(memory),
        "Resource_List.walltime": None if walltime is None else _clock(walltime),
        "Resource_List.qos": row["qos"],
    }


def _given(row: Mapping[str, Any]) -> dict[str, object]:
    """CPUs and GPUs on its nodes, as even as can be where their amounts are not given."""
    nodes = row["nodes"]
    if not nodes:
        return {}
    names = (row["node_list"] or ",".join(f"n{k}" for k in range(nodes))).split(",")
    each = amounts_of(row["node_amounts"], nodes)
    cpus, gpus = (each.get(name) or _spread(row[name] or 0, nodes) for name in ("cpus", "gpus"))
    vnodes = [f"({n}:ncpus={c}:ngpus={g})" for n, c, g in zip(names, cpus, gpus, strict=True)]
    hosts = [f"{n}/0*{c}" for n, c in zip(names, cpus, strict=True)]
    return {"exec_host": "+".join(hosts), "exec_vnode": "+".join(vnodes)}


def _spread(amount: int, places: int) -> list[int]:
    each, more = divmod(amount, places)
    return [each + (k < more) for k in range(places)]


def _items(items: Mapping[str, object]) -> str:
    return " ".join(f"{key}={_quoted(value)}" for key, value in items.items() if value is not None)


def _quoted(value: object) -> str:
    if not isinstance(value, str):
        return str(value)
    escaped = text(value)
    if " " not in escaped and escaped[:1] not in ('"', "'"):
        return escaped
    quote = "'" if '"' in escaped else '"'
    return f"{quote}{escaped}{quote}"


def _size(memory: int) -> str:
    return f"{memory >> 10}kb" if memory % 1024 == 0 else f"{memory}b"


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
