"""The test whether a site keeps a window, by occasions withheld, breaks, and neighbours.

An *occasion* begins when an attempt could start (step 5 of the account's walk, without the rule)
and the rule forbids it; a start that the rule forbids *breaks* it. A *unit* is a user on a day; its
*broken share* is breaks ÷ (breaks + occasions). Neighbours are attempts that the rule nearly
forbids; their share is expected without a rule.

Source: SPEC §11, *Windows and overlap windows*, (a), (b) and (d).
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Bools, Ints
from audit.kernels.closed_hours import Side
from audit.metrics.closed_hours import DAY_S

LEAST: Final = 20
"""Least number of occasions of either side, and of units of neighbours."""
LEAST_USERS: Final = 3
LEAST_DAYS: Final = 5
LATE: Final = 0.4
"""The last part, as a share of all units."""
KEPT: Final = 0.1
"""Greatest broken share of a rule, as a multiple of its neighbours' share."""
RAW: Final = 0.2
"""The same, for a rule to be judged in full."""
QUARTERS: Final = 4
_AT_ONCE: Final = 1 << 20
"""Events that are counted at a time, to save memory."""
CONFIDENCE: Final = 0.95

Days = tuple[int, int]
"""Days [from, to) since 1970-01-01; ``SINCE`` and ``UNTIL`` are no bounds."""
SINCE: Final = -(1 << 31)
UNTIL: Final = 1 << 31


class Units(NamedTuple):
    """Units, by time."""

    user: Ints
    day: Ints  # since 1970
    breaks: Ints
    counts: Ints  # breaks and occasions

    @property
    def share(self) -> NDArray[np.float64]:
        """The broken share of each."""
        return self.breaks / self.counts

    @property
    def mean(self) -> float:
        """The mean broken share."""
        return float(self.share.mean()) if len(self.day) else 0.0

    def within(self, days: Days) -> "Units":
        """Return the units on these days."""
        part = slice(*np.searchsorted(self.day, days).tolist())
        return Units._make(column[part] for column in self)


class TestedRule(NamedTuple):
    """The result of the test of a rule."""

    fails: str  # the condition that does not hold; empty: all hold
    days: Days | None = None  # the days on which the rule holds; None: the whole log
    breaks: int = 0
    withheld: int = 0
    units: int = 0
    broken: float = 0.0  # the sum of their shares
    by_chance: float = 0.0  # the neighbours' mean share

    @property
    def bound(self) -> float:
        """The upper bound of the mean broken share."""
        return upper_bound(self.broken, self.units)


def on_days(at: Ints, days: Days) -> Bools:
    """Return whether instants, s, are on these days."""
    return (at >= days[0] * DAY_S) & (at < days[1] * DAY_S)


