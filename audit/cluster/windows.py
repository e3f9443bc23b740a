"""Spans of a long log: the attempts whose rows are computed, and the others that this needs.

Figures of some periods need only a part of the log: their own attempts, those that were queued or
running at the same time, and similar jobs. Results of other periods stay in the store.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.attempts import population, similar
from audit.metrics.attempts.base import BASE_DAYS
from audit.model import BY_USAGE, Period, Pool
from audit.periods import day_of

BASE_S: Final = (BASE_DAYS + 1) * 86_400
"""Seconds before a span up to which its verdicts count attempts; a day may have 25 hours."""
LEAD_S: Final = BASE_S + similar.LEAD_S
"""Seconds before the first arrival of a span up to which attempts matter."""


def by_history(pool: Pool) -> bool:
    """Whether the order depends on the whole past: usage, or passes since the first arrival."""
    by_usage = {pool.policy.order, pool.fair_order} & set(BY_USAGE)
    return bool(by_usage or pool.policy.interval_s)


class ComputedWindow(NamedTuple):
    """The attempts whose rows are computed: those that ended within a span, in epoch s."""

    from_time: int | None = None  # None: no bound
    to_time: int | None = None  # None: no bound, open attempts included

    @property
    def whole(self) -> bool:
        """Whether rows of all attempts are computed."""
        return self.from_time is None and self.to_time is None

    def holds(self) -> pl.Expr:
        """Whether an attempt (columns of ``model.DESCRIBED``) is in the window."""
        end = pl.col("end_time")
        after = pl.lit(value=True) if self.from_time is None else end >= self.from_time
        before = pl.lit(value=True) if self.to_time is None else end < self.to_time
        still_open = pl.lit(value=self.to_time is None)
        return pl.when(end.is_null()).then(still_open).otherwise(after & before)

    def overlaps(self, period: Period) -> bool:
        """Return whether attempts of a period may be in the window."""
        begins = self.to_time is None or period.from_time < self.to_time
        return begins and (self.from_time is None or period.to_time > self.from_time)

    def own(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """Return the attempts in the window."""
        return jobs if self.whole else population.only(jobs, self.holds())

    def needed(self, of_pool: pl.DataFrame, pool: Pool) -> pl.DataFrame:
        """Return the attempts of a pool that rows of the window depend on."""
        if self.from_time is None or by_history(pool):
            return of_pool
        arrived, end = pl.coalesce("arrival_time", "start_time"), pl.col("end_time")
        begin = self.from_time - BASE_S
        with_base = self._replace(from_time=begin)
        first = of_pool.select(arrived.filter(with_base.holds()).min()).item()
        since = begin if first is None else min(first, begin)
        matters = end.is_null() | (end >= since) | (arrived >= since - similar.LEAD_S)
        return population.only(of_pool, matters)


WHOLE: Final = ComputedWindow()


def stretches(
    current: Mapping[Period, int], due: Collection[Period], most: int | None
) -> list[list[Period]]:
    """Return the due periods, in order, divided into lists of adjacent ones.

    Args:
        current: all periods, in order, and the number of attempts in each.
        most: maximum number of attempts of a list of several periods; None: no bound.
    """
    found: list[list[Period]] = []
    before, attempts = False, 0
    for period, count in current.items():
        if period in due:
            attempts += count
            if before and (most is None or attempts <= most):
                found[-1].append(period)
            else:
                found.append([period])
                attempts = count
        before = period in due
    return found


def window_of(current: Collection[Period], stretch: Sequence[Period]) -> ComputedWindow:
    """Return the attempts of adjacent periods, and of the gap before each.

    Args:
        current: all periods, in order.
    """
    every = list(current)
    first, last = every.index(stretch[0]), every.index(stretch[-1])
    begin = every[first - 1].to_time if first else None
    end = every[last].to_time if last + 1 < len(every) else None
    return ComputedWindow(begin, end)


def of_days(described: pl.DataFrame, zone: ZoneInfo, window: ComputedWindow) -> pl.DataFrame:
    """Return the number of records that ended on each day of a window, empty days included.

    A window without a bound begins (or ends) with the first (last) day of the records.
    """
    day = pl.from_epoch(population.belongs_at(), time_unit="s").dt.replace_time_zone("UTC")
    day = day.dt.convert_time_zone(zone.key).dt.date()
    counts = described.group_by(day.alias("day")).agg(
        records=(pl.col("tasks") > 0).sum().cast(pl.Int64)
    )
    begin, end = edges_of(window, zone)
    first, last = counts.select(first=pl.col("day").min(), last=pl.col("day").max()).row(0)
    first = first if begin is None else begin
    last = last if end is None else end - timedelta(days=1)
    days = pl.DataFrame(schema={"day": pl.Date})
    if first is not None and last is not None:
        days = pl.select(day=pl.date_range(first, last))
    return (
        days.join(counts, on="day", how="left")
        .sort("day")
        .select(
            "day",
            pl.col("records").fill_null(0),
            refused=pl.lit(0, pl.Int64),
            state=pl.when(pl.col("records").is_null())
            .then(pl.lit("empty"))
            .otherwise(pl.lit("full")),
        )
    )


def edges_of(window: ComputedWindow, zone: ZoneInfo) -> tuple[date | None, date | None]:
    """Return a window's first day, and the first day after it; None: no bound."""
    begin, end = (
        None if edge is None else day_of(edge, zone) for edge in (window.from_time, window.to_time)
    )
    return begin, end
