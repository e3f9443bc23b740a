"""The policy grid: every combination against the slow twin, and its figures and correlations."""

from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.metrics.draws import Draws
from audit.metrics.uncertainty import Resamples
from audit.model import Backfill, Order
from audit.report.study.cells import STUDIED
from audit.studies import parts
from audit.studies.grid import compute as grid
from audit.studies.grid.compute import BACKFILLS, ORDERS, Grid, GridPoint
from audit.studies.parts import SimulatedPart
from tests.examples import examples
from tests.naive import attempts as naive
from tests.naive import grid as slow
from tests.strategies import EPOCH, POOLS, Rows, ended, frame, rows

POOL = POOLS[0]
LOAD: Final = Fraction("0.9")


def cut(records: Rows, attempts: int = 5_000) -> SimulatedPart:
    return parts.part(describe(frame(records), [POOL]), POOL, attempts)


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("order", ORDERS)
def test_every_combination_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(6))
    @given(rows(8), st.sampled_from([LOAD, Fraction(3)]), st.booleans())
    def compare(records: Rows, load: Fraction, exact: bool) -> None:
        want = slow.part(frame(records).rows(named=True), {"cpus": POOL.capacity}, 5_000)
        assume(want is not None and slow.offered(want) is not None)
        assert want is not None
        made = grid.measure(cut(records), GridPoint(load, order, backfill, exact))
        unfair = slow.measure(slow.at_load(want, load, exact=exact), order.value, backfill.value)
        for name in ("strict", "relaxed", "wait"):
            assert made[name].to_list() == [getattr(one, name) for one in unfair]
        for name in ("re", "raqfm"):
            for fast, one in zip(made[name], unfair, strict=True):
                assert naive.close(fast, getattr(one, name), 1e6)

    compare()


def test_the_grid_is_that_of_the_paper() -> None:
    found = grid.points()
    own = [point for point in found if not point.exact]
    assert len(own) == 45
    assert len(set(found)) == len({point.name for point in found}) == 55
    assert {point.order for point in found if point.exact} == {Order.fcfs}
    assert GridPoint(Fraction("0.8"), Order.sjf, Backfill.easy).name == "load 0.80, sjf-easy"
    names = [grid.load_name(Fraction(load)) for load in ("0.7", "0.955", "1", "1/3")]
    assert names == ["0.70", "0.955", "1.00", "0.3333333333"]
    cells = grid.cells(cut([ended(EPOCH, EPOCH, EPOCH + 1, 1)]))
    assert {cell.key for cell in cells} == {point.name for point in found}
    assert cells[0].key.startswith("load 0.98")
    assert "conservative" in cells[0].key


@cache
def small() -> Grid:
    """The grid of a queue that wide and narrow attempts of three users make."""
    records = [
        ended(EPOCH + 20 * k, EPOCH + 20 * k, EPOCH + 20 * k + length, size, user, walltime_s=200)
        for k, (length, size, user) in enumerate(
            [(90, 1, "ann"), (60, 4, "bob"), (30, 2, "cem"), (75, 3, "ann"), (15, 1, "bob")] * 6
        )
    ]
    part = cut(records)
    cells = grid.cells(part, [LOAD])
    return grid.grid(part, [LOAD], {cell.key: cell.compute() for cell in cells}, Draws(7, 200))


def test_figures_are_means_of_all_and_of_each_width() -> None:
    of = small()
    found = grid.figures(of)
    assert found.schema == STUDIED
    widths = of.part.described["width_class"].to_numpy()
    for point, values in of.values.items():
        own = found.filter(setting=point.name)
        assert own["dimension_value"].unique().to_list().count(None) == 1
        for row in own.rows(named=True):
            [metric] = [name for name, one in grid.MEASURES.items() if one.mean == row["metric"]]
            label = row["dimension_value"]
            held = values[metric] if label is None else values[metric][widths == label]
            assert row["value"] == pytest.approx(held.mean())
            assert row["attempts"] == len(held)
            if row["lower"] is not None:
                assert row["lower"] <= row["upper"]
    classes = grid.classes(of.part)
    assert classes.select("width_class", "attempts").rows() == [("1", 12), ("2", 6), ("3-4", 12)]
    assert classes["area"].sum() == pytest.approx(1)


def test_correlations_of_subsets_as_defined() -> None:
    of = small()
    points = [point for point in of.values if not point.exact]
    found = grid.correlations(of)
    positions = np.arange(len(of.units)) % 10

    def means(metric: str, held: np.ndarray) -> list[Fraction]:
        columns = [of.values[point][metric][held].tolist() for point in points]
        return [sum(map(Fraction, column), Fraction()) / len(column) for column in columns]

    for metric in ("strict", "relaxed"):  # whole numbers: equal means are equal in floats too
        own = [one for one in found if one.metric == metric]
        assert [one.subset for one in own] == [*range(10), None]
        every = means(metric, positions >= 0)
        want = [slow.spearman(means(metric, positions == k), every) for k in range(10)]
        for one, correlation in zip(own[:10], want, strict=True):
            if correlation is None:
                assert one.estimate is None
            else:
                assert one.estimate is not None
                assert one.estimate.value == pytest.approx(correlation)
        known = sorted(value for value in want if value is not None)
        assert own[-1].estimate is not None
        assert own[-1].estimate.value == pytest.approx(known[-(-len(known) // 2) - 1])


def test_a_resample_of_each_user_once_is_the_log() -> None:
    of = small()
    same = Resamples(3, 1, 2)
    same.weights[:] = 1
    same.by_unit[:] = 1.0
    for one in grid.correlations(of._replace(resamples=same)):
        if one.estimate is not None:
            assert one.estimate.lower == one.estimate.upper == one.estimate.value


def test_one_user_has_figures_but_no_interval() -> None:
    records = [ended(EPOCH + 5 * k, EPOCH + 5 * k, EPOCH + 5 * k + 9, 1 + k % 3) for k in range(12)]
    part = cut(records)
    cells = grid.cells(part, [LOAD])
    of = grid.grid(part, [LOAD], {cell.key: cell.compute() for cell in cells}, Draws(7, 50))
    assert grid.figures(of)["lower"].null_count() == grid.figures(of).height
    for one in grid.correlations(of):
        assert one.estimate is None or one.estimate[1:] == (None, None)
