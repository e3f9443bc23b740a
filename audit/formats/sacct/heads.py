"""The head of an sacct log: its header row, the lines before it, and what is wrong with it."""

import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from audit.formats.sacct.columns import BY_NAME, SKIPPED, SacctLayout, header_row, known
from audit.formats.slurm.fields import FIT, FieldKind

COMMAND: Final = "sacct --allusers --duplicates --parsable2 --format=ALL --starttime=YYYY-MM-DD"
"""The command whose output is read best."""

MOST_BEFORE: Final = 20  # maximum number of lines before a header row
_SHOWN: Final = 60  # number of characters of a line that a message shows
RULE: Final = re.compile(r"\s*-{2,}[\s-]*")
_CSV: Final = re.compile(r'\s*"[^"]*"(?:[,;|\t]"[^"]*")+\s*')
_FEW: Final = 3


class TextLine(NamedTuple):
    """A line that is not blank."""

    number: int  # from 1
    text: str

    @property
    def shown(self) -> str:
        """The beginning of its text, as a message shows it."""
        return repr(self.text.strip()[:_SHOWN])


class Head(NamedTuple):
    """A header row, and what precedes it."""

    layout: SacctLayout
    row: TextLine
    before: tuple[TextLine, ...]  # lines of something else: a banner, or a prompt
    quoted: bool  # whether columns are in quotes (CSV)

    @property
    def problems(self) -> list[str]:
        """The skipped lines, in words for the user."""
        found = []
        if self.before:
            first = self.before[0]
            found.append(
                f"lines skipped before the header row (line {self.row.number}): "
                f"{len(self.before)} ({first.shown})"
            )
        odd = [
            f"{number} ({name.strip()!r})"
            for number, name in enumerate(self._said, start=1)
            if self.layout.names[number - 1] == SKIPPED != name
        ]
        if odd:
            found.append(f"column {', '.join(odd)} is not a column of sacct: it is not read")
        return found

    @property
    def _said(self) -> list[str]:
        text = self.row.text.replace('"', "") if self.quoted else self.row.text
        return text.split(self.layout.separator)[: len(self.layout.names)]


def find(lines: Sequence[TextLine], separator: str | None = None) -> Head | None:
    """Return the header row among the first lines of a log, or None."""
    for place, line in enumerate(lines[: MOST_BEFORE + 1]):
        quoted = _CSV.fullmatch(line.text) is not None
        text = line.text.replace('"', "") if quoted else line.text
        layout = header_row(text, separator)
        if layout is not None and not text.startswith(("{", "<")):
            return Head(layout, line, tuple(lines[:place]), quoted)
    return None


def table_for_people(lines: Sequence[TextLine]) -> str | None:
    """Return what is wrong with a table that sacct cut to fit a terminal; None: it is none."""
    for line, rule in pairwise(lines[: MOST_BEFORE + 1]):
        if RULE.fullmatch(rule.text) and known(line.text.split()) > 1:
            return (
                f"line {line.number} ({line.shown}) begins a table for people, in which sacct cuts "
                f"long values; write it again with --parsable2: {COMMAND}"
            )
    return None


def aligned(lines: Sequence[TextLine]) -> str | None:
    """Return what is wrong with columns that only blanks separate; None: they are none."""
    for line in lines[: MOST_BEFORE + 1]:
        names = line.text.split()
        if len(names) > _FEW and known(names) * 4 >= len(names) * 3:
            return (
                f"line {line.number} names columns of sacct ({line.shown}), separated by blanks, "
                f"as 'column -t' prints them: where values begin is not certain; use: {COMMAND}"
            )
    return None


def misnamed(lines: Sequence[TextLine]) -> str | None:
    """Return what is wrong with a row of names that is no header row; None: it is none."""
    for line in lines[: MOST_BEFORE + 1]:
        for separator in "|,;\t":
            names = [name.strip().strip('"') for name in line.text.split(separator)]
            if len(names) > _FEW and known(names) * 2 >= len(names):
                return (
                    f"line {line.number} names columns of sacct ({line.shown}), but not JobID, "
                    f"which is needed; add it to --format, or use: {COMMAND}"
                )
    return None


def absent(names: Container[str]) -> Iterator[str]:
    """Yield what is not known for lack of columns, in words for the user."""
    spent = "Elapsed" in names or "ElapsedRaw" in names
    if "Submit" not in names:
        yield "no column Submit: when jobs arrived, and so how long they waited, is unknown"
    for name, other, what in (("Start", "End", "started"), ("End", "Start", "ended")):
        if name not in names and not (spent and other in names):
            yield (
                f"no column {name}, nor {other} with Elapsed: when jobs {what} is unknown, so "
                f"nothing can be measured; write the log again with: {COMMAND}"
            )


def formatted_times(lines: Sequence[TextLine], layout: SacctLayout, begin: int) -> str | None:
    """Return the time that ``SLURM_TIME_FORMAT`` changed, if most times are; None: they are not.

    ``lines`` are without quotes; those from ``begin`` on follow the header row.
    """
    fits = re.compile(FIT[FieldKind.TIME]).fullmatch
    places = [
        at for name, at in layout.position.items() if BY_NAME[name.lower()].kind is FieldKind.TIME
    ]
    rows = [(line, line.text.split(layout.separator)) for line in lines[begin:]]
    whole = [(line, row) for line, row in rows if len(row) == len(layout.columns)]
    odd = [(line, at, row[at]) for line, row in whole for at in places if not fits(row[at])]
    if len(odd) < _FEW or len(odd) * 2 < len(whole) * len(places):
        return None
    line, at, value = odd[0]
    return (
        f"line {line.number}: column {layout.names[at]} is {value[:_SHOWN]!r}, not a time such as "
        "2026-01-31T09:30:00: SLURM_TIME_FORMAT was set, or a program has changed it; write it "
        f"again with: SLURM_TIME_FORMAT=standard {COMMAND}"
    )
