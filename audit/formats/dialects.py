"""The registry of log dialects.

A dialect is one module or folder of this package with a ``DIALECT``, and one line of ``MODULES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

import polars as pl

from audit.config.table import fingerprint
from audit.errors import DialectError
from audit.formats.lines import Block

if TYPE_CHECKING:
    from audit.config.table import TableMapping


TABLE: Final = "table"  # name of the dialect that only a mapping makes


@dataclass(frozen=True)
class Reading:
    """The user's options for reading a log."""

    columns: tuple[str, ...] | None = None
    """Column names of a log without a header row; ``_`` skips a column."""
    separator: str | None = None  # column separator; None detects it
    zone: str | None = None  # IANA name of the zone of local times; None: the log's own, or UTC
    table: TableMapping | None = None  # the columns of a table with other names

    @property
    def fingerprint(self) -> str:
        """Identity of the user's columns; empty without such columns."""
        return fingerprint(self.table, self.columns, self.separator)


PLAIN = Reading()  # no options


@dataclass(frozen=True)
class Header:
    """The statements of a log about itself and the cluster, before its first record."""

    zone: str | None = None  # IANA name of the cluster's time zone
    capacity: Mapping[str, int] = field(default_factory=dict)
    """The cluster's amount of each counted resource, according to the log."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """All labelled entries, for provenance and for the dialect's own use."""
    problems: tuple[str, ...] = ()  # entries that could not be used, in words for the user
    local_times: bool = False
    """Whether its times are local times of an unknown zone; they are read as UTC."""
    server: str | None = None  # the only one that its records name; names the cluster


@dataclass(frozen=True)
class Parsed:
    """The records and refusals of a block."""

    records: pl.DataFrame  # model.RECORDS
    refusals: pl.DataFrame  # model.REFUSALS
    steps: int = 0  # records of parts of a job (Slurm's steps): counted, not kept
    header: Header | None = None
    """The header for the blocks that follow, where this block changed it."""
    remarks: Mapping[str, int] = field(default_factory=dict)
    """Doubts about records that were read, in words for the user, and the number of records."""


def last_line(data: bytes, header: Header) -> int:
    """Return the length of the whole lines at the start of ``data``."""
    return data.rfind(b"\n") + 1


class Selection(Enum):
    """The instant that decides whether a log of some time has a record."""

    BY_END = auto()
    """The job ended in that time: of earlier times the log has only what its own jobs did."""
    BY_STAMP = auto()
    """The record was written in that time: the log has all that happened from its begin on."""


@dataclass(frozen=True)
class Dialect:
    """One kind of accounting log: bytes in, records and refusals out."""

    name: str
    title: str
    recognises: Callable[[bytes], bool]
    """Whether a log begins with these bytes (at most ``HEAD_BYTES``, possibly cut in a line)."""
    header: Callable[[bytes, Reading], Header]  # reads the header from those bytes
    parse: Callable[[Block, Header], Parsed]
    """Reads whole records; never raises for what they contain."""
    whole: Callable[[bytes, Header], int] = last_line
    """Length of the whole records at the start of a buffer, whatever follows."""
    selection: Selection = Selection.BY_END
    block_bytes: int = 1 << 23  # preferred size of a block
    names_clusters: bool = False  # whether records may name their cluster
    scheduler: str = ""  # the name that dialects of one scheduler share; default: the title
    needed: Callable[[Mapping[str, str]], dict[str, str]] = dict
    """The header entries that ``parse`` uses, without comments and other free text."""
    takes_columns: bool = False
    """Whether the user may name the columns, and their separator."""
    takes_mapping: bool = False
    """Whether a mapping without a job id adds fields to its own."""
    differs: Callable[[bytes], str | None] = lambda head: None
    """How a log that no dialect recognises differs from this one; None: it is not similar."""


HEAD_BYTES = 1 << 18  # size of the part of a log that determines its dialect and holds its header

