"""Slurm's spellings of durations, memory, trackable resources, counts and job ids.

Functions convert polars columns of texts; values are null where a text is null, unknown or
unreadable (``FIT`` distinguishes these).

Sources: sacct's manual page ("Job Accounting Fields"), slurm.conf's ("AccountingStorageTRES",
"TRESBillingWeights"), the pages on job arrays, heterogeneous jobs and federation.
"""

import math
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import polars as pl

from audit.arrays import LARGEST
from audit.formats.instants import TIME, UNKNOWN
from audit.formats.shaping import MIB, by_distinct, clock, task_counts

UNITS: Final = "KMGTPEZ"  # Slurm's suffixes: each 1,024 times the one before

OVERFLOW: Final = (1 << 63, 1 << 31)
"""The bit of the number of MiB that marks memory per CPU; some versions print it."""

_AMOUNT: Final = rf"[0-9]+(?:\.[0-9]+)?[{UNITS}]?"
GPU_PLUGIN: Final = "7696487"  # Slurm's number for GPUs where the plugin with their name is missing

_MEMORY: Final = pl.Struct({"bytes": pl.Int64, "per": pl.String})

_TRES_AMOUNT: Final = re.compile(rf"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([{UNITS}{UNITS.lower()}]?)")
_MOST_ITEMS: Final = 1_000

ALWAYS: Final = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
"""Resources that every cluster tracks, in Slurm's order; AccountingStorageTRES adds others."""


class FieldKind(StrEnum):
    """Content of a column; each has a pattern in ``FIT``."""

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
    FREE = "text"  # Users' text: may contain separators and line breaks
    NOTHING = "nothing"  # after the separator that ends each line of `sacct -p`


LISTS: Final = (FieldKind.TRES, FieldKind.GRES, FieldKind.LIST)  # kinds that may contain commas

_BLANK: Final = "|".join(("", *(text.replace("(", r"\(").replace(")", r"\)") for text in UNKNOWN)))
_LIMIT: Final = "UNLIMITED|Partition_Limit"
_ITEM: Final = r"[^=, \t]+=[^=,]*"

FIT: Final[dict[FieldKind, str]] = {
    # readable texts, and those for unknown
    FieldKind.ID: r"[0-9]+(?:_(?:[0-9]+|\[[^\]]*\]?))?(?:\+[0-9]+)?(?:\.[0-9A-Za-z_+.-]+)?",
    FieldKind.TIME: rf"{_BLANK}|{TIME}",
    FieldKind.DURATION: rf"{_BLANK}|{_LIMIT}|(?:[0-9]{{1,7}}-)?(?:[0-9]{{1,7}}:){{1,2}}[0-9]{{2}}"
    r"(?:\.[0-9]+)?",
    FieldKind.MINUTES: rf"{_BLANK}|{_LIMIT}|[0-9]{{1,12}}",
    FieldKind.SECONDS: rf"{_BLANK}|[0-9]{{1,12}}",
    FieldKind.COUNT: rf"{_BLANK}|{_AMOUNT}",
    FieldKind.NUMBER: rf"{_BLANK}|-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?[{UNITS}]?",
    FieldKind.MEMORY: rf"{_BLANK}|\?|[0-9]+(?:\.[0-9]+)?[{UNITS}]?B?[cn]?",
    FieldKind.TRES: rf"{_BLANK}|{_ITEM}(?:,{_ITEM})*",
    FieldKind.GRES: rf"{_BLANK}|[0-9A-Za-z_:./()+-]+(?:,[0-9A-Za-z_:./()+-]+)*",
    FieldKind.STATE: r"|[A-Za-z][0-9A-Za-z_+-]*(?: by .+)?",
    FieldKind.EXIT: rf"{_BLANK}|-?[0-9]+(?::-?[0-9]+)?",
    FieldKind.NAME: r"[^\n]*",
    FieldKind.LIST: r"[^\n]*",
    FieldKind.FREE: r"(?s:.*)",
    FieldKind.NOTHING: "",
}
"""Pattern of a whole column of each kind."""

PIECE: Final[dict[FieldKind, str]] = {
    FieldKind.TRES: rf"{_BLANK}|{_ITEM}",
    FieldKind.GRES: rf"{_BLANK}|[0-9A-Za-z_:./()+-]+",
    FieldKind.LIST: r"[0-9A-Za-z_.\[\]+ -]*",
}
"""Pattern of one piece of a list, where commas also separate columns."""


def unreadable(text: pl.Series, kind: FieldKind) -> pl.Series:
    """Return which texts are not of ``kind`` (null and unknown ones are)."""
    return ~text.fill_null("").str.contains(rf"^(?:{FIT[kind]})$")


