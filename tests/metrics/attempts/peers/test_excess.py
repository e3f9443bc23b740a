"""Who waits longer than peers: sums and ratios, floods, and who may be named."""

from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from audit.kernels import peers as kernels
from audit.metrics.attempts.peers.excess import by_yekutieli, of_peers, surely_above
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.users import by_entity
from audit.metrics.uncertainty import Resamples
from audit.model import Period, Pool, Resource
from tests.examples import examples
from tests.naive import peers as naive
from tests.strategies import ended, frame

DAY = 86_400
POOL = Pool("main", Resource.cpus, 4)
ALL = Period("all", 0, 400 * DAY)
UTC = ZoneInfo("UTC")

Record = dict[str, Any]
Figures = dict[tuple[str, str], tuple[float | None, float | None, float | None]]


def compared(records: list[Record], peer_waits: list[float | None]) -> pl.DataFrame:
    described = describe(frame(records), [POOL]).sort("line")
    return described.with_columns(peer_wait_s=pl.Series(peer_waits, dtype=pl.Float64))


def figures(
    records: list[Record],
    peer_waits: list[float | None],
    kind: str = "user",
    period: Period = ALL,
    zone: ZoneInfo = UTC,
) -> Figures:
    """(metric, owner) → value, lower and upper."""
    held = compared(records, peer_waits)
    return {
        (row.metric, row.dimension_value or ""): (row.value, row.lower, row.upper)
        for row in of_peers(held, period, zone, 1, 200, 2_000)
        if row.dimension == kind
    }


def days(user: str, waits: list[int], number: int = 12, **more: Any) -> list[Record]:
    """On each of some days, attempts at intervals of an hour that wait so long, and run 1 s."""
    return [
        ended(at := day * DAY + hour * 3_600, at + wait, at + wait + 1, 1, user, **more)
        for day in range(number)
        for hour, wait in enumerate(waits)
    ]


def test_days_are_counted_from_the_first_arrival_of_the_period() -> None:
    """What was long before a period changes no interval of it."""
    late = [{**one, "submit_time": one["submit_time"] + 100 * DAY} for one in days("ann", [5, 50])]
    late = [
        {
            **one,
            "start_time": one["start_time"] + 100 * DAY,
            "end_time": one["end_time"] + 100 * DAY,
        }
        for one in late
    ]
    month = Period("month", 100 * DAY, 130 * DAY)
    peer_waits: list[float | None] = [10.0] * len(late)
    alone = figures(late, peer_waits, period=month)
    after = figures([ended(0, 9, 10, 1, "ann"), *late], [1.0, *peer_waits], period=month)
    assert alone["excess_wait", "ann"][1] is not None
    assert after == alone


def test_sums_and_ratios_by_hand() -> None:
    records = [
        ended(0, 30, 31, 1),
        ended(0, 10, 11, 1),
        ended(0, 99, 100, 1),
        ended(0, 0, 1, 1, "bob"),
    ]
    got = figures(records, [10.0, 10.0, None, 0.0])
    assert got["peer_ratio", "ann"] == (2.0, None, None)
    assert got["excess_wait", "ann"] == (20.0, None, None)
    assert got["peer_ratio_alone", "ann"] == (3.0, None, None)  # only the first: nothing active
    assert got["peer_ratio", "bob"] == (None, None, None)  # peers did not wait
    assert not any(metric == "peer_named" for metric, _ in got)  # of one day


def test_who_waits_longer_day_after_day_is_named() -> None:
    records = days("ann", [50, 80]) + days("bob", [5, 15])
    got = figures(records, [10.0] * len(records))
    assert (got["peer_named", "ann"][0], got["peer_flood", "ann"][0]) == (1.0, 0.0)
    assert (got["peer_named", "bob"][0], got["peer_flood", "bob"][0]) == (0.0, 0.0)
    assert got["peer_ratio", "ann"] == (6.5, 6.5, 6.5)
    assert got["peer_ratio_alone", "ann"][0] == 6.5


