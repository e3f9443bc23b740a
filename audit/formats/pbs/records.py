"""Keys of PBS's records → typed records.

Conventions: see ``reader``. Sources of the spellings: PBS Professional Reference Guide (formats of
resources; `select` and `place`), TORQUE Administrator Guide (requesting resources; exec_host),
OpenPBS attr_fn_time.c, attr_fn_size.c.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from enum import Enum
from functools import cache, lru_cache
from typing import Final, NamedTuple

import polars as pl

from audit.formats.instants import LATEST
from audit.formats.shaping import (
    LARGEST,
    SHOWN,
    Texts,
    by_distinct,
    case,
    clock,
    ends_early,
    faulted,
    table,
    task_counts,
)
from audit.hostlists import MOST, amounts_text, expand, listed
from audit.model import JobState, RecordKind, RefusalCode


class Kind(Enum):
    """Content of a key."""

    NAME = "name"
    TIME = "epoch s"
    SPAN = "[[D:]HH:]MM:SS, or s"
    COUNT = "whole number"
    SIZE = "bytes, with a unit or without"
    STATUS = "exit status, or number of runs"
    LISTED = "several amounts"


_TABLE: Final = (
    # kind, keys, remark
    (Kind.NAME, "user group queue Resource_List.qos", ""),
    (Kind.NAME, "account project", "the first that is present is the account"),
    (Kind.NAME, "resvname resvID Resource_List.advres", "the first is the reservation"),
    (Kind.NAME, "array_indices_remaining array_indices", "of an array as a whole: the first"),
    (Kind.TIME, "ctime qtime etime", "the first is the submission; etime: eligible"),
    (Kind.TIME, "start end", ""),
    (Kind.SPAN, "Resource_List.walltime", ""),
    (Kind.STATUS, "Exit_status run_count", "TORQUE has no run_count"),
    (Kind.LISTED, "exec_host exec_vnode exec_gpus", "what was allocated"),
    (Kind.LISTED, "Resource_List.select Resource_List.nodes", "what was requested"),
    (Kind.COUNT, "total_execution_slots unique_node_count", "TORQUE's counts of exec_host"),
    (Kind.COUNT, "Resource_List.ncpus Resource_List.procs", ""),
    (Kind.COUNT, "Resource_List.nodect", "or the content of `nodes`"),
    (Kind.COUNT, "Resource_List.ngpus Resource_List.gpus Resource_List.gpu", ""),
    (Kind.COUNT, "Resource_List.mppwidth Resource_List.mppdepth", "Cray: processes; CPUs of each"),
    (Kind.COUNT, "Resource_List.mppnppn", "Cray: processes per node"),
    (Kind.SIZE, "Resource_List.mem Resource_List.pmem", "pmem: per CPU"),
    (Kind.SIZE, "Resource_List.vmem Resource_List.pvmem", "virtual memory, pvmem: per CPU"),
    (Kind.SIZE, "Resource_List.mppmem", "Cray: per process"),
    (Kind.COUNT, "resource_assigned.ncpus resource_assigned.ngpus", "withheld from other jobs"),
    (Kind.SIZE, "resource_assigned.mem", ""),
    (Kind.COUNT, "resources_assigned.ncpus resources_assigned.ngpus", "the manuals' spelling"),
    (Kind.SIZE, "resources_assigned.mem", ""),
)
KEYS: Final = {key: kind for kind, keys, _ in _TABLE for key in keys.split()}
"""The keys that are read."""

REQUEUED: Final = "REQUEUED"  # state of a run that ended so that its job waits again
SIGNAL: Final = 256  # exit statuses from here on are this plus the signal that killed the job
_DELETED_BY: Final = (SIGNAL + 2, SIGNAL + 9, SIGNAL + 15)
_OVER_WALLTIME: Final = -29
_OVER_MEMORY: Final = (-26, -27)
_TORQUE_OVER: Final = {-11: "TIMEOUT", -10: "OUT_OF_MEMORY"}
"""TORQUE's statuses; PBS Professional, which has run_count, uses them for something else."""

