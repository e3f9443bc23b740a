"""Fits of two exponential phases, and how well they fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.studies.workload.compute import hyper_exponential
from audit.studies.workload.compute.hyper_exponential import FEW, LEAST_S, HyperExponential, fit
from tests.examples import examples
from tests.naive import workload as naive


def sample(law: HyperExponential, count: int, seed: int) -> np.typing.NDArray[np.int64]:
    rng = np.random.Generator(np.random.PCG64(seed))
    return np.floor(law.draw(rng, count) + 0.5).astype(np.int64)


def test_moments_by_hand() -> None:
    law = HyperExponential(0.5, 10.0, 30.0)
    assert law.mean_s == 20
    # E x² = 0.5 · 2 · 100 + 0.5 · 2 · 900 = 1000, variance 600
    assert law.variation == pytest.approx(np.sqrt(600) / 20)
    assert HyperExponential(1.0, 7.0, 7.0).variation == 1
    assert law.cdf(np.array([0.0, 1e9])).tolist() == [0, 1]


def test_what_is_left_of_a_value_is_rather_of_a_long_one() -> None:
    # of 20 s on average, 5 are of the short phase and 15 of the long one
    left = HyperExponential(0.5, 10.0, 30.0).residual()
    assert left == HyperExponential(0.25, 10.0, 30.0)


def test_draws_have_the_moments() -> None:
    law = HyperExponential(0.9, 5.0, 500.0)
    values = law.draw(np.random.Generator(np.random.PCG64(1)), 200_000)
    assert values.mean() == pytest.approx(law.mean_s, rel=0.02)
    assert values.std() / values.mean() == pytest.approx(law.variation, rel=0.02)


@pytest.mark.parametrize(
    "law",
    [
        HyperExponential(0.7, 30.0, 3000.0),
        HyperExponential(0.5, 0.5, 600.0),  # half of them within a second
        HyperExponential(0.95, 60.0, 7200.0),
    ],
)
def test_the_law_of_a_large_sample_is_found(law: HyperExponential) -> None:
    found = fit(sample(law, 20_000, 2), seed=1)
    assert found.distribution.p == pytest.approx(law.p, abs=0.02)
    assert found.distribution.short_s == pytest.approx(law.short_s, rel=0.1)
    assert found.distribution.long_s == pytest.approx(law.long_s, rel=0.05)
    assert found.distance < 0.02
    assert found.exponential_distance > 0.1
    assert found.gain > 100


def test_an_exponential_sample_gains_next_to_nothing() -> None:
    found = fit(sample(HyperExponential(1.0, 100.0, 100.0), 2_000, 3), seed=1)
    assert found.gain < 3
    assert found.distance == pytest.approx(found.exponential_distance, abs=0.01)


def test_equal_values_are_fitted_as_exponential() -> None:
    found = fit(np.full(100, 600), seed=1)
    assert found.distribution == HyperExponential(1.0, 600.0, 600.0)
    assert found.gain == 0
    # F(600 s) = 1 − 1/e where the sample has none, and just after where it has all
    assert found.distance == pytest.approx(1 - np.exp(-1), abs=0.01)
    assert found.p_value == pytest.approx(0.01)


def test_few_values_are_not_fitted() -> None:
    found = fit(np.array([0, 1000] * (FEW // 2 - 1)), seed=1)
    assert found.distribution == HyperExponential(1.0, 500.0, 500.0)
    assert found.p_value is None
    assert fit(np.array([0] * 5), seed=1).distribution.short_s == LEAST_S
    assert fit(np.array([0] * 50), seed=1).distribution.mean_s == pytest.approx(LEAST_S)


def test_refuses_what_is_no_sample() -> None:
    for values in ([], [-1, 5]):
        with pytest.raises(ValueError, match="a fit needs values"):
            fit(np.array(values, np.int64), seed=1)


def test_p_values_are_spread_evenly_where_the_law_is_right() -> None:
    law = HyperExponential(0.6, 20.0, 900.0)
    found = [fit(sample(law, 200, 100 + k), seed=k).p_value for k in range(30)]
    known = sorted(value for value in found if value is not None)
    assert len(known) == 30
    assert 0.3 < np.mean(known) < 0.7
    assert sum(value < 0.05 for value in known) <= 5


def test_a_law_that_is_wrong_is_distinguished_from_the_fit() -> None:
    rng = np.random.Generator(np.random.PCG64(4))
    assert fit(np.floor(rng.uniform(500, 700, 500)).astype(np.int64), seed=1).p_value == 0.01


def test_the_same_seed_gives_the_same_fit() -> None:
    values = sample(HyperExponential(0.6, 20.0, 900.0), 100, 5)
    assert fit(values, seed=3) == fit(values[::-1], seed=3)


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.integers(0, 18), min_size=FEW, max_size=2 * FEW), st.data())
def test_fast_is_same_as_slow(values: list[int], data: st.DataObject) -> None:
    """Below 20 s no values are grouped: likelihood and distance are those of the definition."""
    found = fit(np.array(values), seed=1, resamples=1)
    law = found.distribution
    assert found.distance == pytest.approx(naive.distance(values, *law))
    mean = max(sum(values) / len(values), LEAST_S)
    best = naive.log_likelihood(values, *law)
    flat = naive.log_likelihood(values, 1.0, mean, mean)
    assert found.gain == pytest.approx(best - flat, abs=1e-6)
    # No other law near it is more likely: it is at a maximum.
    if found.gain > 0:
        share = data.draw(st.floats(-0.05, 0.05))
        short, long = (data.draw(st.floats(0.9, 1.1)) for _ in range(2))
        near = (
            min(max(law.p + share, 0.0), 1.0),
            max(law.short_s * short, LEAST_S),
            max(law.long_s * long, LEAST_S),
        )
        assert naive.log_likelihood(values, *near) <= best + 1e-3


def test_wide_intervals_hardly_move_a_fit() -> None:
    values = sample(HyperExponential(0.6, 200.0, 9000.0), 300, 6)
    law = fit(values, seed=1).distribution
    best = naive.log_likelihood(values.tolist(), *law)
    for other in (law._replace(short_s=law.short_s * 1.05), law._replace(long_s=law.long_s * 0.95)):
        assert naive.log_likelihood(values.tolist(), *other) < best


def test_the_grid_holds_every_value_between_two_edges() -> None:
    edges = hyper_exponential.grid(100_000)
    assert edges[:4].tolist() == [0, 0.5, 1.5, 2.5]
    assert edges[-1] == np.inf
    assert edges[-2] > 100_000
    assert np.all(np.diff(edges) > 0)
    assert np.all(edges[1:-1] % 1 == 0.5)
    widths = np.diff(edges[:-1])
    assert np.all((widths == 1) | (widths <= 0.05 * edges[:-2] + 0.5))
    assert len(hyper_exponential.grid(0)) == 3
    assert hyper_exponential.RESAMPLES == 99
