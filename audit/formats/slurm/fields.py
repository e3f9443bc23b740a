"""Slurm's spellings of lengths of time, memory, trackable resources, counts and job ids.

Each function takes a polars column of texts and gives one of values, null where the text is null,
says that it is unknown, or is not readable; whoever calls can tell these apart by ``FIT``.

Sources: sacct's manual page ("Job Accounting Fields"), slurm.conf's ("AccountingStorageTRES",
"TRESBillingWeights"), the pages on job arrays, heterogeneous jobs and federation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import polars as pl

from audit.formats.instants import TIME, UNKNOWN
from audit.formats.shaping import MIB, by_distinct, clock

UNITS: Final = "KMGTPEZ"
"""Slurm's suffixes: each 1,024 times the one before."""

OVERFLOW: Final = (1 << 63, 1 << 31)
"""Slurm marks memory that is per CPU by this bit of the number of MiB; some versions print it."""

_AMOUNT: Final = rf"[0-9]+(?:\.[0-9]+)?[{UNITS}]?"
GPU_PLUGIN: Final = "7696487"
"""What Slurm calls GPUs ("gpu" as a number) where the plugin that knows their name is missing."""


_MEMORY: Final = pl.Struct({"bytes": pl.Int64, "per": pl.String})


_TRES_AMOUNT: Final = re.compile(rf"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([{UNITS}{UNITS.lower()}]?)")
_MOST_ITEMS: Final = 1_000

ALWAYS: Final = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
"""What every cluster tracks, in Slurm's order; AccountingStorageTRES adds to it."""


class Kind(StrEnum):
    """What a column of an accounting log holds; each has a pattern in ``FIT``."""

    ID = "job id"
    TIME = "time"
    DURATION = "length of time"
    MINUTES = "number of minutes"
    SECONDS = "number of seconds"
    COUNT = "count"
    NUMBER = "number"
    MEMORY = "amount of memory"
    TRES = "list of resources (TRES)"
    GRES = "list of generic resources (GRES)"
    STATE = "state"
    EXIT = "exit code"
    NAME = "name"
    LIST = "list of names"
    FREE = "text"
    """Free text of users: may hold separators and line breaks."""
    NOTHING = "nothing"
    """What stands behind the separator that ends each line of `sacct -p`."""


LISTS: Final = (Kind.TRES, Kind.GRES, Kind.LIST)
"""Kinds that a comma may stand in."""

_BLANK: Final = "|".join(("", *(text.replace("(", r"\(").replace(")", r"\)") for text in UNKNOWN)))
_LIMIT: Final = "UNLIMITED|Partition_Limit"
_ITEM: Final = r"[^=, \t]+=[^=,]*"

FIT: Final[dict[Kind, str]] = {
    # every readable text, and those for what is unknown
    Kind.ID: r"[0-9]+(?:_(?:[0-9]+|\[[^\]]*\]?))?(?:\+[0-9]+)?(?:\.[0-9A-Za-z_+.-]+)?",
    Kind.TIME: rf"{_BLANK}|{TIME}",
    Kind.DURATION: rf"{_BLANK}|{_LIMIT}|(?:[0-9]{{1,7}}-)?(?:[0-9]{{1,7}}:){{1,2}}[0-9]{{2}}"
    r"(?:\.[0-9]+)?",
    Kind.MINUTES: rf"{_BLANK}|{_LIMIT}|[0-9]{{1,12}}",
    Kind.SECONDS: rf"{_BLANK}|[0-9]{{1,12}}",
    Kind.COUNT: rf"{_BLANK}|{_AMOUNT}",
    Kind.NUMBER: rf"{_BLANK}|-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?[{UNITS}]?",
    Kind.MEMORY: rf"{_BLANK}|\?|[0-9]+(?:\.[0-9]+)?[{UNITS}]?B?[cn]?",
    Kind.TRES: rf"{_BLANK}|{_ITEM}(?:,{_ITEM})*",
    Kind.GRES: rf"{_BLANK}|[0-9A-Za-z_:./()+-]+(?:,[0-9A-Za-z_:./()+-]+)*",
    Kind.STATE: r"|[A-Za-z][0-9A-Za-z_+-]*(?: by .+)?",
    Kind.EXIT: rf"{_BLANK}|-?[0-9]+(?::-?[0-9]+)?",
    Kind.NAME: r"[^\n]*",
    Kind.LIST: r"[^\n]*",
    Kind.FREE: r"(?s:.*)",
    Kind.NOTHING: "",
}
"""What a whole column may look like, per kind: a regular expression for all of the text."""

