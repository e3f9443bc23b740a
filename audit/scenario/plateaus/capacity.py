"""Capacity below the declared one, of all jobs or of all but those of a small partition.

Source: SPEC §11, *Plateaus*, "Capacity below the declared one".
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.scenario.plateaus.entities import Family, Plateaued
from audit.scenario.plateaus.sweeping import Climbs, Stops

AMOUNT: Final = 1  # the measure of the counted resource
LEVELS: Final = 40
LEAST_DAYS: Final = 10
LEAST_NEXT: Final = 50
SHARE: Final = 0.02
"""Greatest share of the starts that break the level among these and the stops withheld."""
FALL: Final = 4
"""Least quotient of the share at the next lower level and that at the level."""


class CapacityBelow(NamedTuple):
    """A level that the jobs of a class hardly exceed, though more is declared."""

    family: Family
    level: int
    declared: int
    withheld: int
    broken: int
    days: int  # those with withheld stops
    next: int  # starts after which one more job would exceed it


def capacity_below(
    jobs: Plateaued, stops: Stops, climbs: Climbs, declared: int
) -> CapacityBelow | None:
    """Return the first class with capacity below the declared one: all jobs come first."""
    classes = (k for k, family in enumerate(jobs.families) if family.of is None)
    each = (_of_class(jobs, stops, climbs, declared, k) for k in classes)
    return next((found for found in each if found is not None), None)


def _of_class(
    jobs: Plateaued, stops: Stops, climbs: Climbs, declared: int, k: int
) -> CapacityBelow | None:
    entity = int(jobs.first[k])
    if entity == jobs.first[k + 1]:
        return None
    stop = slice(stops.first[entity], stops.first[entity + 1])
    climb = slice(climbs.first[entity], climbs.first[entity + 1])
    reached = climbs.level(AMOUNT, climb)
    begins = stops.level(AMOUNT, stop)
    ends = begins + jobs.adds[AMOUNT][stops.group[stop]]
    fits = ends <= declared
    begins, ends = begins[fits], ends[fits]
    levels, often = np.unique(
        reached[(2 * reached >= declared) & (reached < declared)], return_counts=True
    )
    levels = np.sort(levels[np.argsort(-often, kind="stable")[:LEVELS]])
    one_more = reached + jobs.adds[AMOUNT][jobs.group[climbs.job[climb]]]
    withheld = _below(begins, levels) - _below(ends, levels)
    up_to = _below(reached, levels)
    broken, following = (reached <= declared).sum() - up_to, up_to - _below(one_more, levels)
    share = broken / np.maximum(withheld + broken, 1)
    for place in np.flatnonzero((share <= SHARE) & (following >= LEAST_NEXT) & (withheld > 0)):
        level = int(levels[place])
        days = len(np.unique(stops.day(stop)[fits][(begins <= level) & (level < ends)]))
        if days >= LEAST_DAYS:
            if place == 0 or share[place - 1] < FALL * share[place]:
                return None
            figures = (withheld[place], broken[place], days, following[place])
            return CapacityBelow(jobs.families[k], level, declared, *map(int, figures))
    return None


def _below(values: Ints, levels: Ints) -> NDArray[np.int64]:
    """Return how many values are at most each level."""
    return np.searchsorted(np.sort(values), levels, side="right").astype(np.int64)
