"""PBS's spellings of lengths of time, memory, and of what a job asked for and was given.

Sources: PBS Professional Reference Guide (formats of resources; `select` and `place`), TORQUE
Administrator Guide (requesting resources; exec_host), OpenPBS attr_fn_time.c, attr_fn_size.c.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import polars as pl

LARGEST: Final = 1 << 28
"""No count of CPUs, nodes or GPUs is larger: products with seconds stay within int64."""
MOST_BYTES: Final = 1 << 60

_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_WORD: Final = 8
"""Bytes of what sizes in words (`mw`) count."""
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgtp]?)(b|w)?", re.IGNORECASE)
_NO_LIMIT: Final = ("-1", "unlimited", "infinity")


class Amounts(NamedTuple):
    """What a job asked for, or has; None where it is not said."""

    cpus: int | None = None
    nodes: int | None = None
    gpus: int | None = None
    mem_bytes: int | None = None


AMOUNTS: Final = {name: pl.Int64() for name in Amounts._fields}
"""As columns."""


def durations(text: pl.Expr) -> pl.Expr:
    """`[[[D:]HH:]MM:]SS[.fraction]` → s; fractions are dropped, others are null."""
    parts = text.str.extract_groups(
        r"^(?:(?:(?:([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,10})(?:\.[0-9]*)?$"
    )
    factors = (86_400, 3_600, 60, 1)
    whole = [parts.struct.field(str(n)).cast(pl.Int64) for n in range(1, 5)]
    seconds = sum(
        (part.fill_null(0) * factor for part, factor in zip(whole[:3], factors[:3], strict=True)),
        start=whole[3],
    )
    return pl.when(whole[3].is_not_null()).then(seconds)


def says_no_limit(text: pl.Expr) -> pl.Expr:
    """Whether a length of time is the spelling of none."""
    return text.str.to_lowercase().is_in(list(_NO_LIMIT))


@lru_cache(maxsize=1 << 12)
def size(text: str) -> int | None:
    """`1993mb`, `12.27M`, `4224531456b`, `2gw` → bytes; None where it is none.

    Without unit it is bytes.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    number, prefix, unit = match.groups()
    factor = _FACTORS[prefix.lower()] * (_WORD if (unit or "").lower() == "w" else 1)
    amount = int(number) * factor if number.isdigit() else int(float(number) * factor)
    return amount if amount <= MOST_BYTES else None


def count(text: str | None) -> int | None:
    """A whole number up to ``LARGEST``; None where it is none."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        return None
    return int(text) if int(text) <= LARGEST else None


def selected(text: str) -> Amounts:
    """PBS Professional's `select`: `2:ncpus=4:mem=8gb:ngpus=1+1:ncpus=2` → what it adds up to.

    A chunk without `ncpus` has one CPU; `nodes` is the number of chunks.
    """
    cpus = nodes = gpus = memory = 0
    remembers = False
    for chunk in text.split("+"):
        first, *rest = chunk.split(":")
        times = _times(first)
        given = _given(rest if times is not None else [first, *rest])
        times = 1 if times is None else times
        cpus += times * _positive(given.get("ncpus"), 1)
        nodes += times
        gpus += times * (_positive(given.get("ngpus"), 0) or _positive(given.get("gpus"), 0))
        if (amount := size(given.get("mem", ""))) is not None:
            memory += times * amount
            remembers = True
    counted = Amounts(*_within(cpus, nodes, gpus))
    return counted._replace(mem_bytes=memory if remembers else None)


def of_nodes(text: str) -> Amounts:
    """TORQUE's `nodes`: `2:ppn=4:gpus=1+n7:ppn=8` → what it adds up to.

    What begins with a name is one node, and a node without `ppn` gives one CPU.
    """
    cpus = nodes = gpus = 0
    for piece in text.split("+"):
        first, *properties = piece.split("#")[0].split(":")
        times = _times(first)
        times = 1 if times is None else times
        given = _given(properties)
        cpus += times * max(_positive(given.get("ppn"), 1), 1)
        nodes += times
        gpus += times * (_positive(given.get("gpus"), 0) or _positive(given.get("gpu"), 0))
    return Amounts(*_within(cpus, nodes, gpus))


def on_vnodes(text: str) -> Amounts:
    """PBS Professional's `exec_vnode`: `(n1:ncpus=4:mem=8gb)+(n2:ncpus=4)` → what was given.

    ``nodes`` is the number of different vnodes.
    """
    cpus = gpus = memory = 0
    names = set()
    for chunk in text.replace(")", "").replace("(", "").split("+"):
        name, _, given = chunk.partition(":")
        names.add(name)
        has = _on_vnode(given)
        cpus += has[0]
        gpus += has[1]
        memory += has[2]
    return Amounts(
        cpus if 0 < cpus <= LARGEST else None,
        len(names),
        gpus if 0 < gpus <= LARGEST else None,
        memory if 0 < memory <= MOST_BYTES else None,
    )


@lru_cache(maxsize=1 << 12)
def _on_vnode(text: str) -> tuple[int, int, int]:
    """CPUs, GPUs and bytes of `ncpus=4:ngpus=1:mem=8gb`."""
    given = _given(text.split(":"))
    memory = size(given.get("mem", ""))
    return _positive(given.get("ncpus"), 0), _positive(given.get("ngpus"), 0), memory or 0


def on_hosts(text: str) -> Amounts:
    """`exec_host` → slots and hosts.

    `n1/0+n1/1` (a slot each), `n1/0-15+n2/0,3-5` (TORQUE 5), `n1/0*16` (PBS Professional: so many
    CPUs), `n1-gpu/0` (TORQUE: a GPU).
    """
    cpus = gpus = 0
    hosts = set()
    for piece in text.split("+"):
        host, _, slots = piece.partition("/")
        used = _slots(slots)
        if host.endswith("-gpu"):
            gpus += used
        else:
            hosts.add(host)
            cpus += used
    return Amounts(
        cpus if 0 < cpus <= LARGEST else None,
        len(hosts) or None,
        gpus if 0 < gpus <= LARGEST else None,
    )


@lru_cache(maxsize=1 << 12)
def _slots(text: str) -> int:
    """How many slots `0`, `0-15`, `0,3-5` or `0*16` are."""
    if "*" in text:
        return count(text.rpartition("*")[2]) or 0
    slots = 0
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        begin, end = count(first), count(last)
        slots += 1 if begin is None or end is None or end < begin else end - begin + 1
    return slots


def _times(text: str) -> int | None:
    """How many of what follows; None where it is a name."""
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= 9 else LARGEST + 1


def _given(items: Sequence[str]) -> dict[str, str]:
    return dict(item.split("=", 1) for item in items if "=" in item)


def _positive(text: str | None, otherwise: int) -> int:
    found = count(text)
    return otherwise if found is None else found


def _within(*amounts: int) -> list[int | None]:
    return [None if amount > LARGEST else amount for amount in amounts]
