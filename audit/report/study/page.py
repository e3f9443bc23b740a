"""The page of a study: a frozen record of all that it says, as HTML, and its tables as CSV.

A study is sections of parts in reading order: paragraphs, tables and charts. The page is one file
without any outside reference, under the same security policy as a report; every text in it is
escaped. Each table is also a CSV file (RFC 4180) with all of its rows, in full precision. The same
study gives the same bytes.

A table is declared by its columns, each of which says what it shows of a row, and filled by
``table``. Sections are made as for one pool; ``by_pool`` puts those of several behind each other.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from audit import __version__
from audit.metrics.verdicts import Estimate, Verdict
from audit.report.charts.style import Chart
from audit.report.render import export
from audit.report.render import page as render
from audit.report.render.export import File
from audit.report.text import wording
from audit.spreadsheets import cell

Row = TypeVar("Row")
Cell: TypeAlias = str | bool | int | float | None
Kind: TypeAlias = Literal["text", "count", "number", "percent", "duration", "yes_no"]

ROWS: Final = 40
"""A table shows so many rows on the page unless it says otherwise; all are in its file."""

_TEXT_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column of a table: its title on the page, its name in the file, how it reads, its cells.

    ``duration`` is in seconds and ``percent`` a share of 1; the file has both as they are.
    """

    title: str
    name: str
    kind: Kind = "number"
    value: Callable[[Row], Cell] | None = field(default=None, compare=False)
    """What it shows of a row; None: what the row has under the column's name."""

    def cell(self, row: Row) -> Cell:
        """What the column shows of ``row``."""
        if self.value is not None:
            return self.value(row)
        cell: Cell = row[self.name] if isinstance(row, Mapping) else getattr(row, self.name)
        return cell


