"""``fairaudit experiment grid``: which log, which part, and what is made of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
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
from audit.studies.grid.compute import LOADS, Correlation
from audit.studies.parts import ATTEMPTS, Part

KEY = "grid"


@dataclass(frozen=True)
class Options:
    """What the study was asked for beyond its log."""

    pool: str | None = None
    """None: the one in which most attempts started."""
    attempts: int = ATTEMPTS
    loads: tuple[Fraction, ...] = LOADS
    top_width: int = TOP_WIDTH


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


def plan(log: Log, draws: Draws, options: Options) -> Plan:
    """The grid over a part of one pool of a log."""
    pool = largest_pool(log, options.pool)
    part = parts.part(log.described, pool, options.attempts, options.top_width)
    part.offered_load  # noqa: B018 - refuses a part without load before the long work
    cells = compute.cells(part, options.loads)

    def finish(frames: Sequence[pl.DataFrame]) -> Made:
        named = {cell.key: frame for cell, frame in zip(cells, frames, strict=True)}
        return _made(log.setting.cluster, part, named, draws, options)

    settings = json.dumps([pool.name, options.attempts, [str(load) for load in options.loads]])
    return Plan(settings, cells, finish)


def _made(
    log: str, part: Part, frames: dict[str, pl.DataFrame], draws: Draws, options: Options
) -> Made:
    grid = compute.grid(part, options.loads, frames, draws)
    figures, ranked = compute.figures(grid), compute.correlations(grid)
    decided = claims.decide(grid, ranked)
    results = page.Results(log, grid, figures, ranked, decided, draws.seed, options.top_width)
    return Made(page.study(results), pl.concat([figures, _ranked(part, ranked)]))


def _ranked(part: Part, ranked: Sequence[Correlation]) -> pl.DataFrame:
    """The correlations as rows of the database."""
    rows = []
    for one in ranked:
        if one.estimate is not None:
            subset = "median" if one.subset is None else str(one.subset)
            metric = f"spearman_{one.metric}"
            rows.append((part.pool.name, "all", metric, "subset", subset, *one.estimate, "1", None))
    return studied(rows)
