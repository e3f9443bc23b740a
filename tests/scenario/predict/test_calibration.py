"""Corrections of intervals, and when they are withheld: against the slow twin, and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.predict.calibration import Bounds, Levels, Life, Record, Shifts, Withheld
from audit.scenario.workload import NEVER
from tests.naive import predictions as slow

_intervals = st.lists(
    st.builds(
        lambda low, more, start: slow.Interval(low, low + more, start),
        st.integers(0, 50),
        st.integers(0, 50),
        st.none() | st.integers(0, 120),
    ),
    max_size=30,
)


@given(_intervals, st.integers(0, 150))
def test_levels_as_defined(intervals: list[slow.Interval], now: int) -> None:
    levels = Levels()
    for low, high, start in intervals:
        at = NEVER if start is None else start
        levels.made(Bounds(low, low, high), Life(at, at), 100, contested=True)
    # steps in one instant may be clipped in another order
    assert levels.at(now, 100, contested=True) == pytest.approx(
        slow.levels(intervals, now), abs=0.01
    )
    assert levels.at(now, 1_000, contested=True) == (0.1, 0.9)
    assert levels.at(now, 100, contested=False) == (0.1, 0.9)


def test_a_bound_counts_once_it_has_passed() -> None:
    levels = Levels()
    levels.made(Bounds(10, 20, 30), Life(1_000, 1_000), 100, contested=True)
    assert levels.at(30, 100, contested=True) == pytest.approx((0.101, 0.9))
    assert levels.at(31, 100, contested=True) == pytest.approx((0.101, 0.909))


def test_a_cancelled_job_decides_no_bound_that_it_did_not_reach() -> None:
    levels = Levels()
    levels.made(Bounds(10, 20, 30), Life(NEVER, 15), 100, contested=True)
    assert levels.at(100, 100, contested=True) == pytest.approx((0.101, 0.9))


def test_bounds_of_remaining_waits_move_outward_by_misses() -> None:
    shifts = Shifts()
    shifts.made(Bounds(10, 20, 30), Life(5, 5))
    assert shifts.at(100) == pytest.approx((0.045, -0.005))
    shifts.made(Bounds(110, 120, 130), Life(150, 150))
    assert shifts.at(200) == pytest.approx((0.04, 0.04))


def record(right: int, wrong: int, of_wrong: int = 1) -> Record:
    """A record of so many groups; those that are wrong have ``of_wrong`` intervals."""
    made = Record()
    for k in range(right + wrong):
        for _ in range(1 if k < right else of_wrong):
            start = 100 if k < right else 500
            made.made((k, 0), Bounds(50, 100, 200), Life(start, start))
    return made


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (record(19, 0), Withheld.FEW_DECIDED),
        (record(20, 0), None),
        (record(35, 15), None),
        (record(34, 16), Withheld.MISCALIBRATED),
        (record(40, 10, of_wrong=2), Withheld.MISCALIBRATED),
    ],
)
def test_intervals_are_withheld_by_groups_and_by_jobs(made: Record, why: Withheld | None) -> None:
    assert made.verdict(1_000) is why


def test_a_start_a_minute_beside_an_interval_is_right() -> None:
    made = Record()
    for user in range(20):
        made.made((user, 0), Bounds(100, 150, 200), Life(*([40, 260][user % 2],) * 2))
    assert made.verdict(1_000) is None


def test_what_is_decided_at_an_instant_counts_after_it() -> None:
    made = record(20, 0)
    assert made.verdict(100) is Withheld.FEW_DECIDED
    assert made.verdict(101) is None
