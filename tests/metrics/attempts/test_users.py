import math
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.miss import EVERY_FST
from audit.metrics.attempts.performance import array_spans
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.users import (
    ENTITY_SCHEMA,
    Dispersion,
    Kind,
    by_entities,
    by_entity,
    cdf,
    counted,
    dispersion,
    gini,
    held_by_top,
    jain,
    lorenz,
)
from audit.model import Pool, Resource
from audit.registry.causes import COLUMNS
from tests.metrics.attempts.booked import booked
from tests.metrics.attempts.fair_starts import fair_workloads, stood_for
from tests.naive import attempts as naive
from tests.naive import concentration as slow_spread
from tests.strategies import NOW, Rows, ended, frame, rows, workloads

POOL = Pool("main", Resource.cpus, 4)


def owners(attempts: pl.DataFrame, kind: Kind = "user") -> pl.DataFrame:
    return by_entity(resource_equality(describe(attempts, [POOL]), NOW), kind)


def as_defined(fast: pl.DataFrame, population: list[naive.Attempt], kind: Kind) -> None:
    exact = naive.entities(population, kind)
    assert set(fast["entity"]) == set(exact)
    lives = [naive.life(one, NOW) for one in population]
    present = [one for one in lives if one is not None]
    for row in fast.to_dicts():
        one = exact[row["entity"]]
        assert (row["jobs"], row["attempts"]) == (one.jobs, one.attempts)
        assert (row["never_started"], row["gave_up_wait_s"]) == (
            one.never_started,
            one.gave_up_wait,
        )
        assert (row["tuwt_s"], row["tusa"]) == (one.tuwt, one.tusa)
        assert naive.close(row["nuwt"], one.nuwt)
        unfairness = [
            naive.equality(life, present).unfairness
            for attempt, life in zip(population, lives, strict=True)
            if life is not None and attempt.ended and getattr(attempt, kind) == row["entity"]
            if attempt.size is not None
        ]
        scale = sum(one.size * (one.end - one.arrival) for one in present)
        if one.attempts and not unfairness:  # none of known size
            assert (row["re_unfairness_net"], row["re_unfairness_positive"]) == (None, None)
            continue
        net, unfair = sum(unfairness, Fraction()), sum(max(u, Fraction()) for u in unfairness)
        assert naive.close(row["re_unfairness_net"], net, scale)
        assert naive.close(row["re_unfairness_positive"], unfair, scale)


@given(workloads(most=25))
def test_entities_as_defined(attempts: pl.DataFrame) -> None:
    held = resource_equality(describe(attempts, [POOL]), NOW)
    together = by_entities(held, ("user", "account"))
    assert list(together) == ["user", "account"]
    population = naive.described(attempts.to_dicts())
    for kind, fast in together.items():
        assert fast.equals(by_entity(held, kind))
        assert fast.schema == ENTITY_SCHEMA
        as_defined(fast, population, kind)


@given(rows(), st.sampled_from(["user", "account"]))
def test_causes_of_entities_are_sums(records: Rows, kind: Kind) -> None:
    described = booked(resource_equality(describe(frame(records), [POOL]), NOW), POOL, NOW)
    for row in by_entity(described, kind).to_dicts():
        theirs = [
            one
            for one in described.filter(standing="ended").to_dicts()
            if one[kind] == row["entity"] and one[COLUMNS[0]] is not None
        ]
        for name in COLUMNS:
            total = sum(Fraction(one[name]) for one in theirs) if theirs else None
            assert naive.close(row[name], total)


@given(fair_workloads(25), st.sampled_from(["user", "account"]), st.sampled_from([0, 60]))
def test_misses_as_defined(held: pl.DataFrame, kind: Kind, tolerance: int) -> None:
    got = by_entity(held, kind, tolerance)
    assert got.schema == ENTITY_SCHEMA
    for fst in EVERY_FST:
        for row in got.to_dicts():
            theirs = [
                one.miss
                for one in stood_for(held, fst)
                if one.counts and getattr(one.attempt, kind) == row["entity"]
            ]
            expected = (sum(theirs), sum(one > tolerance for one in theirs))
            assert (row[f"miss_{fst}_s"], row[f"missed_{fst}"]) == (
                expected if theirs else (None, None)
            )
    for row in got.to_dicts():
        readings = [
            one.cautious
            for one in stood_for(held, "delivered")
            if one.counts and getattr(one.attempt, kind) == row["entity"]
        ]
        cautious = [seconds for seconds in readings if seconds is not None]
        assert row["miss_cautious_s"] == (sum(cautious) if readings else None)


