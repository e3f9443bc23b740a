"""The account of waits: against its slow twin, by hand, and invariances."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.metrics.attempts.account import Account, Durations, account
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.reasons import NO_HOLDS, reason_of
from audit.metrics.attempts.recorded import SITE_PRIORITY
from audit.model import CapacityStep, Limit, Pool, PreemptionRule, Resource, Window
from audit.policies import Backfill, Policy
from audit.registry.causes import CAUSES, COLUMNS
from audit.rule_text import rule_text
from tests.naive import account as naive
from tests.naive.attempts import close
from tests.registry.test_reasons import ALL_REASONS
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, POOLS, Rows, ended, frame, rows, sampled

POOL = Pool("main", Resource.cpus, 4)
EDGE = 770
"""Times are moved by this, so that an hour begins among them: Sunday 2001-09-09, 02:00 UTC."""
CLOSED = 6 * 24 + 2


@st.composite
def _waiting(draw: st.DrawFn) -> dict[str, Any]:
    """One of a crowd: it mostly waits, and mostly for others."""
    submit = EPOCH + draw(st.integers(0, 9))
    start = submit + draw(sampled([0, 0, 1, 3, 8, 15, 25]))
    end = start + draw(sampled([0, 1, 4, 9, 20]))
    record = ended(submit, start, end, draw(sampled([1, 1, 2, 3, 4])))
    record |= {"user": draw(sampled([None, "ann", "ann", "bob"]))}
    record |= {"gpus": draw(sampled([0, 0, 1, 2])), "nodes": draw(sampled([1, 2]))}
    if draw(st.integers(0, 7)) == 0:
        record |= {"start_time": None, "end_time": start, "state": "CANCELLED"}
    return record


def crowds(most: int = 14) -> st.SearchStrategy[Rows]:
    """Records of a pool in which more wait than fit."""
    return st.lists(_waiting(), min_size=3, max_size=most).map(
        lambda records: [
            {**record, "job_id": str(k), "job_number": k} for k, record in enumerate(records, 1)
        ]
    )


def booked(*records: dict[str, Any], pool: Pool = POOL, now: int = 100, **more: Any) -> Account:
    """The account of some records, in their order."""
    more = {"durations": Durations(0), "log_begin": -1, **more}
    made = account(describe(frame(list(records)), [pool]), pool, now, **more)
    return made._replace(attempts=made.attempts.sort("line"))


def parts(made: Account) -> list[dict[str, float]]:
    """Return the seconds of each attempt's wait by cause."""
    rows = made.attempts.select(COLUMNS).rows()
    keys = [cause.key for cause in CAUSES]
    return [{k: v for k, v in zip(keys, row, strict=True) if v} for row in rows]


def test_each_cause_by_hand() -> None:
    # A pool of 4. A (ann, 3) runs 0-10, B (bob, 1) 0-20. J (ann, 2) waits from 2 to 16.
    #   2-10: 4 in use, 3 of them ann's: own 3/4, earlier 1/4 of 8 s.
    #   10-12: 3 are free: unexplained. 12-16: C (cem, 3) arrived at 5 and runs: later 3/4.
    # C waits 5-12. 5-10: all is in use by A and B: earlier. 10-12: J claims 2 of 3: claimed.
    # D (ann, 2) waits 10-12, and fits but for the claims of J, which is hers: own.
    got = parts(
        booked(
            ended(0, 0, 10, 3, "ann"),
            ended(0, 0, 20, 1, "bob"),
            ended(2, 16, 18, 2, "ann"),
            ended(5, 12, 16, 3, "cem"),
            {**ended(10, 10, 12, 2, "ann"), "start_time": None, "state": "CANCELLED"},
        )
    )
    assert got == [
        {},
        {},
        {"unexplained": 2, "own": 6, "earlier": 3, "later": 3},
        {"claimed": 2, "earlier": 5},
        {"own": 2},
    ]


