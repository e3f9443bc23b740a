"""What the columns of an sacct log without header row may be, from what stands in them.

Nothing is read by a proposal: it is put before the user, who confirms it with ``--columns``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from audit.formats.sacct.columns import SKIPPED, Layout
from audit.formats.sacct.splitting import fits
from audit.formats.slurm.fields import FIT, Kind

SAMPLE: Final = 200
"""How many lines are looked at."""

KNOWN: Final = (
    # what widely used programs make sacct write without a header row
    "jobid jobidraw cluster partition qos account group gid user uid submit eligible start end "
    "elapsed exitcode state nnodes ncpus reqcpus reqmem reqtres alloctres timelimit nodelist "
    "jobname",  # Open XDMoD
    "jobid jobidraw cluster partition account group gid user uid submit eligible start end "
    "elapsed exitcode state nnodes ncpus reqcpus reqmem reqgres reqtres alloctres timelimit "
    "nodelist jobname",  # the same, older
    "State JobID ReqCPUS ReqMem ReqNodes Constraints Submit Eligible Start Elapsed Suspended End "
    "ExitCode DerivedExitCode AllocNodes NCPUS MaxDiskRead MaxDiskWrite MaxPages MaxRSS MaxVMSize "
    "CPUTime UserCPU SystemCPU TotalCPU",  # HPC cost simulator
    "State JobID ReqCPUS ReqMem ReqNodes Constraints Submit Eligible Start Elapsed Suspended End "
    "ExitCode DerivedExitCode AllocNodes NCPUS MaxDiskRead MaxDiskWrite MaxPages MaxRSS MaxVMSize "
    "CPUTime UserCPU SystemCPU TotalCPU Partition",
    "JobID JobName User Partition NodeList NNodes NCPUS NTasks State Submit Start End Timelimit "
    "Elapsed TotalCPU CPUTime UserCPU SystemCPU ReqMem MaxRSS MaxVMSize ReqTRES AllocTRES "
    "_ _ _ _ _ _ _ _ _ _ _ _ _ _ _",  # jobinfo; what is left is used by no record
)

STATES: Final = frozenset(
    (
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "CONFIGURING", "DEADLINE"),
        *("FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PENDING", "PREEMPTED", "REQUEUED"),
        *("RESIZING", "REVOKED", "RUNNING", "SUSPENDED", "TIMEOUT"),
    )
)

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|Unknown|None")
_TESTS: Final = (
    # in this order: the first that all values pass names what they are
    (Kind.TIME, _ISO),
    (Kind.DURATION, re.compile(rf"(?:{FIT[Kind.DURATION]})")),
    (Kind.COUNT, re.compile(r"\d+")),
    (Kind.MEMORY, re.compile(r"\d+(?:\.\d+)?[KMGTPE][cn]?|0[cn]?")),  # 0.04M is no step of job 0
    (Kind.ID, re.compile(FIT[Kind.ID])),
    (Kind.EXIT, re.compile(r"\d+:\d+")),
    (Kind.TRES, re.compile(r"(?=.*(?:cpu|mem|node|billing)=)(?!.*\bcpu=\d+:).*")),
)


class Sniffed(NamedTuple):
    """A log without header row that looks like sacct's."""

    separator: str
    rows: list[list[str]]  # of the sample, those with the usual number of fields
    trailing: bool


def sniff(lines: Sequence[str], separator: str | None = None) -> Sniffed | None:
    """Cuts lines at what separates their columns; None if they are no jobs of sacct."""
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
        if _are_jobs(kinds) and (best is None or rank > best[0]):
            best = rank, Sniffed(candidate, rows, trailing)
    return best[1] if best else None


def separator_for(
    lines: Sequence[str], names: Sequence[str], separator: str | None = None
) -> tuple[str, bool] | None:
    """What separates columns that are called ``names``, and whether lines end with it."""
    best: tuple[int, str, bool] = (0, "", False)
    sample = lines[:SAMPLE]
    for candidate in [separator] if separator else _candidates(sample):
        for trailing in (False, True):
            layout = Layout(tuple(names), candidate, trailing)
            good = sum(fits(line, layout) for line in sample)
            if good > best[0]:
                best = good, candidate, trailing
    return best[1:] if best[0] else None


def propose(sniffed: Sniffed) -> tuple[str, ...]:
    """A name for each column; ``_`` where its content does not tell."""
    rows = sniffed.rows
    width = len(rows[0])
    for known in KNOWN:
        layout = Layout(tuple(known.split()), sniffed.separator)
        # an empty last column looks like a separator at the end
        fuller = [[*row, ""] for row in rows] if len(layout.names) > width else rows
        if len(layout.names) <= width + sniffed.trailing and _mostly_fits(fuller, layout):
            return tuple(column.name for column in layout.columns)
    guess = _Guess(rows)
    guess.name_ids()
    guess.name_times()
    guess.name_durations()
    guess.offer(guess.of(Kind.STATE), ("State",))
    guess.offer(guess.of(Kind.EXIT), ("ExitCode", "DerivedExitCode"))
    guess.name_requests()
    guess.name_counts()
    return tuple(guess.names)


