"""Proposes columns for an sacct log without a header row, from their content.

The user confirms a proposal with ``--columns``; nothing is read by it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from audit.formats.sacct.columns import SKIPPED, Layout, fits
from audit.formats.slurm.fields import FIT, Kind

SAMPLE: Final = 200  # number of lines that are examined

_SIMULATOR: Final = (
    "State JobID ReqCPUS ReqMem ReqNodes Constraints Submit Eligible Start Elapsed Suspended End "
    "ExitCode DerivedExitCode AllocNodes NCPUS MaxDiskRead MaxDiskWrite MaxPages MaxRSS MaxVMSize "
    "CPUTime UserCPU SystemCPU TotalCPU"
)
KNOWN: Final = (
    # the columns of widely used programs that call sacct without a header row
    "jobid jobidraw cluster partition qos account group gid user uid submit eligible start end "
    "elapsed exitcode state nnodes ncpus reqcpus reqmem reqtres alloctres timelimit nodelist "
    "jobname",  # Open XDMoD
    "jobid jobidraw cluster partition account group gid user uid submit eligible start end "
    "elapsed exitcode state nnodes ncpus reqcpus reqmem reqgres reqtres alloctres timelimit "
    "nodelist jobname",  # the same, older
    _SIMULATOR,  # HPC cost simulator
    f"{_SIMULATOR} Partition",
    "JobID JobName User Partition NodeList NNodes NCPUS NTasks State Submit Start End Timelimit "
    "Elapsed TotalCPU CPUTime UserCPU SystemCPU ReqMem MaxRSS MaxVMSize ReqTRES AllocTRES "
    "_ _ _ _ _ _ _ _ _ _ _ _ _ _ _",  # jobinfo; the rest is used by no record
)

STATES: Final = frozenset(
    (
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "CONFIGURING", "DEADLINE"),
        *("FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PENDING", "PREEMPTED", "REQUEUED"),
        *("RESIZING", "REVOKED", "RUNNING", "SUSPENDED", "TIMEOUT"),
    )
)

_TESTS: Final = (
    # the first that all values pass is their kind
    (Kind.TIME, re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|Unknown|None")),
    (Kind.DURATION, re.compile(rf"(?:{FIT[Kind.DURATION]})")),
    (Kind.COUNT, re.compile(r"\d+")),
    (Kind.MEMORY, re.compile(r"\d+(?:\.\d+)?[KMGTPE][cn]?|0[cn]?")),  # 0.04M is no step of job 0
    (Kind.ID, re.compile(FIT[Kind.ID])),
    (Kind.EXIT, re.compile(r"\d+:\d+")),
    (Kind.TRES, re.compile(r"(?=.*(?:cpu|mem|node|billing)=)(?!.*\bcpu=\d+:).*")),
)


class Sniffed(NamedTuple):
    """A log without a header row that looks like sacct's."""

    separator: str
    rows: list[list[str]]  # of the sample, those with the usual number of fields
    trailing: bool


def sniff(lines: Sequence[str], separator: str | None = None) -> Sniffed | None:
    """Cut lines at their separator; None if they are no jobs of sacct."""
    best: tuple[tuple[int, int, int], Sniffed] | None = None
    sample = lines[:SAMPLE]
    for candidate in [separator] if separator else _candidates(sample):
        (width, times), *_ = Counter(line.count(candidate) for line in sample).most_common(1)
        rows = [line.split(candidate) for line in sample if line.count(candidate) == width]
        if not width:
            continue
        trailing = all(row[-1] == "" for row in rows) and width > 1
        rows = [row[:-1] for row in rows] if trailing else rows
        kinds = [_kind(values) for values in zip(*rows, strict=True)]
        rank = (times, sum(kind is not None for kind in kinds), -width)
        are_jobs = (
            len(kinds) > 2
            and not {Kind.TIME, Kind.STATE}.isdisjoint(kinds)
            and not {Kind.ID, Kind.COUNT}.isdisjoint(kinds)
        )
        if are_jobs and (best is None or rank > best[0]):
            best = rank, Sniffed(candidate, rows, trailing)
    return best[1] if best else None


def separator_for(
    lines: Sequence[str], names: Sequence[str], separator: str | None = None
) -> tuple[str, bool] | None:
    """Return the separator of columns called ``names``, and whether lines end with it."""
    sample = lines[:SAMPLE]
    layouts = [
        Layout(tuple(names), candidate, trailing)
        for candidate in ([separator] if separator else _candidates(sample))
        for trailing in (False, True)
    ]
    counted = [(sum(fits(line, layout) for line in sample), layout) for layout in layouts]
    good, best = max(counted, key=lambda pair: pair[0], default=(0, None))
    return (best.separator, best.trailing) if good and best else None


def propose(sniffed: Sniffed) -> tuple[str, ...]:
    """Return a name for each column; ``_`` where its content is ambiguous."""
    rows = sniffed.rows
    width = len(rows[0])
    for known in KNOWN:
        layout = Layout(tuple(known.split()), sniffed.separator)
        # an empty last column looks like a separator at the end
        fuller = [[*row, ""] for row in rows] if len(layout.names) > width else rows
        if len(layout.names) <= width + sniffed.trailing and _mostly_fits(fuller, layout):
            return tuple(column.name for column in layout.columns)
    return tuple(_Guess(rows).names)


