"""``pbsnodes -a`` of PBS Pro, OpenPBS (also with ``-F json``) and TORQUE.

    node01
         state = free
         resources_available.mem = 263857796kb
         resources_available.ncpus = 64
         resources_available.ngpus = 4

A node begins with its name at the beginning of a line. CPUs are resources_available.ncpus, or np
(TORQUE); memory is resources_available.mem, or physmem of status; features are properties (TORQUE)
and resources that are True. A node with ``queue`` belongs to that queue, otherwise to all. Vnodes
(``pbsnodes -av``: n1, n1[0], n1[1]) are parts of one node, as in the jobs' exec_vnode. Source: the
manual pages of pbsnodes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from audit.formats.nodes.machine import (
    ListedNode,
    NodeListing,
    count,
    listing,
    names,
    out_of_service,
)
from audit.formats.pbs.allocations import node_of
from audit.formats.shaping import short

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


def read(text: str) -> NodeListing:
    """Read the output as text; never raises for its content."""
    machines: list[ListedNode] = []
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
    return listing(list(_joined(machines, problems)), SOURCE, problems)


def read_json(nodes: Mapping[str, object]) -> NodeListing:
    """Read the object ``nodes`` of the output as JSON; never raises for its content."""
    problems: list[str] = []
    machines = [_machine(name, dict(_flat(values))) for name, values in nodes.items()]
    return listing(list(_joined(machines, problems)), SOURCE, problems)


def _flat(values: object) -> Iterator[tuple[str, str]]:
    """Yield the values as the text names them: ``resources_available.ncpus``."""
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", str(one)) for inner, one in value.items())
        else:
            yield str(key), str(value)


def _joined(machines: Sequence[ListedNode], problems: list[str]) -> Iterator[ListedNode]:
    """Yield nodes: vnodes of one node are summed, and half-used ones are noted in ``problems``."""
    nodes: dict[str, dict[str, list[ListedNode]]] = {}
    for machine in machines:
        nodes.setdefault(node_of(machine.name), {}).setdefault(machine.name, []).append(machine)
    for name, vnodes in nodes.items():
        if len(vnodes) > 1:
            yield _node(name, [same[0] for same in vnodes.values()], problems)
        else:
            yield from (one._replace(name=name) for same in vnodes.values() for one in same)


def _node(name: str, vnodes: Sequence[ListedNode], problems: list[str]) -> ListedNode:
    """Return the sum of a node's vnodes; those without CPUs and GPUs decide nothing but memory."""
    used = [each for each in vnodes if each.cpus or each.gpus] or vnodes
    out = [each.state for each in used if out_of_service(each.state)]
    if 0 < len(out) < len(used):
        what = "vnodes are out of service: the node counts as in service"
        problems.append(f"node {short(name)}: {len(out)} of {len(used)} {what}")
    cpus, memory, gpus = (
        [amount for each in vnodes if (amount := getattr(each, of)) is not None]
        for of in ("cpus", "mem_bytes", "gpus")
    )
    anywhere = any(not each.partitions for each in used)
    return ListedNode(
        name,
        sum(cpus) if cpus else None,
        sum(memory) if memory else None,
        dict(sum(map(Counter, gpus), Counter[str]())) if gpus else None,
        tuple(dict.fromkeys(feature for each in vnodes for feature in each.features or ())),
        () if anywhere else tuple(dict.fromkeys(of for each in used for of in each.partitions)),
        out[0] if len(out) == len(used) else "",
    )


def _machine(name: str, values: Mapping[str, str]) -> ListedNode:
    status = dict(part.split("=", 1) for part in values.get("status", "").split(",") if "=" in part)
    gpus = count(values.get(f"{_HAS}ngpus", values.get("gpus")))
    kind = next((values[_HAS + key] for key in _GPU_TYPES if _HAS + key in values), "")
    true = (
        key.removeprefix(_HAS)
        for key, value in values.items()
        if key.startswith(_HAS) and value.lower() == "true"
    )
    return ListedNode(
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
