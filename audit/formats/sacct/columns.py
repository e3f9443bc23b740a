"""The columns of ``sacct``, the layout of a log, and lines split into columns.

``sacct`` escapes nothing, so a job name may contain the separator, or a submit line a line break.
Consecutive lines that are not records are cut into pieces at separators and line ends; the patterns
of the columns (``fields.FIT``) then determine how pieces form records:

- a column of free text takes any number of pieces, all others one;
- two adjacent lists of resources (`AllocTRES,ReqTRES`) part where none names one twice;
- records are the shortest runs of whole lines whose pieces fill all columns, so a broken line does
  not affect its neighbours;
- if several ways remain, they must agree on every column that is read, except optional ones
  (``SacctField.must_be_clear``), which are then empty.

Ambiguous runs, and lines outside records, are refused. A whole record within a job name is read as
a record.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from audit.formats import dialects
from audit.formats.slurm.fields import FIT, LISTS, PIECE, FieldKind


class SacctField(NamedTuple):
    """One field that ``sacct --format`` knows."""

    name: str
    kind: FieldKind
    read: bool = False  # whether records use it
    must_be_clear: bool = True  # whether lines are refused where it is ambiguous


_READ: Final = (
    # kind, columns of records, remark
    (FieldKind.ID, "JobID", "3_0 array task, 23+1 part of a het job, .batch step"),
    (FieldKind.ID, "JobIDRaw", "used where there is no JobID"),
    (FieldKind.NAME, "Cluster User Account Group", ""),
    (FieldKind.LIST, "Partition", "several where it may still start in any of them"),
    (FieldKind.NAME, "QOS", ""),
    (FieldKind.STATE, "State", "CANCELLED by UID: the UID is dropped"),
    (FieldKind.NAME, "Reason", "why it was last seen waiting"),
    (FieldKind.NUMBER, "Priority", ""),
    (FieldKind.NAME, "Reservation", ""),
    (FieldKind.TIME, "Submit", "of a requeued job: when it was requeued"),
    (FieldKind.TIME, "Eligible", ""),
    (FieldKind.TIME, "Start", "None, Unknown: never started, or not yet"),
    (FieldKind.TIME, "End", "Unknown: still there"),
    (FieldKind.DURATION, "Elapsed", "suspension is left out"),
    (FieldKind.SECONDS, "ElapsedRaw", "the same in s"),
    (FieldKind.DURATION, "Suspended", ""),
    (FieldKind.DURATION, "Timelimit", "UNLIMITED, Partition_Limit: unknown"),
    (FieldKind.MINUTES, "TimelimitRaw", "the same in minutes"),
    (FieldKind.TRES, "AllocTRES", "empty where nothing was allocated"),
    (FieldKind.TRES, "ReqTRES", ""),
    (FieldKind.GRES, "AllocGRES ReqGRES", "until 20.11; over all nodes"),
    (FieldKind.COUNT, "AllocCPUS NCPUS", "of one never started: what it asked for"),
    (FieldKind.COUNT, "ReqCPUS", ""),
    (FieldKind.COUNT, "AllocNodes", "0 where nothing was allocated"),
    (FieldKind.COUNT, "NNodes", "of one never started: what it asked for"),
    (FieldKind.LIST, "NodeList", "None assigned: never had one"),
    (FieldKind.COUNT, "ReqNodes", ""),
    (FieldKind.MEMORY, "ReqMem", "per node (n) or CPU (c) before 21.08"),
    (FieldKind.FREE, "Constraints", "a|b needs another --delimiter"),
    (FieldKind.FREE, "SubmitLine", "--array=…%N, --nice, --nodelist"),
)
_MAY_BE_UNCLEAR: Final = ("NodeList", "Constraints", "SubmitLine")
_UNREAD: Final = (
    # kind, columns that only determine where others begin
    (FieldKind.FREE, "JobName Comment AdminComment SystemComment WorkDir Container"),
    (FieldKind.FREE, "Extra FailedNode Licenses StdOut StdErr StdIn WCKey McsLabel"),
    (FieldKind.EXIT, "ExitCode DerivedExitCode"),
    (FieldKind.NUMBER, "UID GID AssocID DBIndex QOSRAW CPUTimeRAW PlannedCPURAW ResvCPURAW"),
    (FieldKind.NUMBER, "NTasks Restarts ReservationId WCKeyID"),
    (FieldKind.DURATION, "CPUTime Planned PlannedCPU Reserved ResvCPU TotalCPU UserCPU SystemCPU"),
    (FieldKind.DURATION, "MinCPU AveCPU"),
    (FieldKind.MEMORY, "MaxRSS AveRSS MaxVMSize AveVMSize"),
    (FieldKind.NUMBER, "MaxPages AvePages MaxDiskRead AveDiskRead MaxDiskWrite AveDiskWrite"),
    (FieldKind.NUMBER, "ConsumedEnergy ConsumedEnergyRaw"),
    (FieldKind.NUMBER, "MaxRSSTask MaxVMSizeTask MaxPagesTask MaxDiskReadTask MaxDiskWriteTask"),
    (FieldKind.NUMBER, "MinCPUTask"),
    (FieldKind.LIST, "MaxRSSNode MaxVMSizeNode MaxPagesNode MaxDiskReadNode MaxDiskWriteNode"),
    (FieldKind.LIST, "MinCPUNode Flags"),
    (FieldKind.TRES, "TRESUsageInAve TRESUsageInMax TRESUsageInMin TRESUsageInTot"),
    (FieldKind.TRES, "TRESUsageOutAve TRESUsageOutMax TRESUsageOutMin TRESUsageOutTot"),
    (FieldKind.LIST, "TRESUsageInMaxNode TRESUsageInMinNode TRESUsageInMaxTask"),
    (FieldKind.LIST, "TRESUsageInMinTask TRESUsageOutMaxNode TRESUsageOutMinNode"),
    (FieldKind.LIST, "TRESUsageOutMaxTask TRESUsageOutMinTask"),
    (FieldKind.NAME, "AveCPUFreq BlockID Layout ReqCPUFreq ReqCPUFreqGov ReqCPUFreqMax"),
    (FieldKind.NAME, "ReqCPUFreqMin SLUID SegmentSize TimeLimit QOSREQ"),
)
COLUMNS: Final = (
    *(
        SacctField(name, kind, True, name not in _MAY_BE_UNCLEAR)
        for kind, names, _ in _READ
        for name in names.split()
    ),
    *(SacctField(name, kind) for kind, names in _UNREAD for name in names.split()),
)
"""Fields of sacct 17.11 to 25.05 (manual page, "Job Accounting Fields"); case does not matter."""

BY_NAME: Final = {column.name.lower(): column for column in reversed(COLUMNS)}
SKIPPED: Final = "_"  # name of a declared column that is skipped

_IDS: Final = ("jobid", "jobidraw")
_TIMES: Final = ("submit", "start", "end")
_OTHER: Final = SacctField(SKIPPED, FieldKind.FREE)  # not known, or not to be read
_TRAILING: Final = SacctField("", FieldKind.NOTHING)


@dataclass(frozen=True)
class SacctLayout:
    """The columns of a log and their separator."""

    names: tuple[str, ...]  # names of its columns
    separator: str
    trailing: bool = False  # whether each line ends with a separator (`sacct -p`)
    short: tuple[int, ...] = ()  # numbers of columns of lines without the last ones

    @cached_property
    def columns(self) -> tuple[SacctField, ...]:
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

    def spans(self, column: SacctField) -> bool:
        """Return whether a column may contain the separator."""
        return column.kind is FieldKind.FREE or (column.kind in LISTS and self.separator == ",")

    def pattern(self, column: SacctField) -> re.Pattern[str]:
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


def header_row(line: str, separator: str | None = None) -> SacctLayout | None:
    """Return the layout of a header row, or None; ``separator`` None: detect it."""
    line = line.removeprefix("\ufeff").rstrip("\r")
    separators = _separators(line) if separator is None else [separator]
    layouts = [layout for text in separators if (layout := _named(line, text))]
    return max(layouts, key=lambda layout: known(layout.names), default=None)


def _separators(line: str) -> list[str]:
    lowered = line.lower()
    found: dict[str, None] = {}
    for first in sorted(filter(lowered.startswith, BY_NAME), key=len, reverse=True):
        for second in BY_NAME:
            begin = lowered.find(second, len(first) + 1)
            if begin >= 0 and begin - len(first) <= 32:
                between = line[len(first) : begin]  # also of `JobID%20|User`
                found.setdefault(re.sub(r"^%-?[0-9]+", "", between) or between)
    if match := re.match(r"\w+(\W+)\w", line):
        found.setdefault(match[1])
    return [*found, *(each for each in "|,;\t" if each in line and each not in found)]


def _named(line: str, separator: str) -> SacctLayout | None:
    said = line.split(separator) if separator else []
    trailing = len(said) > 2 and said[-1] == ""
    names = tuple(map(_name, said[:-1] if trailing else said))
    layout = SacctLayout(names, separator, trailing)
    ids = {name.lower() for name in names}.intersection(_IDS)
    odd = names.count(SKIPPED)
    whole = odd * 4 <= len(names) and known(names) * 2 >= len(said)
    return layout if whole and ids and len(said) > 1 else None


def _name(text: str) -> str:
    """Return the name of a column: `JobID%20` and `Job ID` are JobID, an odd one is skipped."""
    if re.fullmatch(r"\w+", text):
        return text
    bare = re.sub(r"%-?[0-9]+$|\s", "", text)
    return bare if bare.lower() in BY_NAME else SKIPPED


def known(names: Sequence[str]) -> int:
    """Return how many names are those of columns."""
    return sum(name.lower() in BY_NAME for name in names)


MOST_PIECES: Final = 10_000  # maximum number of pieces of a record

MOST_RESOURCES: Final = 100  # of two adjacent lists that commas do not part

MOST_BEHIND: Final = 50
"""Number of lines after a record of several lines that are checked for belonging to it."""

MOST_TEXT_LINES: Final = 1_000  # of the free text in the last column of a record


@dataclass
class OddRecords:
    """The records among consecutive odd lines, which are counted from 0."""

    records: list[tuple[int, list[str]]] = field(default_factory=list)
    """First line of each record, and the text of each of its columns."""
    belongs: set[int] = field(default_factory=set)  # lines that continue the record before them
    refused: dict[int, str] = field(default_factory=dict)  # reasons why other lines are refused


def split(lines: Sequence[str], layout: SacctLayout, *, after_record: bool) -> OddRecords:
    """Find the records among odd lines; ``after_record``: whether a record precedes them."""
    stretch = _LineStretch(lines, layout)
    found = OddRecords()
    at, known = 0, after_record
    for first, last, clear in stretch.runs():
        _between(stretch, range(at, first), known, found)
        texts = stretch.texts(first, last) if clear else None
        if texts is None:
            reason = _unclear(layout, clear)
            found.refused.update(dict.fromkeys(range(first, last + 1), reason))
        else:
            found.records.append((first, texts))
            found.belongs.update(range(first + 1, last + 1))
        at, known = last + 1, texts is not None
    _between(stretch, range(at, len(lines)), known, found)
    return found


def fits(line: str, layout: SacctLayout) -> bool:
    """Return whether a line is an unambiguous record."""
    stretch = _LineStretch([line], layout)
    return stretch.whole(0) and stretch.texts(0, 0) is not None


class _LineStretch:
    """Lines as pieces, and the columns that these fit."""

    def __init__(self, lines: Sequence[str], layout: SacctLayout) -> None:
        self.layout = layout
        self.columns = layout.columns
        self.pieces: list[str] = []
        self.first: list[int] = []  # piece that each line begins with
        for line in lines:
            self.first.append(len(self.pieces))
            self.pieces.extend(line.split(layout.separator))
        self.first.append(len(self.pieces))
        self.line_ends = {first - 1 for first in self.first[1:]}
        self.free = [column.kind is FieldKind.FREE for column in self.columns]
        self.spans = [layout.spans(column) for column in self.columns]
        self._fits = [layout.pattern(column).fullmatch for column in self.columns]

    def fits(self, column: int, piece: int) -> bool:
        return self.free[column] or self._fits[column](self.pieces[piece]) is not None

    def whole(self, line: int) -> bool:
        """Return whether a line is a record by itself, in one way or several."""
        begin, end = self.first[line], self.first[line + 1]
        if not len(self.columns) <= end - begin <= MOST_PIECES:
            return False
        return bool(self._starts(begin, end)[0])

    def runs(self) -> list[tuple[int, int, bool]]:
        """Return the shortest runs of lines that are records: first and last line, whether clear.

        Overlapping runs are one that is not clear.
        """
        found: list[tuple[int, int, bool]] = []
        pending = 0
        for line in range(len(self.first) - 1):
            if self.whole(line):
                found += self._runs_of_several(pending, line)
                found.append((line, line, True))
                pending = line + 1
        return found + self._runs_of_several(pending, len(self.first) - 1)

    def _runs_of_several(self, begin: int, end: int) -> list[tuple[int, int, bool]]:
        """Return the runs among lines none of which is a record by itself."""
        if end - begin < 2:
            return []
        ends = self._ends(begin, end)
        runs: list[tuple[int, int]] = []
        least = end
        for first in range(end - 1, begin - 1, -1):
            last = ends.get(first)
            if last is not None and last < least:
                runs.append((first, last))
                least = last
        merged: list[tuple[int, int, bool]] = []
        for first, last in reversed(runs):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], last, False)
            else:
                merged.append((first, last, True))
        nexts = [*(first for first, _, _ in merged), end][1:] or [end]
        return [
            (first, *self._stretched(first, last, beyond, clear))
            for (first, last, clear), beyond in zip(merged, nexts, strict=False)
        ]

    def _stretched(self, first: int, last: int, beyond: int, clear: bool) -> tuple[int, bool]:
        """Return the last line that a run may include, and whether the run is clear."""
        if self.free[-1]:
            return last, clear
        for line in range(min(beyond, last + MOST_BEHIND) - 1, last, -1):
            if self._starts(self.first[first], self.first[line + 1])[0]:
                return line, False
        return last, clear

    def _ends(self, begin: int, end: int) -> dict[int, int]:
        """Return the last line of the shortest record that begins with each line."""
        final = len(self.columns) - 1
        found: dict[int, int] = {}
        behind: dict[int, int] = {}  # column that begins (or goes on) there → line it may end with
        for line in range(end - 1, begin - 1, -1):
            for piece in range(self.first[line + 1] - 1, self.first[line] - 1, -1):
                at_end = piece == self.first[line + 1] - 1
                here = {final: line} if at_end else {}
                for column, last in behind.items():
                    if not at_end and column:
                        here[column - 1] = min(last, here.get(column - 1, last))
                    if self.spans[column] and (self.free[column] or not at_end):
                        here[column] = min(last, here.get(column, last))
                behind = {column: last for column, last in here.items() if self.fits(column, piece)}
            if 0 in behind:
                found[line] = behind[0]
        return found

    def texts(self, first: int, last: int) -> list[str] | None:
        """Return the columns of the record from line ``first`` to ``last``; unread ones are empty.

        None if a column that must be clear is ambiguous.
        """
        begin, end = self.first[first], self.first[last + 1]
        starts = self._starts(begin, end)
        self._part_lists(starts, end)
        texts = [""] * len(self.columns)
        for index in self.layout.position.values():
            after = starts[index + 1] if index + 1 < len(self.columns) else {end}
            if len(starts[index]) != 1 or len(after) != 1:
                if self.columns[index].must_be_clear:
                    return None
                continue
            (at,), (to,) = starts[index], after
            texts[index] = self.layout.separator.join(self.pieces[at:to])
        return texts

    def _part_lists(self, starts: list[set[int]], end: int) -> None:
        """Part two adjacent lists of resources (TRES): none names a resource twice."""
        ends = [*starts, {end}]
        for column, (one, other) in enumerate(pairwise(self.columns)):
            places = (ends[column], ends[column + 2])
            if one.kind is other.kind is FieldKind.TRES and all(len(some) == 1 for some in places):
                (at,), (to,) = places
                if to - at <= MOST_RESOURCES:
                    fair = {
                        part
                        for part in starts[column + 1]
                        if self._is_list(at, part) and self._is_list(part, to)
                    }
                    starts[column + 1] = fair or starts[column + 1]

    def _is_list(self, at: int, to: int) -> bool:
        names = [piece.partition("=")[0] for piece in self.pieces[at:to]]
        return len(names) == 1 or (all(names) and len(set(names)) == len(names))

    def _starts(self, begin: int, end: int) -> list[set[int]]:
        final = len(self.columns) - 1
        forward = [{begin}]
        for column in range(final):
            forward.append({stop + 1 for stop in self._stops(column, forward[column], end)})
        possible: list[set[int]] = [set()] * (final + 1)
        goal = {end}
        for column in range(final, -1, -1):
            if column < final:
                goal = {at for at in goal if at - 1 not in self.line_ends}
            if self.free[column]:
                latest = max(goal, default=begin)
                goal = {at for at in forward[column] if at < latest}
            else:
                goal = {
                    at
                    for at in forward[column]
                    if any(stop + 1 in goal for stop in self._run(column, at, end, column == final))
                }
            possible[column] = goal
        return possible

    def _stops(self, column: int, starts: set[int], end: int) -> set[int]:
        limit = end - (len(self.columns) - 1 - column)  # later columns need a piece each
        if self.free[column] and starts:
            return set(range(min(starts), limit)) - self.line_ends
        return {stop for at in starts for stop in self._run(column, at, limit, final=False)}

    def _run(self, column: int, at: int, end: int, final: bool) -> Iterator[int]:
        while at < end and self.fits(column, at):
            at_end = at in self.line_ends
            if final or not at_end:
                yield at
            if not self.spans[column] or at_end:
                return
            at += 1


def _between(stretch: _LineStretch, lines: range, after_record: bool, found: OddRecords) -> None:
    """Sort lines outside records: the rest of the last column before them, or refused."""
    layout = stretch.layout
    may_go_on = after_record and stretch.columns[-1].kind is FieldKind.FREE
    for line in lines:
        pieces = stretch.pieces[stretch.first[line] : stretch.first[line + 1]]
        reason = None
        if may_go_on:
            reason = _other_record(pieces, layout)
            far = line - lines.start >= MOST_TEXT_LINES
            may_go_on = not (far or reason or _begins_like_a_record(pieces, layout))
        if may_go_on:
            found.belongs.add(line)
        else:
            found.refused[line] = reason or _wrong_count(len(pieces), layout)


def _other_record(pieces: Sequence[str], layout: SacctLayout) -> str | None:
    line = layout.separator.join(pieces).encode()
    other = dialects.another(line, "sacct")
    return f"a line of another dialect, {other.title}" if other else None


def _begins_like_a_record(pieces: Sequence[str], layout: SacctLayout) -> bool:
    if len(pieces) * 2 > len(layout.columns):
        return True
    typed = 0
    for piece, column in zip(pieces[:-1], layout.columns, strict=False):
        if column.kind is FieldKind.FREE:
            break
        if not layout.pattern(column).fullmatch(piece):
            return False
        typed += column.kind is not FieldKind.NAME and bool(piece)
    return typed > 0


def _wrong_count(pieces: int, layout: SacctLayout) -> str:
    wanted = len(layout.names)
    if pieces == len(layout.columns):
        return "a column does not hold what its name says"
    return f"{pieces - layout.trailing} fields, not the {wanted} of the columns"


def _unclear(layout: SacctLayout, clear: bool) -> str:
    if not clear:
        return "broken lines that can be put together in several ways"
    texts = sorted({column.name for column in layout.columns if column.kind is FieldKind.FREE})
    return (
        f"separators within {' or '.join(texts) or 'a column'} can be read in several ways: "
        "put free text last, or use another --delimiter"
    )
