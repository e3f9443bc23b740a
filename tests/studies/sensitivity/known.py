"""Logs with known groups, and results of settings with given responses."""

from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl

from audit.metrics.attempts.population import describe
from audit.metrics.draws import Draws
from audit.model import Pool, Resource
from audit.studies.sensitivity import claims
from audit.studies.sensitivity.claims import SettingResults
from audit.studies.sensitivity.compute import BASES, SUMS, SettingPoint, planes, sweeps
from tests.strategies import ended, frame

POOL = Pool("all", Resource.cpus, 4)
RED_DIAMOND, ACXIOM = BASES
FIXED = RED_DIAMOND.point


def attempts_of(*lives: tuple[int, int, int, int, str | None, str | None]) -> pl.DataFrame:
    """Arrival, start, end, size, user and account of each."""
    records = [
        ended(*life[:4], life[4], account=life[5], walltime_s=life[2] - life[1]) for life in lives
    ]
    return describe(frame(records), [POOL])


Response = Callable[[SettingPoint, int], float]
"""Mean response of a group under a setting."""


@cache
def answered(
    response: Response, used: Callable[[SettingPoint], int] = lambda point: 50
) -> SettingResults:
    """Results of settings for given responses of groups; ten users and ten days differ a little."""
    points = [
        point
        for base in BASES
        for sweep in (*sweeps(base), *(plane.diagonal for plane in planes(base)))
        for point in sweep.points
    ]
    units = np.linspace(0.9, 1.1, 10)
    frames = []
    for point in points:
        rows: list[tuple[str, int, int, int, int]] = []
        for unit, factor in enumerate(units.tolist()):
            for group in (0, 1):
                amount = round(response(point, group) * factor * 10)
                rows.append(("user", group, unit, 10, amount))
                rows.append(("day", group, unit, 10, amount))
            pool = {"used": used(point), "lost": 100 - used(point), "capacity": 100}
            rows += [(kind, -1, unit, 0, amount) for kind, amount in pool.items()]
        frames.append(pl.DataFrame(rows, schema=SUMS, orient="row"))
    return claims.answers(("wide", "narrow"), points, frames, Draws(1))


def as_the_paper(point: SettingPoint, group: int) -> float:
    """Everything that [B] concludes."""
    effect = point.interval_days + point.depth + 40 * point.decay + 100 * point.run
    return 1_000 + 3 * effect if group == 0 else 5_000 - effect


def contrary(point: SettingPoint, group: int) -> float:
    """Nothing of what [B] concludes."""
    days, depth = point.interval_days, point.depth
    if days in (depth, round(10 * point.decay)):  # along the diagonals hardly anything moves
        days, depth = FIXED.interval_days, FIXED.depth
    effect = 100 * days + 100 * depth + point.depth + 10 * point.decay
    return 50_000 - effect if group == 0 else 5_000 + effect


def rising(point: SettingPoint) -> int:
    return round(as_the_paper(point, 0) / 50)
