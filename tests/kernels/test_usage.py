"""Each kernel as compiled and as plain Python, which would trip over an index out of range."""

import bisect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import usage
from tests.kernels.forms import BOTH, FORMS, Form

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
Attempts = list[tuple[int, int, int, float]]


def grouped(rows: Attempts) -> tuple[Any, ...]:
    owner, start, lasts = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    offsets = np.searchsorted(owner, np.arange(5))
    return offsets, start, start + lasts, np.array([row[3] for row in rows])


@BOTH
@given(times, st.integers(-32, 32), st.data())
def test_the_last_at_or_before(
    form: Form, ascending: list[int], instant: int, data: st.DataObject
) -> None:
    near = data.draw(st.integers(0, len(ascending) - 1))
    found = form(usage.last_at_or_before)(np.array(ascending), instant, near)
    assert found == bisect.bisect_right(ascending, instant) - 1


@BOTH
@pytest.mark.parametrize("kinds", [0, 1, 3, 2_048, 2_049, 6_000])
def test_numbering(form: Form, kinds: int) -> None:
    random = np.random.Generator(np.random.PCG64(1))
    hashes = random.choice(random.integers(-(2**63), 2**63, kinds) >> 9 << 9, 3 * kinds)
    codes = np.empty(len(hashes), np.uint32)
    firsts, counts = np.empty(len(hashes), np.int64), np.empty(len(hashes), np.int64)
    count = form(usage.number)(hashes, codes, firsts, counts)
    distinct, first, often = np.unique(hashes, return_index=True, return_counts=True)
    order = np.argsort(first)
    assert count == len(distinct)
    assert firsts[:count].tolist() == first[order].tolist()
    assert counts[:count].tolist() == often[order].tolist()
    assert hashes[firsts[codes]].tolist() == hashes.tolist()


@BOTH
@given(st.lists(st.integers(0, 4), max_size=20))
def test_grouping_is_a_stable_sort(form: Form, numbers: list[int]) -> None:
    codes = np.array(numbers, np.uint32)
    counts = np.bincount(codes, minlength=5)
    rows = np.arange(len(numbers))
    out = [np.empty_like(rows), np.empty_like(rows), np.empty(len(rows))]
    places = np.cumsum(counts) - counts
    form(usage.group_by_owner)(codes, rows, -rows, rows.astype(float), places, *out)
    order = np.argsort(codes, kind="stable").tolist()
    assert out[0].tolist() == order
    assert (-out[1]).tolist() == order
    assert out[2].tolist() == order
    assert places.tolist() == np.cumsum(counts).tolist()


@given(attempts, times, st.integers(1, 4), st.data())
def test_windows_are_the_same_in_both_forms(
    rows: Attempts, cuts: list[int], depth: int, data: st.DataObject
) -> None:
    edges = np.array(cuts)
    index = st.integers(0, len(edges) - 1)
    columns = st.lists(index, min_size=depth + 1, max_size=depth + 1)
    bounds = np.array([sorted(data.draw(columns), reverse=True) for _ in range(3)], np.int64)
    weights = np.array([0.7**i for i in range(depth)])
    got = []
    for form in FORMS:
        out, total = np.full((3, 4), np.nan), np.full(3, np.nan)
        form(usage.window_usage)(*grouped(rows), edges, bounds, weights, out, total)
        form(usage.enter)(
            *(*grouped(rows)[1:], 0, len(rows), edges, 0.0, usage.spans(len(edges) - 1))
        )
        assert not np.isnan(out).any()
        got.append((out.tolist(), total.tolist()))
    assert got[0] == got[1]


@given(attempts, times, st.sampled_from([0.5, 7.0, 1e6]))
def test_half_lives_are_the_same_in_both_forms(
    rows: Attempts, at: list[int], half_life: float
) -> None:
    got = []
    for form in FORMS:
        out, total = np.full((len(at), 4), np.nan), np.full(len(at), np.nan)
        form(usage.half_life_usage)(*grouped(rows), np.array(at), half_life, out, total)
        form(usage.enter)(
            *(*grouped(rows)[1:], 0, len(rows), np.array([usage.BEFORE_ALL, *at])),
            *(usage.LN_2 / half_life, usage.spans(len(at))),
        )
        assert not np.isnan(out).any()
        got.append((out, total))
    np.testing.assert_allclose(got[0][0], got[1][0], rtol=1e-13, atol=0)
    np.testing.assert_allclose(got[0][1], got[1][1], rtol=1e-13, atol=0)


numbers = st.sampled_from([0.0, 0.1, 0.1, 0.5, 1.0, 1e-300, np.inf]) | st.floats(0, 1).map(abs)


@BOTH
@given(st.lists(st.lists(numbers, min_size=4, max_size=4), max_size=4), st.data())
def test_ranks_count_who_is_before(
    form: Form, rows: list[list[float]], data: st.DataObject
) -> None:
    keys = np.array(rows, np.float64).reshape(-1, 4)
    marks = data.draw(st.lists(st.booleans(), min_size=keys.size, max_size=keys.size))
    ranked = np.array(marks, bool).reshape(keys.shape)
    out = np.full(keys.shape, -1)
    form(usage.ranks)(keys, ranked, out)
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


@BOTH
@pytest.mark.parametrize("spread", ["even", "crowded", "equal", "one far"])
def test_many_ranks(form: Form, spread: str) -> None:
    random = np.random.Generator(np.random.PCG64(1))
    keys = random.random((1, 300))
    if spread == "crowded":
        keys[0, 3:] = 1 + keys[0, 3:] * 1e-13
        keys[0, 0] = 1e-300
    elif spread == "equal":
        keys[:] = 0.25
    elif spread == "one far":
        keys[0, 7] = np.inf
    out = np.full(keys.shape, -1)
    form(usage.ranks)(keys, np.ones(keys.shape, bool), out)
    assert out.tolist() == (1 + (keys[0][:, np.newaxis] > keys[0]).sum(axis=1))[None].tolist()


@BOTH
@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=5))
def test_what_is_there_is_kept_in_order(form: Form, marks: list[list[bool]]) -> None:
    present = np.array(marks, bool).reshape(-1, 3)
    at = 100 * np.arange(len(present))
    rank = np.arange(present.size).reshape(present.shape)
    count = present.sum()
    as_of, column, ranks = np.empty(count, int), np.empty(count, np.uint32), np.empty(count, int)
    of, part = np.empty(count), np.empty(count)
    form(usage.keep_present)(
        present, at, 2.0 * rank, 0.5 * rank, rank, as_of, column, of, part, ranks
    )
    rows, columns = np.nonzero(present)
    assert as_of.tolist() == at[rows].tolist()
    assert column.tolist() == columns.tolist()
    assert ranks.tolist() == rank[present].tolist()
    assert (of / 2).tolist() == (part * 2).tolist() == ranks.tolist()