Columns: TypeAlias = tuple[Column[Row], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names its rows. A cell of None is unknown, or does not apply."""

    key: str  # name of its file, without the study's and ``.csv``; unique in the study
    caption: str
    columns: Columns[Any]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    shown: int = ROWS


def table(
    key: str,
    caption: str,
    columns: Columns[Row],
    rows: Iterable[Row],
    note: str = "",
    shown: int = ROWS,
) -> Table:
    """A table whose columns say what they show of each of ``rows``."""
    cells = tuple(tuple(column.cell(row) for column in columns) for row in rows)
    return Table(key, caption, columns, cells, note, shown)


def interval(estimate: Callable[[Row], Estimate | None], *columns: Column[Row]) -> Columns[Row]:
    """Return three columns with a row's figure and its interval; empty where there is none.

    ``columns`` name value, lower and upper end; none: by these names.
    """
    columns = columns or (Column("Value", "value"), Column("From", "lower"), Column("To", "upper"))

    def cell(row: Row, place: int) -> Cell:
        figure = estimate(row)
        value = None if figure is None else figure[place]
        return None if value is None or math.isnan(value) else value

    return tuple(
        replace(column, value=partial(cell, place=place)) for place, column in enumerate(columns)
    )


def verdict_table(
    verdicts: Iterable[tuple[str, Verdict]], told_apart_by: tuple[str, str] | None = None
) -> Table:
    """Return what a log says to a paper's conclusions.

    Args:
        verdicts: each with what distinguishes it from those on the same conclusion.
        told_apart_by: title and name of the column that shows that; None: there is none.
    """
    columns: list[Column[tuple[str, Verdict]]] = [
        Column("Conclusion", "claim", "text", lambda row: row[1].claim),
        Column("Holds", "holds", "text", lambda row: row[1].holds.value),
        Column("Because", "because", "text", lambda row: row[1].because),
        Column("In", "source", "text", lambda row: row[1].source),
    ]
    if told_apart_by is not None:
        columns.insert(1, Column(*told_apart_by, "text", lambda row: row[0]))
    return table("verdicts", "Does it hold on this log?", tuple(columns), verdicts)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it: paragraphs (text), tables and charts."""

    title: str
    parts: tuple[str | Table | Chart, ...]


def by_pool(pools: Sequence[tuple[str, Sequence[Section]]]) -> tuple[Section, ...]:
    """Return the sections of all pools, given by name; of a single pool unchanged.

    Of several, a section's title begins with the pool's name, and the keys of its tables and charts
    with the pool's number.
    """
    if len(pools) == 1:
        return tuple(pools[0][1])
    return tuple(
        Section(
            f"Pool {wording.name(name)}: {section.title}",
            tuple(_numbered(part, pool_prefix(number, len(pools))) for part in section.parts),
        )
        for number, (name, sections) in enumerate(pools)
        for section in sections
    )


def pool_prefix(number: int, pools: int) -> str:
    """What the names of a pool's files begin with; ``number`` from 0 on, of ``pools``."""
    return f"{number + 1}-" if pools > 1 else ""


def _numbered(part: str | Table | Chart, prefix: str) -> str | Table | Chart:
    return part if isinstance(part, str) else replace(part, key=prefix + part.key)


@dataclass(frozen=True, slots=True)
class Study:
    """All that the page of a study says."""

    key: str  # name of its files; letters, digits and hyphens
    title: str
    lead: str  # what the study found, in one or two sentences
    sections: tuple[Section, ...]
    settings: tuple[tuple[str, str], ...] = ()  # by name: enough to make it again
    sources: tuple[str, ...] = ()


def files(study: Study) -> tuple[File, ...]:
    """Each table of a study as a CSV file."""
    return tuple(
        File(file_name(study, table), table.caption, as_csv(table)) for table in tables(study)
    )


def tables(study: Study) -> tuple[Table, ...]:
    """All tables of a study, in reading order.

    Raises:
        ValueError: two have the same key, or a row has not as many cells as there are columns.
    """
    tables = _parts(study, Table)
    for one in tables:
        for row in one.rows:
            if len(row) != len(one.columns):
                raise ValueError(f"table {one.key}: {row} is not of {len(one.columns)} cells")
    return tables


def file_name(study: Study, table: Table) -> str:
    """The name of a table's file."""
    return f"{study.key}-{table.key}.csv"


def as_csv(table: Table) -> str:
    """A table with all of its rows; no cell of it is run by a spreadsheet."""
    titles = [cell(column.name) for column in table.columns]
    return export.as_csv([titles, *([_in_file(value) for value in row] for row in table.rows)])


def _in_file(value: Cell) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return cell(value) if value is None or isinstance(value, str) else repr(value)


def render_html(study: Study) -> str:
    """The study as one self-contained HTML page."""
    pictures = render.pictures(_parts(study, Chart))
    values = {
        "study": study,
        "version": __version__,
        "sections": [
            {"title": section.title, "parts": [_part(study, part) for part in section.parts]}
            for section in study.sections
        ],
        "charts": pictures,
        "files": render.downloads(files(study)),
    }
    return render.html("report/study.html", values, ["point.js"] if pictures else [])


Part = TypeVar("Part", Table, Chart)


def _parts(study: Study, kind: type[Part]) -> tuple[Part, ...]:
    """The tables, or the charts, of a study.

    Raises:
        ValueError: two have the same key.
    """
    parts = tuple(
        part for section in study.sections for part in section.parts if isinstance(part, kind)
    )
    keys = [part.key for part in parts]
    if len(set(keys)) < len(keys):
        what = f"{kind.__name__.lower()}s"
        raise ValueError(f"study {study.key}: two {what} have the same key among {keys}")
    return parts


def _part(study: Study, part: str | Table | Chart) -> dict[str, object]:
    """A part as the template places it."""
    if isinstance(part, str):
        return {"kind": "paragraph", "text": part}
    if isinstance(part, Chart):
        return {"kind": "chart", "key": part.key}
    kinds = [column.kind for column in part.columns]
    return {
        "kind": "table",
        "caption": part.caption,
        "note": part.note,
        "titles": [column.title for column in part.columns],
        "rows": [
            [
                {"text": _shown(value, kind), "numeric": kind != "text"}
                for value, kind in zip(row, kinds, strict=True)
            ]
            for row in part.rows[: part.shown]
        ],
        "numeric": [kind != "text" for kind in kinds],
        "left_out": max(0, len(part.rows) - part.shown),
        "file": file_name(study, part),
    }


def _shown(value: Cell, kind: Kind) -> str:
    """A cell as a reader sees it; words are left where a number was expected."""
    if value is None:
        return wording.UNKNOWN
    if isinstance(value, str):
        return wording.name(value, _TEXT_LIMIT) if value else ""
    if kind == "yes_no":
        return "yes" if value else "no"
    shown: dict[Kind, Callable[[float], str]] = {
        "text": str,
        "count": wording.count,
        "number": wording.number,
        "percent": wording.percent,
        "duration": wording.duration,
    }
    return shown[kind](value)