def test_without_fair_start_times_nothing_is_missed() -> None:
    entities = owners(frame([ended(0, 10, 20, 2)]))
    missed = entities.select(
        *(
            f"{name}_{fst}{unit}"
            for fst in EVERY_FST
            for name, unit in (("miss", "_s"), ("missed", ""))
        ),
        "miss_cautious_s",
    )
    assert missed.rows() == [(None,) * 7]


@given(workloads(most=25), st.booleans())
def test_dispersion_as_defined(attempts: pl.DataFrame, keep_single: bool) -> None:
    entities = owners(attempts)
    fast = dispersion(entities, keep_single)
    exact = naive.entities(naive.described(attempts.to_dicts()), "user")
    nuwt = naive.counted_nuwt(exact, keep_single)
    steps = [(float(x), sum(y <= x for y in nuwt) / len(nuwt)) for x in sorted(set(nuwt))]
    assert cdf(entities, keep_single).select("nuwt", "share").rows() == steps
    named = {owner: one for owner, one in exact.items() if owner is not None and one.jobs}
    assert fast.entities == len(nuwt)
    assert fast.single_job == (0 if keep_single else sum(o.jobs < 2 for o in named.values()))
    assert fast.entities + fast.single_job + fast.no_usage == len(named)
    if not nuwt:
        assert fast[:7] == (None,) * 7
        return
    assert naive.close(fast.uwt, sum(nuwt, Fraction()) / len(nuwt))
    assert naive.close(fast.median, naive.nearest_rank(nuwt, Fraction(1, 2)))
    assert naive.close(fast.lower_quartile, naive.nearest_rank(nuwt, Fraction(1, 4)))
    assert naive.close(fast.upper_quartile, naive.nearest_rank(nuwt, Fraction(3, 4)))
    scale = float(max(nuwt)) ** 2 * len(nuwt)
    assert naive.close(fast.f, naive.f(nuwt), scale)
    assert fast.deviation == pytest.approx(
        math.sqrt(naive.f(nuwt) / len(nuwt)), rel=1e-9, abs=1e-6 * float(max(nuwt))
    )


def test_by_hand() -> None:
    # ann: waits 10 + 0 s; uses 10·2 + 5·4 = 40: NUWT 10/40 = 0.25.
    # bob: waits 5 + 25 s; uses 10·1 + 30·1 = 40: NUWT 30/40 = 0.75.
    # UWT = 0.5; F = 0.25² + 0.25² = 0.125; deviation = √(0.125/2) = 0.25; pooled 40/80 = 0.5.
    # cem has one job, dot used nothing, and a user without a name does not count.
    attempts = frame(
        [
            ended(0, 10, 20, 2, "ann"),
            ended(0, 0, 5, 4, "ann"),
            ended(0, 5, 15, 1, "bob"),
            ended(0, 25, 55, 1, "bob"),
            ended(0, 9, 10, 1, "cem"),
            ended(0, 1, 1, 3, "dot"),
            ended(0, 2, 9, 0, "dot"),
            ended(0, 3, 9, 1, None),
            ended(0, 4, 9, 1, None),
        ]
    )
    spread = dispersion(owners(attempts))
    assert spread == Dispersion(
        uwt=0.5,
        median=0.25,
        lower_quartile=0.25,
        upper_quartile=0.75,
        pooled=0.5,
        deviation=0.25,
        f=0.125,
        entities=2,
        single_job=1,
        no_usage=1,
    )
    assert dispersion(owners(attempts), keep_single=True).entities == 3
    assert cdf(owners(attempts)).rows() == [(0.25, 0.5, 1), (0.75, 1.0, 2)]


def test_two_attempts_of_one_job_are_one_job() -> None:
    requeued = [
        ended(0, 1, 5, 1, "ann", job_id="7", attempt=1),
        ended(5, 6, 9, 1, "ann", job_id="7", attempt=2),
    ]
    entities = owners(frame(requeued))
    assert entities.select("jobs", "attempts").rows() == [(1, 2)]
    assert counted(entities).height == 0
    assert counted(entities, keep_single=True).height == 1


