"""Columns of sacct's text → typed records, and what is wrong with those that are none.

The rules are those of the module docstring of ``sacct``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from audit.formats.instants import LATEST, UNKNOWN, Instants, instants
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

_SHOWN: Final = 40
"""Characters of a value that a refusal shows."""


def typed(texts: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Converts the columns of jobs.

    Args:
        texts: ``number`` (of the line) and the columns that the log has, by sacct's names; null
            where empty.
        zone: that local times are of.

    Returns:
        ``number``, ``problem`` and ``code`` (null where there is none) and the columns of
        ``RECORDS`` but for line and offset.
    """
    given = _Columns(texts)
    times = {name: instants(given.text(name), zone) for name in _TIMES if name in given}
    elapsed = _elapsed(given)
    suspended = given.value("Suspended", Kind.DURATION, _durations)
    chosen = _settled(times, elapsed, suspended, len(texts))
    amounts = _amounts(given)
    walltime = pl.coalesce(
        given.value("TimelimitRaw", Kind.MINUTES, _whole).alias("a") * 60,
        given.value("Timelimit", Kind.DURATION, _durations).alias("b"),
        eager=True,
    )
    priority = given.value("Priority", Kind.NUMBER, _float)
    id_name = "JobID" if "JobID" in given else "JobIDRaw"
    ids = given.text(id_name)
    given.check(id_name, ids.is_null() | fields.unreadable(ids, Kind.ID), "is no job id")
    state = fields.by_distinct(given.text("State"), _read_state)
    given.check("State", state["bad"].fill_null(value=False), "is no state")
    for name, read in times.items():
        given.check(name, read.problem.is_not_null(), read.problem, RefusalCode.TIME)
    frame = pl.DataFrame(
        {
            "number": texts["number"],
            "job_id": ids,
            **{name: given.text(column) for name, column in _NAMES.items()},
            **{name: given.text(column) for name, column in _NO_NAMES.items()},
            "state": given.text("State"),
            "priority": priority,
            **{f"{name.lower()}_time": chosen[name] for name in _TIMES},
            "elapsed": elapsed,
            "suspended_s": suspended,
            "walltime_s": walltime,
            **amounts,
            "had_node": _had_node(given, amounts["AllocNodes"]),
            "problem": given.problem(),
            "code": given.code(),
        }
    )
    return _shaped(frame, has_submit="Submit" in given, tells_size="AllocTRES" in given)


class _Columns:
    """The columns that a log has, and what of them could not be read."""

    def __init__(self, texts: pl.DataFrame) -> None:
        self._texts = texts
        self._problems: list[pl.Series] = []
        self._codes: list[pl.Series] = []
        self._nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))

    def __contains__(self, name: str) -> bool:
        return name in self._texts.columns

    def text(self, name: str) -> pl.Series:
        """A column; nulls where the log does not have it."""
        return self._texts[name] if name in self else self._nothing

    def value(self, name: str, kind: Kind, convert: Callable[[pl.Series], pl.Series]) -> pl.Series:
        """A converted column; what is readable neither as a value nor as unknown is noted."""
        text = self.text(name)
        value = convert(text)
        if value.null_count() > text.null_count():
            bad = text.is_not_null() & value.is_null() & ~text.is_in(_NOT_KNOWN)
            self.check(name, bad, f"is no {kind.value}")
        largest = fields.LARGEST if kind is Kind.COUNT else LATEST
        if kind is not Kind.NUMBER:
            self.check(name, value > largest, f"is no {kind.value} that can be")
        return value

    def check(
        self,
        name: str,
        bad: pl.Series,
        what: str | pl.Series,
        code: RefusalCode = RefusalCode.VALUE,
    ) -> None:
        """Notes what is wrong with the rows that are ``bad``."""
        if not bad.any():  # null counts as fine
            return
        reason = pl.lit(what) if isinstance(what, str) else what
        value = self.text(name).fill_null("").str.slice(0, _SHOWN)
        text = pl.select(pl.format("column {}: '{}' {}", pl.lit(name), pl.lit(value), reason))
        bad = bad.fill_null(value=False)
        self._problems.append(text.to_series().zip_with(bad, self._nothing))
        kind = pl.Series([code.value]).new_from_index(0, len(bad))
        self._codes.append(kind.zip_with(bad, self._nothing))

    def problem(self) -> pl.Series:
        """The first that is wrong with each row."""
        return self._first(self._problems)

    def code(self) -> pl.Series:
        """Of which kind that is."""
        return self._first(self._codes)

    def _first(self, found: list[pl.Series]) -> pl.Series:
        if not found:
            return self._nothing
        return pl.coalesce(*(each.alias(str(n)) for n, each in enumerate(found)), eager=True)


