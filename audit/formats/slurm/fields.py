"""Slurm's spellings of lengths of time, memory, trackable resources, counts and job ids.

Each function takes a polars column of texts and gives one of values, null where the text is null,
says that it is unknown, or is not readable; whoever calls can tell these apart by ``FIT``.

Sources: sacct's manual page ("Job Accounting Fields"), slurm.conf's AccountingStorageTRES, the
pages on job arrays, heterogeneous jobs and federation.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Final

import polars as pl

from audit.formats.instants import TIME, UNKNOWN

UNITS: Final = "KMGTPEZ"
"""Slurm's suffixes: each 1,024 times the one before."""

MIB: Final = 1 << 20

OVERFLOW: Final = (1 << 63, 1 << 31)
"""Slurm marks memory that is per CPU by this bit of the number of MiB; some versions print it."""

LARGEST: Final = 1 << 28
"""No count of CPUs, nodes or GPUs is larger: products with seconds stay within int64."""

_AMOUNT: Final = rf"[0-9]+(?:\.[0-9]+)?[{UNITS}]?"
GPU_PLUGIN: Final = "7696487"
"""What Slurm calls GPUs ("gpu" as a number) where the plugin that knows their name is missing."""


_MEMORY: Final = pl.Struct({"bytes": pl.Int64, "per": pl.String})


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


@cache
def _of_no_text(convert: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """The columns that ``convert`` makes: most of the columns that may be there are not."""
    return convert(pl.Series(dtype=pl.String))


def by_distinct(text: pl.Series, convert: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """``convert`` applied once to each distinct text: columns repeat the same few values."""
    if text.null_count() == len(text):
        return _of_no_text(convert).clear(len(text))
    distinct = text.drop_nulls().unique()
    values = convert(distinct).with_columns(text=distinct)
    return (
        text.alias("text")
        .to_frame()
        .join(values, on="text", how="left", maintain_order="left")
        .drop("text")
    )


def unreadable(text: pl.Series, kind: Kind) -> pl.Series:
    """Which texts are not of ``kind`` at all (null and unknown ones are)."""
    return ~text.fill_null("").str.contains(rf"^(?:{FIT[kind]})$")


def durations(text: pl.Expr) -> pl.Expr:
    """`[[D-]HH:]MM:SS[.fraction]` → s; fractions are dropped, limits without number are null."""
    parts = text.str.extract_groups(
        r"^(?:([0-9]{1,7})-)?(?:([0-9]{1,7}):)?([0-9]{1,7}):([0-9][0-9])(?:\.[0-9]+)?$"
    )
    factors = (86_400, 3_600, 60, 1)
    whole = [parts.struct.field(str(n)).cast(pl.Int64, strict=False) for n in range(1, 5)]
    return pl.sum_horizontal(
        part.fill_null(0) * factor for part, factor in zip(whole[:2], factors[:2], strict=True)
    ) + sum((part * factor for part, factor in zip(whole[2:], factors[2:], strict=True)), pl.lit(0))


def duration_texts(seconds: pl.Expr) -> pl.Expr:
    """s → `[D-]HH:MM:SS`, as sacct writes it."""

    def two(value: pl.Expr) -> pl.Expr:
        return value.cast(pl.String).str.zfill(2)

    clock = pl.concat_str(
        two(seconds % 86_400 // 3_600), two(seconds % 3_600 // 60), two(seconds % 60), separator=":"
    )
    days = seconds // 86_400
    return (
        pl.when(days > 0)
        .then(pl.concat_str(days.cast(pl.String), pl.lit("-"), clock))
        .otherwise(clock)
    )


def amounts(text: pl.Expr) -> pl.Expr:
    """`4`, `1.50K` → a whole number; 1,024 of one unit make one of the next."""
    parts = text.str.extract_groups(rf"^([0-9]+(?:\.[0-9]+)?)([{UNITS}]?)$")
    number, unit = parts.struct.field("1"), parts.struct.field("2")
    scaled = (number.cast(pl.Float64) * _factor(unit, "")).round()
    return pl.coalesce(text.cast(pl.Int64, strict=False), scaled.cast(pl.Int64, strict=False))


def memory(text: pl.Expr) -> pl.Expr:
    """`4000Mc`, `16Gn`, `62.50G`, `2147486648Mn` → struct of ``bytes`` and ``per``.

    ``per`` is what the amount is for: "c" each CPU, "n" each node, "" the job. MiB where no unit is
    written. A number of MiB from 2^31 (2^63 in later versions) up is the overflow of the bit that
    marks memory per CPU: what is left without the bit is per CPU, whatever the suffix says. 0 asks
    for all memory of a node, however much that is: unknown.
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


def gres_gpus(text: pl.Expr) -> pl.Expr:
    """`gpu:a100:2(IDX:0,1),hbm:0` → 2; null where no GPU is named. Counted over all nodes."""
    bare = text.str.replace_all(r"\([^)]*\)", "")
    gpus = bare.str.extract_all(rf"(?:^|,)(?:gres[:/])?(?:gpu|{GPU_PLUGIN})(?:[:=][^,]*)?")
    count = pl.element().str.extract(r"[:=]([0-9]+)$").cast(pl.Int64, strict=False).fill_null(1)
    return pl.when(gpus.list.len() > 0).then(gpus.list.eval(count).list.sum())


def tres_texts(cpus: pl.Expr, nodes: pl.Expr, gpus: pl.Expr, mem_bytes: pl.Expr) -> pl.Expr:
    """The inverse of ``tres``; memory in KiB, what is null left out."""
    return pl.concat_str(
        pl.concat_str(pl.lit("cpu="), cpus),
        pl.concat_str(pl.lit("gres/gpu="), gpus),
        pl.concat_str(pl.lit("mem="), mem_bytes // 1024, pl.lit("K")),
        pl.concat_str(pl.lit("node="), nodes),
        separator=",",
        ignore_nulls=True,
    )


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
