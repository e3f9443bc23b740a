from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare.history import HISTORY_SCHEMA, day_ends, history_parts
from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.usage import HalfLife, Windows
from audit.model import Period
from tests.metrics.fairshare.test_usage import DAY, instants, kinds, owned, uses
from tests.naive import attempts as naive
from tests.naive import trees as naive_trees
from tests.strategies import NOW, charged

LAST_TEN = Windows(interval_s=10, depth=1, decay=1.0)
targets = st.dictionaries(
    st.sampled_from(["ann", "bob", "zoe", "physics"]), st.sampled_from([0.0, 0.25, 0.5])
)


def history(*args: Any, **options: Any) -> pl.DataFrame:
    return pl.concat(history_parts(*args, **options))


def ranks(rows: pl.DataFrame) -> dict[str | None, Any]:
    return dict(rows.select("entity", "rank").iter_rows())


@given(
    charged(),
    kinds,
    st.integers(1, 40),
    st.sampled_from([0, 1, 2]),
    instants,
    targets,
    st.sampled_from(OPERATORS),
)
def test_history_as_defined(
    rows: pl.DataFrame,
    kind: Any,
    interval: int,
    decay: int,
    at: list[int],
    shares: Any,
    operator: str,
) -> None:
    method = Windows(interval_s=interval, depth=2, decay=decay)
    fast = history(rows, kind, method, at, NOW, targets=shares, operator=operator)
    assert fast.schema == HISTORY_SCHEMA
    assert fast.equals(fast.sort("as_of", "entity", maintain_order=True))
    mine = owned(naive.uses(rows.to_dicts(), kind, NOW))
    for t in at:
        there = {o: u for o, u in mine.items() if min(one.start for one in u) < t}
        there |= {name: mine.get(name, []) for name in shares}
        used = {
            owner: naive.trailing_usage(of, t, interval, 2, Fraction(decay))
            for owner, of in there.items()
        }
        part = naive.fractions(used)
        now = fast.filter(as_of=t)
        assert set(now["entity"]) == set(there)
        for row in now.to_dicts():
            owner = row["entity"]
            assert naive.close(row["usage"], used[owner])
            assert naive.close(row["usage_fraction"], part[owner])
            assert row["share"] == row["share_of_all"] == shares.get(owner)
            assert row["usage_of_all"] == row["usage_fraction"]
            aim = shares.get(owner)
            if aim is None:
                assert row["priority"] is None
            else:
                wanted = naive_trees.priority(operator, aim, float(part[owner]))
                assert row["priority"] == pytest.approx(wanted, rel=1e-9, abs=1e-7)
        assert in_order(now.to_dicts(), by_target=bool(shares))


def in_order(rows: list[dict[str, Any]], *, by_target: bool) -> bool:
    """Whether ranks are one more than the number of those who come before."""
    for row in rows:
        who = row["share"] is not None if by_target else row["entity"] is not None
        if not who:
            if row["rank"] is not None:
                return False
            continue
        before = sum(
            other["priority"] > row["priority"]
            if by_target
            else other["usage_fraction"] < row["usage_fraction"]
            for other in rows
            if (other["share"] is not None if by_target else other["entity"] is not None)
        )
        if row["rank"] != before + 1:
            return False
    return True


def test_without_targets_by_hand() -> None:
    # Over the last 10 s: ann 5, bob 1, cem 1, dot nothing, somebody 3: of 10.
    rows = uses(
        ("ann", 10, 15, 1.0),
        ("bob", 10, 11, 1.0),
        ("cem", 11, 12, 1.0),
        ("dot", 0, 5, 1.0),
        (None, 10, 13, 1.0),
        ("eve", 30, 31, 1.0),
    )
    got = history(rows, "user", LAST_TEN, [20], 40)
    assert got.select("entity", "share", "usage", "usage_fraction", "rank").rows() == [
        (None, None, 3.0, 0.3, None),  # nobody to be served
        ("ann", None, 5.0, 0.5, 4),
        ("bob", None, 1.0, 0.1, 2),  # ties share the better rank
        ("cem", None, 1.0, 0.1, 2),
        ("dot", None, 0.0, 0.0, 1),
    ]  # eve was not there yet
    same = got.select("as_of", "method", "entity_kind", "parent", "priority").unique()
    assert same.rows() == [(20, "windows", "user", None, None)]


def test_with_targets_by_hand() -> None:
    # Of 10 used: ann 6 of a share of 0.8: 0.2 to go, (0.8 − 0.6)/0.8 of it; bob 3 of 0.2; cem 1
    # without one; dot none with 0: at its target; eve none of 0.1.
    rows = uses(("ann", 0, 6, 1.0), ("bob", 0, 3, 1.0), ("cem", 0, 1, 1.0))
    shares = {"ann": 0.8, "bob": 0.2, "dot": 0.0, "eve": 0.1}
    got = history(rows, "user", LAST_TEN, [10], 10, targets=shares, label="week")
    columns = ("entity", "share", "usage_fraction", "priority", "rank")
    assert got.select(columns).rows() == [
        ("ann", 0.8, 0.6, pytest.approx(0.2), 1),
        ("bob", 0.2, 0.3, pytest.approx(-0.1), 4),
        ("cem", None, 0.1, None, None),
        ("dot", 0.0, 0.0, 0.0, 3),
        ("eve", 0.1, 0.0, 0.1, 2),
    ]
    relative = history(rows, "user", LAST_TEN, [10], 10, targets=shares, operator="relative")
    assert relative.select(columns[0], *columns[3:]).rows() == [
        ("ann", pytest.approx(0.25), 2),
        ("bob", pytest.approx(-1 / 3), 4),
        ("cem", None, None),
        ("dot", 0.0, 3),
        ("eve", 1.0, 1),
    ]
    assert got["method"].unique().to_list() == ["week"]
    # Who has a share of 0 and uses something comes last.
    last = history(rows, "user", LAST_TEN, [10], 10, targets={"ann": 0.0, "bob": 0.01})
    assert ranks(last) == {"ann": 2, "bob": 1, "cem": None}


def test_targets_alone() -> None:
    got = history(uses(), "account", HalfLife(half_life_s=5.0), [1, 2], 9, targets={"physics": 1})
    assert got.select("as_of", "entity", "share", "usage", "usage_fraction", "rank").rows() == [
        (1, "physics", 1.0, 0.0, 0.0, 1),
        (2, "physics", 1.0, 0.0, 0.0, 1),
    ]
    assert history(uses(), "user", LAST_TEN, [1], 9).schema == HISTORY_SCHEMA
    assert history(uses(("ann", 0, 1, 1.0)), "user", LAST_TEN, [], 9).rows() == []


@pytest.mark.parametrize("share", [-0.1, 1.5, 40, float("nan")])
def test_a_share_is_a_part(share: float) -> None:
    with pytest.raises(ValueError, match="target of user 'ann'"):
        history(uses(), "user", LAST_TEN, [1], 9, targets={"ann": share})


def test_days_end_at_midnights() -> None:
    utc = ZoneInfo("UTC")
    month = Period("m", 0, 3 * DAY)
    assert day_ends(month, utc, 9 * DAY) == [DAY, 2 * DAY, 3 * DAY]
    assert day_ends(month, utc, DAY + 5) == [DAY, DAY + 5]  # not over yet
    assert day_ends(month, utc, -5) == []
