"""Names the columns of an sacct log without a header row, as far as its content proves them.

The user confirms names with ``--columns``. Only the columns of Open XDMoD's export are read without
that, if every line proves them.

- Times: Submit ≤ Eligible ≤ Start ≤ End in all lines, and no other order is possible. Of fewer than
  four columns, End − Start is Elapsed, or Start is None for a job that never started.
- AllocTRES is empty where ReqTRES is not, or follows the number of nodes where ReqTRES does not.
- JobID: it differs between all jobs, and is the only such column, or JobIDRaw repeats it.
- Elapsed is End − Start; Timelimit is whole minutes, and at least that.
- Without JobID, jobs and steps are not told apart, and neither is what jobs requested.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise, permutations
from typing import Final, NamedTuple

from audit.formats.sacct import job_table
from audit.formats.sacct.columns import SKIPPED, SacctLayout, fits
from audit.formats.slurm.fields import FIT, FieldKind
from audit.hostlists import count

SAMPLE: Final = 200  # number of lines that are examined
_PROVEN_BY: Final = 10  # number of lines that prove what few might show by chance
_FEW: Final = 3  # number of jobs that prove a length of time

_SIMULATOR: Final = (
    "State JobID ReqCPUS ReqMem ReqNodes Constraints Submit Eligible Start Elapsed Suspended End "
    "ExitCode DerivedExitCode AllocNodes NCPUS MaxDiskRead MaxDiskWrite MaxPages MaxRSS MaxVMSize "
    "CPUTime UserCPU SystemCPU TotalCPU"
)
XDMOD: Final = (
    "jobid jobidraw cluster partition qos account group gid user uid submit eligible start end "
    "elapsed exitcode state nnodes ncpus reqcpus reqmem reqtres alloctres timelimit nodelist "
    "jobname",
    "jobid jobidraw cluster partition account group gid user uid submit eligible start end "
    "elapsed exitcode state nnodes ncpus reqcpus reqmem reqgres reqtres alloctres timelimit "
    "nodelist jobname",  # older
)
"""Columns of the files that Open XDMoD's programs for Slurm make and read."""
KNOWN: Final = (
    # the columns of widely used programs that call sacct without a header row
    *XDMOD,
    _SIMULATOR,  # HPC cost simulator
    f"{_SIMULATOR} Partition",
    "JobID JobName User Partition NodeList NNodes NCPUS NTasks State Submit Start End Timelimit "
    "Elapsed TotalCPU CPUTime UserCPU SystemCPU ReqMem MaxRSS MaxVMSize ReqTRES AllocTRES "
    "_ _ _ _ _ _ _ _ _ _ _ _ _ _ _",  # jobinfo; the rest is used by no record
)

STATES: Final = frozenset(
    (*job_table.STATES, "COMPLETING", "CONFIGURING", "REQUEUED", "RESIZING", "REVOKED")
)

_TESTS: Final = (
    # the first that all values pass is their kind
    (FieldKind.TIME, re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|Unknown|None")),
    (FieldKind.DURATION, re.compile(rf"(?:{FIT[FieldKind.DURATION]})")),
    (FieldKind.COUNT, re.compile(r"\d+")),
    # before ID: 0.04M is no step of job 0
    (FieldKind.MEMORY, re.compile(r"\d+(?:\.\d+)?[KMGTPE][cn]?|0[cn]?")),
    (FieldKind.ID, re.compile(FIT[FieldKind.ID])),
    (FieldKind.EXIT, re.compile(r"\d+:\d+")),
    (FieldKind.TRES, re.compile(r"(?=.*(?:cpu|mem|node|billing)=)(?!.*\bcpu=\d+:).*")),
)


class Sniffed(NamedTuple):
    """A log without a header row that looks like sacct's."""

    separator: str
    rows: list[list[str]]  # of the sample, those with the usual number of fields
    trailing: bool
    longer: tuple[list[str], ...] = ()  # rows with more fields


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
            and not {FieldKind.TIME, FieldKind.STATE}.isdisjoint(kinds)
            and not {FieldKind.ID, FieldKind.COUNT}.isdisjoint(kinds)
        )
        if are_jobs and (best is None or rank > best[0]):
            best = rank, Sniffed(candidate, rows, trailing)
    if best is None:
        return None
    separator, rows, trailing, _ = best[1]
    all_rows = [line.split(separator) for line in lines]
    width = len(rows[0]) + trailing
    usual = [row[: len(rows[0])] for row in all_rows if len(row) == width]
    return Sniffed(separator, usual, trailing, tuple(row for row in all_rows if len(row) > width))


