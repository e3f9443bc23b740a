"""Keys of PBS's records → typed records.

Conventions: see ``reader``. Sources of the spellings: PBS Professional Reference Guide (formats of
resources; `select` and `place`), TORQUE Administrator Guide (requesting resources; exec_host),
OpenPBS attr_fn_time.c, attr_fn_size.c.
"""

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Final

import polars as pl

from audit.formats import shaping
from audit.formats.instants import LATEST
from audit.formats.pbs.allocations import (
    MOST_BYTES,
    Amounts,
    PbsAllocation,
    of_nodes,
    on_hosts,
    on_vnodes,
    selected,
    size,
)
from audit.model import JobState, RecordKind, RefusalCode


class KeyKind(Enum):
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
    (KeyKind.NAME, "user group queue Resource_List.qos", ""),
    (KeyKind.NAME, "account project", "the first that is present is the account"),
    (KeyKind.NAME, "resvname resvID Resource_List.advres", "the first is the reservation"),
    (KeyKind.NAME, "Resource_List.place", "whether the job has whole nodes"),
    (KeyKind.NAME, "array_indices_remaining array_indices", "of an array as a whole: the first"),
    (KeyKind.TIME, "ctime qtime etime", "the first is the submission; etime: eligible"),
    (KeyKind.TIME, "start end", ""),
    (KeyKind.SPAN, "Resource_List.walltime", ""),
    (KeyKind.STATUS, "Exit_status run_count", "TORQUE has no run_count"),
    (KeyKind.LISTED, "exec_host exec_vnode exec_gpus", "what was allocated"),
    (KeyKind.LISTED, "Resource_List.select Resource_List.nodes", "what was requested"),
    (KeyKind.COUNT, "total_execution_slots unique_node_count", "TORQUE's counts of exec_host"),
    (KeyKind.COUNT, "Resource_List.ncpus Resource_List.procs", ""),
    (KeyKind.COUNT, "Resource_List.nodect", "or the content of `nodes`"),
    (KeyKind.COUNT, "Resource_List.ngpus Resource_List.gpus Resource_List.gpu", ""),
    (KeyKind.COUNT, "Resource_List.mppwidth Resource_List.mppdepth", "Cray: processes, CPUs each"),
    (KeyKind.COUNT, "Resource_List.mppnppn", "Cray: processes per node"),
    (KeyKind.SIZE, "Resource_List.mem Resource_List.pmem", "pmem: per CPU"),
    (KeyKind.SIZE, "Resource_List.vmem Resource_List.pvmem", "virtual memory, pvmem: per CPU"),
    (KeyKind.SIZE, "Resource_List.mppmem", "Cray: per process"),
    (KeyKind.COUNT, "resource_assigned.ncpus resource_assigned.ngpus", "withheld from other jobs"),
    (KeyKind.SIZE, "resource_assigned.mem", ""),
    (KeyKind.COUNT, "resources_assigned.ncpus resources_assigned.ngpus", "the manuals' spelling"),
    (KeyKind.SIZE, "resources_assigned.mem", ""),
)
KEYS: Final = {key: kind for kind, keys, _ in _TABLE for key in keys.split()}
"""The keys that are read."""

SLOTLESS: Final = (
    "exec_host names no slots: CPUs are those requested, and so are nodes where "
    "Resource_List.nodect contradicts exec_host"
)
MISCOUNTED: Final = (
    "exec_host contradicts total_execution_slots or unique_node_count: exec_host is used"
)
WITHHELD: Final = (
    "the log has no records of starts (S), which say what jobs with whole nodes (place=excl) kept "
    "from others: their size is what they requested, a lower bound"
)

REQUEUED: Final = "REQUEUED"  # state of a run that ended so that its job waits again
SIGNAL: Final = 256  # exit statuses from here on are this plus the signal that killed the job
_DELETED_BY: Final = (SIGNAL + 2, SIGNAL + 9, SIGNAL + 15)
_OVER_WALLTIME: Final = -29
_OVER_MEMORY: Final = (-26, -27)
_TORQUE_OVER: Final = {-11: "TIMEOUT", -10: "OUT_OF_MEMORY"}
"""TORQUE's statuses; PBS Professional, which has run_count, uses them for something else."""

