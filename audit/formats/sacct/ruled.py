"""Tables that sacct writes for people (without ``--parsable2``), as far as their values are whole.

           JobID      User              Submit      State
    ------------ --------- ------------------- ----------
    8                  ana 2026-01-01T00:00:00 CANCELLED+

The row of dashes below the names gives the width of each column. A longer value is cut there, and
ends with ``+``. A column with such values among the first lines is not read, and a line with one in
another column is refused, as is a line that ends before the last column. Exceptions are states,
whose beginning is enough, and steps.
Source: Slurm's ``print_fields.c``.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from audit.formats.lines import UNQUOTED
from audit.formats.sacct import proposals
from audit.formats.sacct.columns import BY_NAME, SKIPPED, SacctLayout
from audit.formats.sacct.heads import COMMAND, MOST_BEFORE, RULE, TextLine

FORM: Final = "ruled "  # how a header's entry begins that names this form, with its columns

_COLUMN: Final = re.compile(r"(\w+):([0-9]+)-([0-9]+)")


class RuledTable(NamedTuple):
    """The columns of a table, and its place in a log."""

    row: TextLine  # the names of the columns
    layout: SacctLayout
    form: str  # entry of the header
    problem: str  # what is not read of it, in words for the user


class _Column(NamedTuple):
    name: str
    begin: int
    end: int

    def cell(self, line: str) -> str:
        return line[self.begin : self.end].strip()

    def is_step(self, line: str) -> bool:
        return self.name.startswith("JobID") and "." in self.cell(line)

    def is_cut(self, line: str) -> bool:
        text, whole = self.cell(line), self.name in (SKIPPED, "State") or self.is_step(line)
        return not whole and text.endswith("+") and len(text) == self.end - self.begin


def find(lines: Sequence[TextLine]) -> RuledTable | None:
    """Return the table among the first lines of a log; None if there is none with jobs' times."""
    for place, (row, rule) in enumerate(pairwise(lines[: MOST_BEFORE + 1])):
        if RULE.fullmatch(rule.text) is None:
            continue
        columns = [
            _Column(_name(row.text[begin:end]), begin, end)
            for begin, end in (match.span() for match in re.finditer("-+", rule.text))
        ]
        rows = [line.text for line in lines[place + 2 :]]
        cut = [of.name for of in columns if any(map(of.is_cut, rows)) and of.name != "JobID"]
        columns = [of._replace(name=SKIPPED) if of.name in cut else of for of in columns]
        layout = SacctLayout(tuple(of.name for of in columns), UNQUOTED)
        if layout.problem() is None:
            form = FORM + " ".join(f"{name}:{begin}-{end}" for name, begin, end in columns)
            return RuledTable(row, layout, form, _problem(row, cut))
    return None


def _name(text: str) -> str:
    known = BY_NAME.get(text.strip().lower())
    return SKIPPED if known is None else known.name


def _problem(row: TextLine, cut: Sequence[str]) -> str:
    lost = f"{', '.join(cut)} not read" if cut else "lines with such a value are refused"
    return (
        f"line {row.number} begins a table for people, in which sacct cuts long values ({lost}); "
        f"write it again with --parsable2: {COMMAND}"
    )


def rewritten(data: bytes, form: str) -> bytes:
    """Return lines of columns separated by ``UNQUOTED``; other lines stay, headings are empty."""
    columns = [_Column(name, int(begin), int(end)) for name, begin, end in _COLUMN.findall(form)]
    text = data.decode("utf-8", "backslashreplace")
    return "\n".join(_line(line, columns) for line in text.split("\n")).encode()


def _line(line: str, columns: Sequence[_Column]) -> str:
    if not line.strip() or RULE.fullmatch(line):
        return ""
    cells = [of.cell(line) for of in columns]
    names = [of.name for of in columns]
    if all(name in (SKIPPED, _name(cell)) for name, cell in zip(names, cells, strict=True)):
        return ""
    apart = all(line[of.end : of.end + 1].strip() == "" for of in columns)
    whole = len(line) >= columns[-1].end or any(of.is_step(line) for of in columns)
    if not (apart and whole) or any(of.is_cut(line) for of in columns):
        return line
    return UNQUOTED.join(
        _state(cell) if name == "State" else cell for name, cell in zip(names, cells, strict=True)
    )


def _state(text: str) -> str:
    """Return a state that sacct cut; `CANCELLED+` is `CANCELLED by UID`."""
    if not text.endswith("+"):
        return text
    whole = [state for state in proposals.STATES if state.startswith(text[:-1])]
    return whole[0] if len(whole) == 1 else text
