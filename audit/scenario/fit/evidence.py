"""Whether a rule is kept: occasions withheld and starts that break it, against its neighbours.

Conventions: an *occasion* is a time at which a waiting attempt could have started but for the
rule alone; a start that the rule forbids *breaks* it. A *unit* is a user on a day (on logs under
``SHORT_DAYS``: in ``SHORT_UNIT_S``); its *broken share* is breaks ÷ (breaks + occasions withheld).
Neighbours are attempts that the rule does not forbid, but nearly; they show what share would be
broken if there were no rule.

Source: SPEC §11, *Rules that may be used*, (a), (b) and (d).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from audit.scenario.workload import Bools, Ints

DAY_S: Final = 86_400
SHORT_DAYS: Final = 10
SHORT_UNIT_S: Final = 21_600
LEAST: Final = 20
"""Occasions of either side, and units of neighbours."""
LEAST_USERS: Final = 3
LEAST_DAYS: Final = 5
LEAST_LATE: Final = 10
"""Units in the last part of the evidence."""
LATE: Final = 0.4
"""The last part of the evidence."""
KEPT: Final = 0.1
"""Greatest broken share of a rule, as a part of its neighbours' share."""
RAW: Final = 0.2
"""Greatest broken share at which a rule is judged at all, as a part of its neighbours' share."""
QUARTERS: Final = 4
CONFIDENCE: Final = 0.95


class Events(NamedTuple):
    """Occasions that were withheld, and starts, of one side; one element each."""

    user: Ints
    entity: Ints  # for whom the rule counts separately; of windows, the user
    at: Ints  # s on the pool's clock
    broken: Bools  # whether it is a start

    def of(self, chosen: Bools) -> Events:
        """The chosen events."""
        return Events(self.user[chosen], self.entity[chosen], self.at[chosen], self.broken[chosen])

    def within(self, days: tuple[int, int]) -> Events:
        """The events on days [from, to)."""
        return self.of((self.at >= days[0] * DAY_S) & (self.at < days[1] * DAY_S))

    @property
    def share(self) -> float:
        """Starts ÷ events; 0 without events."""
        return float(self.broken.mean()) if len(self.broken) else 0.0


class Units(NamedTuple):
    """Units in the order of time."""

    user: Ints
    at: Ints  # number of the day, or of its part
    share: np.ndarray[tuple[int], np.dtype[np.float64]]

    @property
    def mean(self) -> float:
        """The mean broken share."""
        return float(self.share.mean()) if len(self.share) else 0.0


class Booked(NamedTuple):
    """Waiting time with free capacity that a rule would book."""

    at: Ints  # s on the pool's clock
    seconds: Ints

    def within(self, days: tuple[int, int] | None) -> int:
        """Return the seconds on days [from, to); None: all of them."""
        if days is None:
            return int(self.seconds.sum())
        inside = (self.at >= days[0] * DAY_S) & (self.at < days[1] * DAY_S)
        return int(self.seconds[inside].sum())


class Found(NamedTuple):
    """What the events say of a rule."""

    fails: str
    """Which condition does not hold; empty: all do."""
    days: tuple[int, int] | None = None
    """Days [from, to) in which the rule holds, where that is not the whole log."""
    breaks: int = 0
    withheld: int = 0
    units: int = 0
    share: float = 0.0
    bound: float = 1.0
    by_chance: float = 0.0
    """The neighbours' mean share."""


def unit_s(days: float) -> int:
    """Return how long a unit lasts on a log of so many days, s."""
    return SHORT_UNIT_S if days < SHORT_DAYS else DAY_S


def units(events: Events, lasts: int) -> Units:
    """Return the units of events and their broken shares."""
    at = events.at // lasts
    order = np.lexsort((events.user, at))
    at, user, broken = at[order], events.user[order], events.broken[order]
    first = np.flatnonzero(
        np.diff(at, prepend=at[:1] - 1).astype(bool) | np.diff(user, prepend=-2).astype(bool)
    )
    counts = np.diff(np.append(first, len(at)))
    breaks = np.add.reduceat(broken.astype(np.float64), first) if len(first) else np.zeros(0)
    return Units(user[first], at[first], breaks / np.maximum(counts, 1))


def plausible(rule: Events, neighbours: Events, lasts: int) -> bool:
    """Return whether the mean share is low enough, somewhere in the log, to judge the rule."""
    if _enough(rule, neighbours, lasts):
        return False
    most = RAW * units(neighbours, lasts).mean
    if units(rule, lasts).mean <= most:
        return True
    days = _stretch(rule, most)
    inside = rule.within(days)
    return not _enough(inside, neighbours.within(days), lasts) and (
        units(inside, lasts).mean <= most
    )


