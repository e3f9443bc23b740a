"""A part of a log, and the same part at another load: what simulation studies are made of.

The *part* is the first attempts that started, in (arrival, submit, sequence) order. As [S §4] does,
a load is reached by multiplying run times and walltimes, not by bringing arrivals closer:

    offered load = Σ occupancy · size / (capacity · (last arrival − first arrival))
    factor       = load / offered load
    occupancy    becomes occupancy · factor, rounded half up, ≥ 1 s where it was > 0

and the same for walltimes. So the span of the arrivals, and who arrives when, stay as they were.
A part has no schedule: its attempts have no start. What held one back in the log other than its
turn is unknown at another load; all queue from their arrival.

Source: SPEC §8; [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job
Schedulers, §4.
"""

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.errors import UsageError
from audit.metrics.attempts.contention import reserved_rows
from audit.metrics.attempts.population import TOP_WIDTH, width_class
from audit.model import DESCRIBED, SEQUENCE, Pool, Standing
from audit.scenario.workload import Ints, workload

ATTEMPTS: Final = 5_000
"""Of a part, as in [S §4]."""

NOW: Final = 0
"""When the log was taken: no attempt of a part is open, so nothing depends on it."""

_RAN: Final = (Standing.ENDED.value, Standing.START_UNKNOWN.value)


class Part(NamedTuple):
    """The attempts that a study simulates, and what it left out before them."""

    described: pl.DataFrame
    """Columns of ``model.DESCRIBED``, in (arrival, submit, sequence) order, without starts."""
    pool: Pool
    """With what it had when the first of them arrived, and no steps."""
    never_started: int
    open: int
    """Running or pending when the log was taken."""
    reserved: int
    """Ran in an advance reservation, outside the pool."""
    too_large: int
    """Ask for more than the pool has."""

    @property
    def first_arrival(self) -> int:
        """Epoch s."""
        return int(self.described["arrival_time"][0])

    @property
    def span_s(self) -> int:
        """From the first arrival to the last, s."""
        return int(self.described["arrival_time"][-1]) - self.first_arrival

    @property
    def offered_load(self) -> float:
        """Σ occupancy · size / (capacity · span), > 0, of 1; above 1 the queue only grows.

        Raises:
            UsageError: all arrive at once, or nothing is asked for.
        """
        return float(_offered(self))

    @property
    def inexact(self) -> int:
        """How many attempts have an estimate longer than they occupied anything.

        Only these can surprise a planner; an unknown walltime counts as exact (SPEC §4).
        """
        longer = self.described["walltime_s"] > self.described["occupancy_s"]
        return int(longer.fill_null(value=False).sum())


def part(
    described: pl.DataFrame, pool: Pool, attempts: int = ATTEMPTS, top_width: int = TOP_WIDTH
) -> Part:
    """The first ``attempts`` that started in ``pool``; all of them where there are no more.

    Those are left out that never started, that were open when the log was taken, that ran in a
    reservation, whose arrival or run time is not known, or that ask for more than the pool had at
    the first arrival; they are counted where they arrived before the part's end.

    Args:
        described: columns of ``model.DESCRIBED``; those of other pools are passed over.
        pool: its capacity; steps other than those before the first arrival are passed over.
        attempts: how many, ≥ 1.
        top_width: upper end of the last bounded width class, a power of two.

    Raises:
        UsageError: nothing is left.
    """
    of_pool = described.filter(
        pl.col("pool") == pool.name, pl.col("arrival_time").is_not_null()
    ).sort("arrival_time", "submit_time", *SEQUENCE, maintain_order=True)
    ran = pl.col("standing").is_in(_RAN) & pl.col("occupancy_s").is_not_null()
    reserved = reserved_rows(of_pool)
    candidates = of_pool.filter(ran, ~reserved)
    if candidates.is_empty():
        raise UsageError(
            f"pool {pool.name!r}: no attempt in these logs has started; a study needs some"
        )
    first = int(candidates["arrival_time"][0])
    constant = pool._replace(
        capacity=pool.capacity_at(first),
        amounts=tuple((name, _had(pool, name, first)) for name, _ in pool.amounts),
        steps=(),
    )
    unscheduled = _unscheduled(candidates, top_width)
    work, _ = workload(unscheduled, constant, NOW)
    fitting = unscheduled.filter(pl.Series(work.queued))
    if fitting.is_empty():
        raise UsageError(
            f"pool {pool.name!r}: every attempt asks for more than its {constant.capacity} "
            f"{pool.resource.value}; say how much it has (--pool-size)"
        )
    chosen = fitting.head(attempts)
    until = pl.col("arrival_time") <= chosen["arrival_time"][-1]
    before = of_pool.filter(until)
    standings = before["standing"]
    return Part(
        chosen,
        constant,
        never_started=int((standings == Standing.NEVER_STARTED).sum()),
        open=int(standings.is_in([Standing.RUNNING.value, Standing.PENDING.value]).sum()),
        reserved=int((reserved_rows(before) & before.select(ran).to_series()).sum()),
        too_large=unscheduled.filter(until).height - fitting.filter(until).height,
    )