def test_nine_days_are_too_few() -> None:
    records = days("ann", [50], 9)
    got = figures(records, [10.0] * 9)
    assert got["peer_ratio", "ann"] == (5.0, None, None)
    assert ("peer_named", "ann") not in got
    assert figures(days("ann", [50], 10), [10.0] * 10)["peer_named", "ann"][0] == 1.0


def test_a_flood_makes_its_own_waits() -> None:
    # On each day the first waits 5 s and runs three hours; two more arrive meanwhile.
    records = []
    for day in range(12):
        at = day * DAY
        records += [ended(at, at + 5, at + 9_999, 1)]
        records += [ended(at + 10, at + 9_999, at + 10_000, 1) for _ in range(2)]
    got = figures(records, [10.0] * len(records))
    assert (got["peer_named", "ann"][0], got["peer_flood", "ann"][0]) == (0.0, 1.0)
    assert got["peer_ratio_alone", "ann"][0] == 0.5


def test_what_never_started_or_still_runs_is_active_too() -> None:
    gone = {"submit_time": 0, "end_time": 50, "cpus": 1, "user": "ann", "state": "CANCELLED"}
    runs = {"submit_time": 90, "start_time": 90, "cpus": 1, "user": "ann"}
    records = [gone, ended(49, 60, 61, 1), ended(61, 66, 67, 1), runs, ended(500, 510, 511, 1)]
    got = figures(records, [None, 1.0, 1.0, None, 1.0])
    assert got["peer_ratio_alone", "ann"][0] == 5.0  # that which came as the one before it ended


def test_a_day_is_one_of_the_clusters() -> None:
    # 22:30 and 23:30 UTC: one day in UTC, two in Berlin.
    records = [
        ended(at, at + 9, at + 10, 1)
        for day in range(5)
        for at in (day * DAY + 81_000, day * DAY + 84_600)
    ]
    peers: list[float | None] = [3.0] * 10
    assert figures(records, peers)["peer_ratio", "ann"] == (3.0, None, None)
    with_zone = figures(records, peers, zone=ZoneInfo("Etc/GMT-1"))
    assert with_zone["peer_ratio", "ann"][1] is None  # 6 days: 0, 1 … 5
    assert ("peer_named", "ann") not in with_zone


def test_periods_and_accounts() -> None:
    records = [
        ended(0, 30, 31, 1, account="x"),
        ended(100, 130, 131, 1, "bob", account="x"),
        ended(5 * DAY, 5 * DAY + 7, 5 * DAY + 8, 1, account=None),
    ]
    peers: list[float | None] = [10.0, 20.0, 7.0]
    assert figures(records, peers, "account") == {
        ("peer_ratio", "x"): (2.0, None, None),
        ("excess_wait", "x"): (30.0, None, None),
        ("peer_ratio_alone", "x"): (2.0, None, None),
    }
    late = figures(records, peers, period=Period("late", DAY, 9 * DAY))
    assert late["peer_ratio", "ann"][0] == 1.0
    assert ("peer_ratio", "bob") not in late


def test_chance_names_nobody() -> None:
    random = np.random.Generator(np.random.PCG64(7))
    records, peers = [], []
    for user in range(30):
        records += days(f"u{user:02}", [0], 15)
    for record in records:
        wait = int(random.integers(0, 100))
        record["start_time"] += wait
        record["end_time"] += wait
        peers.append(49.5)
    got = figures(records, list(peers))
    assert (
        sum(value or 0 for (metric, _), (value, _, _) in got.items() if metric == "peer_named") == 0
    )


@example([0.05])  # at the very limit
@given(st.lists(st.sampled_from([0.0001, 0.001, 0.004, 0.01, 0.02, 0.05, 0.5, 1.0]), max_size=9))
def test_yekutieli_as_defined(p: list[float]) -> None:
    m = len(p)
    harmonic = sum((Fraction(1, i) for i in range(1, m + 1)), Fraction())
    limits = [
        value
        for value in p
        if Fraction(str(value)) <= sum(q <= value for q in p) * Fraction(5, 100) / (m * harmonic)
    ]
    assert by_yekutieli(p) == [bool(limits) and value <= max(limits) for value in p]


