"""Significance of the gains and losses under a change.

Two replays of the same attempts are compared. Let d be the difference of an attempt's waits (after
− today). The means of d over all attempts, and over the width class that waits longest today, have
bootstrap intervals over users and over stretches of time (weeks, or days if weeks are too few); the
outer ends count. Two schedules drift apart by themselves: one busy week moves the waits of many
users at once, so that resampled users alone call a meaningless change (walltimes 1 % longer)
significant in one case of six. Intervals are at 1 − 5 %/(2 · number of changes), Bonferroni's
correction, and expanded where units are few.

A change is *supported* if one of the two means is significantly less, by at least a minute and 5 %
of today's. It is *outweighed* instead if the sum of all waits would grow, or if the jobs that wait
longest today would wait significantly longer. Width and walltime classes gain and lose by plain
95 % intervals.

Sources: SPEC §5, *Uncertainty*; B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap
(1993), §13.3.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from statistics import NormalDist
from typing import Final, Literal, NamedTuple

import numpy as np

from audit.array_types import Bools, Floats, Ints
from audit.metrics.claims import PartEffect, outcome
from audit.metrics.quantiles import exact_sum
from audit.metrics.uncertainty import NONE, Interval, Resamples
from audit.scenario.whatif.comparison import reproduced

LEVEL: Final = 0.05
CHUNKS: Final = 20  # multiple of the usual number of resamples, as the ends are far out
LEAST_USERS: Final = 10
LEAST_STRETCHES: Final = 20
LEAST_DAYS: Final = 10
"""Of a user who is counted as gaining or losing (as for similar jobs, SPEC §10)."""
LEAST_ATTEMPTS: Final = 30  # of a width class that may be the one that waits longest
DAY_S: Final = 86_400
WORTH_S: Final = 60
WORTH: Final = 0.05


Dimension = Literal["all", "width_class", "walltime_class", "user"]


class Judgement(StrEnum):
    """The verdict on a change."""

    supported = "supported"
    unsupported = "unsupported"
    outweighed = "outweighed"
    not_tried = "not_tried"
    never_starts = "never_starts"
    """Some attempts that start today never would."""
    not_agreeing = "not_agreeing"
    """Too few of the observed starts agree with the replayed policy, so nothing is replayed."""
    few_users = "few_users"
    few_days = "few_days"
    short_waits = "short_waits"
    """Too few users, too few days with arrivals, or too short waits to judge any change."""
    not_reproduced = "not_reproduced"
    """The replay of today misses the observed mean wait."""


class Comparable(NamedTuple):
    """Attempts that every replay started."""

    user: Ints  # [n], ≥ 0
    stretch: Ints  # [n], stretch of time of the arrival, ≥ 0
    day: Ints  # [n]
    width: Ints  # [n], number of the width class; −1: unknown
    walltime: Ints  # [n], number of the class of today's walltime
    wait: Floats  # [n], today, s
    observed: Floats  # [n], wait in the log, s


class WaitDifference(NamedTuple):
    """A mean wait after the change less that in the replay of today, s."""

    dimension: Dimension
    number: int | None  # of the class or user; None: all attempts
    attempts: int
    users: int
    observed: float
    today: float
    value: float
    lower: float | None
    upper: float | None

    @property
    def outcome(self) -> PartEffect:
        """The effect on the part."""
        return outcome(self.value, self.lower, self.upper)


_Part = tuple[Dimension, int | None]
_ALL: Final[_Part] = ("all", None)


class ChangeVerdict(NamedTuple):
    """The effect of a change."""

    judgement: Judgement
    by: WaitDifference  # the deciding mean, with its corrected interval
    saved: float  # reduction of the sum of all waits, s
    parts: tuple[WaitDifference, ...]
    """All attempts, then width classes from narrow to wide, and walltime classes; without classes
    whose observed wait the replay of today misses."""


def too_few(users: Ints, stretch: Ints) -> Judgement | None:
    """Return whether users or stretches of time are too few for intervals; None: neither."""
    if len(np.unique(users)) < LEAST_USERS:
        return Judgement.few_users
    return Judgement.few_days if len(np.unique(stretch)) < LEAST_STRETCHES else None


def believed(compared: Comparable, rows: Bools | slice = slice(None)) -> bool:
    """Return whether the replay of today reproduces the observed mean wait."""
    observed, wait = compared.observed[rows], compared.wait[rows]
    return len(wait) == 0 or reproduced(float(observed.mean()), float(wait.mean()))


def reproduces(compared: Comparable) -> bool:
    """Return whether the replay of today may be believed of the pool.

    It reproduces the mean wait of all attempts, and those of width classes with more than half of
    all waiting.
    """
    missed = 0.0
    for width in np.unique(compared.width).tolist():
        own = compared.width == width
        missed += 0.0 if believed(compared, own) else float(compared.observed[own].sum())
    total = float(compared.observed.sum())
    return believed(compared) and (missed == 0 or 2 * missed < total)


def stretches(arrival: Ints) -> tuple[Ints, Ints]:
    """Return stretch (week, or day if weeks are too few) and day of each arrival, ≥ 0."""
    day: Ints = (arrival - arrival.min()) // DAY_S if len(arrival) else arrival
    week: Ints = day // 7
    return (week if len(np.unique(week)) >= LEAST_STRETCHES else day), day


def worst_off(compared: Comparable) -> int | None:
    """Return the width class that waits longest today, with enough attempts and users.

    Classes whose observed wait the replay misses are left out. None without such a class,
    or where all attempts are of one class.
    """
    classes = [width for width in np.unique(compared.width).tolist() if width >= 0]
    means: dict[float, int] = {}
    for width in reversed(classes):
        own = compared.width == width
        many = np.count_nonzero(own) >= LEAST_ATTEMPTS
        if many and len(np.unique(compared.user[own])) >= LEAST_USERS and believed(compared, own):
            means[float(compared.wait[own].mean())] = width
    return means[max(means)] if len(classes) > 1 and means else None


def judge(compared: Comparable, differences: Floats, seed: int) -> tuple[ChangeVerdict, ...]:
    """Judge each of k changes.

    Args:
        compared: the attempts, not ``too_few``, and ``believed``.
        differences: [k, n], the wait after each change less today's, s.
    """
    worst = worst_off(compared)
    parts_of: dict[_Part, Bools] = {_ALL: np.ones(len(compared.wait), np.bool_)}
    judged = dict(parts_of)
    if worst is not None:
        judged["width_class", worst] = compared.width == worst
    by: dict[Dimension, Ints] = {"width_class": compared.width, "walltime_class": compared.walltime}
    for dimension, classes in by.items():
        for number in np.unique(classes[classes >= 0]).tolist():
            if believed(compared, classes == number):
                parts_of[dimension, number] = classes == number
    units = list(enumerate((compared.user, compared.stretch), seed))
    far = [_far_ends(unit, list(judged.values()), differences, of) for of, unit in units]
    near = [Resamples(int(unit.max()) + 1, of) for of, unit in units]
    verdicts = []
    for change, difference in enumerate(differences):
        means = [
            _difference(compared, part, rows, difference, hull(*(ends[change][k] for ends in far)))
            for k, (part, rows) in enumerate(judged.items())
        ]
        parts = [_plain(compared, part, rows, difference, near) for part, rows in parts_of.items()]
        verdicts.append(_verdict(means, parts, float(-difference.sum())))
    return tuple(verdicts)


def _verdict(
    means: Sequence[WaitDifference], parts: Sequence[WaitDifference], saved: float
) -> ChangeVerdict:
    """Judge by the means of all and of the class that waits longest, if any."""
    helped = [mean for mean in means if _helps(mean)]
    by = helped[-1] if helped else min(means, key=lambda mean: mean.value / max(mean.today, 1.0))
    judgement = Judgement.supported if helped else Judgement.unsupported
    worse = means[-1].outcome is PartEffect.loses
    if helped and (saved < 0 or worse):
        judgement = Judgement.outweighed
    return ChangeVerdict(judgement, by, saved, tuple(parts))


def _helps(mean: WaitDifference) -> bool:
    """Return whether a mean is significantly less, and by enough to be worth a change."""
    return mean.outcome is PartEffect.gains and -mean.value >= max(WORTH_S, WORTH * mean.today)


def _plain(
    compared: Comparable,
    part: _Part,
    rows: Bools,
    difference: Floats,
    resamples: Sequence[Resamples],
) -> WaitDifference:
    """Return a part with its plain 95 % interval."""
    ends = []
    for unit, drawn in zip((compared.user, compared.stretch), resamples, strict=True):
        present, above, below = _by_unit(unit[rows], difference[rows])
        ends.append(drawn.ratio(present, above, below))
    return _difference(compared, part, rows, difference, hull(*ends))


def _by_unit(unit: Ints, values: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the units present, and the sum and the number of the values of each."""
    count = np.bincount(unit)
    present = np.flatnonzero(count)
    sums = np.bincount(unit, values)
    return present, sums[present].astype(np.float64), count[present].astype(np.float64)