def scaled(part: Part, load: Fraction) -> Part:
    """The part with run times and walltimes multiplied, so that it offers ``load`` > 0.

    Raises:
        UsageError: all arrive at once, or nothing is asked for.
    """
    factor = load / _offered(part)
    times = ("occupancy_s", "runtime_s", "suspended_s", "walltime_s")
    return part._replace(
        described=part.described.with_columns(
            _stretched(part.described[name], factor, least=name in ("occupancy_s", "walltime_s"))
            for name in times
        )
    )


def exact(part: Part) -> Part:
    """The part as it were if everybody had known how long their attempts would run."""
    return part._replace(described=part.described.with_columns(walltime_s=pl.col("occupancy_s")))


def arrays(part: Part, name: str) -> Ints:
    """A column of a part as int64; unknown is 0."""
    return np.ascontiguousarray(part.described[name].fill_null(0).to_numpy(), np.int64)


def _unscheduled(ran: pl.DataFrame, top_width: int) -> pl.DataFrame:
    """Attempts as they arrive: with nothing that a schedule made of them."""
    return ran.with_columns(
        pl.lit(None, DESCRIBED[name]).alias(name)
        for name in ("start_time", "end_time", "wait_s", "bounded_slowdown", "reason")
    ).with_columns(
        standing=pl.lit(Standing.START_UNKNOWN.value),
        eligible_time="arrival_time",
        width_class=width_class(pl.col("size"), top_width),
    )


def _had(pool: Pool, name: str, instant: int) -> int:
    """What a pool had of a resource."""
    had = [dict(pool.amounts)[name]]
    for step in pool.steps:
        if step.since <= instant:
            had += [amount for resource, amount in step.amounts if resource == name]
    return had[-1]


def _offered(part: Part) -> Fraction:
    """The offered load, exactly."""
    area = sum(
        occupancy * size
        for occupancy, size in zip(
            arrays(part, "occupancy_s").tolist(), arrays(part, "size").tolist(), strict=True
        )
    )
    if part.span_s == 0 or area == 0:
        what = "arrive at the same time" if area else "occupy nothing"
        raise UsageError(
            f"pool {part.pool.name!r}: all {part.described.height} attempts of the part {what}, so "
            "it has no load; take more of them (--attempts)"
        )
    return Fraction(area, part.pool.capacity * part.span_s)


def _stretched(column: pl.Series, factor: Fraction, *, least: bool) -> pl.Series:
    """Times by ``factor``, rounded half up; ``least``: at least 1 where they were more than 0."""
    above, below = factor.numerator, factor.denominator

    def stretch(time: int | None) -> int | None:
        if time is None:
            return None
        stretched = (2 * time * above + below) // (2 * below)
        return max(stretched, 1) if least and time > 0 else stretched

    return pl.Series(column.name, [stretch(time) for time in column.to_list()], pl.Int64)
