import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.miss import EVERY_FST, FSTS, in_totals, misses, preference
from audit.metrics.attempts.population import ended as subjects_of
from tests.metrics.attempts.fair_starts import complete, fair_workloads, fairs, final
from tests.naive import attempts as naive
from tests.strategies import ended, frame


@given(fair_workloads(), st.sampled_from([1, 10]))
def test_misses_as_defined(held: pl.DataFrame, tau: int) -> None:
    rows = subjects_of(misses(held, tau)).to_dicts()
    for fst in FSTS:
        for row, one in zip(rows, fairs(held, fst), strict=True):
            assert row[f"miss_{fst}_s"] == (None if one.fst is None else one.miss)
            if fst == "strict":
                exact = None if one.fst is None else one.slowdown(tau)
                assert naive.close(row["fair_slowdown"], exact)


@given(fair_workloads())
def test_totals_hold_what_counts(held: pl.DataFrame) -> None:
    for fst in EVERY_FST:
        exact = fairs(held, fst)
        counts, early = (
            subjects_of(held).select(in_totals(fst), early=preference(fst)).get_columns()
        )
        assert counts.to_list() == [one.counts for one in exact]
        assert early.to_list() == [None if one.fst is None else one.preference for one in exact]
        others = held.filter(pl.col("standing") != "ended")
        assert not others.select(in_totals(fst)).to_series().any()


def test_by_hand() -> None:
    # A arrives at 0 and runs 100-140. Had it started at 60: slowdown (60 + 40 − 0)/40 = 2.5.
    # B starts at its fair start time: both slowdowns are (50 − 10)/20 = 2.
    # C runs 30-35 and should have run 50-55: τ = 10 s, so (55 − 20)/10 = 3.5 against 1.5.
    held = final(
        [ended(0, 100, 140, 1), ended(10, 30, 50, 1), ended(20, 30, 35, 1)],
        [60, 30, 50],
        [90, 40, 30],
    )
    names = ("miss_strict_s", "miss_relaxed_s", "bounded_slowdown", "fair_slowdown")
    assert held.select(names).rows() == [(40, 10, 3.5, 2.5), (0, 0, 2.0, 2.0), (0, 0, 1.5, 3.5)]


def test_suspension_makes_no_fair_slowdown_smaller() -> None:
    # Occupied 0-100, of which 60 s suspended: at τ = 1 s, with a fair start at 0, 100/40.
    held = final([ended(0, 50, 150, 1, suspended_s=60)], [0])
    assert held["fair_slowdown"].to_list() == [2.5]


def test_what_is_not_known_has_no_miss() -> None:
    # Running and pending attempts are no subjects, whatever a caller writes beside them.
    running = {"submit_time": 0, "start_time": 9, "cpus": 1, "state": "RUNNING"}
    pending = {"submit_time": 1, "cpus": 1, "state": "PENDING"}
    held = final([running, pending, ended(2, 3, 4, 1)], [1, 1, None])
    added = held.select("miss_strict_s", "miss_relaxed_s", "fair_slowdown")
    assert added.rows() == [(None, None, None)] * 3


def test_nothing() -> None:
    none = misses(
        complete(frame([])).with_columns(
            pl.lit(None, pl.Int64).alias(name) for name in ("fst_strict", "fst_relaxed")
        )
    )
    assert none.height == 0
    added = ("miss_strict_s", "miss_relaxed_s", "fair_slowdown")
    assert [none.schema[name] for name in added] == [pl.Int64, pl.Int64, pl.Float64]
