import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import trees
from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.trees import (
    NO_SHARE,
    Tree,
    TreeNode,
    build,
    history,
    serialise,
    vectors,
)
from tests.naive import trees as naive
from tests.naive.fairshare import near_vectors

# Two virtual organizations and a local queue, as in [R] fig. 2.
SMALL = (
    TreeNode("vo1", "account", 60),
    TreeNode("vo2", "account", 30),
    TreeNode("local", "user", 10),
    TreeNode("u1", "user", 3, "vo1"),
    TreeNode("u2", "user", 1, "vo1"),
    TreeNode("u1", "user", 1, "vo2"),
)


@dataclass(frozen=True)
class Grown:
    nodes: tuple[TreeNode, ...]
    own: tuple[int, ...]


@st.composite
def grown(draw: st.DrawFn) -> Grown:
    """Trees up to four levels deep, few distinct shares and usages so that there are ties."""
    shares = st.sampled_from([0.0, 1.0, 1.0, 2.0, NO_SHARE])
    nodes: list[TreeNode] = []
    for number in range(draw(st.integers(0, 5))):
        above = draw(st.sampled_from([None, *(node.name for node in nodes)]))
        nodes.append(TreeNode(f"a{number}", "account", draw(shares), above))
    accounts = [node.name for node in nodes]
    for number in range(draw(st.integers(1, 6))):
        above = draw(st.sampled_from([None, *accounts]))
        nodes.append(TreeNode(f"u{number}", "user", draw(shares), above))
    own = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 4]), min_size=11, max_size=11))
    order = draw(st.permutations(range(len(nodes))))
    return Grown(tuple(nodes[k] for k in order), tuple(own[: len(nodes)]))


def planted(of: Grown) -> tuple[Tree, list[int]]:
    """The tree, and the index in it of each of the nodes."""
    tree = build(of.nodes, all_zero=True)
    places = {key: k for k, key in enumerate(zip(tree.kinds, tree.names, strict=True))}
    return tree, [places[node.kind, node.name] for node in of.nodes]


def usage_of(of: Grown, tree: Tree, places: list[int]) -> np.ndarray:
    own = np.zeros(len(tree.names))
    own[places] = of.own
    return own


# --- making one ----------------------------------------------------------------------------------


def test_parents_come_first_and_siblings_stand_together() -> None:
    tree = build(reversed(SMALL))
    assert tree.names == ("root", "local", "vo2", "vo1", "u1", "u2", "u1")
    assert tree.parents.tolist() == [-1, 0, 0, 0, 2, 3, 3]
    assert tree.kinds[0] == "account"
    assert tree.shares.tolist()[1:] == [10, 30, 60, 1, 1, 3]


@given(grown())
def test_every_tree_has_its_nodes_below_their_accounts(of: Grown) -> None:
    tree, places = planted(of)
    assert sorted(places) == list(range(1, len(tree.names)))
    assert (tree.parents[1:] < np.arange(1, len(tree.names))).all()
    for node, place in zip(of.nodes, places, strict=True):
        assert tree.names[tree.parents[place]] == (node.parent or "root")


def test_all_faults_are_reported_at_once() -> None:
    nodes = [
        TreeNode("", "user", 1),
        TreeNode("a", "account", -1),
        TreeNode("a", "account", 1),
        TreeNode("root", "account", 1),
        TreeNode("b", "account", math.inf, "c"),
        TreeNode("c", "account", 1, "b"),
        TreeNode("d", "account", 1, "d"),
        TreeNode("u", "user", 1, "a"),
        TreeNode("u", "user", 2, "a"),
        TreeNode("u", "user", 2, "a", "gpu"),
        TreeNode("v", "user", 1, "u"),
        TreeNode("w", "user", 1, "nobody"),
        TreeNode("x", "user", 0, "c"),
        TreeNode("e", "account", 1, None, "gpu"),
    ]
    with pytest.raises(ValueError, match="a cycle") as caught:
        build(nodes)
    assert str(caught.value).split("\n") == [
        "user '': its name is empty",
        "account 'a': share -1: must be a number of at least 0",
        "account 'a': is given twice",
        "account 'root': is the root itself, which has no share: leave it out",
        "account 'b': share inf: must be a number of at least 0",
        "user 'u' of account 'a': is given twice",
        "user 'v' of account 'u': its account 'u' is a user, and has no children",
        "user 'w' of account 'nobody': its account 'nobody' is not given",
        "account 'e': partition 'gpu': only users have shares by partition",
        "accounts 'b' → 'c' → 'b': a cycle",
        "accounts 'd' → 'd': a cycle",
    ]


