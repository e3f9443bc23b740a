"""Figures with their resamples, and how many of these a study draws."""

import math

import numpy as np
import pytest

from audit.metrics.claims import Estimate
from audit.metrics.draws import Draws, ResampledFigure, combined, difference, ratio
from audit.metrics.uncertainty import Resamples


def test_draws_are_of_one_seed_and_as_many_as_requested() -> None:
    draws = Draws(7, 100)
    users, days = draws.of(5), draws.of(5, 1)
    assert users.weights.shape == (100, 5)
    assert (users.weights == Resamples(5, 7, 100).weights).all()
    assert (days.weights == Resamples(5, 8, 100).weights).all()
    says = "95 %, percentile bootstrap, 1,000 resamples of users, PCG64"
    assert Draws(7).intervals("resamples of users") == ("Intervals", says)


def test_a_ratio_and_a_difference_are_taken_resample_by_resample() -> None:
    resamples = Resamples(3, 1, 50)
    above, below = np.array([1.0, 4.0, 0.0]), np.array([1.0, 2.0, 0.0])
    one, other = ratio(resamples, above, below), ratio(resamples, below, below)
    assert one.value == pytest.approx(5 / 3)
    weights = resamples.weights[:, :2]  # the third unit adds nothing
    kept = weights.sum(1) > 0
    assert one.resamples[kept] == pytest.approx(
        weights[kept] @ above[:2] / (weights @ below[:2])[kept]
    )
    assert np.isnan(one.resamples[~kept]).all()
    apart = difference(one, other)
    assert apart.value == pytest.approx(2 / 3)
    assert apart.resamples[kept] == pytest.approx(one.resamples[kept] - 1)
    halved = combined([one, other], lambda figures: figures.mean(0))
    assert halved.value == pytest.approx((5 / 3 + 1) / 2)


def test_without_two_resamples_there_is_no_interval() -> None:
    alone = ratio(Resamples(1, 1, 50), np.array([3.0]), np.array([2.0]))
    assert alone.estimate() == Estimate(1.5, None, None)
    nothing = ratio(Resamples(2, 1, 50), np.zeros(2), np.zeros(2))
    assert math.isnan(nothing.value)
    few = ResampledFigure(1.0, np.array([math.nan, 2.0]))
    assert few.estimate() == Estimate(1.0, None, None)
    assert ResampledFigure(1.0, np.array([3.0, math.nan, 2.0])).estimate() == Estimate(
        1.0, 2.0, 3.0
    )
