"""Fair Tree and classic fairshare: their definition, worked examples, what must not matter."""

import math
import random
from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import trees
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm.shares import (
    classic,
    fair_tree,
    level_shares,
    places,
    printed,
    run_minutes,
    summed,
    tree_of,
    usage_and_shares,
)
from audit.metrics.slurm.usage import SlurmUsage
from tests.naive import slurm
from tests.naive.slurm import Node

shares = st.one_of(st.none(), st.sampled_from([0, 1, 1, 2, 3]))
usages = st.sampled_from([0, 0, 1, 1, 2, 4])
users = st.builds(lambda share, used: Node("", share, used), shares, usages)
accounts = st.recursive(
    st.builds(lambda share: Node("", share, 0, []), shares),
    lambda below: st.builds(
        lambda share, children: Node("", share, 0, children),
        shares,
        st.lists(st.one_of(users, below), max_size=4),
    ),
    max_leaves=10,
)


@st.composite
def roots(draw: st.DrawFn) -> Node:
    """A tree of distinct names, and the usage of each node with all below it."""
    root = Node("root", 1, 0, draw(st.lists(st.one_of(users, accounts), min_size=1, max_size=5)))
    for number, node in enumerate(slurm.everybody(root)[1:]):
        node.name = f"{'u' if node.is_user else 'a'}{number}"

    def add(node: Node) -> int:
        if node.children is not None:
            node.usage = sum(add(child) for child in node.children)
        return node.usage

    add(root)
    return root


def associations(account: Node) -> Iterator[trees.TreeNode]:
    """All that is below an account."""
    for node in account.children or []:
        share = math.nan if node.share is None else float(node.share)
        yield trees.TreeNode(node.name, "user" if node.is_user else "account", share, account.name)
        yield from associations(node)


def with_usage(root: Node) -> tuple[Tree, np.ndarray]:
    tree = tree_of(associations(root))
    used = {node.name: node.usage for node in slurm.everybody(root)}
    return tree, np.array([float(used[name]) for name in tree.names])


def same(fast: float, slow: float | None) -> bool:
    if slow is None:
        return math.isnan(fast)
    return fast == pytest.approx(slow, rel=1e-12)


@given(root=roots())
def test_fair_tree_is_what_its_rules_say(root: Node) -> None:
    tree, used = with_usage(root)
    found = fair_tree(tree, used)
    slow = slurm.fair_tree(root)
    for node, name in list(enumerate(tree.names))[1:]:
        seen = slow[name]
        assert same(found.norm_shares[node], seen.norm_shares), name
        assert same(found.norm_usage[node], seen.norm_usage), name
        assert same(found.effective_usage[node], seen.effective), name
        assert same(found.level_fs[node], seen.level_fs), name
        assert same(found.fairshare[node], seen.fairshare), name


@given(root=roots(), dampening=st.sampled_from([1.0, 3.0]))
def test_classic_is_what_its_rules_say(root: Node, dampening: float) -> None:
    tree, used = with_usage(root)
    found = classic(tree, used, dampening)
    slow = slurm.classic(root, dampening)
    for node, name in list(enumerate(tree.names))[1:]:
        seen = slow[name]
        assert same(found.norm_shares[node], seen.norm_shares), name
        assert same(found.effective_usage[node], seen.effective), name
        assert same(found.fairshare[node], seen.fairshare), name
        assert math.isnan(found.level_fs[node])


@given(root=roots(), seed=st.integers(0, 9))
def test_the_order_of_associations_does_not_matter(root: Node, seed: int) -> None:
    rows = list(associations(root))
    shuffled = rows.copy()
    random.Random(seed).shuffle(shuffled)
    assert repr(tree_of(rows)) == repr(tree_of(shuffled))


@given(root=roots())
def test_what_is_used_below_adds_up(root: Node) -> None:
    tree, used = with_usage(root)
    own = np.where([kind == "user" for kind in tree.kinds], used, 0.0)
    assert summed(tree, own).tolist() == used.tolist()
    assert summed(tree, np.stack([own, 2 * own])).tolist() == [used.tolist(), (2 * used).tolist()]


def account(name: str, share: float = 1.0, parent: str = "root") -> trees.TreeNode:
    return trees.TreeNode(name, "account", share, parent)


def user(
    account: str, name: str, share: float = 1.0, partition: str | None = None
) -> trees.TreeNode:
    return trees.TreeNode(name, "user", share, account, partition)


def test_the_tree_stands_in_the_order_of_sshare() -> None:
    tree = tree_of(
        [
            account("b"),
            user("b", "zoe"),
            account("c", parent="b"),
            user("b", "amy", partition="short"),
            user("b", "amy"),
            account("a"),
            user("root", "root"),
        ]
    )
    assert tree.names == ("root", "root", "a", "b", "amy", "amy", "zoe", "c")
    assert tree.partitions == (None, None, None, None, "short", None, None, None)
    assert tree.parents.tolist() == [-1, 0, 0, 0, 3, 3, 3, 3]
    assert printed(tree) == list(range(8))
    tree = tree_of([account("b"), user("b", "zoe"), account("c")])
    assert tree.names == ("root", "b", "c", "zoe")
    assert printed(tree) == [0, 1, 3, 2]


