"""The conditions of a limit, each where it alone fails."""

import pytest

from audit.scenario.plateaus.entities import Family, LimitedQuantity, Member
from audit.scenario.plateaus.judging import PlateauCounts, PlateauFault, SeriesOf, fault_of

GOOD = PlateauCounts(
    at=100,
    withheld=110,
    near=20,
    climbs_near=50,
    broken=5,
    next=60,
    next_beside=40,
    starts=500,
    days=20,
    entities=6,
    most_at=30,
    most_broken=2,
    units=30,
    first_day=10,
    last_day=40,
    always=0,
    highest=8,
)
ONE = SeriesOf(Family("user"), 0, 1, Member(Family("user"), "ann", None))
ALL = SeriesOf(Family("user"), 0, 9, None)
WITHIN = SeriesOf(Family("user", "partition"), 0, 9, None, "p")
JOBS, CPUS = LimitedQuantity(), LimitedQuantity("cpus")


@pytest.mark.parametrize(
    ("series", "measure", "level", "changes", "concentration", "fault"),
    [
        (ONE, CPUS, 8, {}, 0.6, None),
        (ONE, CPUS, 8, {"at": 19}, 0.6, PlateauFault.FEW_STOPS),
        (ONE, CPUS, 8, {}, 0.59, PlateauFault.NOT_CONCENTRATED),
        (ONE, CPUS, 8, {"days": 9}, 0.6, PlateauFault.FEW_DAYS),
        (ONE, CPUS, 8, {"last_day": 22}, 0.6, PlateauFault.SHORT),
        (ONE, CPUS, 8, {"last_day": 22, "always": 1}, 0.6, None),
        (ONE, CPUS, 8, {"broken": 20}, 0.6, PlateauFault.BROKEN),
        (ONE, CPUS, 8, {"near": 51}, 0.6, PlateauFault.BELOW),
        (ONE, CPUS, 8, {"next_beside": 17}, 0.6, PlateauFault.ALONE),
        (ONE, JOBS, 8, {"next_beside": 17}, 0.6, None),
        # hardly broken
        (ONE, JOBS, 8, {"broken": 0, "near": 51}, 0.25, None),
        (ONE, JOBS, 8, {"broken": 0}, 0.24, PlateauFault.NOT_CONCENTRATED),
        (ONE, JOBS, 8, {"broken": 0, "days": 14}, 0.25, PlateauFault.NOT_CONCENTRATED),
        (ONE, JOBS, 8, {"broken": 0, "at": 49}, 0.25, PlateauFault.NOT_CONCENTRATED),
        (ONE, JOBS, 1, {"broken": 0}, 0.25, PlateauFault.NOT_CONCENTRATED),
        (
            ONE._replace(family=Family("account")),
            *(JOBS, 8, {"broken": 0}, 0.25, PlateauFault.NOT_CONCENTRATED),
        ),
        (ONE._replace(family=Family("account")), JOBS, 8, {"broken": 0, "next": 100}, 0.25, None),
        (ONE._replace(family=Family(None)), CPUS, 8, {"broken": 0}, 0.25, None),
        (
            ONE._replace(family=Family(None)),
            *(JOBS, 8, {"broken": 18, "next": 41}, 0.6, PlateauFault.BROKEN),
        ),
        (ONE._replace(family=Family(None)), JOBS, 8, {"broken": 18, "next": 42}, 0.6, None),
        (ONE, JOBS, 8, {"broken": 18, "next": 41}, 0.6, None),
        (ALL, JOBS, 8, {"broken": 0}, 0.25, None),
        (ALL, JOBS, 8, {"broken": 0, "entities": 4}, 0.25, PlateauFault.NOT_CONCENTRATED),
        # several entities together
        (ALL, JOBS, 1, {"days": 8, "last_day": 20}, 0.6, None),
        (ALL, JOBS, 8, {"days": 7}, 0.6, PlateauFault.FEW_DAYS),
        (ALL, JOBS, 8, {"entities": 2}, 0.6, PlateauFault.FEW_ENTITIES),
        (ALL, JOBS, 8, {"broken": 50}, 0.6, PlateauFault.ONE_ENTITY),
        (ALL, JOBS, 8, {"broken": 27}, 0.6, PlateauFault.BROKEN),
        (ALL, JOBS, 8, {"broken": 25}, 0.6, None),
        (ALL, JOBS, 8, {"most_at": 94, "most_broken": 2}, 0.6, PlateauFault.ONE_ENTITY),
        (ALL, JOBS, 8, {"most_at": 93, "most_broken": 2}, 0.6, None),
        (WITHIN, JOBS, 8, {}, 0.6, None),
        (WITHIN, JOBS, 8, {"last_day": 22}, 0.6, PlateauFault.SHORT),
        (WITHIN, JOBS, 8, {"entities": 4, "broken": 6}, 0.6, PlateauFault.BROKEN),
        (WITHIN, JOBS, 8, {"entities": 4}, 0.6, None),
        (WITHIN, JOBS, 1, {"entities": 4}, 0.6, PlateauFault.ONE_JOB),
        (WITHIN, JOBS, 1, {}, 0.6, None),
    ],
)
def test_conditions(
    series: SeriesOf,
    measure: LimitedQuantity,
    level: int,
    changes: dict[str, int],
    concentration: float,
    fault: PlateauFault | None,
) -> None:
    counts = GOOD._replace(**changes)
    assert fault_of(series, measure, level, counts, concentration) == fault


def test_score() -> None:
    assert GOOD.score == 90
