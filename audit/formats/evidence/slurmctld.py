"""slurmctld.log, at ``SlurmctldDebug=info`` or more (Slurm 17.11 to 25.05).

    [2026-11-24T15:16:50.321] sched: Allocate JobId=8 NodeList=n1 #CPUs=4 Partition=batch

Jobs are ``JobId=8``, tasks of arrays ``JobId=90_3(93)``, all tasks that wait ``JobId=90_*``. The
lines of the backfill scheduler need ``DebugFlags=Backfill``. Other lines are skipped and counted.
Source: Slurm's controller (job_mgr.c, job_scheduler.c, node_mgr.c, sched/backfill).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from audit.formats.evidence.statements import (
    ENDED,
    HELD,
    PENDING,
    RELEASED,
    REQUEUED,
    STARTED,
    LineKind,
    Remark,
    number,
)
from audit.hostlists import expand

CTLD_LOG: Final = "SlurmctldLogFile of slurm.conf"
"""The file to look for."""

_AT: Final = re.compile(
    r"\[([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)\]\s+"
)
_ID: Final = (
    r"Job(?:Id=|ID |_id=)?(?P<job>[0-9]{1,18}(?:_[0-9]{1,9}|_\*|\+[0-9]{1,9})?)(?:\([0-9]+\))?"
)
_NODE: Final = r"[Nn]odes? (?P<node>[^\s\x00-\x1f]{1,4000})"


# fmt: off
LINES: Final = (
    LineKind(rf"_slurm_rpc_submit_batch_job: {_ID} InitPrio=(?P<priority>[0-9]+)", RELEASED),
    LineKind(rf"sched: (?:_slurm_rpc_allocate_resources |Allocate )?{_ID} NodeList=", STARTED),
    LineKind(rf"backfill: (?:_start_job: )?Started {_ID} in ", STARTED),
    LineKind(rf"_job_complete: {_ID} done", ENDED),
    LineKind(rf"job_signal: [0-9x]+ of pending {_ID} successful", ENDED),
    LineKind(rf"(?i:requeuing) {_ID}", REQUEUED),
    LineKind(rf"hold on {_ID} by uid 0\b", HELD, "JobHeldAdmin"),
    LineKind(rf"hold on {_ID} by uid ", HELD, "JobHeldUser"),
    LineKind(rf"set(?:ting)? priority to (?P<priority>[0-9]+) for {_ID}", RELEASED),
    LineKind(rf"BACKFILL: test for {_ID} Prio=(?P<priority>[0-9]+)", PENDING),
    LineKind(rf"BACKFILL: {_ID} not runable now due to licenses", PENDING, "Licenses"),
    LineKind(rf"adding reservation for {_ID} blocked by acct_policy", PENDING, "AccountingPolicy"),
    LineKind(rf"_dump_job_sched: {_ID} to start at (?P<expected>[-0-9T:]+),", PENDING),
    LineKind(rf"update_node: {_NODE} state set to (?P<state>\w+)", ""),
    LineKind(rf"drain_nodes: {_NODE} state set to (?P<state>DRAIN\w*)", ""),
    LineKind(rf"{_NODE} not responding, setting (?P<state>DOWN)", ""),
    LineKind(rf"{_NODE} (?:now responding|returned to service)", "IDLE"),
    LineKind(rf"{_NODE} rebooted unexpectedly", "DOWN"),
)
# fmt: on
"""The first that is found applies. ``release hold`` precedes no other kind that has ``hold``."""

_RELEASE: Final = LineKind(rf"release hold on {_ID} by uid ", RELEASED)
_PATTERNS: Final = tuple((re.compile(one.pattern), one) for one in (_RELEASE, *LINES))
_SOME: Final = re.compile(
    "InitPrio|NodeList=|Started |_job_complete|of pending|equeuing|hold on|priority to|BACKFILL: "
    "|acct_policy|_dump_job_sched|state set to|responding|returned to|rebooted"
)
"""Contents of each kind of line."""


def remarks(lines: Iterable[str]) -> tuple[list[Remark], int]:
    """Return statements about jobs and nodes, and the number of lines without one.

    A pass of the backfill scheduler makes one remark about a job: that of its first line.
    """
    said = list[Remark]()
    skipped, tested = 0, dict[str, int]()
    for line in lines:
        at = _AT.match(line)
        found = None if at is None or not _SOME.search(line, at.end()) else _found(line, at.end())
        if at is None or found is None:
            skipped += 1
            continue
        kind, parts = found
        for one in _remarks(at[1], kind, parts):
            place = tested.get(one.job or "") if one.state == PENDING else None
            if place is None or "BACKFILL: test" in kind.pattern:
                if one.state == PENDING and one.job:
                    tested[one.job] = len(said)
                elif one.job:
                    tested.pop(one.job, None)
                said.append(one)
            else:
                before = said[place]
                said[place] = before._replace(
                    reason=one.reason or before.reason, expected=one.expected or before.expected
                )
    return said, skipped


def _found(line: str, begin: int) -> tuple[LineKind, Mapping[str, str]] | None:
    for pattern, kind in _PATTERNS:
        if match := pattern.search(line, begin):
            return kind, match.groupdict()
    return None


def _remarks(at: str, kind: LineKind, parts: Mapping[str, str]) -> Iterator[Remark]:
    if "node" in parts:
        for node in expand(parts["node"]) or ():
            yield Remark(at, node=node, state=parts.get("state") or kind.state)
        return
    state, reason, priority = kind.state, kind.reason, number(parts.get("priority"))
    if priority == 0 and state == RELEASED:
        state, reason = HELD, "JobHeldUser"
    yield Remark(at, parts["job"], None, state, reason, priority or None, parts.get("expected"))
