"""How long users and accounts wait beside their peers: sums, ratios and intervals."""

from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import peers as kernels
from audit.metrics.attempts.peers import of_peers
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.users import by_entity
from audit.model import Period, Pool, Resource
from audit.registry.causes import CONTESTED
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
        for row in of_peers(held, period, zone, 1, 200)
        if row.dimension == kind
    }


def days(user: str, waits: list[int], number: int = 12, **more: Any) -> list[Record]:
    """Return attempts at intervals of an hour on each of some days, with these waits."""
    return [
        ended(at := day * DAY + hour * 3_600, at + wait, at + wait + 1, 1, user, **more)
        for day in range(number)
        for hour, wait in enumerate(waits)
    ]


def test_days_are_counted_from_the_first_arrival_of_the_period() -> None:
    """Attempts long before a period change no interval of it."""
    times = ("submit_time", "start_time", "end_time")
    late = [
        {**one, **{name: one[name] + 100 * DAY for name in times}} for one in days("ann", [5, 50])
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
    assert got["peer_ratio", "bob"] == (None, None, None)  # peers did not wait


def test_nine_days_are_too_few_for_intervals() -> None:
    assert figures(days("ann", [50], 9), [10.0] * 9)["peer_ratio", "ann"] == (5.0, None, None)
    assert figures(days("ann", [50], 10), [10.0] * 10)["peer_ratio", "ann"] == (5.0, 5.0, 5.0)


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
    }
    late = figures(records, peers, period=Period("late", DAY, 9 * DAY))
    assert late["peer_ratio", "ann"][0] == 1.0
    assert ("peer_ratio", "bob") not in late


def booked(held: pl.DataFrame, contested_s: list[float], similar_s: list[float]) -> pl.DataFrame:
    """Attempts whose contested wait is booked to earlier and later ones by halves."""
    halves = pl.Series(contested_s, dtype=pl.Float64) / 2
    return held.with_columns(pl.lit(0.0).alias(name) for name in CONTESTED).with_columns(
        cause_earlier_s=halves, cause_later_s=halves, peer_contested_s=pl.Series(similar_s)
    )


def test_the_contested_wait_beside_that_of_peers() -> None:
    held = compared([ended(0, 30, 31, 1), ended(0, 10, 11, 1)], [10.0, 10.0])
    got = {
        row.metric: row.value
        for row in of_peers(booked(held, [20.0, 4.0], [5.0, 1.0]), ALL, UTC, 1, 200)
        if row.dimension == "user"
    }
    assert got == {
        "peer_ratio": 2.0,
        "excess_wait": 20.0,
        "contested_ratio": 4.0,
        "contested_excess": 18.0,
    }
    (row,) = by_entity(_equal(booked(held, [20.0, 4.0], [5.0, 1.0])), "user").to_dicts()
    assert (row["contested_ratio"], row["contested_excess_s"]) == (4.0, 18.0)


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
    assert [*of_peers(held, ALL, UTC, 1, 20)] == []
    assert [*of_peers(held.drop("peer_wait_s"), ALL, UTC, 1, 20)] == []


@pytest.mark.parametrize("peers", [None, 5.0])
def test_who_has_no_peers_has_no_ratio(peers: float | None) -> None:
    held = _equal(compared([ended(0, 10, 11, 1)], [peers]))
    (row,) = by_entity(held, "user").to_dicts()
    assert (row["peer_ratio"], row["excess_wait_s"]) == ((2.0, 5.0) if peers else (None, None))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 20)), max_size=12))
def test_who_was_gone_last(lives: list[tuple[int, int]]) -> None:
    owner = np.array([of for of, _ in lives], np.int64)
    gone = np.array([at for _, at in lives], np.int64)
    before = np.zeros(len(lives), np.int64)
    kernels.last_gone(owner, gone, np.full(4, -9), before)
    assert before.tolist() == naive.last_gone(lives, -9)
