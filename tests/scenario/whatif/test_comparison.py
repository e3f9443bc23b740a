"""Gains and losses: against the definition, and where the answer is known."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.metrics.claims import PartEffect, outcome
from audit.metrics.draws import Draws
from audit.model import Backfill, Order, Policy
from audit.scenario import engine, fair_start
from audit.scenario.scenario import Amount, Scenario, ScenarioChange, changed
from audit.scenario.whatif.comparison import (
    RemovedWork,
    compared,
    cut,
    only_after,
    played,
    replay_error,
    whole,
)
from audit.scenario.whatif.options import limits
from tests.examples import examples
from tests.naive import whatif as naive
from tests.scenario.whatif.scenarios import POOL, scenario, starts
from tests.strategies import NOW, workloads


def figure(rows: pl.DataFrame, measure: str, dimension: str = "all") -> dict[str, Any]:
    found = rows.filter(pl.col("dimension") == dimension, pl.col("measure") == measure)
    return found.row(0, named=True)


@settings(max_examples=examples(12), deadline=None)
@given(workloads(most=10), st.sampled_from([Order.sjf, Order.lxf]), st.integers(1, 4))
def test_what_never_starts_and_what_was_observed(
    attempts: pl.DataFrame, order: Order, most: int
) -> None:
    described = describe(attempts, [POOL])
    today = Scenario(described, POOL, NOW)
    change = ScenarioChange(policy={"order": order}, limits=limits([f"user:*={most}"]))
    before, after = played(today), played(changed(today, change))
    rows = compared(before, after, Draws(5))
    log, one, two = described.to_dicts(), before.to_dicts(), after.to_dicts()
    waits = rows.filter(pl.col("measure") == "wait_mean")
    whole = waits.filter(pl.col("dimension") == "all")
    never = naive.never_starting(one, two)
    assert whole["never_start"].sum() == never
    assert only_after(before, after) == naive.never_starting(two, one)
    for dimension in ("width_class", "account", "user"):
        part = waits.filter(pl.col("dimension") == dimension)
        assert part["never_start"].sum() == never
        assert part["attempts"].sum() == whole["attempts"].sum()
    if whole["attempts"].sum():
        seen = naive.observed(log, one, two)
        assert whole["observed"].to_list() == [None if seen is None else pytest.approx(seen)]
    without = rows.filter(pl.col("outcome").is_in(["never_starts", "not_reproduced"]))
    assert without["changed"].null_count() == without["difference"].null_count() == without.height
    assert (rows.filter(pl.col("outcome") == "never_starts")["never_start"] > 0).all()


def test_a_class_without_starts_is_a_row() -> None:
    today = scenario((0, 0, 9, 1, "ann"), (0, 0, 9, 3, "bob"), (0, 9, 18, 3, "cem"))
    after = changed(today, ScenarioChange(limits=limits(["user:*=2"])))
    rows = compared(played(today), played(after), Draws(1))
    wide = rows.filter(pl.col("part") == "3-4")
    assert wide.select("measure", "observed", "today", "attempts", "never_start").rows() == [
        ("wait_mean", 4.5, 4.5, 0, 2)
    ]
    assert wide["outcome"].to_list() == ["never_starts"]
    assert wide.select("changed", "difference", "lower", "upper").row(0) == (None,) * 4
    assert figure(rows, "wait_mean")["never_start"] == 2


def test_a_part_that_the_replay_misses_has_no_figure() -> None:
    # bob's attempt waited for 100 s that no policy explains; ann's for what a replay finds
    today = scenario((0, 0, 50, 4, "ann"), (0, 50, 90, 4, "ann"), (200, 300, 350, 1, "bob"))
    after = changed(today, ScenarioChange(capacity=Amount(8, False)))
    rows = compared(played(today), played(after), Draws(1))
    waits = rows.filter(pl.col("measure") == "wait_mean").select(
        "part", "observed", "today", "changed", "outcome"
    )
    assert waits.filter(pl.col("part").is_in(["of ann", "of bob"])).rows() == [
        ("of ann", 25.0, 25.0, 0.0, "unclear"),
        ("of bob", 100.0, 0.0, None, "not_reproduced"),
    ]
    missed = rows.filter(pl.col("part") == "of bob")
    assert set(missed["outcome"]) == {"not_reproduced"}
    assert missed["changed"].null_count() == missed.height > 1
    assert figure(rows, "wait_mean")["outcome"] == "not_reproduced"


@settings(max_examples=examples(12), deadline=None)
@given(workloads(most=10), st.sampled_from([Order.sjf, Order.lxf]), st.integers(0, 5))
def test_figures(attempts: pl.DataFrame, order: Order, tolerance_s: int) -> None:
    described = describe(attempts, [POOL])
    today = Scenario(described, POOL, NOW)
    before = played(today).with_columns(observed_wait_s="wait_s")  # as if reproduced
    after = played(changed(today, ScenarioChange(policy={"order": order})))
    rows = compared(before, after, Draws(5), tolerance_s)
    expected = naive.figures(before.to_dicts(), after.to_dicts(), tolerance_s)
    found = {
        row["measure"]: (row["today"], row["changed"])
        for row in rows.filter(pl.col("dimension") == "all").iter_rows(named=True)
    }
    assert found == {
        name: pytest.approx(value, rel=1e-9, abs=1e-9)
        for name, value in expected.items()
        if value is not None
    }
    wide = rows.filter(pl.col("dimension") == "width_class", pl.col("measure") == "wait_mean")
    accounts = rows.filter(pl.col("dimension") == "account", pl.col("measure") == "wait_mean")
    total = found["wait_mean"][0] if found else 0
    for part in (wide, accounts):
        attempts_of = part["attempts"].to_numpy()
        if len(attempts_of):
            mean = float(np.average(part["today"].to_numpy(), weights=attempts_of))
            assert mean == pytest.approx(total)


def crowd(users: int = 6) -> Scenario:
    """Each day another user's two attempts of all CPUs arrive at once; the second waits."""
    day = 86_400
    lives = [
        (day * k, day * k + 3_600 * late, day * k + 3_600 * (late + 1), 4, f"u{k % users}")
        for k in range(3 * users)
        for late in (0, 1)
    ]
    return scenario(*lives)