MODULES: Final = (
    *("sacct.json", "sacct.job_table", "sacct.text", "pbs.reader", "lsf.reader", "gridengine"),
    *("htcondor.long", "htcondor.json", "htcondor.xml", "swf", "near_swf", "kueue", "table.reader"),
)
"""The modules with a ``DIALECT``; the first that recognises a log reads it."""


@lru_cache(maxsize=1)
def table() -> Mapping[str, Dialect]:
    """Return every dialect by name, in the order of ``MODULES``."""
    modules = [import_module(f"{__package__}.{name}") for name in MODULES]
    return {module.DIALECT.name: module.DIALECT for module in modules}


def detect(head: bytes, where: str, reading: Reading = PLAIN) -> Dialect:
    """Return the dialect of the log that begins with ``head``, called ``where`` in errors.

    A log with a mapping of its columns is a table; with declared columns, a log that no other
    dialect recognises is sacct's text. Raises DialectError, whose message describes the log, if no
    dialect recognises it.
    """
    if reading.table is not None and not reading.table.adds:
        return table()[TABLE]
    for dialect in table().values():
        if dialect.recognises(head):
            if reading.table is not None and not dialect.takes_mapping:
                what = f"{where}: looks like {dialect.title}, whose fields are known"
                raise DialectError(f"{what}: a mapping of another table needs job_id")
            return dialect
    if reading.columns is not None:
        return table()["sacct"]
    if (description := describe(head)) is not None:
        raise DialectError(f"{where}: {description}")
    bare = re.sub(rb"^[^\s:\"]+:", b"", head, flags=re.MULTILINE)
    for dialect in table().values():
        if dialect.name != "sacct" and dialect.recognises(bare):  # which recognises much more
            looks = f"{where}: looks like {dialect.title}, but a file's name precedes each line"
            raise DialectError(f"{looks}, as grep prints it: omit the names of files (grep -h)")
    if (proposed := table()[TABLE].differs(head)) is not None:
        raise DialectError(f"{where}: ", proposed, "a table that needs a mapping: pass --table")
    known = ", ".join(
        dict.fromkeys(of.scheduler or of.title for of in table().values() if of.name != TABLE)
    )
    raise DialectError(f"{where}: not a log that fairaudit reads (known: {known}). {_REMEDY}")


_REMEDY: Final = (
    "Is it a table with columns of its own? Name them with --map FIELD=COLUMN or --table FILE, and "
    "with --columns if no row names them (docs/tables.md). 'fairaudit refused --head LOG' prints "
    "its first lines without names, for an issue"
)


def another(line: bytes, name: str) -> Dialect | None:
    """Return the dialect of a line by itself, other than ``name``; None if none recognises it."""
    others = (dialect for dialect in table().values() if dialect.name != name)
    return next((dialect for dialect in others if dialect.recognises(line)), None)


