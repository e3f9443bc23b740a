"""The account and anatomy of waits: against their slow twins, by hand, and invariances."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.metrics.attempts.account import NO_HOLDS, Account, Durations, account, anatomy
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.reasons import reason_of
from audit.model import Decision, Limit, Pool, Preemption, Resource, Step, Window
from audit.policies import Backfill, Policy
from audit.registry.causes import CAUSES, COLUMNS, PART_COLUMNS, PARTS
from tests.naive import account as naive
from tests.naive.anatomy import anatomy as slow_anatomy
from tests.naive.anatomy import kept as slow_kept
from tests.naive.attempts import close
from tests.registry.test_reasons import ALL_REASONS
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, POOLS, Rows, ended, frame, rows, sampled

pytestmark = pytest.mark.usefixtures("either_sweep")

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


def test_a_limit_holds_what_would_have_fitted() -> None:
    # One job per user: ann's second waits 0-10 while her first runs; 1 CPU is free meanwhile.
    pool = POOL._replace(limits=(Limit(most=1, per="user"),))
    made = booked(ended(0, 0, 10, 3, "ann"), ended(0, 12, 20, 1, "ann"), pool=pool)
    assert parts(made)[1] == {"rule": 10, "unexplained": 2}
    row = made.attempts.row(1, named=True)
    assert row["rule"] == "limit of 1 running job per user"
    assert row["cause_rule_free_s"] == 10


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


def test_the_tasks_of_an_array_are_booked_one_by_one() -> None:
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
    pool = POOL._replace(**rules)
    moved = frame(data.draw(crowds() | arrays())).with_columns(pl.col("^.*_time$") + EDGE)
    described = describe(moved, [pool])
    if described.is_empty():
        return
    place = data.draw(st.integers(0, described.height - 1))
    holds, _ = _drawn_holds(data, described)
    options: dict[str, Any] = {"holds": holds, "durations": Durations(2, 4, 8)}
    options |= {"log_begin": EPOCH, "backfill": True}
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
    pool = pool._replace(policy=policy or Policy())
    pool = pool._replace(steps=(Step(EPOCH + 90, (("cpus", 12),)), Step(EPOCH + 200, ())))
    walked = pool._replace(limits=(Limit(most=10**9),))
    described = describe(frame(_deep(seed, data.draw(sampled([20, 150])))), [pool])
    holds, _ = _drawn_holds(data, described)
    options: dict[str, Any] = {"holds": holds, "durations": Durations(7, 4, lapse)}
    options["traced"] = data.draw(st.integers(0, described.height - 1))
    options |= {"log_begin": EPOCH + 5, "backfill": policy is not None}
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
    made = account(anatomy(described, pool, now), pool, now, durations=Durations(1))
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
    columns = [*COLUMNS, *PART_COLUMNS]
    assert moved.select(columns).equals(before.select(columns))


def test_none_at_all() -> None:
    made = account(anatomy(describe(frame([]), [POOL]), POOL, EPOCH), POOL, EPOCH)
    assert {*COLUMNS, *PART_COLUMNS} <= set(made.attempts.columns)
    assert made.outages.is_empty()


def anatomy_of(*records: dict[str, Any], pool: Pool = POOL, now: int = 100) -> list[list[Any]]:
    """Of each record, in their order: room, shared, own, earlier, later, down."""
    got = anatomy(describe(frame(list(records)), [pool]), pool, now).sort("line")
    return [list(row) for row in got.select(PART_COLUMNS).rows()]


@given(rows() | crowds(), st.sampled_from(POOLS))
def test_anatomy_as_defined(records: Rows, pool: Pool) -> None:
    described = describe(frame(records), [pool])
    got = anatomy(described, pool, NOW)
    want = slow_anatomy(frame(records).to_dicts(), *slow_pool(pool), NOW)
    for row in got.to_dicts():
        exact = want.get((row["job_id"], row["attempt"]))
        for part in PARTS:
            assert close(row[part.column], None if exact is None else exact[part.key])
        if exact is not None and row["wait_s"] is not None:
            assert close(sum(row[name] for name in PART_COLUMNS), row["wait_s"])


@given(rows() | crowds(), st.sampled_from(POOLS), st.data())
def test_room_before_and_after_a_decision(records: Rows, pool: Pool, data: st.DataObject) -> None:
    described = describe(frame(records), [pool])
    decisions = st.sampled_from([None, *Decision])
    offset = st.sampled_from([None, 0, 1, 3, 9])
    decided = described.with_columns(
        ready_time=pl.col("arrival_time")
        + pl.Series([data.draw(offset) for _ in records], dtype=pl.Int64),
        decision=pl.Series([data.draw(decisions) for _ in records], dtype=pl.String),
        idle_because=pl.lit("unexplained"),
    )
    got = anatomy(decided, pool, NOW)
    assert got.select(PART_COLUMNS).equals(anatomy(described, pool, NOW).select(PART_COLUMNS))
    ready = {
        (row["job_id"], row["attempt"]): row["ready_time"]
        for row in decided.to_dicts()
        if row["ready_time"] is not None
    }
    want = slow_kept(frame(records).to_dicts(), *slow_pool(pool), NOW, ready)
    for row in got.to_dicts():
        kept = want.get((row["job_id"], row["attempt"]))
        if kept is None or row["decision"] in (None, Decision.OVER_CAPACITY):
            assert row["kept_s"] is row["idle_s"] is row["idle_because"] is None
        else:
            assert (row["kept_s"], row["idle_s"]) == (kept, row["wait_room_s"] - kept)
            assert row["idle_because"] == ("unexplained" if row["idle_s"] else None)


def test_each_part_by_hand() -> None:
    # A pool of 4. A (ann, 3) runs 0-10, B (bob, 1) 0-20. J (ann, 2) waits from 2 to 16.
    #   2-10: 4 in use, 3 of them ann's: own 3/4, earlier 1/4 of 8 s.
    #   10-12: 3 are free: room. 12-16: C (cem, 3) arrived at 5 and runs: later 3/4, earlier 1/4.
    # C waits 5-12. 5-10: all is in use by A and B: earlier. 10-12: J takes 2 of 3: shared.
    got = anatomy_of(
        ended(0, 0, 10, 3, "ann"),
        ended(0, 0, 20, 1, "bob"),
        ended(2, 16, 18, 2, "ann"),
        ended(5, 12, 16, 3, "cem"),
    )
    assert got[0] == [0, 0, 0, 0, 0, 0]
    assert got[2] == [2, 0, 6, 3, 3, 0]
    assert got[3] == [0, 2, 0, 5, 0, 0]


def test_down_and_steps_by_hand() -> None:
    # 4 until 5, 1 until 9, then 4. J (2) waits 2-12; only B runs (3) from 9 to 11.
    pool = POOL._replace(steps=(Step(5, (("cpus", 1),)), Step(9, (("cpus", 4),))))
    got = anatomy_of(ended(2, 12, 13, 2, "ann"), ended(9, 9, 11, 3, "bob"), pool=pool)
    assert got[0] == [4, 0, 0, 0, 2, 4]


def test_the_short_resource_is_that_which_lacks_most() -> None:
    # cpus 8, gpus 2. A (ann) holds 6 cpus, B (bob) 2 gpus. J asks for 4 cpus and 1 gpu: it lacks
    # 2/8 of the cpus and 1/2 of the gpus, so the wait is B's. K asks for 8 and 1: 6/8 against 1/2.
    pool = Pool("main", Resource.cpus, 8, amounts=(("cpus", 8), ("gpus", 2)))
    got = anatomy_of(
        ended(0, 0, 10, 6, "ann", gpus=0),
        ended(1, 1, 10, 0, "bob", gpus=2),
        ended(2, 10, 11, 4, "ann", gpus=1),
        ended(2, 11, 12, 8, "ann", gpus=1),
        pool=pool,
    )
    assert got[2] == [0, 0, 0, 8, 0, 0]
    assert got[3] == [0, 0, 8 + 1, 0, 0, 0]  # at last J is in its way


def test_of_two_that_lack_as_much_the_counted_one_is_short_then_the_first_named() -> None:
    # A (ann) holds 6 of 8 cpus, B (bob) both gpus and C (cem) all memory. J asks for 6 cpus and 1
    # gpu: it lacks 4/8 and 1/2. K (3 cpus fewer) lacks no cpus, but 1/2 of the gpus and of memory.
    memory, gpus, cpus = ("mem_bytes", 2), ("gpus", 2), ("cpus", 8)
    records = [
        ended(0, 0, 10, 6, "ann", gpus=0, mem_bytes=0),
        ended(0, 0, 10, 0, "bob", gpus=2, mem_bytes=0),
        ended(0, 0, 10, 0, "cem", gpus=0, mem_bytes=2),
        ended(1, 10, 11, 6, "ann", gpus=1, mem_bytes=0),
        ended(2, 10, 11, 2, "bob", gpus=1, mem_bytes=1),
    ]
    own, others = [0, 0, 8, 0, 0, 0], [0, 0, 0, 8, 0, 0]
    for amounts in ((cpus, gpus, memory), (gpus, memory, cpus), (memory, gpus, cpus)):
        got = anatomy_of(*records, pool=Pool("main", Resource.cpus, 8, amounts=amounts))
        assert got[3] == [0, 0, 9, 0, 0, 0]
        assert got[4] == (own if amounts.index(gpus) < amounts.index(memory) else others)


def test_who_comes_after_the_last_in_the_queue_has_left() -> None:
    # Bob's runs on 3 of 4 from 0 to 10. Cem's (4) comes at 1 and is cancelled at 3, when none
    # waits behind it; Ann's (2) comes at 4, after bob's all the same.
    gone = {"submit_time": 1, "end_time": 3, "cpus": 4, "state": "CANCELLED", "user": "cem"}
    got = anatomy_of(ended(0, 0, 10, 3, "bob"), gone, ended(4, 10, 12, 2, "ann"))
    assert got[1:] == [[0, 0, 0, 2, 0, 0], [0, 0, 0, 6, 0, 0]]


def test_what_is_its_own_when_others_of_its_user_have_left_the_queue() -> None:
    # Dan's takes all until 6. Of Ann's, which ask for all too, the third (from the midst of the
    # queue) and the last are cancelled at 5; the others run from 6, 8 and 9 on.
    asks: dict[str, Any] = {"cpus": 4, "user": "ann"}
    gone = {**asks, "end_time": 5, "state": "CANCELLED"}
    got = anatomy_of(
        ended(0, 0, 6, 4, "dan"),
        ended(1, 6, 8, 4, "ann"),
        ended(2, 8, 9, 4, "ann"),
        {**gone, "submit_time": 3},
        ended(4, 9, 10, 4, "ann"),
        {**gone, "submit_time": 4},
    )
    assert got[1:3] == [[0, 0, 0, 5, 0, 0], [0, 0, 2, 4, 0, 0]]
    assert got[3:] == [[0, 0, 0, 2, 0, 0], [0, 0, 3, 2, 0, 0], [0, 0, 0, 1, 0, 0]]


def test_who_never_started_and_who_still_waits_are_before_others() -> None:
    # N (4) waits from 0 until it is cancelled at 6, P (2) from 1 on; J (3) waits 2-9, nothing runs.
    gone = {"submit_time": 0, "end_time": 6, "cpus": 4, "state": "CANCELLED"}
    waits = {"submit_time": 1, "cpus": 2, "state": "PENDING"}
    assert anatomy_of(gone, waits, ended(2, 9, 9, 3), now=8) == [
        [6, 0, 0, 0, 0, 0],
        [2, 5, 0, 0, 0, 0],
        [1, 6, 0, 0, 0, 0],  # from 8 on P is unknown
    ]


def test_blocked_and_reserved_ones_do_not_wait_but_the_blocked_use_the_pool() -> None:
    # B was held until 5 and runs 5-8 on 3 of 4; R runs 6-9 in a reservation, which takes 2.
    # J (2) waits 1-9. 1-5: room. 5-6: 1 is free, 6-8: −1 is, and all that is in use is B's, who
    # arrived before. 8-9: 2 are free.
    got = anatomy_of(
        ended(0, 5, 8, 3, "bob", reason="JobHeldUser"),
        ended(0, 6, 9, 2, "cem", reservation="course"),
        ended(1, 9, 10, 2),
    )
    assert got[:2] == [[None] * 6, [None] * 6]
    assert got[2] == [5, 0, 0, 3, 0, 0]


def test_who_was_held_by_a_limit_that_the_pool_has_waits() -> None:
    # B (2) waits 0-6, held by a limit; A has 3 of 4 until 4. No other was before it.
    records = (ended(0, 0, 4, 3), ended(0, 6, 8, 2, "bob", reason="AssocMaxJobsLimit"))
    limits = [(), (Limit(most=1, per="user"),), (Limit(most=2, resource="cpus"),)]
    got = [anatomy_of(*records, pool=POOL._replace(limits=some))[1] for some in limits]
    assert got == [[None] * 6, [2, 0, 0, 4, 0, 0], [None] * 6]


def test_unknown_requests_users_arrivals_and_starts() -> None:
    unknown = {**ended(1, 5, 6, 0), "cpus": None}  # it always fits
    assert anatomy_of(ended(0, 0, 10, 5), unknown)[1] == [4, 0, 0, 0, 0, 0]
    nameless = (ended(0, 0, 4, 4, None), ended(1, 4, 5, 1, None))  # not of the same user
    assert anatomy_of(*nameless)[1] == [0, 0, 0, 3, 0, 0]
    undated = {"start_time": 3, "end_time": 9, "cpus": 4, "state": "COMPLETED"}
    lost = {"submit_time": 0, "occupancy_s": 5, "cpus": 4, "state": "COMPLETED"}
    got = anatomy_of(undated, lost, ended(1, 9, 10, 1))
    assert got[:2] == [[None] * 6, [None] * 6]
    assert got[2] == [2, 0, 0, 0, 6, 0]  # undated counts as arriving when it started


def test_a_long_queue_moves_up() -> None:
    # One runs at a time, 2 s each, and one arrives each second: the queue is ever longer.
    count = 40
    records = [ended(k, 2 * k, 2 * k + 2, 4, f"u{k % 3}") for k in range(count)]
    got = anatomy_of(*records)
    for k, of_k in enumerate(got):
        own = sum(1 for t in range(k, 2 * k) if (t // 2) % 3 == k % 3)
        assert of_k == [0, 0, own, k - own, 0, 0]


# --- what gives way


SPARE = POOL._replace(preemption=(Preemption(qos=("low",), by_qos=("high",)),))


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
