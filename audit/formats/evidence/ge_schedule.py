"""Grid Engine's file ``schedule``, with ``params MONITOR=1`` of ``qconf -msconf``.

    ::::::::
    8:1:STARTING:1700000000:3660:Q:all.q@n1:slots:4.000000

A line of colons begins a pass of the scheduler. Others are job, task, state, start (epoch s),
duration, level, object, resource and amount, one for each resource. A job that a pass starts
has the instant of the pass as its start; a reserved job has its planned one. A pass that starts
nothing has no instant, so it is skipped. Source: the manual page sge_schedule(5).
"""

import re
from collections.abc import Iterable
from typing import Final

from audit.formats.evidence.statements import PENDING, STARTED, Remark

SCHEDULE: Final = "$SGE_ROOT/$SGE_CELL/common/schedule"
"""The file, with ``params MONITOR=1``."""

_LINE: Final = re.compile(r"([0-9]{1,18}):([0-9]{1,18}):([A-Z]+):([0-9]{9,11}):[0-9]+:")
_KNOWN: Final = frozenset(("RUNNING", "SUSPENDED", "MIGRATING", "PREEMPTING"))


def remarks(lines: Iterable[str]) -> tuple[list[Remark], int]:
    """Return what passes start and reserve, and the number of lines that say nothing of use."""
    said = list[Remark]()
    skipped = 0
    reserved: dict[str, str] = {}
    starting: dict[str, str] = {}

    def close() -> int:
        instant = max(starting.values(), default="")
        for task, at in starting.items():
            said.extend(Remark(at, job, None, STARTED) for job in _names(task))
        for task, start in reserved.items() if instant else ():
            said.extend(Remark(instant, job, None, PENDING, expected=start) for job in _names(task))
        lost = 0 if instant else len(reserved)
        reserved.clear()
        starting.clear()
        return lost

    for line in lines:
        found = _LINE.match(line)
        if line.startswith("::::"):
            skipped += close()
        elif not found or found[3] not in (_KNOWN | {"STARTING", "RESERVING"}):
            skipped += bool(line.strip())
        elif found[3] == "STARTING":
            starting.setdefault(f"{found[1]}.{found[2]}", found[4])
        elif found[3] == "RESERVING":
            reserved.setdefault(f"{found[1]}.{found[2]}", found[4])
    return said, skipped + close()


def _names(task: str) -> list[str]:
    """Return the ids as in ``accounting``, where only jobs of several tasks name theirs."""
    return [task, task.removesuffix(".1")] if task.endswith(".1") else [task]