def test_members_of_an_account_with_parent_compete_with_its_siblings() -> None:
    tree = tree_of(
        [
            account("p", share=math.nan),
            user("p", "in_p", 2.0),
            account("q", share=6.0),
            user("root", "single", math.nan),
        ]
    )
    assert tree.names == ("root", "single", "p", "q", "in_p")
    assert level_shares(tree).tolist() == [1.0, 8.0, 8.0, 8.0, 8.0]
    found = fair_tree(tree, np.array([4.0, 0.0, 3.0, 1.0, 3.0]))
    assert found.level_fs[3:].tolist() == [0.75 / 0.25, 0.25 / 0.75]
    assert found.fairshare.tolist() == pytest.approx(
        [math.nan, 1.0, math.nan, math.nan, 0.5], nan_ok=True
    )


def test_accounts_that_tie() -> None:
    """As the lab of 22.05 ranked them: with share 0 both have LevelFS 0."""
    tree = tree_of(
        [
            user("root", "root"),
            account("t1", share=0.0),
            user("t1", "ana"),
            user("t1", "ben"),
            account("t2", share=0.0),
            user("t2", "cyd", 3.0),
            user("t2", "dot", 1.0),
            user("t2", "eve", 5.0),
        ]
    )
    assert tree.names == ("root", "root", "t1", "t2", "ana", "ben", "cyd", "dot", "eve")
    used = np.array([7.0, 0.0, 3.0, 4.0, 1.0, 2.0, 2.0, 1.0, 1.0])
    users = [1, 4, 5, 6, 7, 8]
    ranks = fair_tree(tree, used).fairshare[users] * 6
    assert ranks.tolist() == pytest.approx([6, 5, 4, 2, 1, 4])  # eve with ben


def test_an_account_without_members_ranks_nobody() -> None:
    """The last user of physics is the last who was ranked, though an empty account comes after."""
    tree = tree_of(
        [
            account("chem"),
            user("chem", "ana"),
            account("empty", math.nan, "chem"),
            account("physics"),
            user("physics", "ben"),
        ]
    )
    assert tree.names == ("root", "chem", "physics", "ana", "empty", "ben")
    used = np.array([2.0, 1.0, 1.0, 1.0, 0.0, 1.0])  # chem and physics tie
    assert fair_tree(tree, used).fairshare[[3, 5]].tolist() == [1.0, 1.0]


def test_members_of_an_account_with_parent_stand_after_it() -> None:
    """As in ``sshare``: inner before outer, whose best user then ties with inner's last."""
    tree = tree_of(
        [
            account("all", math.nan),
            account("inner", parent="all"),
            user("inner", "ana"),
            account("outer"),
            user("outer", "best", math.nan),
            user("outer", "last", 0.0),
        ]
    )
    assert tree.names == ("root", "all", "outer", "inner", "best", "last", "ana")
    assert [tree.names[node] for node in printed(tree)][1:4] == ["all", "inner", "ana"]
    used = np.array([2.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0])  # inner and outer tie
    ranks = fair_tree(tree, used).fairshare[[6, 4, 5]] * 3
    assert ranks.tolist() == pytest.approx([3, 3, 1])


def test_classic_by_hand() -> None:
    """Slurm's own example: U_E = U_A + (U_E,account − U_A) · S / ΣS; 2^(−U_E/S)."""
    tree = tree_of(
        [account("a", share=1.0), account("b", share=3.0),
         user("a", "x", 1.0), user("a", "y", 1.0)]
    )  # fmt: skip
    assert tree.names == ("root", "a", "b", "x", "y")
    found = classic(tree, np.array([10.0, 6.0, 4.0, 6.0, 0.0]))
    assert found.norm_shares.tolist() == [1.0, 0.25, 0.75, 0.125, 0.125]
    assert found.effective_usage.tolist() == pytest.approx([1.0, 0.6, 0.4, 0.6, 0.3])
    assert found.fairshare[3:].tolist() == pytest.approx([2**-4.8, 2**-2.4])


def test_deep_trees_are_no_danger() -> None:
    depth = 3_000
    rows = [account("a0")]
    rows += [account(f"a{n}", parent=f"a{n - 1}") for n in range(1, depth)]
    tree = tree_of([*rows, user(f"a{depth - 1}", "u")])
    assert fair_tree(tree, np.ones(depth + 2)).fairshare[-1] == 1.0
    assert classic(tree, np.ones(depth + 2)).fairshare[-1] == 0.5


# whose an attempt is -----------------------------------------------------------------------------


