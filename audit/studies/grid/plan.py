"""``fairaudit experiment grid``: the part of a log, its cells and its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import polars as pl

from audit.errors import UsageError
from audit.metrics.attempts.population import TOP_WIDTH
from audit.metrics.draws import Draws
from audit.oneoff.study import Made, Plan
from audit.pipeline.opening import Log, largest_pool
from audit.report.study.cells import studied
from audit.studies import parts
from audit.studies.grid import claims, compute, page
from audit.studies.grid.compute import LOADS
from audit.studies.parts import ATTEMPTS

KEY = "grid"


def loads(text: str) -> tuple[Fraction, ...]:
    """Return loads such as ``0.7,0.95``, ascending.

    Raises:
        UsageError: one of them is not a number above 0 and up to 10.
    """
    shares = set()
    for word in text.split(","):
        try:
            load = Fraction(word.strip())
        except (ValueError, ZeroDivisionError):
            load = Fraction(0)
        if not 0 < load <= 10:
            raise UsageError(
                f"--loads: {word.strip()!r} is no load; give shares of the capacity: 0.7,0.95"
            )
        shares.add(load)
    return tuple(sorted(shares))


def plan(
    only: str | None = None,
    attempts: int = ATTEMPTS,
    loads: tuple[Fraction, ...] = LOADS,
    top_width: int = TOP_WIDTH,
) -> Callable[[Log, Draws], Plan]:
    """Return the plan for the pool ``only``, or for the pool in which most attempts started."""

    def of(log: Log, draws: Draws) -> Plan:
        pool = largest_pool(log, only)
        part = parts.part(log.described, pool, attempts, top_width)
        part.offered_load  # noqa: B018 - refuses a part without load before the long work
        cells = compute.cells(part, loads)

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            named = {cell.key: frame for cell, frame in zip(cells, frames, strict=True)}
            grid = compute.grid(part, loads, named, draws)
            figures, ranked = compute.figures(grid), compute.correlations(grid)
            decided = claims.decide(grid, ranked)
            results = page.Results(
                log.setting.cluster, grid, figures, ranked, decided, draws.seed, top_width
            )
            rows = [
                (
                    *(pool.name, "all", f"spearman_{metric}", "subset"),
                    "median" if subset is None else str(subset),
                    *(*estimate, "1", None),
                )
                for metric, subset, estimate in ranked
                if estimate is not None
            ]
            return Made(page.study(results), pl.concat([figures, studied(rows)]))

        return Plan(f"{pool.name} {attempts} {' '.join(map(str, loads))}", cells, finish)

    return of
