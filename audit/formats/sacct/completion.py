"""Slurm's job completion log (jobcomp/filetxt), rewritten as the columns of sacct.

    JobId=8 UserId=cyd(1003) GroupId=lab(1003) Name=run JobState=FAILED Partition=batch TimeLimit=60
    StartTime=2026-11-21T04:01:43 EndTime=… NodeList=n[1-2] NodeCnt=2 ProcCnt=8 WorkDir=/home/cyd
    ReservationName= Tres=cpu=8,mem=4G,node=2 Account=phys QOS=normal WcKey= Cluster=lab
    SubmitTime=… EligibleTime=… ArrayJobId=7 ArrayTaskId=1 DerivedExitCode=0:0 ExitCode=1:0

A line, written at the end of each execution, with the values that slurmctld had then:

- NodeCnt and ProcCnt are what was allocated; Tres is what was requested, and so are GPUs and
  memory. Gres, in its place until 20.02, is not read: its meaning changed.
- An execution whose job was requeued has the state PENDING: for sacct, and here, it is REQUEUED.
- TimeLimit is in minutes. Suspended time is unknown.
- Old versions have no SubmitTime. Later ones end each line with ExitCode: a line without it was
  truncated.

The name of a job and its folder may contain anything. A line in which a key occurs twice is left as
it is, and so refused. Source: Slurm's ``jobcomp_filetxt.c``, 15.08 to 25.05.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from audit.formats.lines import UNQUOTED
from audit.formats.sacct.columns import SKIPPED
from audit.formats.shaping import case

FORM: Final = "jobcomp"  # how a header's entry names this form
BEGINS: Final = r"^JobId=[0-9]+ UserId=\S"
REMARK: Final = (
    "a job completion log (jobcomp/filetxt): memory and GPUs are those that were requested; "
    "priorities, reasons and suspended time are unknown"
)

_COLUMNS: Final = {
    # column of sacct: its key
    "User": "UserId",
    "Group": "GroupId",
    "Account": "Account",
    "Cluster": "Cluster",
    "Partition": "Partition",
    "QOS": "QOS",
    "State": "JobState",
    "TimelimitRaw": "TimeLimit",
    "Start": "StartTime",
    "End": "EndTime",
    "NodeList": "NodeList",
    "AllocNodes": "NodeCnt",
    "NCPUS": "ProcCnt",
    "Reservation": "ReservationName",
    "ReqTRES": "Tres",
    "Submit": "SubmitTime",
    "Eligible": "EligibleTime",
}
KEYS: Final = (
    *("JobId", *_COLUMNS.values(), "ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset"),
    *("Procs", "Gres", "WorkDir", "WcKey", "DerivedExitCode", "ExitCode"),
)
"""Keys of a line; that of the job's name is a word of other logs, too."""
_IDS: Final = {
    # only where slurmctld writes them: the name of a job may contain anything
    "id": r"^JobId=([0-9]+)",
    "array": r" EligibleTime=\S+ ArrayJobId=([0-9]+)",
    "task": r" EligibleTime=\S+ ArrayJobId=[0-9]+ ArrayTaskId=([0-9]+)",
    "het": r" EligibleTime=\S+ HetJobId=([0-9]+)",
    "offset": r" EligibleTime=\S+ HetJobId=[0-9]+ HetJobOffset=([0-9]+)",
}
_NEEDED: Final = ("JobState", "StartTime", "EndTime", "NodeCnt", "ProcCnt")
_SPELLINGS: Final = ((" Procs=", " ProcCnt="), (" PackJob", " HetJob"))  # of older versions
_UNKNOWN: Final = ["unknown", "(null)"]


def names(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a log that has these lines, without times that none of them has."""
    text = "\n".join(lines)
    for old, new in _SPELLINGS:
        text = text.replace(old, new)
    known = (name if f" {key}=" in text else SKIPPED for name, key in _COLUMNS.items())
    return ("JobID", *known)


def rewritten(data: bytes) -> bytes:
    """Return lines of sacct's columns, separated by ``UNQUOTED``; other lines stay as they are."""
    lines = pl.Series("line", data.decode("utf-8", "backslashreplace").split("\n"))
    for old, new in _SPELLINGS:
        lines = lines.str.replace_all(old, new, literal=True)
    line = pl.col("line")
    values = lines.to_frame().with_columns(
        **{name: line.str.extract(pattern) for name, pattern in _IDS.items()},
        **{key: line.str.extract(rf" {key}=(\S*)") for key in _COLUMNS.values()},
        twice=pl.any_horizontal(
            line.str.count_matches(f" {key}=", literal=True) > 1 for key in _COLUMNS.values()
        ),
        ends=line.str.contains(r" ExitCode=[0-9]+:[0-9]+\s*$"),
    )
    columns = [_column(name, key).fill_null("") for name, key in _COLUMNS.items()]
    whole = pl.all_horizontal(pl.col(key).is_not_null() for key in _NEEDED) & (
        pl.col("ends") | pl.col("SubmitTime").is_null()
    )
    good = line.str.contains(BEGINS) & whole & ~pl.col("twice")
    written = pl.concat_str([_job_id(), *columns], separator=UNQUOTED)
    text = values.select(pl.when(good).then(written).otherwise(line)).to_series()
    return "\n".join(text).encode()


def _column(name: str, key: str) -> pl.Expr:
    value, never_ran = pl.col(key), pl.col("NodeCnt") == "0"
    match name:
        case "User" | "Group":
            return value.str.replace(r"\([0-9]+\)$", "")
        case "State":  # the job itself was requeued, and waits
            return value.replace("PENDING", "REQUEUED")
        case "NCPUS":  # of whole nodes, where nothing was allocated
            return pl.when(~never_ran).then(value)
        case "Cluster" | "Submit" | "Eligible":
            return pl.when(~value.is_in(_UNKNOWN)).then(value)
    return value


def _job_id() -> pl.Expr:
    """Return the job's id as sacct prints it: `7_1` of an array's task, `7+1` of a het job."""
    return case(
        (pl.col("task").is_not_null(), pl.format("{}_{}", "array", "task")),
        (pl.col("offset").is_not_null(), pl.format("{}+{}", "het", "offset")),
        otherwise=pl.col("id"),
    )