def test_the_same_as_of_users_to_the_last_bit() -> None:
    random = np.random.Generator(np.random.PCG64(3))
    records = days("ann", [9, 7, 88], 20) + days("bob", [5, 20], 20)
    peers = list(random.random(len(records)) * 100)
    got = figures(records, list(peers))
    for row in by_entity(_equal(compared(records, list(peers))), "user").to_dicts():
        assert got["peer_ratio", row["entity"]][0] == row["peer_ratio"]
        assert got["excess_wait", row["entity"]][0] == row["excess_wait_s"]


def _equal(held: pl.DataFrame) -> pl.DataFrame:
    return held.with_columns(re_unfairness=pl.lit(0.0))


def test_without_peers_there_are_no_rows() -> None:
    held = compared(days("ann", [5], 2), [None, None])
    assert of_peers(held, ALL, UTC, 1, 20, 1_000) == []
    assert of_peers(held.drop("peer_wait_s"), ALL, UTC, 1, 20, 1_000) == []


@pytest.mark.parametrize("peers", [None, 5.0])
def test_who_has_no_peers_has_no_ratio(peers: float | None) -> None:
    held = _equal(compared([ended(0, 10, 11, 1)], [peers]))
    (row,) = by_entity(held, "user").to_dicts()
    assert (row["peer_ratio"], row["excess_wait_s"]) == ((2.0, 5.0) if peers else (None, None))


@given(
    st.lists(st.floats(-5, 50, width=32), min_size=10, max_size=30),
    st.integers(0, 40),
    st.integers(0, 99),
)
def test_who_is_surely_above_is_so_in_all_resamples(
    differences: list[float], others: int, seed: int
) -> None:
    days = len(differences) + others
    values = np.array(differences)
    if surely_above(values, days, 2_000):
        (sums,) = Resamples(days, seed, 2_000).sums(np.arange(len(values)), values)
        assert (sums > 0).all()


def test_who_is_sure_and_who_is_not() -> None:
    assert surely_above(np.full(40, 3.0), 40, 20_000)
    assert not surely_above(np.full(10, 3.0), 400, 20_000)  # none of its days may be drawn
    assert not surely_above(np.array([-1.0, 2.0] * 10), 20, 20_000)
    assert not surely_above(np.full(40, -3.0), 40, 20_000)
    assert not surely_above(np.zeros(40), 40, 20_000)


@given(st.lists(st.lists(st.integers(-9, 20), min_size=10, max_size=14), min_size=1, max_size=5))
@settings(max_examples=examples(30))
def test_short_ways_decide_as_all_resamples_do(owners: list[list[int]]) -> None:
    records: list[Record] = []
    peers: list[float | None] = []
    for k, of_days in enumerate(owners):
        for day, difference in enumerate(of_days):
            at = day * DAY
            records.append(ended(at, at + 10 + difference, at + 40, 1, f"u{k}"))
            peers.append(10.0)
    got = figures(records, peers)
    days = max(len(of_days) for of_days in owners)
    p = []
    for of_days in owners:
        below = 0
        for chunk in range(2):
            drawn = Resamples(days, 1 + chunk, 1_000)
            values = np.array(of_days, np.float64)
            below += int((drawn.sums(np.arange(len(values)), values)[0] <= 0).sum())
        p.append((1 + below) / 2_001)
    assert [got["peer_named", f"u{k}"][0] for k in range(len(owners))] == by_yekutieli(p)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 20)), max_size=12))
def test_who_was_gone_last(lives: list[tuple[int, int]]) -> None:
    owner = np.array([of for of, _ in lives], np.int64)
    gone = np.array([at for _, at in lives], np.int64)
    before = np.zeros(len(lives), np.int64)
    kernels.last_gone(owner, gone, np.full(4, -9), before)
    assert before.tolist() == naive.last_gone(lives, -9)