def _elapsed(given: _Columns) -> pl.Series:
    raw = given.value("ElapsedRaw", Kind.SECONDS, _whole)
    return pl.coalesce(
        raw.alias("a"), given.value("Elapsed", Kind.DURATION, _durations).alias("b"), eager=True
    )


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
    got, asked = _tres(given, "AllocTRES"), _tres(given, "ReqTRES")
    count = {
        name: given.value(name, Kind.COUNT, _amount)
        for name in ("AllocCPUS", "NCPUS", "ReqCPUS", "AllocNodes", "NNodes", "ReqNodes")
    }
    gres = {name: _gres(given, name) for name in ("AllocGRES", "ReqGRES")}
    memory = _memory(given)
    frame = pl.DataFrame(
        {
            **{f"got_{name}": series for name, series in got.items()},
            **{f"asked_{name}": series for name, series in asked.items()},
            **count,
            **gres,
            "bytes": memory["bytes"],
            "per": memory["per"],
            "alloc": given.text("AllocTRES"),
            "req": given.text("ReqTRES"),
        }
    )
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


def _had_node(given: _Columns, count: pl.Series) -> pl.Series:
    """Whether a job ever had a node; null where no column says.

    What NodeList says comes first: newer versions count AllocNodes from AllocTRES, which older
    ones filled with what was asked for. An empty list alone says nothing (logs are anonymised).
    """
    counted = (pl.col("count") > 0).fill_null(value=False)
    return (
        pl.select(
            pl.lit(given.text("NodeList")).alias("list"),
            pl.lit(count).alias("count"),
        )
        .select(
            pl.when(pl.col("list").is_not_null())
            .then(~pl.col("list").is_in(list(_NO_NODE)))
            .when(pl.lit("AllocNodes" in given))
            .then(counted)
        )
        .to_series()
    )


def _first_positive(*names: str) -> pl.Expr:
    """The first that is more than 0; 0 where the log says so and nothing else."""
    return pl.coalesce(*(pl.when(pl.col(name) > 0).then(name) for name in names), *names)


def _read_tres(text: pl.Series) -> pl.DataFrame:
    return text.to_frame("text").select(
        **fields.tres(pl.col("text")), bad=fields.unreadable(text, Kind.TRES)
    )


def _tres(given: _Columns, name: str) -> dict[str, pl.Series]:
    read = fields.by_distinct(given.text(name), _read_tres)
    given.check(name, read["bad"].fill_null(value=False), f"is no {Kind.TRES.value}")
    for amount in ("cpus", "nodes", "gpus"):
        given.check(name, read[amount] > fields.LARGEST, "names more than can be")
    return {amount: read[amount] for amount in ("cpus", "nodes", "gpus", "mem_bytes")}


def _read_gres(text: pl.Series) -> pl.DataFrame:
    return text.to_frame("text").select(
        gpus=fields.gres_gpus(pl.col("text")), bad=fields.unreadable(text, Kind.GRES)
    )


def _gres(given: _Columns, name: str) -> pl.Series:
    read = fields.by_distinct(given.text(name), _read_gres)
    given.check(name, read["bad"].fill_null(value=False), f"is no {Kind.GRES.value}")
    given.check(name, read["gpus"] > fields.LARGEST, "names more than can be")
    return read["gpus"]


