"""Stops under rules in force."""

from datetime import date

import pytest

from audit.metrics.attempts.population import describe
from audit.model import Limit, Pool, Resource, Window
from audit.scenario.plateaus.entities import plateaued
from audit.scenario.plateaus.sweeping import swept
from tests.scenario.plateaus.test_entities import job
from tests.strategies import frame

ALL = Pool("all", Resource.cpus, 10, amounts=(("cpus", 10),))
DAY = 86_400


ONE = Limit(most=1, per="user")


@pytest.mark.parametrize(
    ("pool", "limits", "stops"),
    [
        (ALL, (), 1),
        (ALL, (ONE,), 0),
        (ALL._replace(limits=(ONE,)), (), 0),
        (ALL, (ONE.but(valid_to=date(1970, 1, 2)),), 1),
        (ALL, (ONE.but(valid_from=date(1970, 1, 2), valid_to=date(1970, 1, 3)),), 0),
        (ALL, (ONE.but(partition=("q",)),), 1),
        (ALL, (Limit(most=3, resource="cpus", account=("x",)),), 0),
        (ALL, (Limit(most=1, resource="cpus", account=("x",)),), 1),  # it alone exceeds it
        (ALL._replace(windows=(Window(hours=tuple(range(168))),)), (), 0),
    ],
)
def test_rules_in_force(pool: Pool, limits: tuple[Limit, ...], stops: int) -> None:
    # on the second day, one job of ann runs while the other one would fit
    runs = job(submit_time=DAY, start_time=DAY, end_time=DAY + 5_000, occupancy_s=5_000)
    waits = job(submit_time=DAY, start_time=DAY + 5_000, end_time=DAY + 5_100)
    jobs = plateaued(describe(frame([runs, waits]), [pool]), pool, 3 * DAY)
    found, climbs = swept(jobs, pool, limits, 0, climbing=False)
    assert climbs is None
    of_ann = slice(found.first[0], found.first[1])
    assert found.day(of_ann).tolist() == [1] * stops
    levels = [found.level(measure, of_ann).tolist() for measure in (0, 1)]
    assert levels == [[1] * stops, [2] * stops]


def test_nobody_is_hungry_before_the_log_begins() -> None:
    waits = job(submit_time=0, start_time=5_000, end_time=5_100)
    jobs = plateaued(describe(frame([waits]), [ALL]), ALL, 10_000)
    assert [
        len(swept(jobs, ALL, (), since, climbing=False)[0].group) for since in (0, 4_700, 4_701)
    ] == [
        *(2, 2, 0),
    ]
