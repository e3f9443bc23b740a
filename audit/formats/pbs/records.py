"""What PBS's records say of a job → typed records, and what is wrong with those that are none.

The rules are those of the module docstring of ``reader``. Sources of the spellings: PBS
Professional Reference Guide (formats of resources; `select` and `place`), TORQUE Administrator
Guide (requesting resources; exec_host), OpenPBS attr_fn_time.c, attr_fn_size.c.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache, lru_cache
from typing import Final, NamedTuple

import polars as pl

from audit.formats.instants import LATEST
from audit.formats.shaping import LARGEST, SHOWN, Texts, by_distinct, clock, faulted, table
from audit.model import JobState, RecordKind, RefusalCode


class Kind(Enum):
    """What the value of a key is."""

    NAME = "name"
    TIME = "epoch s"
    SPAN = "[[D:]HH:]MM:SS, or s"
    COUNT = "whole number"
    SIZE = "bytes, with a unit or without"
    STATUS = "exit status, or number of runs"
    LISTED = "several amounts, see ``_LISTED``"


KEYS: Final = {
    "user": Kind.NAME,
    "group": Kind.NAME,
    "account": Kind.NAME,
    "project": Kind.NAME,  # the account, where there is no other
    "queue": Kind.NAME,
    "resvname": Kind.NAME,  # the first reservation that is named counts
    "resvID": Kind.NAME,
    "Resource_List.advres": Kind.NAME,
    "Resource_List.qos": Kind.NAME,
    "ctime": Kind.TIME,  # submitted; else qtime, etime
    "qtime": Kind.TIME,
    "etime": Kind.TIME,  # eligible
    "start": Kind.TIME,
    "end": Kind.TIME,
    "Resource_List.walltime": Kind.SPAN,
    "Exit_status": Kind.STATUS,
    "run_count": Kind.STATUS,  # TORQUE has none
    "exec_host": Kind.LISTED,
    "exec_vnode": Kind.LISTED,
    "exec_gpus": Kind.LISTED,
    "Resource_List.select": Kind.LISTED,
    "Resource_List.nodes": Kind.LISTED,
    "total_execution_slots": Kind.COUNT,  # what TORQUE counted of exec_host
    "unique_node_count": Kind.COUNT,
    "Resource_List.ncpus": Kind.COUNT,
    "Resource_List.procs": Kind.COUNT,
    "Resource_List.nodect": Kind.COUNT,  # or what `nodes` holds
    "Resource_List.ngpus": Kind.COUNT,
    "Resource_List.gpus": Kind.COUNT,
    "Resource_List.gpu": Kind.COUNT,
    "Resource_List.mem": Kind.SIZE,
    "Resource_List.pmem": Kind.SIZE,  # for each CPU
    "resource_assigned.ncpus": Kind.COUNT,  # kept from others; manuals have an s more
    "resource_assigned.ngpus": Kind.COUNT,
    "resource_assigned.mem": Kind.SIZE,
    "resources_assigned.ncpus": Kind.COUNT,
    "resources_assigned.ngpus": Kind.COUNT,
    "resources_assigned.mem": Kind.SIZE,
}
"""What is read of a record."""

REQUEUED: Final = "REQUEUED"
"""State of a run that ended so that its job waits again."""
SIGNAL: Final = 256
"""Exit statuses from here on are a signal that killed the job, and this."""
_DELETED_BY: Final = (SIGNAL + 2, SIGNAL + 9, SIGNAL + 15)
_OVER_WALLTIME: Final = -29
_OVER_MEMORY: Final = (-26, -27)
_TORQUE_OVER: Final = {-11: "TIMEOUT", -10: "OUT_OF_MEMORY"}
"""What TORQUE says; PBS Professional, which counts runs, means something else by it."""

_TEN: Final = 10
"""Digits of epoch seconds from 2001 on."""
_WALLTIME: Final = "Resource_List.walltime"
_NO_PROJECT: Final = "_pbs_project_default"
_NO_LIMIT: Final = ("-1", "unlimited", "infinity")
_SPAN: Final = r"^(?:(?:(?:([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,10})(?:\.[0-9]*)?$"
_MOST_BYTES: Final = 1 << 60
_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_WORD: Final = 8
"""Bytes of what sizes in words (`mw`) count."""
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgtp]?)(b|w)?", re.IGNORECASE)


def of_kind(kind: Kind) -> list[str]:
    """The keys whose values are of a kind."""
    return [key for key, of in KEYS.items() if of is kind]


def identified(ids: pl.Expr) -> dict[str, pl.Expr]:
    """Job ids → number and array task, null where it is no job's.

    `123.server`, `123[5].server`, `123-5.server` (TORQUE before 2.5), and `123[].server`, an array
    as a whole; the server may be left out.
    """
    parts = ids.str.extract_groups(r"^([0-9]{1,18})(?:\[([^\]]*)\]|-([0-9]{1,18}))?(?:\..*)?$")
    task = pl.coalesce(parts.struct.field("2"), parts.struct.field("3"))
    return {
        "job_number": parts.struct.field("1").cast(pl.Int64),
        "array_task": task.cast(pl.Int64, strict=False),
    }


def typed(texts: pl.DataFrame) -> pl.DataFrame:
    """Convert what records say of a job; return columns of ``REFUSED`` and ``RECORDS``.

    Args:
        texts: ``KEYS``, ``number`` and ``id`` of each record, ``kind`` (``QUEUED`` or
            ``SIGHTING``), ``ends`` (it says how a run ended), ``rerun`` (the job waits again), and
            ``instant`` (epoch seconds of the head, if needed, or ``why`` there are none).
    """
    times, counts = of_kind(Kind.TIME), of_kind(Kind.COUNT)
    numbers = texts.select(
        *(_times(texts[name]) for name in times),
        *(_whole(pl.col(name)).alias(name) for name in counts),
        walltime_s=clock(pl.col(_WALLTIME), _SPAN),
        status=pl.col("Exit_status").cast(pl.Int64, strict=False),
        **identified(pl.col("id")),
    )
    frame = texts.drop(*times, *counts).hstack(numbers)
    frame = frame.with_columns(**_amounts(texts, frame), **_unread(texts, numbers))
    queued, ends = pl.col("kind") == RecordKind.QUEUED, pl.col("ends")
    start, end = pl.col("start"), pl.col("end")
    submit = pl.coalesce("ctime", "qtime", "etime", pl.when(queued).then("instant"))
    return frame.select(
        *("number", "kind", "job_number", "array_task", "user", "group", "walltime_s"),
        *Amounts._fields,
        job_id="id",
        account=pl.coalesce("account", pl.col("project").replace(_NO_PROJECT, None)),
        partition="queue",
        qos="Resource_List.qos",
        reservation=pl.coalesce("resvname", "resvID", "Resource_List.advres"),
        state=pl.when(queued)
        .then(pl.lit(JobState.PENDING.value))
        .when(~ends)
        .then(pl.lit(JobState.RUNNING.value))
        .otherwise(_state()),
        submit_time=submit,
        eligible_time="etime",
        start_time=pl.when(~queued).then("start"),
        end_time=pl.when(ends).then(end),
        occupancy_s=pl.when(ends).then(end - start),
        **faulted(
            (
                (pl.col("job_number").is_null(), RefusalCode.VALUE, shown("id", "is no job id")),
                (queued & submit.is_null(), RefusalCode.VALUE, shown("time", pl.col("why"))),
                (~queued & ~ends & start.is_null(), RefusalCode.VALUE, "field start is missing"),
                (ends & end.is_null(), RefusalCode.VALUE, "field end is missing"),
                (
                    ends & (end < start),
                    RefusalCode.ORDER,
                    pl.format("ends {} s before it starts (fields start, end)", start - end),
                ),
            ),
            "problem",
            "code",
        ),
    )


def shown(name: str, what: str | pl.Expr) -> pl.Expr:
    """Why a record is refused, with the value of a column."""
    said = pl.lit(what) if isinstance(what, str) else what
    return pl.format("field {}: '{}' {}", pl.lit(name), pl.col(name).str.slice(0, SHOWN), said)


def _state() -> pl.Expr:
    """What an exit status says; null where there is none."""
    status = pl.col("status")
    torque = pl.col("run_count").is_null()
    over = (pl.col("end") - pl.col("start") >= pl.col("walltime_s")).fill_null(value=False)
    return (
        pl.when("rerun")
        .then(pl.lit(REQUEUED))
        .when(status == 0)
        .then(pl.lit(JobState.COMPLETED.value))
        .when((status == _OVER_WALLTIME) | (over & (status >= SIGNAL)))
        .then(pl.lit("TIMEOUT"))
        .when(status.is_in(_OVER_MEMORY))
        .then(pl.lit("OUT_OF_MEMORY"))
        .when(torque & status.is_in(list(_TORQUE_OVER)))
        .then(status.replace_strict(_TORQUE_OVER, default=None, return_dtype=pl.String))
        .when(status.is_in(_DELETED_BY) | pl.col("start").is_null())
        .then(pl.lit(JobState.CANCELLED.value))
        .when(status.is_not_null())
        .then(pl.lit(JobState.FAILED.value))
    )


def _times(text: pl.Series) -> pl.Series:
    """Epoch seconds; 0 says that it has not come to that."""
    lengths = text.str.len_bytes()
    if lengths.min() == lengths.max() == _TEN:
        plain = text.cast(pl.Int64, strict=False)
        if plain.null_count() == text.null_count() and plain.ge(10 ** (_TEN - 1)).all():
            return plain  # nothing but ten digits, as nearly always
    values = text.str.extract(r"^([0-9]{1,18})(?:\.[0-9]*)?$").cast(pl.Int64)
    return values.set(values == 0, None)


def _whole(text: pl.Expr) -> pl.Expr:
    """A count that can be; others are null."""
    value = text.str.extract(r"^([0-9]{1,9})$").cast(pl.Int64)
    return pl.when(value <= LARGEST).then(value)


def _unread(texts: pl.DataFrame, numbers: pl.DataFrame) -> dict[str, pl.Series]:
    """What is wrong with the first time, or the walltime, that cannot be read."""
    given = Texts(texts, "field")
    read = {**{name: name for name in of_kind(Kind.TIME)}, _WALLTIME: "walltime_s"}
    for name, column in read.items():
        text, value = texts[name], numbers[column]
        if value.null_count() > text.null_count():
            no_limit = text.str.to_lowercase().is_in(list(_NO_LIMIT))
            bad = text.is_not_null() & value.is_null() & ~text.str.contains("^0+$") & ~no_limit
            what = "is no length of time" if name == _WALLTIME else "is no time in s"
            given.check(name, bad, what)
        given.check(name, value > LATEST, "is too large: damaged, or not in s")
    return given.faults()


class Amounts(NamedTuple):
    """What a job asked for, or has; None where it is not said."""

    cpus: int | None = None
    nodes: int | None = None
    gpus: int | None = None
    mem_bytes: int | None = None


def _amounts(texts: pl.DataFrame, numbers: pl.DataFrame) -> dict[str, pl.Series]:
    """CPUs, nodes, GPUs and memory: what was given, else what was asked for.

    The first that says it counts: what a job kept from others (on records of starts), its vnodes,
    the counts that TORQUE makes of its hosts, these hosts, and the request. An impossible number is
    passed over. Where CPUs are known and nothing speaks of GPUs, there are none.
    """
    listed = texts["Resource_List.nodect"].str.contains(":").fill_null(value=False)
    spec = texts["Resource_List.nodes"]
    spec = spec.zip_with(spec.is_not_null() | ~listed, texts["Resource_List.nodect"])
    # what TORQUE has counted itself need not be counted again: lists of hosts are long
    counted = (
        texts["total_execution_slots"].is_not_null() & texts["unique_node_count"].is_not_null()
    )
    lists = {
        "vnodes": (texts["exec_vnode"], on_vnodes),
        "hosts": (texts["exec_host"].set(counted, None), on_hosts),
        "cards": (texts["exec_gpus"], on_hosts),
        "select": (texts["Resource_List.select"], selected),
        "spec": (spec, of_nodes),
    }
    frame = numbers.select(of_kind(Kind.COUNT)).hstack(
        [
            *(by_distinct(texts[key], _sizes)["bytes"].alias(key) for key in of_kind(Kind.SIZE)),
            *(
                column.alias(f"{name}_{column.name}")
                for name, (text, read) in lists.items()
                for column in by_distinct(text, _each(read))
            ),
        ]
    )
    cpus = pl.coalesce(
        *("resource_assigned.ncpus", "resources_assigned.ncpus", "vnodes_cpus"),
        *("total_execution_slots", "hosts_cpus", "select_cpus"),
        pl.max_horizontal("spec_cpus", "Resource_List.procs", "Resource_List.ncpus"),
    )
    return frame.select(
        cpus=cpus,
        nodes=pl.coalesce(
            *("unique_node_count", "hosts_nodes", "vnodes_nodes", "spec_nodes"),
            *("Resource_List.nodect", "select_nodes"),
        ),
        gpus=pl.coalesce(
            *("resource_assigned.ngpus", "resources_assigned.ngpus"),
            *("vnodes_gpus", "hosts_gpus", "cards_gpus"),
            *("Resource_List.ngpus", "Resource_List.gpus", "Resource_List.gpu"),
            pl.max_horizontal("select_gpus", "spec_gpus"),
            pl.when(cpus.is_not_null()).then(0),
        ),
        mem_bytes=pl.coalesce(
            *("resource_assigned.mem", "resources_assigned.mem"),
            *("vnodes_mem_bytes", "Resource_List.mem"),
            *("select_mem_bytes", pl.col("Resource_List.pmem") * cpus),
        ),
    ).to_dict()


@cache
def _each(read: Callable[[str], Amounts]) -> Callable[[pl.Series], pl.DataFrame]:
    """``read`` of each text, as columns."""
    return lambda texts: table(map(read, texts), Amounts._fields)


def _sizes(texts: pl.Series) -> pl.DataFrame:
    return table(((size(text),) for text in texts), ("bytes",))


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
    return amount if amount <= _MOST_BYTES else None


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
        times = _multiple(first)
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
        times = _multiple(first)
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
        _some(cpus), len(names), _some(gpus), memory if 0 < memory <= _MOST_BYTES else None
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
    return Amounts(_some(cpus), len(hosts) or None, _some(gpus))


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


def _multiple(text: str) -> int | None:
    """How many of what follows; None where it is a name."""
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= 9 else LARGEST + 1


def _given(items: Iterable[str]) -> dict[str, str]:
    return dict(item.split("=", 1) for item in items if "=" in item)


def _positive(text: str | None, otherwise: int) -> int:
    found = count(text)
    return otherwise if found is None else found


def _within(*amounts: int) -> list[int | None]:
    return [None if amount > LARGEST else amount for amount in amounts]


def _some(amount: int) -> int | None:
    return amount if 0 < amount <= LARGEST else None