def separator_for(
    lines: Sequence[str], names: Sequence[str], separator: str | None = None
) -> tuple[str, bool] | None:
    """Return the separator of columns called ``names``, and whether lines end with it."""
    sample = lines[:SAMPLE]
    layouts = [
        SacctLayout(tuple(names), candidate, trailing)
        for candidate in ([separator] if separator else _candidates(sample))
        for trailing in (False, True)
    ]
    counted = [(sum(fits(line, layout) for line in sample), layout) for layout in layouts]
    good, best = max(counted, key=lambda pair: pair[0], default=(0, None))
    return (best.separator, best.trailing) if good and best else None


class Proposal(NamedTuple):
    """Names of columns that their content proves; ``_`` for the others."""

    names: tuple[str, ...]
    questions: tuple[str, ...] = ()  # what could not be decided, in words for the user


def propose(sniffed: Sniffed) -> Proposal:
    """Return the names of the columns, as far as they are proven."""
    for known in KNOWN:
        layout = SacctLayout(tuple(known.split()), sniffed.separator)
        if (rows := _of_width(sniffed, layout)) and _fitting(rows, layout) * 10 >= len(rows) * 9:
            layout = next(_longer(known, sniffed), layout)
            return Proposal(tuple(column.name for column in layout.columns))
    guess = _Guess(sniffed.rows)
    return Proposal(tuple(guess.names), tuple(guess.questions))


def _longer(known: str, sniffed: Sniffed) -> Iterator[SacctLayout]:
    """Yield known columns that begin with ``known``, and that all longer lines have."""
    for names in KNOWN:
        layout = SacctLayout(tuple(names.split()), sniffed.separator)
        rows = [row for row in sniffed.longer if len(row) == len(layout.names)]
        if names.startswith(f"{known} ") and rows and _fitting(rows, layout) == len(rows):
            yield layout


def xdmod(lines: Sequence[str]) -> SacctLayout | None:
    """Return the layout of Open XDMoD's export, if all lines prove it."""
    sniffed = sniff(lines)
    if sniffed is None:
        return None
    for names in XDMOD:
        layout = SacctLayout(tuple(names.split()), sniffed.separator)
        rows = _of_width(sniffed, layout)
        times = [layout.names.index(name) for name in ("submit", "eligible", "start", "end")]
        if (
            rows
            and _fitting(rows, layout) == len(rows)
            and _ascend([_instant(row[at]) for at in times] for row in rows)
        ):
            return layout
    return None


def _of_width(sniffed: Sniffed, layout: SacctLayout) -> list[list[str]]:
    """Return the rows, if they may have a layout's columns."""
    width = len(layout.names)
    # an empty last column looks like a separator at the end
    rows = [[*row, ""] for row in sniffed.rows] if sniffed.trailing else sniffed.rows
    return next((each for each in (sniffed.rows, rows) if len(each[0]) == width), [])


def _fitting(rows: Sequence[Sequence[str]], layout: SacctLayout) -> int:
    fits = [layout.pattern(column).fullmatch for column in layout.columns]
    return sum(all(fit(value) for fit, value in zip(fits, row, strict=True)) for row in rows)