def _difference(
    compared: Comparable, part: _Part, rows: Bools | Ints, difference: Floats, ends: Interval
) -> WaitDifference:
    number = len(difference[rows])
    return WaitDifference(
        *part,
        number,
        len(np.unique(compared.user[rows])),
        exact_sum(compared.observed[rows]) / number,
        exact_sum(compared.wait[rows]) / number,
        exact_sum(difference[rows]) / number,
        *ends,
    )


def hull(*ends: Interval) -> Interval:
    """Return the smallest interval that holds several; none where one of them is none."""
    lower = [low for low, _ in ends if low is not None]
    upper = [high for _, high in ends if high is not None]
    return NONE if len(lower) < len(ends) else (min(lower), max(upper))


def _far_ends(
    unit: Ints, parts: Sequence[Bools], differences: Floats, seed: int
) -> list[list[Interval]]:
    """Return corrected intervals of the mean difference of each change by part."""
    units = int(unit.max()) + 1
    counts = [np.bincount(unit[rows], minlength=units) for rows in parts]
    sums = [
        np.bincount(unit[rows], difference[rows], units)
        for difference in differences
        for rows in parts
    ]
    values = [row.astype(np.float64) for row in (*counts, *sums)]
    drawn = np.concatenate(
        [
            Resamples(units, seed + 2 * chunk).sums(np.arange(units), *values)
            for chunk in range(CHUNKS)
        ],
        axis=1,
    )
    level = LEVEL / (len(differences) * len(parts))
    of_parts, of_changes = drawn[: len(parts)], drawn[len(parts) :]

    def ends(part: int, sums_of: Floats) -> Interval:
        present = int(np.count_nonzero(counts[part]))
        if present < 2:
            return NONE
        known = of_parts[part] > 0
        return _ends(sums_of[known] / of_parts[part][known], expanded(level, present))

    return [
        [ends(part, of_changes[len(parts) * change + part]) for part in range(len(parts))]
        for change in range(len(differences))
    ]


