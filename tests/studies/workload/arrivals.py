"""Logs of arrivals with given gaps, and the models of them."""

from datetime import date
from functools import cache

import numpy as np

from audit.studies.workload.compute.classes import weekly_clock
from audit.studies.workload.compute.hyper_exponential import HyperExponential
from audit.studies.workload.compute.model import ClassifiedAttempts, LogModel, model_of, place
from tests.studies.workload.attempts import POOL, ZONE, described

DAYS = 30


def arrivals(gaps: np.typing.NDArray[np.float64]) -> tuple[ClassifiedAttempts, LogModel]:
    """A log of one narrow class in peak hours with these gaps, from a Monday on."""
    clock = weekly_clock(date(2026, 3, 2), DAYS, ZONE)
    readings = np.cumsum(gaps)
    readings = readings[readings < clock.seconds("peak")]
    rows = [{"submit_time": int(instant)} for instant in clock.instants("peak", readings)]
    placed = place(described(rows), POOL, ZONE, "size", 1)
    return placed, model_of(placed, POOL, "test", 1)


@cache
def drawn(law: HyperExponential) -> tuple[ClassifiedAttempts, LogModel]:
    return arrivals(law.draw(np.random.Generator(np.random.PCG64(7)), 6_000))