PIECE: Final[dict[Kind, str]] = {
    Kind.TRES: rf"{_BLANK}|{_ITEM}",
    Kind.GRES: rf"{_BLANK}|[0-9A-Za-z_:./()+-]+",
    Kind.LIST: r"[0-9A-Za-z_.\[\]+ -]*",
}
"""What one piece of a list may look like where a comma separates the columns, too."""


def unreadable(text: pl.Series, kind: Kind) -> pl.Series:
    """Which texts are not of ``kind`` at all (null and unknown ones are)."""
    return ~text.fill_null("").str.contains(rf"^(?:{FIT[kind]})$")


def durations(text: pl.Expr) -> pl.Expr:
    """`[[D-]HH:]MM:SS[.fraction]` → s; fractions are dropped, limits without number are null."""
    pattern = r"^(?:([0-9]{1,7})-)?(?:([0-9]{1,7}):)?([0-9]{1,7}):([0-9][0-9])(?:\.[0-9]+)?$"
    return clock(text, pattern)


def amounts(text: pl.Expr) -> pl.Expr:
    """`4`, `1.50K` → a whole number; 1,024 of one unit make one of the next."""
    parts = text.str.extract_groups(rf"^([0-9]+(?:\.[0-9]+)?)([{UNITS}]?)$")
    number, unit = parts.struct.field("1"), parts.struct.field("2")
    scaled = (number.cast(pl.Float64) * _factor(unit, "")).round()
    return pl.coalesce(text.cast(pl.Int64, strict=False), scaled.cast(pl.Int64, strict=False))


def memory(text: pl.Expr) -> pl.Expr:
    """`4000Mc`, `16Gn`, `62.50G`, `2147486648Mn` → struct of ``bytes`` and ``per``.

    ``per`` is "c" for each CPU, "n" for each node, "" for the job. MiB where no unit is written.
    From 2^31 MiB (2^63 in later versions) on it is the overflow of the bit that marks memory per
    CPU: the rest is per CPU, whatever the suffix says. 0 asks for all memory of a node: unknown.
    """
    return text.map_batches(_memory, return_dtype=_MEMORY, is_elementwise=True)


def _memory(text: pl.Series) -> pl.Series:
    """Step by step: as one expression polars would cut each text again for each use of a part."""
    groups = rf"^([0-9]+(?:\.[0-9]+)?)([{UNITS}]?)B?([cn]?)$"
    parts = text.str.extract_groups(groups).struct.unnest()
    parts.columns = ["number", "unit", "suffix"]
    high, low = (pl.lit(bit, pl.UInt64) for bit in OVERFLOW)
    flag = float(OVERFLOW[1] * MIB)
    mib = pl.col("mib")
    read = parts.select(
        "suffix",
        mib=pl.when(pl.col("unit").is_in(["", "M"])).then(
            pl.col("number").cast(pl.UInt64, strict=False)
        ),
        scaled=pl.col("number").cast(pl.Float64) * _factor(pl.col("unit"), "M"),
    ).select(
        "suffix",
        "mib",
        "scaled",
        rest=pl.when(mib >= high).then(mib - high).when(mib >= low).then(mib - low),
        rough=pl.when(pl.col("scaled") >= flag)
        .then(pl.col("scaled") - flag)
        .otherwise("scaled")
        .round(),
    )
    left = pl.coalesce("rest", "mib")
    exact = pl.when(left < 1 << 40).then(left).cast(pl.Int64) * MIB  # no product beyond int64
    overflowed = pl.col("rest").is_not_null() | (pl.col("scaled") >= flag)
    return read.select(
        bytes=pl.coalesce(exact, pl.col("rough").cast(pl.Int64, strict=False)),
        per=pl.when(overflowed).then(pl.lit("c")).otherwise("suffix"),
    ).select(
        pl.struct(pl.when(pl.col("bytes") > 0).then("bytes").alias("bytes"), "per").alias(text.name)
    )[text.name]


def tres(text: pl.Expr) -> dict[str, pl.Expr]:
    """`cpu=4,mem=8G,node=1,gres/gpu=4,gres/gpu:a100=4` → cpus, nodes, gpus, mem_bytes.

    GPUs that are counted with and without their type are the same GPUs: the count without type
    holds, or else the sum over types. What the list does not name is null.
    """

    def named(name: str) -> pl.Expr:
        return text.str.extract(rf"(?:^|,){name}=([^,]*)")

    typed = text.str.extract_all(r"(?:^|,)gres/gpu:[^=,]+=[0-9]+")
    by_type = typed.list.eval(pl.element().str.extract(r"=([0-9]+)$").cast(pl.Int64, strict=False))
    return {
        "cpus": amounts(named("cpu")),
        "nodes": amounts(named("node")),
        "gpus": pl.coalesce(
            amounts(named("gres/gpu")), pl.when(typed.list.len() > 0).then(by_type.list.sum())
        ),
        "mem_bytes": memory(named("mem")).struct.field("bytes"),
    }


