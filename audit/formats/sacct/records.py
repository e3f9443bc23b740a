"""Columns of sacct's text → typed records. Conventions: see ``text``."""

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

from audit.formats.instants import LATEST, UNKNOWN, Instants, instants
from audit.formats.sacct.columns import BY_NAME
from audit.formats.sacct.repeated import TIMES, UNDECIDED, placed, settled
from audit.formats.shaping import LARGEST, Fault, Texts, by_distinct, ends_early, faulted, remarks
from audit.formats.slurm import fields
from audit.formats.slurm.fields import FieldKind
from audit.hostlists import count
from audit.model import WAITING, JobState, RecordKind, RefusalCode

OPEN: Final = (
    *(JobState.RUNNING.value, "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "STOPPED"),
    *("SIGNALING", "STAGE_OUT"),
)
"""States of jobs that have started and not ended; the first part of a RESIZING job has an end."""

_NOT_KNOWN: Final = [*UNKNOWN, "UNLIMITED", "Partition_Limit", ""]
_NAMES: Final = ("Cluster", "User", "Account", "Group", "Partition", "QOS")
_NO_NAMES: Final = ("Reason", "Reservation", "Constraints")  # columns in which `None` means none

_GRES: Final = ("AllocGRES", "ReqGRES")
BATCH: Final = "AllocTRES of .batch"
"""Name of a column of jobs: what their batch step had, on the first of their nodes."""

_NEEDED: Final = ("Elapsed", "ElapsedRaw", "Suspended", "State")
"""Columns of one value or list for which a record is refused; others are then unknown."""

PENDING_TASKS: Final = "array_task_pending"
"""Name of a column of jobs: how many tasks of their array wait, where ids may be cut."""

_NO_NODE: Final = ("None assigned", "None", "(null)")  # NodeList of a job that never had a node


def typed(texts: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Convert the columns of jobs; return columns of ``REFUSED`` and ``RECORDS``.

    ``texts`` holds ``number``, the columns of the log, by sacct's names, and maybe ``BATCH`` and
    ``PENDING_TASKS``; null where empty.
    """
    given = _Columns(texts, "column")
    times = {name: instants(given.text(name), zone) for name in TIMES if name in given}
    elapsed = _first(given.value("ElapsedRaw"), given.value("Elapsed"))
    suspended = given.value("Suspended")
    id_name = "JobID" if "JobID" in given else "JobIDRaw"
    ids = given.text(id_name)
    numbers = ids.str.extract("^([0-9]{1,18})").cast(pl.Int64)
    limit = _first(given.value("TimelimitRaw") * 60, given.value("Timelimit"))
    amounts = _amounts(given)
    read = settled(times, elapsed, suspended, numbers)
    read = placed(read, times, given.text("NodeList"), amounts["cpus"])
    columns = {
        **fields.waiting_tasks(ids, given.text(PENDING_TASKS)).to_dict(),
        "elapsed": elapsed,
        "suspended_s": suspended,
        **amounts,
        **_with_absent(read, times, elapsed, suspended),
        "node_amounts": _on_two_nodes(given.text(BATCH), amounts),
        "walltime_s": limit.set(limit == 0, None),  # no limit
        "priority": given.value("Priority"),
    }
    given.check(id_name, ids.is_null() | fields.unreadable(ids, FieldKind.ID), "is not a job id")
    given.listed("State")
    for name, of in times.items():
        given.check(name, of.problem.is_not_null(), of.problem, RefusalCode.TIME)
    for name in (*_NAMES, *_NO_NAMES, "State", "NodeList", "SubmitLine"):
        columns[name] = given.text(name)
    frame = pl.DataFrame({"number": texts["number"], "job_id": ids, **columns, **given.faults()})
    return _records(frame, given)


class _Columns(Texts):
    def value(self, name: str) -> pl.Series:
        """Return a column of one value each; unreadable ones are recorded."""
        kind = BY_NAME[name.lower()].kind
        text = self.text(name)
        value = _CONVERTERS[kind](text)
        if kind is FieldKind.COUNT:
            bad = ~value.is_between(0, LARGEST)
        elif kind is FieldKind.NUMBER:
            bad = ~value.is_finite()
        else:  # what lasts less than nothing is found with the times
            bad = value > LATEST
        bad = bad.fill_null(value=False)
        if value.null_count() > text.null_count():
            bad |= text.is_not_null() & value.is_null() & ~text.is_in(_NOT_KNOWN)
        self._unread(name, bad)
        return value.set(bad, None) if bad.any() else value

    def listed(self, name: str) -> pl.DataFrame:
        """Return a column of several amounts each, and whether it is ``bad``.

        Unreadable and impossible amounts are recorded.
        """
        read = by_distinct(self.text(name), _LISTED[BY_NAME[name.lower()].kind])
        bad = read["bad"].fill_null(value=False)
        for amount in {"cpus", "nodes", "gpus"}.intersection(read.columns):
            bad |= ~read[amount].is_between(0, LARGEST).fill_null(value=True)
        self._unread(name, bad)
        if bad.any():
            read = read.with_columns(pl.when(~pl.lit(bad)).then(pl.all()).name.keep())
        return read.with_columns(bad=bad)

    def _unread(self, name: str, bad: pl.Series) -> None:
        """Record where a column cannot be read: a problem if it is needed, else a doubt."""
        if name in _NEEDED:
            self.check(name, bad, f"is not a valid {BY_NAME[name.lower()].kind.value}")
        else:
            self.doubt(name, bad)


def _durations(text: pl.Series) -> pl.Series:
    return by_distinct(text, _read_durations)["value"]


def _read_durations(text: pl.Series) -> pl.DataFrame:
    return text.to_frame("text").select(value=fields.durations(pl.col("text")))


def _whole(text: pl.Series) -> pl.Series:
    return text.cast(pl.Int64, strict=False)


def _count(text: pl.Series) -> pl.Series:
    plain = _whole(text)
    if plain.null_count() == text.null_count():
        return plain
    return text.to_frame("t").select(value=fields.amounts(pl.col("t")))["value"]


_CONVERTERS: Final[dict[FieldKind, Callable[[pl.Series], pl.Series]]] = {
    FieldKind.DURATION: _durations,
    FieldKind.MINUTES: _whole,
    FieldKind.SECONDS: _whole,
    FieldKind.COUNT: _count,
    FieldKind.NUMBER: lambda text: text.cast(pl.Float64, strict=False),
}


def _reader(
    kind: FieldKind, columns: Callable[[pl.Expr], dict[str, pl.Expr]]
) -> Callable[[pl.Series], pl.DataFrame]:
    return lambda text: text.to_frame("text").select(
        **columns(pl.col("text")), bad=fields.unreadable(text, kind)
    )


_LISTED: Final = {
    FieldKind.TRES: _reader(FieldKind.TRES, fields.tres),
    FieldKind.GRES: _reader(FieldKind.GRES, fields.gres),
    FieldKind.MEMORY: _reader(FieldKind.MEMORY, lambda text: {"memory": fields.memory(text)}),
    FieldKind.STATE: _reader(FieldKind.STATE, lambda text: {}),
}


def _with_absent(
    found: dict[str, pl.Series],
    times: Mapping[str, Instants],
    elapsed: pl.Series,
    suspended: pl.Series,
) -> dict[str, pl.Series]:
    """Return times with the start or end that Elapsed gives if the log has no such column."""
    spent = elapsed + suspended.fill_null(0)
    if "End" not in times:
        return {**found, "end_time": found["start_time"] + spent}
    if "Start" not in times:
        return {**found, "start_time": found["end_time"] - spent}
    return found


def _first(one: pl.Series, other: pl.Series) -> pl.Series:
    return one.zip_with(one.is_not_null(), other)


def _amounts(given: _Columns) -> dict[str, pl.Series]:
    lists = {"got": given.listed("AllocTRES"), "asked": given.listed("ReqTRES")}
    counts = ("AllocCPUS", "NCPUS", "ReqCPUS", "AllocNodes", "NNodes", "ReqNodes")
    frame = pl.DataFrame(
        {
            **{f"{name}_{of.name}": of for name, columns in lists.items() for of in columns},
            **{name: given.value(name) for name in counts},
            **{f"{of.name} {name}": of for name in _GRES for of in given.listed(name)},
            "memory": given.listed("ReqMem")["memory"],
            "alloc": given.text("AllocTRES"),
            "req": given.text("ReqTRES"),
        }
    ).unnest("memory")
    frame = frame.with_columns(named=_named(frame, given.text("NodeList")))
    outvoted = _outvoted()
    allocated = pl.col("alloc").is_not_null()
    got, asked = (pl.col(of).is_not_null() & ~pl.col(f"{name}_bad") for of, name in _READABLE)
    cpus = _first_positive("got_cpus", *_CPUS, "asked_cpus", "ReqCPUS")
    cpus = pl.when(outvoted).then(_first_positive(*_CPUS, "got_cpus")).otherwise(cpus)
    nodes = _first_positive("got_nodes", *_NODES, "asked_nodes", "ReqNodes")
    nodes = pl.when(outvoted).then("named").otherwise(nodes)
    gpus = pl.coalesce(
        *("got_gpus", "gpus AllocGRES", pl.when(~got).then("asked_gpus"), "gpus ReqGRES"),
        # a list of other resources: there are none
        pl.when(got | asked).then(0),
    )
    requested = pl.coalesce("asked_gpus", "gpus ReqGRES")
    types = pl.coalesce("asked_gpu_types", "gpu_types ReqGRES")
    given_types = pl.coalesce("got_gpu_types", "gpu_types AllocGRES", types)
    req_cpus = _first_positive("asked_cpus", "ReqCPUS")
    times = pl.when(pl.col("per") == "c").then(cpus).when(pl.col("per") == "n").then(nodes)
    whole = pl.col("bytes") * pl.when(pl.col("per") == "").then(1).otherwise(times)
    return frame.select(
        "AllocNodes",
        cpus=cpus,
        nodes=nodes,
        gpus=gpus.cast(pl.Int64),
        gpu_types=pl.when(gpus > 0).then(given_types),
        any_gpu_type=pl.when(requested > 0).then(types.is_null()),
        mem_bytes=pl.coalesce("got_mem_bytes", "asked_mem_bytes", whole),
        req_cpus=pl.when(req_cpus > 0).then(req_cpus),
        req_mem_bytes="asked_mem_bytes",
        # slurmctld raises ReqCPUS, not ReqTRES, if the memory per CPU exceeds MaxMemPerCPU
        req_for_memory=pl.when(pl.col("asked_cpus") > 0).then(
            pl.col("ReqCPUS") > pl.col("asked_cpus")
        ),
        allocated=allocated,
        outvoted=outvoted,
        contradicted=~outvoted & (_differ("got_cpus", *_CPUS) | _differ("got_nodes", *_NODES)),
    ).to_dict()


_READABLE: Final = (("alloc", "got"), ("req", "asked"))  # a text, and its amounts
_CPUS: Final = ("AllocCPUS", "NCPUS")
_NODES: Final = ("AllocNodes", "NNodes")

CONTRADICTED: Final = (
    "AllocTRES contradicts AllocCPUS, NCPUS, AllocNodes or NNodes: AllocTRES is used, because "
    "Slurm charges and limits by it"
)
OUTVOTED: Final = (
    "AllocTRES contradicts the number of nodes in NodeList: NodeList is used, and AllocCPUS or "
    "NCPUS where known"
)
CUT: Final = (
    "Slurm cut the id of an array's waiting tasks: only those that it lists are counted, so the "
    "number of waiting tasks is a lower bound"
)
_ROUNDED: Final = 0.01  # relative difference of amounts such as 1.46K


def _differ(amount: str, *others: str) -> pl.Expr:
    """Return whether an amount differs from one of others; unknown ones do not."""
    both = (_known(amount) & _known(other) for other in others)
    apart = ((pl.col(amount) - pl.col(of)).abs() > _ROUNDED * pl.col(of) for of in others)
    return pl.any_horizontal(a & b for a, b in zip(both, apart, strict=True)).fill_null(value=False)


def _known(*names: str) -> pl.Expr:
    return pl.any_horizontal((pl.col(name) > 0).fill_null(value=False) for name in names)


def _named(frame: pl.DataFrame, lists: pl.Series) -> pl.Series:
    """Return how many nodes NodeList names where that may decide; null elsewhere."""
    several = pl.col("list").str.contains(r"[,\[]")
    matters = _differ("got_nodes", *_NODES) | (~_known(*_NODES) & _known("got_nodes") & several)
    some = matters & ~pl.col("list").is_in(list(_NO_NODE))
    chosen = frame.with_columns(list=lists).select(pl.when(some).then("list"))
    return by_distinct(chosen.to_series(), _counted)["nodes"]


def _counted(lists: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"nodes": [count(text) for text in lists]}, schema={"nodes": pl.Int64})


def _outvoted() -> pl.Expr:
    """Return whether the nodes that are named contradict AllocTRES, and a count agrees with them.

    Without a count, only a list of more nodes is evidence: an anonymised one may name fewer.
    """
    named = pl.col("named")
    agrees = pl.any_horizontal((pl.col(of) == named).fill_null(value=False) for of in _NODES)
    more = ~_known(*_NODES) & (named > pl.col("got_nodes"))
    differs = named.is_between(1, LARGEST) & (pl.col("got_nodes") != named)
    return (differs & (agrees | more)).fill_null(value=False)


def _on_two_nodes(batch: pl.Series, amounts: dict[str, pl.Series]) -> pl.Series:
    """Return ``node_amounts`` of jobs on two nodes: what the batch step lacks is on the other."""
    if batch.null_count() == len(batch):
        return batch
    batch = batch.set((amounts["nodes"] != 2).fill_null(value=True), None)
    names = ("cpus", "gpus", "mem_bytes")
    frame = by_distinct(batch, _LISTED[FieldKind.TRES]).select(names)
    gpus = pl.when(batch.is_not_null()).then(pl.col("gpus").fill_null(0))
    parts = []
    for name in names:
        first, whole = (gpus if name == "gpus" else pl.col(name)), pl.lit(amounts[name])
        rest = whole - first
        same, differ = pl.format("{}(x2)", first), pl.format("{},{}", first, rest)
        text = pl.when(first == rest).then(same).otherwise(differ)
        parts.append(pl.when((rest >= 0) & (whole > 0)).then(pl.format(f"{name}={{}}", text)))
    joined = pl.concat_str(parts, separator=" ", ignore_nulls=True)
    return frame.select(pl.when(joined != "").then(joined).alias("node_amounts")).to_series()


def _first_positive(*names: str) -> pl.Expr:
    """Return the first amount above 0; 0 where the log has no other."""
    return pl.coalesce(*(pl.when(pl.col(name) > 0).then(name) for name in names), *names)


def _records(frame: pl.DataFrame, given: _Columns) -> pl.DataFrame:
    named = pl.col("State")
    by_whom = named.str.starts_with("CANCELLED by ")
    state = pl.when(by_whom).then(pl.lit(JobState.CANCELLED)).otherwise("State")
    start, end = pl.col("start_time"), pl.col("end_time")
    is_open, waits = (state.is_in(list(some)).fill_null(value=False) for some in (OPEN, WAITING))
    resized = (state == "RESIZING").fill_null(value=False) & (end > start)
    no_time = (start == end) & (pl.col("elapsed").fill_null(0) == 0)
    cancelled = (state == JobState.CANCELLED).fill_null(value=False)
    # NodeList first: newer versions count AllocNodes from AllocTRES, which older ones filled with
    # the request. An empty list alone means nothing (logs are anonymised).
    had_node = (
        pl.when(pl.col("NodeList").is_not_null())
        .then(~pl.col("NodeList").is_in(list(_NO_NODE)))
        .when(pl.lit("AllocNodes" in given))
        .then((pl.col("AllocNodes") > 0).fill_null(value=False))
        .otherwise(pl.col("allocated") | ~(cancelled | pl.lit("AllocTRES" in given)))
    )
    never = waits | (no_time & ~had_node & ~is_open).fill_null(value=False)
    frame = frame.with_columns(
        state=state,
        start_time=pl.when(~never).then(start),
        end_time=pl.when(~waits & (~is_open | resized)).then(end),
    )
    occupancy = end - start
    lost = (occupancy - pl.col("elapsed")).clip(0)
    return frame.select(
        *("number", "job_id", "state", "priority", "submit_time", "eligible_time"),
        *("start_time", "end_time", "walltime_s", "cpus", "nodes", "gpus", "mem_bytes"),
        *("gpu_types", "any_gpu_type", "req_cpus", "req_mem_bytes", "req_for_memory"),
        *("array_tasks", "tasks"),
        *(pl.col(name).replace("(null)", None).alias(name.lower()) for name in _NAMES),
        *(pl.col(n).replace(["None", "(null)"], None).alias(n.lower()) for n in _NO_NAMES),
        **fields.id_parts(pl.col("job_id")),
        **fields.submitted(pl.col("SubmitLine"), pl.col("job_id")),
        node_list=pl.when(~pl.col("NodeList").is_in(list(_NO_NODE))).then("NodeList"),
        node_amounts="node_amounts",
        kind=pl.lit(RecordKind.EXECUTION),
        occupancy_s=occupancy,
        suspended_s=pl.when(start.is_not_null()).then(pl.coalesce("suspended_s", lost)),
        remarks=remarks(
            (frame["undecided"], UNDECIDED),
            (frame["contradicted"], CONTRADICTED),
            (frame["outvoted"], OUTVOTED),
            (frame["cut"], CUT),
            *given.doubts,
        ),
        **faulted(_faults(waits, "Submit" in given), "problem", "code"),
    )


def _faults(waits: pl.Expr, has_submit: bool) -> list[Fault]:
    submit, start, end = (pl.col(f"{name}_time") for name in ("submit", "start", "end"))
    order = ends_early("columns Start, End")
    if has_submit:
        unknown = "column Submit: when it was submitted is unknown"
        return [(submit.is_null(), RefusalCode.VALUE, unknown), order]
    timeless = start.is_null() & end.is_null() & ~waits
    return [order, (timeless, RefusalCode.VALUE, "no time is known of it")]