@pytest.mark.parametrize("known", [True, False])
def test_the_queue_is_walked_by_the_sites_priorities_where_they_are_known(known: bool) -> None:
    # R (3 of 4) runs 0-100. One CPU is free for J (from 10 on) or K (from 20 on). L (3) does not
    # fit. Whatever its priority, R and J arrived before it. In 60-65, K has 1 of the 5 CPUs in use.
    records = [
        ended(0, 0, 100, 3, "cem") | {"priority": 5.0},
        ended(10, 60, 70, 1, "ann") | {"priority": 1.0},
        ended(20, 60, 65, 1, "bob") | {"priority": 9.0},
        ended(15, 100, 110, 3, "dan") | {"priority": 20.0},
    ]
    described = describe(frame(records), [POOL])
    rank = pl.when(known | (pl.col("user") != "cem")).then("priority")
    described = described.with_columns(rank.alias(SITE_PRIORITY))
    made = account(described, POOL, 200, log_begin=-1, durations=Durations(0))
    got = parts(made._replace(attempts=made.attempts.sort("line")))
    if known:
        assert got[1:3] == [{"unexplained": 10, "claimed": 40}, {"unexplained": 40}]
    else:  # of three quarters, less than 95 %
        assert got[1:3] == [{"unexplained": 50}, {"claimed": 40}]
    assert got[3] == {"earlier": 84, "later": 1}


def test_a_limit_holds_what_would_have_fitted() -> None:
    # One job per user: ann's second waits 0-10 while her first runs; 1 CPU is free meanwhile.
    pool = POOL._replace(limits=(Limit(most=1, per="user"),))
    made = booked(ended(0, 0, 10, 3, "ann"), ended(0, 12, 20, 1, "ann"), pool=pool)
    assert parts(made)[1] == {"rule": 10, "unexplained": 2}
    row = made.attempts.row(1, named=True)
    assert row["rule"] == "limit of 1 running job per user"
    assert row["cause_rule_free_s"] == 10


def test_a_limit_of_remaining_time_by_hand() -> None:
    # 30 CPU-seconds per user: ann's first (2 CPUs, 20 s planned, 30 s run) leaves 40 - 2 t at t,
    # and nothing from 20 on. Her second adds 8, her third 24. The instants are bob's at 10, 15, 17
    # and 22.
    limit = Limit(most=30, resource="cpus", remaining=True, per="user")
    pool = POOL._replace(limits=(limit,))
    looks = [ended(at, at, at + 1, 1, "bob", walltime_s=1) for at in (10, 15, 17, 22)]
    made = booked(
        ended(0, 0, 30, 2, "ann", walltime_s=20),
        ended(1, 18, 19, 1, "ann", walltime_s=8),
        ended(2, 25, 26, 1, "ann", walltime_s=24),
        *looks,
        pool=pool,
    )
    assert made.attempts["rule"].to_list()[1:3] == [rule_text(limit, "cpus", "UTC")] * 2
    # at 10: 20 + 8 ≤ 30, and then, with that claim, 20 + 8 + 24 > 30
    assert parts(made)[1:3] == [
        {"rule": 9, "unexplained": 8},
        {"rule": 17, "unexplained": 6},
    ]


@pytest.mark.parametrize("beyond", [0, 1, 2])
def test_a_job_that_ran_beyond_its_walltime_no_longer_counts_after_it(beyond: int) -> None:
    # 30 CPU-seconds per user. At 101 ann's second has 26 left and her third adds 10; at 103 both
    # have 32, at 104 they have 30. Her first is no part of it.
    limit = Limit(most=30, resource="cpus", remaining=True, per="user")
    made = booked(
        ended(0, 0, 10 + beyond, 2, "ann", walltime_s=10),
        ended(100, 100, 114, 2, "ann", walltime_s=14),
        ended(101, 106, 110, 2, "ann", walltime_s=5),
        *(ended(at, at, at + 1, 1, "bob", walltime_s=1) for at in (103, 104)),
        pool=POOL._replace(limits=(limit,), capacity=8),
    )
    assert parts(made)[2] == {"rule": 3, "unexplained": 2}


def test_a_class_that_loses_its_last_job_to_a_rule_and_gets_another() -> None:
    """At 100, ann's first job is barred by her second, and bob's second is no longer barred.

    Both are of one class, and the other class has a job too: an array had no place for the third.
    """
    pool = Pool("main", Resource.cpus, 1000, limits=(Limit(most=1, per="user"),))
    made = booked(
        ended(0, 0, 100, 1, "bob"),
        ended(5, 300, 400, 1, "ann"),
        ended(6, 100, 300, 2, "ann"),
        ended(7, 300, 400, 2, "cat"),
        ended(10, 150, 250, 1, "bob"),
        pool=pool,
        now=1000,
    )
    assert parts(made)[1:] == [
        {"unexplained": 95, "rule": 200},
        {"rule": 94},
        {"unexplained": 293},
        {"rule": 90, "unexplained": 50},
    ]


