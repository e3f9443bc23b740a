"""The population of metrics: facts that follow from an attempt's records, and periods (SPEC §1)."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs

from audit import arrays
from audit.metrics.attempts.contention import named_resources, with_gpu_types
from audit.metrics.attempts.recorded import RECORDED, SITE_PRIORITY
from audit.model import DESCRIBED, OBSERVED, SEQUENCE, WAITING, JobState, Period, Pool, Standing

TOP_WIDTH: Final = 128  # upper end of the last bounded width class, as in [S] table 2
TAU_S = 10  # shortest runtime that bounded slowdown divides by, s


def describe(
    attempts: pl.DataFrame,
    pools: Sequence[Pool],
    partition_pool: Mapping[str | None, str] | None = None,
    *,
    schedule: str = OBSERVED,
    tau_s: int = TAU_S,
) -> pl.DataFrame:
    """Add to attempts what follows from their records and their pools.

    - standing: see ``model.Standing``
    - arrival = min(eligible if known else submit, start, end), the clipping at the start flagged;
      null where neither eligible nor submit is known
    - wait = start − arrival, s, ≥ 0; null without a start or an arrival
    - runtime = occupancy − suspended, s, ≥ 0; null where the occupancy is unknown
    - bounded slowdown = max(1, (end − arrival) / max(runtime, τ)); null without an end or arrival
    - size: amount of the pool's counted resource; null where the log does not report it

    Args:
        attempts: columns of ``model.ATTEMPTS``, of the schedule of that name; see ``by_task``.
        partition_pool: the pool of each partition; optional with a single pool.
        tau_s: τ, s, ≥ 1.

    Returns:
        ``model.DESCRIBED`` and GPU types of the pools; by pool, arrival, submit and sequence.

    Raises:
        ValueError: a partition has no pool, or an attempt ends before it starts.

    Sources: SPEC §1, §2; [K] §2.3 for the bounded slowdown (with τ = 1 s).
    """
    start, end = pl.col("start_time"), pl.col("end_time")
    ready = pl.coalesce("eligible_time", "submit_time")
    slowdown = (end - pl.col("arrival_time")) / pl.max_horizontal("runtime_s", pl.lit(tau_s))
    described = (
        by_task(attempts)
        .with_columns(
            pool=_pool(attempts, pools, partition_pool),
            schedule=pl.lit(schedule),
            standing=_standing(),
            arrival_time=pl.when(ready.is_not_null()).then(pl.min_horizontal(ready, start, end)),
            arrival_clipped=(start < ready).fill_null(False),
            occupancy_s=pl.coalesce(end - start, "occupancy_s"),
        )
        .with_columns(
            size=_size(pools),
            runtime_s=(pl.col("occupancy_s") - pl.col("suspended_s").fill_null(0)).clip(0),
        )
        .with_columns(
            wait_s=start - pl.col("arrival_time"),
            bounded_slowdown=pl.when(start.is_not_null()).then(slowdown.clip(1)),
            width_class=width_class(pl.col("size")),
        )
        .select(*DESCRIBED.names(), cs.by_name(RECORDED, SITE_PRIORITY, require_all=False))
        .cast(DESCRIBED)
        .pipe(with_gpu_types, set().union(*map(named_resources, pools)))
    )
    if (backwards := described.filter(end < start)).height:
        raise ValueError(f"job {backwards['job_id'][0]} ends before it starts")
    return ordered(described, "pool", "arrival_time", "submit_time", *SEQUENCE)


def by_task(attempts: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each task of records that stand for several, all else equal (SPEC §1).

    Each has the number of its task in ``array_task``. The first keeps the record's id and its
    number of ``tasks``; the others have the ids of their tasks, and 0. A schedule grows by at most
    ``arrays.LARGEST`` rows.
    """
    attempts = attempts.with_columns(pl.col("tasks").fill_null(1))
    lists = attempts["array_tasks"]
    at = lists.is_not_null().arg_true()
    if not len(at):
        return attempts
    named = [arrays.read(text) or arrays.Tasks(np.zeros(1, np.int64)) for text in lists.gather(at)]
    more = np.array([tasks.number - 1 for tasks in named])
    more = np.clip(arrays.LARGEST - (np.cumsum(more) - more), 0, more)
    numbers = np.concatenate([of.numbers[: n + 1] for of, n in zip(named, more, strict=True)])
    copies = attempts[np.repeat(at.to_numpy(), more + 1)]
    first = np.concatenate([np.arange(n + 1) == 0 for n in more])
    copies = copies.with_columns(
        array_task=pl.Series(numbers), array_tasks=pl.lit(None, pl.String), _first=pl.Series(first)
    ).with_columns(
        job_id=pl.when("_first").then("job_id").otherwise(id_of_task()),
        tasks=pl.when("_first").then("tasks").otherwise(0),
        _record="job_id",
    )
    taken = ~pl.col("_first") & (
        pl.col("job_id").is_in(attempts["job_id"].implode()) | pl.col("job_id").is_duplicated()
    )
    other = pl.format("{}#{}", "_record", "array_task")  # hostile logs repeat ids
    copies = copies.with_columns(job_id=pl.when(taken).then(other).otherwise("job_id"))
    return pl.concat([attempts.filter(lists.is_null()), copies.select(attempts.columns)])


