"""Estimates of the cost of a search, and the part of a log that a budget affords.

Judging a site takes about ``a · n + b · looks + c`` seconds, with n attempts and as many looks as
there are instants in their waits; proposing elements likewise. The estimate, not a clock, limits
the search, so that the same log and budget give the same result on every machine.

A budget buys a search of the *latest* part of a log, because a site's rules change. Where it does
not afford even ``LEAST_DAYS``, the search ends before all elements are tried. Where the queue is so
deep that the sweeps that precede any search cost more than the budget, the part is shorter still,
or nothing is searched.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.model import Standing
from audit.scenario.fit.observed import Observed
from audit.scenario.fit.occasions import DAY_S
from audit.scenario.workload import Ints

JUDGED: Final = 8
ROUNDS: Final = 2
"""Sites that are judged, and rounds, in a typical search for elements other than rules."""
SCREENED: Final = 100
SWEEPS: Final = 4
"""Candidates that are judged, and sweeps, in a typical search for rules.

KTH-SP2 takes 193 in 6, LANL-CM5 39 in 3, UniLu-Gaia 176 in 1.
"""
LEAST_DAYS: Final = 28
"""Least part of a log that is searched: hours of the week show in weeks."""
FEWEST_DAYS: Final = 3
"""Fewest days in which rules are searched (SPEC §11)."""
SWEPT_S: Final = 4 * 3e-9
"""CPU seconds of four sweeps through the queue, per attempt that waits at an instant."""


class Cost(NamedTuple):
    """CPU seconds of the steps of a search, fitted to times of KTH-SP2 and LANL-CM5 and parts."""

    judging: float  # a site
    proposing: float  # elements other than rules, once a round
    screening: float  # a candidate for a rule
    sweeping: float  # for candidates for rules, once a round

    @property
    def search(self) -> float:
        """The cost of a typical search."""
        of_rules = SCREENED * self.screening + SWEEPS * self.sweeping
        return of_rules + JUDGED * self.judging + ROUNDS * self.proposing


def cost(attempts: float, looks: float) -> Cost:
    """Return the costs for a log with these numbers of attempts, and of instants in their waits."""
    return Cost(
        0.7e-6 * attempts + 55e-9 * looks + 0.005,
        2e-6 * attempts + 0.12e-6 * looks + 0.1,
        0.25e-6 * attempts + 2e-9 * looks + 0.001,
        5e-6 * attempts + 0.1e-6 * looks + 0.2,
    )


class Budget:
    """The rest of the budget of a search."""

    def __init__(self, observed: Observed, seconds: float) -> None:
        """``seconds`` of one processor for a search of ``observed``."""
        work = observed.work
        waits = work.queued & work.has_started
        looks = _looks(observed.instants, work.arrival[waits], work.start[waits])
        self.each = cost(len(work.arrival), int(looks.sum()))
        self.left = seconds
        self.ended = False

    def pays(self, seconds: float) -> bool:
        """Deduct the cost of a step, and return whether the budget affords it."""
        self.left -= seconds
        self.ended |= self.left < 0
        return not self.ended


class Affordable(NamedTuple):
    """The part of a log that a budget affords."""

    since: int | None
    """The arrival from which attempts are judged, epoch s; None: the whole log is affordable."""
    whole: float
    """CPU seconds of a typical search of the whole log."""
    nothing: bool = False
    """Whether the budget does not even pay for finding the times in which attempts would fit."""


def latest(described: pl.DataFrame, seconds: float) -> Affordable:
    """Return the latest days of a log that a budget affords, at least ``LEAST_DAYS``.

    Pending attempts count as waiting until the last instant of the others.
    """
    leaves = pl.col("start_time") + pl.col("occupancy_s")
    last_end = described.select(leaves.max()).item()
    if last_end is None:
        return Affordable(None, 0.0)
    pending = pl.col("standing") == Standing.PENDING
    until = pl.max_horizontal("arrival_time", pl.lit(last_end))
    lives = described.select(
        "arrival_time",
        start=pl.when(pending).then(until).otherwise("start_time"),
        end=pl.when(pending).then(until).otherwise(leaves),
    )
    lives = lives.drop_nulls().sort("arrival_time")
    if lives.is_empty():
        return Affordable(None, 0.0)
    arrival, start, end = (lives[name].to_numpy() for name in lives.columns)
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
    found = next(enough, None)
    if found is not None:
        return Affordable(last - found * DAY_S, whole)
    queued = np.searchsorted(arrival, instants, "right") - np.searchsorted(
        np.sort(start), instants, "right"
    )
    swept = SWEPT_S * np.append(np.cumsum(queued[::-1])[::-1], 0)
    least = min(LEAST_DAYS, (last - first) // DAY_S)
    days = range(least, min(FEWEST_DAYS, least) - 1, -1)
    begins = np.array([last - number * DAY_S for number in days])
    paid = np.flatnonzero(swept[np.searchsorted(instants, begins)] <= seconds)
    since = int(begins[paid[0] if len(paid) else -1])
    return Affordable(since, whole, nothing=len(paid) == 0)


def _looks(instants: Ints, arrival: Ints, start: Ints) -> Ints:
    """Return the number of instants in each wait."""
    number: Ints = np.searchsorted(instants, start) - np.searchsorted(instants, arrival) + 1
    return np.maximum(number, 0)
