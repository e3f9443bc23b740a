"""Capacity below the declared one: made stops and starts of a class."""

from typing import NamedTuple

import numpy as np
import pytest

from audit.scenario.plateaus.capacity import CapacityBelow, capacity_below
from audit.scenario.plateaus.entities import Family, Plateaued
from audit.scenario.plateaus.sweeping import Climbs, Stops

CLASS = Family(None, None, "interactive")


class _Jobs(NamedTuple):
    """What of the jobs is read: all are of one CPU; one class."""

    families: tuple[Family, ...] = (CLASS,)
    first: np.ndarray = np.array([0, 1])
    adds: np.ndarray = np.ones((3, 1), np.int64)
    group: np.ndarray = np.zeros(10_000, np.int64)


def below(
    reached: list[int], stopped: list[tuple[int, int]], declared: int = 100
) -> CapacityBelow | None:
    """What levels after starts, and (level, day) of stops show."""
    levels = np.array(reached)
    at, day = np.array(stopped).T
    climbs = Climbs(
        np.array([0, len(reached)]),
        np.arange(len(reached), dtype=np.int32),
        (levels, levels),
        np.zeros_like(levels),
    )
    nobody = np.zeros(0, np.int32)
    each = np.arange(len(at), dtype=np.int32)
    first, group = np.array([0, len(at)]), np.zeros_like(each)
    stops = Stops(first, group, each, (at, at), day, nobody, nobody)
    jobs: Plateaued = _Jobs()  # type: ignore[assignment]
    return capacity_below(jobs, stops, climbs, declared)


STARTS = [90] * 60 + [89] * 60 + [70] * 100
STOPS = [(90, day) for day in range(10) for _ in range(20)]


@pytest.mark.parametrize(
    ("reached", "stopped", "found"),
    [
        # one start of 201 breaks 90; 89 is exceeded by 61 starts, and withholds nothing
        ([*STARTS, 95], STOPS, CapacityBelow(CLASS, 90, 100, 200, 1, 10, 60)),
        # what exceeds the declared capacity does not count
        ([*STARTS, *[101] * 50], STOPS, CapacityBelow(CLASS, 90, 100, 200, 0, 10, 60)),
        ([*STARTS, *[95] * 5], STOPS, None),  # 5 of 205
        (STARTS[11:], STOPS, None),  # 49 starts up to it
        (STARTS, STOPS[:-20], None),  # on nine days
        (STARTS, [(99, day) for day in range(10)] * 20, None),  # elsewhere
        ([90] * 60, STOPS, None),  # no lower level shows that it is one
    ],
)
def test_levels(
    reached: list[int], stopped: list[tuple[int, int]], found: CapacityBelow | None
) -> None:
    assert below(reached, stopped) == found
