"""The page of a study: a frozen record of its content, the HTML page and the CSV files.

The page is one file without external references, under the security policy of a report; all text in
it is escaped. Each table is also a CSV file (RFC 4180) with all rows in full precision.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, TypeVar

from audit import __version__
from audit.metrics.claims import ClaimVerdict
from audit.report import wording
from audit.report.charts.style import Chart
from audit.report.render import export
from audit.report.render import page as render
from audit.report.render.export import File
from audit.spreadsheets import cell

Cell: TypeAlias = str | bool | int | float | None
Kind: TypeAlias = Literal["text", "count", "number", "percent", "duration", "yes_no"]

ROWS: Final = 40
"""Default limit of a table's rows on the page."""

_TEXT_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    ``duration`` is in seconds and ``percent`` a share of 1; the CSV file keeps both as they are.
    """

    title: str  # on the page
    name: str  # in the CSV file
    kind: Kind = "number"

    def cell(self, row: object) -> Cell:
        """Return the field or key of ``row`` called ``name``."""
        cell: Cell = row[self.name] if isinstance(row, Mapping) else getattr(row, self.name)
        return cell


Columns: TypeAlias = tuple[TableColumn, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names its rows. A cell of None is unknown or does not apply."""

    key: str  # unique in the study; part of the CSV file's name
    caption: str
    columns: Columns
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    shown: int = ROWS  # number of rows on the page


def verdict_table(
    verdicts: Iterable[tuple[str, ClaimVerdict]], by: tuple[str, str] | None = None
) -> Table:
    """Return the table of a log's verdicts on a paper's conclusions.

    ``by`` is title and name of a column for the text that precedes each verdict; None hides it.
    """
    titles = [("Conclusion", "claim"), *([] if by is None else [by])]
    titles += [("Holds", "holds"), ("Because", "because"), ("In", "source")]
    columns = tuple(TableColumn(*title, "text") for title in titles)
    rows = tuple(
        (of.claim, *([] if by is None else [text]), of.holds.value, of.because, of.source)
        for text, of in verdicts
    )
    return Table("verdicts", "Does it hold on this log?", columns, rows)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs (text), tables and charts below it."""

    title: str
    parts: tuple[str | Table | Chart, ...]


def by_pool(pools: Sequence[tuple[str, Sequence[Section]]]) -> tuple[Section, ...]:
    """Return the sections of all pools, given by name.

    If there are several pools, titles of sections begin with the pool's name, and keys of tables
    and charts with its number.
    """
    if len(pools) == 1:
        return tuple(pools[0][1])
    return tuple(
        Section(
            f"Pool {wording.name(name)}: {section.title}",
            tuple(
                part if isinstance(part, str) else replace(part, key=f"{number}-{part.key}")
                for part in section.parts
            ),
        )
        for number, (name, sections) in enumerate(pools, start=1)
        for section in sections
    )


def pool_prefix(number: int, pools: int) -> str:
    """Return the prefix of file names of pool ``number`` (from 0) of ``pools``."""
    return f"{number + 1}-" if pools > 1 else ""


@dataclass(frozen=True, slots=True)
class Study:
    """The content of a study's page."""

    key: str  # name of its files; letters, digits and hyphens
    title: str
    lead: str  # the result, in one or two sentences
    sections: tuple[Section, ...]
    settings: tuple[tuple[str, str], ...] = ()  # by name: enough to repeat the study
    sources: tuple[str, ...] = ()


def files(study: Study) -> tuple[File, ...]:
    """Return each table of a study as a CSV file."""
    return tuple(
        File(file_name(study, table), table.caption, as_csv(table)) for table in tables(study)
    )


def tables(study: Study) -> tuple[Table, ...]:
    """Return the tables of a study in reading order.

    Raises:
        ValueError: two have the same key, or a row has a wrong number of cells.
    """
    tables = _parts(study, Table)
    for one in tables:
        for row in one.rows:
            if len(row) != len(one.columns):
                raise ValueError(f"table {one.key}: {row} is not of {len(one.columns)} cells")
    return tables


def file_name(study: Study, table: Table) -> str:
    """Return the name of a table's CSV file."""
    return f"{study.key}-{table.key}.csv"


def as_csv(table: Table) -> str:
    """Return a table with all of its rows; a spreadsheet executes no cell of it."""
    titles = [cell(column.name) for column in table.columns]

    def text(value: Cell) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return cell(value) if value is None or isinstance(value, str) else repr(value)

    return export.as_csv([titles, *(map(text, row) for row in table.rows)])


def render_html(study: Study) -> str:
    """Return the study as one self-contained HTML page."""
    charts = render.by_key(_parts(study, Chart))
    values = {
        "study": study,
        "version": __version__,
        "sections": [
            {"title": section.title, "parts": [_part(study, part) for part in section.parts]}
            for section in study.sections
        ],
        "charts": charts,
        "files": files(study),
    }
    return render.html("report/study.html", values, ["point.js"] if charts else [])


Part = TypeVar("Part", Table, Chart)


def _parts(study: Study, kind: type[Part]) -> tuple[Part, ...]:
    parts = tuple(
        part for section in study.sections for part in section.parts if isinstance(part, kind)
    )
    keys = [part.key for part in parts]
    if len(set(keys)) < len(keys):
        what = f"{kind.__name__.lower()}s"
        raise ValueError(f"study {study.key}: two {what} have the same key among {keys}")
    return parts


def _part(study: Study, part: str | Table | Chart) -> dict[str, object]:
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


_SHOWN: Final[Mapping[Kind, Callable[[float], str]]] = {
    "text": str,
    "count": wording.count,
    "number": wording.number,
    "percent": wording.percent,
    "duration": wording.duration,
    "yes_no": lambda value: "yes" if value else "no",
}


def _shown(value: Cell, kind: Kind) -> str:
    """Return a cell as a reader sees it; text stays text in a numeric column."""
    if value is None:
        return wording.UNKNOWN
    if isinstance(value, str):
        return wording.name(value, _TEXT_LIMIT) if value else ""
    return _SHOWN[kind](value)
