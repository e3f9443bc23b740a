"""Similar submissions: against the slow twin, and by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.predict import similar
from audit.scenario.predict.similar import Neighbours, NeighbourSearch, PredictionTable
from audit.scenario.workload import NEVER
from tests.naive import predictions as slow

_values = st.lists(
    st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 3)), min_size=1, max_size=12
)


@given(_values, st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))
def test_quantiles_as_defined(values: list[tuple[int, bool, int]], level: Fraction) -> None:
    value, known, weight = (np.array(of) for of in zip(*values, strict=True))
    curve = similar.kaplan_meier(value.astype(float), known, weight.astype(float))
    want = slow.quantile(values, level)
    assert curve.quantile(float(level)) == want


def table(rows: list[slow.Row]) -> PredictionTable:
    made = PredictionTable(len(rows[0].measured))
    for number, row in enumerate(rows):
        job, labels = np.array([number]), np.array([[row.fits, row.user, row.partition]])
        made.add(row.made_at, job, job, np.array([100]), np.array([row.measured]), labels)
    return made


def near(made: PredictionTable, start: np.ndarray, *search: int) -> Neighbours | None:
    """The neighbours of the last row among all others."""
    last = made.number - 1
    return similar.neighbours(made, last, last, NeighbourSearch(*search), start, start)


_rows = st.lists(
    st.builds(
        slow.Row,
        st.tuples(st.floats(0, 5), st.floats(0, 5)),
        *(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1), st.integers(0, 10**7)),
    ),
    min_size=13,
    max_size=20,
).map(lambda rows: sorted(rows, key=lambda row: row.made_at))


@given(_rows)
def test_the_nearest_are_taken_until_enough_have_started(rows: list[slow.Row]) -> None:
    *earlier, last = (row._replace(made_at=k) for k, row in enumerate(rows))
    last = last._replace(made_at=10**6)
    count = len(earlier)
    start = np.array([500 + k if k % 7 else NEVER for k in range(count)])
    found = near(table([*earlier, last]), start, 12, 10, 1)
    nearest = sorted(range(count - 12, count), key=lambda k: slow.distance(earlier[k], last))
    nearest_known = [k for k in nearest if k % 7]
    if len(nearest_known) < 10:
        assert found is None
        return
    assert found is not None
    until = nearest.index(nearest_known[9]) + 1
    want = sorted(slow.distance(earlier[k], last) for k in nearest[:until])
    waits = [500.0 if k % 7 else 10.0**6 - k for k in nearest[:until]]
    assert sum(found.known) == 10
    assert len(found.wait) == until
    if len(set(want)) == until and np.diff(want).min() > 1e-9:
        assert found.wait.tolist() == waits


def test_one_group_is_taken_three_times() -> None:
    made, label = PredictionTable(1), np.ones((1, 3), np.int64)
    for hour in range(20):
        jobs = np.array([0, 1 + hour])
        made.add(hour, jobs, jobs, np.array([9, 9]), np.ones((2, 1)), label.repeat(2, 0))
    made.add(100, np.array([50]), np.array([50]), np.array([9]), np.ones((1, 1)), label)
    found = near(made, np.full(51, 90), 100, 99, 3)
    assert found is not None
    assert len(found.wait) == 20 + 3


def test_a_large_group_does_not_hide_the_others() -> None:
    made, label = PredictionTable(1), np.ones((1, 3), np.int64)
    for count, group, place in ((20, 1, 5.0), (3_000, 9, 1.0)):
        jobs, measured = np.arange(count), np.full((count, 1), place)
        groups = jobs + 10 if group == 1 else np.full(count, group)
        made.add(0, jobs, groups, jobs, measured, label.repeat(count, 0))
    made.add(100, np.array([50]), np.array([50]), np.array([9]), np.ones((1, 1)), label)
    found = near(made, np.full(3_000, 90), 12_000, 60, 3)
    assert found is not None
    assert len(found.wait) == 20 + 3


def test_what_starts_in_the_same_second_is_not_known() -> None:
    rows = [slow.Row((1.0,), 1, 1, 1, 0)] * 12
    made = table([*rows, slow.Row((1.0,), 1, 1, 1, 60)])
    for start, is_known in ((59, True), (60, False)):
        assert (near(made, np.full(12, start), 100, 25, 1) is not None) == is_known


def test_the_nearer_a_submission_the_more_it_counts() -> None:
    rows = [slow.Row((float(k),), 1, 1, 1, 0) for k in range(50)]
    found = near(table([*rows, slow.Row((0.0,), 1, 1, 1, 60)]), np.full(50, 50), 100, 99, 1)
    assert found is not None
    assert found.weight.tolist() == pytest.approx([math.exp(-min(k, 30)) for k in range(50)])


@given(
    st.lists(
        st.tuples(
            st.integers(4, 12), st.booleans(), st.sampled_from([1, 2, 4]), st.integers(4, 12)
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(4, 12),
    st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]),
)
def test_the_better_of_two_estimates_is_used(
    of: list[tuple[int, bool, int, int]], model: int, level: Fraction
) -> None:
    log_wait, known, weight, of_model = (np.array(column) for column in zip(*of, strict=True))
    waits = np.exp(log_wait.astype(float)) - 60
    found = similar.estimate(
        Neighbours(waits, known > 0, of_model.astype(float), weight / 4), float(model)
    )
    expected = slow.estimate(of, model, level)
    assert found.wait(float(level)) == pytest.approx(max(0.0, math.exp(expected) - 60))


def test_a_wait_is_not_negative() -> None:
    of = Neighbours(np.full(3, 700.0), np.ones(3, np.bool_), np.full(3, 5.0), np.ones(3))
    assert similar.estimate(of, 5.0).wait(0.5) == pytest.approx(700)
    assert similar.estimate(of, 5.0).wait(0.5, -9.9) == 0