SACCT: Final = "sacct -X -D -P"
FOREIGN: Final = (
    # name, remedy, patterns: all must match; the line of the first is reported
    (
        "LSF's log of events (lsb.events)",
        "the file lsb.acct, beside it, is read",
        r'^"[A-Z][A-Z0-9_]+" "\d+(?:\.\d+)*" \d{9,11} ',
    ),
    (
        "what LSF's bacct, bhist or bjobs prints",
        "their source, the file lsb.acct, is",
        r"^Accounting information about jobs that are:|^Job <\d+(?:\[\d+\])?>, .*User <"
        r'|^JOBID +USER +(?:STAT +QUEUE|JOB_NAME +PEND) |^ *"COMMAND": *"b(?:jobs|hist|acct)"',
    ),
    (
        "what Slurm's squeue prints",
        f"it lacks the jobs that have ended, which sacct has: {SACCT}; "
        "samples of squeue can be added with --squeue",
        r"^ *JOBID +PARTITION +NAME +USER +ST(?:ATE)? "
        r"|^\S{0,400}\|JOBID\|\S{0,800}\|NODELIST\(REASON\)"
        r'|^ *"accrue_time": ',
    ),
    (
        "what Slurm's sreport prints",
        f"it has totals, and sacct has the jobs: {SACCT}",
        r"^\S{1,20}(?: \S{1,20}){0,4} \d{4}-\d\d-\d\dT[\d:]{8} - \d{4}-\d\d-\d\dT"
        r"|^Usage reported in ",
    ),
    (
        "what qstat prints",
        "the scheduler's accounting files are read: server_priv/accounting of PBS, the file "
        "called accounting of Grid Engine",
        r"^Job [iI][dD] +Name +User +Time Use +S|^job-ID +prior +name +user +state "
        r"|^Job Id: ?[^\s|]+[\s|]+Job_Name ?= ?"
        r'|"pbs_version": *"[^"]*",\s*"pbs_server": *"[^"]*",\s*"Jobs":'
        r"|<JB_job_number>\d",
    ),
    (
        "what PBS's tracejob prints",
        "its source, the accounting files in server_priv/accounting, is",
        r"^Job: \S+\n\n?(?:\d\d/){2}\d{4} [\d:]{8}(?:\.\d+)? +[SALM] ",
    ),
    (
        "a log of PBS's server or scheduler",
        "server_priv/accounting has the jobs, and --pbs-log adds this log to them",
        r"^(?:\d\d/){2}\d{4} [\d:]{8}(?:\.\d+)?;[0-9a-f]{4};",
    ),
    (
        "PBS's limits or nodes, as qmgr and pbsnodes print them",
        "server_priv/accounting has the jobs, and --qmgr or --nodes adds this file to them",
        r"^(?:create|set) (?:queue|server) \S|^ +(?:resources_available\.\w+|np) = \S",
    ),
    (
        "what HTCondor's condor_q prints",
        "it lacks the jobs that have ended, which condor_history -long prints",
        r"^-- Schedd: ",
    ),
    (
        "columns that HTCondor's condor_history prints",
        "condor_history -long or -json prints whole jobs, which are read; or name the columns with "
        "--columns and --map (docs/tables.md)",
        r"^ *ID +OWNER +SUBMITTED +RUN_TIME +ST |^[\w.-]+#\d+\.\d+#\d{9,10}[|,\t ]",
    ),
    (
        "Grid Engine's reporting file",
        "the file called accounting, beside it, is read",
        r"^\d{9,13}:(?:new_job|job_log|acct|queue|host|host_consumable|queue_consumable):"
        r'|^\{"time": *\d+, *"type": *"(?:new_job|job_log|acct|queue|host)',
    ),
    (
        "what Grid Engine's qacct prints",
        "its source, the file called accounting, is",
        r"^=+\nqname +\S|^OWNER +WALLCLOCK +UTIME",
    ),
    (
        "an HTCondor job event log",
        "condor_history knows more of each job; until then its jobs can be written as SWF, "
        "18 numbers a line",
        r"^\d{3} \(\d+\.\d+\.\d+\) \d",
    ),
    (
        "messages or records of grid accounting (APEL, BLAH)",
        "they have neither waits nor limits; the accounting log of the batch system is read",
        r'^APEL-[a-z-]+-message: v|^"timestamp=[^"]*" "userDN=',
    ),
    (
        "a trace of the Maui or Moab scheduler",
        "the accounting log of the batch system below it is read, such as server_priv/accounting",
        r"\AVERSION \d{3}$|^\d\d:\d\d:\d\d \d{10}(?::\d+)? +job +\S",
    ),
    (
        "what LoadLeveler's llsummary prints",
        "a table of its jobs with a row for each is read with a mapping (docs/tables.md)",
        r"^=+ Job \S+ =+$",
    ),
    (
        "a job's events in Flux",
        "flux jobs -A --json prints all jobs, which are read with a mapping (docs/tables.md)",
        r'^\{"timestamp":[\d.]+,"name":"|^ +JOBID +(?:QUEUE +)?USER +NAME +ST +NTASKS ',
    ),
    (
        "what OAR's oarstat prints",
        "the table jobs of its database, as CSV, is read with a mapping (docs/tables.md)",
        r'"Job_Id" ?: ?"?\d|^Job id +Name +User +Submission Date ',
        r'"submissionTime"|"assigned_network_address"|Submission Date',
    ),
    (
        "workloads of Kubernetes in YAML",
        "kubectl prints Kueue's workloads with -o json, which is read",
        r"^(?:- |  )?apiVersion: (?:kueue\.x-k8s\.io|batch\.volcano\.sh)/",
    ),
    (
        "what Slurm's sacct --yaml prints",
        f"let sacct write text or JSON: {SACCT}, sacct -X -D --json",
        r"\A%YAML",
        r"\ballocation_nodes:|openapi\\?/db",
    ),
    (
        "what Slurm's scontrol show job prints",
        f"slurmctld forgets a job minutes after its end, and sacct has all jobs: {SACCT}",
        r"^JobId=\d+ (?:\S+ )*JobName=",
    ),
    (
        "what Slurm's sshare prints",
        f"it has shares, and sacct has the jobs: {SACCT}",
        r"^ *Account[ |]+User[ |]+RawShares",
    ),
    (
        "documents of Slurm's jobcomp/elasticsearch or jobcomp/kafka",
        f"the accounting database has the jobs: {SACCT}; without one, jobcomp/filetxt writes a log "
        "that is read",
        r'"@queue_wait" *:',
    ),
    (
        "a dump of Slurm's database (mysqldump)",
        "let mysql print its table of jobs: "
        'mysql --batch -e "SELECT * FROM CLUSTER_job_table" slurm_acct_db',
        r"^(?:CREATE TABLE|INSERT INTO) `(?:acct_coord_table|\w+_(?:assoc|job)_table)`",
    ),
)
"""Logs and outputs of schedulers that are recognised but not read."""

