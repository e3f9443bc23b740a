"""What a change does, against its definition, by hand, and where the answer is known."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.usage import HalfLife
from audit.model import Backfill, Order, Policy, Pool, Resource, Step
from audit.simulation import engine, fair_start
from audit.simulation.ownership import Fairshare
from audit.studies.whatif import compute as whatif
from audit.studies.whatif.compute import Amount, Change, Outcome, Scenario
from tests.naive import whatif as naive
from tests.strategies import EPOCH, NOW, ended, frame, workloads

POOL = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))


def scenario(*lives: tuple[int, int, int, int, str], pool: Pool = POOL, **more: Any) -> Scenario:
    """Arrival, start, end, size and user of each attempt; walltimes are exact unless given."""
    records = [
        ended(*life, account="of " + life[4], **{"walltime_s": life[2] - life[1], **more})
        for life in lives
    ]
    return Scenario(describe(frame(records), [pool]), pool)


def starts(of: whatif.Played) -> list[int | None]:
    return of.schedule.sort("job_number")["start_time"].to_list()


def figure(rows: pl.DataFrame, measure: str, dimension: str = "all") -> dict[str, Any]:
    found = rows.filter(pl.col("dimension") == dimension, pl.col("measure") == measure)
    return found.row(0, named=True)


# --- what is changed -----------------------------------------------------------------------------


@given(workloads(), st.fractions(1, 5, max_denominator=7))
def test_walltimes(attempts: pl.DataFrame, factor: Fraction) -> None:
    described = describe(attempts, [POOL])
    found = whatif.asking_for(described, factor)
    asked = described.select("walltime_s", "occupancy_s").rows()
    assert found["walltime_s"].to_list() == [
        naive.walltime(walltime, occupancy, factor) for walltime, occupancy in asked
    ]
    assert found.drop("walltime_s").equals(described.drop("walltime_s"))


STEPPED = Pool(
    "p",
    Resource.cpus,
    10,
    (Step(5, (("cpus", 6), ("nodes", 3))),),
    (("cpus", 10), ("nodes", 5)),
)


def test_another_size() -> None:
    more = whatif.resized(STEPPED, Amount(2, True), None)
    assert (more.capacity, more.amounts) == (12, (("cpus", 12), ("nodes", 5)))
    assert more.steps[0].amounts == (("cpus", 8), ("nodes", 3))
    fixed = whatif.resized(STEPPED, Amount(7, False), None)
    assert (fixed.capacity, fixed.steps[0].amounts) == (7, (("cpus", 7), ("nodes", 3)))
    nodes = whatif.resized(STEPPED, None, Amount(5, True))
    assert (nodes.capacity, nodes.amounts) == (20, (("cpus", 20), ("nodes", 10)))
    assert nodes.steps[0].amounts == (("cpus", 12), ("nodes", 6))
    counted = Pool("n", Resource.nodes, 4)
    assert whatif.resized(counted, None, Amount(-1, True)).capacity == 3
    assert whatif.resized(STEPPED, None, None) == STEPPED


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Change(capacity=Amount(-4, True)), "less than nothing"),
        (Change(nodes=Amount(1, True)), "does not say how many nodes"),
        (Change(nodes=Amount(1, True), capacity=Amount(9, False)), "give one of them"),
        (Change(without=("nobody",)), "no attempt of pool 'all' is of it"),
        (Change(without=("ann", "bob")), "nobody would be left"),
        (Change(limits={"x": 3}), "no such partition"),
        (Change(targets={"ann": 2.0}), "add --order fairshare"),
        (Change(half_life_s=60.0, order=Order.nuwt), "pool 'all' has nuwt"),
        (Change(targets={"cem": 2.0}, order=Order.fairshare), "cem: not in the log"),
        (Change(targets={"ann": 2.0, "of bob": 1.0}, order=Order.fairshare), "not both"),
        (Change(depth=3, backfill=Backfill.none), "--depth: only"),
        (Change(targets={"ann": 0.0, "bob": 0.0}, order=Order.fairshare), "--targets: "),
    ],
)
def test_what_cannot_be_changed_is_refused(change: Change, said: str) -> None:
    today = scenario((0, 0, 9, 1, "ann"), (0, 0, 9, 1, "bob"))
    with pytest.raises(UsageError, match=said):
        whatif.changed(today, change)


def test_other_targets() -> None:
    attempts = scenario((0, 0, 9, 1, "ann"), (0, 0, 9, 1, "bob")).attempts
    users = whatif.retargeted(Fairshare(), attempts, {"bob": 3.0})
    assert users.kind == "user"
    assert users.tree is not None
    assert dict(zip(users.tree.names[1:], users.tree.shares[1:], strict=True)) == {
        "ann": 1.0,
        "bob": 3.0,
    }
    accounts = whatif.retargeted(Fairshare(), attempts, {"of ann": 3.0})
    assert accounts.kind == "account"
    given = Fairshare(operator="relative", tree=trees.flat(["ann", "bob"], {"ann": 30, "bob": 70}))
    other = whatif.retargeted(given, attempts, {"ann": 60.0})
    assert other.tree is not None
    assert (other.operator, other.tree.shares.tolist()[1:]) == ("relative", [60.0, 70.0])
    with pytest.raises(UsageError, match="cem: not in the configured shares"):
        whatif.retargeted(given, attempts, {"cem": 1.0})


def test_policy_half_life_and_who_comes() -> None:
    today = scenario(
        (0, 0, 9, 1, "ann"),
        (0, 0, 9, 1, "bob"),
        pool=POOL._replace(policy=Policy(depth=5)),
    )
    changed = whatif.changed(
        today, Change(order=Order.fairshare, half_life_s=60.0, window_s=7, without=("ann",))
    )
    assert changed.pool.policy == Policy(Order.fairshare, Backfill.easy, 5, 7)
    assert changed.fairshare.method == HalfLife(half_life_s=60.0)
    assert changed.attempts["user"].to_list() == ["bob"]
    plain = whatif.changed(today, Change(backfill=Backfill.conservative))
    assert plain.pool.policy == Policy(Order.fcfs, Backfill.conservative)


# --- replaying -----------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(workloads(most=9), st.sampled_from([Backfill.easy, Backfill.conservative, Backfill.none]))
def test_played_is_the_simulated_schedule_with_its_own_fair_starts(
    attempts: pl.DataFrame, backfill: Backfill
) -> None:
    pool = POOL._replace(policy=Policy(Order.fcfs, backfill))
    described = describe(attempts, [pool])
    found = whatif.played(Scenario(described, pool), NOW).schedule
    made = engine.simulate(described, pool, NOW, pool.policy)
    assert found.select(made.columns).equals(made)
    closed = made.filter(pl.col("standing").is_in(["running", "pending"])).is_empty()
    if closed:  # an open attempt has no end in the schedule, and one is assumed in the replay
        judged = fair_start.fair_start_times(made, pool, NOW)
        columns = ["job_id", "attempt", "fst_strict", "fst_relaxed", "miss_strict_s"]
        both = judged.filter(pl.col("fst_strict").is_not_null()).select(columns)
        assert found.filter(pl.col("fst_strict").is_not_null()).select(columns).equals(both)


def limited(most: int) -> tuple[whatif.Played, whatif.Played]:
    """Three of one partition and one of another, all of 1 CPU, at once; a later one of another."""
    rows = [(0, 0, 10, 1, "ann"), (0, 0, 10, 1, "ann"), (0, 0, 10, 1, "ann"), (1, 1, 6, 1, "bob")]
    today = scenario(*rows)
    attempts = today.attempts.with_columns(
        partition=pl.when(pl.col("user") == "ann").then(pl.lit("long")).otherwise(pl.lit("short"))
    )
    today = today._replace(attempts=attempts)
    after = whatif.changed(today, Change(limits={"long": most}))
    return whatif.played(today, EPOCH), whatif.played(after, EPOCH)


def test_a_partition_s_limit_by_hand() -> None:
    today, two = limited(2)
    assert starts(today) == [0, 0, 0, 1]
    # the third waits for one of its own; the other partition is not held up
    assert starts(two) == [0, 0, 10, 1]
    _, one = limited(1)
    assert starts(one) == [0, 10, 20, 1]


@settings(max_examples=12, deadline=None)
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
    named = attempts.with_columns(
        partition=pl.when(pl.col("job_number") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    today = Scenario(describe(named, [pool]), pool, limits=(("a", most),))
    rows = whatif.played(today, NOW).schedule.to_dicts()
    own = [row for row in rows if row["partition"] == "a"]
    for row in own:
        if row["start_time"] is not None and row["end_time"] > row["start_time"]:
            assert naive.in_use(own, row["start_time"]) <= most
        if (row["size"] or 0) > most:
            assert row["start_time"] is None


@given(
    workloads(),
    st.dictionaries(st.sampled_from(["a", "b"]), st.integers(1, 12), min_size=1),
)
def test_walltime_limits(attempts: pl.DataFrame, limits: dict[str, int]) -> None:
    partition = pl.when(pl.col("job_number") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit(None))
    before = describe(attempts.with_columns(partition=partition), [POOL])
    after = whatif.cut_short(before, limits)
    for was, now in zip(before.to_dicts(), after.to_dicts(), strict=True):
        limit = limits.get(was["partition"])
        assert now == (was if limit is None else naive.cut_short(was, limit))


def test_a_walltime_limit_by_hand() -> None:
    # ann's first is cut from 10 to 4, so who waits for all 4 starts 6 earlier; she asks for 4
    today = scenario((0, 0, 10, 2, "ann"), (1, 10, 12, 4, "bob"), (2, 2, 5, 1, "cid"))
    long = pl.when(pl.col("user") == "ann").then(pl.lit("long")).otherwise(pl.lit("short"))
    today = today._replace(attempts=today.attempts.with_columns(partition=long))
    after = whatif.changed(today, Change(walltime_limits={"long": 4}))
    assert after.attempts["walltime_s"].to_list() == [4, 2, 3]
    assert starts(whatif.played(today, EPOCH)) == [0, 10, 2]
    assert starts(whatif.played(after, EPOCH)) == [0, 4, 6]  # 2 to 5 would delay bob
    lost = whatif.cut(today, after)
    assert lost.attempts == 1
    assert lost.share == pytest.approx(12 / 31)
    assert whatif.cut(today, today) == whatif.Cut(0, 0.0)


# --- comparing -----------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(workloads(most=10), st.sampled_from([Order.sjf, Order.lxf]), st.integers(0, 5))
def test_figures(attempts: pl.DataFrame, order: Order, tolerance_s: int) -> None:
    described = describe(attempts, [POOL])
    today = Scenario(described, POOL)
    before = whatif.played(today, NOW)
    after = whatif.played(whatif.changed(today, Change(order=order)), NOW)
    rows = whatif.compared(before, after, 5, tolerance_s)
    expected = naive.figures(before.schedule.to_dicts(), after.schedule.to_dicts(), tolerance_s)
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
    today = whatif.played(crowd(), EPOCH)
    rows = whatif.compared(today, today, 1)
    assert set(rows["outcome"]) == {"same"}
    assert figure(rows, "wait_mean")["today"] == 1_800


def test_a_pool_of_twice_the_size_makes_everybody_gain() -> None:
    today = crowd()
    after = whatif.changed(today, Change(capacity=Amount(8, False)))
    before, then = whatif.played(today, EPOCH), whatif.played(after, EPOCH)
    rows = whatif.compared(before, then, 1)
    waits = rows.filter(pl.col("measure") == "wait_mean")
    assert set(waits["outcome"]) == {"gains"}
    assert set(waits["dimension"]) == {"all", "width_class", "account"}
    assert figure(rows, "wait_mean")["difference"] == -1_800
    back = whatif.compared(then, before, 1).filter(pl.col("measure") == "wait_mean")
    assert set(back["outcome"]) == {"loses"}
    span = (0, 17 * 86_400)
    one = whatif.whole(before, today.pool, span)
    two = whatif.whole(then, after.pool, span)
    assert one.utilization == pytest.approx(17 * 7_200 / span[1])
    assert two.utilization == pytest.approx(17 * 3_600 / span[1])
    assert (one.attempts, one.never_started, one.span_s) == (36, 0, span[1] + 7_200)
    assert one.uwt == pytest.approx(3 * 3_600 / (6 * 3_600 * 4))
    assert one.loss_of_capacity == pytest.approx(0)


def test_one_user_s_flood_left_out() -> None:
    hour = 3_600
    flood = [(0, hour * k, hour * (k + 1), 4, "flood") for k in range(3)]
    others = [(60, hour * (3 + k), hour * (4 + k), 4, f"u{k}") for k in range(3)]
    today = scenario(*flood, *others)
    after = whatif.changed(today, Change(without=("flood",)))
    rows = whatif.compared(whatif.played(today, EPOCH), whatif.played(after, EPOCH), 2)
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
    today = scenario(*lives)._replace(pool=POOL._replace(policy=Policy(Order.fairshare)))
    after = whatif.changed(today, Change(targets={"bob": 50.0}))
    rows = whatif.compared(whatif.played(today, EPOCH), whatif.played(after, EPOCH), 1)
    waits = rows.filter(pl.col("dimension") == "account", pl.col("measure") == "wait_mean")
    found = dict(waits.select("part", "outcome").iter_rows())
    assert found == {"of ann": "loses", "of bob": "gains", "of cem": "same"}


@pytest.mark.parametrize(
    ("value", "lower", "upper", "expected"),
    [
        (0.0, None, None, Outcome.same),
        (0.0, 0.0, 0.0, Outcome.same),
        (0.0, -1.0, 1.0, Outcome.unclear),
        (-3.0, None, None, Outcome.unclear),
        (-3.0, -4.0, -1.0, Outcome.gains),
        (-3.0, -4.0, 0.0, Outcome.unclear),
        (3.0, 1.0, 4.0, Outcome.loses),
        (3.0, 0.0, 4.0, Outcome.unclear),
    ],
)
def test_outcomes(
    value: float, lower: float | None, upper: float | None, expected: Outcome
) -> None:
    assert whatif.outcome(value, lower, upper) is expected


def test_fidelity_is_that_of_today_s_replay() -> None:
    # the log let the second wait for 100 s that no policy would
    today = scenario((0, 0, 50, 1, "ann"), (0, 100, 150, 1, "bob"))
    made = whatif.played(today, EPOCH)
    found = dict(whatif.replay_error(today.attempts, made).select("metric", "value").iter_rows())
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
