"""``pbsnodes -a`` of PBS Pro, OpenPBS and TORQUE.

    node01
         state = free
         resources_available.mem = 263857796kb
         resources_available.ncpus = 64
         resources_available.ngpus = 4

A node begins with its name at the beginning of a line. CPUs are resources_available.ncpus, or np
(TORQUE); memory is resources_available.mem, or physmem of status; features are properties (TORQUE)
and resources that are True. A node with ``queue`` belongs to that queue, otherwise to all. Source:
the manual pages of pbsnodes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from audit.formats.nodes.machine import Listing, Machine, count, listing, names

SOURCE: Final = "pbsnodes"

_LINE: Final = re.compile(r"(\S+)[ \t]*=[ \t]*(.*)")
_NAME: Final = re.compile(r"[^\s=]+")
_UNITS: Final = {"b": 0, "kb": 1, "mb": 2, "gb": 3, "tb": 4, "pb": 5}
_GPU_TYPES: Final = ("gpu_type", "gpu_model", "gputype", "accelerator_model")
_HAS: Final = "resources_available."


def recognised(text: str) -> bool:
    """Return whether a text begins with a name, and an indented ``key = value`` below it."""
    lines = text.lstrip("\ufeff\r\n").split("\n", 2)
    return (
        len(lines) > 1
        and bool(_NAME.fullmatch(lines[0].rstrip()))
        and lines[1][:1] in (" ", "\t")
        and bool(_LINE.fullmatch(lines[1].strip()))
    )


def read(text: str) -> Listing:
    """Read the output as text; never raises for its content."""
    machines: list[Machine] = []
    problems: list[str] = []
    name, values = "", dict[str, str]()
    for number, line in enumerate([*text.lstrip("\ufeff").split("\n"), "."], 1):
        plain = line.strip()
        if not plain:
            continue
        if line[0] in " \t":
            if match := _LINE.fullmatch(plain):
                values.setdefault(match[1], match[2])
        elif _NAME.fullmatch(plain):
            if name:
                machines.append(_machine(name, values))
            name, values = plain, {}
        else:
            problems.append(f"line {number}: neither a name nor a 'key = value'")
    return listing(machines, SOURCE, problems)


def _machine(name: str, values: Mapping[str, str]) -> Machine:
    status = dict(part.split("=", 1) for part in values.get("status", "").split(",") if "=" in part)
    gpus = count(values.get(f"{_HAS}ngpus", values.get("gpus")))
    kind = next((values[_HAS + key] for key in _GPU_TYPES if _HAS + key in values), "")
    true = (
        key.removeprefix(_HAS)
        for key, value in values.items()
        if key.startswith(_HAS) and value.lower() == "true"
    )
    return Machine(
        name,
        count(values.get(f"{_HAS}ncpus", values.get("np"))),
        _memory(values.get(f"{_HAS}mem", status.get("physmem", ""))),
        {kind.strip().lower(): gpus} if gpus else {},
        (*names(values.get("properties", "")), *true),
        names(values.get("queue", values.get(f"{_HAS}Qlist", "")).strip('"')),
        values.get("state", ""),
    )


def _memory(text: str) -> int | None:
    match = re.fullmatch(r"([0-9]{1,15})([kmgtp]?b)", text.lower())
    return int(match[1]) << (10 * _UNITS[match[2]]) if match else None
