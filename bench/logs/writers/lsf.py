"""Attempts as LSF 10.1 writes them into lsb.acct."""

import re
from typing import Final

import polars as pl

from audit.formats.lsf.reader import DONE, EXITED, TERMINATED
from audit.hostlists import amounts_of
from audit.model import JobState

_ID: Final = re.compile(r"([0-9]+)(?:\[([0-9]+)\])?")
_REASONS: Final = {state: reason for reason, state in sorted(TERMINATED.items(), reverse=True)}


def write(frame: pl.DataFrame, *, short: bool = False) -> bytes:
    """Attempts as an lsb.acct; the inverse of ``parse`` for what it can hold.

    Args:
        frame: columns of ``model.RECORDS``, of which ``job_id`` (`7`, or `7[3]` for a task of an
            array; in other forms ``job_number`` and ``array_task`` tell), ``user``, ``account``
            (as the project), ``group`` (as the fairshare account), ``partition``, ``qos`` (as the
            service class), ``state``, ``reservation``, ``submit_time``, ``eligible_time``,
            ``start_time``, ``end_time``, ``suspended_s``, ``walltime_s``, ``cpus``, ``nodes``,
            ``gpus`` and ``mem_bytes`` are used.
        short: whether hosts are written once each, as `4*host1` (SHORT_EVENTFILE).

    Returns:
        The log, one record per row. Texts hold whatever they do, line ends too.
    """
    return "".join(_record(row, short=short) for row in frame.iter_rows(named=True)).encode()


def quoted(text: object) -> str:
    """A text in quotes; those within it are doubled."""
    doubled = "" if text is None else str(text).replace('"', '""')
    return f'"{doubled}"'


def _record(row: dict[str, object], *, short: bool) -> str:
    number, task = _numbers(row)
    state = str(row["state"])
    done = state == JobState.COMPLETED
    submit, end = _int(row["submit_time"]), _int(row["end_time"])
    start = _int(row["start_time"])
    ready = row["eligible_time"]
    hosts = _hosts(row, short=short) if start else []
    charged = None if row["group"] is None else f"/{row['group']}/{row['user']}"
    ran = end - start - _int(row["suspended_s"]) if start else 0
    fields = [
        *(quoted("JOB_FINISH"), quoted("10.108"), end, number, 1001, 2, _int(row["cpus"])),
        *(submit, 0, 0, start, quoted(row["user"]), quoted(row["partition"])),
        *(quoted(""),) * 8,
        *(quoted(f"{submit}.{number}"), 0, len(hosts), *hosts),
        *(DONE if done else EXITED, "100.0", quoted("name[1-1000000%50]"), quoted("sleep 1")),
        *("0.010000", "0.020000", *(0,) * 17),
        *(quoted(""), quoted(row["account"]), 0 if done else 256, _int(row["cpus"])),
        *(quoted(""), quoted(""), task, 0, 0, quoted(""), quoted("")),
        *(quoted(row["reservation"]), quoted(row["qos"]), 0, quoted("")),
        *(_REASONS.get(state, 0), quoted(""), -1, quoted(charged), *(quoted(""),) * 3, -1),
        *(quoted(""), quoted(""), 0, quoted(""), 0, quoted(""), quoted(""), 0, 0),
        *(_int(row["walltime_s"]) or -1, 0, 0, quoted(_requirement(row))),
        *(quoted(""), -1, quoted(""), -1, 0, quoted(""), 0, 0, quoted(""), ran, quoted("")),
        *(0, quoted(""), "0.000000", *("0.00",) * 4, len(hosts), *hosts),
        *(-1 if ready is None else _int(ready) - submit, 0, 0, 0, 0, 0),
    ]
    return " ".join(map(str, fields)) + "\n"


def _numbers(row: dict[str, object]) -> tuple[str, str]:
    """The numbers of a job and of its task, 0 for none."""
    if found := _ID.fullmatch(str(row["job_id"])):
        return found[1], found[2] or "0"
    return str(row["job_number"]), str(row["array_task"] or 0)


def _hosts(row: dict[str, object], *, short: bool) -> list[str]:
    """Slots on hosts, as evenly as possible where their amounts are not given."""
    slots, nodes = _int(row["cpus"]), _int(row["nodes"]) or 1
    names = (str(row["node_list"] or "") or ",".join(f"host{k + 1}" for k in range(nodes))).split(
        ","
    )
    even = [slots // nodes + (k < slots % nodes) for k in range(nodes)]
    given = row["node_amounts"]
    each = amounts_of(None if given is None else str(given), nodes).get("cpus") or even
    times = [(name, n) for name, n in zip(names, each, strict=True) if n]
    if short:
        return [quoted(f"{n}*{name}") for name, n in times]
    return [quoted(name) for name, n in times for _ in range(n)]


def _requirement(row: dict[str, object]) -> str:
    wanted = []
    if row["mem_bytes"] is not None:
        wanted.append(f"mem={_int(row['mem_bytes']) // 1024}KB/job")
    if row["gpus"]:
        wanted.append(f"ngpus_physical={row['gpus']}.00/job")
    return f"select[type == any] rusage[{':'.join(wanted)}]" if wanted else "select[type == any]"


def _int(value: object) -> int:
    return int(str(value)) if value is not None else 0
