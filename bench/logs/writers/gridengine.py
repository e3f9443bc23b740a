"""Attempts as Grid Engine writes them into its accounting file."""

import re
from typing import Final

import polars as pl

from audit.formats.gridengine import LIMIT_ENFORCED, RESCHEDULED, SEPARATOR
from audit.model import JobState

_ID: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_FAILED: Final = {"REQUEUED": RESCHEDULED, "TIMEOUT": LIMIT_ENFORCED}


def write(frame: pl.DataFrame, *, milliseconds: bool = False) -> bytes:
    r"""Attempts as an accounting file of 45 columns; the inverse of ``parse`` for what it can hold.

    Args:
        frame: columns of ``model.RECORDS``, of which ``job_id`` (`7`, or `7.3` for a task; in other
            forms ``job_number`` and ``array_task`` tell), ``user``, ``account`` (as the project),
            ``group``, ``partition``, ``state``, ``reservation`` (a number), ``submit_time``,
            ``start_time``, ``end_time``, ``walltime_s``, ``cpus``, ``nodes`` (one, or a parallel
            job), ``gpus`` and ``mem_bytes`` (a multiple of the CPUs) are used.
        milliseconds: whether times are written as Univa does.

    Returns:
        The log, one line per row. A `:` or what ends a line, within a name, and a `#` at the
        beginning of one are escaped as ``\x3a``: Grid Engine has no way to write them.
    """
    unit = 1_000 if milliseconds else 1
    lines = [_line(row, unit) for row in frame.iter_rows(named=True)]
    return "".join(["# Version: 8.1.9\n# \n", *lines]).encode()


def escaped(name: str) -> str:
    """A name that stays in its column."""
    kept = "".join(f"\\x{ord(char):02x}" if char in ":\r\n" else char for char in name)
    return f"\\x23{kept[1:]}" if kept.startswith("#") else kept


def _line(row: dict[str, object], unit: int) -> str:
    number, task = _numbers(row)
    never = row["start_time"] is None
    times = [row["submit_time"], row["start_time"], None if never else row["end_time"]]
    state = row["state"]
    good = state == JobState.COMPLETED
    wallclock = 0 if never else int(str(row["end_time"])) - int(str(row["start_time"]))
    columns = [
        *(_text(row["partition"], "UNKNOWN"), _text(row["node_list"], "node1")),
        *(_text(row["group"], "NONE"), _text(row["user"], ""), "job"),
        *(number, "sge", "0"),
        *(str(int(str(time or 0)) * unit) for time in times),
        *(str(_FAILED.get(str(state), 0)), "0" if good else "1", str(wallclock)),
        *("0.000000",) * 3,
        *("0",) * 14,
        *(_text(row["account"], "NONE"), "defaultdepartment"),
        *("NONE" if row["nodes"] == 1 else "mpi", str(row["cpus"] or 0)),
        *(task, *("0.000000",) * 3),
        *(_category(row), "0.000000", "NONE", "0.000000", str(row["reservation"] or 0), "0"),
    ]
    return SEPARATOR.join(columns) + "\n"


def _numbers(row: dict[str, object]) -> tuple[str, str]:
    """The numbers of a job and of its task, 0 for none."""
    if found := _ID.fullmatch(str(row["job_id"])):
        return found[1], found[2] or "0"
    return str(row["job_number"]), str(row["array_task"] or 0)


def _category(row: dict[str, object]) -> str:
    slots = int(str(row["cpus"] or 1))
    wanted = {"h_rt": row["walltime_s"], "gpu": row["gpus"] or None}
    if row["mem_bytes"] is not None:
        wanted["h_vmem"] = int(str(row["mem_bytes"])) // slots
    listed = ",".join(f"{name}={value}" for name, value in wanted.items() if value is not None)
    return f"-l {listed}" if listed else "NONE"


def _text(name: object, nothing: str) -> str:
    return nothing if name is None else escaped(str(name))
