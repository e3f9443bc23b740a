"""The account of waits: against the slow twin, by hand, and what must not change it."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.account import NO_HOLDS, Account, account
from audit.metrics.attempts.population import describe
from audit.model import Limit, Pool, Resource, Window
from audit.registry.causes import CAUSES, COLUMNS
from tests.metrics.attempts.test_anatomy import crowds
from tests.naive import account as naive
from tests.naive.attempts import close
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, POOLS, Rows, ended, frame, rows, sampled

POOL = Pool("main", Resource.cpus, 4)
EDGE = 770
"""Times are moved by this, so that an hour begins among them: Sunday 2001-09-09, 02:00 UTC."""
CLOSED = 6 * 24 + 2


def booked(*records: dict[str, Any], pool: Pool = POOL, now: int = 100, **more: Any) -> Account:
    """The account of some records, in their order."""
    more = {"cycle_s": 0, **more}
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
def _arrays(draw: st.DrawFn) -> Rows:
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


_LIMITS = [
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


_WINDOWS = [
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


@pytest.mark.parametrize("rule", range(len(_LIMITS) + len(_WINDOWS) + 1))
@given(data=st.data())
def test_as_defined(rule: int, data: st.DataObject) -> None:
    records = data.draw(rows() | crowds() | _arrays())
    pool = data.draw(st.sampled_from(POOLS))
    limits = _LIMITS[rule : rule + 1]
    windows = _WINDOWS[rule - len(_LIMITS) :][:1] if rule >= len(_LIMITS) else []
    if rule == len(_LIMITS) + len(_WINDOWS):
        limits, windows = _LIMITS[:2], _WINDOWS[1:]
    times = pl.col("^.*_time$") + EDGE
    steps = tuple(step._replace(since=step.since + EDGE) for step in pool.steps)
    pool = pool._replace(
        steps=steps, limits=tuple(a for a, _ in limits), windows=tuple(a for a, _ in windows)
    )
    moved = frame(records).with_columns(times)
    if windows:  # the edges of a window also end the stretch that a reason is evidence of
        moved = moved.with_columns(reason=pl.lit(None, pl.String))
    described = describe(moved, [pool])
    holds, known = _drawn_holds(data, described)
    cycle, outage = data.draw(sampled([0, 2])), data.draw(sampled([4, 600]))
    got = account(described, pool, NOW + EDGE, cycle_s=cycle, holds=holds, outage_s=outage).attempts
    want = naive.account(
        moved.with_columns(size=pool.resource.value).to_dicts(),
        *slow_pool(pool),
        NOW + EDGE,
        limits=[b for _, b in limits],
        windows=[b for _, b in windows],
        holds=known,
        cycle=cycle,
        outage=outage,
    )
    for row in got.to_dicts():
        exact = want.get((row["job_id"], row["attempt"]))
        for cause in CAUSES:
            assert close(row[cause.column], None if exact is None else exact.causes[cause.key])
        if exact is not None:
            assert row["cause_rule_free_s"] == exact.rule_free
            assert (row["rule"] is None) == (not exact.rules)
        if exact is not None and row["wait_s"] is not None:
            assert sum(exact.causes.values(), Fraction()) == row["wait_s"]


@given(data=st.data())
def test_the_stretches_of_a_traced_attempt_are_its_wait(data: st.DataObject) -> None:
    pool = POOL._replace(
        limits=(Limit(most=1, per="user"), Limit(most=3, resource="cpus")),
        windows=(Window(hours=(CLOSED,), walltime_above_s=5),),
    )
    moved = frame(data.draw(crowds() | _arrays())).with_columns(pl.col("^.*_time$") + EDGE)
    described = describe(moved, [pool])
    if described.is_empty():
        return
    place = data.draw(st.integers(0, described.height - 1))
    holds, _ = _drawn_holds(data, described)
    options: dict[str, Any] = {"cycle_s": 2, "holds": holds, "outage_s": 4}
    made = account(described, pool, NOW + EDGE, traced=place, **options)
    plain = account(described, pool, NOW + EDGE, **options)
    assert made.attempts.equals(plain.attempts)
    assert made.barred.select(plain.barred.columns).height >= plain.barred.height
    row, traced = made.attempts.row(place, named=True), made.traced
    spans = traced.select("begin", "end").rows()
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    lengths = traced.select("cause", s=pl.col("end") - pl.col("begin"))
    for cause in ("held", "unavailable", "rule", "claimed", "cycle", "unexplained"):
        assert lengths.filter(cause=cause)["s"].sum() == (row[f"cause_{cause}_s"] or 0)
    assert lengths["s"].sum() == pytest.approx(sum(row[column] or 0 for column in COLUMNS))
    assert (traced.filter(cause="rule")["by"].null_count(), row["rule"] is not None) == (
        0,
        "rule" in traced["cause"],
    )


def test_a_traced_attempt_names_what_forbids_it() -> None:
    # ann's second job is under her limit until 10, held until 12, and then in an outage.
    pool = POOL._replace(limits=(Limit(most=1, per="user"),))
    holds = pl.DataFrame({"row": [1], "begin": [10], "end": [12], "kind": ["begin"]})
    made = booked(
        ended(0, 0, 10, 3, "ann"),
        ended(0, 700, 710, 1, "ann"),
        pool=pool,
        now=2_000,
        holds=holds,
        traced=1,
    )
    assert made.traced.rows() == [
        (0, 10, "rule", "limit of 1 running job per user"),
        (10, 12, "held", "begin"),
        (12, 700, "unavailable", "outage"),
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


@given(rows() | crowds() | _arrays(), st.sampled_from(POOLS), st.randoms(use_true_random=False))
def test_rows_and_names_change_nothing(records: Rows, pool: Pool, random: st.DataObject) -> None:
    described = describe(frame(records), [pool])
    before = account(described, pool, NOW, cycle_s=1).attempts.sort("line")
    order = list(range(described.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert account(described[order], pool, NOW, cycle_s=1).attempts.sort("line").equals(before)
    renamed = frame(records).with_columns(pl.col("user").replace({"ann": "zoe", "bob": "abe"}))
    again = account(describe(renamed, [pool]), pool, NOW, cycle_s=1).attempts.sort("line")
    assert again.select(COLUMNS).equals(before.select(COLUMNS))


def test_none_at_all() -> None:
    made = account(describe(frame([]), [POOL]), POOL, EPOCH, cycle_s=0)
    assert set(COLUMNS) <= set(made.attempts.columns)
    assert made.outages.is_empty()
