import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import trees
from audit.metrics.fairshare.history import HISTORY_SCHEMA, tree_history
from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.trees import NO_SHARE, Node, Tree
from audit.metrics.fairshare.usage import Windows
from audit.metrics.slurm.usage import SlurmUsage
from tests.metrics.fairshare.test_history import LAST_TEN
from tests.metrics.fairshare.test_usage import instants
from tests.naive import attempts as naive
from tests.naive import fairshare
from tests.strategies import NOW, charged, sampled


@st.composite
def forests(draw: st.DrawFn) -> list[Node]:
    """Accounts, some below others, some without users, some without a share of their own."""
    nodes = [Node("science", "account", 2.0)]
    for account in ("physics", "history"):
        if draw(st.booleans()):
            parent = draw(sampled([None, "science"]))
            nodes.append(Node(account, "account", draw(sampled([0.0, 1.0, 3.0])), parent))
            for user in draw(st.sets(sampled(["ann", "bob", "zoe"]))):
                share = draw(sampled([1.0, 2.0, NO_SHARE]))
                nodes.append(Node(user, "user", share, account))
                if draw(st.booleans()):
                    nodes.append(Node(user, "user", 1.0, account, "gpu"))
    return nodes


@given(
    charged(),
    forests(),
    st.integers(1, 40),
    instants,
    st.sampled_from(OPERATORS),
    st.randoms(use_true_random=False),
)
def test_histories_of_trees_as_defined(
    rows: pl.DataFrame, nodes: list[Node], interval: int, at: list[int], operator: str, random: Any
) -> None:
    partitions = [random.choice([None, "gpu", "cpu"]) for _ in range(rows.height)]
    rows = rows.with_columns(partition=pl.Series(partitions, dtype=pl.String))
    method = Windows(interval_s=interval, depth=2, decay=0.5)
    tree = trees.build(nodes, all_zero=True)
    fast = tree_history(rows, tree, method, at, NOW, operator=operator)
    assert fast.schema == HISTORY_SCHEMA
    for t in at:

        def used(mine: list[naive.Use], t: int = t) -> Fraction:
            return naive.trailing_usage(mine, t, interval, 2, Fraction(1, 2))

        exact = fairshare.tree_rows(nodes, rows.to_dicts(), NOW, t, operator, used)
        found = {
            (row["entity_kind"], row["parent"], row["entity"], row["partition"]): row
            for row in fast.filter(as_of=t).to_dicts()
        }
        assert set(found) == set(exact)
        for key, wanted in exact.items():
            row = found[key]
            for name in ("usage", "usage_fraction", "share", "share_of_all", "usage_of_all"):
                assert naive.close(row[name], getattr(wanted, name)), (key, name)
            assert fairshare.near(row["priority"], wanted.priority)
        assert fairshare.ranks_agree({key: row["rank"] for key, row in found.items()}, exact)


def tree() -> Tree:
    """Science (3 parts) with physics (2, of ann 1 and bob 3) and chemistry (1); history (1)."""
    return trees.build(
        [
            Node("science", "account", 3.0),
            Node("physics", "account", 2.0, "science"),
            Node("ann", "user", 1.0, "physics"),
            Node("bob", "user", 3.0, "physics"),
            Node("chemistry", "account", 1.0, "science"),
            Node("history", "account", 1.0),
        ]
    )


def of_accounts(*rows: tuple[str | None, str | None, int, int]) -> pl.DataFrame:
    """One cpu of each user and account from and to."""
    records = [
        {
            "user": user,
            "account": account,
            "start_time": start,
            "end_time": end,
            "penalty": 1.0,
            "partition": "batch",
        }
        for user, account, start, end in rows
    ]
    return pl.DataFrame(records)


WORKED = of_accounts(
    ("ann", "physics", 0, 4),
    ("bob", "physics", 0, 2),
    ("cem", "chemistry", 0, 1),  # charged as a whole
    ("dot", "physics", 0, 1),  # not listed there
    ("eve", "art", 0, 1),  # not in the tree
    (None, None, 0, 1),
)


def test_a_tree_by_hand() -> None:
    # Of 10 s: science 8, of which physics 7 (dot's too) and chemistry 1; history 0.
    got = tree_history(WORKED, tree(), LAST_TEN, [10], 10, operator="absolute", label="x")
    kind, parts = ("entity_kind", "parent", "entity"), ("share", "usage", "usage_fraction")
    rows = got.select(*kind, *parts, "priority", "rank", "share_of_all", "usage_of_all").rows()
    near, third = pytest.approx, pytest.approx(1 / 3)
    assert sorted(rows, key=str) == sorted(
        [
            ("account", None, "science", 0.75, 8.0, 1.0, -0.25, 3, 0.75, 0.8),
            ("account", None, "history", 0.25, 0.0, 0.0, 0.25, 1, 0.25, 0.0),
            # physics used 7/8 of science's, and may 2/3
            ("account", "science", "physics", near(2 / 3), 7.0, 0.875, near(-5 / 24), 4, 0.5, 0.7),
            ("account", "science", "chemistry", third, 1.0, 1 / 8, near(5 / 24), 2, 0.25, 0.1),
            # dot's second is physics' own: of no sibling
            ("user", "physics", "ann", 0.25, 4.0, near(2 / 3), near(-5 / 12), 3, 0.125, 0.4),
            ("user", "physics", "bob", 0.75, 2.0, near(1 / 3), near(5 / 12), 2, 0.375, 0.2),
            ("user", "chemistry", "cem", None, 1.0, None, None, 1, None, 0.1),
            ("user", "physics", "dot", None, 1.0, None, None, None, None, 0.1),
            ("user", "art", "eve", None, 1.0, None, None, None, None, 0.1),
            ("user", None, None, None, 1.0, None, None, None, None, 0.1),
            ("account", None, "art", None, 1.0, None, None, None, None, 0.1),
            ("account", None, None, None, 1.0, None, None, None, None, 0.1),
        ],
        key=str,
    )  # fmt: skip
    assert got["method"].unique().to_list() == ["x"]


