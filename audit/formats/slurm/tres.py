"""Slurm's lists of trackable resources (TRES): amounts, and weights of them.

    cpu=4,mem=8G,node=1,billing=14,gres/gpu=1,gres/gpu:a100=1      amounts (AllocTRES)
    CPU=1.0,Mem=0.25G,GRES/gpu=8.0                                weights (TRESBillingWeights)

Names are lower-cased. Amounts are in each resource's base unit: MiB of memory and of burst buffers,
else one. A weight with a suffix is per that unit, and is given here per base unit: ``Mem=0.25G`` is
0.25/1024 per MiB; without a suffix it is per base unit already; a suffix below the base unit does
nothing. A list may name GPUs with and without their type: these are two resources, and a weight
counts the one that it names.

Sources: slurm.conf's manual page ("TRESBillingWeights", "AccountingStorageTRES"), Slurm 22.05.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

import polars as pl

from audit.formats.slurm.fields import UNITS

_NUMBER: Final = re.compile(rf"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([{UNITS}{UNITS.lower()}]?)")
_MOST_ITEMS: Final = 1_000

ALWAYS: Final = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
"""What every cluster tracks, in Slurm's order; AccountingStorageTRES adds to it."""


def amounts(text: str) -> dict[str, float]:
    """``mem=8G,cpu=4`` → ``{"mem": 8192.0, "cpu": 4.0}``; what cannot be read is left out."""
    found: dict[str, float] = {}
    for item in text.split(",", _MOST_ITEMS)[:_MOST_ITEMS]:
        name, _, value = item.partition("=")
        match = _NUMBER.fullmatch(value.strip())
        if match is not None:
            name = name.strip().lower()
            base = _base(name)
            power = UNITS.index(match[2].upper()) + 1 if match[2] else base
            found[name] = float(match[1]) * 1024.0 ** (power - base)
    return found


def weights(text: str) -> dict[str, float]:
    """``CPU=1.0,Mem=0.25G`` → weight per base unit of each resource.

    Raises:
        ValueError: an item is no ``name=number[suffix]``, or a number is not ≥ 0 and finite.
    """
    found: dict[str, float] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        name, _, value = item.partition("=")
        name = name.strip().lower()
        match = _NUMBER.fullmatch(value.strip())
        if match is None or not name:
            raise ValueError(f"{item!r} is no weight: write it like CPU=1.0 or Mem=0.25G")
        weight = float(match[1])
        if not math.isfinite(weight):
            raise ValueError(f"{item!r}: the weight is too large")
        if match[2]:
            weight /= 1024.0 ** max(UNITS.index(match[2].upper()) + 1 - _base(name), 0)
        found[name] = weight
    return found


def columns(texts: pl.Series, names: Iterable[str]) -> dict[str, pl.Series]:
    """The amount of each named resource in each text; 0 where the text does not name it."""
    wanted = list(names)
    distinct = texts.drop_nulls().unique()
    read = [amounts(text) for text in distinct]
    table = pl.DataFrame(
        {"text": distinct, **{name: [of.get(name, 0.0) for of in read] for name in wanted}},
        schema={"text": pl.String, **dict.fromkeys(wanted, pl.Float64)},
    )
    joined = texts.alias("text").to_frame().join(table, "text", "left", maintain_order="left")
    return {name: joined[name].fill_null(0.0) for name in wanted}


def _base(name: str) -> int:
    """The power of 1,024 in which amounts of a resource are counted."""
    return 2 if name == "mem" or name.startswith("bb/") else 0