def judge(rule: Events, neighbours: Events, lasts: int) -> Found:
    """Return whether a rule is kept over the whole log, else in a stretch of days, else not.

    Args:
        rule: occasions that the rule withheld, and starts that break it.
        neighbours: occasions and starts of neighbours.
        lasts: of a unit, s.
    """
    known = _enough(rule, neighbours, lasts)
    if known:
        return Found(known)
    most = KEPT * units(neighbours, lasts).mean
    if _holds_in_quarters(rule, lasts, most):
        return _kept(rule, neighbours, lasts)
    days = _stretch(rule, most)
    inside = rule.within(days), neighbours.within(days)
    known = _enough(*inside, lasts)
    if known:
        return Found(f"{known}, in its stretch of days")
    return _kept(*inside, lasts)._replace(days=days)


def _enough(rule: Events, neighbours: Events, lasts: int) -> str:
    """Return what there is too little of to judge."""
    for name, events in (("occasions", rule), ("neighbours", neighbours)):
        if len(events.at) < LEAST:
            return name
        if len(np.unique(events.user)) < LEAST_USERS:
            return f"users of {name}"
        if len(np.unique(events.at // DAY_S)) < LEAST_DAYS:
            return f"days of {name}"
    return "units of neighbours" if len(units(neighbours, lasts).at) < LEAST else ""


def _kept(rule: Events, neighbours: Events, lasts: int) -> Found:
    """Return whether conditions (a), but for slices, and (b) hold."""
    of_rule = units(rule, lasts)
    chance = units(neighbours, lasts).mean
    breaks = int(rule.broken.sum())
    found = Found(
        "",
        None,
        breaks,
        len(rule.at) - breaks,
        len(of_rule.at),
        of_rule.mean,
        upper_bound(float(of_rule.share.sum()), len(of_rule.at)),
        chance,
    )
    late = of_rule.share[len(of_rule.at) - math.ceil(LATE * len(of_rule.at)) :]
    if found.bound > KEPT * chance:
        return found._replace(fails="bound")
    if len(late) < LEAST_LATE or late.mean() > KEPT * chance:
        return found._replace(fails="last part")
    if _broken_by_one(rule, lasts):
        return found._replace(fails="one entity")
    return found


def _broken_by_one(rule: Events, lasts: int) -> bool:
    """Return whether an entity with enough occasions breaks the rule in over half of its units."""
    for entity in np.unique(rule.entity[rule.broken]):
        own = rule.of(rule.entity == entity)
        if len(own.at) >= LEAST and (units(own, lasts).share > 0).mean() > 0.5:
            return True
    return False


def _holds_in_quarters(rule: Events, lasts: int, most: float) -> bool:
    """Return whether the mean share holds in each quarter of the time, condition (d)."""
    first, last = int(rule.at.min()), int(rule.at.max()) + 1
    quarter = (rule.at - first) * QUARTERS // (last - first)
    parts = [rule.of(quarter == number) for number in range(QUARTERS)]
    return all(units(part, lasts).mean <= most for part in parts if len(part.at) >= LEAST)


def _stretch(rule: Events, most: float) -> tuple[int, int]:
    """Return the days [from, to) with the greatest Σ (most · (broken + withheld) − broken).

    Of stretches with the same sum, the one that begins last and ends first.
    """
    days, place = np.unique(rule.at // DAY_S, return_inverse=True)
    worth = most * np.bincount(place) - np.bincount(place, rule.broken)
    sums = np.concatenate(([0.0], np.cumsum(worth)))
    lowest = np.minimum.accumulate(sums[:-1])
    end = int((sums[1:] - lowest).argmax())
    begin = int(np.flatnonzero(sums[: end + 1] == lowest[end])[-1])
    return int(days[begin]), int(days[end]) + 1


def upper_bound(breaks: float, trials: int) -> float:
    """Return the one-sided Clopper–Pearson bound of a share: ``breaks``, not all whole, of trials.

    It is the ``CONFIDENCE`` quantile of Beta(breaks + 1, trials − breaks).
    """
    if breaks >= trials:
        return 1.0
    low, high = breaks / trials, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        below = _beta_cdf(middle, breaks + 1, trials - breaks) < CONFIDENCE
        low, high = (middle, high) if below else (low, middle)
    return high


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_cdf(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    value = 1.0
    for step in range(200, 0, -1):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + term / value
    return front / (a * value)