def durations(text: pl.Expr) -> pl.Expr:
    """Return the seconds of `[[D-]HH:]MM:SS[.fraction]`; unlimited is null."""
    pattern = r"^(?:([0-9]{1,7})-)?(?:([0-9]{1,7}):)?([0-9]{1,7}):([0-9][0-9])(?:\.[0-9]+)?$"
    return clock(text, pattern)


def amounts(text: pl.Expr) -> pl.Expr:
    """Return `4`, `1.50K` as whole numbers; units are powers of 1,024."""
    parts = text.str.extract_groups(rf"^([0-9]+(?:\.[0-9]+)?)([{UNITS}]?)$")
    number, unit = parts.struct.field("1"), parts.struct.field("2")
    scaled = (number.cast(pl.Float64) * _factor(unit, "")).round()
    return pl.coalesce(text.cast(pl.Int64, strict=False), scaled.cast(pl.Int64, strict=False))


def memory(text: pl.Expr) -> pl.Expr:
    """Return `4000Mc`, `16Gn`, `62.50G`, `2147486648Mn` as struct of ``bytes`` and ``per``.

    ``per`` is "c" per CPU, "n" per node, "" per job. The default unit is MiB. From 2^31 MiB (2^63
    in later versions) on, the bit that marks memory per CPU was printed: the rest is per CPU,
    whatever the suffix. 0 requests all memory of a node: unknown.
    """
    return text.map_batches(_memory, return_dtype=_MEMORY, is_elementwise=True)


def _memory(text: pl.Series) -> pl.Series:
    """Convert step by step: in one expression polars would split texts repeatedly."""
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
    """Return the cpus, nodes, gpus, gpu_types, mem_bytes of `cpu=4,gres/gpu=4,gres/gpu:a100=4`.

    The count of GPUs without type includes those with type; if missing, it is the sum of these. A
    MIG slice (`gres/gpu:a100_1g.5gb`) is a GPU of its own type.
    """

    def named(name: str) -> pl.Expr:
        return text.str.extract(rf"(?:^|,){name}=([^,]*)")

    typed = text.str.extract_all(r"(?:^|,)gres/gpu:[^=,]+=[0-9]+")
    by_type = typed.list.eval(pl.element().str.extract(r"=([0-9]+)$").cast(pl.Int64, strict=False))
    name = pl.element().str.replace(r"^,?gres/gpu:", "").str.replace("=", ":", literal=True)
    return {
        "cpus": amounts(named("cpu")),
        "nodes": amounts(named("node")),
        "gpus": pl.coalesce(
            amounts(named("gres/gpu")), pl.when(typed.list.len() > 0).then(by_type.list.sum())
        ),
        "gpu_types": _by_type(typed.list.eval(name)),
        "mem_bytes": memory(named("mem")).struct.field("bytes"),
    }


def _by_type(items: pl.Expr) -> pl.Expr:
    """Return lists of `A100:4` as text in order, without zeros; null where nothing is left."""
    some = items.list.eval(pl.element().filter(~pl.element().str.contains(":0*$")))
    text = some.list.eval(pl.element().str.to_lowercase()).list.sort().list.join(",")
    return pl.when(some.list.len() > 0).then(text)


