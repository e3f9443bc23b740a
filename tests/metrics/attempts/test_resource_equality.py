import math
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import (
    Weights,
    conservation,
    overall,
    resource_equality,
)
from audit.model import Pool, Resource
from tests.naive import attempts as naive
from tests.strategies import NOW, ended, frame, workloads

POOL = Pool("main", Resource.cpus, 4)
ADDED = ["re_deserved", "re_consumed", "re_unfairness"]


def measured(attempts: pl.DataFrame, weights: Weights = "size") -> pl.DataFrame:
    return resource_equality(describe(attempts, [POOL]), NOW, weights)


def unfairness(*attempts: tuple[int, int, int, int], weights: Weights = "size") -> list[float]:
    """Of (arrival, start, end, size), in that order."""
    frame_ = measured(frame([ended(*attempt) for attempt in attempts]), weights)
    return [float(u) for u in frame_.sort("line")["re_unfairness"]]


@given(workloads(), st.sampled_from(["size", "jobs"]), st.booleans())
def test_as_defined(attempts: pl.DataFrame, weights: Weights, count_never: bool) -> None:
    fast = resource_equality(describe(attempts, [POOL]), NOW, weights, count_never)
    rows = {(row["job_id"], row["attempt"]): row for row in fast.to_dicts()}
    population = naive.described(attempts.to_dicts())
    lives = [naive.life(one, NOW, count_never) for one in population]
    present = [one for one in lives if one is not None]
    for attempt, one in zip(population, lives, strict=True):
        row = rows[attempt.key]
        if one is None or not attempt.ended or attempt.size is None:
            assert [row[name] for name in ADDED] == [None] * 3
            continue
        exact = naive.equality(one, present, weights)
        scale = float(one.size * (one.end - one.arrival))
        assert row["re_consumed"] == exact.consumed
        assert naive.close(row["re_deserved"], exact.deserved, scale)
        assert naive.close(row["re_unfairness"], exact.unfairness, scale)


def test_two_that_share_by_hand() -> None:
    # A pool of 4. A (size 4) runs 0-10; B (size 4) arrives at 5 and runs 10-20.
    #   0-5: only A is active: used 4, active 4: A gets 4/s.
    #   5-10: both active (8), used 4: each deserves 4·4/8 = 2/s.   10-20: B alone: 4/s.
    # A: 5·4 + 5·2 = 30 deserved, 40 consumed: −10. B: 5·2 + 10·4 = 50, 40 consumed: +10.
    attempts = frame([ended(0, 0, 10, 4), ended(5, 10, 20, 4)])
    got = measured(attempts).sort("line")
    assert got.select(ADDED).rows() == [(30.0, 40.0, -10.0), (50.0, 40.0, 10.0)]
    assert overall(got) == 5.0  # (0 + 10) / 2
    assert conservation(describe(attempts, [POOL]), NOW) == 0.0


def test_a_short_life_after_years_of_waiting_is_as_exact_as_before_them() -> None:
    # 0-10⁹: A (1) runs, B (2) waits: two thirds of what is active queue. Then E (1) runs for 7 s
    # while F (2) waits for it: E deserves 7/3 of its 7, F 14/3 + 2 of its 2. In one double, the sum
    # of 6.7·10⁸ s before them would spoil these from the eighth digit on.
    end = 10**9 + 7
    lives = [(0, 0, end, 1), (0, end, end, 2), (end, end, end + 7, 1), (end, end + 7, end + 8, 2)]
    assert unfairness(*lives)[2:] == pytest.approx([-14 / 3, 14 / 3], rel=1e-14)


def test_of_an_unknown_size_nobody_can_say_what_it_deserved() -> None:
    # As if C were not there: A (4) runs 0-10, B (4) waits for it from 5 on: −10 and +10.
    unknown = {**ended(0, 2, 8, 0), "cpus": None}
    got = measured(frame([ended(0, 0, 10, 4), ended(5, 10, 20, 4), unknown])).sort("line")
    assert got["re_unfairness"].to_list() == [-10.0, 10.0, None]
    assert overall(got) == 5.0  # (0 + 10) / 2


def test_open_attempts_are_context_up_to_now() -> None:
    # A (2) waits 10 s beside a running R (2) and a pending P (4), then runs 10 s until now − 40.
    # First 10 s: used 2 of 8 active, A deserves 0.5/s = 5; next 10 s: used 4 of 8: 1/s = 10.
    records = [
        ended(NOW - 60, NOW - 50, NOW - 40, 2),
        {"submit_time": NOW - 60, "start_time": NOW - 60, "cpus": 2},
        {"submit_time": NOW - 60, "cpus": 4, "state": "PENDING"},
    ]
    got = measured(frame(records)).sort("line")
    assert got["re_deserved"].to_list() == [15.0, None, None]
    # At any time used + queued = active, so also with those that are open nothing is lost.
    assert conservation(describe(frame(records), [POOL]), NOW) == pytest.approx(0, abs=1e-15)


