"""One job of `sacct --json` → the columns that `sacct -P` would print of it.

| `sacct -P` | JSON |
|---|---|
| JobID | ``array/task`` (ranges or a bit mask), ``array/task_id``, ``het/job_offset``, ``job_id`` |
| Submit, Eligible, Start, End | ``time``; 0 and null: unknown |
| ElapsedRaw, Suspended, TimelimitRaw | ``time``; the limit in minutes |
| AllocTRES, ReqTRES | ``tres``, memory in MiB |
| AllocNodes, NodeList | ``allocation_nodes``, ``nodes`` |
| State | ``state/current``: a state, or a list of one and its flags, of which the flag is printed |

Numbers are plain until 22.05, objects from 23.02 on where they may be unset or infinite, or null,
by the version and what was asked for (``--json=v0.0.42+complex``). In 21.08 ``time/start`` holds
the time of eligibility, and in 22.05 ``reservation/name`` a number that says nothing.
"""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any, Final

COLUMNS: Final = (
    *("JobID", "Cluster", "User", "Account", "Group", "Partition", "QOS", "State", "Reason"),
    *("Priority", "Reservation", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended"),
    *("TimelimitRaw", "AllocTRES", "ReqTRES", "AllocNodes", "NodeList", "ReqCPUS", "ReqMem"),
)
"""sacct's names of what ``columns_of`` gives."""

_UNSET: Final = frozenset((2**32 - 1, 2**32 - 2, 2**64 - 1, 2**64 - 2))
"""What Slurm means by infinite and by no value, in 32 and 64 bits."""

_FLAGS: Final = (
    # in the order in which `sacct -P` would name one of them instead of the state
    *("COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED"),
    *("REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"),
)
_NO_SUSPENSION: Final = "00:00:00"
_LONGEST_MASK: Final = 1 << 20
"""Digits of a bit mask of array tasks; Slurm's MaxArraySize is at most 4,000,001."""

_FEW_TASKS: Final = 10
"""Tasks at equal distances are written by their step where they span more than so many."""


def columns_of(job: Any) -> tuple[str | None, ...]:
    """The texts of ``COLUMNS``; None where nothing is known.

    Raises:
        ValueError: it is no job; the message names the field and shows its value.
    """
    if not isinstance(job, dict) or "job_id" not in job:
        raise ValueError(f"field job_id is missing: {_shown(job)}")
    time, state, association = _part(job, "time"), _part(job, "state"), _part(job, "association")
    tres, required = _part(job, "tres"), _part(job, "required")
    suspended = _number(time.get("suspended"))
    eligible, start, end = (_time(time.get(name)) for name in ("eligible", "start", "end"))
    elapsed = _number(time.get("elapsed"))
    return (
        _job_id(job),
        _name(job.get("cluster")) or _name(association.get("cluster")),
        _name(job.get("user")) or _name(association.get("user")),
        _name(job.get("account")) or _name(association.get("account")),
        _name(job.get("group")),
        _name(job.get("partition")),
        _name(job.get("qos")),
        _state(state.get("current")),
        _name(state.get("reason", state.get("previous"))),
        _number(job.get("priority")),
        _reservation(_part(job, "reservation").get("name")),
        _time(time.get("submission")),
        eligible,
        _start(eligible, start, end, elapsed, suspended),
        end,
        elapsed,
        _duration(suspended),
        _number(time.get("limit")),
        _tres(tres.get("allocated")),
        _tres(tres.get("requested")),
        _number(job.get("allocation_nodes")),
        _name(job.get("nodes")),
        _number(required.get("CPUs")),
        _memory(required),
    )


def _part(job: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within a job; empty where there is none."""
    part = job.get(name)
    if part is None:
        return {}
    if not isinstance(part, dict):
        raise ValueError(f"field {name}: {_shown(part)} is no object")
    return part


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)[:40]
    return text.encode("utf-8", errors="backslashreplace").decode()


def _number(value: Any) -> str | None:
    """A number as a text, whichever way it is written; what is none is kept, to be refused."""
    if type(value) is int:
        return None if value in _UNSET else str(value)
    if value is None or (isinstance(value, str) and value in {"", "Infinity"}):
        return None
    if isinstance(value, dict):
        known = value.get("set", True) and not value.get("infinite", False)
        return _number(value.get("number")) if known else None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() else str(value)
    return value if isinstance(value, str) else _shown(value)


def _time(value: Any) -> str | None:
    return None if value == 0 else (text if (text := _number(value)) != "0" else None)


def _start(
    eligible: str | None,
    start: str | None,
    end: str | None,
    elapsed: str | None,
    suspended: str | None,
) -> str | None:
    """When it started; from its end where eligibility stands in place of it (21.08)."""
    if start is None or start != eligible or end is None or elapsed is None:
        return start
    try:
        spent = int(elapsed) + int(suspended or 0)
        return str(int(end) - spent) if int(end) - int(start) > spent >= 0 else start
    except ValueError:
        return start


def _name(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else _shown(value)


def _reservation(value: Any) -> str | None:
    return None if isinstance(value, int) else _name(value)


def _state(value: Any) -> str | None:
    if not isinstance(value, list):
        return _name(value)
    flags = [flag for flag in _FLAGS if flag in value]
    return flags[0] if flags else _name(value[0] if value else None)


def _duration(seconds: str | None) -> str | None:
    """Seconds as sacct prints a suspension."""
    if seconds is None or seconds == "0":
        return None if seconds is None else _NO_SUSPENSION
    if not seconds.isdecimal() or len(seconds) > 12:
        return seconds
    minutes, second = divmod(int(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"


def _tres(items: Any) -> str | None:
    """`cpu=4,mem=8192M,gres/gpu:a100=2`; None where there is nothing in it."""
    if not items:
        return None
    if not isinstance(items, list):
        return _shown(items)
    texts = []
    for item in items:
        if not isinstance(item, dict):
            return _shown(items)
        count = _number(item.get("count"))
        if count is None or count.startswith("-"):  # energy that is not known
            continue
        kind, name = item.get("type"), item.get("name")
        unit = "M" if kind == "mem" and count.isdecimal() else ""
        texts.append(f"{kind}/{name}={count}" if name else f"{kind}={count}{unit}")
    return ",".join(texts) or None


def _memory(required: dict[str, Any]) -> str | None:
    """What was asked for; until 22.05 nothing says whether it is per CPU or per node."""
    for name, suffix in (("memory_per_cpu", "Mc"), ("memory_per_node", "Mn")):
        if (amount := _number(required.get(name))) is not None:
            return f"{amount}{suffix}"
    return None


def _job_id(job: dict[str, Any]) -> str | None:
    array, het = job.get("array"), job.get("het")
    if isinstance(array, dict) and (number := _number(array.get("job_id"))) not in (None, "0"):
        task = array.get("task")
        if task and isinstance(task, str):
            return f"{number}_[{_tasks(task, array)}]"
        if (single := _number(array.get("task_id"))) is not None:
            return f"{number}_{single}"
    if isinstance(het, dict) and (number := _number(het.get("job_id"))) not in (None, "0"):
        offset = _number(het.get("job_offset"))
        return f"{number}+{offset}" if offset is not None else _number(job["job_id"])
    return _number(job["job_id"])


def _tasks(task: str, array: dict[str, Any]) -> str:
    """The tasks of an array that wait, as sacct prints them: `0xc` is `2-3`."""
    task = task.removeprefix("[").removesuffix("]")
    if re.fullmatch(r"0x[0-9A-Fa-f]+", task) is None or len(task) > _LONGEST_MASK:
        return task
    bits = f"{int(task, 16):b}"[::-1]
    runs = [(run.start(), run.end() - 1) for run in re.finditer("1+", bits)]
    steps = {later - run for (run, _), (later, _) in pairwise(runs)}
    alone = all(first == last for first, last in runs)
    if alone and len(steps) == 1 and runs[-1][1] - runs[0][0] > _FEW_TASKS:
        text = f"{runs[0][0]}-{runs[-1][1]}:{steps.pop()}"
    else:
        text = ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
    try:
        most = _number(array["limits"]["max"]["running"]["tasks"])
    except (KeyError, TypeError):
        most = None
    return text if most in (None, "0") else f"{text}%{most}"