def counted(both: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct keys of events, and the starts and the events of each.

    Args:
        both: 2 · key + 1 for a start, else 2 · key; ascending.
    """
    ordered = both >> 1
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    breaks = np.add.reduceat(both & 1, first) if len(first) else first
    return ordered[first], breaks, np.diff(first, append=len(both))


class UnitEvents(NamedTuple):
    """Occasions of rules, and starts that break them, by time: see ``kernels.closed_hours``."""

    numbers: Ints
    """Ascending: (2 · key + 1 for a start, else 2 · key), and behind it the bits of the attempt."""
    users: int  # a key is ``users`` · day + user + 1; an unknown user is -1
    bits: int

    def units(self, side: NDArray[np.uint8]) -> tuple[Units, Units]:
        """Return the units of a window and of its neighbours; ``side`` is [n] (``Side``)."""
        found = list[list[tuple[Ints, Ints, Ints]]]([[], []])
        end, count = 0, len(self.numbers)
        while end < count or not found[0]:
            begin, end = end, min(end + _AT_ONCE, count)
            if end < count:  # a part ends with a key
                next_key = (self.numbers[end - 1] >> self.bits + 1) + 1
                end = int(np.searchsorted(self.numbers, next_key << self.bits + 1))
            part = self.numbers[begin:end]
            of, both = side[part & (1 << self.bits) - 1], part >> self.bits
            for kind, made in zip((Side.INSIDE, Side.OUTSIDE), found, strict=True):
                made.append(counted(both[of == kind]))
        keyed = (map(np.concatenate, zip(*made, strict=True)) for made in found)
        mine, others = (
            Units(key % self.users - 1, key // self.users, breaks, counts)
            for key, breaks, counts in keyed
        )
        return mine, others


def plausible(rule: Units, neighbours: Units) -> bool:
    """Return whether the mean share, in some stretch of days, is low enough to judge the rule."""
    if _too_few(rule, neighbours):
        return False
    most = RAW * neighbours.mean
    if rule.mean <= most:
        return True
    days = _stretch(rule, most)
    inside = rule.within(days)
    return not _too_few(inside, neighbours.within(days)) and inside.mean <= most


def days_of(rule: Units, neighbours: Units) -> Days | None:
    """Return the days on which a rule may be kept, with enough evidence; None: the whole log."""
    most = KEPT * neighbours.mean
    return None if _holds_in_quarters(rule, most) else _stretch(rule, most)


def judge(rule: Units, neighbours: Units) -> TestedRule:
    """Return whether a rule is kept over the whole log, else in a stretch of days, else not."""
    known = _too_few(rule, neighbours)
    if known:
        return TestedRule(known)
    days = days_of(rule, neighbours)
    if days is not None:
        rule, neighbours = rule.within(days), neighbours.within(days)
        known = _too_few(rule, neighbours)
        if known:
            return TestedRule(f"{known}, in its stretch of days", days)
    chance, breaks, count = neighbours.mean, int(rule.breaks.sum()), len(rule.day)
    late = rule.share[count - math.ceil(LATE * count) :]
    broken, most, fails = float(rule.share.sum()), KEPT * chance, ""
    if not _bounded(broken, count, most):
        fails = "bound"
    elif not _bounded(float(late.sum()), len(late), most):
        fails = "last part"
    withheld = int(rule.counts.sum()) - breaks
    return TestedRule(fails, days, breaks, withheld, count, broken, chance)


def _too_few(rule: Units, neighbours: Units) -> str:
    """Return the evidence that is too scarce for a judgement; empty: none is."""
    for name, side in (("occasions", rule), ("neighbours", neighbours)):
        if side.counts.sum() < LEAST:
            return name
        if np.count_nonzero(np.bincount(side.user + 1)) < LEAST_USERS:
            return f"users of {name}"
        if np.count_nonzero(np.diff(side.day, prepend=-1)) < LEAST_DAYS:
            return f"days of {name}"
    return "units of neighbours" if len(neighbours.day) < LEAST else ""


def _holds_in_quarters(rule: Units, most: float) -> bool:
    """Return whether the mean share holds in each quarter of the time, condition (d)."""
    first, last = rule.day[0], rule.day[-1] + 1
    quarter = (rule.day - first) * QUARTERS // (last - first)
    events, shares = (np.bincount(quarter, sums) for sums in (rule.counts, rule.share))
    high = shares > most * np.bincount(quarter)
    return not (high & (events >= LEAST)).any()


def _stretch(rule: Units, most: float) -> Days:
    """Return the days [from, to) with the greatest Σ (most · (broken + withheld) − broken).

    Ties go to the stretch that begins last and ends first. A side without units outside is open.
    """
    changes = np.diff(rule.day, prepend=-1) != 0
    days, place = rule.day[changes], changes.cumsum() - 1
    worth = most * np.bincount(place, rule.counts) - np.bincount(place, rule.breaks)
    sums = np.concatenate(([0.0], np.cumsum(worth)))
    lowest = np.minimum.accumulate(sums[:-1])
    end = int((sums[1:] - lowest).argmax())
    begin = int(np.flatnonzero(sums[: end + 1] == lowest[end])[-1])
    since = int(days[begin]) if begin > 0 else SINCE
    until = int(days[end]) + 1 if end + 1 < len(days) else UNTIL
    return since, until


def _bounded(breaks: float, trials: int, most: float) -> bool:
    """Return whether ``upper_bound`` is at most ``most``, without finding it."""
    return breaks < trials and _beta_cdf(most, breaks + 1, trials - breaks) >= CONFIDENCE


def upper_bound(breaks: float, trials: int) -> float:
    """Return the one-sided Clopper–Pearson bound of a share; ``breaks`` may be fractional.

    It is the ``CONFIDENCE`` quantile of Beta(breaks + 1, trials − breaks).
    """
    if breaks >= trials:
        return 1.0
    a, b = breaks + 1, trials - breaks
    low, high, at, before = breaks / trials, 1.0, a / (a + b), -1.0
    while abs(at - before) > 1e-9:  # Newton's steps, within what is left
        over = _beta_cdf(at, a, b) - CONFIDENCE
        low, high = (at, high) if over < 0 else (low, at)
        density = math.exp(_log_beta_terms(at, a, b)) / (at * (1 - at))
        before, at = at, at - over / density if density > 0 else 1.0
        if not low < at < high:
            at = (low + high) / 2
    return at


def _log_beta_terms(x: float, a: float, b: float) -> float:
    """Return the logarithm of x^a (1 − x)^b ÷ B(a, b)."""
    of_both = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return of_both + a * math.log(x) + b * math.log1p(-x)


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_cdf(1 - x, b, a)
    front = math.exp(_log_beta_terms(x, a, b))
    value = 1.0
    for step in range(200, 0, -1):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + term / value
    return front / (a * value)