def test_the_same_is_the_same() -> None:
    today = played(crowd())
    rows = compared(today, today, Draws(1))
    assert set(rows["outcome"]) == {"same"}
    assert figure(rows, "wait_mean")["today"] == 1_800


def test_all_users_gain_from_a_pool_of_twice_the_size() -> None:
    today = crowd()
    after = changed(today, ScenarioChange(capacity=Amount(8, False)))
    before, then = played(today), played(after)
    rows = compared(before, then, Draws(1))
    waits = rows.filter(pl.col("measure") == "wait_mean")
    assert set(waits["outcome"]) == {"gains"}
    assert set(waits["dimension"]) == {"all", "width_class", "account", "user"}
    assert figure(rows, "wait_mean")["difference"] == -1_800
    as_now = then.with_columns(observed_wait_s="wait_s")
    back = compared(as_now, before, Draws(1)).filter(pl.col("measure") == "wait_mean")
    assert set(back["outcome"]) == {"loses"}
    span = (0, 17 * 86_400)
    one = whole(before, today.pool, span, then)
    two = whole(then, after.pool, span, before)
    assert one.utilization == pytest.approx(17 * 7_200 / span[1])
    assert two.utilization == pytest.approx(17 * 3_600 / span[1])
    assert (one.attempts, one.never_started, one.span_s) == (36, 0, span[1] + 7_200)
    assert one.uwt == pytest.approx(3 * 3_600 / (6 * 3_600 * 4))
    assert one.loss_of_capacity == pytest.approx(0)


