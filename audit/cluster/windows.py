"""Spans of a long log: the attempts whose rows are computed, and the others that this needs.

Figures of some periods need only a part of the log: their own attempts, those that were queued or
running at the same time, and similar jobs. Results of other periods stay in the store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts import population, similar
from audit.metrics.attempts.base import BASE_DAYS
from audit.model import BY_USAGE, Period, Pool

BASE_S: Final = (BASE_DAYS + 1) * 86_400
"""Seconds before a span up to which its verdicts count attempts; a day may have 25 hours."""
LEAD_S: Final = BASE_S + similar.LEAD_S
"""Seconds before the first arrival of a span up to which attempts matter."""
AFTER_S: Final = 35 * 86_400
"""Seconds of later attempts that are read at first: modelled starts depend on them."""


def by_history(pool: Pool) -> bool:
    """Whether the order depends on the whole past: usage, or passes since the first arrival."""
    by_usage = {pool.policy.order, pool.fair_order} & {*BY_USAGE}
    return bool(by_usage or pool.policy.interval_s)


class Window(NamedTuple):
    """The attempts whose rows are computed: those that ended within a span, in epoch s."""

    from_time: int | None = None
    """None: no bound."""
    to_time: int | None = None
    """None: no bound, open attempts included."""

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


WHOLE: Final = Window()


class Stretch(NamedTuple):
    """Periods that are computed together."""

    periods: tuple[Period, ...]
    """In order; if all attempts are at hand, with those between that are not due."""
    window: Window
    """Their attempts, and those of the gap before each."""


def stretches(
    current: Mapping[Period, int], due: Collection[Period], most: int | None
) -> list[Stretch]:
    """Divide the due periods into stretches, in order.

    Args:
        current: all periods, in order, and the number of attempts in each.
        most: maximum number of attempts in a stretch of several periods; None: one stretch of all.
    """
    every = list(current)
    groups: list[list[int]] = []
    for place, period in enumerate(every):
        if period not in due:
            continue
        last = groups[-1] if groups else []
        if last and (
            most is None
            or (place == last[-1] + 1 and sum(current[every[k]] for k in (*last, place)) <= most)
        ):
            last.append(place)
        else:
            groups.append([place])
    return [_stretch(every, group[0], group[-1]) for group in groups]


def _stretch(every: list[Period], first: int, last: int) -> Stretch:
    begin = every[first - 1].to_time if first else None
    end = every[last].to_time if last + 1 < len(every) else None
    return Stretch(tuple(every[first : last + 1]), Window(begin, end))