def tres_amounts(text: str) -> dict[str, float]:
    """Return ``{"mem": 8192.0, "cpu": 4.0}`` for ``mem=8G,cpu=4``; invalid items are skipped.

    The base unit of memory and burst buffers is MiB. Here ``gres/gpu`` does not include types.
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
    """Return the weight per base unit of each resource of ``CPU=1.0,Mem=0.25G`` or ValueError.

    A weight with a suffix is per that unit: ``Mem=0.25G`` is 0.25/1024 per MiB. A suffix below the
    base unit has no effect.
    """
    found: dict[str, float] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        name, _, value = item.partition("=")
        name = name.strip().lower()
        match = _TRES_AMOUNT.fullmatch(value.strip())
        if match is None or not name:
            raise ValueError(f"{item!r} is not a weight: write it like CPU=1.0 or Mem=0.25G")
        weight = float(match[1])
        if not math.isfinite(weight):
            raise ValueError(f"{item!r}: the weight is too large")
        if match[2]:
            weight /= 1024.0 ** max(UNITS.index(match[2].upper()) + 1 - _base(name), 0)
        found[name] = weight
    return found


def tres_columns(texts: pl.Series, names: Iterable[str]) -> dict[str, pl.Series]:
    """Return the amount of each resource in each text; 0 where missing."""
    schema = dict.fromkeys(names, pl.Float64)

    def columns(distinct: pl.Series) -> pl.DataFrame:
        read = [tres_amounts(text) for text in distinct]
        return pl.DataFrame(
            {name: [of.get(name, 0.0) for of in read] for name in schema}, schema=schema
        )

    return by_distinct(texts, columns).fill_null(0.0).to_dict()


def _base(name: str) -> int:
    return 2 if name == "mem" or name.startswith("bb/") else 0


def gres(text: pl.Expr) -> dict[str, pl.Expr]:
    """Return the gpus, gpu_types of `gpu:a100:2(IDX:0,1),hbm:0`, over all nodes.

    Null without GPUs, and without types.
    """
    item = pl.element()
    bare = text.str.replace_all(r"\([^)]*\)", "").str.split(",")
    is_gpu = item.str.contains(rf"^(?:gres[:/])?(?:gpu|{GPU_PLUGIN})(?:[:=]|$)")
    gpus = bare.list.eval(item.filter(is_gpu).str.replace("^gres[:/]", ""))
    count = item.str.extract(r"[:=]([0-9]+)$").cast(pl.Int64, strict=False).fill_null(1)
    kind = item.str.replace("[:=][0-9]+$", "").str.extract("^[^:=]+:(.+)$")
    name = pl.concat_str(kind, pl.lit(":"), count)
    return {
        "gpus": pl.when(gpus.list.len() > 0).then(gpus.list.eval(count).list.sum()),
        "gpu_types": _by_type(gpus.list.eval(name.drop_nulls())),
    }


def id_parts(text: pl.Expr) -> dict[str, pl.Expr]:
    """Return the number, array task and het offset of `3_0`, `23+1`, `3_[0-9%2]`."""
    parts = text.str.extract_groups(
        r"^([0-9]{1,18})(?:_(?:([0-9]{1,18})|\[.*))?(?:\+([0-9]{1,18}))?"
    )
    names = ("job_number", "array_task", "het_offset")
    return {
        name: parts.struct.field(str(n)).cast(pl.Int64, strict=False)
        for n, name in enumerate(names, start=1)
    }


def waiting_tasks(job_ids: pl.Series, pending: pl.Series) -> pl.DataFrame:
    """Return the ``array_tasks`` and ``tasks`` of ids such as `3_[0-9%2]`, and ``cut``.

    Slurm cuts long ids, as `3_[1,3,5,...]`. ``pending`` is the number of all tasks that wait; where
    it is null, only those that the id lists are known, and ``cut`` is true.
    """
    inside = job_ids.str.extract(r"_\[([^%\]]*)")
    if inside.null_count() == len(inside):
        return inside.to_frame().select(array_tasks=inside, tasks=pl.lit(1, pl.Int64), cut=False)
    early = inside.str.contains("...", literal=True) | ~job_ids.str.contains("[%\\]]")
    listed = inside.str.replace(",[^,]*$", "").zip_with(early, inside)
    number = task_counts(listed).fill_null(0)
    frame = pl.DataFrame(
        {"inside": inside, "listed": listed, "pending": pending, "number": number}
    ).with_columns(early=early | (number == 0))
    more = pl.col("pending").cast(pl.Int64, strict=False) - pl.col("number")
    more = pl.when("early").then(more).fill_null(0).clip(0, LARGEST - pl.col("number"))
    known = pl.when(pl.col("number") > 0).then("listed")
    rest = pl.when(more > 0).then(pl.format("+{}", more))
    text = pl.concat_str(known, rest, separator=",", ignore_nulls=True)
    return frame.select(
        array_tasks=text.replace("", None),
        tasks=(pl.col("number") + more).clip(1),
        cut=pl.col("inside").is_not_null() & pl.col("early") & (more == 0),
    )


def submitted(line: pl.Expr, job_id: pl.Expr) -> dict[str, pl.Expr]:
    """Return what a call of sbatch or srun requested that no other column gives.

    The text behind ``--wrap`` is the job's own. Pending tasks of an array share an id that has the
    throttle, such as `3_[0-9%2]`.
    """
    call = line.str.replace(r"(?s)\s--wrap\b.*", "")
    throttle = pl.coalesce(
        call.str.extract(r"\s(?:--array[=\s]\s*|-a\s*)[0-9,:-]+%([0-9]{1,9})(?:\s|$)"),
        job_id.str.extract(r"%([0-9]{1,9})\]$"),
    )
    nice = call.str.extract(r"\s--nice(?:=(-?[0-9]{1,9}))?(?:\s|$)", 0)
    number = nice.str.extract(r"(-?[0-9]+)").cast(pl.Int64).fill_null(USUAL_NICE)
    is_task = job_id.str.contains("_", literal=True)
    return {
        "array_throttle": pl.when(is_task).then(throttle.cast(pl.Int64)).replace(0, None),
        "nice": pl.when(nice.is_not_null()).then(number),
        "required_nodes": call.str.extract(r"\s(?:-w\s*|--nodelist[=\s]\s*)([^\s-]\S*)"),
    }


USUAL_NICE: Final = 100  # of --nice without a number


def _factor(unit: pl.Expr, default: str) -> pl.Expr:
    factors = {letter: 1024.0 ** (n + 1) for n, letter in enumerate(UNITS)}
    return unit.replace_strict(
        {**factors, "": factors.get(default, 1.0)}, default=None, return_dtype=pl.Float64
    )
