"""Replays of scenarios, against the engine and by hand."""

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Backfill, Order, Policy
from audit.scenario import engine, fair_start
from audit.scenario.advice.scenario import Scenario
from audit.scenario.whatif.bounds import asked
from audit.scenario.whatif.change import Change, changed
from audit.scenario.whatif.comparison import Cut, cut
from audit.scenario.whatif.replay import Played, played
from tests.examples import examples
from tests.naive import whatif as naive
from tests.scenario.whatif.scenarios import POOL, scenario, starts
from tests.strategies import EPOCH, NOW, workloads


@settings(max_examples=examples(12), deadline=None)
@given(workloads(most=9), st.sampled_from([Backfill.easy, Backfill.conservative, Backfill.none]))
def test_played_is_the_simulated_schedule_with_its_own_fair_starts(
    attempts: pl.DataFrame, backfill: Backfill
) -> None:
    pool = POOL._replace(policy=Policy(Order.fcfs, backfill))
    described = describe(attempts, [pool])
    found = played(Scenario(described, pool), NOW).schedule
    made = engine.simulate(described, pool, NOW, pool.policy)
    assert found.select(made.columns).equals(made)
    closed = made.filter(pl.col("standing").is_in(["running", "pending"])).is_empty()
    if closed:  # an open attempt has no end in the schedule, and one is assumed in the replay
        judged = fair_start.fair_start_times(made, pool, NOW)
        columns = ["job_id", "attempt", "fst_strict", "fst_relaxed", "miss_strict_s"]
        both = judged.filter(pl.col("fst_strict").is_not_null()).select(columns)
        assert found.filter(pl.col("fst_strict").is_not_null()).select(columns).equals(both)


def limited(most: int) -> tuple[Played, Played]:
    """Three of one partition and one of another, all of 1 CPU, at once; a later one of another."""
    rows = [(0, 0, 10, 1, "ann"), (0, 0, 10, 1, "ann"), (0, 0, 10, 1, "ann"), (1, 1, 6, 1, "bob")]
    today = scenario(*rows)
    attempts = today.attempts.with_columns(
        partition=pl.when(pl.col("user") == "ann").then(pl.lit("long")).otherwise(pl.lit("short"))
    )
    today = today._replace(attempts=attempts)
    after = changed(today, Change(limits=asked([f"long={most}"])))
    return played(today, EPOCH), played(after, EPOCH)


def test_a_partition_s_limit_by_hand() -> None:
    today, two = limited(2)
    assert starts(today) == [0, 0, 0, 1]
    # the third waits for one of its own; the other partition is not held up
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
    today = Scenario(describe(named, [pool]), pool)
    today = changed(today, Change(limits=asked([f"a={most}"])))
    rows = played(today, NOW).schedule.to_dicts()
    own = [row for row in rows if row["partition"] == "a"]
    for row in own:
        if row["start_time"] is not None and row["end_time"] > row["start_time"]:
            assert naive.in_use(own, row["start_time"]) <= most
        if (row["size"] or 0) > most:
            assert row["start_time"] is None


def test_a_walltime_limit_by_hand() -> None:
    # ann's first is cut from 10 to 4, so who waits for all 4 starts 6 earlier; she asks for 4
    today = scenario((0, 0, 10, 2, "ann"), (1, 10, 12, 4, "bob"), (2, 2, 5, 1, "cid"))
    long = pl.when(pl.col("user") == "ann").then(pl.lit("long")).otherwise(pl.lit("short"))
    today = today._replace(attempts=today.attempts.with_columns(partition=long))
    after = changed(today, Change(walltime_limits={"long": 4}))
    assert after.attempts["walltime_s"].to_list() == [4, 2, 3]
    assert starts(played(today, EPOCH)) == [0, 10, 2]
    assert starts(played(after, EPOCH)) == [0, 4, 6]  # 2 to 5 would delay bob
    lost = cut(today, after)
    assert lost.attempts == 1
    assert lost.share == pytest.approx(12 / 31)
    assert cut(today, today) == Cut(0, 0.0)
