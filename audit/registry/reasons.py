"""Reasons that schedulers record for pending jobs, and the cause of waiting that each names.

A log keeps one reason per attempt, the last that was recorded. It is evidence for the instant at
which it was written (SPEC §11), so only holds change the account of a wait. Names are those of
Slurm 17.11 to 25.05 (``squeue``, "JOB REASON CODES"); other dialects use the same.
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Reason:
    """Recorded reasons of one kind."""

    pattern: str
    """Regular expression that is found in them, in any case."""
    cause: str | None
    """Key of a cause (``registry.causes``); None: the job waited for its turn, or had ended."""
    clause: str
    """The state of the job, as in "for 3 h, …"."""
    held_by: str | None = None
    """Of a hold, its kind."""
    blocks: bool = False
    """Whether the job was waiting for something other than its turn (SPEC §5)."""


# fmt: off
REASONS: Final = (
    Reason(r"array", "held", "as many tasks of its array ran as may run at once", "array",
           blocks=True),
    Reason(r"begin_?time", "held", "the begin time that it requested had not come", "begin",
           blocks=True),
    Reason(r"dependency", "held", "a job on which it depends had not ended as required",
           "dependency", blocks=True),
    # not QOSUsageThreshold
    Reason(r"held|(^|[^s])hold", "held", "its user or an administrator held it", "hold",
           blocks=True),
    Reason(r"^ReqNodeNotAvail|maintenance|unavailablenodes", "unavailable",
           "nodes that it needs were down, drained or reserved"),
    Reason(r"reservation", "unavailable", "its reservation had not begun, or had been deleted",
           blocks=True),
    Reason(r"^(NodeDown|FrontEndDown|BlockMaxError|BlockFreeAction|Power(NotAvail|Reserved))",
           "unavailable", "nodes that it needs were down"),
    Reason(r"^Partition(Down|Inactive)", "unavailable", "its partition started no jobs"),
    # an end, not a wait; PartitionTimeLimit is none
    Reason(r"^(TimeLimit|InactiveLimit|NonZeroExitCode|JobLaunchFailure|SystemFailure|OutOfMemory"
           r"|DeadLine)$", None, "it had ended or could not be started"),
    Reason(r"^(assoc|qos)|^max\w+per(account|limit)|limit|^(partitionconfig|accountingpolicy)"
           r"|^(accountnotallowed|invalidaccount|invalidqos)|^max", "rule",
           "a limit or rule of its account, QOS or partition applied", blocks=True),
    Reason(r"licen[cs]e", "held", "the licences that it requested were in use", "licence",
           blocks=True),
    Reason(r"^BadConstraints", "unavailable", "no node meets what it requested"),
    Reason(r"^Resources$", None, "the resources that it requested were in use"),
    Reason(r"^(Priority|None|SchedDefer|Cleaning|Prolog|FedJobLock|BurstBuffer\w*)?$", None,
           "its turn had not come"),
)
# fmt: on
"""The first whose pattern is found applies."""

OTHER: Final = Reason("", None, "it waited for a reason that fairaudit does not know")

DEPENDENCY_INFERRED: Final = "dependency_inferred"
OWN_LIMIT_INFERRED: Final = "own_limit_inferred"
INFERRED_HOLDS: Final = {
    DEPENDENCY_INFERRED: "until its user's previous job ended: a dependency, or a script",
    OWN_LIMIT_INFERRED: "its user hardly ever runs more at once: a limit, throttle or dependency",
}
"""The fact that the log shows, in words."""
HELD_BY: Final = (
    *("begin", "dependency", "hold", "array", "licence"),
    *INFERRED_HOLDS,
)
"""Kinds of holds; of the inferred ones the log has no record (SPEC §11)."""

PLANNED: Final = "planned"
"""Kind of a stretch in which the scheduler's own plan started the job later (backfill)."""

_WORDS: Final = frozenset(
    " ".join(
        (
            "account accounting action admin allowed array assoc association avail available bad",
            "bb begin billing block buffer burst cancelled cleaning code config constraints cores",
            "cpu cpus dead defer deleted dependency dependent down duration end energy error exit",
            "fail failed failure feature fed for free front gpu gres group grp held hold in",
            "inactive invalid job jobs launch licence licences license licenses limit line lock",
            "maintenance max mem memory min mins minutes never no node nodes non none not of",
            "operation out partition per policy power priority prolog qos req requeue reservation",
            "reserved reset resource resources run running satisfied sched scheduling size stage",
            "submit system task tasks threshold time timeout type unavailable unknown usage user",
            "users wall zero",
        )
    ).split(" ")
)
"""The parts of schedulers' reasons."""
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|_+|\W+|\d+")


def without_names(reason: str) -> str:
    """Return a reason without words that no scheduler's own reasons have, such as names of users.

    A reason of a scheduler stays as it is.
    """
    parts = _PARTS.findall(reason)
    kept = [part for part in parts if part.lower() in _WORDS or not part.isalnum()]
    return reason if len(kept) == len(parts) else "".join(kept).strip() or "Unknown"
