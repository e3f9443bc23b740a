import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import usage


@pytest.mark.parametrize("kinds", [0, 1, 3, 2_048, 2_049, 6_000])
def test_numbering(kinds: int) -> None:
    random = np.random.Generator(np.random.PCG64(1))
    hashes = random.choice(random.integers(-(2**63), 2**63, kinds) >> 9 << 9, 3 * kinds)
    codes = np.empty(len(hashes), np.uint32)
    firsts, counts = np.empty(len(hashes), np.int64), np.empty(len(hashes), np.int64)
    count = usage.number(hashes, codes, firsts, counts)
    distinct, first, often = np.unique(hashes, return_index=True, return_counts=True)
    order = np.argsort(first)
    assert count == len(distinct)
    assert firsts[:count].tolist() == first[order].tolist()
    assert counts[:count].tolist() == often[order].tolist()
    assert hashes[firsts[codes]].tolist() == hashes.tolist()


@given(st.lists(st.integers(0, 4), max_size=20))
def test_grouping_is_a_stable_sort(numbers: list[int]) -> None:
    codes = np.array(numbers, np.uint32)
    counts = np.bincount(codes, minlength=5)
    rows = np.arange(len(numbers))
    out = np.empty_like(rows), np.empty_like(rows), np.empty(len(rows))
    places = np.cumsum(counts) - counts
    usage.group_by_owner(codes, rows, -rows, rows.astype(float), places, *out)
    order = np.argsort(codes, kind="stable").tolist()
    assert out[0].tolist() == order
    assert (-out[1]).tolist() == order
    assert out[2].tolist() == order
    assert places.tolist() == np.cumsum(counts).tolist()
