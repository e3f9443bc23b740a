"""Which plan is believed, and the interval of passes."""

import numpy as np
import polars as pl
import pytest

from audit.metrics.attempts.account import OWN, account
from audit.metrics.attempts.population import describe
from audit.metrics.waits.plan import NONE, STRICT, TRIED, configured, inferred_interval, is_kept
from audit.metrics.waits.walk import Plan, Starts
from audit.model import Pool, Resource
from audit.policies import Backfill, Policy
from tests.strategies import Rows, ended, frame

POOL = Pool("main", Resource.cpus, 10)


@pytest.mark.parametrize(
    ("policy", "plan"),
    [
        (Policy(backfill=Backfill.none), STRICT),
        (Policy(backfill=Backfill.no_guarantee), NONE),
        (Policy(backfill=Backfill.easy), Plan(1)),
        (Policy(backfill=Backfill.conservative_replan), Plan(100)),
        (Policy(backfill=Backfill.conservative_replan, depth=50), Plan(50)),
        (Policy(backfill=Backfill.conservative_replan, depth=50, reservations=3), Plan(3)),
    ],
)
def test_a_configured_backfilling_is_believed(policy: Policy, plan: Plan) -> None:
    assert configured(policy) == plan


@pytest.mark.parametrize(
    ("counts", "kept"),
    [
        ((28_474, 0, 10_670, 0, 1_820, 8_841, 9_353), True),
        ((122_054, 0, 58_952, 0, 46_369, 6_106, 4_688), False),
        ((51_780, 0, 182, 0, 114, 1_061, 2_816), False),
        ((500, 0, 50, 0, 0, 99, 0), False),  # too few
    ],
)
def test_a_plan_needs_evidence(counts: tuple[int, ...], kept: bool) -> None:
    assert is_kept(Starts(*counts)) is kept


def test_the_interval_is_the_longest_at_which_jobs_start() -> None:
    start = 7 + 300 * np.arange(1, 301)
    assert inferred_interval(start - 100, start) == 300
    assert inferred_interval(start - 60, start) is None  # none waits over 60 s
    assert inferred_interval((start - 100)[:199], start[:199]) is None
    assert inferred_interval(start - 100, start + 11 * np.arange(300)) is None


def causes(*rows: tuple[int, int, int, int, str, int | None]) -> list[dict[str, float]]:
    """Account for arrivals, starts, ends, sizes, users and walltimes under 20 reservations."""
    records: Rows = []
    for k, (arrival, start, end, size, user, walltime) in enumerate(rows, 1):
        one = ended(arrival, start, end, size, user)
        records.append(one | {"walltime_s": walltime, "job_id": str(k), "job_number": k})
    policy = Policy(backfill=Backfill.conservative_replan, reservations=TRIED.reservations)
    pool = POOL._replace(policy=policy, states_backfill=True)
    described = describe(frame(records), [pool])
    made = account(described, pool, 20_000, log_begin=-1).attempts.sort("line")
    columns = pl.col("^cause_(unexplained|cycle|claimed|kept|earlier|later)_s$")
    return [{k: v for k, v in row.items() if v} for row in made.select(columns, *OWN).to_dicts()]


def test_example_a_a_job_that_has_lapsed_claims_nothing() -> None:
    got = causes(
        (0, 0, 10_000, 6, "r", None),
        (100, 5_000, 6_000, 3, "a", None),
        (200, 1_100, 3_000, 3, "b", 2_000),
    )
    assert got[1]["cause_unexplained_s"] == 3_000
    assert got[1]["cause_earlier_s"] == pytest.approx(1_266.67, abs=0.01)
    assert got[1]["cause_later_s"] == pytest.approx(633.33, abs=0.01)
    assert got[2] == {"cause_claimed_s": 800, "cause_unexplained_s": 40, "cause_cycle_s": 60}


def test_example_b_enough_is_kept_for_a_bigger_job_ahead() -> None:
    got = causes(
        (0, 0, 1_000, 6, "r", None),
        (100, 1_000, 1_500, 8, "w", 500),
        (200, 1_500, 2_000, 4, "k", 2_000),
    )
    assert got[1:] == [{"cause_earlier_s": 900}, {"cause_kept_s": 800, "cause_earlier_s": 500}]


def test_example_c_what_waits_behind_its_own_user() -> None:
    got = causes(
        (0, 0, 4_000, 2, "u", None),
        (100, 4_000, 5_000, 6, "u", None),
        (150, 5_000, 6_000, 6, "u", None),
    )
    assert got[1] == {"cause_unexplained_s": 3_900}
    assert got[2] == {"own_queued_s": 850, "cause_unexplained_s": 3_000, "own_running_s": 1_000}
