"""Memory, chunks, nodes, hosts and vnodes in PBS's records: what a job requested, and what it got.

Sources of the spellings: see ``records``.
"""

import re
from collections import Counter
from functools import lru_cache
from typing import Final, NamedTuple

from audit.formats.shaping import LARGEST
from audit.hostlists import MOST, amounts_text, expand, listed

MOST_BYTES: Final = 1 << 60
_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_WORD: Final = 8  # bytes of a word, the unit of sizes such as `2mw`
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgtp]?)(b|w)?", re.IGNORECASE)


class Amounts(NamedTuple):
    """The request or the allocation of a job; None where unknown."""

    cpus: int | None = None
    nodes: int | None = None
    gpus: int | None = None
    mem_bytes: int | None = None


class PbsAllocation(NamedTuple):
    """What a job was allocated, and where; None where unknown."""

    amounts: Amounts
    node_list: str | None = None
    node_amounts: str | None = None


@lru_cache(maxsize=1 << 12)
def size(text: str) -> int | None:
    """Return the bytes of `1993mb`, `12.27M`, `4224531456`, `2gw`; None where invalid."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    number, prefix, unit = match.groups()
    factor = _FACTORS[prefix.lower()] * (_WORD if (unit or "").lower() == "w" else 1)
    amount = int(number) * factor if number.isdigit() else int(float(number) * factor)
    return amount if amount <= MOST_BYTES else None


def count(text: str | None) -> int | None:
    """Return a whole number up to ``LARGEST``; None where invalid."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return int(text) if int(text) <= LARGEST else None


def selected(text: str) -> Amounts:
    """Return the sums of PBS Professional's `select`: `2:ncpus=4:mem=8gb:ngpus=1+1:ncpus=2`.

    A chunk without `ncpus` has one CPU; `nodes` is the number of chunks.
    """
    chunks = [_chunk(chunk) for chunk in text.split("+")]
    cpus = sum(times * _given(has, "ncpus", otherwise=1) for times, has in chunks)
    gpus = sum(times * (_given(has, "ngpus") or _given(has, "gpus")) for times, has in chunks)
    sizes = [(times, size(has.get("mem", ""))) for times, has in chunks]
    memory = [times * amount for times, amount in sizes if amount is not None]
    nodes = sum(times for times, _ in chunks)
    return Amounts(*_within(cpus, nodes, gpus))._replace(mem_bytes=sum(memory) if memory else None)


def of_nodes(text: str) -> Amounts:
    """Return the sums of TORQUE's `nodes`, `2:ppn=4:gpus=1+n7:ppn=8`; the default of `ppn` is 1."""
    chunks = [_chunk(chunk.split("#")[0]) for chunk in text.split("+")]
    cpus = sum(times * max(_given(has, "ppn", otherwise=1), 1) for times, has in chunks)
    gpus = sum(times * (_given(has, "gpus") or _given(has, "gpu")) for times, has in chunks)
    return Amounts(*_within(cpus, sum(times for times, _ in chunks), gpus))


@lru_cache(maxsize=1 << 12)
def on_vnodes(text: str) -> PbsAllocation:
    """Return what `exec_vnode` gives: `(n1:ncpus=4:mem=8gb:ngpus=1)+(n2:ncpus=4)`.

    `n1[0]` and `n1[1]` are vnodes of the node n1.
    """
    held: dict[str, list[int]] = {}
    for piece in text.translate(_NO_BRACKETS).split("+"):
        vnode, _, has = piece.partition(":")
        node = held.setdefault(node_of(vnode), [0, 0, 0])
        for k, amount in enumerate(_on_vnode(has)):
            node[k] += amount
    return _allocated(held)


def node_of(vnode: str) -> str:
    """Return the node of a vnode: n1 of `n1[0]`."""
    return _PART_OF_NODE.sub("", vnode) or vnode


_NO_BRACKETS: Final = str.maketrans("", "", "()")
_PART_OF_NODE: Final = re.compile(r"\[[0-9]+\]$")


@lru_cache(maxsize=1 << 12)
def _on_vnode(text: str) -> tuple[int, int, int]:
    _, has = _chunk(text)
    return _given(has, "ncpus"), _given(has, "ngpus"), size(has.get("mem", "")) or 0


@lru_cache(maxsize=1 << 12)
def on_hosts(text: str) -> PbsAllocation:
    """Return what `exec_host` gives, and `exec_gpus`.

    `n1/0+n1/1` (one slot each), `n1/0-15+n2/0,3-5` and `n[1-2]/0-7` (TORQUE 5), `n1/0*16` (PBS
    Professional: 16 CPUs), `n1-gpu/0` (TORQUE: a GPU). If a host has no slot, CPUs are unknown.
    Old versions wrote `n1:ncpus=4:mem=8gb`, as in `exec_vnode`.
    """
    if ":ncpus=" in text:
        return on_vnodes(text)
    held: dict[str, list[int]] = {}
    named = 0
    for piece, times in Counter(_ONE_SLOT.sub("", text).split("+")).items():
        host, _, slots = piece.partition("/")
        is_gpu = host.endswith("-gpu")
        names = [host] if "[" not in host else expand(host) or [host]
        named += len(names)
        if named > MOST:
            return PbsAllocation(Amounts())
        for name in names:
            node = held.setdefault(name.removesuffix("-gpu") if is_gpu else name, [0, 0, 0])
            node[is_gpu] += times * _slots(slots)
    if not all("/" in piece for piece in text.split("+")):
        for node in held.values():
            node[0] = 0
    return _allocated(held)


_ONE_SLOT: Final = re.compile(r"/[0-9]{1,9}(?=\+|$)")


def _allocated(held: dict[str, list[int]]) -> PbsAllocation:
    """Return the sums of CPUs, GPUs and bytes on nodes, and the amounts on each."""
    cpus, gpus, memory = map(list, zip(*held.values(), strict=True))
    in_all = sum(memory)
    sums = Amounts(
        *(_some(sum(cpus)), len(held), _some(sum(gpus))),
        mem_bytes=in_all if 0 < in_all <= MOST_BYTES else None,
    )
    nodes = listed(held)
    if nodes is None or len(held) == 1:
        return PbsAllocation(sums, nodes)
    known = {"cpus": cpus, "gpus": gpus, "mem_bytes": memory}
    return PbsAllocation(
        sums, nodes, amounts_text({x: each for x, each in known.items() if any(each)})
    )


@lru_cache(maxsize=1 << 12)
def _slots(text: str) -> int:
    """Return the number of slots in `0`, `0-15`, `0,3-5` or `0*16`."""
    if "*" in text:
        return count(text.rpartition("*")[2]) or 0
    slots = 0
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        begin, end = count(first), count(last)
        slots += 1 if begin is None or end is None or end < begin else end - begin + 1
    return slots


def _chunk(text: str) -> tuple[int, dict[str, str]]:
    """Return how often a chunk such as `2:ncpus=4` is requested, and its resources."""
    first, *rest = text.split(":")
    times = 1
    if first.isascii() and first.isdigit():
        times = int(first) if len(first) <= 9 else LARGEST + 1
    else:
        rest = [first, *rest]
    return times, dict(item.split("=", 1) for item in rest if "=" in item)


def _given(resources: dict[str, str], name: str, otherwise: int = 0) -> int:
    found = count(resources.get(name))
    return otherwise if found is None else found


def _within(*amounts: int) -> list[int | None]:
    return [None if amount > LARGEST else amount for amount in amounts]


def _some(amount: int) -> int | None:
    return amount if 0 < amount <= LARGEST else None