def tres_amounts(text: str) -> dict[str, float]:
    """``mem=8G,cpu=4`` → ``{"mem": 8192.0, "cpu": 4.0}``; what cannot be read is left out.

    Names are lower-cased. Amounts are in each resource's base unit: MiB of memory and of burst
    buffers, else one. GPUs with and without their type are two resources here.
    """
    found: dict[str, float] = {}
    for item in text.split(",", _MOST_ITEMS)[:_MOST_ITEMS]:
        name, _, value = item.partition("=")
        if match := _TRES_AMOUNT.fullmatch(value.strip()):
            name = name.strip().lower()
            base = _base(name)
            power = UNITS.index(match[2].upper()) + 1 if match[2] else base
            found[name] = float(match[1]) * 1024.0 ** (power - base)
    return found


def tres_weights(text: str) -> dict[str, float]:
    """``CPU=1.0,Mem=0.25G`` (TRESBillingWeights) → weight per base unit of each resource.

    A weight with a suffix is per that unit: ``Mem=0.25G`` is 0.25/1024 per MiB. A suffix below the
    base unit does nothing.

    Raises:
        ValueError: an item is no ``name=number[suffix]``, or a number is not ≥ 0 and finite.
    """
    found: dict[str, float] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        name, _, value = item.partition("=")
        name = name.strip().lower()
        match = _TRES_AMOUNT.fullmatch(value.strip())
        if match is None or not name:
            raise ValueError(f"{item!r} is no weight: write it like CPU=1.0 or Mem=0.25G")
        weight = float(match[1])
        if not math.isfinite(weight):
            raise ValueError(f"{item!r}: the weight is too large")
        if match[2]:
            weight /= 1024.0 ** max(UNITS.index(match[2].upper()) + 1 - _base(name), 0)
        found[name] = weight
    return found


def tres_columns(texts: pl.Series, names: Iterable[str]) -> dict[str, pl.Series]:
    """The amount of each named resource in each text; 0 where the text does not name it."""
    schema = dict.fromkeys(names, pl.Float64)

    def columns(distinct: pl.Series) -> pl.DataFrame:
        read = [tres_amounts(text) for text in distinct]
        return pl.DataFrame(
            {name: [of.get(name, 0.0) for of in read] for name in schema}, schema=schema
        )

    return by_distinct(texts, columns).fill_null(0.0).to_dict()


def _base(name: str) -> int:
    """The power of 1,024 in which amounts of a resource are counted."""
    return 2 if name == "mem" or name.startswith("bb/") else 0


def gres_gpus(text: pl.Expr) -> pl.Expr:
    """`gpu:a100:2(IDX:0,1),hbm:0` → 2; null where no GPU is named. Counted over all nodes."""
    bare = text.str.replace_all(r"\([^)]*\)", "")
    gpus = bare.str.extract_all(rf"(?:^|,)(?:gres[:/])?(?:gpu|{GPU_PLUGIN})(?:[:=][^,]*)?")
    count = pl.element().str.extract(r"[:=]([0-9]+)$").cast(pl.Int64, strict=False).fill_null(1)
    return pl.when(gpus.list.len() > 0).then(gpus.list.eval(count).list.sum())


def id_parts(text: pl.Expr) -> dict[str, pl.Expr]:
    """`3_0`, `23+1`, `3_[0-9%2]` → the number, the array task, the offset in a het job."""
    parts = text.str.extract_groups(
        r"^([0-9]{1,18})(?:_(?:([0-9]{1,18})|\[.*))?(?:\+([0-9]{1,18}))?"
    )
    names = ("job_number", "array_task", "het_offset")
    return {
        name: parts.struct.field(str(n)).cast(pl.Int64, strict=False)
        for n, name in enumerate(names, start=1)
    }


def _factor(unit: pl.Expr, default: str) -> pl.Expr:
    factors = {letter: 1024.0 ** (n + 1) for n, letter in enumerate(UNITS)}
    return unit.replace_strict(
        {**factors, "": factors.get(default, 1.0)}, default=None, return_dtype=pl.Float64
    )