def test_siblings_without_any_share_are_refused_unless_requested() -> None:
    nodes = [
        TreeNode("a", "account", 1),
        TreeNode("u", "user", 0, "a"),
        TreeNode("v", "user", 0, "a"),
    ]
    with pytest.raises(ValueError, match="children of account 'a': all shares are 0"):
        build(nodes)
    assert trees.targets(build(nodes, all_zero=True)).tolist()[1:] == [1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="directly below the root: all shares are 0"):
        build([TreeNode("u", "user", 0)])
    # Users who rank as their account have no share that could be 0.
    build([TreeNode("a", "account", 1), TreeNode("u", "user", NO_SHARE, "a")])
    with pytest.raises(ValueError, match="has no account and no user"):
        build([])


def test_a_flat_tree_has_one_level() -> None:
    assert trees.targets(trees.flat(["a", "b"]))[1:].tolist() == [0.5, 0.5]
    some = trees.flat(["a", "b", "c"], {"a": 1, "b": 3}, kind="account")
    assert trees.targets(some)[1:].tolist() == [0.25, 0.75, 0.0]
    assert some.kinds[1:] == ("account",) * 3
    with pytest.raises(ValueError, match="share of 'z': no such user"):
        trees.flat(["a"], {"a": 1, "z": 1})


# --- attempts and nodes --------------------------------------------------------------------------


def test_attempts_belong_to_the_most_specific_node() -> None:
    tree = build([*SMALL, TreeNode("u1", "user", 1, "vo1", "gpu"), TreeNode("bare", "account", 1)])
    place = {
        (tree.names[parent], name, partition): k
        for k, (name, parent, partition) in enumerate(
            zip(tree.names, tree.parents, tree.partitions, strict=True)
        )
    }
    asked: list[tuple[str | None, str | None, str | None, int]] = [
        ("u1", "vo1", "gpu", place["vo1", "u1", "gpu"]),
        ("u1", "vo1", "cpu", place["vo1", "u1", None]),
        ("u1", "vo1", None, place["vo1", "u1", None]),
        ("u1", "vo2", "gpu", place["vo2", "u1", None]),
        ("local", "root", None, place["root", "local", None]),
        ("stranger", "vo1", "gpu", place["root", "vo1", None]),
        (None, "vo2", None, place["root", "vo2", None]),
        ("u1", "bare", None, place["root", "bare", None]),
        ("u1", "elsewhere", None, -1),
        ("u1", None, None, -1),
    ]
    columns = [
        pl.Series(list(column), dtype=pl.String) for column in list(zip(*asked, strict=True))[:3]
    ]
    found = trees.leaf_of(tree, *columns)
    assert found.tolist() == [wanted for *_, wanted in asked]


def test_users_of_a_flat_tree_are_found_whatever_their_account() -> None:
    tree = trees.flat(["a", "b"])
    found = trees.leaf_of(tree, pl.Series(["b", None, "c", "a"]), None)
    assert found.tolist() == [2, -1, -1, 1]


def test_no_attempts_belong_to_no_node() -> None:
    nothing = pl.Series([], dtype=pl.String)
    assert trees.leaf_of(build(SMALL), nothing, nothing).tolist() == []


# --- redistribution ------------------------------------------------------------------------------


def test_unused_share_goes_to_the_active_siblings() -> None:
    tree = build(SMALL)
    active = np.zeros(7, bool)
    active[[4, 6]] = True  # vo1/u1 and vo2/u1: vo1, vo2 are active, the local user is not
    virtual = trees.redistributed(tree, active)
    assert virtual[1:].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 1, 0, 1])
    assert (trees.redistributed(tree, np.ones(7, bool))[1:] == trees.targets(tree)[1:]).all()
    assert not trees.redistributed(tree, np.zeros(7, bool))[1:].any()


