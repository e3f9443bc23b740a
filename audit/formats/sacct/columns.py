"""The columns of ``sacct``, and the layout of a log: its columns and separator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from audit.formats.slurm.fields import FIT, LISTS, PIECE, Kind


class Column(NamedTuple):
    """One field that ``sacct --format`` knows."""

    name: str
    kind: Kind
    remark: str = ""
    read: bool = False  # whether records use it
    must_be_clear: bool = True  # whether lines are refused where it is ambiguous


def _many(kind: Kind, names: str) -> list[Column]:
    return [Column(name, kind) for name in names.split()]


COLUMNS: Final = (
    # columns of records
    Column("JobID", Kind.ID, "3_0 array task, 23+1 part of a het job, .batch step", read=True),
    Column("JobIDRaw", Kind.ID, "used where there is no JobID", read=True),
    Column("Cluster", Kind.NAME, read=True),
    Column("User", Kind.NAME, read=True),
    Column("Account", Kind.NAME, read=True),
    Column("Group", Kind.NAME, read=True),
    Column("Partition", Kind.LIST, "several where it may still start in any of them", read=True),
    Column("QOS", Kind.NAME, read=True),
    Column("State", Kind.STATE, "CANCELLED by UID: the UID is dropped", read=True),
    Column("Reason", Kind.NAME, "why it was last seen waiting", read=True),
    Column("Priority", Kind.NUMBER, read=True),
    Column("Reservation", Kind.NAME, read=True),
    Column("Submit", Kind.TIME, "of a requeued job: when it was requeued", read=True),
    Column("Eligible", Kind.TIME, read=True),
    Column("Start", Kind.TIME, "None, Unknown: never started, or not yet", read=True),
    Column("End", Kind.TIME, "Unknown: still there", read=True),
    Column("Elapsed", Kind.DURATION, "suspension is left out", read=True),
    Column("ElapsedRaw", Kind.SECONDS, "the same in s", read=True),
    Column("Suspended", Kind.DURATION, read=True),
    Column("Timelimit", Kind.DURATION, "UNLIMITED, Partition_Limit: unknown", read=True),
    Column("TimelimitRaw", Kind.MINUTES, "the same in minutes", read=True),
    Column("AllocTRES", Kind.TRES, "empty where nothing was allocated", read=True),
    Column("ReqTRES", Kind.TRES, read=True),
    Column("AllocGRES", Kind.GRES, "until 20.11; over all nodes", read=True),
    Column("ReqGRES", Kind.GRES, "until 20.11; over all nodes", read=True),
    Column("AllocCPUS", Kind.COUNT, "of one never started: what it asked for", read=True),
    Column("NCPUS", Kind.COUNT, "the same", read=True),
    Column("ReqCPUS", Kind.COUNT, read=True),
    Column("AllocNodes", Kind.COUNT, "0 where nothing was allocated", read=True),
    Column("NNodes", Kind.COUNT, "of one never started: what it asked for", read=True),
    Column("NodeList", Kind.LIST, "None assigned: never had one", read=True, must_be_clear=False),
    Column("ReqNodes", Kind.COUNT, read=True),
    Column("ReqMem", Kind.MEMORY, "per node (n) or CPU (c) before 21.08", read=True),
    # columns that only determine where others begin
    *_many(Kind.FREE, "JobName Comment AdminComment SystemComment SubmitLine WorkDir Container"),
    *_many(Kind.FREE, "Constraints Extra FailedNode Licenses StdOut StdErr StdIn WCKey McsLabel"),
    *_many(Kind.EXIT, "ExitCode DerivedExitCode"),
    *_many(Kind.NUMBER, "UID GID AssocID DBIndex QOSRAW CPUTimeRAW PlannedCPURAW ResvCPURAW"),
    *_many(Kind.NUMBER, "NTasks Restarts ReservationId WCKeyID"),
    *_many(Kind.DURATION, "CPUTime Planned PlannedCPU Reserved ResvCPU TotalCPU UserCPU SystemCPU"),
    *_many(Kind.DURATION, "MinCPU AveCPU"),
    *_many(Kind.MEMORY, "MaxRSS AveRSS MaxVMSize AveVMSize"),
    *_many(Kind.NUMBER, "MaxPages AvePages MaxDiskRead AveDiskRead MaxDiskWrite AveDiskWrite"),
    *_many(Kind.NUMBER, "ConsumedEnergy ConsumedEnergyRaw"),
    *_many(Kind.NUMBER, "MaxRSSTask MaxVMSizeTask MaxPagesTask MaxDiskReadTask MaxDiskWriteTask"),
    *_many(Kind.NUMBER, "MinCPUTask"),
    *_many(Kind.LIST, "MaxRSSNode MaxVMSizeNode MaxPagesNode MaxDiskReadNode MaxDiskWriteNode"),
    *_many(Kind.LIST, "MinCPUNode Flags"),
    *_many(Kind.TRES, "TRESUsageInAve TRESUsageInMax TRESUsageInMin TRESUsageInTot"),
    *_many(Kind.TRES, "TRESUsageOutAve TRESUsageOutMax TRESUsageOutMin TRESUsageOutTot"),
    *_many(Kind.LIST, "TRESUsageInMaxNode TRESUsageInMinNode TRESUsageInMaxTask"),
    *_many(Kind.LIST, "TRESUsageInMinTask TRESUsageOutMaxNode TRESUsageOutMinNode"),
    *_many(Kind.LIST, "TRESUsageOutMaxTask TRESUsageOutMinTask"),
    *_many(Kind.NAME, "AveCPUFreq BlockID Layout ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax"),
    *_many(Kind.NAME, "ReqCPUFreqMin SLUID SegmentSize TimeLimit QOSREQ"),
)
"""Fields of sacct 17.11 to 25.05 (manual page, "Job Accounting Fields"); case does not matter."""

BY_NAME: Final = {column.name.lower(): column for column in reversed(COLUMNS)}
SKIPPED: Final = "_"
"""Name of a declared column that is skipped."""

_IDS: Final = ("jobid", "jobidraw")
_TIMES: Final = ("submit", "start", "end")
_OTHER: Final = Column(SKIPPED, Kind.FREE, "a column that is not known, or not to be read")
_TRAILING: Final = Column("", Kind.NOTHING)


@dataclass(frozen=True)
class Layout:
    """The columns of a log and their separator."""

    names: tuple[str, ...]
    """Names of its columns."""
    separator: str
    trailing: bool = False
    """Whether each line ends with a separator (`sacct -p`)."""
    short: tuple[int, ...] = ()
    """Numbers of columns of lines without the last ones."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, with an empty last one for a trailing separator."""
        known = tuple(BY_NAME.get(name.lower(), _OTHER) for name in self.names)
        return known + (_TRAILING,) * self.trailing

    @cached_property
    def position(self) -> dict[str, int]:
        """Place of each column that is read; of equal ones the first."""
        positions: dict[str, int] = {}
        for index, column in enumerate(self.columns):
            if column.read:
                positions.setdefault(column.name, index)
        if "JobID" in positions:
            positions.pop("JobIDRaw", None)
        return positions

    @cached_property
    def id_column(self) -> int:
        """Place of the job's id."""
        return self.position["JobID" if "JobID" in self.position else "JobIDRaw"]

    def spans(self, column: Column) -> bool:
        """Return whether a column may contain the separator."""
        return column.kind is Kind.FREE or (column.kind in LISTS and self.separator == ",")

    def pattern(self, column: Column) -> re.Pattern[str]:
        """Return the pattern of a piece of a column."""
        in_list = column.kind in LISTS and self.separator == ","
        return re.compile((PIECE if in_list else FIT)[column.kind])

    def problem(self) -> str | None:
        """Return why this is no log of jobs, if so."""
        names = {name.lower() for name in self.names}
        if not names.intersection(_IDS):
            return "none of the columns is JobID or JobIDRaw"
        if not names.intersection(_TIMES):
            return "none of the columns is Submit, Start or End"
        return None