BESIDE: Final = (
    # name, option, pattern
    (
        "Slurm's configuration",
        "--slurm-conf",
        r"^Configuration data as of |^(?:SlurmctldHost|ControlMachine|SlurmctldPort) *=",
    ),
    (
        "a list of nodes (scontrol show node, sinfo)",
        "--nodes",
        r"^NodeName=\S+ (?:\S+ )*(?:CPUTot|RealMemory)=|^ *(?:NODELIST|HOSTNAMES)[ |].*\bCPUS\b"
        r'|"real_memory" *:',
    ),
    (
        "a list of partitions (scontrol show partition)",
        "--partitions",
        r"^PartitionName=\S+\s+AllowGroups=",
    ),
    (
        "a list of associations (sacctmgr)",
        "--assoc",
        r"^ *Cluster[ |]+Account[ |]+User[ |]+Partition|^# To edit this file start with a cluster",
    ),
    ("a list of QOS (sacctmgr)", "--qos", r"^ *Name[ |]+Priority[ |]+GraceTime"),
    ("samples of sprio", "--sprio", r"^ *JOBID +PARTITION +(?:USER +)?PRIORITY"),
    (
        "slurmctld's log",
        "--ctld-log",
        r"^\[\d{4}-\d\d-\d\dT[\d:.]+\] (?:\w+: )?(?:sched:|_job_complete:|_slurm_rpc_|slurmctld)",
    ),
)
"""Files of Slurm that ``audit`` reads beside a log, and the option for each."""


def describe(head: bytes) -> str | None:
    """Return what the log that begins with ``head`` looks like, and what to do; None: unknown."""
    text = head.decode("utf-8", errors="backslashreplace").replace("\r\n", "\n")
    for name, remedy, *evidence in FOREIGN:
        places = [re.search(pattern, text, re.MULTILINE) for pattern in evidence]
        if places[0] is not None and all(places):
            line = text.count("\n", 0, places[0].start()) + 1
            looks = f"this looks like {name} (line {line})"
            return f"{looks}; fairaudit does not read those yet: {remedy}"
    for name, option, pattern in BESIDE:
        if (place := re.search(pattern, text, re.MULTILINE)) is not None:
            line = text.count("\n", 0, place.start()) + 1
            return (
                f"this looks like {name} (line {line}), which has no jobs: pass it with {option}, "
                "beside a log of jobs"
            )
    others = (dialect for name, dialect in table().items() if name != TABLE)
    return next(filter(None, (dialect.differs(head) for dialect in others)), None)
