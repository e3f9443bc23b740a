"""Figures about fair start times; those about waits and shares are in ``test_summary``."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.account import account
from audit.metrics.attempts.miss import EVERY_FST
from audit.metrics.attempts.parts import EVERY, Cut, Evaluated, Ratio, coded
from audit.metrics.attempts.performance import overtakes
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.summary import SummaryOptions, summarise
from audit.metrics.uncertainty import Resamples
from audit.model import Period, Pool, Resource
from tests.examples import examples
from tests.metrics.attempts.booked import booked
from tests.metrics.attempts.fair_starts import (
    POOL,
    complete,
    fair_workloads,
    fairs,
    final,
    stood_for,
    with_starts,
)
from tests.naive import attempts as naive
from tests.naive import intervals as naive_intervals
from tests.strategies import EPOCH, NOW, ended, frame

UTC = ZoneInfo("UTC")
Key = tuple[str, str, str | None]


def rows_of(held: pl.DataFrame, tolerance_s: int = 60, resamples: int = 20) -> pl.DataFrame:
    options = SummaryOptions(resamples=resamples, tolerance_s=tolerance_s)
    return summarise(held, POOL, Period("all", EPOCH, NOW), NOW, UTC, 1, options)


def values(rows: pl.DataFrame) -> dict[Key, float | None]:
    keyed = rows.select("metric", "dimension", "dimension_value", "value")
    return {(metric, *part): value for metric, *part, value in keyed.iter_rows()}


PLACES = ("partition", "qos", "gpu_type")


def parts(one: naive.Fair, place: Sequence[str | None]) -> list[tuple[str, str | None]]:
    arrival = one.attempt.arrival
    assert arrival is not None
    return [
        ("all", None),
        ("width_class", naive.width_class(one.attempt.size)),
        ("user", one.attempt.user),
        ("account", one.attempt.account),
        *zip(PLACES, place, strict=True),
        # 1970-01-01 was a Thursday: 72 hours after a Monday.
        ("hour_of_week", str((arrival // 3600 + 72) % 168)),
    ]


@given(fair_workloads(), st.sampled_from([0, 60, 61]))
@settings(max_examples=examples(15))
def test_figures_are_those_of_the_definitions(described: pl.DataFrame, tolerance: int) -> None:
    names = {
        "partition": [None, "long", "short"],
        "qos": ["high", None],
        "gpu_types": [None, "a100:1", "a100:2", "a100:1,h100:4", None],
        "gpu_type": [None, "a100", "a100", "a100+h100", None],
    }
    held = described.with_columns(
        pl.Series(name, [some[k % len(some)] for k in described["job_number"]], pl.String)
        for name, some in names.items()
    )
    subjects = held.filter(pl.col("standing") == "ended").select("fst_weight", *PLACES).rows()
    places = [place for weight, *place in subjects for _ in range(weight or 1)]
    once = [place for _, *place in subjects]
    typed = any(place[2] for place in places)
    held = held.drop("gpu_type")
    rows = rows_of(held, tolerance)
    got = values(rows)
    expected: dict[Key, Any] = {}
    for fst in EVERY_FST:
        sorted_out: dict[tuple[str, str | None], list[naive.Fair]] = {("all", None): []}
        of_each = once if fst == "delivered" else places
        for one, place in zip(stood_for(held, fst), of_each, strict=True):
            for part in parts(one, place) if one.counts else []:
                if part[0] == "gpu_type" and not typed:
                    continue
                sorted_out.setdefault(part, []).append(one)
        for part, theirs in sorted_out.items():
            figures = naive.unfairness(theirs, fst, tolerance)
            if fst == "delivered":
                figures |= naive.delayed(theirs)
            if fst == "delivered" and part[0] in ("all", "width_class", *PLACES):
                slowdowns = [
                    (naive.bounded_slowdown(one.attempt), one.slowdown()) for one in theirs
                ]
                figures["fair_slowdown_mean"] = naive.mean([fair for _, fair in slowdowns])
                figures["over_fair_slowdown_share"] = naive.mean([int(a > b) for a, b in slowdowns])
            expected |= {(metric, *part): value for metric, value in figures.items()}
    measured = {key: value for key, value in got.items() if _about_fair_starts(key[0])}
    assert set(measured) == set(expected)
    for key, exact in expected.items():
        assert naive.close(measured[key], exact), key
    statuses = [one.status for one in fairs(held, "strict")]
    counted = {key[2]: n for key, n in got.items() if key[1] == "fst_status"}
    assert counted == {status: statuses.count(status) for status in set(statuses)}


def _about_fair_starts(metric: str) -> bool:
    stems = ("miss_", "missed_", "prefer", "fair_slowdown", "over_fair")
    return metric.startswith(stems)


@pytest.mark.thorough
@given(fair_workloads(16))
@settings(max_examples=examples(15))
def test_other_figures_are_what_they_were_without(held: pl.DataFrame) -> None:
    rows = rows_of(held)
    about = rows["metric"].map_elements(_about_fair_starts, return_dtype=pl.Boolean)
    others = rows.filter(~about, pl.col("dimension") != "fst_status")
    plain = held.select(pl.exclude("^(fst|miss)_.*$", "fair_slowdown"))
    assert rows_of(plain).equals(others)
    assert rows.select((pl.col("lower") <= pl.col("upper")).all()).item()
    assert rows.select("metric", "dimension", "dimension_value").is_unique().all()


def test_by_hand() -> None:
    # Misses 100, 0, 60 and 0 s, of which the third is within the tolerance; the second and the
    # fourth started 70 and 10 s before their fair start times. (0 + 60 + 100)/4 = 40.
    # Bounded slowdowns, all occupying 100 s: (100 + 100)/100 = 2 for A, fair 1; B 1, fair 1.7;
    # C 1.6, fair 1; D 1, fair 1.1.
    held = final(
        [
            ended(EPOCH, EPOCH + 100, EPOCH + 200, 1, "ann"),
            ended(EPOCH + 1, EPOCH + 1, EPOCH + 101, 2, "bob"),
            ended(EPOCH + 2, EPOCH + 62, EPOCH + 162, 1, "ann"),
            ended(EPOCH + 3, EPOCH + 3, EPOCH + 103, 1, "cem"),
        ],
        [EPOCH, EPOCH + 71, EPOCH + 2, EPOCH + 13],
    )
    got = values(rows_of(held))
    assert {key[0]: got[key] for key in got if key[1] == "all" and _about_fair_starts(key[0])} == {
        "miss_strict_mean": 40.0,
        "missed_strict_share": 0.25,
        "missed_strict_mean": 100.0,
        "preferred_strict_share": 0.25,
        "preference_strict_mean": 20.0,
        "miss_relaxed_mean": 40.0,
        "missed_relaxed_share": 0.25,
        "missed_relaxed_mean": 100.0,
        "preferred_relaxed_share": 0.25,
        "preference_relaxed_mean": 20.0,
        "miss_delivered_share": 1.0,
        "miss_cautious_share": 1.0,
        "miss_delivered_mean": 40.0,
        "missed_delivered_share": 0.25,
        "missed_delivered_mean": 100.0,
        "preferred_delivered_share": 0.25,
        "preference_delivered_mean": 20.0,
        "fair_slowdown_mean": pytest.approx(4.8 / 4, rel=1e-15),
        "over_fair_slowdown_share": 0.5,
    }
    assert got["miss_strict_mean", "user", "ann"] == 80.0
    assert got["missed_strict_mean", "user", "bob"] is None
    assert got["fst_attempts", "fst_status", "final"] == 4.0


def test_what_is_over_capacity_is_counted_and_no_more() -> None:
    attempts = frame([ended(EPOCH, EPOCH + 100, EPOCH + 101, 1, user) for user in ("ann", "bob")])
    starts: list[int | None] = [EPOCH, EPOCH + 90]
    held = with_starts(complete(attempts), starts, starts, ["over_capacity", "provisional"])
    rows = rows_of(held)
    got = values(rows)
    assert got["miss_strict_mean", "all", None] == 10.0
    assert ("miss_strict_mean", "user", "ann") not in got
    assert got["fst_attempts", "fst_status", "over_capacity"] == 1.0
    whole = rows.filter(metric="miss_strict_mean", dimension="all")
    assert whole["attempts"].to_list() == [1]


def test_nothing_to_miss_says_so() -> None:
    held = final([ended(EPOCH, EPOCH, EPOCH + 1, 1)], [None])
    got = values(rows_of(held))
    assert got["miss_relaxed_mean", "all", None] is None
    assert got["fair_slowdown_mean", "all", None] is None
    assert not any(key[1] == "fst_status" for key in got)


def test_intervals_move_a_users_attempts_together() -> None:
    # ann misses 10 s three times, bob 70 s once, cem nothing: resampled as whole users.
    records = [
        ended(EPOCH, EPOCH + 70, EPOCH + 80, 1, user) for user in ["ann"] * 3 + ["bob", "cem"]
    ]
    held = final(records, [EPOCH + 60] * 3 + [EPOCH, EPOCH + 70])
    whole = rows_of(held, resamples=1000).filter(dimension="all")
    drawn = np.random.Generator(np.random.PCG64(1)).integers(0, 3, size=(1000, 3))
    sums, numbers = np.array([30, 70, 0])[drawn].sum(1), np.array([3, 1, 1])[drawn].sum(1)
    means = sorted((sums / numbers).tolist())
    (row,) = whole.filter(metric="miss_strict_mean").to_dicts()
    assert (row["lower"], row["upper"]) == pytest.approx((means[24], means[974]), rel=1e-15)
    missed = sorted((np.array([0, 1, 0])[drawn].sum(1) / numbers).tolist())
    (row,) = whole.filter(metric="missed_strict_share").to_dicts()
    assert (row["lower"], row["upper"]) == pytest.approx((missed[24], missed[974]), rel=1e-15)
    (row,) = whole.filter(metric="missed_strict_mean").to_dicts()
    assert (row["lower"], row["value"], row["upper"]) == (70.0, 70.0, 70.0)


spread = st.lists(
    st.tuples(st.integers(0, 120), st.integers(0, 9), st.sampled_from("abcdefghij")),
    min_size=1,
    max_size=40,
)


@pytest.mark.thorough
@given(spread, st.booleans())
@settings(max_examples=examples(25))
def test_shares_of_waiting_are_resampled_by_week_and_those_of_classes_by_user(
    found: list[tuple[int, int, str]], short: bool
) -> None:
    """The log lasts for 17 weeks or for 12 days."""
    berlin = ZoneInfo("Europe/Berlin")
    records = []
    for k, (day, wait, user) in enumerate(found):
        arrival = EPOCH + (day // 10 if short else day) * 86_400 + 3_600 * (k % 24)
        records.append(ended(arrival, arrival + wait, arrival + wait + 7_200, 1 + k % 2, user))
    now = max(record["end_time"] for record in records)
    held = booked(complete(frame(records)), POOL, now).sort("arrival_time", maintain_order=True)
    rows = summarise(
        held, POOL, Period("all", EPOCH, now), now, berlin, 3, SummaryOptions(resamples=60)
    )
    attempts = held.to_dicts()
    units = naive_intervals.stretches([of["arrival_time"] for of in attempts], berlin)
    for metric, column in (
        ("cause_unexplained_share", "cause_unexplained_s"),
        ("cause_earlier_share", "cause_earlier_s"),
    ):
        pairs: dict[Any, list[tuple[int, int]]] = {}
        for unit, of in zip(units, attempts, strict=True):
            pairs.setdefault(unit, []).append((of[column], of["wait_s"]))
        (row,) = rows.filter(metric=metric, dimension="all").to_dicts()
        assert close(row, naive_intervals.share(list(pairs), pairs, 3, 60))
    users = list(dict.fromkeys(of["user"] for of in attempts))
    for width in ("1", "2"):
        of_users: dict[Any, list[tuple[int, int]]] = {}
        for of in attempts:
            if of["width_class"] == width:
                pair = (of["cause_unexplained_s"], of["wait_s"])
                of_users.setdefault(of["user"], []).append(pair)
        chosen = rows.filter(metric="cause_unexplained_share", dimension_value=width).to_dicts()
        for row in chosen:
            assert close(row, naive_intervals.share(users, of_users, 3, 60))


def close(row: dict[str, Any], expected: tuple[float, float] | None) -> bool:
    got = (row["lower"], row["upper"])
    return got == (None, None) if expected is None else got == pytest.approx(expected, rel=1e-12)


def test_sums_of_whole_numbers_beyond_64_bits() -> None:
    held = complete(frame([ended(0, 0, 1, 1), ended(0, 0, 1, 1, "bob")]))
    huge = (1 << 62) + (1 << 40)
    terms = {"huge": pl.lit(huge, pl.Int64), "one": pl.lit(1, pl.Int64)}
    whole = Cut(Evaluated(coded(held, UTC), terms, EVERY), "all", terms)
    whole.add("huge")
    whole.add("one")
    (mean,) = whole.ratios([Ratio("mean", "huge", "one", "1")], Resamples(2, 1, 100))
    assert [*mean.value, *mean.lower, *mean.upper] == [huge, huge, huge]


def test_figures_beside_the_account_by_hand() -> None:
    """Capacity 10, all of user ann: a running job of 2; then two of 6 that start one by one.

    The first could start from 100 on, and lapses at 1,000. From then on the second fits, too, and
    lapses; both start at an end of their user. From 4,000 on the machine is full for the second.
    """
    pool = Pool("main", Resource.cpus, 10)
    jobs = [ended(0, 0, 4_000, 2), ended(100, 4_000, 5_000, 6), ended(150, 5_000, 6_000, 6)]
    described = overtakes(resource_equality(describe(frame(jobs), [pool]), 6_000))
    held = account(described, pool, 6_000, log_begin=0).attempts
    rows = summarise(
        held, pool, Period("all", 0, 6_000), 6_000, UTC, 1, SummaryOptions(resamples=20)
    )
    waited = 3_900 + 4_850
    got = {
        metric: bounds
        for metric, *bounds in rows.filter(dimension="all")
        .select("metric", "value", "lower", "upper")
        .iter_rows()
    }
    assert held.sort("submit_time")["released_own_s"].to_list() == [0, 3_900, 3_000]
    assert got["released_own_share"][0] == pytest.approx(6_900 / waited)
    assert got["full_share"] == pytest.approx([1_000 / waited, 0.0, 1_000 / waited])
    assert got["idle_usable"] == [pytest.approx(900 * 6 + 3_000 * 8), None, None]
    by_user = values(rows)
    assert by_user["full_share", "user", "ann"] == pytest.approx(1_000 / waited)


def test_without_waits_a_range_has_no_ends() -> None:
    pool = Pool("main", Resource.cpus, 10)
    described = overtakes(resource_equality(describe(frame([ended(0, 0, 9, 2)]), [pool]), 9))
    held = account(described, pool, 9, log_begin=0).attempts
    rows = summarise(held, pool, Period("all", 0, 9), 9, UTC, 1, SummaryOptions(resamples=20))
    [(value, lower, upper)] = (
        rows.filter(metric="full_share", dimension="all").select("value", "lower", "upper").rows()
    )
    assert (value, lower, upper) == (None, None, None)