def test_accounts_rank_among_accounts_however_deep() -> None:
    # science's vector is (−0.25, 0), physics' (−0.25, −5/24), chemistry's (−0.25, 5/24).
    got = tree_history(WORKED, tree(), LAST_TEN, [10], 10)
    accounts = got.filter(entity_kind="account").select("entity", "rank")
    assert set(accounts.rows()) == {
        *(("history", 1), ("chemistry", 2), ("science", 3), ("physics", 4)),
        *(("art", None), (None, None)),
    }


def test_slurm_s_algorithms_give_fairshare() -> None:
    # LevelFS: history ∞, science 0.75; below science chemistry 8/3, physics 0.76; ann 3/8, bob 9/4.
    # cem competes where chemistry does. Users best first: cem, bob, ann.
    got = tree_history(WORKED, tree(), LAST_TEN, [10], 10, operator="fair_tree")
    users = got.filter(entity_kind="user").drop_nulls("rank")
    assert dict(users.select("entity", pl.struct("priority", "rank")).iter_rows()) == {
        "cem": {"priority": 1.0, "rank": 1},
        "bob": {"priority": pytest.approx(2 / 3), "rank": 2},
        "ann": {"priority": pytest.approx(1 / 3), "rank": 3},
    }
    accounts = got.filter(entity_kind="account").drop_nulls("rank")
    assert accounts["priority"].null_count() == 4
    assert dict(accounts.select("entity", "rank").iter_rows())["history"] == 1
    # Classic: U_A = U/10 on top, NormShares the product; factor 2^(−U_E/NormShares).
    flat = tree_history(WORKED, tree(), LAST_TEN, [10], 10, operator="classic", dampening=2.0)
    top = dict(flat.filter(pl.col("parent").is_null()).select("entity", "priority").iter_rows())
    assert top["history"] == 1.0
    assert top["science"] == pytest.approx(2 ** (-0.8 / 0.75 / 2))  # art's second is root's


def test_who_has_no_share_of_its_own_shows_that_of_its_account() -> None:
    """As ``sshare`` does: NormShares of the account, and no LevelFS; ∞ of who used nothing."""
    nodes = [
        Node("physics", "account", 3.0),
        Node("chemistry", "account", 1.0),
        Node("ann", "user", 1.0, "physics"),
        Node("bob", "user", NO_SHARE, "physics"),
        Node("cem", "user", 1.0, "chemistry"),
        Node("dot", "user", NO_SHARE),
    ]
    rows = of_accounts(("ann", "physics", 0, 6), ("bob", "physics", 0, 4))

    def shown(operator: str) -> dict[str, tuple[float | None, ...]]:
        got = tree_history(rows, trees.build(nodes), LAST_TEN, [10], 10, operator=operator)
        parts = pl.concat_list("share", "share_of_all", "usage_fraction", "level_fs")
        return {name: tuple(row) for name, row in got.select("entity", parts).iter_rows()}

    assert shown("fair_tree") == {
        "physics": (0.75, 0.75, 1.0, 0.75),
        "chemistry": (0.25, 0.25, 0.0, math.inf),
        "ann": (1.0, 0.75, 0.6, pytest.approx(1 / 0.6)),
        "bob": (0.75, None, 0.4, None),
        "cem": (1.0, 0.25, 0.0, math.inf),
        "dot": (0.0, None, 0.0, None),  # root competes with nobody
    }
    for operator in ("absolute", "classic"):
        seen = shown(operator)
        assert seen["bob"] == (0.75, None, None, None)
        assert seen["dot"] == (1.0, None, None, None)
        assert {level_fs for *_, level_fs in seen.values()} == {None}


def test_what_is_open_is_booked_by_slurm_s_ticks_alone() -> None:
    # From 3 on and still running at 10; ticks at 5 and 10 of 5 s each: 2 + 5. Of what ended at 9
    # after 4 s, one second is of the tick at 5 and the rest of its end.
    rows = of_accounts(("ann", "physics", 3, 0), ("bob", "physics", 4, 8))
    rows = rows.with_columns(end_time=pl.Series([None, 8]))
    method = SlurmUsage(half_life_s=1e12, period_s=5)
    got = tree_history(rows, tree(), method, [9, 10], 10)
    used = got.filter(entity="ann").select("as_of", pl.col("usage").round(6)).rows()
    assert used == [(9, 2.0), (10, 7.0)]
    assert got.filter(entity="bob")["usage"].round(6).to_list() == [4.0, 4.0]


def test_slurm_s_usage_leaves_out_who_has_no_place_in_the_tree() -> None:
    method = SlurmUsage(half_life_s=1e12, period_s=5)
    got = tree_history(WORKED, tree(), method, [10], 10)
    used = got.select("entity_kind", "parent", "entity", pl.col("usage").round(6)).rows()
    assert ("account", None, "science", 8.0) in used
    assert ("account", None, "art", 1.0) in used
    assert ("user", "art", "eve", 1.0) in used


def test_a_tree_without_attempts_or_instants() -> None:
    none = WORKED.clear()
    got = tree_history(none, tree(), LAST_TEN, [10], 10)
    assert got.height == 6
    assert got["usage"].sum() == 0
    assert tree_history(WORKED, tree(), LAST_TEN, [], 10).rows() == []
    assert tree_history(WORKED, tree(), LAST_TEN, [], 10).schema == HISTORY_SCHEMA
