"""Events of jobs → attempts.

Logs of events (PBS) report that a job was queued, that a run started, that it ended; most do not
name the attempt. All records of a job are settled together, whatever their inputs, so the order of
inputs does not matter, and a job can be settled again with more records.

A job's *life* begins with a submission: servers reuse ids after a new start. Within a life:

- A run is identified by its start time. Its most complete record counts: ended before running,
  then the latest end, then the most columns. Its amounts are the largest of any record: that of its
  start may include what an exclusive node withholds from others.
- A job that left (``LEFT``) ended its open run, and replaces it, with its columns. Without an open
  run it never started, or not again, unless another record ended the life.
- An open run is superseded if another one started later: it ended at an unknown time. A waiting
  record is superseded once a run has started, until this is requeued. Of the records of a job that
  a routing queue passed on, the most complete counts: the next queue adds its defaults.
- An attempt that follows another arrives when that one ended.
- A run's suspended time is from PAUSED to RESUMED, or to its end.
- A task that left before it started has the columns of its array (`7[].server`), the last one that
  was submitted before.

Heads of records are in local time, and the zone may be wrong: a record without a submission belongs
to the life that began at most a day after it.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.kernels.events import UNKNOWN, Events, Kind, Settled, Way, settle
from audit.model import EVENTS, RECORDS, RecordKind

DAY: Final = 86_400
REQUEUED: Final = "REQUEUED"
MOVED: Final = "MOVED"

_KINDS: Final = {
    RecordKind.SIGHTING.value: Kind.RUN.value,
    RecordKind.QUEUED.value: Kind.QUEUED.value,
    RecordKind.LEFT.value: Kind.LEFT.value,
    RecordKind.PAUSED.value: Kind.PAUSED.value,
    RecordKind.RESUMED.value: Kind.RESUMED.value,
}
_WAYS: Final = {REQUEUED: Way.REQUEUED.value, MOVED: Way.MOVED.value}
_INSTANTS: Final = (RecordKind.LEFT, RecordKind.PAUSED, RecordKind.RESUMED)
_AMOUNTS: Final = ("cpus", "nodes", "gpus", "mem_bytes")
_SAID_BY_INSTANTS: Final = frozenset(
    (
        *("cluster", "job_id", "job_number", "array_task", "het_offset", "kind", "state"),
        *("end_time", "line", "byte_offset"),
    )
)
_TAKEN_OVER: Final = tuple(name for name in RECORDS if name not in _SAID_BY_INSTANTS)
_GROWN: Final = ("eligible_time", *_AMOUNTS)
_OF_TASKS: Final = ("start_time", "occupancy_s", "tasks", "array_tasks")
_LEFT_OUT: Final = ("suspended_s", "tasks", "array_tasks", "line", "byte_offset")
_CONTENT: Final = tuple(name for name in RECORDS if name not in (*_GROWN, *_LEFT_OUT))

_run, _queued = pl.col("kind") == RecordKind.SIGHTING, pl.col("kind") == RecordKind.QUEUED


def are_events() -> pl.Expr:
    """Return which records are events."""
    return pl.col("kind").is_in([kind.value for kind in EVENTS])


def are_instants() -> pl.Expr:
    """Return which records contain only a time: they must be settled even if they are alone."""
    return pl.col("kind").is_in([kind.value for kind in _INSTANTS])


def bare_tasks() -> pl.Expr:
    """Return which records are of array tasks that left, and state nothing of the task."""
    alone = (pl.col("kind") == RecordKind.LEFT) & pl.col("array_task").is_not_null()
    return alone & pl.col("submit_time").is_null() & pl.col("start_time").is_null()


def of_arrays(tasks: pl.DataFrame, arrays: pl.DataFrame) -> pl.DataFrame:
    """Return ``bare_tasks`` with what the queue's records of whole arrays state of them."""
    said = [name for name in _TAKEN_OVER if name not in _OF_TASKS and name in tasks.columns]
    array = pl.col("job_id").str.replace(r"\[[0-9]+\]", "[]")
    in_time = pl.col("eligible_time") <= pl.col("end_time")
    found = tasks.with_columns(array=array).sort("end_time")
    queued = arrays.filter(_queued).select(*said, array="job_id", at="submit_time").sort("at")
    return (
        found.drop(said)
        .join_asof(
            queued,
            left_on="end_time",
            right_on="at",
            by="array",
            coalesce=False,
            check_sortedness=False,
        )
        .with_columns(eligible_time=pl.when(in_time).then("eligible_time"))
        .select(tasks.columns)
    )


def settled(records: pl.DataFrame) -> pl.DataFrame:
    """Return which events are attempts; the rest is superseded.

    ``records`` are all events of some jobs of a cluster, settled before or not, with ``cluster``
    and ``input_id``.
    """
    names = [name for name in records.columns if name != "superseded"]
    events = _with_amounts(_in_order(_in_lives(_unsettled(records.select(names)))))
    out = {
        "stands": np.zeros(events.height, dtype=np.bool_),
        "source": np.full(events.height, -1),
        "ends": np.zeros(events.height, dtype=np.bool_),
        "arrival": np.full(events.height, UNKNOWN),
        "suspended": np.full(events.height, UNKNOWN),
    }
    settle(_numbers(events), Settled(**out))
    return _completed(events, out).select(*names, "superseded")