def id_of_task() -> pl.Expr:
    """Return the id of a task: `3_4` of `3_[0-9%2]`, `7[4].server` of `7[].server`.

    Takes ``job_id``, that of the record, and ``array_task``.
    """
    parts = pl.col("job_id").str.extract_groups(r"^([^\[]*)(?:\[[^\]]*\]?)?(.*)$").struct
    before, behind = parts.field("1"), parts.field("2")
    of_slurm = pl.format("{}{}", before, "array_task")
    return (
        pl.when(before.str.ends_with("_"))
        .then(of_slurm)
        .otherwise(pl.format("{}[{}]{}", before, "array_task", behind))
    )


def _size(pools: Sequence[Pool]) -> pl.Expr:
    return pl.coalesce(
        pl.when(pl.col("pool") == pool.name).then(pl.col(pool.resource)) for pool in pools
    )


def _standing() -> pl.Expr:
    started, left = pl.col("start_time").is_not_null(), pl.col("end_time").is_not_null()
    arrived = pl.coalesce("eligible_time", "submit_time").is_not_null()
    return (
        pl.when(started & left & ~arrived)
        .then(pl.lit(Standing.ARRIVAL_UNKNOWN.value))
        .when(started & left)
        .then(pl.lit(Standing.ENDED.value))
        .when(started)
        .then(pl.lit(Standing.RUNNING.value))
        .when(~left & pl.col("state").is_in(list(WAITING)))
        .then(pl.lit(Standing.PENDING.value))
        .when(~left & pl.col("occupancy_s").is_not_null())
        .then(pl.lit(Standing.START_UNKNOWN.value))
        .otherwise(pl.lit(Standing.NEVER_STARTED.value))
    )


def _pool(
    attempts: pl.DataFrame, pools: Sequence[Pool], partition_pool: Mapping[str | None, str] | None
) -> pl.Expr:
    if partition_pool is None:
        (single,) = pools
        return pl.lit(single.name)
    names = {pool.name for pool in pools}
    for partition in attempts["partition"].unique().to_list():
        if partition_pool.get(partition) not in names:
            raise ValueError(f"partition {partition!r} has no pool")
    return pl.col("partition").replace_strict(dict(partition_pool), return_dtype=pl.String)


_PIECE: Final = 1 << 17  # number of rows whose order is checked at a time, to save memory