_TEN: Final = 10  # digits of epoch seconds from 2001 on
_WALLTIME: Final = "Resource_List.walltime"
_NO_PROJECT: Final = "_pbs_project_default"
_NO_LIMIT: Final = ("-1", "unlimited", "infinity")
_SPAN: Final = r"^(?:(?:(?:([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,10})(?:\.[0-9]*)?$"
_MOST_BYTES: Final = 1 << 60
_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_WORD: Final = 8  # bytes of a word, the unit of sizes such as `2mw`
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgtp]?)(b|w)?", re.IGNORECASE)


def of_kind(kind: Kind) -> list[str]:
    """Return the keys of a kind."""
    return [key for key, of in KEYS.items() if of is kind]


def identified(ids: pl.Expr) -> dict[str, pl.Expr]:
    """Return the number and array task of job ids, null where invalid.

    Ids are `123.server`, `123[5].server`, `123-5.server` (TORQUE before 2.5), and `123[].server`
    for an array as a whole; the server may be missing.
    """
    parts = ids.str.extract_groups(r"^([0-9]{1,18})(?:\[([^\]]*)\]|-([0-9]{1,18}))?(?:\..*)?$")
    task = pl.coalesce(parts.struct.field("2"), parts.struct.field("3"))
    return {
        "job_number": parts.struct.field("1").cast(pl.Int64),
        "array_task": task.cast(pl.Int64, strict=False),
    }


def typed(texts: pl.DataFrame) -> pl.DataFrame:
    """Convert records; return columns of ``REFUSED`` and ``RECORDS``.

    Args:
        texts: ``KEYS``, ``number`` and ``id`` of each record, ``kind`` (``QUEUED`` or
            ``SIGHTING``), ``ends`` (whether it is the end of a run), ``rerun`` (whether the job
            then waits again), and ``instant`` (epoch seconds of the head, if needed, or ``why``
            they are unknown).
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
    value = RefusalCode.VALUE
    early, order, why = ends_early("fields start, end", "start", "end")
    faults = (
        (pl.col("job_number").is_null(), value, shown("id", "is not a job id")),
        (queued & submit.is_null(), value, shown("time", pl.col("why"))),
        (~queued & ~ends & start.is_null(), value, "field start is missing"),
        (ends & end.is_null(), value, "field end is missing"),
        (ends & early, order, why),
    )
    return frame.select(
        *("number", "kind", "job_number", "array_task", "user", "group", "walltime_s"),
        *Amounts._fields,
        *PLACE,
        job_id="id",
        account=pl.coalesce("account", pl.col("project").replace(_NO_PROJECT, None)),
        partition="queue",
        qos="Resource_List.qos",
        reservation=pl.coalesce("resvname", "resvID", "Resource_List.advres"),
        state=case((queued, JobState.PENDING), (~ends, JobState.RUNNING), otherwise=_state()),
        submit_time=submit,
        eligible_time="etime",
        start_time=pl.when(~queued).then("start"),
        end_time=pl.when(ends).then(end),
        occupancy_s=pl.when(ends).then(end - start),
        **_tasks(frame),
        **faulted(faults, "problem", "code"),
    )


def _tasks(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the tasks for which records of arrays as a whole stand (`123[].server`)."""
    listed = pl.coalesce("array_indices_remaining", "array_indices").str.replace("%.*", "")
    whole = pl.col("array_task").is_null() & pl.col("id").str.contains("[", literal=True)
    lists = frame.select(pl.when(whole).then(listed)).to_series()
    number = task_counts(lists)
    return {"array_tasks": lists.set(number.is_null(), None), "tasks": number}