def _read_memory(text: pl.Series) -> pl.DataFrame:
    read = text.to_frame("text").select(read=fields.memory(pl.col("text")))
    return read.unnest("read").with_columns(bad=fields.unreadable(text, Kind.MEMORY))


def _memory(given: _Columns) -> pl.DataFrame:
    read = fields.by_distinct(given.text("ReqMem"), _read_memory)
    given.check("ReqMem", read["bad"].fill_null(value=False), f"is no {Kind.MEMORY.value}")
    return read


def _shaped(frame: pl.DataFrame, *, has_submit: bool, tells_size: bool) -> pl.DataFrame:
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
    unused = ~pl.coalesce("had_node", pl.col("allocated") | ~(cancelled | pl.lit(tells_size)))
    never = waits | (no_time & unused & ~is_open).fill_null(value=False)
    frame = frame.with_columns(
        state=state,
        start_time=pl.when(~never).then(start),
        end_time=pl.when(~waits & (~is_open | resized)).then(end),
    )
    occupancy = end - start
    lost = (occupancy - pl.col("elapsed")).clip(0)
    faults = _faults(waits, has_submit=has_submit)
    return frame.select(
        "number",
        "job_id",
        *(pl.col(name).replace("(null)", None) for name in _NAMES),
        *(pl.col(name).replace(["None", "(null)"], None) for name in _NO_NAMES),
        "state",
        "priority",
        "submit_time",
        "eligible_time",
        "start_time",
        "end_time",
        "walltime_s",
        "cpus",
        "nodes",
        "gpus",
        "mem_bytes",
        **fields.id_parts(pl.col("job_id")),
        kind=pl.lit(RecordKind.EXECUTION.value),
        occupancy_s=occupancy,
        waited_s=pl.lit(None, pl.Int64),
        suspended_s=pl.when(start.is_not_null()).then(pl.coalesce("suspended_s", lost)),
        problem=pl.coalesce("problem", *(pl.when(bad).then(why) for bad, _, why in faults)),
        code=pl.coalesce("code", *(pl.when(bad).then(pl.lit(code)) for bad, code, _ in faults)),
    )


def _faults(waits: pl.Expr, *, has_submit: bool) -> tuple[tuple[pl.Expr, str, pl.Expr], ...]:
    """What can be wrong with times that were all read: when, ``RefusalCode``, and why."""
    submit, start, end = (pl.col(f"{name}_time") for name in ("submit", "start", "end"))
    return (
        (
            submit.is_null() & pl.lit(has_submit),
            RefusalCode.VALUE.value,
            pl.lit("column Submit: when it was submitted is unknown"),
        ),
        (
            end < start,
            RefusalCode.ORDER.value,
            pl.format("ends {} s before it starts (columns Start, End)", start - end),
        ),
        (
            start.is_null() & end.is_null() & ~waits & pl.lit(not has_submit),
            RefusalCode.VALUE.value,
            pl.lit("no time is known of it"),
        ),
    )


def _read_state(text: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"bad": fields.unreadable(text, Kind.STATE)})


def _read_duration(text: pl.Series) -> pl.DataFrame:
    return text.to_frame("text").select(value=fields.durations(pl.col("text")))


def _durations(text: pl.Series) -> pl.Series:
    return fields.by_distinct(text, _read_duration)["value"]


def _whole(text: pl.Series) -> pl.Series:
    return text.cast(pl.Int64, strict=False)


def _float(text: pl.Series) -> pl.Series:
    return text.cast(pl.Float64, strict=False)


def _amount(text: pl.Series) -> pl.Series:
    plain = text.cast(pl.Int64, strict=False)
    if plain.null_count() == text.null_count():
        return plain
    return text.to_frame("t").select(value=fields.amounts(pl.col("t")))["value"]
