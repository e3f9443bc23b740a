"""Who counts: what each attempt's life was, and which attempts belong to a period (SPEC §1)."""

from collections.abc import Mapping, Sequence
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.model import DESCRIBED, OBSERVED, SEQUENCE, WAITING, Period, Pool, Standing

TOP_WIDTH: Final = 128
"""Upper end of the last bounded width class, as in [S] table 2."""
TAU_S = 10
"""Runtime below which bounded slowdown does not grow further, in seconds."""


def describe(
    attempts: pl.DataFrame,
    pools: Sequence[Pool],
    partition_pool: Mapping[str | None, str] | None = None,
    *,
    schedule: str = OBSERVED,
    tau_s: int = TAU_S,
    top_width: int = TOP_WIDTH,
) -> pl.DataFrame:
    """Adds to attempts what follows from them once their pools are known.

    - standing: see ``model.Standing``
    - arrival = min(eligible if known else submit, start), the clipping flagged; null where neither
      eligible nor submit is known
    - wait = start − arrival, in s, ≥ 0; null where it did not start, or arrived nobody knows when
    - runtime = occupancy − suspended, in s, ≥ 0; null where the occupancy is unknown
    - bounded slowdown = max(1, (end − arrival) / max(runtime, τ)), ≥ 1; null where it did not end,
      or arrived nobody knows when
    - size: amount of the pool's counted resource, null where the log does not say

    Args:
        attempts: columns of ``model.ATTEMPTS``; those of one schedule.
        partition_pool: the name of each partition's pool; may be left out where there is one pool.
        schedule: name of the schedule that the attempts' times are of.
        tau_s: τ, in s, ≥ 1.
        top_width: upper end of the last bounded width class.

    Returns:
        Columns of ``model.DESCRIBED``, sorted by pool, arrival, submit and sequence.

    Raises:
        ValueError: a partition has no pool, or an attempt ends before it starts.

    Sources: SPEC §1, §2; [K] §2.3 for the bounded slowdown (which takes τ = 1 s).
    """
    start, end = pl.col("start_time"), pl.col("end_time")
    ready = pl.coalesce("eligible_time", "submit_time")
    runtime = (pl.col("occupancy_s") - pl.col("suspended_s").fill_null(0)).clip(0)
    described = (
        attempts.with_columns(
            pool=_pool(attempts, pools, partition_pool),
            schedule=pl.lit(schedule),
            standing=_standing(),
            arrival_time=pl.when(ready.is_not_null()).then(pl.min_horizontal(ready, start)),
            arrival_clipped=(start < ready).fill_null(False),
            occupancy_s=pl.coalesce(end - start, "occupancy_s"),
        )
        .with_columns(size=_size(pools), runtime_s=runtime)
        .with_columns(
            wait_s=start - pl.col("arrival_time"),
            bounded_slowdown=_bounded_slowdown(tau_s),
            width_class=width_class(pl.col("size"), top_width),
        )
        .select(DESCRIBED.names())
        .cast(DESCRIBED)
    )
    _require_forwards(described)
    return ordered(described, "pool", "arrival_time", "submit_time", *SEQUENCE)


def ordered(frame: pl.DataFrame, *by: str) -> pl.DataFrame:
    """The rows sorted by these columns, nulls first, ties as they are.

    A frame that is in this order, as that of the store is, is given back as it is: to sort a large
    one takes as much memory again.
    """
    return frame if _in_order(frame, by) else frame.sort(by, maintain_order=True)


def only(frame: pl.DataFrame, condition: pl.Expr | pl.Series) -> pl.DataFrame:
    """The rows of which a condition holds; where it does of all, the frame as it is.

    A copy of a large one takes as much memory again.
    """
    holds = frame.select(condition.alias("holds"))["holds"].fill_null(value=False)
    return frame if holds.all() else frame.filter(holds)


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows; of a column in which all say the same, one value is held.

    Columns of floats stay as they are: 0 and −0 are equal, and not the same.
    """
    if frame.is_empty():
        return frame
    ends = zip(frame.schema.items(), frame.row(0), frame.row(-1), strict=True)
    likely = [name for (name, dtype), first, last in ends if first == last and not dtype.is_float()]
    if not likely:
        return frame
    value = pl.col(likely).first()
    alike = frame.select(pl.col(likely).eq_missing(value).all()).row(0, named=True)
    return frame.with_columns(
        pl.lit(frame.item(0, name), frame.schema[name]).alias(name)
        for name in likely
        if alike[name]
    )


def numbered(names: pl.Series) -> pl.Series:
    """Names as an enumeration, which ascends as they do: groups of numbers are found sooner."""
    if isinstance(names.dtype, pl.Enum):
        return names
    return names.cast(pl.Enum(names.unique().drop_nulls().sort()))


_AT_ONCE: Final = 1 << 17
"""Rows that are looked at together: whether a large frame is in order takes next to no memory."""


def _in_order(frame: pl.DataFrame, by: Sequence[str]) -> bool:
    """Whether no row has to move."""
    keys = frame.select(by)
    pieces = (keys.slice(k, _AT_ONCE + 1) for k in range(0, frame.height, _AT_ONCE))
    return all(_piece_in_order(piece, by) for piece in pieces)


def _piece_in_order(frame: pl.DataFrame, by: Sequence[str]) -> bool:
    """The same of a few rows."""
    tied: NDArray[np.int64] | None = None  # None: all
    for name in by:
        column = frame[name]
        if tied is None:
            one, next_ = column[:-1], column[1:]
        elif len(tied):
            one, next_ = column.gather(tied), column.gather(tied + 1)
        else:
            return True
        same = one.eq_missing(next_)
        if not same.all():
            if not (same | one.is_null() | (one < next_).fill_null(False)).all():
                return False
            places = same.arg_true().to_numpy()
            tied = places if tied is None else tied[places]
    return True


def _require_forwards(described: pl.DataFrame) -> None:
    backwards = described.filter(pl.col("end_time") < pl.col("start_time"))
    if backwards.height:
        raise ValueError(f"job {backwards['job_id'][0]} ends before it starts")


def _bounded_slowdown(tau_s: int) -> pl.Expr:
    response = pl.col("end_time") - pl.col("arrival_time")
    slowdown = (response / pl.max_horizontal("runtime_s", pl.lit(tau_s))).clip(1)
    return pl.when(pl.col("start_time").is_not_null()).then(slowdown)


def in_period(described: pl.DataFrame, period: Period) -> pl.DataFrame:
    """The attempts that belong to ``period``, in their order.

    An attempt belongs to the period in which it ended or left the queue; one whose end is not known
    to that of its arrival, or of its start where that is unknown, too. The whole log's period holds
    every attempt.
    """
    return described if period.whole_log else only(described, _within(period))


def around(described: pl.DataFrame, period: Period, lead_s: int = 0) -> pl.DataFrame:
    """Return the attempts that belong to ``period``, and all that were there in it or beside these.

    In their order. What they did to one another, and what their pool did in the period, needs no
    others. With ``lead_s``, also those that arrived up to that long before the first of them.
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
    """Whether an attempt belongs to a period; null where nothing tells."""
    instant = pl.coalesce("end_time", "arrival_time", "start_time")
    return instant.is_between(period.from_time, period.to_time, closed="left")