def shown(name: str, what: str | pl.Expr) -> pl.Expr:
    """Return the reason of a refusal, with the value of a column."""
    reason = pl.lit(what) if isinstance(what, str) else what
    return pl.format(f"field {name}: '{{}}' {{}}", pl.col(name).str.slice(0, SHOWN), reason)


def _state() -> pl.Expr:
    """Return the state that an exit status means; null without a status."""
    status = pl.col("status")
    torque = pl.col("run_count").is_null()
    over = (pl.col("end") - pl.col("start") >= pl.col("walltime_s")).fill_null(value=False)
    return case(
        (pl.col("rerun"), REQUEUED),
        (status == 0, JobState.COMPLETED),
        ((status == _OVER_WALLTIME) | (over & (status >= SIGNAL)), "TIMEOUT"),
        (status.is_in(_OVER_MEMORY), "OUT_OF_MEMORY"),
        *((torque & (status == code), state) for code, state in _TORQUE_OVER.items()),
        (status.is_in(_DELETED_BY) | pl.col("start").is_null(), JobState.CANCELLED),
        (status.is_not_null(), JobState.FAILED),
    )


def _times(text: pl.Series) -> pl.Series:
    lengths = text.str.len_bytes()
    if lengths.min() == lengths.max() == _TEN:
        plain = text.cast(pl.Int64, strict=False)
        if plain.null_count() == text.null_count() and plain.ge(10 ** (_TEN - 1)).all():
            return plain  # only ten digits, as almost always
    values = text.str.extract(r"^([0-9]{1,18})(?:\.[0-9]*)?$").cast(pl.Int64)
    return values.set(values == 0, None)


def _whole(text: pl.Expr) -> pl.Expr:
    value = text.str.extract(r"^([0-9]{1,9})$").cast(pl.Int64)
    return pl.when(value <= LARGEST).then(value)