def test_attempts_find_their_association() -> None:
    tree = tree_of(
        [
            account("a"),
            user("a", "x"),
            user("a", "x", partition="short"),
            user("a", "only", partition="short"),
        ]
    )
    jobs = pl.DataFrame(
        [
            ("x", "a", "batch", 0),
            ("x", "a", "short", 0),
            ("only", "a", "short", 0),
            ("only", "a", "batch", 0),  # none for this partition
            ("left", "a", "batch", 0),
            ("x", "gone", "batch", 0),
            ("x", None, "batch", 0),
            (None, "a", None, 0),
            ("left", "a", "batch", None),  # never started: not said
        ],
        schema={"user": pl.String, "account": pl.String, "partition": pl.String,
                "start_time": pl.Int64},
        orient="row",
    )  # fmt: skip
    found = places(tree, jobs)
    named = [(tree.names[n], tree.partitions[n]) if n >= 0 else None for n in found.nodes]
    assert named == [
        ("x", None), ("x", "short"), ("only", "short"), ("a", None), ("a", None), ("root", None),
        None, ("a", None), ("a", None),
    ]  # fmt: skip
    assert found.strange_users == {"a": 3}
    assert found.strange_accounts == {"gone": 1}
    assert found.nameless == 1


UNDECAYED = SlurmUsage(half_life_s=1e12, period_s=10)
"""Ticks at 0, 10, 20, …"""


def tree() -> Tree:
    """Root, physics and chemistry, ann and bob."""
    return tree_of(
        [
            trees.TreeNode("physics", "account", 3.0, "root"),
            trees.TreeNode("ann", "user", 1.0, "physics"),
            trees.TreeNode("chemistry", "account", 1.0, "root"),
            trees.TreeNode("bob", "user", 1.0, "chemistry"),
        ]
    )


def used(*jobs: tuple[str, int, int]) -> Grouped:
    """One billed unit of each user from and to."""
    names = tree().names
    ordered = sorted((names.index(name), start, end) for name, start, end in jobs)
    nodes = [node for node, *_ in ordered]
    return Grouped(
        np.searchsorted(nodes, np.arange(len(names) + 1)).astype(np.int64),
        np.array([start for _, start, _ in ordered], np.int64),
        np.array([end for *_, end in ordered], np.int64),
        np.ones(len(ordered)),
    )


def test_raw_usage_grows_between_ticks_and_ranks_do_not() -> None:
    """At 27: what ann ended at 24 shows, what bob runs does not; factors are of the tick at 20."""
    names = tree().names
    ann, bob = names.index("ann"), names.index("bob")
    grouped = used(("ann", 12, 24), ("bob", 14, 90))
    raw, shares = usage_and_shares(tree(), grouped, UNDECAYED, 27)
    assert raw[[0, ann, bob]].tolist() == pytest.approx([18, 12, 6])
    assert shares.norm_usage[[ann, bob]].tolist() == pytest.approx([8 / 14, 6 / 14])
    assert shares.fairshare[[ann, bob]].tolist() == [1.0, 0.5]


def test_accounts_of_classic_fairshare_are_a_tick_behind() -> None:
    names = tree().names
    ann, physics = names.index("ann"), names.index("physics")
    grouped = used(("ann", 2, 24), ("bob", 0, 90))

    def norm_usage(*, just_recalculated: bool) -> np.ndarray:
        _, shares = usage_and_shares(
            tree(),
            grouped,
            UNDECAYED,
            20,
            algorithm="classic",
            just_recalculated=just_recalculated,
        )
        return shares.norm_usage[[physics, ann]]

    assert norm_usage(just_recalculated=True).tolist() == pytest.approx([18 / 38, 18 / 38])
    assert norm_usage(just_recalculated=False).tolist() == pytest.approx([8 / 18, 18 / 38])


def test_what_running_jobs_may_still_use() -> None:
    """Up to their walltimes as of the tick; ended, waiting or unowned attempts do not count."""
    jobs = pl.DataFrame(
        {
            "start_time": [100, 100, 0, None, 100, 130],
            "end_time": [None, 500, 90, None, None, None],
            "walltime_s": [620, 260, 900, 900, 900, None],
            "usage_factor": [1.0, 0.5, 1.0, 1.0, 1.0, 1.0],
        }
    )
    names = tree().names
    ann, bob = names.index("ann"), names.index("bob")
    nodes = np.array([ann, bob, ann, ann, -1, bob])
    amounts = {"cpu": pl.Series([2.0, 4.0, 1.0, 1.0, 1.0, 1.0])}
    minutes = run_minutes(
        tree(), nodes, jobs, amounts, ["cpu", "mem"], at=150, tick=120, period_s=60
    )
    # ann 2 · 600 s, bob 4 · 240 s · ½
    assert minutes[0, [0, ann, bob]].tolist() == [28, 20, 8]
    assert not minutes[1].any()


def test_seconds_times_a_factor_are_rounded_down_at_each_tick() -> None:
    """A run of 131 s has ticks after 11, 71 and 131 s: 2 + 2 · 15 of its 91 s are used."""
    jobs = pl.DataFrame(
        {"start_time": [109], "end_time": [None], "walltime_s": [364], "usage_factor": [0.25]},
        schema_overrides={"end_time": pl.Int64},
    )
    ann = tree().names.index("ann")
    minutes = run_minutes(
        *(tree(), np.array([ann]), jobs, {"cpu": pl.Series([600.0])}, ["cpu"]),
        at=250,
        tick=240,
        period_s=60,
    )
    assert minutes[0, ann] == 10 * (91 - 2 - 2 * 15)
