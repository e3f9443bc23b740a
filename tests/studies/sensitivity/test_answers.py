"""What varying a setting does, against slow twins and by hand."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.draws import ratio
from audit.metrics.uncertainty import Resamples
from audit.studies.sensitivity import answers
from tests.naive import sensitivity as naive
from tests.studies.sensitivity.known import FIXED, answered, as_the_paper, rising


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.data())
def test_change(values: list[int], data: st.DataObject) -> None:
    values.sort()
    of = data.draw(st.lists(st.integers(0, 1_000), min_size=len(values), max_size=len(values)))
    resamples = Resamples(2, 0, 20)
    drawn = [ratio(resamples, np.array([y, y], float), np.ones(2)) for y in of]
    found = answers.change(values, drawn)
    expected = naive.change([Fraction(x) for x in values], [Fraction(y) for y in of])
    assert found.value == pytest.approx(float(expected), abs=1e-9)
    assert found.resamples == pytest.approx(np.full(20, float(expected)), abs=1e-9)


def test_a_response_beside_that_at_the_fixed_values() -> None:
    found = answered(as_the_paper, rising)
    other = FIXED._replace(interval_days=9)
    assert found.beside(FIXED, FIXED, 0) == 1
    expected = as_the_paper(other, 0) / as_the_paper(FIXED, 0)
    assert found.beside(other, FIXED, 0) == pytest.approx(expected, rel=1e-3)
    assert found.others == range(1, 2)
    both = (found.sums[other].mean_response(0) or 0) + (found.sums[other].mean_response(1) or 0)
    assert found.sums[other].mean_response(0, 1) == pytest.approx(both / 2)  # as many attempts each


def test_rows_for_the_database() -> None:
    found = answered(as_the_paper, rising)
    rows = answers.rows("all", found)
    assert rows.height == len(found.sums) * 4
    one = rows.filter(
        pl.col("setting") == FIXED.label,
        pl.col("metric") == "response_mean",
        pl.col("dimension_value") == "wide",
    ).row(0, named=True)
    assert one["value"] == pytest.approx(as_the_paper(FIXED, 0), rel=1e-3)
    assert one["lower"] < one["value"] < one["upper"]