def _unread(texts: pl.DataFrame, numbers: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the problem of the first time, or walltime, that cannot be read."""
    given = Texts(texts, "field")
    read = {**{name: name for name in of_kind(Kind.TIME)}, _WALLTIME: "walltime_s"}
    for name, column in read.items():
        text, value = texts[name], numbers[column]
        if value.null_count() > text.null_count():
            no_limit = text.str.to_lowercase().is_in(list(_NO_LIMIT))
            bad = text.is_not_null() & value.is_null() & ~text.str.contains("^0+$") & ~no_limit
            what = "is not a duration" if name == _WALLTIME else "is not a time in s"
            given.check(name, bad, what)
        given.check(name, value > LATEST, "is too large: damaged, or not in s")
    return given.faults()


class Amounts(NamedTuple):
    """The request or the allocation of a job; None where unknown."""

    cpus: int | None = None
    nodes: int | None = None
    gpus: int | None = None
    mem_bytes: int | None = None


class Allocated(NamedTuple):
    """What a job was allocated, and where; None where unknown."""

    amounts: Amounts
    node_list: str | None = None
    node_amounts: str | None = None


PLACE: Final = Allocated._fields[1:]
_PLACES: Final = dict.fromkeys(PLACE, pl.String)


def _amounts(texts: pl.DataFrame, numbers: pl.DataFrame) -> dict[str, pl.Series]:
    """Return CPUs, nodes, GPUs and memory: what was allocated, else what was requested; and where.

    The first known value counts, of: resources withheld from other jobs (on records of starts),
    vnodes, TORQUE's counts of its hosts, these hosts, the request. Impossible numbers are skipped.
    If CPUs are known and GPUs are not mentioned, GPUs are 0. A Cray's login node runs jobs for its
    compute nodes: where a job asked for more processes than it has CPUs there, these count.
    """
    listed = texts["Resource_List.nodect"].str.contains(":").fill_null(value=False)
    spec = texts["Resource_List.nodes"]
    spec = spec.zip_with(spec.is_not_null() | ~listed, texts["Resource_List.nodect"])
    lists = {
        "vnodes": (texts["exec_vnode"], _where(on_vnodes)),
        "hosts": (texts.select(_hosts()).to_series(), _where(on_hosts)),
        "select": (texts["Resource_List.select"], _each(selected)),
        "spec": (spec, _each(of_nodes)),
    }
    frame = numbers.select(of_kind(Kind.COUNT)).hstack(
        [
            *(by_distinct(texts[key], _sizes)["bytes"].alias(key) for key in of_kind(Kind.SIZE)),
            *(
                column.alias(f"{name}_{column.name}")
                for name, (text, read) in lists.items()
                for column in by_distinct(text, read)
            ),
        ]
    )
    return frame.select(**_chosen()).to_dict()


def _hosts() -> pl.Expr:
    """Return `exec_host`, with `exec_gpus` unless it names GPUs itself; null with `exec_vnode`."""
    hosts, cards = pl.col("exec_host"), pl.col("exec_gpus")
    more = pl.when(~hosts.str.contains("-gpu/").fill_null(value=False)).then(cards)
    both = pl.concat_str(hosts, more, separator="+", ignore_nulls=True)
    return pl.when(pl.col("exec_vnode").is_null() & (both != "")).then(both)


def _chosen() -> dict[str, pl.Expr]:
    """Return the amounts and the place by what each part of a record says."""

    def assigned(name: str) -> tuple[str, str]:
        return f"resource_assigned.{name}", f"resources_assigned.{name}"

    def of(name: str) -> pl.Expr:
        return pl.col(f"Resource_List.{name}")

    here = pl.coalesce("vnodes_cpus", "total_execution_slots", "hosts_cpus")
    processes = of("mppwidth") * of("mppdepth").fill_null(1).clip(1)
    elsewhere = (processes > pl.coalesce(here, 0)).fill_null(value=False)
    given = pl.coalesce(*assigned("ncpus"), here)
    asked = pl.max_horizontal("spec_cpus", of("procs"), of("ncpus"))
    cpus = pl.max_horizontal(pl.coalesce(given, "select_cpus", asked), processes)
    cpus = pl.when(cpus <= LARGEST).then(cpus)
    spread = -(-of("mppwidth") // of("mppnppn").clip(1))
    nodes = pl.coalesce("unique_node_count", "vnodes_nodes", "hosts_nodes")
    nodes = pl.coalesce(pl.when(elsewhere).then(spread).otherwise(nodes), "spec_nodes")
    gpus = (*assigned("ngpus"), "vnodes_gpus", "hosts_gpus")
    memory = (*assigned("mem"), "vnodes_mem_bytes", of("mem"), "select_mem_bytes")
    part = {
        name: pl.when(~elsewhere).then(pl.coalesce(f"vnodes_{name}", f"hosts_{name}"))
        for name in PLACE
    }
    return {
        "cpus": cpus,
        "nodes": pl.coalesce(nodes, of("nodect"), "select_nodes"),
        "req_cpus": pl.max_horizontal(pl.coalesce("select_cpus", asked), processes),
        "gpus": pl.coalesce(
            *(*gpus, of("ngpus"), of("gpus"), of("gpu")),
            pl.max_horizontal("select_gpus", "spec_gpus"),
            pl.when(cpus.is_not_null()).then(0),
        ),
        "mem_bytes": pl.coalesce(
            *(*memory, _product(of("mppmem"), of("mppwidth")), _product(of("pmem"), cpus)),
            *(of("vmem"), _product(of("pvmem"), cpus)),
        ),
        **part,
    }


def _product(size: pl.Expr, number: pl.Expr) -> pl.Expr:
    return pl.when(size <= _MOST_BYTES // number.clip(1)).then(size * number)


@cache
def _each(read: Callable[[str], Amounts]) -> Callable[[pl.Series], pl.DataFrame]:
    return lambda texts: table(map(read, texts), Amounts._fields)


@cache
def _where(read: Callable[[str], Allocated]) -> Callable[[pl.Series], pl.DataFrame]:
    def columns(texts: pl.Series) -> pl.DataFrame:
        rows = [read(text) for text in texts]
        amounts = table((row.amounts for row in rows), Amounts._fields)
        places = pl.DataFrame([row[1:] for row in rows], _PLACES, orient="row")
        return amounts.hstack(places)

    return columns


def _sizes(texts: pl.Series) -> pl.DataFrame:
    return table(((size(text),) for text in texts), ("bytes",))


@lru_cache(maxsize=1 << 12)
def size(text: str) -> int | None:
    """Return the bytes of `1993mb`, `12.27M`, `4224531456`, `2gw`; None where invalid."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    number, prefix, unit = match.groups()
    factor = _FACTORS[prefix.lower()] * (_WORD if (unit or "").lower() == "w" else 1)
    amount = int(number) * factor if number.isdigit() else int(float(number) * factor)
    return amount if amount <= _MOST_BYTES else None


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
def on_vnodes(text: str) -> Allocated:
    """Return what `exec_vnode` gives: `(n1:ncpus=4:mem=8gb:ngpus=1)+(n2:ncpus=4)`.

    `n1[0]` and `n1[1]` are vnodes of the node n1.
    """
    held: dict[str, list[int]] = {}
    for piece in text.translate(_NO_BRACKETS).split("+"):
        vnode, _, has = piece.partition(":")
        node = held.setdefault(_PART_OF_NODE.sub("", vnode) or vnode, [0, 0, 0])
        for k, amount in enumerate(_on_vnode(has)):
            node[k] += amount
    return _allocated(held)


_NO_BRACKETS: Final = str.maketrans("", "", "()")
_PART_OF_NODE: Final = re.compile(r"\[[0-9]+\]$")


@lru_cache(maxsize=1 << 12)
def _on_vnode(text: str) -> tuple[int, int, int]:
    _, has = _chunk(text)
    return _given(has, "ncpus"), _given(has, "ngpus"), size(has.get("mem", "")) or 0


@lru_cache(maxsize=1 << 12)
def on_hosts(text: str) -> Allocated:
    """Return what `exec_host` gives, and `exec_gpus`.

    `n1/0+n1/1` (one slot each), `n1/0-15+n2/0,3-5` and `n[1-2]/0-7` (TORQUE 5), `n1/0*16` (PBS
    Professional: 16 CPUs), `n1-gpu/0` (TORQUE: a GPU).
    """
    held: dict[str, list[int]] = {}
    named = 0
    for piece, times in Counter(_ONE_SLOT.sub("", text).split("+")).items():
        host, _, slots = piece.partition("/")
        is_gpu = host.endswith("-gpu")
        names = [host] if "[" not in host else expand(host) or [host]
        named += len(names)
        if named > MOST:
            return Allocated(Amounts())
        for name in names:
            node = held.setdefault(name.removesuffix("-gpu") if is_gpu else name, [0, 0, 0])
            node[is_gpu] += times * _slots(slots)
    return _allocated(held)


_ONE_SLOT: Final = re.compile(r"/[0-9]{1,9}(?=\+|$)")


def _allocated(held: dict[str, list[int]]) -> Allocated:
    """Return the sums of CPUs, GPUs and bytes on nodes, and the amounts on each."""
    cpus, gpus, memory = map(list, zip(*held.values(), strict=True))
    in_all = sum(memory)
    sums = Amounts(
        *(_some(sum(cpus)), len(held), _some(sum(gpus))),
        mem_bytes=in_all if 0 < in_all <= _MOST_BYTES else None,
    )
    nodes = listed(held)
    if nodes is None or len(held) == 1:
        return Allocated(sums, nodes)
    known = {"cpus": cpus, "gpus": gpus, "mem_bytes": memory}
    return Allocated(sums, nodes, amounts_text({x: each for x, each in known.items() if any(each)}))


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
