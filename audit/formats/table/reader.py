"""Tables with columns of their own (CSV, Parquet, JSON), read by a mapping (``config.table``).

The mapping is the user's: no table is recognised by itself. A preset, or a proposal for an unknown
header (``proposals``), must be named to be used. Parquet arrives as CSV (``ingest.streams``).
"""

import json
import re
from typing import Final

import polars as pl

from audit.config.table import NULLS, TIMES, TableMapping, of_json
from audit.errors import DialectError
from audit.formats import delimited
from audit.formats.dialects import HEAD_BYTES, PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.instants import is_zone
from audit.formats.lines import Block
from audit.formats.shaping import shaped
from audit.formats.table import objects
from audit.formats.table.proposals import propose
from audit.formats.table.values import LAST, records

MOST_COLUMNS: Final = 4096
_SHOWN_NAMES: Final = 400  # characters of the names of columns in a message
_LOCAL_TIME: Final = r"^[0-9]{4}[-/][0-9/-]{5}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?$"
_JSON: Final = re.compile(rb"\s*[\[{]")


def recognises(head: bytes) -> bool:
    """Return False: a table is read only by a mapping that the user names."""
    return False


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Find the columns of the mapping; DialectError if one is missing, or the names are useless."""
    mapping = reading.table
    if mapping is None:
        raise DialectError("a table needs a mapping of its columns: --table, or --map")
    if mapping.adds:
        raise DialectError("the mapping has no job_id: it is for columns after the 18 of SWF")
    zone = reading.zone or mapping.zone
    if not is_zone(zone or "UTC"):
        raise DialectError(
            f"time zone {zone!r}: not in the IANA database; write it like Europe/Berlin"
        )
    for field, of in mapping.fields.items():
        try:
            pl.Series([""]).str.extract(of.pattern or "()")
        except pl.exceptions.PolarsError as error:
            raise DialectError(f"{field}.pattern: {str(error).splitlines()[0]}") from error
    entries = {"table": mapping.as_json, "zone": zone or "UTC"}
    if _JSON.match(head):
        entries |= {"form": "json", "begins": objects.begins(head)}
    else:
        entries |= {"form": "text", **_columns(head, mapping, reading)}
    problems = []
    if mapping.population is not None:
        entries["population"] = mapping.population.value
    if mapping.caution:
        entries["caution"] = f"{mapping.title}: {mapping.caution}".removeprefix(": ")
    if reading.columns is not None and "before" in entries and entries["before"] != "0":
        problems.append("the table has a row of names, which is used instead of --columns")
    stated = Header(zone, {}, entries, tuple(problems))
    local = zone is None and _has_local_times(head, stated, mapping)
    return Header(zone, {}, entries, tuple(problems), local)


def _columns(head: bytes, mapping: TableMapping, reading: Reading) -> dict[str, str]:
    """Return the names of the columns, their separator, and the lines before the first row."""
    lines = head.split(b"\n")
    before = next(number for number, line in enumerate(lines, start=1) if line.strip())
    if before == len(lines) and len(head) >= HEAD_BYTES:
        raise DialectError(f"the row of names is longer than {HEAD_BYTES >> 10} kB")
    first = lines[before - 1].rstrip(b"\r")
    wanted = mapping.columns
    separators = reading.separator or delimited.SEPARATORS
    if len(separators.encode()) > 1 and reading.separator:
        raise DialectError(f"the separator of a table is one character, not {separators!r}")
    ways = {separator: delimited.names_of(first, separator) for separator in separators}
    separator = max(ways, key=lambda way: sum(name in ways[way] for name in wanted))
    names = ways[separator]
    if reading.columns is not None and not set(wanted) <= set(names):
        names, before = [*reading.columns], 0
    if len(names) > MOST_COLUMNS:
        raise DialectError(f"{len(names):,} columns: a table may have {MOST_COLUMNS:,}")
    if missing := [name for name in wanted if name not in names]:
        listed = ", ".join(map(repr, missing))
        given = ", ".join(names)
        shown = given if len(given) <= _SHOWN_NAMES else f"{given[:_SHOWN_NAMES]}…"
        where = f"in line {before}, which names" if before else "in --columns:"
        blank = before and {*wanted} <= {*first.decode("utf-8", "replace").split()}
        pass_it = "; if blanks separate the columns, pass --separator ' '" if blank else ""
        raise DialectError(f"no column {listed} {where} {shown}{pass_it}")
    if twice := [name for name in wanted if names.count(name) > 1]:
        raise DialectError(f"two columns are called {twice[0]!r}: rename one")
    return {"names": json.dumps(names), "separator": separator, "before": str(before)}


def _has_local_times(head: bytes, stated: Header, mapping: TableMapping) -> bool:
    whole = head[: head.rfind(b"\n") + 1] or head
    times = [of.column for name, of in mapping.fields.items() if name in TIMES and of.unit is None]
    texts = _texts(Block(whole, 0, 1), stated, mapping)[0]
    return any(texts[name].str.contains(_LOCAL_TIME).any() for name in times if name)


def _texts(
    block: Block, header: Header, mapping: TableMapping
) -> tuple[pl.DataFrame, delimited.DelimitedRows | objects.Objects]:
    entries = header.entries
    if entries["form"] == "json":
        found = objects.Objects(block, entries["begins"], mapping)
        texts = found.texts([*mapping.columns, LAST])
        nulls = pl.col(pl.String).is_in(list(NULLS))
        return texts.with_columns(pl.when(~nulls).then(pl.col(pl.String)).name.keep()), found
    rows = delimited.rows(
        block,
        json.loads(entries["names"]),
        entries["separator"],
        NULLS,
        mapping.columns,
        int(entries["before"]),
    )
    return rows.texts, rows


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines, or objects."""
    mapping = of_json(header.entries["table"])
    texts, found = _texts(block, header, mapping)
    read = records(texts, mapping, header.entries["zone"])
    if isinstance(found, objects.Objects):
        return found.parsed(read, 0)
    return shaped(block, found.origin, [read, found.odd], by_line=True)


def whole(data: bytes, header: Header) -> int:
    """Return the length of the whole lines of ``data``, or of its objects before the last."""
    if header.entries["form"] == "json":
        return objects.whole(data, header.entries["begins"])
    return data.rfind(b"\n") + 1


def _proposed(head: bytes) -> str | None:
    found = propose(head)
    return None if found is None else found.message


DIALECT: Final = Dialect(
    *("table", "tables of other names (--table)", recognises, header, parse, whole),
    takes_columns=True,
    differs=_proposed,
    scheduler="table",
)