class _Guess:
    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self.columns = list(zip(*rows, strict=True))
        self.kinds = [_kind(values) for values in self.columns]
        self.names = [SKIPPED] * len(self.columns)
        self.questions: list[str] = []
        self._name_ids()
        job_id = self.columns[self.names.index("JobID")] if "JobID" in self.names else None
        self.jobs = [row for row in range(len(rows)) if job_id is None or "." not in job_id[row]]
        self._name_times()
        self._name_spans()
        self._name_only(self._of(FieldKind.STATE), "State")
        if job_id is not None:
            self._name_only(self._filled(FieldKind.MEMORY), "ReqMem")
            self._name_lists()
            self._name_counts()

    def _of(self, kind: FieldKind) -> list[int]:
        return [index for index, found in enumerate(self.kinds) if found is kind]

    def _filled(self, kind: FieldKind) -> list[int]:
        """Return the columns of a kind with values in rows of jobs: usage is in rows of steps."""
        return [at for at in self._of(kind) if any(self.columns[at][row] for row in self.jobs)]

    def _name_only(self, indices: Sequence[int], name: str) -> None:
        if len(indices) == 1:
            self.names[indices[0]] = name

    def _ask(self, indices: Iterable[int], names: str) -> None:
        numbers = ", ".join(str(index + 1) for index in sorted(indices))
        self.questions.append(f"columns {numbers} are {names}, but these lines do not show which")

    def _name_ids(self) -> None:
        """Ids of jobs never repeat, nor do those of steps; JobIDRaw mostly repeats JobID."""
        several = [
            at
            for at in (*self._of(FieldKind.ID), *self._of(FieldKind.COUNT))
            if all(values := self.columns[at]) and len(set(values)) * 10 > len(values) * 9
        ]
        formed = [at for at in several if any("." in value for value in self.columns[at])]
        tasks = [
            at for at in several if any("_" in value or "+" in value for value in self.columns[at])
        ]
        twins = [at for at in several if any(self._alike(at, of) for of in several if of != at)]
        if len(self.columns[0]) < _PROVEN_BY:
            twins = []  # so few counts are also alike
        found = tasks or formed or twins or several
        same = all(self._alike(at, found[0]) for at in found[1:])
        if len(found) == 1 or (same and len(found) == 2):
            self.names[found[0]] = "JobID"
            raw = [at for at in several if at != found[0] and self._alike(at, found[0])]
            self._name_only(raw, "JobIDRaw")
        elif found:
            self._ask(found, "JobID and other numbers")

    def _alike(self, one: int, other: int) -> bool:
        pairs = zip(self.columns[one], self.columns[other], strict=True)
        same: int = sum(a == b for a, b in pairs)
        return same * 2 >= len(self.columns[one])

    def _name_times(self) -> None:
        columns = self._of(FieldKind.TIME)
        names = ("", "", "Start End", "Submit Start End", "Submit Eligible Start End")
        if not 2 <= len(columns) < len(names):
            return
        wanted = names[len(columns)].split()
        instants = {at: [_instant(value) for value in self.columns[at]] for at in columns}
        fair = [
            order
            for order in permutations(columns)
            if _ascend(zip(*(instants[at] for at in order), strict=True))
        ]
        # where several orders hold, a column that has one place in all of them is proven
        for place, name in enumerate(wanted):
            possible = {order[place] for order in fair}
            if len(possible) == 1:
                self.names[possible.pop()] = name
        if len(columns) < len(names) - 1 and not self._times_are_proven():
            for at in columns:
                self.names[at] = SKIPPED
            self._ask(columns, "Submit, Eligible, Start or End")
        elif open_to := [name for name in wanted if name not in self.names]:
            left = [at for at in columns if self.names[at] == SKIPPED]
            self._ask(left, " and ".join(open_to))

    def _times_are_proven(self) -> bool:
        """Return whether Start and End are, of columns that may also be Submit and Eligible."""
        never = "Start" in self.names and "None" in self.columns[self.names.index("Start")]
        return never or any(self._exact(kind) for kind in (FieldKind.DURATION, FieldKind.COUNT))

    def _exact(self, kind: FieldKind) -> list[int]:
        """Return the columns of a kind that are End − Start, in s or as a duration."""
        ran, read = self._ran(), _seconds if kind is FieldKind.DURATION else _whole
        return [
            at
            for at in self._of(kind)
            if len(ran) >= _FEW and all(read(self.columns[at][row]) == spent for row, spent in ran)
        ]

    def _ran(self) -> list[tuple[int, int]]:
        """Return rows of jobs that ran, and for how many s."""
        if "Start" not in self.names or "End" not in self.names:
            return []
        start, end = (self.columns[self.names.index(name)] for name in ("Start", "End"))
        known = [(row, _instant(start[row]), _instant(end[row])) for row in self.jobs]
        return [(row, b - a) for row, a, b in known if a is not None and b is not None and b > a]

    def _name_spans(self) -> None:
        ran = self._ran()
        spans = {
            at: [_seconds(value) for value in self.columns[at]]
            for at in self._of(FieldKind.DURATION)
        }
        exact = self._exact(FieldKind.DURATION)
        for at in exact[:1]:  # several are equal
            self.names[at] = "Elapsed"
        for at in self._exact(FieldKind.COUNT)[:1]:
            if self.names[at] == SKIPPED:
                self.names[at] = "ElapsedRaw"
        limits = [
            at
            for at, of in spans.items()
            if at not in exact
            and any(of)
            and (ran or len(self.jobs) >= _PROVEN_BY)
            and all(of[row] is None or of[row] % 60 == 0 for row in self.jobs)  # type: ignore[operator]
            and all(of[row] is None or of[row] + 60 >= s for row, s in ran)  # type: ignore[operator]
        ]
        self._name_only(limits, "Timelimit")

    def _name_lists(self) -> None:
        lists = self._filled(FieldKind.TRES)
        if len(lists) == 1:
            (only,) = lists
            if all(self.columns[only][row] for row in self.jobs):
                self._ask(lists, "AllocTRES or ReqTRES")
            else:
                self.names[only] = "AllocTRES"
        elif len(lists) == 2:
            one, other = lists
            ways = [(a, b) for a, b in ((one, other), (other, one)) if self._allocates(a, b)]
            if len(ways) == 1:
                self.names[ways[0][0]], self.names[ways[0][1]] = "AllocTRES", "ReqTRES"
            else:
                self._ask(lists, "AllocTRES and ReqTRES")

    def _allocates(self, given: int, asked: int) -> bool:
        """Return whether one list is proven to be what was allocated, and the other the request."""
        pairs = [(self.columns[given][row], self.columns[asked][row]) for row in self.jobs]
        if any(a and not b for a, b in pairs):
            return False
        if any(b and not a for a, b in pairs):
            return True
        for texts in self.columns:
            named = [(count(texts[row]), row) for row in self.jobs if _NODES.fullmatch(texts[row])]
            if len(named) * 2 > len(self.jobs) and all(
                _amount(self.columns[given][row], "node") in (None, nodes) for nodes, row in named
            ):
                return any(
                    _amount(self.columns[asked][row], "node") not in (None, nodes)
                    for nodes, row in named
                )
        return False

    def _name_counts(self) -> None:
        """A count that equals the number in AllocTRES is that number."""
        if "AllocTRES" not in self.names:
            return
        texts = self.columns[self.names.index("AllocTRES")]
        for label, name in (("cpu", "NCPUS"), ("node", "NNodes")):
            known = {row: _amount(texts[row], label) for row in self.jobs}
            amounts = {row: str(amount) for row, amount in known.items() if amount is not None}
            equal = [
                index
                for index in self._of(FieldKind.COUNT)
                if self.names[index] == SKIPPED
                and all(self.columns[index][row] == amount for row, amount in amounts.items())
            ]
            if len(set(amounts.values())) > 1:
                self._name_only(equal, name)


