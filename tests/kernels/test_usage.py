import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import usage

times = st.lists(st.integers(-30, 30), min_size=1, max_size=20, unique=True).map(sorted)
attempts = st.lists(
    st.tuples(
        st.integers(0, 3),  # owner
        st.integers(-40, 40),
        st.integers(0, 50),
        st.sampled_from([0.0, 0.1, 0.3, 1e9]),
    ),
    max_size=12,
).map(sorted)
Rows = list[tuple[int, int, int, float]]


def grouped(rows: Rows) -> usage.Attempts:
    owner, start, lasts = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    offsets = np.searchsorted(owner, np.arange(5))
    penalty = np.array([row[3] for row in rows], np.float64)
    return usage.Attempts(offsets, start, start + lasts, penalty)


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


def used(start: int, end: int, penalty: float, since: int, until: int) -> float:
    return penalty * max(min(end, until) - max(start, since), 0)


@given(attempts, times, st.integers(1, 4), st.data())
def test_windows(rows: Rows, edges: list[int], depth: int, data: st.DataObject) -> None:
    index = st.integers(0, len(edges) - 1)
    columns = st.lists(index, min_size=depth + 1, max_size=depth + 1)
    bounds = [sorted(data.draw(columns), reverse=True) for _ in range(3)]
    weights = [0.7**i for i in range(depth)]
    out, total = np.full((3, 4), np.nan), np.full(3, np.nan)
    usage.window_usage(
        grouped(rows), np.array(edges), np.array(bounds), np.array(weights), out, total
    )
    expected = [
        [
            math.fsum(
                weight * used(start, start + lasts, penalty, edges[since], edges[until])
                for of, start, lasts, penalty in rows
                if of == owner
                for weight, (until, since) in zip(weights, pairwise(indices), strict=True)
            )
            for owner in range(4)
        ]
        for indices in bounds
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=0)
    np.testing.assert_allclose(total, np.sum(expected, 1), rtol=1e-13, atol=0)


@given(attempts, times, st.sampled_from([0.5, 7.0, 1e6]))
def test_half_lives(rows: Rows, at: list[int], half_life: float) -> None:
    out, total = np.full((len(at), 4), np.nan), np.full(len(at), np.nan)
    usage.half_life_usage(grouped(rows), np.array(at), half_life, out, total)
    decay = math.log(2) / half_life

    def remains(start: int, end: int, now: int) -> float:
        end = min(end, now)
        age = decay * (now - end)
        return -math.exp(-age) * math.expm1(-decay * (end - start)) / decay if end > start else 0.0

    expected = [
        [
            math.fsum(p * remains(s, s + lasts, now) for of, s, lasts, p in rows if of == owner)
            for owner in range(4)
        ]
        for now in at
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(total, np.sum(expected, 1), rtol=1e-11, atol=1e-300)