def header_row(line: str, separator: str | None = None) -> Layout | None:
    """Return the layout of a header row; None if the line is none.

    Without ``separator``, the text between two known names with which most columns are known.
    """
    line = line.removeprefix("\ufeff").rstrip("\r")
    separators = _separators(line) if separator is None else [separator]
    layouts = [layout for text in separators if (layout := _named(line, text))]
    return max(layouts, key=_known, default=None)


def _separators(line: str) -> list[str]:
    lowered = line.lower()
    found: dict[str, None] = {}
    for first in sorted(filter(lowered.startswith, BY_NAME), key=len, reverse=True):
        for second in BY_NAME:
            begin = lowered.find(second, len(first) + 1)
            if begin >= 0 and begin - len(first) <= 32:
                found.setdefault(line[len(first) : begin])
    if match := re.match(r"\w+(\W+)\w", line):
        found.setdefault(match[1])
    return list(found)


def _named(line: str, separator: str) -> Layout | None:
    names = line.split(separator) if separator else []
    trailing = len(names) > 2 and names[-1] == ""
    layout = Layout(tuple(names[:-1] if trailing else names), separator, trailing)
    whole = all(re.fullmatch(r"\w+", name) for name in layout.names)
    ids = {name.lower() for name in layout.names}.intersection(_IDS)
    return layout if whole and ids and len(names) > 1 and _known(layout) * 2 >= len(names) else None


def _known(layout: Layout) -> int:
    return sum(name.lower() in BY_NAME for name in layout.names)
