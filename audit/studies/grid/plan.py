"""``fairaudit experiment grid``: which log, which part, and what is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction

import polars as pl

from audit.errors import UsageError
from audit.metrics.attempts.width import TOP
from audit.metrics.draws import Draws
from audit.oneoff.study import Made, Plan
from audit.pipeline.opening import Log, largest_pool
from audit.report.study.cells import studied
from audit.studies import parts
from audit.studies.grid import claims, compute, page
from audit.studies.grid.compute import LOADS, Correlation
from audit.studies.parts import ATTEMPTS, Part

KEY = "grid"


def loads(text: str) -> tuple[Fraction, ...]:
    """Loads as a user writes them: ``0.7,0.95``, ascending.

    Raises:
        UsageError: one of them is no number above 0 and up to 10.
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
    top_width: int = TOP,
) -> Callable[[Log, Draws], Plan]:
    """Return what to do with a part of the pool ``only``, or of that in which most started."""

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
            return Made(page.study(results), pl.concat([figures, _ranked(part, ranked)]))

        settings = json.dumps([pool.name, attempts, [str(load) for load in loads]])
        return Plan(settings, cells, finish)

    return of


def _ranked(part: Part, ranked: Sequence[Correlation]) -> pl.DataFrame:
    """The correlations as rows of the database."""
    rows = []
    for one in ranked:
        if one.estimate is not None:
            subset = "median" if one.subset is None else str(one.subset)
            metric = f"spearman_{one.metric}"
            rows.append((part.pool.name, "all", metric, "subset", subset, *one.estimate, "1", None))
    return studied(rows)