@given(grown(), st.lists(st.booleans(), min_size=12, max_size=12))
def test_virtual_targets_keep_proportions(of: Grown, flags: list[bool]) -> None:
    """[R] eq. 15: t'_i / t'_j = t_i / t_j among those who are active, and none gets less."""
    tree, _ = planted(of)
    active = np.array(flags[: len(tree.names)])
    virtual, targets = trees.redistributed(tree, active), trees.targets(tree)
    above = trees.groups(tree)
    for account in set(above[1:].tolist()):
        members = np.flatnonzero((above == account) & trees.shared(tree))
        some = [k for k in members if virtual[k] > 0]
        assert not some or virtual[some].sum() == pytest.approx(1)
        for k in some:
            assert virtual[k] >= targets[k] - 1e-15
            assert virtual[k] * targets[some[0]] == pytest.approx(virtual[some[0]] * targets[k])


def test_a_worked_tree() -> None:
    tree = build(SMALL)  # root, vo1, vo2, local, vo1/u1, vo1/u2, vo2/u1
    assert trees.targets(tree)[1:].tolist() == [0.6, 0.3, 0.1, 0.75, 0.25, 1.0]
    used, state, priority, rank = history(tree, np.array([0.0, 2, 0, 8, 6, 2, 4]), "absolute")
    assert used.tolist() == [22, 10, 4, 8, 6, 2, 4]
    assert state[1:].tolist() == [10 / 22, 4 / 22, 8 / 22, 0.75, 0.25, 1.0]
    paths = vectors(tree, priority)
    assert paths[4].tolist() == [0.6 - 10 / 22, 0.0]
    assert paths[3].tolist() == [0.1 - 8 / 22, 0.0]
    # Users: both of vo1 alike, then vo2's (.118 < .145), then the local one, who used too much.
    assert rank.tolist() == [0, 1, 2, 4, 1, 1, 3]


def test_a_user_without_a_share_stands_where_the_account_does() -> None:
    tree = build(
        [
            TreeNode("a", "account", 1),
            TreeNode("b", "account", 1),
            TreeNode("rich", "user", 1, "a"),
            TreeNode("poor", "user", 1, "a"),
            TreeNode("as_a", "user", NO_SHARE, "a"),
            TreeNode("other", "user", 1, "b"),
        ]
    )
    seen = history(tree, np.array([[0.0, 0, 0, 3, 1, 1, 5]]), "relative")
    assert math.isnan(seen.states[0, 5])
    assert seen.states[0, 3] == 0.75  # of what those with shares used
    assert seen.usage[0, 1] == 5  # the account's is that of all
    places = dict(zip(tree.names, seen.ranks[0].tolist(), strict=True))
    assert places == {"root": 0, "a": 1, "b": 1, "poor": 1, "as_a": 2, "other": 2, "rich": 4}


def test_children_of_an_account_without_a_share_compete_one_level_up() -> None:
    tree = build(
        [
            TreeNode("a", "account", NO_SHARE),
            TreeNode("b", "account", 2),
            TreeNode("u", "user", 1, "a"),
            TreeNode("v", "user", 1, "a"),
        ]
    )
    assert trees.targets(tree)[2:].tolist() == [0.5, 0.25, 0.25]
    state = history(tree, np.array([0.0, 0, 4, 3, 1]), "absolute").states
    assert state[2:].tolist() == [0.5, 0.375, 0.125]
    assert trees.depths(tree).tolist() == [0, 0, 1, 1, 1]


