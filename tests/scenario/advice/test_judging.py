"""Significance of changes: against plain sums, and where only chance is at work."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.claims import PartEffect
from audit.metrics.uncertainty import NONE
from audit.scenario.advice import judging
from audit.scenario.advice.judging import Comparable, Judgement, believed, hull, judge

WEEK_S = 7 * 86_400


def compared(
    users: int = 20, weeks: int = 40, widths: int = 1, wait: float = 3_600.0
) -> Comparable:
    """One attempt of each user in each week; classes take turns from week to week."""
    user = np.tile(np.arange(users), weeks)
    stretch = np.repeat(np.arange(weeks), users)
    walltime = np.zeros(len(user), np.int64)
    waits = np.full(len(user), wait)
    return Comparable(user, stretch, 7 * stretch, stretch % widths, walltime, waits, waits)


def waiting(of: Comparable, wait: np.ndarray) -> Comparable:
    """The same attempts with other waits, observed and replayed."""
    return of._replace(wait=wait, observed=wait)


def test_what_helps_all_users_is_supported() -> None:
    held = compared()
    (verdict,) = judge(held, np.full((1, 800), -600.0), seed=1)
    assert verdict.judgement is Judgement.supported
    assert verdict.by[2:] == (800, 20, 3_600.0, 3_600.0, -600.0, -600.0, -600.0)
    assert verdict.saved == 800 * 600


@pytest.mark.parametrize(("gain", "worth"), [(181.0, True), (179.0, False)])
def test_what_helps_by_less_than_it_is_worth_is_not(gain: float, worth: bool) -> None:
    (verdict,) = judge(compared(), np.full((1, 800), -gain), seed=1)
    assert (verdict.judgement is Judgement.supported) is worth


def test_less_than_a_minute_is_never_worth_it() -> None:
    (verdict,) = judge(compared(wait=100.0), np.full((1, 800), -59.0), seed=1)
    assert verdict.judgement is Judgement.unsupported


def test_a_week_in_which_all_waited_less_is_chance() -> None:
    # All users gain alike, so that resamples of users say that it is certain; but all of it is of
    # one week of forty.
    held = compared()
    difference = np.where(held.stretch == 3, -40_000.0, 1.0)
    (verdict,) = judge(held, difference[None], seed=1)
    assert verdict.by.value < -900
    assert verdict.judgement is Judgement.unsupported
    assert verdict.parts[0].outcome is PartEffect.unclear


def test_one_user_who_waited_less_is_chance() -> None:
    held = compared()
    difference = np.where(held.user == 3, -20_000.0, 1.0)
    (verdict,) = judge(held, difference[None], seed=1)
    assert verdict.judgement is Judgement.unsupported


@pytest.mark.thorough
def test_of_changes_that_do_nothing_hardly_one_seed_in_twenty_advises_any() -> None:
    # Eight schedules differ randomly from today's, by week and by attempt.
    held = compared(widths=2)
    advising = 0
    for seed in range(20):
        random = np.random.Generator(np.random.PCG64(seed))
        by_week = random.normal(0, 3_000, (8, 40))[:, held.stretch]
        verdicts = judge(held, by_week + random.normal(0, 3_000, (8, 800)), seed)
        advising += any(one.judgement is not Judgement.unsupported for one in verdicts)
    assert advising <= 1


def test_the_more_is_tried_the_more_is_asked_of_each() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    held = compared()
    drift = random.normal(0, 1_000, 40)[held.stretch]
    alone = judge(held, drift[None], seed=1)[0].by
    among = judge(held, np.tile(drift, (12, 1)), seed=1)[0].by
    ends = [among.lower, alone.lower, alone.value, alone.upper, among.upper]
    assert None not in ends
    assert ends == sorted(ends, key=lambda end: end or 0.0)
    assert len(set(ends)) == 5
    assert among.value == alone.value


def test_those_who_wait_longest_are_judged_apart() -> None:
    held = compared(widths=2)
    held = waiting(held, np.where(held.width == 1, 36_000.0, 60.0))
    assert judging.worst_off(held) == 1
    helped = np.where(held.width == 1, -7_200.0, 30.0)
    (verdict,) = judge(held, helped[None], seed=1)
    assert verdict.judgement is Judgement.supported
    assert (verdict.by.dimension, verdict.by.number) == ("width_class", 1)
    assert [(part.dimension, part.number, part.outcome.value) for part in verdict.parts] == [
        ("all", None, "gains"),
        ("width_class", 0, "loses"),
        ("width_class", 1, "gains"),
        ("walltime_class", 0, "gains"),
    ]


def test_what_costs_more_than_it_saves_is_outweighed() -> None:
    held = compared(widths=4)
    held = waiting(held, np.where(held.width == 1, 36_000.0, 60.0))
    helped = np.where(held.width == 1, -7_200.0, 2_500.0)
    (verdict,) = judge(held, helped[None], seed=1)
    assert (verdict.by.dimension, verdict.by.number) == ("width_class", 1)
    assert verdict.judgement is Judgement.outweighed
    assert verdict.saved == -helped.sum() < 0


def test_what_helps_all_but_those_who_wait_longest_is_outweighed() -> None:
    held = compared(widths=4)
    held = waiting(held, np.where(held.width == 1, 36_000.0, 7_200.0))
    (verdict,) = judge(held, np.where(held.width == 1, 7_200.0, -7_200.0)[None], seed=1)
    assert verdict.saved > 0
    assert verdict.judgement is Judgement.outweighed


def test_a_class_of_few_users_or_attempts_is_not_the_worst_off() -> None:
    held = compared(widths=2)
    held = waiting(held, np.where(held.width == 1, 36_000.0, 60.0))
    few = held.width == 0
    assert judging.worst_off(held._replace(width=np.where(few & (held.user > 8), -1, 0))) is None
    of_nine = held._replace(width=np.where((held.width == 1) & (held.user < 9), 2, 0))
    assert judging.worst_off(of_nine) == 0
    of_29 = held._replace(width=np.where(np.cumsum(held.width) * held.width % 500 > 371, 2, 0))
    assert np.count_nonzero(of_29.width == 2) < 30
    assert judging.worst_off(of_29) == 0
    assert judging.worst_off(held._replace(width=np.zeros(800, np.int64))) is None


@pytest.mark.parametrize(
    ("users", "weeks", "why"),
    [(10, 20, None), (9, 20, Judgement.few_users), (10, 19, Judgement.few_days)],
)
def test_how_many_are_too_few(users: int, weeks: int, why: Judgement | None) -> None:
    of = compared(users, weeks)
    assert judging.too_few(of.user, of.stretch) is why


@pytest.mark.parametrize(
    ("units", "t"),
    [(10, 2.262), (20, 2.093), (40, 2.023), (10_000, 1.960)],  # tables of Student's t, 97.5 %
)
def test_few_units_widen_intervals(units: int, t: float) -> None:
    size = t * (units / (units - 1)) ** 0.5
    outside = 2 * NormalDist().cdf(-size)
    assert judging.expanded(0.05, units) == pytest.approx(outside, rel=0.01)


def test_few_units_widen_far_ends_more() -> None:
    far = 4.297  # t of 9 degrees of freedom, 99.9 %
    outside = 2 * NormalDist().cdf(-far * (10 / 9) ** 0.5)
    assert judging.expanded(0.002, 10) == pytest.approx(outside, rel=0.05)


@given(st.lists(st.integers(0, 200 * 86_400), min_size=1, max_size=60))
def test_stretches_are_weeks_or_days(arrivals: list[int]) -> None:
    at = np.array(arrivals, np.int64)
    stretch, day = judging.stretches(at)
    first = min(arrivals)
    days = [(arrival - first) // 86_400 for arrival in arrivals]
    weeks = [(arrival - first) // WEEK_S for arrival in arrivals]
    assert day.tolist() == days
    assert stretch.tolist() == (weeks if len(set(weeks)) >= 20 else days)


def test_the_wider_end_counts_and_none_is_none() -> None:
    assert hull((1.0, 2.0), (-1.0, 1.5)) == (-1.0, 2.0)
    assert hull((1.0, 2.0), NONE) == NONE


def test_users_are_counted_by_their_days() -> None:
    held = compared(users=10, weeks=20)
    less, more, some = held.user == 0, held.user == 1, (held.user == 2) & (held.stretch == 4)
    short = (held.user == 3) & (held.stretch < 9)
    rows = (held.user != 3) | short
    difference = np.select([less, more, some, short], [-60.0, 60.0, 9_000.0, 60.0], 0.0)
    kept = Comparable(*(column[rows] for column in held))
    found = judging.swayed(kept, difference[rows], seed=1)
    assert [(one.number, one.value) for one in found] == [(0, -60.0), (1, 60.0)]


@pytest.mark.parametrize(("missed", "expected"), [(0.25, True), (0.26, False), (-0.26, False)])
def test_a_replay_may_miss_the_observed_mean_by_a_quarter(missed: float, expected: bool) -> None:
    held = compared(wait=3_600.0 * (1 + missed))
    assert believed(held._replace(observed=np.full(800, 3_600.0))) is expected
    assert believed(compared(wait=0.0))


def test_classes_that_the_replay_misses_are_neither_judged_nor_shown() -> None:
    held = compared(widths=2)
    # class 1 waits longest, but was observed to wait half as long; all together are 9 % off
    wait = np.where(held.width == 1, 4_000.0, 3_600.0)
    held = held._replace(wait=wait, observed=np.where(held.width == 1, 2_000.0, 4_900.0))
    assert believed(held)
    assert judging.worst_off(held) is None
    (verdict,) = judge(held, np.where(held.width == 1, -3_000.0, 2_999.0)[None], seed=1)
    assert verdict.judgement is Judgement.unsupported
    assert {(part.dimension, part.number) for part in verdict.parts} == {("all", None)} | {
        ("walltime_class", 0)
    }


@pytest.mark.parametrize(
    ("observed", "today", "good"),
    [
        # waits of a class of narrow and of one of wide jobs
        ((100.0, 100.0), (100.0, 100.0), True),
        ((100.0, 300.0), (70.0, 300.0), True),  # 100 of 400 s are missed
        ((100.0, 300.0), (130.0, 220.0), False),  # 400 of 400 s, though the mean is reproduced
        ((200.0, 200.0), (140.0, 220.0), False),  # 200 of 400 s
        ((100.0, 300.0), (10.0, 240.0), False),  # the mean of all is missed
        ((0.0, 0.0), (0.0, 0.0), True),
    ],
)
def test_a_pool_is_reproduced_where_more_than_half_of_the_waiting_is(
    observed: tuple[float, float], today: tuple[float, float], good: bool
) -> None:
    held = compared(widths=2)
    waits = (np.where(held.width == 0, *each) for each in (today, observed))
    held = held._replace(**dict(zip(("wait", "observed"), waits, strict=True)))
    assert judging.reproduces(held) is good