def test_suspension_is_no_usage_but_no_wait_either() -> None:
    entities = owners(frame([ended(0, 1, 11, 3, suspended_s=4)]))
    assert entities.select("tuwt_s", "tusa").rows() == [(1, 18.0)]


@given(workloads(most=25), st.randoms(use_true_random=False))
def test_rows_and_names_change_no_bit(attempts: pl.DataFrame, random: st.DataObject) -> None:
    order = list(range(attempts.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    before = owners(attempts)
    assert owners(attempts[order]).equals(before)
    new = {"ann": "zoe", "bob": "ann", "cem": "bob", "dot": "cem"}
    renamed = owners(attempts.with_columns(pl.col("user").replace(new)))
    assert renamed.equals(before.with_columns(pl.col("entity").replace(new)).sort("entity"))
    assert dispersion(renamed) == dispersion(before)


AMOUNTS = st.lists(st.integers(0, 1_000_000), min_size=1, max_size=40).filter(any)


@given(AMOUNTS, st.integers(1, 20))
def test_concentration_as_defined_in_any_order_and_unit(
    amounts: list[int], twentieths: int
) -> None:
    values = [float(amount) for amount in amounts]
    assert gini(values) == pytest.approx(float(slow_spread.gini(amounts)), abs=1e-12)
    for fast, slow in zip(lorenz(values), slow_spread.lorenz(amounts), strict=True):
        assert fast == pytest.approx(tuple(map(float, slow)), abs=1e-12)
    slow_top = slow_spread.held_by_top(amounts, twentieths, 20)
    assert held_by_top(values, twentieths / 20) == pytest.approx(float(slow_top), abs=1e-9)
    assert gini(values[::-1]) == gini(values)
    assert lorenz(sorted(values)) == lorenz(values)
    assert gini([4 * value for value in values]) == pytest.approx(gini(values), abs=1e-12)


def test_concentration_by_hand() -> None:
    assert lorenz([3.0, 1.0]) == [(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)]
    assert gini([3.0, 1.0]) == 0.25
    assert gini([5.0] * 7) == 0
    assert gini([0.0, 0.0, 0.0, 8.0]) == 0.75
    assert held_by_top([1.0] * 9 + [91.0], 0.1) == pytest.approx(0.91)
    assert held_by_top([2.0, 2.0], 0.25) == pytest.approx(0.25)
    assert held_by_top([2.0, 2.0], 1.0) == 1


@pytest.mark.parametrize("amounts", [[], [0.0, 0.0], [1.0, -1.0], [math.nan]])
def test_what_has_no_distribution_is_refused(amounts: list[float]) -> None:
    with pytest.raises(ValueError, match="negative"):
        lorenz(amounts)


def test_jains_index_is_of_users_with_ten_jobs() -> None:
    # ann's 10 jobs have a stretch of 2, bob's 10 of 6; cem has 9 jobs.
    jobs = [("ann", 1, 10), ("bob", 5, 10), ("cem", 50, 9)]
    records = [
        ended(100 * k, 100 * k + wait, 100 * k + wait + 1, 1, user)
        for user, wait, number in jobs
        for k in range(number)
    ]
    entities = by_entity(resource_equality(describe(frame(records), [POOL]), 10_000), "user")
    assert dict(entities.select("entity", "stretch").iter_rows()) == {"ann": 2, "bob": 6, "cem": 51}
    assert jain(entities) == 8**2 / (2 * (2**2 + 6**2))
    assert jain(entities.filter(entity="cem")) is None


def test_the_concurrency_of_arrays() -> None:
    # Two tasks of 10 s within 15 s, and one array of a single task.
    of = [(1, 1, 0, 10), (1, 2, 5, 15), (2, 1, 0, 50)]
    records = [
        ended(0, start, end, 1, "ann", job_number=number, array_task=task)
        for number, task, start, end in of
    ]
    held = array_spans(resource_equality(describe(frame(records), [POOL]), 100))
    assert held.sort("job_number", "array_task")["array_span_s"].to_list() == [15, 0, None]
    row = by_entity(held, "user").row(0, named=True)
    assert row["array_concurrency"] == 20 / 15
    assert by_entity(held.filter(job_number=2), "user")["array_concurrency"].to_list() == [None]