_TEN: Final = 10  # digits of epoch seconds from 2001 on
_WALLTIME: Final = "Resource_List.walltime"
_NODECT: Final = "Resource_List.nodect"
_NO_PROJECT: Final = "_pbs_project_default"
_NO_LIMIT: Final = ("-1", "unlimited", "infinity")
_SPAN: Final = r"^(?:(?:(?:([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,7}):)?([0-9]{1,10})(?:\.[0-9]*)?$"


def of_kind(kind: KeyKind) -> list[str]:
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


def typed(texts: pl.DataFrame, *, has_starts: bool = True) -> pl.DataFrame:
    """Convert records; return columns of ``REFUSED`` and ``RECORDS``, and ``remarks``.

    Args:
        texts: ``KEYS``, ``number`` and ``id`` of each record, ``kind`` (``QUEUED``, ``SIGHTING``,
            or ``LEFT`` for the end of an array as a whole), ``ends`` (whether it is the end of a
            run or of an array), ``rerun`` (whether the job then waits again), and ``instant``
            (epoch seconds of the head, if needed, or ``why`` they are unknown).
        has_starts: whether the log has records of starts.
    """
    times, counts, sizes = (of_kind(kind) for kind in (KeyKind.TIME, KeyKind.COUNT, KeyKind.SIZE))
    numbers = texts.select(
        *(_times(texts[name]) for name in times),
        *(_whole(pl.col(name)).alias(name) for name in counts),
        *(shaping.by_distinct(texts[name], _sizes)["bytes"].alias(name) for name in sizes),
        shaping.by_distinct(texts[_WALLTIME], _spans)["walltime_s"],
        status=pl.col("Exit_status").cast(pl.Int64, strict=False),
        **identified(pl.col("id")),
    )
    given = _unread(texts, numbers)
    frame = texts.drop(*times, *counts, *sizes).hstack(numbers)
    frame = frame.with_columns(**_amounts(texts, frame), **given.faults())
    queued, ends = pl.col("kind") == RecordKind.QUEUED, pl.col("ends")
    run = pl.col("kind") == RecordKind.SIGHTING
    start, end = pl.col("start"), pl.col("end")
    submit = pl.coalesce("ctime", "qtime", "etime", pl.when(queued).then("instant"))
    early, order, why = shaping.ends_early("fields start, end", "start", "end")
    faults = (
        (pl.col("job_number").is_null(), RefusalCode.VALUE, shown("id", "is not a job id")),
        (queued & submit.is_null(), RefusalCode.VALUE, shown("time", pl.col("why"))),
        (~queued & ~ends & start.is_null(), RefusalCode.VALUE, "field start is missing"),
        (ends & end.is_null(), RefusalCode.VALUE, "field end is missing"),
        (ends & early, order, why),
    )
    withheld = frame["ends"] & frame["Resource_List.place"].str.contains("excl") & (not has_starts)
    return frame.select(
        *("number", "kind", "job_number", "array_task", "user", "group", "walltime_s"),
        *Amounts._fields,
        *("req_cpus", *PLACE),
        job_id="id",
        account=pl.coalesce("account", pl.col("project").replace(_NO_PROJECT, None)),
        partition="queue",
        qos="Resource_List.qos",
        reservation=pl.coalesce("resvname", "resvID", "Resource_List.advres"),
        state=_state(),
        submit_time=submit,
        eligible_time="etime",
        start_time=pl.when(run).then("start"),
        end_time=pl.when(ends).then(end),
        occupancy_s=pl.when(run & ends).then(end - start),
        remarks=shaping.remarks(
            (frame["slotless"], SLOTLESS),
            (frame["miscounted"], MISCOUNTED),
            (withheld, WITHHELD),
            *given.doubts,
        ),
        **_tasks(frame),
        **shaping.faulted(faults, "problem", "code"),
    )


