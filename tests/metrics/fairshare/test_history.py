import math
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import trees
from audit.metrics.fairshare.history import HISTORY_SCHEMA, day_ends, history_parts, tree_history
from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.trees import NO_SHARE, Tree, TreeNode
from audit.metrics.fairshare.usage import HalfLife, Windows
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import Period
from tests.metrics.fairshare.test_usage import DAY, instants, kinds, owned, uses
from tests.naive import attempts as naive
from tests.naive import fairshare
from tests.naive import trees as naive_trees
from tests.strategies import NOW, charged, sampled

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
    # Over the last 10 s: ann 5, bob 1, cem 1, dot 0, another 3: of 10.
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
        (None, None, 3.0, 0.3, None),  # no entity to be served
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
    # An entity with a share of 0 and some usage comes last.
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


@st.composite
def forests(draw: st.DrawFn) -> list[TreeNode]:
    """Accounts, some below others, some without users, some without a share of their own."""
    nodes = [TreeNode("science", "account", 2.0)]
    for account in ("physics", "history"):
        if draw(st.booleans()):
            parent = draw(sampled([None, "science"]))
            nodes.append(TreeNode(account, "account", draw(sampled([0.0, 1.0, 3.0])), parent))
            for user in draw(st.sets(sampled(["ann", "bob", "zoe"]))):
                share = draw(sampled([1.0, 2.0, NO_SHARE]))
                nodes.append(TreeNode(user, "user", share, account))
                if draw(st.booleans()):
                    nodes.append(TreeNode(user, "user", 1.0, account, "gpu"))
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
    rows: pl.DataFrame,
    nodes: list[TreeNode],
    interval: int,
    at: list[int],
    operator: str,
    random: Any,
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
            TreeNode("science", "account", 3.0),
            TreeNode("physics", "account", 2.0, "science"),
            TreeNode("ann", "user", 1.0, "physics"),
            TreeNode("bob", "user", 3.0, "physics"),
            TreeNode("chemistry", "account", 1.0, "science"),
            TreeNode("history", "account", 1.0),
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


def test_a_guest_who_comes_later_takes_no_place() -> None:
    later = pl.concat([WORKED, of_accounts(("fay", "history", 20, 21))])
    at_10 = tree_history(WORKED, tree(), LAST_TEN, [10], 30)
    assert tree_history(later, tree(), LAST_TEN, [10], 30).equals(at_10)
    then = tree_history(later, tree(), LAST_TEN, [30], 30).filter(entity_kind="user", entity="fay")
    assert then["rank"].to_list() == [4]


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
    """As ``sshare`` does: NormShares of the account, and no LevelFS; ∞ without usage."""
    nodes = [
        TreeNode("physics", "account", 3.0),
        TreeNode("chemistry", "account", 1.0),
        TreeNode("ann", "user", 1.0, "physics"),
        TreeNode("bob", "user", NO_SHARE, "physics"),
        TreeNode("cem", "user", 1.0, "chemistry"),
        TreeNode("dot", "user", NO_SHARE),
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
        "dot": (0.0, None, 0.0, None),  # root has no siblings
    }
    for operator in ("absolute", "classic"):
        seen = shown(operator)
        assert seen["bob"] == (0.75, None, None, None)
        assert seen["dot"] == (1.0, None, None, None)
        assert {level_fs for *_, level_fs in seen.values()} == {None}


def test_what_is_open_is_charged_by_slurm_s_ticks_alone() -> None:
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
