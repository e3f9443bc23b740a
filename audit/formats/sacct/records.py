"""Columns of sacct's text → typed records, and what is wrong with those that are none.

The rules are those of the module docstring of ``text``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from audit.formats.instants import LATEST, UNKNOWN, Instants, instants
from audit.formats.sacct.columns import BY_NAME
from audit.formats.shaping import LARGEST, Fault, Texts, by_distinct, faulted
from audit.formats.slurm import fields
from audit.formats.slurm.fields import Kind
from audit.model import WAITING, JobState, RecordKind, RefusalCode

OPEN: Final = (
    *(JobState.RUNNING.value, "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "STOPPED"),
    *("SIGNALING", "STAGE_OUT"),
)
"""States of what has started and not ended; RESIZING apart, whose first part has an end."""

_NOT_KNOWN: Final = [*UNKNOWN, "UNLIMITED", "Partition_Limit", ""]
_TIMES: Final = ("Submit", "Eligible", "Start", "End")
_NAMES: Final = {
    "cluster": "Cluster",
    "user": "User",
    "account": "Account",
    "group": "Group",
    "partition": "Partition",
    "qos": "QOS",
}
_NO_NAMES: Final = {"reason": "Reason", "reservation": "Reservation"}
"""Columns in which `None` says that there is none."""

_NO_NODE: Final = ("None assigned", "None", "(null)")
"""What NodeList says of a job that never had a node."""


def typed(texts: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Convert the columns of jobs; return columns of ``REFUSED`` and ``RECORDS``.

    Args:
        texts: ``number`` and the columns that the log has, by sacct's names; null where empty.
        zone: of local times.
    """
    given = _Columns(texts, "column")
    times = {name: instants(given.text(name), zone) for name in _TIMES if name in given}
    elapsed = _first(given.value("ElapsedRaw"), given.value("Elapsed"))
    suspended = given.value("Suspended")
    chosen = _settled(times, elapsed, suspended, len(texts))
    amounts = _amounts(given)
    walltime = _first(given.value("TimelimitRaw") * 60, given.value("Timelimit"))
    priority = given.value("Priority")
    id_name = "JobID" if "JobID" in given else "JobIDRaw"
    ids = given.text(id_name)
    given.check(id_name, ids.is_null() | fields.unreadable(ids, Kind.ID), "is no job id")
    given.listed("State")
    for name, read in times.items():
        given.check(name, read.problem.is_not_null(), read.problem, RefusalCode.TIME)
    frame = pl.DataFrame(
        {
            "number": texts["number"],
            "job_id": ids,
            **{name: given.text(column) for name, column in {**_NAMES, **_NO_NAMES}.items()},
            "state": given.text("State"),
            "priority": priority,
            **{f"{name.lower()}_time": chosen[name] for name in _TIMES},
            "elapsed": elapsed,
            "suspended_s": suspended,
            "walltime_s": walltime,
            **amounts,
            "NodeList": given.text("NodeList"),
            **given.faults(),
        }
    )
    return _records(frame, given)


class _Columns(Texts):
    """The columns that a log has, converted by what ``columns.COLUMNS`` says of them."""

    def value(self, name: str) -> pl.Series:
        """A column of one value each; what is readable neither so nor as unknown is noted."""
        kind = BY_NAME[name.lower()].kind
        text = self.text(name)
        value = _CONVERTERS[kind](text)
        if value.null_count() > text.null_count():
            bad = text.is_not_null() & value.is_null() & ~text.is_in(_NOT_KNOWN)
            self.check(name, bad, f"is no {kind.value}")
        if kind is not Kind.NUMBER:
            largest = LARGEST if kind is Kind.COUNT else LATEST
            self.check(name, value > largest, f"is no {kind.value} that can be")
        return value

    def listed(self, name: str) -> pl.DataFrame:
        """A column of several amounts each; what is not readable, or too large, is noted."""
        kind = BY_NAME[name.lower()].kind
        read = by_distinct(self.text(name), _LISTED[kind])
        self.check(name, read["bad"], f"is no {kind.value}")
        for amount in ("cpus", "nodes", "gpus"):
            if amount in read.columns:
                self.check(name, read[amount] > LARGEST, "names more than can be")
        return read.drop("bad")


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


_CONVERTERS: Final[dict[Kind, Callable[[pl.Series], pl.Series]]] = {
    Kind.DURATION: _durations,
    Kind.MINUTES: _whole,
    Kind.SECONDS: _whole,
    Kind.COUNT: _count,
    Kind.NUMBER: lambda text: text.cast(pl.Float64, strict=False),
}


def _reader(
    kind: Kind, columns: Callable[[pl.Expr], dict[str, pl.Expr]]
) -> Callable[[pl.Series], pl.DataFrame]:
    return lambda text: text.to_frame("text").select(
        **columns(pl.col("text")), bad=fields.unreadable(text, kind)
    )


_LISTED: Final = {
    Kind.TRES: _reader(Kind.TRES, fields.tres),
    Kind.GRES: _reader(Kind.GRES, lambda text: {"gpus": fields.gres_gpus(text)}),
    Kind.MEMORY: _reader(Kind.MEMORY, lambda text: {"memory": fields.memory(text)}),
    Kind.STATE: _reader(Kind.STATE, lambda text: {}),
}


def _first(one: pl.Series, other: pl.Series) -> pl.Series:
    return one.zip_with(one.is_not_null(), other)


