from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.fidelity import (
    FIDELITY_SCHEMA,
    KEY,
    FidelityRule,
    MaySay,
    edges,
    fidelity,
    of_account,
    of_rules,
    rank_correlation,
)
from audit.metrics.attempts.miss import FSTS
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.population import ended as subjects_of
from audit.metrics.waits.plan import configured
from audit.metrics.waits.walk import Plan, Starts
from audit.model import Backfill, Period, Policy, Pool, Resource
from tests.metrics.attempts.fair_starts import fair_workloads, final, stood_for
from tests.naive import attempts as naive
from tests.strategies import ended, frame

METRICS = [
    "replayed", "start_error_median", "start_error_p90", "wait_correlation", "mean_wait_error",
    "miss_strict_share_beyond_median", "miss_strict_share_beyond_p90",
    "miss_relaxed_share_beyond_median", "miss_relaxed_share_beyond_p90",
]  # fmt: skip


def replay(held: pl.DataFrame, starts: list[int | None]) -> pl.DataFrame:
    return held.select(*KEY, replayed_start_time=pl.Series(starts, dtype=pl.Int64))


def figures(held: pl.DataFrame, starts: list[int | None]) -> dict[str, float | None]:
    rows = fidelity(held, replay(held, starts))
    assert rows.schema == FIDELITY_SCHEMA
    assert rows["metric"].to_list() == METRICS
    return dict(rows.select("metric", "value").iter_rows())


@given(fair_workloads(), st.data())
def test_as_defined(held: pl.DataFrame, data: st.DataObject) -> None:
    later = st.sampled_from([None, None, -3, 0, 0, 1, 5, 40, 100])
    starts = [
        None if arrival is None or (by := data.draw(later)) is None else arrival + max(by, 0)
        for arrival in held["arrival_time"]
    ]
    order = data.draw(st.permutations(range(held.height)))
    got = figures(held, starts)
    again = fidelity(held[order], replay(held, starts))
    assert dict(again.select("metric", "value").iter_rows()) == got
    rows = held.with_columns(again=pl.Series(starts, dtype=pl.Int64))
    both = subjects_of(rows).drop_nulls("again").to_dicts()
    late = [row["again"] - row["start_time"] for row in both]
    assert got["replayed"] == len(both)
    assert naive.close(got["mean_wait_error"], naive.mean(late))
    limits = {"median": Fraction(1, 2), "p90": Fraction(9, 10)}
    for name, q in limits.items():
        if not both:
            assert got[f"start_error_{name}"] is None
            assert got[f"miss_strict_share_beyond_{name}"] is None
            continue
        limit = naive.nearest_rank([abs(one) for one in late], q)
        assert got[f"start_error_{name}"] == limit
        for fst in FSTS:
            missed = [one.miss for one in stood_for(held, fst) if one.counts]
            exact = naive.share_beyond(missed, limit)
            assert naive.close(got[f"miss_{fst}_share_beyond_{name}"], exact)


values = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)


