import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import trees as kernels

numbers = st.sampled_from([0.0, 0.1, 0.1, 0.5, 1.0, 1e-300, np.inf]) | st.floats(0, 1).map(abs)


@given(st.lists(st.lists(numbers, min_size=4, max_size=4), max_size=4), st.data())
def test_ranks_count_smaller_keys(rows: list[list[float]], data: st.DataObject) -> None:
    keys = np.array(rows, np.float64).reshape(-1, 4)
    marks = data.draw(st.lists(st.booleans(), min_size=keys.size, max_size=keys.size))
    ranked = np.array(marks, bool).reshape(keys.shape)
    out = np.full(keys.shape, -1)
    kernels.ranks(keys, ranked, out)
    expected = [
        [
            1 + sum(keys[k, other] < keys[k, one] for other in range(4) if ranked[k, other])
            if ranked[k, one]
            else 0
            for one in range(4)
        ]
        for k in range(len(keys))
    ]
    assert out.tolist() == expected


@pytest.mark.parametrize("equal", [False, True])
def test_many_ranks(equal: bool) -> None:
    keys = np.random.Generator(np.random.PCG64(1)).random((3, 300))
    if equal:
        keys[:] = 0.25
    out = np.full(keys.shape, -1)
    kernels.ranks(keys, np.ones(keys.shape, bool), out)
    for row, found in zip(keys, out.tolist(), strict=True):
        assert found == (1 + (row[:, np.newaxis] > row).sum(axis=1)).tolist()


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=5))
def test_marked_elements_are_kept_in_order(marks: list[list[bool]]) -> None:
    present = np.array(marks, bool).reshape(-1, 3)
    at = 100 * np.arange(len(present))
    rank = np.arange(present.size).reshape(present.shape)
    count = present.sum()
    as_of, column, ranks = np.empty(count, int), np.empty(count, np.uint32), np.empty(count, int)
    of, part = np.empty(count), np.empty(count)
    tables = (rank * np.float64(2), rank / 2, rank)
    kernels.keep_present(present, at, *tables, as_of, column, of, part, ranks)
    rows, columns = np.nonzero(present)
    assert as_of.tolist() == at[rows].tolist()
    assert column.tolist() == columns.tolist()
    assert ranks.tolist() == rank[present].tolist()
    assert (of / 2).tolist() == (part * 2).tolist() == ranks.tolist()
