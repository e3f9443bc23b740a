"""What a pool's log shows of holds and limits, in the test of who is passed over."""

from zoneinfo import ZoneInfo

import polars as pl
import pytest

from audit.cluster.passed import OfLog
from audit.metrics.attempts.passed_over import EQUAL
from audit.model import Limit, Period
from audit.registry.passed import PassedWhy
from audit.scenario.releases.holds import NOT_HOLDING, Holding
from tests.metrics.attempts.test_passed_over import ALL, DAY, HOUR, POOL, SITE, described, job

NOW = 100 * DAY
NO_HOLDS = pl.DataFrame(
    schema={"job_id": pl.String, "attempt": pl.Int64, "begin": pl.Int64, "end": pl.Int64}
)
ENDS = [
    job(day * DAY, day * DAY, "ann", qos="else")
    | {"end_time": day * DAY + 22 * HOUR - 60, "occupancy_s": 22 * HOUR - 60}
    for day in range(24)
]
"""Jobs of ann's that end a minute before her others start."""


def why(
    holding: Holding = NOT_HOLDING,
    pool: object = POOL,
    held: pl.DataFrame = NO_HOLDS,
    period: Period = ALL,
    reason: str | None = None,
) -> str | None:
    """Why ann is not named; None: she is. ``reason`` is the last one of her jobs."""
    jobs = described([*SITE, *ENDS])
    jobs = jobs.with_columns(reason=pl.when(user="ann").then(pl.lit(reason, pl.String)))
    evidence = OfLog.of(jobs, pool, NOW, holding, held)  # type: ignore[arg-type]
    found = evidence.passed_over(jobs, period, ZoneInfo("UTC"), EQUAL)
    one = found.filter(entity_kind="user", entity="ann")
    return one["why"].item()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("holding", "expected"),
    [
        (NOT_HOLDING, None),
        (Holding(triggered=("ann",)), PassedWhy.LEFT_OUT),
        (Holding(triggered=("u0",)), None),
        (Holding(begin_times=(("ann", 22 * HOUR),)), PassedWhy.LEFT_OUT),
        (Holding(begin_times=(("ann", 21 * HOUR),)), None),
        (Holding(by_own_ends=("ann",)), PassedWhy.OWN_ENDS),
        (Holding(by_own_ends=("ann",), own=(Limit(most=99, user=("ann",)),)), None),
        (Holding(released=("ann",)), None),  # none waited for more than a day
    ],
)
def test_evidence_of_holds_reaches_the_test(holding: Holding, expected: PassedWhy | None) -> None:
    assert why(holding) == expected


def test_lost_pairs_under_a_limit_and_during_a_hold_do_not_count() -> None:
    limited = POOL._replace(limits=(Limit(most=1, per="user"),))
    assert why(pool=limited) == PassedWhy.FEW_JOBS
    jobs = described([*SITE, *ENDS]).filter(user="ann")
    held = jobs.select("job_id", "attempt", begin="arrival_time", end="start_time")
    assert why(held=held) == PassedWhy.FEW_JOBS


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("Licenses", PassedWhy.REASON),
        ("AssocGrpCpuLimit", PassedWhy.REASON),
        ("Priority", None),
        ("Resources", None),
    ],
)
def test_jobs_whose_last_reason_was_a_hold_name_nobody(
    reason: str, expected: PassedWhy | None
) -> None:
    """The log does not say how long the reason applied, so the order may not be what kept it."""
    assert why(reason=reason) == expected


def test_a_limit_of_the_pool_tells_when_a_logged_reason_applied() -> None:
    limited = POOL._replace(limits=(Limit(most=9, resource="cpus", per="user"),))
    assert why(pool=limited, reason="AssocGrpCpuLimit") is None


def test_a_hold_ends_before_its_end() -> None:
    """At the second in which it ends, a pair is lost."""
    jobs = described([*SITE, *ENDS]).filter(user="ann")
    held = jobs.select("job_id", "attempt", begin="arrival_time", end=pl.col("arrival_time") + 200)
    assert why(held=held) is None


def test_evidence_is_that_of_the_rows_of_the_period() -> None:
    late = Period("late", 2 * DAY, 30 * DAY)
    assert why(Holding(triggered=("ann",)), period=late) == PassedWhy.LEFT_OUT
    assert why(period=late) is None
