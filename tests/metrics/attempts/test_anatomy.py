"""Waits taken apart: by hand, against the slow twin, and what must not change them."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.account import anatomy
from audit.metrics.attempts.population import describe
from audit.model import Decision, Limit, Pool, Resource, Step
from audit.registry.causes import PART_COLUMNS, PARTS
from tests.naive import anatomy as naive
from tests.naive.attempts import close
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, POOLS, Rows, ended, frame, rows, sampled

POOL = Pool("main", Resource.cpus, 4)


def parts(*records: dict[str, Any], pool: Pool = POOL, now: int = 100) -> list[list[Any]]:
    """Of each record, in their order: room, shared, own, earlier, later, down."""
    got = anatomy(describe(frame(list(records)), [pool]), pool, now).sort("line")
    return [list(row) for row in got.select(PART_COLUMNS).rows()]


def as_defined(records: Rows, pool: Pool) -> None:
    described = describe(frame(records), [pool])
    got = anatomy(described, pool, NOW)
    want = naive.anatomy(frame(records).to_dicts(), *slow_pool(pool), NOW)
    for row in got.to_dicts():
        exact = want.get((row["job_id"], row["attempt"]))
        for part in PARTS:
            assert close(row[part.column], None if exact is None else exact[part.key])
        if exact is not None and row["wait_s"] is not None:
            assert close(sum(row[name] for name in PART_COLUMNS), row["wait_s"])


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


@given(rows() | crowds(), st.sampled_from(POOLS))
def test_as_defined(records: Rows, pool: Pool) -> None:
    as_defined(records, pool)


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
    want = naive.kept(frame(records).to_dicts(), *slow_pool(pool), NOW, ready)
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
    got = parts(
        ended(0, 0, 10, 3, "ann"),
        ended(0, 0, 20, 1, "bob"),
        ended(2, 16, 18, 2, "ann"),
        ended(5, 12, 16, 3, "cem"),
    )
    assert got[0] == [0, 0, 0, 0, 0, 0]
    assert got[2] == [2, 0, 6, 3, 3, 0]
    assert got[3] == [0, 2, 0, 5, 0, 0]


def test_down_and_steps_by_hand() -> None:
    # 4 until 5, 1 until 9, then 4. J (2) waits 2-12; nobody runs but B (3) from 9 to 11.
    pool = POOL._replace(steps=(Step(5, (("cpus", 1),)), Step(9, (("cpus", 4),))))
    got = parts(ended(2, 12, 13, 2, "ann"), ended(9, 9, 11, 3, "bob"), pool=pool)
    assert got[0] == [4, 0, 0, 0, 2, 4]


def test_the_short_resource_is_that_which_lacks_most() -> None:
    # cpus 8, gpus 2. A (ann) holds 6 cpus, B (bob) 2 gpus. J asks for 4 cpus and 1 gpu: it lacks
    # 2/8 of the cpus and 1/2 of the gpus, so the wait is B's. K asks for 8 and 1: 6/8 against 1/2.
    pool = Pool("main", Resource.cpus, 8, amounts=(("cpus", 8), ("gpus", 2)))
    got = parts(
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
        got = parts(*records, pool=Pool("main", Resource.cpus, 8, amounts=amounts))
        assert got[3] == [0, 0, 9, 0, 0, 0]
        assert got[4] == (own if amounts.index(gpus) < amounts.index(memory) else others)


def test_who_comes_after_the_last_in_the_queue_has_left() -> None:
    # Bob's runs on 3 of 4 from 0 to 10. Cem's (4) comes at 1 and is cancelled at 3, when nobody
    # waits behind it; Ann's (2) comes at 4, after bob's all the same.
    gone = {"submit_time": 1, "end_time": 3, "cpus": 4, "state": "CANCELLED", "user": "cem"}
    got = parts(ended(0, 0, 10, 3, "bob"), gone, ended(4, 10, 12, 2, "ann"))
    assert got[1:] == [[0, 0, 0, 2, 0, 0], [0, 0, 0, 6, 0, 0]]


def test_what_is_its_own_when_others_of_its_user_have_left_the_queue() -> None:
    # Dan's takes all until 6. Of Ann's, which ask for all too, the third (from the midst of the
    # queue) and the last are cancelled at 5; the others run from 6, 8 and 9 on.
    asks: dict[str, Any] = {"cpus": 4, "user": "ann"}
    gone = {**asks, "end_time": 5, "state": "CANCELLED"}
    got = parts(
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
    assert parts(gone, waits, ended(2, 9, 9, 3), now=8) == [
        [6, 0, 0, 0, 0, 0],
        [2, 5, 0, 0, 0, 0],
        [1, 6, 0, 0, 0, 0],  # from 8 on, when the log was taken, P is known no more
    ]


def test_blocked_and_reserved_ones_do_not_wait_but_the_blocked_use_the_pool() -> None:
    # B was held until 5 and runs 5-8 on 3 of 4; R runs 6-9 in a reservation, which takes 2.
    # J (2) waits 1-9. 1-5: room. 5-6: 1 is free, 6-8: −1 is, and all that is in use is B's, who
    # arrived before. 8-9: 2 are free.
    got = parts(
        ended(0, 5, 8, 3, "bob", reason="JobHeldUser"),
        ended(0, 6, 9, 2, "cem", reservation="course"),
        ended(1, 9, 10, 2),
    )
    assert got[:2] == [[None] * 6, [None] * 6]
    assert got[2] == [5, 0, 0, 3, 0, 0]


def test_who_was_held_by_a_limit_that_the_pool_has_waits() -> None:
    # B (2) waits 0-6, held by a limit; A has 3 of 4 until 4. Nobody else was before it.
    records = (ended(0, 0, 4, 3), ended(0, 6, 8, 2, "bob", reason="AssocMaxJobsLimit"))
    assert parts(*records)[1] == [None] * 6
    for limit, is_covered in (
        (Limit(most=1, per="user"), True),
        (Limit(most=2, resource="cpus"), False),
    ):
        pool = POOL._replace(limits=(limit,))
        assert parts(*records, pool=pool)[1] == ([2, 0, 0, 4, 0, 0] if is_covered else [None] * 6)


def test_nothing_known_of_a_request_always_fits() -> None:
    unknown = {**ended(1, 5, 6, 0), "cpus": None}
    assert parts(ended(0, 0, 10, 5), unknown)[1] == [4, 0, 0, 0, 0, 0]


def test_of_an_unknown_user_nothing_is_its_own() -> None:
    assert parts(ended(0, 0, 4, 4, None), ended(1, 4, 5, 1, None))[1] == [0, 0, 0, 3, 0, 0]


def test_unknown_arrivals_and_starts_have_no_parts() -> None:
    undated = {"start_time": 3, "end_time": 9, "cpus": 4, "state": "COMPLETED"}
    lost = {"submit_time": 0, "occupancy_s": 5, "cpus": 4, "state": "COMPLETED"}
    got = parts(undated, lost, ended(1, 9, 10, 1))
    assert got[:2] == [[None] * 6, [None] * 6]
    assert got[2] == [2, 0, 0, 0, 6, 0]  # it counts as arriving when it started


def test_a_long_queue_moves_up() -> None:
    # One runs at a time, 2 s each, and one arrives each second: the queue is ever longer.
    count = 40
    records = [ended(k, 2 * k, 2 * k + 2, 4, f"u{k % 3}") for k in range(count)]
    got = parts(*records)
    for k, of_k in enumerate(got):
        own = sum(1 for t in range(k, 2 * k) if (t // 2) % 3 == k % 3)
        assert of_k == [0, 0, own, k - own, 0, 0]


@given(rows() | crowds(), st.sampled_from(POOLS), st.randoms(use_true_random=False))
def test_rows_and_names_and_the_epoch_change_nothing(
    records: Rows, pool: Pool, random: st.DataObject
) -> None:
    described = describe(frame(records), [pool])
    before = anatomy(described, pool, NOW).sort("line")
    order = list(range(described.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert anatomy(described[order], pool, NOW).sort("line").equals(before)
    steps = tuple(step._replace(since=step.since + 1_000) for step in pool.steps)
    renamed = pl.col("user").replace({"ann": "zoe", "bob": "abe"})
    later = describe(frame(records).with_columns(pl.col("^.*_time$") + 1_000, renamed), [pool])
    moved = anatomy(later, pool._replace(steps=steps), NOW + 1_000).sort("line")
    assert moved.select(PART_COLUMNS).equals(before.select(PART_COLUMNS))


def test_none_at_all() -> None:
    assert anatomy(describe(frame([]), [POOL]), POOL, EPOCH).columns[-6:] == list(PART_COLUMNS)


@pytest.mark.parametrize("pool", POOLS)
def test_one_that_waits_alone_has_all_the_room(pool: Pool) -> None:
    assert parts(ended(0, 7, 9, 1), pool=pool) == [[7, 0, 0, 0, 0, 0]]
