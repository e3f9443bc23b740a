"""What a search will cost, told beforehand, and the part of a log that a budget affords.

To judge a site takes about ``a · n + b · looks + c`` seconds, with n attempts and as many looks
as there are instants in their waits; to propose elements likewise. An estimate, not a clock,
decides what is done: the same log and budget give the same result on every machine.

A budget buys a search of the *latest* part of a log: what a site does changes, and it is asked for
as it is now. Only what even ``LEAST_DAYS`` would go beyond is bought less of: a search then ends
before it has tried all.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.scenario.fit.observed import Observed
from audit.scenario.workload import Ints

DAY_S: Final = 86_400
JUDGED: Final = 8
ROUNDS: Final = 2
"""Sites that are judged, and rounds, in a usual search for elements other than rules."""
SCREENED: Final = 100
SWEEPS: Final = 4
"""Candidates that are judged, and sweeps, in a usual search for rules.

KTH-SP2 takes 193 in 6, LANL-CM5 39 in 3, UniLu-Gaia 176 in 1.
"""
LEAST_DAYS: Final = 28
"""A budget affords at least this much of a log: hours of the week show in weeks."""


class Cost(NamedTuple):
    """CPU seconds; fitted to what KTH-SP2 and LANL-CM5, and parts of them, took."""

    judging: float
    """A site."""
    proposing: float
    """Elements other than rules, once a round."""
    screening: float
    """A candidate for a rule."""
    sweeping: float
    """All candidates for rules, once a round."""

    @property
    def search(self) -> float:
        """Of a usual search."""
        of_rules = SCREENED * self.screening + SWEEPS * self.sweeping
        return of_rules + JUDGED * self.judging + ROUNDS * self.proposing


def cost(attempts: float, looks: float) -> Cost:
    """Of a log of so many attempts, with so many instants in their waits."""
    return Cost(
        0.7e-6 * attempts + 55e-9 * looks + 0.005,
        2e-6 * attempts + 0.12e-6 * looks + 0.1,
        0.25e-6 * attempts + 2e-9 * looks + 0.001,
        5e-6 * attempts + 0.1e-6 * looks + 0.2,
    )


class Budget:
    """What a search may still do."""

    def __init__(self, observed: Observed, seconds: float) -> None:
        """``seconds`` of one processor for judging sites over ``observed`` again and again."""
        work = observed.work
        waits = work.queued & work.has_started
        looks = _looks(observed.instants, work.arrival[waits], work.start[waits])
        self.each = cost(len(work.arrival), int(looks.sum()))
        self.left = seconds
        self.ended = False

    def judge(self) -> bool:
        """Whether one more site may be judged; it counts."""
        return self._take(self.each.judging)

    def propose(self) -> bool:
        """Whether there may be another round; it counts."""
        return self._take(self.each.proposing)

    def screen(self) -> bool:
        """Whether one more candidate for a rule may be judged; it counts."""
        return self._take(self.each.screening)

    def sweep(self) -> bool:
        """Whether there may be another sweep for rules; it counts."""
        return self._take(self.each.sweeping)

    def _take(self, seconds: float) -> bool:
        self.left -= seconds
        self.ended |= self.left < 0
        return not self.ended


class Affordable(NamedTuple):
    """The part of a log that a budget affords."""

    since: int | None
    """From when on attempts are looked at, epoch s; None: the budget affords the whole log."""
    whole: float
    """CPU seconds of a usual search of the whole log."""


def latest(described: pl.DataFrame, seconds: float) -> Affordable:
    """Return the latest days of a log that a budget affords, at least ``LEAST_DAYS``."""
    ran = described.select(
        "arrival_time", "start_time", end=pl.col("start_time") + pl.col("occupancy_s")
    )
    ran = ran.drop_nulls().sort("arrival_time")
    if ran.is_empty():
        return Affordable(None, 0.0)
    arrival, start, end = (ran[name].to_numpy() for name in ran.columns)
    instants = np.unique(np.concatenate((arrival, start, end)))
    looks = np.concatenate(([0], np.cumsum(_looks(instants, arrival, start))))
    first, last = int(arrival[0]), int(arrival[-1])

    def needed(since: int) -> float:
        low = int(np.searchsorted(arrival, since))
        return cost(len(arrival) - low, int(looks[-1] - looks[low])).search

    whole = needed(first)
    if whole <= seconds:
        return Affordable(None, whole)
    days = range((last - first) // DAY_S, LEAST_DAYS, -1)
    enough = (number for number in days if needed(last - number * DAY_S) <= seconds)
    least = min(LEAST_DAYS, (last - first) // DAY_S)
    return Affordable(last - next(enough, least) * DAY_S, whole)


def _looks(instants: Ints, arrival: Ints, start: Ints) -> Ints:
    """How many instants are in each wait."""
    number: Ints = np.searchsorted(instants, start) - np.searchsorted(instants, arrival) + 1
    return np.maximum(number, 0)