def test_a_job_without_occupancy_is_not_released_by_its_own_end() -> None:
    def released(*records: dict[str, Any]) -> list[float]:
        return (
            booked(ended(0, 0, 2_000, 1), *records, now=2_000)
            .attempts["released_own_s"]
            .to_list()[1:]
        )

    alone, other = ended(0, 500, 500, 1, "bob"), ended(440, 440, 440, 1, "bob")
    assert released(alone) == [0]
    assert released(alone, other) == [500, 0]
    assert released(alone, ended(439, 439, 439, 1, "bob")) == [0, 0]
    assert released(alone, ended(0, 500, 500, 1, "bob")) == [500, 500]


def test_an_outage_takes_all_waiting_in_it() -> None:
    # Nothing runs from 10 to 1,000, and J fits: an outage. K (5 of 4) never fits.
    made = booked(
        ended(0, 0, 10, 4),
        ended(0, 1_000, 1_010, 1, "bob"),
        ended(20, 1_005, 1_010, 3, "cem"),
        now=2_000,
    )
    assert parts(made)[1:] == [
        {"earlier": 10, "unavailable": 990},
        {"unavailable": 980, "unexplained": 5},
    ]
    assert made.outages.row(0) == (10, 1_000, 990)


def test_an_outage_ends_where_a_job_starts_that_did_not_wait() -> None:
    cancelled = ended(0, 700, 700, 1, "bob") | {"start_time": None, "state": "CANCELLED"}
    made = booked(ended(0, 0, 10, 4), cancelled, ended(1_000, 1_000, 1_010, 1), now=2_000)
    assert made.outages.rows() == [(10, 1_000, 690)]


def test_holds_and_reasons() -> None:
    # J is held until 6 and starts at 9. K's reason says held: evidence of the last stretch only.
    holds = pl.DataFrame({"row": [0], "begin": [2], "end": [6], "kind": ["begin"]})
    made = booked(
        ended(0, 9, 10, 1, "ann"),
        ended(0, 4, 12, 1, "bob", reason="JobHeldUser"),
        holds=holds,
    )
    assert parts(made) == [{"held": 4, "unexplained": 5}, {"held": 2, "unexplained": 2}]
    assert made.attempts["held_by"].to_list() == ["begin", "hold"]


@pytest.mark.parametrize("attempt", [1, 2])
def test_no_reason_removes_an_attempt_from_the_account(attempt: int) -> None:
    # each time bob fills the pool for 10 s, and ann waits 5 s more for no known cause
    reasons = [*ALL_REASONS, "a reason that nobody knows"]
    rows: Rows = []
    for at, reason in enumerate(reasons):
        rows.append(ended(100 * at, 100 * at, 100 * at + 10, 4, "bob"))
        mine = ended(100 * at + 2, 100 * at + 15, 100 * at + 20, 4, "ann", reason=reason)
        rows.append({**mine, "attempt": attempt})
    waits = parts(booked(*rows, now=100 * len(reasons)))[1::2]
    for reason, waited in zip(reasons, waits, strict=True):
        held = reason_of(reason).cause == "held" and attempt == 1
        assert waited == {"earlier": 8, "held" if held else "unexplained": 5}, reason


def test_the_tasks_of_an_array_are_attributed_one_by_one() -> None:
    # 4 tasks of 2 wait on a pool of 4 in which bob runs 2 until 10: one fits and claims.
    tasks = [ended(0, 10 + k, 20, 2, "ann") for k in range(2)]
    tasks += [ended(0, 20 + k, 30, 2, "ann") for k in range(2)]
    got = parts(booked(ended(0, 0, 10, 2, "bob"), *tasks, now=200))
    assert got[1] == {"unexplained": 10}
    assert got[2] == {"own": 10, "unexplained": 1}
    assert got[3] == {"own": 11 + 9}
    assert got[4] == {"own": 11 + 9, "unexplained": 1}


@st.composite
def arrays(draw: st.DrawFn) -> Rows:
    """Crowds in which some records are repeated, as tasks of an array are."""
    made: Rows = []
    for record in draw(crowds(8)):
        for _ in range(draw(sampled([1, 1, 2, 4]))):
            copy = dict(record)
            if copy["start_time"] is not None:
                late = draw(sampled([0, 0, 1, 4]))
                copy["start_time"] += late
                copy["end_time"] += late
            copy["reason"] = draw(sampled([None, None, None, "Dependency"]))
            copy["walltime_s"] = draw(sampled([3, 9, None]))
            made.append(copy)
    return [{**one, "job_id": str(k), "job_number": k} for k, one in enumerate(made, 1)]


