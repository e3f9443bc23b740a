"""Of which attempts of a long log a computation makes rows, and which others it needs for that.

What an attempt met is told by those that were there while it was, and by its peers. So figures of
some periods need a stretch of the log, not all of it, and what was computed of other periods
stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts import population
from audit.metrics.attempts.peers import LEAD_S
from audit.model import BY_USAGE, Period, Pool

AFTER_S: Final = 35 * 86_400
"""So much of what came after attempts is read with them, at first, s: their forward starts reach
into it."""


def by_history(pool: Pool) -> bool:
    """Whether turns rest on all that was: on usage, or on passes counted from the first arrival."""
    by_usage = {pool.policy.order, pool.fair_order} & {*BY_USAGE}
    return bool(by_usage or pool.policy.interval_s)


class Window(NamedTuple):
    """The attempts that rows are made of: those that ended from one instant to another."""

    from_time: int | None = None
    """Epoch s; None: from the first on."""
    to_time: int | None = None
    """Epoch s; None: to the last, and also those that are still open."""
    log: Period | None = None
    """From when to when the whole log speaks; None: as far as the attempts at hand do."""

    @property
    def whole(self) -> bool:
        """Whether rows of all attempts are made."""
        return self.from_time is None and self.to_time is None

    def holds(self) -> pl.Expr:
        """Whether a row is made of an attempt; of columns of ``model.DESCRIBED``."""
        end = pl.col("end_time")
        after = pl.lit(value=True) if self.from_time is None else end >= self.from_time
        before = pl.lit(value=True) if self.to_time is None else end < self.to_time
        still_open = pl.lit(value=self.to_time is None)
        return pl.when(end.is_null()).then(still_open).otherwise(after & before)

    def own(self, jobs: pl.DataFrame) -> pl.DataFrame:
        """Those of which rows are made."""
        return jobs if self.whole else population.only(jobs, self.holds())

    def needed(self, of_pool: pl.DataFrame, pool: Pool) -> pl.DataFrame:
        """Those of a pool that rows rest on: their own, who was there with them, and their peers.

        Where turns go by usage, or passes are counted from the first arrival, all do.
        """
        if self.from_time is None or by_history(pool):
            return of_pool
        came = pl.coalesce("arrival_time", "start_time")
        first = of_pool.select(came.filter(self.holds()).min()).item()
        since = self.from_time if first is None else min(first, self.from_time)
        gone = pl.col("end_time")
        there = gone.is_null() | (gone >= since) | (came >= since - LEAD_S)
        return population.only(of_pool, there)


WHOLE: Final = Window()


class Stretch(NamedTuple):
    """Periods that are computed together."""

    periods: tuple[Period, ...]
    """In order; also those between that are not due, where all attempts are at hand."""
    window: Window
    """Their attempts, and those of spans before each without any period."""


def stretches(
    current: Mapping[Period, int], due: Collection[Period], most: int | None
) -> list[Stretch]:
    """Cuts what is due into what is computed together, in order.

    Args:
        current: all periods, in order, and how many attempts are in each.
        most: about how many attempts at once; None: all that is due, with what is between.
    """
    every = list(current)
    places = [place for place, period in enumerate(every) if period in due]
    groups: list[list[int]] = []
    for place in places:
        held = groups[-1] if groups else []
        together = most is None or (
            held
            and place == held[-1] + 1
            and sum(current[every[k]] for k in (*held, place)) <= most
        )
        if held and together:
            held.append(place)
        else:
            groups.append([place])
    return [_stretch(every, group[0], group[-1]) for group in groups]


def _stretch(every: list[Period], first: int, last: int) -> Stretch:
    begin = every[first - 1].to_time if first else None
    end = every[last].to_time if last + 1 < len(every) else None
    return Stretch(tuple(every[first : last + 1]), Window(begin, end))
