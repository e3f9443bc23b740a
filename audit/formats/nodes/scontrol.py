"""``scontrol show node``: its long form, one node per line (``-o``), and ``--json``.

    NodeName=n1 Arch=x86_64 CPUAlloc=0 CPUEfctv=16 CPUTot=16
       Gres=gpu:a100:4 RealMemory=64000 MemSpecLimit=1024 State=IDLE+DRAIN
       Partitions=batch,short CfgTRES=cpu=16,mem=62.50G,gres/gpu=4,gres/gpu:a100=4
       Reason=disk [root@2026-11-21T04:02:43]

The CPUs are those that jobs can get (CPUEfctv), and the memory is RealMemory less MemSpecLimit, in
MiB. Types of GPUs are those of Gres, else those of CfgTRES. Sources: scontrol's manual page, Slurm
17.11 to 25.05.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from audit.formats.nodes.machine import (
    ListedNode,
    NodeListing,
    count,
    features,
    gpus,
    listing,
    names,
)
from audit.formats.shaping import MIB

SOURCE: Final = "scontrol"
RECORD: Final = re.compile(r"^[ \t]*NodeName=", re.MULTILINE)

_KEY: Final = re.compile(
    r"(?<!\S)(CPUTot|CPUEfctv|AvailableFeatures|Features|Gres|RealMemory|MemSpecLimit|State"
    r"|Partitions|CfgTRES)=(\S*)"
)
_SINCE: Final = re.compile(r"(?<!\S)Reason=[^\n]*?\[[^\[\]\s@]+@([0-9T:.+-]+)\]")


def read(text: str) -> NodeListing:
    """Read the output as text; never raises for its content."""
    _, *records = RECORD.split(text)
    return listing(map(_machine, records), SOURCE)


def _machine(record: str) -> ListedNode:
    name = re.split(r"\s", record, maxsplit=1)[0]
    values: dict[str, str] = dict(reversed(_KEY.findall(record)))  # of keys that repeat, the first
    since = _SINCE.search(record)
    return ListedNode(
        name,
        count(values.get("CPUEfctv")) or count(values.get("CPUTot")),
        _memory(count(values.get("RealMemory")), count(values.get("MemSpecLimit"))),
        _gpus(values.get("Gres", ""), values.get("CfgTRES", "")),
        features(values.get("AvailableFeatures", values.get("Features"))),
        names(values.get("Partitions", "")),
        values.get("State", ""),
        since[1] if since else None,
    )


def _memory(real: int | None, reserved: int | None) -> int | None:
    """Return the bytes that jobs can use; 1 MiB is slurm.conf's default, not a size."""
    return max(real - (reserved or 0), 0) * MIB if real is not None and real > 1 else None


def _gpus(gres: str, tres: str) -> dict[str, int]:
    found = gpus(gres)
    counted = gpus(tres)
    typed = {kind: number for kind, number in counted.items() if kind}
    return found or typed or counted


def read_json(nodes: Iterable[Any]) -> NodeListing:
    """Read the entries of ``nodes`` in the output of ``--json``; never raises for its content."""
    problems: list[str] = []
    machines = []
    for number, entry in enumerate(nodes, 1):
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            machines.append(_of_json(entry))
        else:
            problems.append(f"entry {number} of nodes has no name: it is left out")
    return listing(machines, SOURCE, problems)


def _of_json(entry: Mapping[str, Any]) -> ListedNode:
    def text(key: str) -> str:
        value = entry.get(key)
        if isinstance(value, list):
            return ",".join(part for part in value if isinstance(part, str))
        return value if isinstance(value, str) else ""

    since = whole(entry.get("reason_changed_at"))
    return ListedNode(
        entry["name"],
        whole(entry.get("effective_cpus")) or whole(entry.get("cpus")),
        _memory(whole(entry.get("real_memory")), whole(entry.get("specialized_memory"))),
        _gpus(text("gres"), text("tres")),
        features(text("features") if "features" in entry else None),
        names(text("partitions")),
        f"{text('state')},{text('state_flags')}",
        str(since) if since else None,
    )


def whole(value: Any) -> int | None:
    """Return a number as Slurm's JSON writes it: plain, or with ``set`` and ``infinite``."""
    if isinstance(value, Mapping):
        known = value.get("set", True) and not value.get("infinite", False)
        value = value.get("number") if known else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
