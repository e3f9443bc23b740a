from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare.penalty import Hardware, relative_penalty
from audit.metrics.fairshare.penalty_choice import COMPARED, compare, moved, movers
from audit.metrics.fairshare.usage import HalfLife, Kind, Windows
from tests.naive import attempts as naive
from tests.naive import penalties
from tests.strategies import CHARGED, EPOCH, NOW, charged

kinds = st.sampled_from(["user", "account"])
prices = st.sampled_from([0.0, 0.1, 0.5, 1.0])


def other_prices(rows: pl.DataFrame, draw: Any) -> pl.DataFrame:
    penalty = [draw(prices) for _ in range(rows.height)]
    return rows.with_columns(pl.Series("penalty", penalty, pl.Float64))


@given(charged(), kinds, st.integers(0, 70), st.integers(1, 80), st.data())
def test_as_defined(
    rows: pl.DataFrame, kind: Kind, end: int, length: int, data: st.DataObject
) -> None:
    charged_by = {"one": rows, **{name: other_prices(rows, data.draw) for name in ("two", "three")}}
    instant = EPOCH + end
    whole = Windows(interval_s=length, depth=1, decay=1.0)
    got = compare(charged_by, kind, whole, instant, NOW)
    exact = penalties.parts(
        {name: frame.to_dicts() for name, frame in charged_by.items()},
        kind,
        instant - length,
        instant,
        NOW,
    )
    seen = {owner for parts in exact.values() for owner, part in parts.items() if part}
    assert got.schema == COMPARED
    assert got.height == 3 * len(seen)
    for row in got.iter_rows(named=True):
        part = exact[row["penalty"]].get(row["entity"], Fraction())
        assert naive.close(row["usage_fraction"], part)
        assert naive.close(row["shift"], part - exact["one"].get(row["entity"], Fraction()))
    for name, share in moved(got).items():
        off = [exact[name].get(o, Fraction()) - exact["one"].get(o, Fraction()) for o in seen]
        assert naive.close(share, sum(map(abs, off), Fraction()) / 2)
    far = movers(got)
    shifts = [abs(shift) for shift in far["shift"].to_list()]
    assert shifts == sorted(shifts, reverse=True)
    for entity, of in got.group_by("entity"):
        mine = far.filter(pl.col("entity").eq_missing(pl.lit(entity[0], pl.String)))
        furthest = max(abs(shift) for shift in of["shift"].to_list())
        assert [abs(shift) for shift in mine["shift"].to_list()] == [furthest] * (furthest > 0)


def test_memory_for_a_fortnight_by_hand() -> None:
    """[M] fig. 1: by processors the memory's user is charged 1/11, by the dominant resource half.

    Two nodes of 80 cpus and 512 GiB. One user holds all the memory and 8 cpus of a node, another
    all the cpus and an eighth of the memory of the other, for as long.
    """
    gib = 2**30
    rows = pl.DataFrame(
        [
            {"user": "memory", "cpus": 8, "mem_bytes": 512 * gib},
            {"user": "processors", "cpus": 80, "mem_bytes": 64 * gib},
        ],
        schema={"user": pl.String, "cpus": pl.Int64, "mem_bytes": pl.Int64},
    ).with_columns(start_time=pl.lit(0), end_time=pl.lit(1000), nodes=pl.lit(1), gpus=pl.lit(0))
    pool = Hardware(available={"cpus": 160, "mem_bytes": 1024 * gib})
    got = compare(
        {name: relative_penalty(rows, name, pool).charged for name in ("cpu", "max", "sum")},
        "user",
        Windows(interval_s=1000, depth=1, decay=1.0),
        1000,
        1000,
    )
    # By cpu 0.05 and 0.5 of the pool; by max 0.5 and 0.5; by sum (0.05 + 0.5) / 2 and
    # (0.5 + 0.0625) / 2.
    parts = [1 / 11, 10 / 11, 1 / 2, 1 / 2, 0.55 / 1.1125, 0.5625 / 1.1125]
    assert got["usage_fraction"].to_list() == pytest.approx(parts)
    assert got["penalty"].to_list() == ["cpu"] * 2 + ["max"] * 2 + ["sum"] * 2
    assert moved(got) == pytest.approx({"cpu": 0.0, "max": 9 / 22, "sum": 0.55 / 1.1125 - 1 / 11})
    assert movers(got).select("entity", "penalty").rows() == [
        ("memory", "max"),
        ("processors", "max"),
    ]
    assert movers(got)["shift"].to_list() == pytest.approx([9 / 22, -9 / 22])


def test_units_and_decay_change_no_part() -> None:
    """Ten times the price is the same part; so is any half-life, where all used at one time."""
    rows = pl.DataFrame(
        [("ann", None, 0, 10, 0.1), ("bob", None, 0, 10, 0.3)], schema=CHARGED, orient="row"
    )
    dearer = rows.with_columns(pl.col("penalty") * 10)
    for method in (HalfLife(half_life_s=3.0), Windows(interval_s=4, depth=3, decay=0.5)):
        got = compare({"one": rows, "ten": dearer}, "user", method, 12, 12)
        assert got["usage_fraction"].to_list() == pytest.approx([0.25, 0.75] * 2)
        assert movers(got).filter(pl.col("shift").abs() > 1e-15).is_empty()


def test_nothing_to_compare() -> None:
    whole = Windows(interval_s=9, depth=1, decay=1.0)
    empty = pl.DataFrame(schema=CHARGED)
    for charged_by in ({}, {"cpu": empty, "max": empty}):
        got = compare(charged_by, "user", whole, 9, 9)
        assert got.schema == COMPARED
        assert got.is_empty()
        assert moved(got) == {}
        assert movers(got).is_empty()