@given(values)
def test_correlation_as_defined(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
    fast = rank_correlation(one, other)
    exact = naive.signed_square_of_spearman(one.tolist(), other.tolist())
    assert naive.close(None if fast is None else fast * abs(fast), exact)
    assert fast is None or -1.0 <= fast <= 1.0


def test_correlation_at_its_ends() -> None:
    long = np.arange(100_000)
    assert rank_correlation(long, long * 3) == 1.0
    assert rank_correlation(long, -long) == -1.0
    assert rank_correlation(long, np.zeros(100_000, np.int64)) is None


def test_by_hand() -> None:
    # Waits 0, 10, 20, 30; in the replay 0, 20, 10, 90: ranks 1 2 3 4 against 1 3 2 4, so
    # Spearman is 1 − 6 · (0 + 1 + 1 + 0) / (4 · 15) = 0.8. Errors 0, 10, 10, 60: median 10, p90 60;
    # on average (10 − 10 + 60)/4 = 15 s later. Misses: strict 0, 4, 20, 0 (10 or more: 20 of 24),
    # relaxed 0, 10, 0, 80 (10 or more: all; 60 or more: 80 of 90).
    held = final(
        [ended(k, k + 10 * k, 200, 1) for k in range(4)],
        [0, 7, 2, 40],
        [0, 1, 22, -47],
    )
    assert figures(held, [0, 21, 12, 93]) == {
        "replayed": 4.0,
        "start_error_median": 10.0,
        "start_error_p90": 60.0,
        "wait_correlation": pytest.approx(0.8, rel=1e-15),
        "mean_wait_error": 15.0,
        "miss_strict_share_beyond_median": 20 / 24,
        "miss_strict_share_beyond_p90": 0.0,
        "miss_relaxed_share_beyond_median": 1.0,
        "miss_relaxed_share_beyond_p90": 80 / 90,
    }


def test_a_perfect_replay_leaves_every_miss() -> None:
    held = final([ended(0, 5, 9, 1), ended(1, 9, 12, 2)], [0, 9])
    got = figures(held, [5, 9])
    assert got["start_error_p90"] == got["mean_wait_error"] == 0.0
    assert got["wait_correlation"] == 1.0
    assert got["miss_strict_share_beyond_p90"] == 1.0


def test_nothing_replayed_and_nothing_missed_have_no_figure() -> None:
    held = final([ended(0, 5, 9, 1), ended(1, 9, 12, 2)], [5, 9])
    for starts in ([None, None], [5, 9]):
        got = figures(held, list(starts))
        assert got["miss_strict_share_beyond_median"] is None
    assert figures(held, [None, None])["replayed"] == 0.0
    assert figures(held[:0], []) == {name: 0.0 if name == "replayed" else None for name in METRICS}


def test_attempts_of_other_periods_may_be_replayed_too() -> None:
    held = final([ended(0, 5, 9, 1), ended(1, 9, 12, 2)], [5, 9])
    assert fidelity(held[:1], replay(held, [6, 99]))["value"][:2].to_list() == [1.0, 1.0]


COMPARED = pl.DataFrame(
    [
        ("fcfs", "easy", False, "fcfs-easy-3", 0.4, 9, 3),
        ("fcfs", "easy", False, "fcfs-easy", 0.5, 9, 3),
        ("sjf", "easy", True, "sjf-easy", 0.7, 9, 9),
        ("lxf", "easy", True, "lxf-easy", None, 9, 9),
    ],
    ["order", "backfill", "own_peak", "policy", "agreement", "instants", "judged"],
    orient="row",
)


def test_rows_about_rules_by_hand() -> None:
    policy = FidelityRule("fcfs", "easy")
    rows = of_rules(COMPARED, FidelityRule("sjf", "easy", True), policy, 0.9)
    assert rows.drop("unit").rows() == [
        ("fcfs", "easy", False, "agreement", 0.4),  # of the same names the first
        ("fcfs", "easy", False, "agreement_compared", 1 / 3),
        ("sjf", "easy", True, "agreement", 0.7),
        ("lxf", "easy", True, "agreement", None),
        ("fcfs", "easy", None, "agreement_nodes", 0.9),
        ("sjf", "easy", True, "rule_used", 1.0),
        ("fcfs", "easy", None, "may_say", 2.0),
    ]
    kept = of_rules(COMPARED[3:], FidelityRule("kept", "none", True), policy, None)
    assert kept.filter(metric="rule_used")["value"].to_list() == [0.0]
    assert kept.filter(metric="may_say")["value"].to_list() == [0.0]


@pytest.mark.parametrize(
    ("best", "say"),
    [
        (0.65, MaySay.POOL_AND_USERS),
        (0.64, MaySay.PROBABLY),
        (0.3, MaySay.PROBABLY),
        (0.29, MaySay.POOL),
        (None, MaySay.POOL),
    ],
)
def test_what_an_agreement_allows_to_say(best: float | None, say: MaySay) -> None:
    assert MaySay.at(best) is say


def at_edges(
    log: Period, period: Period | None = None, *, by_end: bool = True
) -> dict[str, float | None]:
    """Return the rows about the edges of a log in a pool of three jobs.

    One of 6 runs from 0 to 100; one of 2 waits from 50 and runs from 150 to 200; one of 4 waits
    from 100, and runs from 200 to 300.
    """
    jobs = [ended(0, 0, 100, 6), ended(50, 150, 200, 2), ended(100, 200, 300, 4)]
    described = describe(frame(jobs), [Pool("main", Resource.cpus, 10)])
    rows = edges(described, log, period or log, by_end=by_end)
    assert rows.schema == FIDELITY_SCHEMA
    return dict(rows.select("metric", "value").iter_rows())


def test_the_edges_of_a_log_by_hand() -> None:
    got = at_edges(Period("all", 100, 300))
    assert (got["log_begin"], got["log_length"]) == (100, 200)
    # 6 were used just before; 50 s of 2 and 100 s of 4 afterwards, in 200 s
    assert got["begin_use"] == 6 / ((50 * 2 + 100 * 4) / 200)
    # the longest occupancy is 100 s, and nobody waits in the last 100 s
    assert got["end_waiting_share"] == 0.0
    # the last 100 s begin at 150: the second waits no longer, the third for 50 of 200 s
    assert at_edges(Period("all", 100, 250), Period("all", 0, 301))["end_waiting_share"] == 0.25


def test_edges_belong_to_the_periods_that_have_them() -> None:
    log = Period("all", 100, 300)
    first = at_edges(log, Period("first", 0, 250))
    assert first["log_length"] == 150
    assert first["end_waiting_share"] is None  # the log goes on
    last = at_edges(log, Period("last", 250, 400))
    assert last["begin_use"] is None  # the log had begun
    assert last["end_waiting_share"] == 0.0
    assert at_edges(log, by_end=False)["end_waiting_share"] is None


def test_the_plan_and_its_evidence() -> None:
    def rows(plan: Plan, starts: Starts | None, interval_s: int | None) -> dict[str, float | None]:
        return dict(of_account(plan, starts, interval_s).select("metric", "value").iter_rows())

    seen = Starts(9, 8, 7, 6, 5, 4, 3)
    assert rows(Plan(20), seen, 300) == {
        "plan_depth": 20,
        "plan_strict": 0,
        "interval_s": 300,
        "plan_starts": 9,
        "plan_behind": 7,
        "plan_broken": 5,
        "plan_stretches": 4,
        "plan_lapses": 3,
    }
    assert rows(configured(Policy(backfill=Backfill.conservative)), None, None) == {
        "plan_depth": None,
        "plan_strict": 0,
        "interval_s": None,
    }
    assert rows(configured(Policy(backfill=Backfill.none)), None, None)["plan_strict"] == 1
