import numpy as np
import pytest

from audit.metrics.uncertainty import NONE, Resamples

UNITS = np.arange(3)


def by_hand(seed: int, resamples: int) -> np.ndarray:
    """Which units each resample drew."""
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 3, size=(resamples, 3))


def middle(figures: list[float]) -> tuple[float, float]:
    """Nearest-rank 2.5th and 97.5th percentiles of 1,000 figures: the 25th and the 975th."""
    ascending = sorted(figures)
    return ascending[24], ascending[974]


def test_ratios_of_sums() -> None:
    above, below = np.array([1.0, 4.0, 9.0]), np.array([2.0, 1.0, 3.0])
    figures = [above[drawn].sum() / below[drawn].sum() for drawn in by_hand(5, 1000)]
    assert Resamples(3, 5).ratio(UNITS, above, below) == pytest.approx(middle(figures), rel=1e-15)


def test_ratios_of_parts_are_those_of_each_part() -> None:
    drawn, units = Resamples(3, 5), np.array([0, 1, 2, 1, 0, 2])
    terms = np.array([[1.0, 4.0, 9.0, 2.0, 0.0, 3.0], np.ones(6), [0.0, 0.0, 0.0, 5.0, 2.0, 1.0]])
    pairs = [(0, 1), (2, 1), (0, 2)]
    made = drawn.ratios(units, np.array([0, 3, 3, 4, 6]), terms, pairs)
    for part, (begin, end) in enumerate([(0, 3), (3, 3), (3, 4), (4, 6)]):
        of = terms[:, begin:end]
        each = [drawn.ratio(units[begin:end], of[above], of[below]) for above, below in pairs]
        assert np.array_equal(made[part], np.array(each, np.float64), equal_nan=True)
    assert np.isnan(drawn.ratios(units, np.array([0, 3, 6]), terms, pairs, fewest=4)).all()


def test_quantiles() -> None:
    owned = {0: [1.0, 5.0], 1: [2.0], 2: [3.0, 4.0, 9.0]}
    figures = []
    for drawn in by_hand(6, 1000):
        repeated = sorted(value for unit in drawn for value in owned[int(unit)])
        figures.append(repeated[-(-len(repeated) // 2) - 1])
    pairs = sorted((value, unit) for unit, values in owned.items() for value in values)
    units, values = np.array([u for _, u in pairs]), np.array([v for v, _ in pairs])
    assert Resamples(3, 6).quantiles(units, values, [500]) == [middle(figures)]


def test_spread() -> None:
    values = np.array([1.0, 4.0, 10.0])
    drawn = [values[units] for units in by_hand(7, 1000)]
    f, deviation = Resamples(3, 7).spread(UNITS, values)
    assert f == pytest.approx(middle([((v - v.mean()) ** 2).sum() for v in drawn]), abs=1e-12)
    assert deviation == pytest.approx(middle([v.std() for v in drawn]), abs=1e-6)


def test_a_part_takes_its_own_units_from_each_resample() -> None:
    # Units 0 and 2 of three; resamples that drew only unit 1 say nothing.
    some = np.array([0, 2])
    figures = []
    for drawn in by_hand(8, 1000):
        theirs = [{0: 1.0, 2: 5.0}[int(unit)] for unit in drawn if unit != 1]
        if theirs:
            figures.append(sum(theirs) / len(theirs))
    figures.sort()
    expected = (
        figures[-(-len(figures) * 25 // 1000) - 1],
        figures[-(-len(figures) * 975 // 1000) - 1],
    )
    assert Resamples(3, 8).ratio(some, np.array([1.0, 5.0]), np.ones(2)) == expected


def test_one_unit_has_no_interval() -> None:
    one = Resamples(3, 1)
    assert one.ratio(UNITS[:1], np.ones(1), np.ones(1)) == NONE
    assert one.quantiles(np.zeros(5, np.int64), np.arange(5.0), [500, 900]) == [NONE, NONE]
    assert one.spread(UNITS[:1], np.ones(1)) == (NONE, NONE)
    assert Resamples(0, 1).ratio(UNITS[:0], np.ones(0), np.ones(0)) == NONE


@pytest.mark.parametrize(("units", "resamples"), [(1, 1), (7, 100), (400, 33)])
def test_all_resamples_are_of_one_stream(units: int, resamples: int) -> None:
    drawn = np.random.Generator(np.random.PCG64(2)).integers(0, units, size=(resamples, units))
    counts = [np.bincount(of, minlength=units).tolist() for of in drawn]
    assert Resamples(units, 2, resamples).weights.tolist() == counts


def test_the_seed_decides() -> None:
    above = np.array([1.0, 4.0, 9.0])
    figures = {seed: Resamples(3, seed, 50).sums(UNITS, above).tolist() for seed in (1, 2)}
    assert figures[1] == Resamples(3, 1, 50).sums(UNITS, above).tolist()
    assert figures[1] != figures[2]


def test_nothing_drawn_has_no_interval() -> None:
    assert Resamples(3, 1).ratio(UNITS, np.ones(3), np.zeros(3)) == NONE
