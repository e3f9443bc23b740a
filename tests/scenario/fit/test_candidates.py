"""The bound that best separates trials, against all bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Node
from audit.scenario.fit import judging
from audit.scenario.fit.candidates import LEAST_GAIN, SELDOM, best_split, gain, propose
from audit.scenario.fit.observed import observe
from audit.scenario.fit.site import Kind, Site
from tests.naive import fit as naive
from tests.oneoff.fit_policy.made import NOW, pool
from tests.strategies import ended, frame

trials = st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 9)), max_size=30)
"""Amount, whether served, and the number of such trials."""


@given(trials)
def test_the_best_split_is_the_best_of_all(found: list[tuple[int, bool, int]]) -> None:
    amount, served, number = np.array(found, np.int64).reshape(-1, 3).T
    split = best_split(np.repeat(amount, number), np.repeat(served.astype(bool), number))
    total = sum(s * w for _, s, w in found), sum(w for _, _, w in found)
    gains = {}
    for bound in {a for a, _, _ in found}:
        kept = sum(s * w for a, s, w in found if a > bound)
        tried = sum(w for a, _, w in found if a > bound)
        below = total[1] - tried
        if tried and kept / tried < SELDOM * (total[0] - kept) / below:
            gains[bound] = naive.gain(kept, tried, *total)
    best = max(gains.values(), default=0.0)
    if best < LEAST_GAIN - 1e-6:
        assert split is None
    elif best > LEAST_GAIN + 1e-6:
        assert split is not None
        assert gains[split] == pytest.approx(best)


def test_a_limit_of_three_by_hand() -> None:
    amount = np.array([1] * 20 + [2] * 20 + [3] * 20 + [4] * 10 + [7] * 10)
    served = amount <= 3
    assert best_split(amount, served) == 3
    assert best_split(amount, np.ones_like(served)) is None
    assert best_split(amount, ~served) is None, "served above the bound, not below"
    assert best_split(amount[:0], served[:0]) is None


def test_a_gain_is_never_negative() -> None:
    served, tried = np.array([0.0, 3.0, 10.0]), np.array([5.0, 5.0, 10.0])
    assert (gain(served, tried, (10.0, 20.0)) >= -1e-9).all()


@pytest.mark.parametrize(
    ("names", "declared", "whole"),
    [
        (("n1", "n2", "n3"), 0, [3]),
        (("n1", "n2", "n2"), 0, []),  # two jobs at a time on n2
        (("n1", "n1", "n1"), 3, [3]),
        (("n1", "n1", "n1"), 2, []),
        ((None, None, None), 0, [3]),
    ],
)
def test_jobs_on_more_nodes_than_there_are_shared_some(
    names: tuple[str | None, ...], declared: int, whole: list[int]
) -> None:
    rows = [ended(k, k, k + 99, 1, nodes=1, node_list=name) for k, name in enumerate(names)]
    nodes = tuple(Node(f"n{k}", (("cpus", 8),), ()) for k in range(declared))
    site = Site(pool(nodes=nodes))
    found = observe(describe(frame(rows), [site.pool]), site.pool, NOW)
    every = np.ones(len(rows), np.bool_)
    decided = judging.decide(found, site)
    proposed = propose(found, site, decided, every)
    assert [one.nodes for one in proposed if one.kind is Kind.nodes] == whole
