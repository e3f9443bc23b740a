"""Joint releases, own-triggered starts and begin times: by definition, and by hand."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.scenario.releases.begin import find_begin_times, jobs_at
from audit.scenario.releases.joint import find_releases
from audit.scenario.releases.queue import UserJobs, user_jobs
from audit.scenario.releases.triggered import OwnTriggered, find_triggered, triggered_jobs
from tests.examples import examples
from tests.naive import releases as naive
from tests.naive.releases import DAY, Job
from tests.scenario.releases.test_chains import ALL, attempts, following

CAPACITY = 4


def of(jobs: list[Job]) -> UserJobs:
    return user_jobs(attempts(jobs), ALL, 1_000 * DAY)


@st.composite
def bursts(draw: st.DrawFn) -> list[Job]:
    """Jobs of which many wait for a day or more, and start in groups."""
    jobs = list[Job]()
    for _ in range(draw(st.integers(1, 5))):
        user = draw(st.sampled_from(["ann", "ann", "bob"]))
        at = 5 * DAY + draw(st.integers(0, 8)) * DAY // 4
        for _ in range(draw(st.sampled_from([1, 4, 5, 6, 21]))):
            at += draw(st.sampled_from([0, 60, 120, 120, 121, 5_000]))
            wait = draw(st.sampled_from([0, 500, 3_700, DAY, DAY + 1, 2 * DAY, 3 * DAY]))
            lasts = draw(st.sampled_from([0, 60, 600, DAY // 2, 2 * DAY]))
            size = draw(st.sampled_from([1, 1, 1, 2, 4]))
            started = draw(st.integers(0, 9)) > 0
            start, end = (at, at + lasts) if started else (None, None)
            jobs.append(Job(len(jobs) + 1, user, at - wait, start, end, size))
    return jobs


@settings(max_examples=examples(100))
@given(bursts())
def test_joint_releases_as_defined(jobs: list[Job]) -> None:
    found = [(one.user, len(one.jobs), one.since, one.until) for one in find_releases(of(jobs))]
    exact = [
        (user, *one) for user in ("ann", "bob") for one in naive.released(jobs, CAPACITY, user)
    ]
    assert found == exact


@settings(max_examples=examples(100))
@given(bursts())
def test_own_triggered_starts_as_defined(jobs: list[Job]) -> None:
    found = {one.user: one for one in find_triggered(of(jobs))}
    for user in ("ann", "bob"):
        exact = naive.triggered(jobs, CAPACITY, user)
        assert (user in found) == (exact is not None)
        if exact is not None:
            one = found[user]
            got = (one.jobs, one.share, one.shifted, one.expected)
            assert got == pytest.approx(tuple(float(value) for value in exact))
            assert len(one.triggered) == round(one.share * one.jobs)
            again = triggered_jobs(of(jobs), [user])
            assert again.tolist() == one.triggered.tolist()
    assert len(triggered_jobs(of(jobs), [])) == 0


@settings(max_examples=examples(100))
@given(bursts())
def test_begin_times_as_defined(jobs: list[Job]) -> None:
    found = {one.user: (one.at_s, len(one.held)) for one in find_begin_times(of(jobs))}
    exact = {user: naive.begins(jobs, CAPACITY, user) for user in ("ann", "bob")}
    assert found == {user: one for user, one in exact.items() if one is not None}
    for one in find_begin_times(of(jobs)):
        assert jobs_at(of(jobs), {one.user: one.at_s}).tolist() == one.held.tolist()
    assert len(jobs_at(of(jobs), {})) == 0


def held(number: int = 6, step: int = 120, wait: int = 2 * DAY) -> list[Job]:
    start = 10 * DAY
    return [
        Job(k + 1, "ann", start - wait, start + k * step, start + k * step + 9_000, 1)
        for k in range(number)
    ]


@pytest.mark.parametrize(
    ("jobs", "found"),
    [
        (held(), 1),
        (held(4), 0),
        (held(step=121), 0),
        (held(wait=DAY), 0),  # not longer than a day
        # no room for more than half of the day before
        ([*held(), Job(9, "bob", 0, 9 * DAY, 9 * DAY + 43_201, 4)], 0),
        ([*held(), Job(9, "bob", 0, 9 * DAY, 9 * DAY + 43_199, 4)], 1),
        # less than half of their sum is free just before
        ([*held(), Job(9, "bob", 0, 10 * DAY - 9, 10 * DAY + 9, 2)], 0),
        # an older job of the user started in that day
        ([*held(), Job(9, "ann", 8 * DAY, 10 * DAY - 900, 10 * DAY - 800, 1)], 0),
        # another user's that had waited as long starts then
        ([*held(), Job(9, "bob", 8 * DAY, 10 * DAY + 900, 10 * DAY + 901, 1)], 0),
        ([*held(), Job(9, "bob", 8 * DAY, 11 * DAY, 11 * DAY + 1, 1)], 1),
    ],
)
def test_joint_releases_by_hand(jobs: list[Job], found: int) -> None:
    assert len(find_releases(of(jobs))) == found


def alternating(after: int) -> list[Job]:
    """A job of ann each hour of 3 days, which starts some time after the end of the one before."""
    return following([3_000] * 71, after, 2_900)


@pytest.mark.parametrize("after", [60, 121])
def test_regular_ends_trigger_nothing(after: int) -> None:
    # ends at other times would hit as often
    assert [one.accepted for one in find_triggered(of(alternating(after)))] == [False]


def test_a_job_that_ends_as_it_starts_does_not_trigger_itself() -> None:
    starts = [(k + 1) * 9_000 + 977 * (k * k % 7) for k in range(40)]
    jobs = [Job(k, "ann", at - 1_000, at, at, 1) for k, at in enumerate(starts, 1)]
    [found] = find_triggered(of(jobs))
    assert (found.jobs, found.share, len(triggered_jobs(of(jobs), ["ann"]))) == (40, 0.0, 0)


def test_the_end_of_a_job_is_never_an_own_end_before_its_start() -> None:
    # moved by six hours, each end is the job's own start
    jobs = [
        Job(k, "ann", k * DAY // 3 - 1_000, k * DAY // 3, k * DAY // 3 + DAY // 4, 1)
        for k in range(1, 41)
    ]
    [found] = find_triggered(of(jobs))
    assert (found.share, found.shifted) == (0.0, 0.0)


def test_a_job_of_unknown_size_has_no_room() -> None:
    log = attempts(alternating(60))
    [found] = find_triggered(user_jobs(log, ALL, 1_000 * DAY))
    assert found.jobs == 70
    unknown = log.with_columns(size=pl.lit(None, pl.Int64))
    assert find_triggered(user_jobs(unknown, ALL, 1_000 * DAY)) == []


def test_irregular_ends_trigger_starts() -> None:
    lasts = [3_000, *(3_000 + 977 * (k * k % 13) for k in range(60))]
    jobs = following(lasts, 60, 2_900)
    others = [Job(900 + k, "bob", 0, 0, 100 * DAY, 1) for k in range(2)]
    [found] = [one for one in find_triggered(of([*jobs, *others])) if one.accepted]
    assert (found.user, found.jobs, found.share) == ("ann", 60, 1.0)
    assert found.expected == pytest.approx(1 / 3)
    # of many users' jobs, any end would have been an own one
    assert not any(one.accepted for one in find_triggered(of(jobs)))


@pytest.mark.parametrize(
    ("share", "shifted", "expected", "accepted", "most"),
    [
        (0.6, 0.1, 0.3, True, True),
        (0.59, 0.1, 0.3, False, False),
        (0.998, 0.11, 0.504, True, True),  # a throttled array: twice the share cannot be reached
        (0.81, 0.1, 0.5, True, True),
        (0.79, 0.1, 0.5, False, True),
        (1.0, 0.41, 0.5, False, False),
        (1.0, 0.1, 1.0, False, True),
        (0.49, 0.1, 0.1, False, False),
        (0.6, 0.24, 1.0, False, True),
        (0.6, 0.25, 1.0, False, False),
    ],
)
def test_which_starts_own_ends_trigger_and_whether_most_follow_them(
    share: float, shifted: float, expected: float, accepted: bool, most: bool
) -> None:
    found = OwnTriggered("ann", 20, share, shifted, expected, np.zeros(0, np.int64))
    assert (found.accepted, found.most) == (accepted, most)


def test_a_begin_time() -> None:
    nine = [
        Job(k + 1, "ann", k * DAY, k * DAY + 32_400 + 60 * (k % 3), k * DAY + 40_000, 1)
        for k in range(8)
    ]
    [found] = find_begin_times(of(nine))
    assert (found.user, found.jobs, found.at_s, len(found.held)) == ("ann", 8, 32_400, 8)
    assert find_begin_times(of(nine[:7])) == []
    others = [job._replace(number=job.number + 50, user="bob") for job in nine]
    assert find_begin_times(of([*nine, *others])) == []


def test_several_users_with_the_same_begin_time() -> None:
    nine = [
        Job(8 * u + k, user, k * DAY, k * DAY + 32_400, k * DAY + 40_000, 1)
        for u, user in enumerate(("ann", "bob"))
        for k in range(8)
    ]
    noon = [
        Job(100 + k, f"u{k}", k * DAY, k * DAY + 43_200 + 300 * k, k * DAY + 50_000, 1)
        for k in range(16)
    ]
    assert {one.user for one in find_begin_times(of([*nine, *noon]))} == {"ann", "bob"}
    assert find_begin_times(of([*nine, *noon[:7]])) == []