LIMITS = [
    (Limit(most=1, per="user"), naive.Limit(lambda _: True, 1, per="user")),
    (Limit(most=3, resource="cpus"), naive.Limit(lambda _: True, 3, "cpus")),
    (
        Limit(most=2, resource="cpus", user=("ann",)),
        naive.Limit(lambda one: one["user"] == "ann", 2, "cpus"),
    ),
    (
        Limit(most=2, size_above=1),
        naive.Limit(lambda one: (one["size"] or 0) > 1, 2),
    ),
    (
        Limit(most=20, resource="cpus", remaining=True, per="user"),
        naive.Limit(lambda _: True, 20, "cpus", per="user", remaining=True),
    ),
]


def _closed(t: int) -> bool:
    return (t // 3_600 + 72) % 168 == CLOSED


WINDOWS = [
    (Window(hours=(CLOSED,)), naive.Window(lambda _: True, _closed)),
    (
        Window(hours=(CLOSED,), walltime_above_s=5),
        naive.Window(lambda one: (one["walltime_s"] or naive.occupancy(one)) > 5, _closed),
    ),
    (
        Window(hours=(CLOSED,), user=("ann",), overlap=True),
        naive.Window(lambda one: one["user"] == "ann", _closed, overlap=True),
    ),
]


_RULES: dict[str, Any] = {
    "limits": (Limit(most=1, per="user"), Limit(most=3, resource="cpus")),
    "windows": (Window(hours=(CLOSED,), walltime_above_s=5),),
}


@pytest.mark.parametrize("rules", [{}, _RULES])
@given(data=st.data())
def test_the_stretches_of_a_traced_attempt_are_its_wait(
    rules: dict[str, Any], data: st.DataObject
) -> None:
    pool = POOL._replace(states_backfill=True, **rules)
    moved = frame(data.draw(crowds() | arrays())).with_columns(pl.col("^.*_time$") + EDGE)
    described = describe(moved, [pool])
    if described.is_empty():
        return
    place = data.draw(st.integers(0, described.height - 1))
    holds, _ = _drawn_holds(data, described)
    options: dict[str, Any] = {"holds": holds, "durations": Durations(2, 4, 8)}
    options |= {"log_begin": EPOCH}
    made = account(described, pool, NOW + EDGE, traced=place, **options)
    plain = account(described, pool, NOW + EDGE, **options)
    assert made.attempts.equals(plain.attempts)
    assert _under_rules(made) == _under_rules(plain)
    row, traced = made.attempts.row(place, named=True), made.traced
    spans = traced.select("begin", "end").rows()
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    lengths = traced.select("cause", s=pl.col("end") - pl.col("begin"))
    for cause in ("held", "unavailable", "rule", "claimed", "kept", "cycle", "unexplained"):
        assert lengths.filter(cause=cause)["s"].sum() == (row[f"cause_{cause}_s"] or 0)
    assert lengths["s"].sum() == pytest.approx(sum(row[column] or 0 for column in COLUMNS))
    assert (traced.filter(cause="rule")["by"].null_count(), row["rule"] is not None) == (
        0,
        "rule" in traced["cause"],
    )


def _under_rules(made: Account) -> list[tuple[Any, ...]]:
    """Return the seconds under rules of each attempt, of whichever stretches they consist."""
    spans = made.barred.filter(~pl.col("held"))
    sums = spans.group_by("job_id", "attempt").agg((pl.col("end") - pl.col("begin")).sum())
    return sorted(sums.rows())


def test_of_equal_attempts_those_that_a_rule_lets_start_are_not_barred() -> None:
    pool = POOL._replace(limits=(Limit(most=1, per="user"),))
    cancelled = ended(0, 5, 5, 1, "ann") | {"start_time": None, "state": "CANCELLED"}
    both = [{**cancelled, "job_id": str(k), "job_number": k} for k in (1, 2)]
    made = booked(ended(0, 0, 0, 1, "bob"), *both, pool=pool)
    assert made.barred.rows() == [("2", 1, 0, 5, False)]


POLICIES = (
    Policy(backfill=Backfill.none),
    Policy(backfill=Backfill.easy),
    Policy(backfill=Backfill.conservative_replan, reservations=3),
    Policy(backfill=Backfill.conservative),
)


def _deep(seed: int, count: int) -> Rows:
    """Records of a queue of which a good part waits at once, and starts in no order."""
    rng = np.random.default_rng(seed)
    arrival = EPOCH + np.sort(rng.integers(0, count, count))
    start = arrival + rng.integers(0, 2 * count, count) * rng.integers(0, 2, count)
    end = start + rng.integers(0, 20, count)
    drawn = zip(
        *(arrival.tolist(), start.tolist(), end.tolist(), rng.integers(1, 5, count).tolist()),
        *(rng.integers(0, 3, count).tolist(), rng.integers(0, 6, count).tolist()),
        rng.random(count).tolist(),
        strict=True,
    )
    records = [
        {
            **ended(arrived, started, over, size, f"u{user}" if user else None, gpus=gpus),
            "walltime_s": None if chance > 0.7 else int(100 * chance),
            "reason": "Dependency" if chance < 0.1 else None,
        }
        for arrived, started, over, size, gpus, user, chance in drawn
    ]
    return [{**one, "job_id": str(k), "job_number": k} for k, one in enumerate(records, 1)]


@given(seed=st.integers(0, 10_000), data=st.data())
def test_a_limit_that_nothing_reaches_changes_nothing(seed: int, data: st.DataObject) -> None:
    # With a rule, all that waits is walked at each instant; without, only what may start.
    policy = data.draw(st.sampled_from([None, *POLICIES]))
    lapse = data.draw(sampled([1, 20, 900]))
    pool = Pool("main", Resource.cpus, 24, amounts=(("gpus", 10),))
    pool = pool._replace(policy=policy or Policy(), states_backfill=policy is not None)
    pool = pool._replace(
        steps=(CapacityStep(EPOCH + 90, (("cpus", 12),)), CapacityStep(EPOCH + 200, ()))
    )
    walked = pool._replace(limits=(Limit(most=10**9),))
    described = describe(frame(_deep(seed, data.draw(sampled([20, 150])))), [pool])
    holds, _ = _drawn_holds(data, described)
    options: dict[str, Any] = {"holds": holds, "durations": Durations(7, 4, lapse)}
    options["traced"] = data.draw(st.integers(0, described.height - 1))
    options |= {"log_begin": EPOCH + 5}
    got, want = (account(described, one, NOW, **options) for one in (pool, walked))
    assert_frame_equal(got.attempts, want.attempts, rel_tol=1e-12, abs_tol=1e-9)
    assert got.outages.equals(want.outages)
    assert got.barred.equals(want.barred)
    assert got.traced.equals(want.traced)


def test_a_traced_attempt_names_what_forbids_it() -> None:
    # ann's second job is under her limit until 8, held until 10, and then in an outage.
    pool = POOL._replace(limits=(Limit(most=1, per="user"),))
    holds = pl.DataFrame({"row": [1], "begin": [8], "end": [12], "kind": ["begin"]})
    made = booked(
        ended(0, 0, 10, 3, "ann"),
        ended(0, 700, 710, 1, "ann"),
        pool=pool,
        now=2_000,
        holds=holds,
        traced=1,
    )
    assert made.traced.rows() == [
        (0, 8, "rule", "limit of 1 running job per user"),
        (8, 10, "held", "begin"),
        (10, 700, "unavailable", "outage"),
    ]


def _drawn_holds(
    data: st.DataObject, described: pl.DataFrame
) -> tuple[pl.DataFrame, dict[tuple[str, int], list[range]]]:
    """Some holds, as the account and its twin take them."""
    taken: list[tuple[int, int, int, str]] = []
    known: dict[tuple[str, int], list[range]] = {}
    for k, row in enumerate(described.to_dicts()):
        if row["arrival_time"] is not None and data.draw(sampled([False, False, False, True])):
            begin = row["arrival_time"] + data.draw(sampled([0, 2]))
            span = (begin, begin + data.draw(sampled([1, 5])))
            taken.append((k, *span, "begin"))
            known[row["job_id"], row["attempt"]] = [range(*span)]
    return pl.DataFrame(taken, NO_HOLDS.schema, orient="row"), known


def both(described: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    made = account(described, pool, now, durations=Durations(1))
    return made.attempts.sort("line")


@given(rows() | crowds() | arrays(), st.sampled_from(POOLS), st.randoms(use_true_random=False))
def test_rows_and_names_and_the_epoch_change_nothing(
    records: Rows, pool: Pool, random: st.DataObject
) -> None:
    described = describe(frame(records), [pool])
    before = both(described, pool, NOW)
    order = list(range(described.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert both(described[order], pool, NOW).equals(before)
    steps = tuple(step._replace(since=step.since + 1_000) for step in pool.steps)
    renamed = pl.col("user").replace({"ann": "zoe", "bob": "abe"})
    later = describe(frame(records).with_columns(pl.col("^.*_time$") + 1_000, renamed), [pool])
    moved = both(later, pool._replace(steps=steps), NOW + 1_000)
    assert moved.select(COLUMNS).equals(before.select(COLUMNS))


# --- what gives way


SPARE = POOL._replace(preemption=(PreemptionRule(qos=("low",), by_qos=("high",)),))


def test_what_gives_way_to_a_job_counts_as_free_for_it() -> None:
    """Of 4 CPUs, 2 each are used by ann and, in the QOS low, by bob. Cem's job in the QOS high
    waits for bob's from 1 to 9 all the same; dot's, in no QOS, waits behind both."""
    records = (
        ended(0, 0, 10, 2, "ann"),
        ended(0, 0, 9, 2, "bob", qos="low"),
        ended(1, 9, 10, 2, "cem", qos="high"),
        ended(1, 10, 12, 2, "dot"),
    )
    made = booked(*records, pool=SPARE)
    assert parts(made)[2:] == [{"unexplained": 8}, {"earlier": 9}]
    assert made.attempts["preemptible_s"].to_list() == [None, None, 8, None]
    plain = booked(*records)
    assert parts(plain)[2] == {"earlier": 8}
    assert plain.attempts["preemptible_s"].null_count() == 4


@given(data=st.data())
def test_what_gives_way_as_defined(data: st.DataObject) -> None:
    """Those to whom others give way are booked as if the others requested and used nothing."""
    records = data.draw(rows() | crowds())
    for record in records:
        record["qos"] = data.draw(sampled([None, "low", "high"]))
    pool = data.draw(st.sampled_from(POOLS))._replace(
        limits=(LIMITS[0][0],), preemption=SPARE.preemption
    )
    described = describe(frame(records), [pool])
    options: dict[str, Any] = {"log_begin": EPOCH, "durations": Durations(0)}
    got = account(described, pool, NOW, **options).attempts
    slow = frame(records).with_columns(size=pool.resource.value).to_dicts()
    limits = [LIMITS[0][1]]
    about: dict[str, Any] = {"begin": EPOCH, "interval": 0, "limits": limits}
    plain, spared = (
        naive.account(
            naive.site_of(slow, *slow_pool(pool), NOW, **about, yields=yields), naive.Depth(0)
        ).attempts
        for yields in (lambda record: False, lambda record: record["qos"] == "low")
    )
    low = [each for each in slow if each["qos"] == "low" and not each.get("reservation")]
    some = bool(low)
    surely = any((each["job_id"], each["attempt"]) in plain for each in low)
    for row in got.to_dicts():
        takes = some and row["qos"] == "high"
        key = row["job_id"], row["attempt"]
        exact = (spared if takes else plain).get(key)
        for cause in CAUSES:
            theirs = None if exact is None else exact.causes[cause.key]
            assert close(row[cause.column], theirs), (key, cause.key, row[cause.column], theirs)
        if row["preemptible_s"] is None:  # also if none that gives way is known well enough
            assert not (takes and surely) or exact is None
        else:
            assert takes
            assert exact is not None
            end = row["start_time"] or row["end_time"] or NOW
            assert 0 <= row["preemptible_s"] <= max(end - row["arrival_time"], 0)


def test_waiting_before_the_log_begins_is_outside() -> None:
    """By hand, 4 CPUs: A (3) runs 0-10; B (4) waits 2-10, C (1) 1-4, D, cancelled, 0-3."""
    records = (
        ended(0, 0, 10, 3, "ann"),
        ended(2, 10, 12, 4, "bob"),
        ended(1, 4, 6, 1, "cem"),
        {**ended(0, 0, 3, 1, "dan"), "start_time": None, "state": "CANCELLED"},
    )
    made = booked(*records, log_begin=5, traced=3)
    assert parts(made) == [{}, {"outside": 3, "earlier": 5}, *[{"outside": 3}] * 2]
    first = made.traced.row(0, named=True)
    assert first == {"begin": 2, "end": 5, "cause": "outside", "by": None}
    assert made.traced["begin"].to_list()[1] == 5
    # a log that begins before all of it has none
    assert parts(booked(*records, log_begin=0)) == parts(booked(*records))
