"""One machine of a listing, whichever program printed it, and the amounts that it has."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from audit.formats.shaping import LARGEST, short
from audit.model import Node
from audit.words import OF_TYPE

MOST: Final = 100_000
"""Maximum number of nodes of a listing."""
_MOST_MEMORY: Final = 1 << 60  # bytes of a node: larger amounts are damage
_LONGEST: Final = 255  # characters of a name

_DRAINED: Final = frozenset(("DRAIN", "DRAINED", "DRAINING", "DRNG", "OFFLINE"))
_DOWN: Final = frozenset(("DOWN", "FAIL", "FAILING", "ERROR", "DEAD", "STATE-UNKNOWN"))
_MARKS: Final = "*~#!%$@^-"  # sinfo appends them to states

_GRES: Final = re.compile(r"(?:gres[/:])?gpu(?::([^:=,]+))??(?::no_consume)?[:=]([0-9]{1,9})")


class Drain(NamedTuple):
    """A node that a listing shows as drained or down, and since when."""

    node: str
    why: str  # ``model.Absence.why``
    since: str | None  # a time of the site's zone, or epoch seconds; None: the listing lacks it


class NodeListing(NamedTuple):
    """The machines of a text."""

    nodes: tuple[Node, ...] = ()  # in the order of the text, each name once
    drains: tuple[Drain, ...] = ()
    problems: tuple[str, ...] = ()  # what could not be used, in words for the user


class ListedNode(NamedTuple):
    """One node as a program prints it; None and empty values: it does not say."""

    name: str
    cpus: int | None = None
    mem_bytes: int | None = None
    gpus: Mapping[str, int] | None = None
    """By type; the type "" of those without one. None: unknown."""
    features: tuple[str, ...] | None = None
    partitions: tuple[str, ...] = ()
    state: str = ""
    since: str | None = None

    @property
    def amounts(self) -> tuple[tuple[str, int], ...]:
        """Its known amounts, by column of ``ATTEMPTS``, and by type as ``OF_TYPE`` and the type."""
        found = {"cpus": self.cpus, "mem_bytes": self.mem_bytes, "nodes": 1}
        if self.gpus is not None:
            found["gpus"] = sum(self.gpus.values())
            found |= {OF_TYPE + kind: count for kind, count in self.gpus.items() if kind and count}
        return tuple((name, amount) for name, amount in found.items() if amount is not None)


def listing(
    machines: Iterable[ListedNode], source: str, problems: Iterable[str] = ()
) -> NodeListing:
    """Return machines as nodes; of a name that repeats, the first with its partitions joined."""
    kept: dict[str, ListedNode] = {}
    found = list(problems)
    for machine in machines:
        wrong = _fault(machine)
        if wrong is None and len(kept) >= MOST and machine.name not in kept:
            found.append(f"more than {MOST:,} nodes: the rest is left out")
            break
        if wrong is not None:
            found.append(f"node {short(machine.name)}: {wrong}: the node is left out")
            continue
        first = kept.get(machine.name, machine)
        partitions = tuple(dict.fromkeys((*first.partitions, *machine.partitions)))
        kept[machine.name] = first._replace(partitions=partitions)
    nodes = (
        Node(each.name, each.amounts, each.partitions, each.features, source)
        for each in kept.values()
    )
    drains = ((each, out_of_service(each.state)) for each in kept.values())
    return NodeListing(
        tuple(nodes),
        tuple(Drain(each.name, why, each.since) for each, why in drains if why),
        tuple(found),
    )


def _fault(machine: ListedNode) -> str | None:
    if not 0 < len(machine.name) <= _LONGEST or re.search(r"[\s,\[\]]", machine.name):
        return "no name of a node"
    counts = [machine.cpus or 0, *(machine.gpus or {}).values()]
    if not all(0 <= count <= LARGEST for count in counts):
        return "more CPUs or GPUs than a node can have"
    if not 0 <= (machine.mem_bytes or 0) <= _MOST_MEMORY:
        return "more memory than a node can have"
    return None


def out_of_service(state: str) -> str | None:
    """Return why a node in this state takes no jobs, see ``model.Absence``; None: it does."""
    flags = {flag.rstrip(_MARKS) for flag in re.split(r"[+,\s]+", state.upper())}
    if flags & _DRAINED:
        return "drained"
    return "down" if flags & _DOWN else None


def gpus(text: str) -> dict[str, int]:
    """Return the GPUs by type of ``gpu:a100:4(S:0-1),gpu:2`` or ``gres/gpu:a100=4``."""
    found: dict[str, int] = {}
    for item in re.sub(r"\([^()]*\)", "", text).split(","):
        if match := _GRES.fullmatch(item.strip()):
            kind = (match[1] or "").lower()
            found[kind] = found.get(kind, 0) + int(match[2])
    return found


def names(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas; ``(null)`` has none."""
    parts = (part.strip().rstrip("*") for part in text.split(","))
    return tuple(part for part in parts if part and part not in ("(null)", "N/A", "none"))


def features(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list of features; None without the list."""
    return None if text is None else names(text)


def count(text: str | None) -> int | None:
    """Return a whole number; None if the text is none."""
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None
