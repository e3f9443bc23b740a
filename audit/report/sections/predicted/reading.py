"""How good the predicted starts of a pool were, read from the database."""

from audit.metrics.attempts.similar import WALLTIMES
from audit.report.rows import by_width, records
from audit.report.sections.predicted.record import Predicted, Predictions
from audit.report.source import SectionSource
from audit.scenario.predict.calibration import TOLERANCE_S


def read(source: SectionSource) -> dict[str, Predictions]:
    """Return how good the predictions of each pool were: contested ones first, classes in order."""
    if not source.observed:
        return {}
    found = source.by_pool("predicted/judged", tolerance_s=TOLERANCE_S)
    return {
        pool: Predictions(tuple(sorted(records(Predicted, rows), key=_place)))
        for pool, rows in found.items()
    }


def _place(one: Predicted) -> tuple[object, ...]:
    place: tuple[int, int] | str = one.label
    if one.dimension == "width":
        place = by_width(one.label)
    elif one.dimension == "walltime":
        place = (WALLTIMES.index(one.label), 0)
    dimension = ("all", "month", "width", "walltime").index(one.dimension)
    return one.kind == "pending", not one.contested, dimension, place
