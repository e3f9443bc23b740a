"""The page of a study: a frozen record of all that it says, as HTML, and its tables as CSV.

A study is sections of parts in reading order: paragraphs, tables and charts. The page is one file
without any outside reference, under the same security policy as a report; every text in it is
escaped. Each table is also a CSV file (RFC 4180) with all of its rows, in full precision. The same
study gives the same bytes.
"""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from audit import __version__
from audit.report.charts.style import Chart
from audit.report.render import page as render
from audit.report.render.export import File, cell
from audit.report.text import wording

Cell: TypeAlias = str | bool | int | float | None
Kind: TypeAlias = Literal["text", "count", "number", "percent", "duration", "yes_no"]

ROWS: Final = 40
"""A table shows so many rows on the page unless it says otherwise; all are in its file."""

_TEXT_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title on the page, its name in the file, and how it reads.

    ``duration`` is in seconds and ``percent`` a share of 1; the file has both as they are.
    """

    title: str
    name: str
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first column names its rows. A cell of None is unknown, or does not apply."""

    key: str
    """Name of its file, without the study's and without ``.csv``; unique in the study."""
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    shown: int = ROWS


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it: paragraphs (text), tables and charts."""

    title: str
    parts: tuple[str | Table | Chart, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """All that the page of a study says."""

    key: str
    """Name of its files; letters, digits and hyphens."""
    title: str
    lead: str
    """What the study found, in one or two sentences."""
    sections: tuple[Section, ...]
    settings: tuple[tuple[str, str], ...] = ()
    """What it was made with, by name: enough to make it again."""
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
    found = [part for of in study.sections for part in of.parts if isinstance(part, Table)]
    keys = [table.key for table in found]
    if len(set(keys)) < len(keys):
        raise ValueError(f"study {study.key}: two tables have the same key among {keys}")
    for table in found:
        for row in table.rows:
            if len(row) != len(table.columns):
                raise ValueError(f"table {table.key}: {row} is not of {len(table.columns)} cells")
    return tuple(found)


def file_name(study: Study, table: Table) -> str:
    """The name of a table's file."""
    return f"{study.key}-{table.key}.csv"


def as_csv(table: Table) -> str:
    """A table with all of its rows; no cell of it is run by a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([cell(column.name) for column in table.columns])
    for row in table.rows:
        writer.writerow([_in_file(value) for value in row])
    return out.getvalue()


def _in_file(value: Cell) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return cell(value) if value is None or isinstance(value, str) else repr(value)


def render_html(study: Study) -> str:
    """The study as one self-contained HTML page."""
    drawn = _charts(study)
    pictures = {
        chart.key: render.picture(f"chart-{chart.key.replace('_', '-')}", chart) for chart in drawn
    }
    specs = [
        {"key": pictures[chart.key].key, "json": render.trusted(render.script_json(chart.spec))}
        for chart in drawn
    ]
    bundle = render.bundled() if specs else ""
    boot = render.text_of("boot.js") if specs else ""
    text = render.fill(
        "report/study.html",
        {
            "medium": "screen",
            "small_sample": 0,  # of the macros that are shared with reports
            "study": study,
            "version": __version__,
            "sections": [
                {"title": of.title, "parts": [_part(study, part) for part in of.parts]}
                for of in study.sections
            ],
            "charts": pictures,
            "specs": specs,
            "files": [
                {
                    "name": file.name,
                    "what": file.what,
                    "uri": render.data_uri("text/csv", file.text),
                }
                for file in files(study)
            ],
            "policy": render.policy(bundle, boot),
            "bundle": render.trusted(bundle),
            "boot": render.trusted(boot),
            "css": render.trusted(render.text_of("common.css") + render.text_of("screen.css")),
        },
    )
    return "\n".join(line for line in text.split("\n") if line.strip()) + "\n"


def _charts(study: Study) -> Sequence[Chart]:
    found = [part for of in study.sections for part in of.parts if isinstance(part, Chart)]
    keys = [chart.key for chart in found]
    if len(set(keys)) < len(keys):
        raise ValueError(f"study {study.key}: two charts have the same key among {keys}")
    return found


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
