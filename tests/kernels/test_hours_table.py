"""Sums of tables by the hour of the week, against their definitions."""

import numpy as np
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


@given(st.integers(2, 4), st.integers(1, 3), st.integers(1, 3), SEEDS)
def test_stretches_of_overlap_forbid_starts_before_them(
    begins: int, days: int, most: int, seed: int
) -> None:
    """Each further hour adds its starts that the begin of the stretch does not forbid already."""
    random = np.random.default_rng(seed)
    hours, reaches, width = begins * days, 3, 2
    tail = random.integers(0, 100, (hours, reaches, width)).astype(np.float64)
    row = random.integers(0, reaches, (begins, hours))
    circle = np.arange(hours).reshape(days, begins)
    base, added = np.zeros((begins, width)), np.zeros((begins, min(most, begins - 1), width))
    kernels.stretches_of_overlap(tail, row, circle, base, added)
    for begin in range(begins):
        before = [tail[hour, row[begin, hour]] for hour in range(hours)]
        assert base[begin].tolist() == np.sum(before, 0).tolist()
        for k in range(added.shape[1]):
            closed = [int(circle[day, (begin + k) % begins]) for day in range(days)]
            expected = sum(tail[hour, 0] - before[hour] for hour in closed)
            assert added[begin, k].tolist() == expected.tolist()
