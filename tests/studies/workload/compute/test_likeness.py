"""Traits of workloads, how similar models are, and [B]'s conclusion about arrivals."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from audit.metrics.claims import ClaimHolds, Estimate
from audit.metrics.draws import Draws
from audit.report.study.cells import STUDIED
from audit.studies.workload.compute import likeness, synthetic
from audit.studies.workload.compute.hyper_exponential import HyperExponential
from audit.studies.workload.compute.likeness import Likeness, decide, distance, traits
from audit.studies.workload.compute.model import (
    ClassifiedAttempts,
    LogModel,
    model_of,
    place,
    population,
)
from tests.studies.workload.arrivals import arrivals, drawn
from tests.studies.workload.attempts import POOL, ZONE, at, described


def test_the_distance_is_that_of_its_classes_weighted() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    rows: list[dict[str, Any]] = [
        {"submit_time": at(2, 8) + int(second), "cpus": size}
        for size, many in ((1, 60), (2, 30), (4, 5))
        for second in rng.integers(0, 9 * 3600, many)
    ]
    placed = place(described(rows), POOL, ZONE, "size", 1)
    model = model_of(placed, POOL, "test", 1)
    found = distance(placed, model, Draws(1))
    assert found is not None
    one, two, _ = (of.gaps.distance for of in model.classes)
    assert found.value == pytest.approx((60 * one + 30 * two) / 90)
    assert found.lower is None  # one day says nothing of days


def test_intervals_hold_the_distance_and_shrink_with_days() -> None:
    placed, model = drawn(HyperExponential(0.9, 30.0, 3000.0))
    found = distance(placed, model, Draws(1))
    assert found is not None
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= found.upper < 0.1
    assert found == distance(placed, model, Draws(1))


def test_traits_by_hand() -> None:
    rows: list[dict[str, Any]] = [
        {"submit_time": at(2, 9), "cpus": 64, "lasts": 600},
        {"submit_time": at(2, 9, 5), "cpus": 1, "lasts": 60, "walltime_s": None},
        {"submit_time": at(7, 12), "cpus": 2, "lasts": 30, "walltime_s": 1200},
    ]
    frame = described(rows)
    placed = place(frame, POOL, ZONE, "size", 1)
    model = model_of(placed, POOL, "test", 1)
    found = traits(population(frame, POOL), model)
    assert (found.attempts, found.mean_size, found.mean_occupancy_s) == (3, 67 / 3, 230)
    assert found.mean_walltime_s == 2400
    assert found.load == pytest.approx((64 * 600 + 60 + 60) / (64 * 6 * 86_400))
    assert found.peak == pytest.approx(2 / 3)
    gaps = [300, at(7, 12) - at(2, 9, 5)]
    assert found.gap_variation == pytest.approx(np.std(gaps) / np.mean(gaps))
    # days with 2, 0, 0, 0, 0 and 1 arrivals: mean ½, variance 5/6 − 1/4
    assert found.day_dispersion == pytest.approx((5 / 6 - 1 / 4) / 0.5)
    # the second waits for the whole machine to end
    assert (found.wait_mean_s, found.wait_median_s) == (100, 0)


def test_a_workload_of_nothing_has_no_waits() -> None:
    _, model = arrivals(np.full(15, 30_000.0))
    found = traits(pl.DataFrame(schema=synthetic.DRAWN), model)
    assert (found.attempts, found.load, found.peak, found.wait_mean_s) == (0, 0, 0, None)


def test_weeks_are_those_of_the_zone() -> None:
    _, model = arrivals(np.full(3_000, 300.0))
    found = likeness.weekly(pl.Series([at(2, 9), at(9, 9, 30), at(29, 23)]), model)
    assert found.shape == (168,)
    assert found[9] == pytest.approx(2 / 5)  # five Mondays from 2 to 31 March
    assert found[6 * 24 + 23] == pytest.approx(1 / 4)
    assert found.sum() == pytest.approx(2 / 5 + 1 / 4)


def test_what_is_drawn_from_a_model_is_like_its_log() -> None:
    placed, model = drawn(HyperExponential(0.9, 30.0, 3000.0))
    of_log = traits(
        placed.attempts.with_columns(
            arrival_time=pl.Series(
                placed.clock.instants(
                    "peak", placed.attempts["reading"].to_numpy().astype(np.float64)
                )
            )
        ),
        model,
    )
    found = Likeness(of_log, likeness.drawn(model, 1))
    for trait in ("attempts", "mean_occupancy_s", "load"):
        assert found.span(trait)[0] == pytest.approx(getattr(of_log, trait), rel=0.15)
    assert len(found.drawn) == likeness.DRAWN_LOGS
    rows = likeness.rows("all", model, found)
    assert rows.schema == STUDIED
    keys = ["pool", "setting", "metric", "dimension", "dimension_value"]
    assert not rows.select(keys).is_duplicated().any()
    rate = rows.filter(metric="rate")
    assert rate["value"].to_list() == [model.classes[0].rate]
    assert rate["dimension_value"].to_list() == ["1, peak"]


def test_intervals_are_of_as_many_resamples_as_are_drawn() -> None:
    placed, model = drawn(HyperExponential(0.9, 30.0, 3000.0))
    many, few = (distance(placed, model, Draws(1, number)) for number in (1000, 100))
    assert many is not None
    assert few is not None
    assert many.value == few.value
    assert many[1:] != few[1:]


def test_summaries_by_hand() -> None:
    rows: list[dict[str, Any]] = [
        {"submit_time": at(2, 9), "cpus": 2, "lasts": 600},
        {"submit_time": at(7, 12), "cpus": 2, "lasts": 300},
        {"submit_time": at(2, 10), "cpus": 1, "lasts": 60},
    ]
    model = model_of(place(described(rows), POOL, ZONE, "size", 1), POOL, "test", 1)
    one, two = likeness.summaries(model)
    assert tuple(one) == ("1", 1, 1 / 3, 1, 60, pytest.approx(60 / 1860))
    assert tuple(two) == ("2", 2, 2 / 3, 2, 450, pytest.approx(1800 / 1860))


def test_gaps_are_drawn_beside_their_fits() -> None:
    placed, model = drawn(HyperExponential(0.9, 30.0, 3000.0))
    lengths, shares = likeness.gap_distributions(placed, model.classes[0])
    assert list(shares) == ["log", "hyper-exponential", "exponential"]
    assert (np.diff(lengths) > 0).all()
    assert shares["log"][-1] == 1
    near, far = (np.abs(shares[name] - shares["log"]).max() for name in list(shares)[1:])
    assert near < 0.1 < far


def verdicts(made: tuple[ClassifiedAttempts, LogModel]) -> list[ClaimHolds]:
    placed, model = made
    return [one.holds for one in decide(model, distance(placed, model, Draws(1)))]


def test_hyper_exponential_gaps_are_distinguished_from_exponential_ones() -> None:
    assert verdicts(drawn(HyperExponential(0.9, 30.0, 3000.0))) == [ClaimHolds.yes, ClaimHolds.yes]
    assert verdicts(drawn(HyperExponential(1.0, 300.0, 300.0))) == [ClaimHolds.no, ClaimHolds.yes]


def test_gaps_like_clockwork_are_neither() -> None:
    assert verdicts(arrivals(np.full(3_000, 300.0))) == [ClaimHolds.no, ClaimHolds.no]


def test_too_few_arrivals_decide_nothing() -> None:
    placed, model = arrivals(np.full(15, 30_000.0))
    assert distance(placed, model, Draws(1)) is None
    found = decide(model, None)
    assert [one.holds for one in found] == [ClaimHolds.undecided] * 2
    assert "no class has 20 arrivals" in found[1].because


def test_a_distance_about_the_margin_is_undecided() -> None:
    _, model = drawn(HyperExponential(0.9, 30.0, 3000.0))
    near = [decide(model, Estimate(0.1, *bounds))[1].holds for bounds in ((0.08, 0.12), (0.1, 0.3))]
    assert near == [ClaimHolds.undecided] * 2
    assert decide(model, Estimate(0.2, 0.11, 0.3))[1].holds is ClaimHolds.no
    assert "0.2000 [0.1100, 0.3000]" in decide(model, Estimate(0.2, 0.11, 0.3))[1].because
