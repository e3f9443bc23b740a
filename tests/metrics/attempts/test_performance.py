import itertools

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts import performance
from audit.metrics.attempts.population import describe
from audit.model import Pool, Resource
from tests.naive import attempts as naive
from tests.strategies import EPOCH, NOW, ended, frame, workloads

POOL = Pool("main", Resource.cpus, 4)

edges = st.lists(st.integers(-10, 80), min_size=2, max_size=6, unique=True).map(
    lambda cuts: [EPOCH + cut for cut in sorted(cuts)]
)


@given(workloads(), st.sampled_from([1, 4, 20, 5_000]), edges)
def test_integrals_as_defined(attempts: pl.DataFrame, capacity: int, cuts: list[int]) -> None:
    did = performance.activity(describe(attempts, [POOL]), capacity, cuts, NOW)
    population = naive.described(attempts.to_dicts())
    lives = [one for one in (naive.life(a, NOW) for a in population) if one is not None]
    begin, end = cuts[0], cuts[-1]
    assert did.peak == naive.peak(lives, begin, end)
    for fast, exact in [
        (performance.utilization, naive.utilization(lives, capacity, begin, end)),
        (performance.loss_of_capacity, naive.loss_of_capacity(lives, capacity, begin, end)),
        (performance.over_capacity_time, naive.over_capacity_time(lives, capacity, begin, end)),
        (performance.queued_mean, naive.queued_mean(lives, begin, end)),
    ]:
        assert naive.close(fast(did), exact)
    for k, (a, b) in enumerate(itertools.pairwise(cuts)):
        assert did.seconds[k] == b - a
        assert did.used[k] == naive.utilization(lives, 1, a, b) * (b - a)
        assert did.queued[k] == naive.queued_mean(lives, a, b) * (b - a)
        assert did.lost[k] == naive.loss_of_capacity(lives, capacity, a, b) * capacity * (b - a)
        assert did.over[k] == naive.over_capacity_time(lives, capacity, a, b) * (b - a)


def test_integrals_by_hand() -> None:
    # Capacity 4, period 0-20. A (3) runs 0-10; B (2) arrives at 4 and runs 10-20.
    #   used 3 over 0-10, 2 over 10-20: 50 of 80.   queued 2 over 4-10: 12/20 = 0.6 on average.
    #   4-10: idle 1, queued 2: 1 is lost for 6 s: 6 of 80.
    described = describe(frame([ended(0, 0, 10, 3), ended(4, 10, 20, 2)]), [POOL])
    did = performance.activity(described, 4, [0, 20], 20)
    assert performance.utilization(did) == 50 / 80
    assert performance.queued_mean(did) == 0.6
    assert performance.loss_of_capacity(did) == 6 / 80
    assert performance.over_capacity_time(did) == 0.0
    assert did.peak == 3
    # The same in a pool of 2: over capacity while A runs, and nothing was idle that B could use.
    did = performance.activity(described, 2, [0, 20], 20)
    assert performance.over_capacity_time(did) == 0.5
    assert performance.loss_of_capacity(did) == 0.0
    # The pool has 4 until 10, then 2: 6 of 4 is lost for 1.5 s of its 20 s, not 6 of 60.
    did = performance.activity(described, [4, 2], [0, 10, 20], 20)
    assert performance.loss_of_capacity(did) == 1.5 / 20


def test_what_lasts_no_time_is_no_peak() -> None:
    described = describe(frame([ended(0, 0, 10, 1), ended(5, 5, 5, 4)]), [POOL])
    assert performance.activity(described, 4, [0, 10], 10).peak == 1


@pytest.mark.parametrize("cuts", [[], [5]])
def test_an_empty_period_has_no_figures(cuts: list[int]) -> None:
    did = performance.activity(describe(frame([ended(0, 0, 9, 1)]), [POOL]), 4, cuts, 9)
    assert performance.utilization(did) is None
    assert did.peak == 0


@pytest.mark.parametrize(("capacity", "cuts"), [(0, [0, 1]), (1, [1, 0]), (1, [0, 0])])
def test_refuses_what_makes_no_sense(capacity: int, cuts: list[int]) -> None:
    with pytest.raises(ValueError, match="must"):
        performance.activity(describe(frame([]), [POOL]), capacity, cuts, 9)


@given(workloads(most=20))
def test_overtakes_as_defined(attempts: pl.DataFrame) -> None:
    fast = performance.overtakes(describe(attempts, [POOL]))
    rows = {(row["job_id"], row["attempt"]): row for row in fast.to_dicts()}
    population = naive.described(attempts.to_dicts())
    for one in population:
        got = rows[one.key]["overtaken_by"], rows[one.key]["overtook"]
        assert got == (naive.overtakes(population, one) if one.ended else (None, None))


@given(workloads(most=20, only_ended=True))
def test_each_overtaking_is_counted_on_both_sides(attempts: pl.DataFrame) -> None:
    counted = performance.overtakes(describe(attempts, [POOL]))
    assert counted["overtaken_by"].sum() == counted["overtook"].sum()


def test_overtakes_by_hand() -> None:
    # A arrives first and starts last: B, C and the running D overtake it. B and C arrive together.
    records = [
        ended(0, 9, 10, 1),
        ended(1, 3, 10, 1),
        ended(1, 2, 10, 1),
        {"submit_time": 4, "start_time": 4, "cpus": 1},
    ]
    counted = performance.overtakes(describe(frame(records), [POOL])).sort("line")
    assert counted["overtaken_by"].to_list() == [3, 0, 0, None]
    assert counted["overtook"].to_list() == [0, 1, 1, None]


def test_who_starts_together_overtakes_nobody_in_whatever_row() -> None:
    described = describe(frame([ended(0, 5, 9, 1), ended(1, 5, 9, 1)]), [POOL])
    for rows in (described, described.reverse()):
        counted = performance.overtakes(rows)
        assert counted.select("overtaken_by", "overtook").rows() == [(0, 0), (0, 0)]