def test_never_started_count_only_where_requested() -> None:
    # N (4) queues 0-10 beside A (4), which runs: with it A deserves half of its 40.
    gone = {"submit_time": 0, "end_time": 10, "cpus": 4, "state": "CANCELLED"}
    described = describe(frame([ended(0, 0, 10, 4), gone]), [POOL])
    for count_never_started, deserved in ((False, 40.0), (True, 20.0)):
        got = resource_equality(described, 10, count_never_started=count_never_started)
        assert got.filter(job_id="1")["re_deserved"].to_list() == [deserved]


@given(workloads(most=40), st.booleans())
def test_conservation(attempts: pl.DataFrame, count_never: bool) -> None:
    kept = conservation(describe(attempts, [POOL]), NOW, count_never)
    if kept is None:
        lives = (naive.life(one, NOW) for one in naive.described(attempts.to_dicts()))
        assert not any((one.end - one.start) * one.size for one in lives if one is not None)
    else:
        assert kept <= 1e-12 * max(attempts.height, 1) * 100


@given(workloads(most=30, only_ended=True))
def test_conservation_of_what_ended(attempts: pl.DataFrame) -> None:
    got = measured(attempts)
    total = math.fsum(got["re_unfairness"].drop_nulls())
    scale = sum(
        (row["end_time"] - row["arrival_time"]) * (row["size"] or 0) for row in got.to_dicts()
    )
    assert abs(total) <= 1e-12 * max(scale, 1)


@given(workloads(), st.sampled_from(["size", "jobs"]), st.randoms(use_true_random=False))
def test_rows_and_names_and_the_epoch_change_no_bit(
    attempts: pl.DataFrame, weights: Weights, random: st.DataObject
) -> None:
    order = list(range(attempts.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    before = measured(attempts, weights).sort("line")
    shuffled = resource_equality(describe(attempts, [POOL])[order], NOW, weights)
    assert shuffled.sort("line").equals(before)
    later = attempts.with_columns(pl.col("^.*_time$") + 12_345_678, user=pl.lit("x"))
    shifted = resource_equality(describe(later, [POOL]), NOW + 12_345_678, weights)
    assert shifted.sort("line").select(ADDED).equals(before.select(ADDED))


def single_server(order: list[int], arrivals: list[int], services: list[int]) -> float:
    """Deviation of the discriminations of RAQFM, one server, no pre-emption ([S] §2)."""
    free, attempts = 0, []
    for job in order:
        start = max(free, arrivals[job])
        free = start + services[job]
        attempts.append((arrivals[job], start, free, 1))
    discriminations = unfairness(*attempts, weights="jobs")
    return math.sqrt(sum(d * d for d in discriminations) / len(discriminations))


def test_equal_services_are_fairest_first_come_first_served() -> None:
    arrivals, services = [0, 1, 2, 3], [5, 5, 5, 5]
    fcfs = single_server([0, 1, 2, 3], arrivals, services)
    for order in ([0, 2, 1, 3], [0, 3, 2, 1], [0, 1, 3, 2]):
        assert fcfs < single_server(order, arrivals, services)


def test_equal_arrivals_are_fairest_shortest_first() -> None:
    arrivals, services = [0, 0, 0], [2, 5, 9]
    shortest = single_server([0, 1, 2], arrivals, services)
    for order in ([0, 2, 1], [1, 0, 2], [2, 1, 0]):
        assert shortest < single_server(order, arrivals, services)


def test_nothing() -> None:
    none = measured(frame([]))
    assert none.height == 0
    assert overall(none) is None
    assert conservation(describe(frame([]), [POOL]), NOW) is None


def test_refuses_other_weights() -> None:
    with pytest.raises(ValueError, match="either 'size' or 'jobs'"):
        measured(frame([ended(0, 0, 1, 1)]), "nodes")  # type: ignore[arg-type]


def test_the_exact_sum_of_the_definition_is_zero() -> None:
    lives = [naive.Life(0, 0, 7, 3), naive.Life(2, 7, 9, 4), naive.Life(3, 9, 9, 2)]
    assert sum((naive.equality(one, lives).unfairness for one in lives), Fraction()) == 0