def _tasks(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the tasks for which records of arrays as a whole stand (`123[].server`)."""
    listed = pl.coalesce("array_indices_remaining", "array_indices").str.replace("%.*", "")
    whole = pl.col("array_task").is_null() & pl.col("id").str.contains("[", literal=True)
    lists = frame.select(pl.when(whole).then(listed)).to_series()
    number = shaping.task_counts(lists)
    return {"array_tasks": lists.set(number.is_null(), None), "tasks": number}


def shown(name: str, what: str | pl.Expr) -> pl.Expr:
    """Return the reason of a refusal, with the value of a column."""
    reason = pl.lit(what) if isinstance(what, str) else what
    return pl.format(f"field {name}: '{{}}' {{}}", pl.col(name).str.slice(0, shaping.SHOWN), reason)


def _state() -> pl.Expr:
    status, kind = pl.col("status"), pl.col("kind")
    torque = pl.col("run_count").is_null()
    over = (pl.col("end") - pl.col("start") >= pl.col("walltime_s")).fill_null(value=False)
    return shaping.case(
        (kind == RecordKind.QUEUED, JobState.PENDING),
        (kind == RecordKind.LEFT, JobState.CANCELLED),
        (~pl.col("ends"), JobState.RUNNING),
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
    return pl.when(value <= shaping.LARGEST).then(value)


def _unread(texts: pl.DataFrame, numbers: pl.DataFrame) -> shaping.Texts:
    """Return the texts with the times that cannot be read, and doubts about other values."""
    given = shaping.Texts(texts, "field")
    times = of_kind(KeyKind.TIME)
    for name in (*times, _WALLTIME, *of_kind(KeyKind.COUNT), *of_kind(KeyKind.SIZE)):
        text, value = texts[name], numbers["walltime_s" if name == _WALLTIME else name]
        bad = pl.repeat(value=False, n=len(text), eager=True)
        if value.null_count() > text.null_count():
            known = text.str.contains("^0+(?::0+)*$") | text.str.to_lowercase().is_in(
                list(_NO_LIMIT)
            )
            if name == _NODECT:
                known |= text.str.contains(":")  # read as `nodes`
            bad = text.is_not_null() & value.is_null() & ~known
        if name in times:
            given.check(name, bad, "is not a time in s")
            given.check(name, value > LATEST, "is too large: damaged, or not in s")
        else:
            given.doubt(name, bad)
    return given


PLACE: Final = PbsAllocation._fields[1:]
_PLACES: Final = dict.fromkeys(PLACE, pl.String)


def _amounts(texts: pl.DataFrame, numbers: pl.DataFrame) -> dict[str, pl.Series]:
    """Return CPUs, nodes, GPUs and memory: what was allocated, else what was requested; and where.

    The first known value counts, of: resources withheld from other jobs (on records of starts),
    vnodes, hosts, TORQUE's counts of these, the request. Impossible numbers are skipped. Hosts
    without slots say nothing about CPUs; if the request counts other nodes, they are no nodes.
    If CPUs are known and GPUs are not mentioned, GPUs are 0. A Cray's login node runs jobs for its
    compute nodes: where a job asked for more processes than it has CPUs there, these count.
    """
    listed = texts[_NODECT].str.contains(":").fill_null(value=False)
    spec = texts["Resource_List.nodes"]
    spec = spec.zip_with(spec.is_not_null() | ~listed, texts[_NODECT])
    lists = {
        "vnodes": (texts["exec_vnode"], _where(on_vnodes)),
        "hosts": (texts.select(_hosts()).to_series(), _where(on_hosts)),
        "select": (texts["Resource_List.select"], _each(selected)),
        "spec": (spec, _each(of_nodes)),
    }
    frame = numbers.select(*of_kind(KeyKind.COUNT), *of_kind(KeyKind.SIZE)).hstack(
        [
            column.alias(f"{name}_{column.name}")
            for name, (text, read) in lists.items()
            for column in shaping.by_distinct(text, read)
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
    """Return the amounts, the place and what is doubtful by what each part of a record says."""

    def assigned(name: str) -> tuple[str, str]:
        return f"resource_assigned.{name}", f"resources_assigned.{name}"

    def of(name: str) -> pl.Expr:
        return pl.col(f"Resource_List.{name}")

    slotless = pl.col("hosts_nodes").is_not_null() & pl.col("hosts_cpus").is_null()
    requested = pl.coalesce(of("nodect"), "spec_nodes")
    no_nodes = (slotless & (requested != pl.col("hosts_nodes"))).fill_null(value=False)
    hosts = pl.when(~no_nodes).then("hosts_nodes")
    counts = {"hosts_cpus": "total_execution_slots", "hosts_nodes": "unique_node_count"}
    here = pl.coalesce("vnodes_cpus", "hosts_cpus", "total_execution_slots")
    processes = of("mppwidth") * of("mppdepth").fill_null(1).clip(1)
    elsewhere = (processes > pl.coalesce(here, 0)).fill_null(value=False)
    given = pl.coalesce(*assigned("ncpus"), here)
    # PBS Professional sums `select`, and what `default_chunk` adds to it, in `ncpus`
    asked = pl.max_horizontal("select_cpus", "spec_cpus", of("procs"), of("ncpus"))
    cpus = pl.max_horizontal(pl.coalesce(given, asked), processes)
    cpus = pl.when(cpus <= shaping.LARGEST).then(cpus)
    spread = -(-of("mppwidth") // of("mppnppn").clip(1))
    nodes = pl.coalesce("vnodes_nodes", hosts, "unique_node_count")
    nodes = pl.coalesce(pl.when(elsewhere).then(spread).otherwise(nodes), "spec_nodes")
    gpus = (*assigned("ngpus"), "vnodes_gpus", "hosts_gpus")
    on_nodes = ("vnodes_mem_bytes", "hosts_mem_bytes")
    memory = (*assigned("mem"), *on_nodes, of("mem"), "select_mem_bytes")
    part = {
        name: pl.when(~elsewhere & ~no_nodes).then(pl.coalesce(f"vnodes_{name}", f"hosts_{name}"))
        for name in PLACE
    }
    return {
        "cpus": cpus,
        "nodes": pl.coalesce(nodes, of("nodect"), "select_nodes"),
        "req_cpus": pl.when(asked.is_not_null()).then(pl.max_horizontal(asked, processes)),
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
        "slotless": slotless & ~elsewhere,
        "miscounted": pl.any_horizontal(pl.col(a) != pl.col(b) for a, b in counts.items()),
    }


def _product(size: pl.Expr, number: pl.Expr) -> pl.Expr:
    return pl.when(size <= MOST_BYTES // number.clip(1)).then(size * number)


@cache
def _each(read: Callable[[str], Amounts]) -> Callable[[pl.Series], pl.DataFrame]:
    return lambda texts: shaping.table(map(read, texts), Amounts._fields)


@cache
def _where(read: Callable[[str], PbsAllocation]) -> Callable[[pl.Series], pl.DataFrame]:
    def columns(texts: pl.Series) -> pl.DataFrame:
        rows = [read(text) for text in texts]
        amounts = shaping.table((row.amounts for row in rows), Amounts._fields)
        places = pl.DataFrame([row[1:] for row in rows], _PLACES, orient="row")
        return amounts.hstack(places)

    return columns


def _spans(texts: pl.Series) -> pl.DataFrame:
    read = texts.to_frame("text").select(walltime_s=shaping.clock(pl.col("text"), _SPAN))
    return read.select(pl.when(pl.col("walltime_s").is_between(1, LATEST)).then("walltime_s"))


def _sizes(texts: pl.Series) -> pl.DataFrame:
    return shaping.table(((size(text),) for text in texts), ("bytes",))