_NODES: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]*\d(?:,.*)?|[A-Za-z][A-Za-z0-9.-]*\[[0-9,-]+\].*")
_DURATION: Final = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d\d)(?:\.\d+)?")


def _instant(value: str) -> int | None:
    """Return the seconds of a wall clock; None where it is unknown."""
    try:
        return int(datetime.fromisoformat(f"{value[:19]}+00:00").timestamp())
    except ValueError:
        return None


def _ascend(rows: Iterable[Sequence[int | None]]) -> bool:
    known = ([instant for instant in row if instant is not None] for row in rows)
    return all(one <= other for row in known for one, other in pairwise(row))


def _seconds(value: str) -> int | None:
    match = _DURATION.fullmatch(value)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _whole(value: str) -> int | None:
    return int(value) if value.isdecimal() else None


def _amount(tres: str, label: str) -> int | None:
    match = re.search(rf"(?:^|,){label}=(\d+)(?:,|$)", tres)
    return int(match[1]) if match else None


def _candidates(lines: Sequence[str]) -> list[str]:
    """Return possible separators: what is between words and numbers, and prefixes of it."""
    candidates = dict.fromkeys(
        run[:length]
        for line in lines[:5]
        for run in dict.fromkeys(re.findall(r"[^0-9A-Za-z\s]+|\t+|[\x1c-\x1f]+", line))
        for length in range(1, min(len(run), 8) + 1)
    )
    return [text for text in candidates if text not in "-:.[]()_=+"]


def _kind(values: Sequence[str]) -> FieldKind | None:
    """Return the kind of all values that are not empty; None for text, or if all are empty."""
    known = {value for value in values if value}
    if known <= {"Unknown", "None", "INVALID"}:
        return None
    if all(value.split(" by ")[0] in STATES for value in known):
        return FieldKind.STATE
    return next((kind for kind, test in _TESTS if all(map(test.fullmatch, known))), None)


def spans(names: Sequence[str]) -> str:
    """Return the columns that a proposal leaves open, as `3-5, 9`; empty for none."""
    numbers = [number for number, name in enumerate(names, start=1) if name == SKIPPED]
    starts = [n for k, n in enumerate(numbers) if not k or numbers[k - 1] != n - 1]
    ends = [a for a, b in pairwise([*numbers, -1]) if b != a + 1]
    return ", ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in zip(starts, ends, strict=True))
