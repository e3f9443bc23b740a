"""A study's page from its text, ``templates/studies/NAME.txt``, and the parts that it computes.

The text has blocks with blank lines between them. Indented lines continue the line before.

    # Title                                  of the page
    Lead paragraph
    - Setting: value                         or ``- name``: the settings in the part of that name
    > Source
    ## key: Title                            of a section
    Paragraph
    [name]                                   the paragraphs, tables or charts in that part
    [table key] Caption                      a table; the part has its rows, or columns and rows
    columns: Title | Title <name kind> | …
    note: …
    shown: number of rows on the page

All texts may contain fields in braces, which the study fills.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, get_args

from audit import resources
from audit.report.charts.style import Chart
from audit.report.study.page import ROWS, Cell, Columns, Kind, Section, Study, Table, TableColumn

KINDS: Final[Mapping[str, Kind]] = {kind: kind for kind in get_args(Kind)}

Parts = Mapping[str, Any]


def study(
    name: str, parts: Parts, values: Mapping[str, object], sections: Iterable[Section] | None = None
) -> Study:
    """Return the study ``name``; without ``sections``, with those of its text, each once."""
    head, texts = _read(name)
    if sections is None:
        sections = [section(name, key, parts, values) for key in texts]
    settings: list[tuple[str, str]] = []
    for line in head:
        if line.startswith("- "):
            title, colon, value = line[2:].format_map(values).partition(": ")
            settings += [(title, value)] if colon else parts[title]
    return Study(
        key=name,
        title=head[0].removeprefix("# ").format_map(values),
        lead=head[1].format_map(values),
        sections=tuple(sections),
        settings=tuple(settings),
        sources=tuple(line[2:] for line in head if line.startswith("> ")),
    )


def section(name: str, key: str, parts: Parts, values: Mapping[str, object]) -> Section:
    """Return the section ``key`` of the text of the study ``name``."""
    [title], *blocks = _read(name)[1][key]
    found: list[str | Table | Chart] = []
    for block in blocks:
        lines = [line.format_map(values) for line in block]
        if block[0].startswith("[table "):
            found.append(_table(lines, parts))
        elif re.fullmatch(r"\[\w+\]", block[0]):
            part = parts[lines[0][1:-1]]
            found += [part] if isinstance(part, str | Table | Chart) else part
        else:
            found.append(" ".join(lines))
    return Section(title.partition(": ")[2].format_map(values), tuple(found))


def columns(text: str) -> Columns:
    """Return the columns that a text such as ``Operator | Least job <hours_most number>`` names.

    The name defaults to the title in lower case with underscores, the kind to ``text``.
    """
    found: list[TableColumn] = []
    for item in text.split(" | "):
        title, _, described = item.partition(" <")
        words = described.rstrip(">").split()
        kind = KINDS[words.pop()] if words and words[-1] in KINDS else "text"
        slug = title.lower().replace(" ", "_")
        found.append(TableColumn(title, words[0] if words else slug, kind))
    return tuple(found)


def _table(lines: Sequence[str], parts: Parts) -> Table:
    key, _, caption = lines[0].removeprefix("[table ").partition("] ")
    options = dict(line.split(": ", 1) for line in lines[1:])
    titles, rows = (columns(options["columns"]), parts[key]) if "columns" in options else parts[key]
    cells = tuple(_cells(titles, row) for row in rows)
    shown = options.get("shown", ROWS)
    limit = len(cells) if shown == "all" else int(shown)
    return Table(key, caption, titles, cells, options.get("note", ""), limit)


def _cells(titles: Columns, row: Any) -> tuple[Cell, ...]:
    """Return the cells of a plain tuple in their order, of any other row by their names."""
    if isinstance(row, tuple) and not hasattr(row, "_fields"):
        return tuple(None if cell != cell else cell for cell in row)  # noqa: PLR0124 - NaN
    return tuple(column.cell(row) for column in titles)


@cache
def _read(name: str) -> tuple[list[str], dict[str, list[list[str]]]]:
    """Return the lines of the head, and the blocks of each section by its key."""
    text = resources.path(f"templates/studies/{name}.txt").read_text(encoding="utf-8")
    blocks = [
        block.splitlines() for block in re.sub(r"\n +", " ", text).strip().split("\n\n") if block
    ]
    head: list[str] = []
    sections: dict[str, list[list[str]]] = {}
    for block in blocks:
        if block[0].startswith("## "):
            key = block[0].removeprefix("## ").partition(": ")[0]
            sections[key] = [block]
        elif sections:
            list(sections.values())[-1].append(block)
        else:
            head += block if block[0][:2] in ("- ", "> ") else [" ".join(block)]
    return head, sections