class _Guess:
    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self.columns = list(zip(*rows, strict=True))
        self.kinds = [_kind(values) for values in self.columns]
        self.names = [SKIPPED] * len(self.columns)
        # ids (almost) never repeat; JobID has the array tasks and steps
        counts = [
            at
            for at in self._of(Kind.COUNT)
            if all(values := self.columns[at]) and len(set(values)) * 10 > len(values) * 9
        ]
        self._offer([*self._of(Kind.ID), *counts], ("JobID", "JobIDRaw"))
        # times are named in the order in which they happen
        times = sorted((median(_sortable(self.columns[at])), at) for at in self._of(Kind.TIME))
        names = ("", "Submit", "Start End", "Submit Start End", "Submit Eligible Start End")
        if len(times) < len(names):
            self._offer((at for _, at in times), names[len(times)].split())
        self._name_durations()
        self._offer(self._of(Kind.STATE), ("State",))
        self._offer(self._of(Kind.EXIT), ("ExitCode", "DerivedExitCode"))
        self._name_requests()
        self._name_counts()

    def _of(self, kind: Kind) -> list[int]:
        return [index for index, found in enumerate(self.kinds) if found is kind]

    def _offer(self, indices: Iterable[int], names: Iterable[str]) -> None:
        for index, name in zip(indices, names, strict=False):
            self.names[index] = name

    def _name_durations(self) -> None:
        """Limits are whole minutes, suspended is mostly 0, elapsed is the first other one."""
        for index in self._of(Kind.DURATION):
            known = [value for value in self.columns[index] if value]
            name = "Elapsed"
            if all(set(value) <= set("0:-") for value in known):
                name = "Suspended"
            elif all(value[-2:] == "00" or not value[-1].isdigit() for value in known):
                name = "Timelimit"
            if name not in self.names:
                self.names[index] = name

    def _name_requests(self) -> None:
        """Usage has the same kinds, but only in rows of steps."""
        ids = self.columns[self.names.index("JobID")] if "JobID" in self.names else None
        rows = range(len(self.columns[0]))
        jobs = [row for row in rows if ids is None or "." not in ids[row]]
        memory, tres = (
            [at for at in self._of(kind) if any(self.columns[at][row] for row in jobs)]
            for kind in (Kind.MEMORY, Kind.TRES)
        )
        self._offer(memory, ("ReqMem",))
        self._offer(tres, ("AllocTRES",) if len(tres) == 1 else ("ReqTRES", "AllocTRES"))

    def _name_counts(self) -> None:
        """A count that equals the number in the last resource list is that number."""
        lists = [at for at, name in enumerate(self.names) if name in ("AllocTRES", "ReqTRES")]
        for label, name in (("cpu", "NCPUS"), ("node", "NNodes")):
            for index in self._of(Kind.COUNT):
                pairs = [
                    (amount[1], value)
                    for row, value in enumerate(self.columns[index])
                    for at in lists[-1:]
                    if (amount := re.search(rf"(?:^|,){label}=(\d+)", self.columns[at][row]))
                ]
                is_free = self.names[index] == SKIPPED and name not in self.names
                if is_free and pairs and all(one == other for one, other in pairs):
                    self.names[index] = name


def _sortable(values: Sequence[str]) -> Iterator[int]:
    digits = (re.sub(r"\D", "", value)[:14] for value in values)
    return (int(number) for number in digits if number)


def _candidates(lines: Sequence[str]) -> list[str]:
    """Return possible separators: what is between words and numbers, and prefixes of it."""
    candidates = dict.fromkeys(
        run[:length]
        for line in lines[:5]
        for run in dict.fromkeys(re.findall(r"[^0-9A-Za-z\s]+|\t+|[\x1c-\x1f]+", line))
        for length in range(1, min(len(run), 8) + 1)
    )
    return [text for text in candidates if text not in "-:.[]()_=+"]


def _kind(values: Sequence[str]) -> Kind | None:
    """Return the kind of all values that are not empty; None for text, or if all are empty."""
    known = {value for value in values if value}
    if known <= {"Unknown", "None", "INVALID"}:
        return None
    if all(value.split(" by ")[0] in STATES for value in known):
        return Kind.STATE
    return next((kind for kind, test in _TESTS if all(map(test.fullmatch, known))), None)


def _mostly_fits(rows: Sequence[Sequence[str]], layout: Layout) -> bool:
    fits = [layout.pattern(column).fullmatch for column in layout.columns]
    if len(fits) != len(rows[0]):
        return False
    good = sum(all(fit(value) for fit, value in zip(fits, row, strict=True)) for row in rows)
    return good * 10 >= len(rows) * 9


def spans(names: Sequence[str]) -> str:
    """Return the columns that a proposal leaves open, as `3-5, 9`; empty for none."""
    numbers = [number for number, name in enumerate(names, start=1) if name == SKIPPED]
    starts = [n for k, n in enumerate(numbers) if not k or numbers[k - 1] != n - 1]
    ends = [a for a, b in pairwise([*numbers, -1]) if b != a + 1]
    return ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in zip(starts, ends, strict=True))
