"""Tables with headings and stamps, as squeue and sprio print them, read by the column.

Columns are found by their headings; ``|`` separates them, or blanks. A line that is a time alone
dates the lines below it. See ``samples``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import polars as pl

from audit.formats.evidence.statements import JOB, PENDING, REMARK, STARTED, UNKNOWN, Remarks
from audit.formats.instants import TIME
from audit.hostlists import LONGEST

COLUMNS: Final = {
    "JOBID": "job",  # %i; of %A and %i both, the one of the array task
    "STATE": "state",  # %T
    "ST": "state",  # %t
    "REASON": "reason",  # %r
    "PRIORITY": "priority",  # %Q; %p is a fraction of 1, which is no priority
    "START_TIME": "expected",  # %S: of pending jobs the planned start
}
"""Headings of squeue and sprio, and the column of each."""

STATES: Final = {"PD": PENDING, "R": STARTED, "S": "SUSPENDED", "CG": "COMPLETING"}
"""Short forms of states (%t)."""

STAMP: Final = re.compile(rf"\s*(?:==\s*)?({TIME})\s*")
AT_ONCE: Final = 500_000
"""Lines that are read together."""
_STAMP: Final = rf"^(?:==\s*)?({TIME})$"
_LONGEST_STAMP: Final = 60  # characters
_NUMBER: Final = r"^[0-9]{1,15}(?:\.[0-9]{1,15})?$"
_TASKS: Final = re.compile(r"([0-9]{1,18})_\[([0-9,\-]{1,4000})(?:%[0-9]+)?\]")
_MOST_TASKS: Final = 10_000
_TASK: Final = 1 << 20  # a score above the length of any id

_NULL: Final = pl.lit(None, pl.String)

Heads = Mapping[str, Sequence[int]]


class TableReader:
    """Reads a text in parts; each goes on with the stamp and the headings of the one before."""

    def __init__(self, taken: str | None, state: str | None = None) -> None:
        """Begin a text.

        Args:
            taken: the instant of what comes before the first stamp; None: it is skipped.
            state: of jobs in tables without a column of states.
        """
        self._at, self._state = taken, state
        self._heads: Heads = {}

    def parts(self, lines: Iterable[str]) -> Iterator[Remarks]:
        """Yield the remarks of each ``AT_ONCE`` lines."""
        rest = iter(lines)
        while some := [*islice(rest, AT_ONCE)]:
            yield self._part(pl.Series("text", some, dtype=pl.String).str.strip_chars())

    def _part(self, text: pl.Series) -> Remarks:
        text = text.filter(text != "")
        named = text.filter(text.str.contains("JOBID", literal=True)).unique().to_list()
        heads = {line: places for line in named if (places := headings(line))}
        numbers = {line: number for number, line in enumerate(heads, 1)}
        every = [self._heads, *heads.values()]
        short = pl.when(pl.col("text").str.len_chars() <= _LONGEST_STAMP).then("text")
        lines = pl.DataFrame({"text": text}).with_columns(
            at=short.str.extract(_STAMP),
            table=pl.col("text").replace_strict(numbers, default=None, return_dtype=pl.Int64),
            bars=pl.col("text").str.contains("|", literal=True),
        )
        says = pl.col("at").is_null() & pl.col("table").is_null()
        lines = lines.with_columns(
            says=says,
            at=pl.col("at").forward_fill().fill_null(pl.lit(self._at, pl.String)),
            table=pl.col("table").forward_fill().fill_null(0),
        )
        if lines.height:
            self._at, self._heads = lines["at"][-1], every[lines["table"][-1]]
        data = lines.filter("says")
        found = [
            self._statements(rows, every[rows["table"][0]])
            for rows in data.partition_by("table", "bars", maintain_order=True)
        ]
        said = pl.concat([pl.DataFrame(schema=REMARK), *(one.said for one in found)])
        return Remarks(said, sum(one.skipped for one in found))

    def _statements(self, rows: pl.DataFrame, heads: Heads) -> Remarks:
        """Return what lines say whose columns are separated alike."""
        last = max((place for places in heads.values() for place in places), default=None)
        if last is None:
            return Remarks(pl.DataFrame(schema=REMARK), rows.height)
        text = pl.col("text")
        split = text.str.split("|") if rows["bars"][0] else text.str.extract_all(r"\S+")
        fields = rows.select("at", fields=split).filter(
            pl.col("at").is_not_null(), pl.col("fields").list.len() > last
        )
        state = _first(heads, "state")
        shown = pl.lit(self._state, pl.String) if state is None else _known(state).replace(STATES)
        waits = shown == PENDING
        expected = _first(heads, "expected")
        read = fields.select(
            "at",
            job=_job(heads),
            node=_NULL,
            state=shown,
            reason=_reason(_first(heads, "reason")),
            priority=_priority(heads),
            expected=_NULL if expected is None else pl.when(waits).then(_known(expected)),
        )
        jobs = read["job"].unique()
        of_each = {"job": jobs, "names": [self._names(job) for job in jobs]}
        names = pl.DataFrame(of_each, {"job": pl.String, "names": pl.List(pl.String)})
        names = names.filter(pl.col("names").list.len() > 0)
        made = read.join(names, on="job", maintain_order="left")
        said = made.with_columns(job="names").explode("job").select(*REMARK)
        return Remarks(said, rows.height - made.height)

    def _names(self, job: str) -> list[str]:
        names = [*tasks(job)]
        if self._state is not None and job.isdigit():
            names.append(f"{job}_*")  # sprio names arrays by their number
        return names


def headings(line: str) -> Heads:
    """Return the places of known columns if a line is a row of headings, else nothing."""
    fields = [field.strip() for field in line.split("|")] if "|" in line else line.split()
    places = dict[str, list[int]]()
    for place, field in enumerate(fields):
        if field in COLUMNS:
            places.setdefault(COLUMNS[field], []).append(place)
    return places if "job" in places and len(places) > 1 else {}


def tasks(job: str) -> Iterator[str]:
    """Yield a job id; of an array that has not started (``7_[0-3,9%2]``) those of its tasks."""
    array = _TASKS.fullmatch(job)
    if array is None:
        if JOB.fullmatch(job):
            yield job
        return
    count = 0
    for part in array[2].split(","):
        low, _, high = part.partition("-")
        if not low.isdigit() or not (high or low).isdigit():
            continue
        for task in range(int(low), int(high or low) + 1):
            count += 1
            if count > _MOST_TASKS:
                return
            yield f"{array[1]}_{task}"


def _cells(heads: Heads, name: str) -> list[pl.Expr]:
    return [pl.col("fields").list.get(place).str.strip_chars() for place in heads.get(name, ())]


def _first(heads: Heads, name: str) -> pl.Expr | None:
    return next(iter(_cells(heads, name)), None)


def _known(cell: pl.Expr) -> pl.Expr:
    return pl.when(~cell.is_in([*UNKNOWN])).then(cell.str.slice(0, LONGEST))


def _job(heads: Heads) -> pl.Expr:

    def score(cell: pl.Expr) -> pl.Expr:
        task = pl.when(cell.str.contains("_", literal=True)).then(_TASK).otherwise(0)
        return task + cell.str.len_chars()

    best, *others = _cells(heads, "job")
    for cell in others:
        best = pl.when(score(cell) > score(best)).then(cell).otherwise(best)
    return best


def _reason(cell: pl.Expr | None) -> pl.Expr:
    if cell is None:
        return _NULL
    bare = _known(cell).str.strip_chars("()")
    return pl.when(bare != "").then(bare)


def _priority(heads: Heads) -> pl.Expr:
    """Return the greatest priority of those in the line; one between 0 and 1 is none."""
    cells = _cells(heads, "priority")
    if not cells:
        return pl.lit(None, pl.Float64)
    numbers = (pl.when(cell.str.contains(_NUMBER)).then(cell).cast(pl.Float64) for cell in cells)
    most = pl.max_horizontal(*(pl.when(number > 0).then(number) for number in numbers))
    some = pl.when(most >= 1).then(most)
    zero = pl.any_horizontal(*(cell == "0" for cell in cells)) & most.is_null()
    return pl.when(zero).then(0.0).otherwise(some)
