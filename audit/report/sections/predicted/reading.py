"""How good the predicted starts of a pool were, read from the database."""

from typing import Any

import polars as pl

from audit.metrics.attempts.similar import WALLTIMES
from audit.model import Period
from audit.report.rows import by_width, records
from audit.report.sections.predicted.record import Predicted
from audit.scenario.predict.calibration import TOLERANCE_S


def request(cluster: str, period: Period, zone_name: str) -> dict[str, Any]:
    """Return the arguments of the query ``report_predicted``."""
    span = {"from_time": period.from_time, "to_time": period.to_time, "whole": period.whole_log}
    return {"cluster": cluster, **span, "zone": zone_name, "tolerance_s": TOLERANCE_S}


def of_pool(rows: pl.DataFrame) -> tuple[Predicted, ...]:
    """Return one record per row: submissions and contested ones first, classes in their order."""
    return tuple(sorted(records(Predicted, rows), key=_place))


def _place(one: Predicted) -> tuple[object, ...]:
    place: tuple[int, int] | str = one.label
    if one.dimension == "width":
        place = by_width(one.label)
    elif one.dimension == "walltime":
        place = (WALLTIMES.index(one.label), 0)
    dimension = ("all", "month", "width", "walltime").index(one.dimension)
    return one.kind == "pending", not one.contested, dimension, place