def test_nuwt_of_users_is_over_attempts_that_start_in_both_replays() -> None:
    hour = 3_600
    narrow = [(0, hour * k, hour * (k + 1), 3, f"u{k}") for k in (0, 1, 0, 1)]
    wide = [(0, hour * (2 + k), hour * (3 + k), 4, f"u{k % 2}") for k in range(4)]
    today = scenario(*narrow, *wide)
    after = changed(today, ScenarioChange(capacity=Amount(3, False)))  # too small for the wide ones
    before, then = played(today), played(after)
    one = whole(before, today.pool, (0, hour), then)
    two = whole(then, after.pool, (0, hour), before)
    assert (one.attempts, two.attempts, two.never_started) == (8, 4, 4)
    assert (one.uwt, one.nuwt_deviation) == (two.uwt, two.nuwt_deviation)


def test_one_user_s_burst_left_out() -> None:
    hour = 3_600
    burst = [(0, hour * k, hour * (k + 1), 4, "dot") for k in range(3)]
    others = [(60, hour * (3 + k), hour * (4 + k), 4, f"u{k}") for k in range(3)]
    today = scenario(*burst, *others)
    after = changed(today, ScenarioChange(without=("dot",)))
    rows = compared(played(today), played(after), Draws(2))
    wait = figure(rows, "wait_mean")
    assert (wait["attempts"], wait["outcome"]) == (3, "gains")
    # each of the three is three hours earlier, but for the minute of its arrival
    assert wait["difference"] == -(3 * hour - 60)
    assert set(rows.filter(pl.col("dimension") == "account")["part"]) == {
        "of u0",
        "of u1",
        "of u2",
    }


def test_other_targets_make_whom_they_favour_gain() -> None:
    day, hour = 86_400, 3_600
    lives = []
    for k in range(8):  # every day ann's attempt, then bob's, behind one that fills the pool
        t = day * k
        lives += [
            (t, t, t + hour, 4, "cem"),
            (t + 60, t + hour, t + 2 * hour, 4, "ann"),
            (t + 120, t + 2 * hour, t + 3 * hour, 4, "bob"),
        ]
    today = scenario(*lives).but(pool=POOL._replace(policy=Policy(Order.fairshare)))
    after = changed(today, ScenarioChange(targets={"bob": 50.0}))
    rows = compared(played(today), played(after), Draws(1))
    waits = rows.filter(pl.col("dimension") == "account", pl.col("measure") == "wait_mean")
    found = dict(waits.select("part", "outcome").iter_rows())
    assert found == {"of ann": "loses", "of bob": "gains", "of cem": "same"}


@pytest.mark.parametrize(
    ("value", "lower", "upper", "expected"),
    [
        (0.0, None, None, PartEffect.same),
        (0.0, 0.0, 0.0, PartEffect.same),
        (0.0, -1.0, 1.0, PartEffect.unclear),
        (-3.0, None, None, PartEffect.unclear),
        (-3.0, -4.0, -1.0, PartEffect.gains),
        (-3.0, -4.0, 0.0, PartEffect.unclear),
        (3.0, 1.0, 4.0, PartEffect.loses),
        (3.0, 0.0, 4.0, PartEffect.unclear),
    ],
)
def test_outcomes(
    value: float, lower: float | None, upper: float | None, expected: PartEffect
) -> None:
    assert outcome(value, lower, upper) is expected


def test_fidelity_is_that_of_today_s_replay() -> None:
    # the log let the second wait for 100 s that no policy would
    today = scenario((0, 0, 50, 1, "ann"), (0, 100, 150, 1, "bob"))
    made = played(today)
    found = dict(replay_error(today.attempts, made).select("metric", "value").iter_rows())
    assert found["replayed"] == 2
    assert found["start_error_median"] == 0
    assert found["start_error_p90"] == 100
    assert found["mean_wait_error"] == -50
    assert set(found) == {
        "replayed",
        "start_error_median",
        "start_error_p90",
        "wait_correlation",
        "mean_wait_error",
    }


# --- replays of scenarios, against the engine and by hand ----------------------------------------


