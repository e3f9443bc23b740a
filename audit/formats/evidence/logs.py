"""Logs of schedulers, line by line: slurmctld's, those of PBS, and Grid Engine's ``schedule``.

Each reader returns statements, and the number of lines without one. Names in messages are dropped.

slurmctld.log, at ``SlurmctldDebug=info`` or more (Slurm 17.11 to 25.05)::

    [2026-11-24T15:16:50.321] sched: Allocate JobId=8 NodeList=n1 #CPUs=4 Partition=batch

Jobs are ``JobId=8``, tasks of arrays ``JobId=90_3(93)``, all tasks that wait ``JobId=90_*``. The
lines of the backfill scheduler need ``DebugFlags=Backfill``. Source: Slurm's controller (job_mgr.c,
job_scheduler.c, node_mgr.c, sched/backfill).

``sched_logs`` and ``server_logs`` of PBS, whose times are in the site's zone::

    10/11/2011 14:43:31;0040;pbs_sched;Job;21.srv;would exceed user ann's limit on resource ncpus …

A line is ``MM/DD/YYYY HH:MM:SS[.ffffff];EVENT;DAEMON;CLASS;ID;MESSAGE``. Sources: OpenPBS
(job_info.c of the scheduler; req_holdjob.c, req_manager.c, node_manager.c of the server), TORQUE.

``schedule`` of Grid Engine, with ``params MONITOR=1`` of ``qconf -msconf``::

    ::::::::
    8:1:STARTING:1700000000:3660:Q:all.q@n1:slots:4.000000

A line of colons begins a pass of the scheduler. Others are job, task, state, start (epoch s),
duration, level, object, resource and amount, one for each resource. A job that a pass starts has
the instant of the pass as its start; a reserved job has its planned one. A pass that starts nothing
has no instant, so it is skipped. Source: the manual page sge_schedule(5).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from audit.formats.evidence.statements import (
    ENDED,
    HELD,
    JOB,
    PENDING,
    RELEASED,
    REQUEUED,
    STARTED,
    LineKind,
    Remark,
    number,
)
from audit.hostlists import expand
from audit.registry.reasons import PLANNED

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
    LineKind(rf"release hold on {_ID} by uid ", RELEASED),
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
"""The first that is found applies: ``release hold`` before the kinds that have ``hold``."""

_PATTERNS: Final = tuple((re.compile(one.pattern), one) for one in LINES)
_SOME: Final = re.compile(
    "InitPrio|NodeList=|Started |_job_complete|of pending|equeuing|hold on|priority to|BACKFILL: "
    "|acct_policy|_dump_job_sched|state set to|responding|returned to|rebooted"
)
"""Contents of each kind of line."""


def slurmctld_remarks(lines: Iterable[str]) -> tuple[list[Remark], int]:
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


PBS_LOG: Final = "PBS_HOME/sched_logs and PBS_HOME/server_logs"
"""Where the files are."""

_PBS_LINE: Final = re.compile(
    r"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?"
    r";[0-9a-fA-F]{4,8};[^;]{0,200};(Job|Node|node);([^;\s]{1,250});(.{1,2000})"
)

# fmt: off
JOBS: Final = (
    LineKind(r"^Holds? \w+ released|^Job released", RELEASED),
    LineKind(r"^Holds? \w+ set at request", HELD, "JobHeldUser"),
    LineKind(r"^Job Run at request|^Job run on ", STARTED),
    LineKind(r"^Exit_status=|^dequeuing from|^Job (to be )?deleted", ENDED),
    LineKind(r"user\b.*\b(job|run) limit|\buser has reached|by user", PENDING, "JobLimitPerUser"),
    LineKind(r"group\b.*\b(job|run) limit|\bgroup has reached|by group", PENDING,
            "JobLimitPerGroup"),
    LineKind(r"project\b.*\b(job|run) limit|\bproject has reached", PENDING,
            "JobLimitPerAccount"),
    LineKind(r"would exceed (user|per-user|\S+ per-user)", PENDING, "ResourceLimitPerUser"),
    LineKind(r"would exceed (group|per-group)", PENDING, "ResourceLimitPerGroup"),
    LineKind(r"would exceed project", PENDING, "ResourceLimitPerAccount"),
    LineKind(r"would exceed .*\blimit", PENDING, "ResourceLimit"),
    LineKind(r"(job|run) limit (has been )?reached|reached .*\b(job|run) lim", PENDING, "JobLimit"),
    LineKind(r"top job|strict sorted order|interfere with a", PENDING, PLANNED),
    LineKind(r"insufficient amount of|not enough (free|of the right type of|total) nodes"
            r"|no (available|free) (nodes?|resources)|exclusive node and node is in use", PENDING,
            "Resources"),
    LineKind(r"licen[cs]e", PENDING, "Licenses"),
)
"""Messages about jobs; the first that is found applies."""

NODES: Final = (
    LineKind(r"attributes set:\s*state\s*[+=]\s*\S*offline", "OFFLINE"),
    LineKind(r"attributes set:\s*state\s*(-\s*\S*offline|=\s*free)|^node up", "IDLE"),
    LineKind(r"^node down", "DOWN"),
)
# fmt: on
"""Messages about nodes."""

_OF_JOBS, _OF_NODES = (
    tuple((re.compile(f"(?i){one.pattern}"), one) for one in kinds) for kinds in (JOBS, NODES)
)


def pbs_remarks(lines: Iterable[str]) -> tuple[list[Remark], int]:
    """Return statements about jobs and nodes, and the number of lines without one."""
    said = list[Remark]()
    skipped = 0
    for line in lines:
        found = _PBS_LINE.match(line)
        about = _OF_JOBS if found and found[5] == "Job" else _OF_NODES
        kind = found and next((one for pattern, one in about if pattern.search(found[7])), None)
        if not found or kind is None or (found[5] == "Job" and not JOB.fullmatch(found[6])):
            skipped += 1
            continue
        at = f"{found[3]}-{found[1]}-{found[2]}T{found[4]}"
        if found[5] == "Job":
            said.append(Remark(at, found[6], None, kind.state, kind.reason))
        else:
            said.append(Remark(at, node=found[6], state=kind.state))
    return said, skipped


SCHEDULE: Final = "$SGE_ROOT/$SGE_CELL/common/schedule"
"""The file, with ``params MONITOR=1``."""

_SCHEDULE_LINE: Final = re.compile(r"([0-9]{1,18}):([0-9]{1,18}):([A-Z]+):([0-9]{9,11}):[0-9]+:")
_KNOWN: Final = frozenset(("RUNNING", "SUSPENDED", "MIGRATING", "PREEMPTING"))


def schedule_remarks(lines: Iterable[str]) -> tuple[list[Remark], int]:
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
        found = _SCHEDULE_LINE.match(line)
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