def day_number(zone: ZoneInfo) -> pl.Expr:
    """Return the day of the arrival on a clock, in days since 1970-01-01."""
    arrived = pl.from_epoch("arrival_time", time_unit="s").dt.replace_time_zone("UTC")
    return arrived.dt.convert_time_zone(zone.key).dt.date().cast(pl.Int64)


def ended(described: pl.DataFrame) -> pl.DataFrame:
    """The subjects of metrics: attempts whose arrival, start and end are known."""
    return only(described, pl.col("standing") == Standing.ENDED)


def occupied() -> pl.Expr:
    """Whether an attempt is known to have occupied the pool from its start to its end."""
    return pl.col("standing").is_in([Standing.ENDED.value, Standing.ARRIVAL_UNKNOWN.value])


def gave_up_wait() -> pl.Expr:
    """Seconds that an attempt waited before it left the queue without a start; 0 for all others.

    Null where nobody knows when it arrived.
    """
    waited = (pl.col("end_time") - pl.col("arrival_time")).clip(0)
    return pl.when(pl.col("standing") == Standing.NEVER_STARTED).then(waited).otherwise(0)


def gave_up_total() -> pl.Expr:
    """Σ of ``gave_up_wait`` over those of known arrival; null where all who gave up are of none."""
    wait = gave_up_wait()
    known = (wait.is_not_null() & (pl.col("standing") == Standing.NEVER_STARTED)).any()
    return pl.when(known | wait.is_not_null().all()).then(wait.sum())


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
    """The name of each attempt's pool."""
    if partition_pool is None:
        (only,) = pools
        return pl.lit(only.name)
    names = {pool.name for pool in pools}
    for partition in attempts["partition"].unique().to_list():
        if partition_pool.get(partition) not in names:
            raise ValueError(f"partition {partition!r} has no pool")
    return pl.col("partition").replace_strict(dict(partition_pool), return_dtype=pl.String)


def _size(pools: Sequence[Pool]) -> pl.Expr:
    """The amount of the pool's counted resource."""
    return pl.coalesce(
        pl.when(pl.col("pool") == pool.name).then(pl.col(pool.resource)) for pool in pools
    )


def unplannable() -> pl.Expr:
    """Return whether an attempt is pending, without a walltime or of unknown size.

    Snapshots and simulations leave it out (SPEC §5).
    """
    unknown = pl.col("walltime_s").is_null() | pl.col("size").is_null()
    return (pl.col("standing") == Standing.PENDING) & unknown


def width_class(size: pl.Expr, top: int = TOP_WIDTH) -> pl.Expr:
    """The label of the class that ``size`` falls into; null where the size is.

    Args:
        size: amount of the counted resource, ≥ 0.
        top: upper end of the last bounded class, a power of two.

    Raises:
        ValueError: ``top`` is not a power of two.
    """
    *bounded, wider = width_classes(top)
    label: pl.Expr = pl.when(size > top).then(pl.lit(wider))
    for end, name in reversed(list(zip(_ends(top), bounded, strict=True))):
        label = pl.when(size <= end).then(pl.lit(name)).otherwise(label)
    return label


def width_classes(top: int = TOP_WIDTH) -> list[str]:
    """All width classes, from narrow to wide: powers of two up to ``top``, and all that is wider.

    Before them ``0``, for attempts that were allocated none of the counted resource (SPEC §8).
    """
    ends = _ends(top)
    bounded = [
        str(end) if end <= 2 else f"{below + 1}-{end}"
        for below, end in zip([-1, *ends], ends, strict=False)
    ]
    return [*bounded, f">{top}"]


def _ends(top: int) -> list[int]:
    """The greatest size of each bounded class: 0, 1, 2, 4, …, top."""
    if top < 1 or top & (top - 1):
        raise ValueError(f"top = {top}: not a power of two")
    return [0, *(1 << k for k in range(top.bit_length()))]
