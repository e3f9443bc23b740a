"""Sums of tables by the hour of the week, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import hours_table as kernels

Shape = tuple[int, int, int, int, int]  # hours, reaches, rows, classes, blocks
SHAPES = st.tuples(*(st.integers(1, most) for most in (3, 4, 3, 4, 2)))
SEEDS = st.integers(0, 1 << 16)


def table_of(shape: Shape, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 100, shape).astype(np.float64)


@given(SHAPES, SEEDS, st.booleans())
def test_tails_hold_all_greater_reaches_and_classes(shape: Shape, seed: int, bounded: bool) -> None:
    table = table_of(shape, seed)
    found = table.copy()
    kernels.add_tails(found, bounded)
    for hour, reach, row, kind, block in np.ndindex(shape):
        classes = (
            table[hour, reach:, row, kind:, block]
            if bounded
            else (table[hour, reach:, row, kind, block])
        )
        assert found[hour, reach, row, kind, block] == classes.sum()


@given(st.integers(2, 4), st.integers(1, 3), st.integers(2, 3), st.integers(1, 3), SEEDS)
def test_the_best_stretch_is_that_of_the_definition(
    begins: int, days: int, classes: int, blocks: int, seed: int
) -> None:
    """Of all stretches and runs of blocks, one with the greatest score, and of these the shortest.

    A stretch holds the starts in its hours, and those before it that reach its begin.
    """
    random = np.random.default_rng(seed)
    hours, reaches, longest, least, raw = begins * days, 3, begins - 1, 20.0, 0.5
    tail = random.integers(0, 9, (hours, reaches, 3, classes, blocks)).astype(np.float64)
    tail[:, :, 1] *= random.random((hours, 1, classes, blocks)) < 0.4
    tail[:, :, :, 0] = tail.sum(3)
    row = random.integers(0, reaches, (begins, hours))
    circle = random.permutation(hours).reshape(days, begins)
    which = np.arange(1, classes)
    chance = random.random((len(which), blocks, blocks + 1)) / 4
    out = np.full((len(which), 2), -1)
    kernels.best_stretches(tail, row, circle, longest, which, chance, least, raw, out)
    known = tail.copy()
    known[:, -1] = 0  # the last reach is that of nobody

    def score(one: int, begin: int, count: int) -> float:
        closed = circle[:, (begin + np.arange(count)) % begins].ravel().tolist()
        reached = [0 if hour in closed else int(row[begin, hour]) for hour in range(hours)]
        held = known[range(hours), reached].sum(0)
        best = 0.0
        for first, behind in ((a, b) for a in range(blocks) for b in range(a + 1, blocks + 1)):
            withheld, starts = held[:2, one, first:behind].sum(1)
            idle, served = held[:2, 0, first:behind].sum(1) - (withheld, starts)
            enough = withheld + starts >= least and idle + served >= least
            if enough and starts * (idle + served) <= raw * served * (withheld + starts):
                best = max(best, chance[one - 1, first, behind] * (withheld + starts) - starts)
        return best

    for one, (begin, count) in zip(which.tolist(), out.tolist(), strict=True):
        every = {(b, n): score(one, b, n) for b in range(begins) for n in range(1, longest + 1)}
        best = max(every.values())
        if best == 0:
            assert count == 0
        else:
            assert every[begin, count] == pytest.approx(best)
            assert count == min(n for (_, n), value in every.items() if value > best - 1e-9)