def _settled(
    times: dict[str, Instants], elapsed: pl.Series, suspended: pl.Series, height: int
) -> dict[str, pl.Series]:
    """One reading of each time, where a clock change allows for two."""
    nothing = pl.Series([None], dtype=pl.Int64).new_from_index(0, height)
    early = {name: times[name].early if name in times else nothing for name in _TIMES}
    late = {name: times[name].late if name in times else nothing for name in _TIMES}
    if all(early[name] is late[name] for name in _TIMES):
        return early
    frame = pl.DataFrame(
        {
            **{f"{name}0": early[name] for name in _TIMES},
            **{f"{name}1": late[name] for name in _TIMES},
            "spent": elapsed + suspended.fill_null(0),
        }
    )
    submit = pl.col("Submit0")
    ready = pl.when(pl.col("Eligible0") < submit).then("Eligible1").otherwise("Eligible0")
    ways = [(pl.col(f"Start{a}"), pl.col(f"End{b}")) for a, b in ((0, 0), (0, 1), (1, 1), (1, 0))]
    possible = [
        ((start >= submit).fill_null(value=True) & (end >= start).fill_null(value=True), start, end)
        for start, end in ways
    ]
    exact = [(fair & (end - start == pl.col("spent")), start, end) for fair, start, end in possible]
    choices = [*exact, *possible]
    read = frame.select(
        Submit=submit,
        Eligible=ready,
        Start=pl.coalesce(*(pl.when(fair).then(start) for fair, start, _ in choices), "Start0"),
        # with the start: the first way that is possible at all
        End=pl.coalesce(
            *(pl.when(fair & end.is_not_null()).then(end) for fair, _, end in choices), "End0"
        ),
    )
    return {name: read[name] for name in _TIMES}


def _amounts(given: _Columns) -> dict[str, pl.Series]:
    """CPUs, nodes, GPUs and memory: what was allocated, else what was asked for."""
    got, asked = given.listed("AllocTRES"), given.listed("ReqTRES")
    names = ("AllocCPUS", "NCPUS", "ReqCPUS", "AllocNodes", "NNodes", "ReqNodes")
    count = {name: given.value(name) for name in names}
    gres = {name: given.listed(name)["gpus"] for name in ("AllocGRES", "ReqGRES")}
    frame = pl.DataFrame(
        {
            **{f"got_{series.name}": series for series in got},
            **{f"asked_{series.name}": series for series in asked},
            **count,
            **gres,
            "memory": given.listed("ReqMem")["memory"],
            "alloc": given.text("AllocTRES"),
            "req": given.text("ReqTRES"),
        }
    ).unnest("memory")
    nothing_given = pl.col("alloc").is_null()
    cpus = _first_positive("got_cpus", "AllocCPUS", "NCPUS", "asked_cpus", "ReqCPUS")
    nodes = _first_positive("got_nodes", "AllocNodes", "NNodes", "asked_nodes", "ReqNodes")
    gpus = pl.coalesce(
        "got_gpus",
        "AllocGRES",
        pl.when(nothing_given).then("asked_gpus"),
        "ReqGRES",
        # a list that names other resources says that there are none
        pl.when(~nothing_given | pl.col("req").is_not_null()).then(0),
    )
    times = pl.when(pl.col("per") == "c").then(cpus).when(pl.col("per") == "n").then(nodes)
    whole = pl.col("bytes") * pl.when(pl.col("per") == "").then(1).otherwise(times)
    return frame.select(
        cpus=cpus,
        nodes=nodes,
        gpus=gpus.cast(pl.Int64),
        mem_bytes=pl.coalesce("got_mem_bytes", "asked_mem_bytes", whole),
        allocated=pl.col("alloc").is_not_null(),
        AllocNodes="AllocNodes",
    ).to_dict()


def _first_positive(*names: str) -> pl.Expr:
    """The first that is more than 0; 0 where the log says so and nothing else."""
    return pl.coalesce(*(pl.when(pl.col(name) > 0).then(name) for name in names), *names)


def _records(frame: pl.DataFrame, given: _Columns) -> pl.DataFrame:
    """The columns of ``RECORDS``: what started, what ended, what is still there."""
    state = (
        pl.when(pl.col("state").str.starts_with("CANCELLED by "))
        .then(pl.lit(JobState.CANCELLED.value))
        .otherwise("state")
    )
    start, end = pl.col("start_time"), pl.col("end_time")
    is_open, waits = state.is_in(list(OPEN)), state.is_in(list(WAITING))
    is_open, waits = is_open.fill_null(value=False), waits.fill_null(value=False)
    resized = (state == "RESIZING").fill_null(value=False) & (end > start)
    no_time = (start == end) & (pl.col("elapsed").fill_null(0) == 0)
    cancelled = (state == JobState.CANCELLED).fill_null(value=False)
    # NodeList first: newer versions count AllocNodes from AllocTRES, which older ones filled with
    # what was asked for. An empty list alone says nothing (logs are anonymised).
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
        *(pl.col(name).replace("(null)", None) for name in _NAMES),
        *(pl.col(name).replace(["None", "(null)"], None) for name in _NO_NAMES),
        **fields.id_parts(pl.col("job_id")),
        kind=pl.lit(RecordKind.EXECUTION.value),
        occupancy_s=occupancy,
        suspended_s=pl.when(start.is_not_null()).then(pl.coalesce("suspended_s", lost)),
        **faulted(_faults(waits, "Submit" in given), "problem", "code"),
    )


def _faults(waits: pl.Expr, has_submit: bool) -> list[Fault]:
    """What can be wrong with times that were all read."""
    submit, start, end = (pl.col(f"{name}_time") for name in ("submit", "start", "end"))
    early = pl.format("ends {} s before it starts (columns Start, End)", start - end)
    order = (end < start, RefusalCode.ORDER, early)
    if has_submit:
        unknown = "column Submit: when it was submitted is unknown"
        return [(submit.is_null(), RefusalCode.VALUE, unknown), order]
    timeless = start.is_null() & end.is_null() & ~waits
    return [order, (timeless, RefusalCode.VALUE, "no time is known of it")]