@settings(max_examples=examples(12), deadline=None)
@given(workloads(most=9), st.sampled_from([Backfill.easy, Backfill.conservative, Backfill.none]))
def test_played_is_the_simulated_schedule_with_its_own_fair_starts(
    attempts: pl.DataFrame, backfill: Backfill
) -> None:
    pool = POOL._replace(policy=Policy(Order.fcfs, backfill))
    described = describe(attempts, [pool])
    found = played(Scenario(described, pool, NOW))
    made = engine.simulate(described, pool, NOW, pool.policy)
    assert found.select(made.columns).equals(made)
    closed = made.filter(pl.col("standing").is_in(["running", "pending"])).is_empty()
    if closed:  # an open attempt has no end in the schedule, and one is assumed in the replay
        judged = fair_start.fair_start_times(Scenario(made, pool, NOW))
        columns = ["job_id", "attempt", "fst_strict", "fst_relaxed", "miss_strict_s"]
        both = judged.filter(pl.col("fst_strict").is_not_null()).select(columns)
        assert found.filter(pl.col("fst_strict").is_not_null()).select(columns).equals(both)


def of_two_partitions(today: Scenario) -> Scenario:
    """With Ann's in the partition long, and all others in short."""
    partition = pl.when(pl.col("user") == "ann").then(pl.lit("long")).otherwise(pl.lit("short"))
    return today.but(attempts=today.attempts.with_columns(partition=partition))


def limited(most: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Three of one partition and one of another, all of 1 CPU, at once; a later one of another."""
    rows = [(0, 0, 10, 1, "ann"), (0, 0, 10, 1, "ann"), (0, 0, 10, 1, "ann"), (1, 1, 6, 1, "bob")]
    today = of_two_partitions(scenario(*rows))
    after = changed(today, ScenarioChange(limits=limits([f"long={most}"])))
    return played(today), played(after)


def test_a_partition_s_limit_by_hand() -> None:
    today, two = limited(2)
    assert starts(today) == [0, 0, 0, 1]
    # the third waits for its partition; the other partition is not affected
    assert starts(two) == [0, 0, 10, 1]
    _, one = limited(1)
    assert starts(one) == [0, 10, 20, 1]


@settings(max_examples=examples(12), deadline=None)
@given(
    workloads(most=9, only_ended=True),
    st.integers(1, 3),
    st.sampled_from([Backfill.easy, Backfill.conservative, Backfill.no_guarantee]),
    st.sampled_from([Order.fcfs, Order.sjf]),
)
def test_a_partition_s_limit_is_never_exceeded(
    attempts: pl.DataFrame, most: int, backfill: Backfill, order: Order
) -> None:
    pool = POOL._replace(policy=Policy(order, backfill))
    assume(attempts.height > 1)
    named = attempts.with_columns(
        partition=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    today = Scenario(describe(named, [pool]), pool, NOW)
    today = changed(today, ScenarioChange(limits=limits([f"a={most}"])))
    rows = played(today).to_dicts()
    own = [row for row in rows if row["partition"] == "a"]
    for row in own:
        if row["start_time"] is not None and row["end_time"] > row["start_time"]:
            assert naive.in_use(own, row["start_time"]) <= most
        if (row["size"] or 0) > most:
            assert row["start_time"] is None


def test_a_walltime_limit_by_hand() -> None:
    # ann's first is cut from 10 to 4, so who waits for all 4 starts 6 earlier; she asks for 4
    lives = (0, 0, 10, 2, "ann"), (1, 10, 12, 4, "bob"), (2, 2, 5, 1, "cid")
    today = of_two_partitions(scenario(*lives))
    after = changed(today, ScenarioChange(walltime_limits={"long": 4}))
    assert after.attempts["walltime_s"].to_list() == [4, 2, 3]
    assert starts(played(today)) == [0, 10, 2]
    assert starts(played(after)) == [0, 4, 6]  # 2 to 5 would delay bob
    lost = cut(today, after)
    assert lost.attempts == 1
    assert lost.share == pytest.approx(12 / 31)
    assert cut(today, today) == RemovedWork(0, 0.0)
