"""A table of ``sinfo`` with its header: ``-N -l``, ``-o FORMAT`` or ``-O FORMAT``.

    sinfo -N -o "%N|%c|%m|%G|%f|%R|%T"

Columns are found by their headings. Those read are NODELIST (else HOSTNAMES, NODEHOST), CPUS,
MEMORY (MiB; sinfo does not know MemSpecLimit), GRES, AVAIL_FEATURES and PARTITION; STATE says which
nodes are out of service, not since when. Columns are separated by ``|``, else by blanks. A row may
be about several equal nodes; a value with a ``+`` is the least of different ones, and is unknown.
Source: sinfo's manual page.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from audit.formats.nodes.machine import (
    ListedNode,
    NodeListing,
    count,
    features,
    gpus,
    listing,
    names,
)
from audit.formats.shaping import MIB, short
from audit.hostlists import expand

SOURCE: Final = "sinfo"
_NAMES: Final = ("NODELIST", "NODEHOST", "HOSTNAMES")
_AMOUNTS: Final = ("CPUS", "MEMORY")
_FEATURES: Final = ("AVAIL_FEATURES", "AVAIL_FE", "FEATURES", "ACTIVE_FEATURES")


def header(text: str) -> tuple[int, str] | None:
    """Return the number of the line with the headings, from 0, and the separator; or None."""
    for number, line in enumerate(text.split("\n", 3)[:3]):
        separator = "|" if "|" in line else ""
        cells = _cells(line, separator)
        if any(name in cells for name in _NAMES) and any(name in cells for name in _AMOUNTS):
            return number, separator
    return None


def _cells(line: str, separator: str, most: int = -1) -> list[str]:
    if separator:
        return [cell.strip() for cell in line.split(separator)]
    return line.split(None, most)


def read(text: str, number: int, separator: str) -> NodeListing:
    """Read a table with this ``header``; never raises for its content."""
    lines = text.split("\n")
    titles = _cells(lines[number].rstrip("\r"), separator)
    problems: list[str] = []
    machines: list[ListedNode] = []
    for at, line in enumerate(lines[number + 1 :], number + 2):
        # without a separator, the last column (REASON) may have blanks
        cells = _cells(line.rstrip("\r"), separator, len(titles) - 1)
        if len(cells) != len(titles):
            if line.strip():
                problems.append(f"line {at}: {len(cells)} columns where the header has another")
            continue
        machines += _machines(dict(zip(reversed(titles), reversed(cells), strict=True)), problems)
    return listing(machines, SOURCE, problems)


def _machines(row: Mapping[str, str], problems: list[str]) -> Iterator[ListedNode]:
    listed = next(row[name] for name in _NAMES if name in row)
    nodes = expand(listed)
    if not nodes:
        problems.append(f"{short(listed)} is not a list of nodes")
        return
    has = features(next((row[name] for name in _FEATURES if name in row), None))
    memory = count(row.get("MEMORY"))
    for name in nodes:
        yield ListedNode(
            name,
            count(row.get("CPUS")),
            memory * MIB if memory is not None and memory > 1 else None,
            gpus(row["GRES"]) if "GRES" in row else None,
            has,
            names(row.get("PARTITION", "")),
            row.get("STATE", ""),
        )