class _Guess:
    """Names that are given to columns one after the other."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self.columns = list(zip(*rows, strict=True))
        self.kinds = [_kind(values) for values in self.columns]
        self.names = [SKIPPED] * len(self.columns)

    def of(self, kind: Kind) -> list[int]:
        """The columns whose values are of a kind."""
        return [index for index, found in enumerate(self.kinds) if found is kind]

    def offer(self, indices: Iterable[int], names: Iterable[str]) -> None:
        for index, name in zip(indices, names, strict=False):
            self.names[index] = name

    def name_ids(self) -> None:
        """Ids are what is (nearly) never the same twice; JobID has the array tasks and steps."""
        counts = [
            index
            for index in self.of(Kind.COUNT)
            if all(values := self.columns[index]) and len(set(values)) * 10 > len(values) * 9
        ]
        self.offer([*self.of(Kind.ID), *counts], ("JobID", "JobIDRaw"))

    def name_times(self) -> None:
        """In the order in which they happen."""
        times = sorted((median(_sortable(self.columns[at])), at) for at in self.of(Kind.TIME))
        called = {
            1: "Submit",
            2: "Start End",
            3: "Submit Start End",
            4: "Submit Eligible Start End",
        }
        self.offer((at for _, at in times), called.get(len(times), "").split())

    def name_durations(self) -> None:
        """Limits are whole minutes, suspended is mostly nothing, elapsed is what comes first."""
        for index in self.of(Kind.DURATION):
            known = [value for value in self.columns[index] if value]
            if all(set(value) <= set("0:-") for value in known):
                name = "Suspended"
            elif all(value[-2:] == "00" or not value[-1].isdigit() for value in known):
                name = "Timelimit"
            else:
                name = "Elapsed"
            if name not in self.names:
                self.names[index] = name

    def name_requests(self) -> None:
        """What was used is of the same kinds, and stands with steps alone."""
        ids = next(
            (self.columns[at] for at, name in enumerate(self.names) if name == "JobID"), None
        )
        rows = range(len(self.columns[0]))
        jobs = [row for row in rows if ids is None or "." not in ids[row]]
        memory, tres = (
            [at for at in self.of(kind) if any(self.columns[at][row] for row in jobs)]
            for kind in (Kind.MEMORY, Kind.TRES)
        )
        self.offer(memory, ("ReqMem",))
        self.offer(tres, ("AllocTRES",) if len(tres) == 1 else ("ReqTRES", "AllocTRES"))

    def name_counts(self) -> None:
        """What equals the resource lists' numbers is that number."""
        lists = [at for at, name in enumerate(self.names) if name in ("AllocTRES", "ReqTRES")]
        for label, name in (("cpu", "NCPUS"), ("node", "NNodes")):
            for index in self.of(Kind.COUNT):
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
    for value in values:
        if digits := re.sub(r"\D", "", value)[:14]:
            yield int(digits)


def _candidates(lines: Sequence[str]) -> list[str]:
    """What may separate columns: what is between words and numbers, and parts of it."""
    candidates: dict[str, None] = {}
    for line in lines[:5]:
        for run in set(re.findall(r"[^0-9A-Za-z\s]+|\t+|[\x1c-\x1f]+", line)):
            for length in range(1, min(len(run), 8) + 1):
                candidates.setdefault(run[:length])
    return [text for text in candidates if text not in "-:.[]()_=+"]


def _kind(values: Sequence[str]) -> Kind | None:
    """What all values that are not empty are; None where they are mere text, or all empty."""
    known = {value for value in values if value}
    if not known:
        return None
    if all(value.split(" by ")[0] in STATES for value in known):
        return Kind.STATE
    if known <= {"Unknown", "None", "INVALID"}:
        return None
    return next((kind for kind, test in _TESTS if all(map(test.fullmatch, known))), None)


def _are_jobs(kinds: Sequence[Kind | None]) -> bool:
    return (
        (Kind.TIME in kinds or Kind.STATE in kinds)
        and (Kind.ID in kinds or Kind.COUNT in kinds)
        and len(kinds) > 2
    )


def _mostly_fits(rows: Sequence[Sequence[str]], layout: Layout) -> bool:
    fits = [layout.pattern(column).fullmatch for column in layout.columns]
    if len(fits) != len(rows[0]):
        return False
    good = sum(all(fit(value) for fit, value in zip(fits, row, strict=True)) for row in rows)
    return good * 10 >= len(rows) * 9


def spans(names: Sequence[str]) -> str:
    """Which columns a proposal leaves open, as `3-5, 9`; empty where none."""
    numbers = [number for number, name in enumerate(names, start=1) if name == SKIPPED]
    starts = [n for k, n in enumerate(numbers) if not k or numbers[k - 1] != n - 1]
    ends = [a for a, b in pairwise([*numbers, -1]) if b != a + 1]
    return ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in zip(starts, ends, strict=True))
