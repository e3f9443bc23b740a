"""Daily logs of PBS's scheduler and server: ``sched_logs`` and ``server_logs``.

    10/11/2011 14:43:31;0040;pbs_sched;Job;21.srv;would exceed user ann's limit on resource ncpus …

A line is ``MM/DD/YYYY HH:MM:SS[.ffffff];EVENT;DAEMON;CLASS;ID;MESSAGE``, in the site's zone. Names
in messages are dropped. Other lines are skipped and counted. Sources: OpenPBS (job_info.c of the
scheduler; req_holdjob.c, req_manager.c and node_manager.c of the server), TORQUE.
"""

import re
from collections.abc import Iterable
from typing import Final

from audit.formats.evidence.statements import (
    ENDED,
    HELD,
    JOB,
    PENDING,
    RELEASED,
    STARTED,
    LineKind,
    Remark,
)
from audit.registry.reasons import PLANNED

PBS_LOG: Final = "PBS_HOME/sched_logs and PBS_HOME/server_logs"
"""Where the files are."""

_LINE: Final = re.compile(
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


def remarks(lines: Iterable[str]) -> tuple[list[Remark], int]:
    """Return statements about jobs and nodes, and the number of lines without one."""
    said = list[Remark]()
    skipped = 0
    for line in lines:
        found = _LINE.match(line)
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
