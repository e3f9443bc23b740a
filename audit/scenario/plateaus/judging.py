"""Which levels of entities are limits: candidates, their counts, and the condition that fails.

Source: SPEC §11, *Plateaus: limits that the log shows*.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Floats, Ints
from audit.kernels.plateaus import judge
from audit.scenario.plateaus.entities import Family, LimitedQuantity, Member, Plateaued

LEVELS: Final = 5
"""Number of levels of a series that are judged."""
WHOLE: Final = 0.98
"""Share of what a class can hold from which on an amount is no limit."""
MOST_BROKEN: Final = 0.3
"""Greatest share, of the starts that reach a level, of those that exceed it; not of single users.

Limits of made sites have at most .02, also where a tenth of the jobs are exempt. Where the machine
is smaller for a while, or one user submits most jobs, levels reached by chance have .66 or more.
"""


class PlateauFault(StrEnum):
    """The first condition of a limit that a candidate fails."""

    FEW_STOPS = "few stops at the level"
    NOT_CONCENTRATED = "entities often stop below the level"
    FEW_DAYS = "stops on few days"
    SHORT = "the stops span few days"
    BROKEN = "too many starts exceed the level"
    FEW_ENTITIES = "few entities stop at the level"
    ONE_ENTITY = "one entity has nearly all stops at the level"
    ONE_JOB = "one running job, of few entities"
    BELOW = "more stops just below the level than starts there"
    ALONE = "the level is the size of one job"
    WHOLE = "the level is the capacity"
    FEW_NODES = "the jobs that stop had no more of the nodes on which their users' jobs ran"
    FEW_USERS = "few users stop at the level"


class PlateauCounts(NamedTuple):
    """Evidence for and against a level in its period (SPEC §11)."""

    at: int
    withheld: int  # W
    near: int  # N
    climbs_near: int  # Z
    broken: int  # B
    next: int  # T
    next_beside: int  # T of entities that had something running
    starts: int
    days: int  # those with withheld stops
    entities: int  # those with 5 stops at the level
    most_at: int  # of the entity with most stops at the level
    most_broken: int  # the breaks of that entity
    units: int  # entity-days with withheld or near stops
    first_day: int  # local, from the epoch on
    last_day: int
    always: int  # 1: the period is the whole log
    highest: int  # the highest level after a start that is not above it

    @property
    def score(self) -> int:
        """The number of stops at the level less twice the breaks."""
        return self.at - 2 * self.broken


class SeriesOf(NamedTuple):
    """Entities begin ≤ e < end that are judged together."""

    family: Family
    begin: int
    end: int
    member: Member | None  # the entity; None: all of the family, or of ``place``
    place: str | None = None  # the partition or QOS within which the entities are limited

    @property
    def pooled(self) -> bool:
        """Whether they are several."""
        return self.member is None


class JudgedLevel(NamedTuple):
    """A level of a series in one measure, with what the log shows of it."""

    series: SeriesOf
    measure: int
    level: int
    counts: PlateauCounts
    concentration: float
    fault: PlateauFault | None  # None: it is accepted

    @property
    def accepted(self) -> bool:
        """Whether it is a limit."""
        return self.fault is None


def series(jobs: Plateaued, *, pooled: bool) -> list[SeriesOf]:
    """Return the series of all families: those of several entities, or of single ones."""
    found = []
    for k, family in enumerate(jobs.families):
        begin, end = int(jobs.first[k]), int(jobs.first[k + 1])
        if not pooled:
            if family.single:
                found += [SeriesOf(family, e, e + 1, jobs.members[e]) for e in range(begin, end)]
        elif family.within is not None:
            places = [jobs.members[e].place for e in range(begin, end)]
            edges = [e for e in range(1, len(places)) if places[e] != places[e - 1]]
            cuts = [begin, *(begin + e for e in edges), end]
            found += [
                SeriesOf(family, low, high, None, jobs.members[low].place)
                for low, high in pairwise(cuts)
                if low < high
            ]
        elif family.pooled:
            found.append(SeriesOf(family, begin, end, None))
    return found


def weighed(
    of: judge.Traces, begin: Ints, end: Ints, level: Ints, period: Ints | None = None
) -> tuple[Ints, Floats]:
    """Return ``PlateauCounts`` of levels, [q, its fields], and their concentrations, [q].

    In the given periods, [2, q], or in those with most at − 2B.
    """
    counts = np.zeros((len(level), len(PlateauCounts._fields)), np.int64)
    concentration = np.zeros(len(level))
    if period is None:
        period = np.tile(np.array([[1], [0]]), len(level))
    judge.weigh(of, begin, end, level, period, counts, concentration)
    return counts, concentration


def judged(
    jobs: Plateaued,
    of: judge.Traces,
    measure: int,
    among: Sequence[SeriesOf],
    *,
    first: int,
    levels: Ints | None = None,
    least: int = 1,
) -> list[JudgedLevel]:
    """Return the levels of series with the first condition that each fails.

    Args:
        of: stops and climbs in the measure, of the entities from ``first`` on.
        levels: of each series the level to judge; None: its candidates.
        least: of candidates that fail, those with at least as many stops at the level.
    """
    begin, end = np.array([(one.begin - first, one.end - first) for one in among]).T.copy()
    if levels is None:
        found = np.zeros((len(among), LEVELS), np.int64)
        judge.candidates(of, begin, end, found)
        found.sort(axis=1)
        found[:, 1:][found[:, 1:] == found[:, :-1]] = -1
        which, place = np.nonzero(found >= 0)
        levels = found[which, place]
    else:
        which = np.arange(len(among))
    every, shares = weighed(of, begin[which], end[which], levels)
    found_levels = list[JudgedLevel]()
    for k in np.flatnonzero(every[:, 0] >= least).tolist():
        one, level, share = among[which[k]], int(levels[k]), float(shares[k])
        counts = PlateauCounts(*every[k].tolist())
        fault = fault_of(one, jobs.measures[measure], level, counts, share)
        found_levels.append(JudgedLevel(one, measure, level, counts, share, fault))
    return found_levels


def fault_of(
    one: SeriesOf, measure: LimitedQuantity, level: int, counts: PlateauCounts, concentration: float
) -> PlateauFault | None:
    """Return the first condition that a level fails; None: it is accepted."""
    at, broken = counts.at, counts.broken
    one_job = measure.resource is None and level == 1
    hardly = (
        broken <= 0.005 * (broken + counts.next)
        and broken <= 0.02 * (broken + at)
        and at >= 50
        and counts.days >= 15
        and not one_job
        and (not one.pooled or counts.entities >= 5)
        and (one.pooled or one.family.of in ("user", None) or counts.next >= 100)
    )
    span = counts.last_day - counts.first_day + 1
    lasts = bool(counts.always) or span >= 14
    failed = {
        PlateauFault.FEW_STOPS: at < 20,
        PlateauFault.NOT_CONCENTRATED: concentration < (0.25 if hardly else 0.6),
    }
    if one.pooled:
        few = one.family.within is not None and counts.entities < 5
        rest = at - counts.most_at
        failed |= {
            PlateauFault.FEW_DAYS: counts.days < 8,
            PlateauFault.FEW_ENTITIES: counts.entities < 3,
            PlateauFault.ONE_ENTITY: at <= 2 * broken or rest <= 2 * (broken - counts.most_broken),
            PlateauFault.SHORT: one.family.within is not None and not lasts,
            PlateauFault.BROKEN: broken > MOST_BROKEN * (broken + counts.next)
            or (few and broken > 0.05 * (broken + counts.withheld)),
            PlateauFault.ONE_JOB: few and one_job,
        }
    else:
        failed |= {
            PlateauFault.FEW_DAYS: counts.days < 10,
            PlateauFault.SHORT: not lasts,
            PlateauFault.BROKEN: broken > 0.15 * (broken + counts.withheld)
            or (one.family.of != "user" and broken > MOST_BROKEN * (broken + counts.next)),
            PlateauFault.BELOW: not hardly and counts.near > counts.climbs_near,
            PlateauFault.ALONE: measure.resource is not None
            and counts.next_beside < 0.3 * counts.next,
        }
    return next((fault for fault, fails in failed.items() if fails), None)