def _unsettled(records: pl.DataFrame) -> pl.DataFrame:
    """Undo an earlier settling, and drop records that inputs share.

    Arrivals and amounts cannot be undone, but only grow with more records: of equal records the
    smallest counts. A queued job's arrival before its submission is of another life.
    """
    early = (pl.col("eligible_time") < pl.col("submit_time")).fill_null(value=False)
    bare = records.with_columns(
        *(pl.when(~are_instants()).then(name).alias(name) for name in _TAKEN_OVER)
    ).with_columns(
        eligible_time=pl.when(~(_queued & early)).then("eligible_time"),
        suspended_s=pl.lit(None, pl.Int64),
    )
    content = [name for name in _CONTENT if name in bare.columns]
    marks = bare.select(content).hash_rows()
    if marks.n_unique() == bare.height:
        return bare
    least = [
        pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).min()).over(content).alias(name)
        for name in _GROWN
    ]
    return (
        bare.with_columns(least)
        .sort("input_id", "line")
        .unique(content, keep="first", maintain_order=True)
    )


def _in_lives(events: pl.DataFrame) -> pl.DataFrame:
    """Add the time of each event (``at``) and its life: the submit time (``life``), and whether it
    is after that life's end, or before any (``beyond``).
    """
    at = pl.when(_run).then("start_time").when(_queued).then("submit_time").otherwise("end_time")
    events = events.with_columns(at=pl.coalesce(at, "end_time"))
    runs = events.filter(_run).with_columns(
        life=pl.col("submit_time").fill_null(0), beyond=pl.lit(value=False)
    )
    latest = pl.col("start_time").is_null() | (pl.col("start_time") == pl.col("start_time").max())
    requeued = (pl.col("state") == REQUEUED).fill_null(value=False)
    known = (
        runs.group_by("job_id", "life")
        .agg(
            ended=(latest & pl.col("end_time").is_not_null() & ~requeued).any(),
            last=pl.col("end_time").max(),
        )
        .sort("life", "job_id")
    )
    others = (
        events.filter(~_run)
        .with_columns(until=pl.col("at") + DAY)
        .sort("until")
        .join_asof(
            known,
            left_on="until",
            right_on="life",
            by="job_id",
            coalesce=False,
            check_sortedness=False,
        )
        .with_columns(
            beyond=pl.col("life").is_null()
            | (pl.col("ended") & (pl.col("at") > pl.col("last") + DAY))
        )
    )
    return pl.concat([runs, others.select(runs.columns)])


def _in_order(events: pl.DataFrame) -> pl.DataFrame:
    """Sort as ``kernels.events`` requires, whatever the order of inputs."""
    known = pl.sum_horizontal(pl.col(name).is_not_null() for name in _CONTENT if name in events)
    known = known.cast(pl.Int64)
    return (
        events.with_columns(
            order=pl.when(_run).then(0).when(_queued).then(1).otherwise(2),
            # the first of a run counts, and the last of a queue
            unknown=pl.when(_queued).then(known).otherwise(known * -1),
            ended=pl.col("end_time") * -1,
            again=pl.col("state") == REQUEUED,
        )
        .sort(
            *("job_id", "life", "beyond", "at", "order", "start_time", "ended", "again"),
            *("unknown", "state", "kind", "input_id", "line"),
            nulls_last=True,
        )
        .with_columns(number=pl.struct("job_id", "life", "beyond").rle_id().cast(pl.Int64))
        .drop("order", "unknown", "ended", "again")
    )


def _with_amounts(events: pl.DataFrame) -> pl.DataFrame:
    runs = pl.struct("number", "kind", "start_time").rle_id()
    apart = events.select(runs=pl.when(_run).then(runs))["runs"]
    if apart.drop_nulls().is_unique().all():
        return events
    return events.with_columns(runs=apart).with_columns(
        pl.when(_run).then(pl.col(name).max().over("runs")).otherwise(name).alias(name)
        for name in _AMOUNTS
    )


def _numbers(events: pl.DataFrame) -> Events:
    number, latest = pl.col("number"), pl.col("life").max().over("job_id")
    whole = events.select(
        life=number,
        kind=pl.col("kind").replace_strict(_KINDS, return_dtype=pl.Int64),
        way=pl.col("state").replace_strict(_WAYS, default=0, return_dtype=pl.Int64).fill_null(0),
        at=pl.col("at").fill_null(UNKNOWN),
        start=pl.col("start_time").fill_null(UNKNOWN),
        end=pl.col("end_time").fill_null(UNKNOWN),
        over=(pl.col("life") < latest).fill_null(value=False),
    )
    return Events(**{name: column.to_numpy() for name, column in whole.to_dict().items()})


def _completed(events: pl.DataFrame, out: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    arrival, suspended = (
        pl.Series(out[name]).set(pl.Series(out[name] == UNKNOWN), None)
        for name in ("arrival", "suspended")
    )
    events = _taken_over(events, out).with_columns(superseded=pl.Series(~out["stands"]))
    spent = pl.col("end_time") - pl.col("start_time")
    return events.with_columns(
        eligible_time=pl.max_horizontal("eligible_time", arrival),
        occupancy_s=pl.coalesce("occupancy_s", spent),
        suspended_s=pl.lit(suspended),
    )


def _taken_over(events: pl.DataFrame, out: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    """Give each job that left the columns of its run; without a run, its job's, but no start.

    An eligible time after its end is of an earlier settling, before the clock went back.
    """
    source = out["source"]
    takes = np.flatnonzero(source >= 0)
    if not len(takes):
        return events
    left = events[takes].with_columns(events[source[takes]].select(_TAKEN_OVER))
    ran = pl.lit(pl.Series(out["ends"][takes]))
    left = left.with_columns(
        start_time=pl.when(ran).then("start_time"),
        eligible_time=pl.when(pl.col("eligible_time") <= pl.col("end_time")).then("eligible_time"),
        occupancy_s=None,
    )
    places = pl.concat([pl.Series(np.setdiff1d(np.arange(events.height), takes)), pl.Series(takes)])
    rest = events.filter(pl.Series(source < 0))
    return pl.concat([rest, left]).with_columns(place=places).sort("place").drop("place")
