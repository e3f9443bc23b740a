"""Whether [B]'s conclusion about arrivals is decided rightly."""

import numpy as np

from audit.metrics.draws import Draws
from audit.metrics.verdicts import Estimate, Holds
from audit.studies.workload.claims import decide
from audit.studies.workload.compute.hyper_exponential import HyperExponential
from audit.studies.workload.compute.likeness import distance
from audit.studies.workload.compute.model import Model, Placed
from tests.studies.workload.arrivals import arrivals, drawn


def verdicts(made: tuple[Placed, Model]) -> list[Holds]:
    placed, model = made
    return [one.holds for one in decide(model, distance(placed, model, Draws(1)))]


def test_hyper_exponential_gaps_are_told_from_exponential_ones() -> None:
    assert verdicts(drawn(HyperExponential(0.9, 30.0, 3000.0))) == [Holds.yes, Holds.yes]
    assert verdicts(drawn(HyperExponential(1.0, 300.0, 300.0))) == [Holds.no, Holds.yes]


def test_gaps_like_clockwork_are_neither() -> None:
    assert verdicts(arrivals(np.full(3_000, 300.0))) == [Holds.no, Holds.no]


def test_too_few_arrivals_decide_nothing() -> None:
    placed, model = arrivals(np.full(15, 30_000.0))
    assert distance(placed, model, Draws(1)) is None
    found = decide(model, None)
    assert [one.holds for one in found] == [Holds.undecided] * 2
    assert "no class has 20 arrivals" in found[1].because


def test_a_distance_about_the_margin_is_undecided() -> None:
    _, model = drawn(HyperExponential(0.9, 30.0, 3000.0))
    near = [decide(model, Estimate(0.1, *bounds))[1].holds for bounds in ((0.08, 0.12), (0.1, 0.3))]
    assert near == [Holds.undecided] * 2
    assert decide(model, Estimate(0.2, 0.11, 0.3))[1].holds is Holds.no
    assert "0.2000 [0.1100, 0.3000]" in decide(model, Estimate(0.2, 0.11, 0.3))[1].because
