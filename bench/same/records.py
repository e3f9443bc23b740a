"""The record of an audit for later comparisons, and the differences of two records."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.same.names import RENAMES, Renames
from bench.same.numbers import sections
from bench.same.tables import hashes, tables

CONTEXT = 5
"""Numbers shown before and after the first one that differs."""


@dataclass(frozen=True)
class Record:
    """An audit's results, under the names of the reference."""

    rows: dict[str, int]
    """By table or view."""
    columns: dict[str, str]
    """By "table.column": the SHA-256 of its values; none where the table is empty."""
    report: list[list[str]]
    """Sections of report.html: where each begins, and its numbers."""

    @property
    def numbers(self) -> list[tuple[str, str]]:
        """Each number of the report with its section."""
        return [(title, one) for title, found in self.report for one in found.split()]

    def hashes(self) -> Iterator[tuple[str, str]]:
        """Each column, and the report, with its SHA-256."""
        yield from self.columns.items()
        text = " ".join(number for _, number in self.numbers)
        yield "report.html", hashlib.sha256(text.encode()).hexdigest()


def record(folder: Path, renames: Renames = RENAMES) -> Record:
    """The record of the audit whose audit.duckdb and report.html are in ``folder``."""
    rows: dict[str, int] = {}
    columns: dict[str, str] = {}
    for table, frame in tables(folder / "audit.duckdb", renames):
        rows[table] = frame.height
        if frame.height:
            columns |= {f"{table}.{name}": sha256 for name, sha256 in hashes(frame)}
    page = (folder / "report.html").read_text(encoding="utf-8")
    return Record(rows, columns, [list(one) for one in sections(page)])


def write(one: Record, path: Path) -> None:
    """Writes a record as JSON."""
    text = json.dumps(asdict(one), indent=0, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> Record:
    """The record that ``write`` wrote."""
    return Record(**json.loads(path.read_text(encoding="utf-8")))


def differences(then: Record, now: Record, renames: Renames = RENAMES) -> dict[str, str]:
    """How each table, "table.column" or "report.html" differs; empty if nothing does."""
    found = {}
    for table in {**then.rows, **now.rows}:
        before, after = then.rows.get(table), now.rows.get(table)
        if before != after and not renames.removed(table):
            found[table] = f"{_rows(before)} → {_rows(after)}"
    for name in {**then.columns, **now.columns}:
        table, _, column = name.partition(".")
        before_hash, after_hash = then.columns.get(name), now.columns.get(name)
        if table in found or before_hash == after_hash or renames.removed(table, column):
            continue
        found[name] = "missing" if not after_hash else "differs" if before_hash else "new"
    if first := _first_apart(then.numbers, now.numbers):
        found["report.html"] = first
    return found


def _rows(number: int | None) -> str:
    return "no such table" if number is None else f"{number:,} rows"


def _first_apart(then: Sequence[tuple[str, str]], now: Sequence[tuple[str, str]]) -> str:
    """Where the numbers of two reports first differ; empty if they do not."""
    old, new = ([number for _, number in of] for of in (then, now))
    if old == new:
        return ""
    pairs = enumerate(zip(old, new, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))
    titled = now if at < len(now) else then
    around = slice(max(at - CONTEXT, 0), at + CONTEXT)
    size = f" ({len(old):,} → {len(new):,} numbers)" if len(old) != len(new) else ""
    return f"“{titled[at][0]}”: {' '.join(old[around])} → {' '.join(new[around])}{size}"
