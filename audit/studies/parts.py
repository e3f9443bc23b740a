"""The part of a log that studies simulate, and the same part at another load.

The *part* is the first attempts that started, in (arrival, submit, sequence) order. As in [S §4],
run times and walltimes are multiplied to reach a load; arrivals stay:

    offered load = Σ occupancy · size / (capacity · (last arrival − first arrival))
    factor       = load / offered load
    occupancy    becomes occupancy · factor, rounded half up, ≥ 1 s where it was > 0

and the same for walltimes. All attempts queue from their arrival: their starts, and other causes of
wait, belong to the log's own load.

Source: SPEC §8; [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job
Schedulers, §4.
"""

from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Ints
from audit.errors import UsageError
from audit.metrics.attempts.contention import reserved_rows
from audit.metrics.attempts.population import TOP_WIDTH, width_class
from audit.model import DESCRIBED, SEQUENCE, Pool, Standing
from audit.scenario.workload import workload
from audit.words import plural

ATTEMPTS: Final = 5_000
"""Default size of a part, as in [S §4]."""
NOW: Final = 0
"""Time of the snapshot; no attempt of a part is open, so nothing depends on it."""
_RAN: Final = (Standing.ENDED.value, Standing.START_UNKNOWN.value)


class SimulatedPart(NamedTuple):
    """The attempts that a study simulates, and the number of those left out before their end."""

    described: pl.DataFrame
    """Columns of ``model.DESCRIBED``, in (arrival, submit, sequence) order, without starts."""
    pool: Pool  # as it was when the first of them arrived, without steps
    never_started: int
    open: int  # running or pending in the snapshot
    reserved: int  # ran in an advance reservation, outside the pool
    too_large: int

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
        """Σ occupancy · size / (capacity · span), > 0; above 1 the queue only grows.

        Raises UsageError if all arrive at once, or all requests are 0.
        """
        return float(_offered(self))

    @property
    def inexact(self) -> int:
        """Number of attempts with an estimate above their occupancy."""
        longer = self.described["walltime_s"] > self.described["occupancy_s"]
        return int(longer.fill_null(value=False).sum())


def part(
    described: pl.DataFrame, pool: Pool, attempts: int = ATTEMPTS, top_width: int = TOP_WIDTH
) -> SimulatedPart:
    """Return the first ``attempts`` ≥ 1 that started in ``pool``, or all if there are fewer.

    Left out are attempts that never started, were open in the snapshot, ran in a reservation, have
    an unknown arrival or run time, or request more than the pool had at the first arrival.

    Args:
        described: columns of ``model.DESCRIBED``; other pools are ignored.
        top_width: upper end of the last bounded width class, a power of two.

    Raises UsageError if nothing is left.
    """
    of_pool = described.filter(
        pl.col("pool") == pool.name, pl.col("arrival_time").is_not_null()
    ).sort("arrival_time", "submit_time", *SEQUENCE, maintain_order=True)
    ran = pl.col("standing").is_in(_RAN) & pl.col("occupancy_s").is_not_null()
    candidates = of_pool.filter(ran, ~reserved_rows(of_pool))
    if candidates.is_empty():
        raise UsageError(
            f"pool {pool.name!r}: no attempt in these logs has started, so there is nothing to "
            "study"
        )
    constant = _at(pool, int(candidates["arrival_time"][0]))
    unscheduled = _unscheduled(candidates, top_width)
    work, _ = workload(unscheduled, constant, NOW)
    fitting = unscheduled.filter(pl.Series(work.queued))
    if fitting.is_empty():
        raise UsageError(
            f"pool {pool.name!r}: every attempt requests more than its {constant.capacity} "
            f"{pool.resource.value}; pass the pool's size (--pool-size)"
        )
    chosen = fitting.head(attempts)
    until = pl.col("arrival_time") <= chosen["arrival_time"][-1]
    before = of_pool.filter(until)
    standings = before["standing"]
    return SimulatedPart(
        chosen,
        constant,
        never_started=int((standings == Standing.NEVER_STARTED).sum()),
        open=int(standings.is_in([Standing.RUNNING.value, Standing.PENDING.value]).sum()),
        reserved=before.filter(ran, reserved_rows(before)).height,
        too_large=unscheduled.filter(until).height - fitting.filter(until).height,
    )


def scaled(part: SimulatedPart, load: Fraction) -> SimulatedPart:
    """Return the part with run times and walltimes multiplied, so that it offers ``load`` > 0.

    Raises UsageError if all arrive at once, or all requests are 0.
    """
    above, below = (load / _offered(part)).as_integer_ratio()
    least = {"occupancy_s": 1, "runtime_s": 0, "suspended_s": 0, "walltime_s": 1}
    stretched = (
        pl.Series(
            name,
            [
                None
                if time is None
                else max((2 * time * above + below) // (2 * below), at_least and time > 0)
                for time in part.described[name].to_list()
            ],
            pl.Int64,
        )
        for name, at_least in least.items()
    )
    return part._replace(described=part.described.with_columns(stretched))


def exact(part: SimulatedPart) -> SimulatedPart:
    """Return the part with run times as estimates."""
    return part._replace(described=part.described.with_columns(walltime_s=pl.col("occupancy_s")))


def arrays(part: SimulatedPart, name: str) -> Ints:
    """Return a column of a part as int64, with 0 for unknown values."""
    return np.ascontiguousarray(part.described[name].fill_null(0).to_numpy(), np.int64)


def _unscheduled(ran: pl.DataFrame, top_width: int) -> pl.DataFrame:
    gone = ("start_time", "end_time", "wait_s", "bounded_slowdown", "reason")
    return ran.with_columns(
        **{name: pl.lit(None, DESCRIBED[name]) for name in gone},
        standing=pl.lit(Standing.START_UNKNOWN.value),
        eligible_time="arrival_time",
        width_class=width_class(pl.col("size"), top_width),
    )


def _at(pool: Pool, instant: int) -> Pool:
    amounts = dict(pool.amounts)
    for step in pool.steps:
        if step.since <= instant:
            amounts |= {name: amount for name, amount in step.amounts if name in amounts}
    return pool._replace(
        capacity=pool.capacity_at(instant), amounts=tuple(amounts.items()), steps=()
    )


def _offered(part: SimulatedPart) -> Fraction:
    area = int(arrays(part, "occupancy_s") @ arrays(part, "size"))
    if part.span_s == 0 or area == 0:
        number = part.described.height
        why = "they all arrive at the same time" if area else "they occupy nothing"
        why = why if number > 1 else "a load needs at least two arrivals"
        raise UsageError(
            f"pool {part.pool.name!r}: the part has no load: {plural(number, 'attempt')}, and "
            f"{why}; pass a larger --attempts, or a longer log"
        )
    return Fraction(area, part.pool.capacity * part.span_s)