def expanded(level: float, units: int) -> float:
    """Return the share of resamples outside an interval at 1 − ``level``, expanded for few units.

        Φ(−√(n/(n − 1)) · t)    t: quantile of Student's t, n − 1 degrees of freedom

    on each side: resamples of n units spread less than a mean of n does, with the tails of the
    normal distribution. The quantile of t is its expansion in 1/(n − 1), accurate to 0.01 for ten
    units or more.

    Sources: T. C. Hesterberg, What Teachers Should Know About the Bootstrap, The American
    Statistician 69 (2015), §4.2 (expanded percentile interval); M. Abramowitz, I. A. Stegun,
    Handbook of Mathematical Functions (1964), 26.7.5.
    """
    normal = NormalDist()
    z = -normal.inv_cdf(level / 2)
    free = units - 1
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    t = z + sum(term / free**power for power, term in enumerate(terms, 1))
    return 2 * normal.cdf(-math.sqrt(units / free) * t)


def _ends(figures: Floats, level: float) -> Interval:
    """Return the middle 1 − ``level`` of figures, nearest-rank."""
    ascending = np.sort(figures)
    outside = math.floor(len(ascending) * level / 2)
    return float(ascending[outside]), float(ascending[-1 - outside])


def swayed(compared: Comparable, difference: Floats, seed: int) -> tuple[WaitDifference, ...]:
    """Return the users whose own mean waits change significantly, by the change of their sum.

    With 95 % intervals over days; see ``LEAST_DAYS``. Those who gain most are first, and those who
    lose most last; ties: as numbered.
    """
    drawn = Resamples(int(compared.day.max()) + 1, seed)
    order = np.argsort(compared.user, kind="stable")
    edges = np.flatnonzero(np.diff(compared.user[order])) + 1
    found = []
    for rows in np.split(order, edges):
        present, above, below = _by_unit(compared.day[rows], difference[rows])
        if len(present) >= LEAST_DAYS and above.any():
            part: _Part = ("user", int(compared.user[rows[0]]))
            ends = drawn.ratio(present, above, below)
            found.append(_difference(compared, part, rows, difference, ends))
    changed = (one for one in found if one.outcome in {PartEffect.gains, PartEffect.loses})
    return tuple(sorted(changed, key=lambda one: one.value * one.attempts))