def ordered(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Return the rows sorted stably by these columns, nulls first; a sorted frame is not copied."""
    return frame if is_in_order(frame, *by) else frame.sort(by, maintain_order=True)


def is_in_order(frame: pl.DataFrame, *by: str) -> bool:
    """Return whether the rows are sorted by these columns, nulls first."""
    keys = frame.select(by)
    pieces = (keys.slice(k, _PIECE + 1) for k in range(0, frame.height, _PIECE))
    return all(piece.is_sorted(by) for piece in pieces)


def only(frame: pl.DataFrame, condition: pl.Expr | pl.Series) -> pl.DataFrame:
    """Return the rows that meet a condition; if all do, the frame itself without a copy.

    Columns that are stored as a single value stay so.
    """
    holds = frame.select(condition.alias("holds"))["holds"].fill_null(value=False)
    if holds.all():
        return frame
    same = [name for name in frame.columns if frame.height >= LEAST and is_single(frame, name)]
    if len(same) in (0, frame.width):
        return frame.filter(holds)
    values = (pl.lit(frame.item(0, name), frame.schema[name]).alias(name) for name in same)
    return frame.drop(same).filter(holds).with_columns(values).select(frame.columns)


def beside(frame: pl.DataFrame, more: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the left join on ``keys``, in order; if the rows agree, without a copy."""
    if frame.select(keys).equals(more.select(keys)):
        return pl.concat([frame, more.drop(keys)], how="horizontal")
    return frame.join(more, on=keys, how="left", maintain_order="left")


LEAST: Final = 1 << 16
"""Rows of a frame that is made compact: of a smaller one nothing is worth saving."""
_BITS: Final = 16  # of a column, at most a byte per so many rows: it is a single value


def is_single(frame: pl.DataFrame, name: str) -> bool:
    """Return whether all values of a column are stored as one."""
    return frame.select(name).estimated_size() <= frame.height // _BITS


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the same rows, with columns of equal values stored as a single value.

    Whatever reads such a column by itself makes polars store all its values again, for good. 0 and
    −0 are equal but not the same: such columns stay as they are. So do frames of few rows.
    """
    if frame.height < LEAST:
        return frame
    schema = frame.schema
    likely = [
        name
        for name, first, last in zip(schema, frame.row(0), frame.row(-1), strict=True)
        if first == last
        # the size of texts without a character is not known
        and ((schema[name] == pl.String and not first) or not is_single(frame, name))
    ]
    if not likely:
        return frame
    floats = {name for name in likely if schema[name].is_float()}
    same = {
        name: pl.col(name).eq_missing(pl.col(name).first()).all()
        & (pl.lit(value=True) if name not in floats else _of_one_sign(name))
        for name in likely
    }
    constant = frame.select(**same)
    return frame.with_columns(
        pl.lit(frame.item(0, name), schema[name]).alias(name)
        for name, holds in constant.row(0, named=True).items()
        if holds
    )


def _of_one_sign(name: str) -> pl.Expr:
    """Return whether zeros of a column of floats are all of the same sign; NaN: unknown."""
    inverse = 1.0 / pl.col(name)
    return inverse.eq_missing(inverse.first()).all()


def numbered(names: pl.Series) -> pl.Series:
    """Return names as an enumeration in ascending order, which speeds up grouping."""
    if isinstance(names.dtype, pl.Enum):
        return names
    return names.cast(pl.Enum(names.unique().drop_nulls().sort()))


def in_period(described: pl.DataFrame, period: Period) -> pl.DataFrame:
    """Return the attempts that belong to ``period``, in their order.

    An attempt belongs to the period in which it ended or left the queue; if its end is unknown, to
    that of its submission, arrival or start, whichever is first. The period of the whole log
    contains all attempts.
    """
    return described if period.whole_log else only(described, _within(period))


def around(described: pl.DataFrame, period: Period, lead_s: int = 0) -> pl.DataFrame:
    """Return the attempts of ``period``, and all that overlap it or any of these, in their order.

    No other attempt can affect the figures of the period, except by what its owner used. With
    ``lead_s``, attempts are added that arrived up to that long before the first of the others.
    """
    if period.whole_log:
        return described
    within = _within(period)
    came = pl.coalesce("arrival_time", "start_time")
    first = described.select(came.filter(within).min()).item()
    since = period.from_time if first is None else min(first, period.from_time)
    meanwhile = (came.fill_null(since) < period.to_time) & (
        (pl.col("end_time").fill_null(since) >= since) | (came >= since - lead_s)
    )
    return only(described, within | meanwhile)


def _within(period: Period) -> pl.Expr:
    return belongs_at().is_between(period.from_time, period.to_time, closed="left")


def belongs_at() -> pl.Expr:
    """Return the instant by which an attempt belongs to a day or period, epoch s.

    If the end is unknown, it is the first known instant: an arrival in the future is a plan.
    """
    return pl.coalesce("end_time", pl.min_horizontal("submit_time", "arrival_time", "start_time"))


def day_number(zone: ZoneInfo) -> pl.Expr:
    """Return the local date of the arrival, in days since 1970-01-01."""
    return local_arrival(zone).dt.date().cast(pl.Int64)


def local_arrival(zone: ZoneInfo) -> pl.Expr:
    """Return the arrival as a date and time in ``zone``."""
    arrived = pl.from_epoch("arrival_time", time_unit="s").dt.replace_time_zone("UTC")
    return arrived.dt.convert_time_zone(zone.key)


def ended(described: pl.DataFrame) -> pl.DataFrame:
    """Return the subjects of metrics: attempts with a known arrival, start and end."""
    return only(described, pl.col("standing") == Standing.ENDED)


def occupied() -> pl.Expr:
    """Return whether an attempt is known to have occupied the pool from its start to its end."""
    return pl.col("standing").is_in([Standing.ENDED.value, Standing.ARRIVAL_UNKNOWN.value])


def gave_up_wait() -> pl.Expr:
    """Return the time for which an attempt that never started waited, s; 0 for all others.

    Null where the arrival is unknown.
    """
    waited = (pl.col("end_time") - pl.col("arrival_time")).clip(0)
    return pl.when(pl.col("standing") == Standing.NEVER_STARTED).then(waited).otherwise(0)


def gave_up_total() -> pl.Expr:
    """Return Σ ``gave_up_wait``; null where attempts gave up, but none with a known arrival."""
    wait = gave_up_wait()
    known = (wait.is_not_null() & (pl.col("standing") == Standing.NEVER_STARTED)).any()
    return pl.when(known | wait.is_not_null().all()).then(wait.sum())


def unplannable() -> pl.Expr:
    """Return whether an attempt is pending, without a walltime or of unknown size.

    Snapshots and simulations leave it out (SPEC §5).
    """
    unknown = pl.col("walltime_s").is_null() | pl.col("size").is_null()
    return (pl.col("standing") == Standing.PENDING) & unknown


def as_of(attempts: pl.DataFrame, since: int, until: int) -> pl.DataFrame:
    """Return the attempts that ended since an instant, as they were known at another (epoch s).

    Args:
        attempts: columns of ``model.ATTEMPTS`` or ``model.DESCRIBED``.

    Returns:
        Those that arrived before ``until``, in their order.
    """
    start, end = pl.col("start_time"), pl.col("end_time")
    arrived = pl.min_horizontal(pl.coalesce("eligible_time", "submit_time"), start, end)
    later = start >= until
    waits = (end >= until) & (later | start.is_null()) | later
    runs = (end >= until) & (start < until)
    known = {
        "start_time": pl.when(later).then(None).otherwise(start),
        "end_time": pl.when(runs | waits).then(None).otherwise(end),
        "state": pl.when(runs)
        .then(pl.lit(JobState.RUNNING.value))
        .when(waits)
        .then(pl.lit(JobState.PENDING.value))
        .otherwise("state"),
        "reason": pl.when(waits).then(None).otherwise("reason"),
        "occupancy_s": pl.when(runs)
        .then(until - start)
        .when(waits)
        .then(None)
        .otherwise("occupancy_s"),
        "standing": pl.when(runs)
        .then(pl.lit(Standing.RUNNING.value))
        .when(waits)
        .then(pl.lit(Standing.PENDING.value))
        .otherwise("standing"),
        "wait_s": pl.when(waits).then(None).otherwise("wait_s"),
        "runtime_s": pl.when(runs)
        .then((until - start - pl.col("suspended_s").fill_null(0)).clip(0))
        .when(waits)
        .then(None)
        .otherwise("runtime_s"),
        "bounded_slowdown": pl.when(runs | waits).then(None).otherwise("bounded_slowdown"),
    }
    return (
        attempts.lazy()
        .filter(end.is_null() | (end >= since), arrived.is_null() | (arrived < until))
        .with_columns(**{name: one for name, one in known.items() if name in attempts.columns})
        .collect()
    )


def width_class(size: pl.Expr, top: int = TOP_WIDTH) -> pl.Expr:
    """Return the label of the width class of ``size`` ≥ 0; null where the size is null.

    Raises:
        ValueError: ``top``, the upper end of the last bounded class, is not a power of two.
    """
    *bounded, wider = width_classes(top)
    label: pl.Expr = pl.when(size > top).then(pl.lit(wider))
    for end, name in reversed(list(zip(_ends(top), bounded, strict=True))):
        label = pl.when(size <= end).then(pl.lit(name)).otherwise(label)
    return label


def width_classes(top: int = TOP_WIDTH) -> list[str]:
    """Return the labels of all width classes, ascending (SPEC §8).

    They are ``0``, powers of two up to ``top``, and everything wider.
    """
    bounds = itertools.pairwise([-1, *_ends(top)])
    bounded = [f"{below + 1}-{end}" if end > 2 else str(end) for below, end in bounds]
    return [*bounded, f">{top}"]


def _ends(top: int) -> list[int]:
    if top < 1 or top & (top - 1):
        raise ValueError(f"top = {top}: not a power of two")
    return [0, *(1 << k for k in range(top.bit_length()))]
