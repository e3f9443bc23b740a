import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import trees
from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.trees import NO_SHARE, Node, Tree, build
from audit.metrics.fairshare.vectors import history, ranks_of, serialise, vectors
from tests.metrics.fairshare.test_trees import SMALL, Grown, grown, planted, usage_of
from tests.naive import trees as naive


def test_a_worked_tree() -> None:
    tree = build(SMALL)  # root, vo1, vo2, local, vo1/u1, vo1/u2, vo2/u1
    assert trees.targets(tree)[1:].tolist() == [0.6, 0.3, 0.1, 0.75, 0.25, 1.0]
    used, state, priority, _ = history(tree, np.array([0.0, 2, 0, 8, 6, 2, 4]), "absolute")
    assert used.tolist() == [22, 10, 4, 8, 6, 2, 4]
    assert state[1:].tolist() == [10 / 22, 4 / 22, 8 / 22, 0.75, 0.25, 1.0]
    paths = vectors(tree, priority)
    assert paths[4].tolist() == [0.6 - 10 / 22, 0.0]
    assert paths[3].tolist() == [0.1 - 8 / 22, 0.0]
    # Users: both of vo1 alike, then vo2's (.118 < .145), then the local one, who used too much.
    assert ranks_of(tree, priority[np.newaxis])[0].tolist() == [0, 1, 2, 4, 1, 1, 3]


def test_a_user_without_a_share_stands_where_the_account_does() -> None:
    tree = build(
        [
            Node("a", "account", 1),
            Node("b", "account", 1),
            Node("rich", "user", 1, "a"),
            Node("poor", "user", 1, "a"),
            Node("as_a", "user", NO_SHARE, "a"),
            Node("other", "user", 1, "b"),
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
            Node("a", "account", NO_SHARE),
            Node("b", "account", 2),
            Node("u", "user", 1, "a"),
            Node("v", "user", 1, "a"),
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


@given(grown(), st.sampled_from(OPERATORS), st.randoms())
def test_the_order_in_which_nodes_are_given_changes_nothing(
    of: Grown, operator: str, random: object
) -> None:
    tree, places = planted(of)
    seen = history(tree, usage_of(of, tree, places)[np.newaxis], operator)
    order = list(range(len(of.nodes)))
    random.shuffle(order)  # type: ignore[attr-defined]
    other = Grown(tuple(of.nodes[k] for k in order), tuple(of.own[k] for k in order))
    moved, new_places = planted(other)
    again = history(moved, usage_of(other, moved, new_places)[np.newaxis], operator)
    assert [seen.ranks[0, places[k]] for k in order] == again.ranks[0, new_places].tolist()


@given(grown(), st.sampled_from(OPERATORS))
def test_what_others_use_does_not_reach_into_an_account(of: Grown, operator: str) -> None:
    """Subgroup isolation ([R] §3.2): siblings' priorities follow from their own usage alone."""
    tree, places = planted(of)
    own = usage_of(of, tree, places)
    above = trees.groups(tree)
    for account in set(above[1:].tolist()) - {0}:
        inside = [k for k in range(len(own)) if k and _is_below(tree, k, account)]
        other = own + 3.0
        other[inside] = own[inside]
        before, after = (
            history(tree, used[np.newaxis], operator).priorities[0] for used in (own, other)
        )
        members = above == account
        np.testing.assert_array_equal(before[members], after[members])


def _is_below(tree: Tree, node: int, account: int) -> bool:
    while node > 0 and node != account:
        node = int(tree.parents[node])
    return node == account


def test_wide_accounts_rank_as_narrow_ones_do() -> None:
    """More siblings than are sorted by moving them, with ties among them and across accounts."""
    rng = np.random.default_rng(5)
    nodes = [Node(f"a{k}", "account", 1.0) for k in range(4)]
    nodes += [Node(f"u{k}", "user", 1.0, f"a{k % 4}") for k in range(240)]
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
    coarse = [paths[k].round(5).tolist() for k in range(len(paths))]
    for before, after in pairwise(order):
        assert by_vector[before] >= by_vector[after] or coarse[before] == coarse[after]