@given(grown(), st.sampled_from(OPERATORS))
def test_a_history_is_what_its_definition_says(of: Grown, operator: str) -> None:
    tree, places = planted(of)
    own = usage_of(of, tree, places)
    seen = history(tree, np.array([np.zeros_like(own), own]), operator)
    targets = trees.targets(tree)
    paths = vectors(tree, seen.priorities[1])
    for node, place in zip(of.nodes, places, strict=True):
        assert seen.usage[1, place] == naive.used(of.nodes, of.own, node)
        if naive.is_shared(node):
            assert targets[place] == pytest.approx(float(naive.target(of.nodes, node)))
            part = float(naive.state(of.nodes, of.own, node))
            assert seen.states[1, place] == pytest.approx(part)
        else:
            assert np.isnan([targets[place], seen.states[1, place]]).all()
        wanted = naive.vector(of.nodes, of.own, operator, node)
        wanted += [0.0] * (paths.shape[-1] - len(wanted))
        assert paths[place].tolist() == pytest.approx(wanted)
    for kind in ("user", "account"):
        some = [k for k in range(1, len(tree.names)) if tree.kinds[k] == kind]
        if some:
            wanted_ranks = naive.ranks(paths[some].tolist())
            assert seen.ranks[1, some].tolist() == wanted_ranks


def test_wide_accounts_rank_as_narrow_ones_do() -> None:
    """More siblings than are sorted by moving them, with ties among them and across accounts."""
    rng = np.random.default_rng(5)
    nodes = [TreeNode(f"a{k}", "account", 1.0) for k in range(4)]
    nodes += [TreeNode(f"u{k}", "user", 1.0, f"a{k % 4}") for k in range(240)]
    tree = build(nodes)
    usage = np.zeros((3, len(tree.names)))
    usage[:, 5:] = rng.integers(0, 6, (3, 240))
    usage[1, 5:] = np.tile(usage[1, 5:65], 4)  # all accounts tie
    seen = history(tree, usage, "sigmoid")
    for row in range(3):
        wanted = naive.ranks(vectors(tree, seen.priorities[row])[5:].tolist())
        assert seen.ranks[row, 5:].tolist() == wanted


def test_usage_that_is_none_is_refused() -> None:
    tree = build(SMALL)
    with pytest.raises(ValueError, match="3 columns for 7 nodes"):
        history(tree, np.zeros((2, 3)), "slurm")
    with pytest.raises(ValueError, match="must not be below 0"):
        history(tree, np.full(7, -1.0), "slurm")
    with pytest.raises(ValueError, match="must not be below 0"):
        history(tree, np.full(7, math.nan), "slurm")
    with pytest.raises(ValueError, match="choose one of"):
        history(tree, np.zeros((1, 7)), "fair_tree")
    assert history(tree, np.zeros((0, 7)), "slurm").ranks.shape == (0, 7)


# --- serialisation -------------------------------------------------------------------------------


def test_serialised_as_in_figure_4() -> None:
    paths = np.array([[0.0, -0.4], [1.0, -1.0]])
    assert serialise(paths, 10_000).tolist() == ["49992999", "99990000"]
    assert serialise(paths, 100).tolist() == ["4929", "9900"]
    assert serialise(paths, 10_000, as_published=True).tolist() == ["50003000", "99990000"]


def test_too_small_a_resolution_turns_an_order_round() -> None:
    """[R] fig. 5: first components fall together, and the second decides wrongly."""
    u1, u2 = np.array([0.505, -0.8]), np.array([0.5, 0.8])
    assert naive.ranks([u1.tolist(), u2.tolist()]) == [1, 2]
    for resolution, right in ((100, False), (1_000, True)):
        first, second = serialise(np.array([u1, u2]), resolution)
        assert (first > second) is right


@given(grown(), st.sampled_from(OPERATORS))
def test_texts_order_as_digits_do(of: Grown, operator: str) -> None:
    tree, places = planted(of)
    seen = history(tree, usage_of(of, tree, places)[np.newaxis], operator)
    paths = vectors(tree, np.nan_to_num(seen.priorities[0]))[1:]
    texts = serialise(paths, 1 << 20).tolist()
    order = sorted(range(len(texts)), key=texts.__getitem__)
    by_vector = naive.ranks(paths.tolist())
    for before, after in pairwise(order):
        near = near_vectors(paths[before].tolist(), paths[after].tolist(), within=1e-5)
        assert by_vector[before] >= by_vector[after] or near
