"""``fairaudit experiment workload`` and ``synthetic``: models of logs ([B] §3), logs of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from audit.errors import UsageError
from audit.files import replace
from audit.metrics.draws import Draws
from audit.metrics.verdicts import Estimate
from audit.model import Pool
from audit.oneoff.study import Made, Plan
from audit.pipeline import opening
from audit.pipeline.opening import Log
from audit.report.study.cells import Cell
from audit.report.study.page import pool_prefix
from audit.studies.workload import page
from audit.studies.workload.claims import decide
from audit.studies.workload.compute import likeness, model_files, synthetic
from audit.studies.workload.compute.classes import TECHNIQUES
from audit.studies.workload.compute.likeness import Likeness, Traits
from audit.studies.workload.compute.model import model_of, place, population
from audit.studies.workload.page import Modelled, Studied

KEY: Final = "workload"
SUFFIXES: Final = (".swf", ".psv", ".txt")
"""Suffixes of synthetic logs: SWF, and sacct's text."""

_HEAD: Final = ("model", "distance", "lower", "upper")
_FRAME: Final = pl.Schema(
    {"model": pl.String, **dict.fromkeys((*_HEAD[1:], *Traits._fields), pl.Float64)}
)
"""The frame of a cell: the model, the distance of its fits and the log's traits; then rows with the
traits of the drawn logs."""


def make_log(
    model_file: Path,
    out: Path,
    *,
    seed: int = 0,
    jobs: int | None = None,
    intensity: float = 1.0,
    machine: float = 1.0,
) -> str:
    """Write a synthetic log (``synthetic.log``), whole or not at all; return a summary.

    Raises:
        UsageError: the model cannot be read, the log not written, or an argument is out of range.
    """
    suffix = out.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{out}: name a file that ends in .swf, or in .psv or .txt for sacct's text"
        )
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"{out}: name a file in a folder that exists")
    try:
        text = model_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{model_file}: cannot be read: {error}") from error
    if out.exists() and out.samefile(model_file):
        raise UsageError(f"{out}: is the model itself; name another file")
    model = model_files.from_toml(text, model_file.name)
    log = synthetic.log(model, seed, jobs, intensity, machine)
    if log.is_empty():
        raise UsageError(f"{model_file.name}: nothing arrives in so short a time; ask for --jobs")
    swf = suffix == ".swf"
    content = synthetic.to_swf(log, model, seed, machine) if swf else synthetic.to_sacct(log)
    try:
        replace.write(out, content)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror or error} (OUT)") from error
    capacity = synthetic.capacity(model, machine)
    return f"{out}: {log.height:,} jobs on {capacity:,} {model.resource}"


def plan(only: str | None = None, clusters: int | None = None) -> Callable[[Log, Draws], Plan]:
    """Return the plan for the pool ``only``, or for all pools; the models are further files.

    ``clusters`` is the number of clusters by k-means, ≥ 1; None chooses.
    """

    def of(log: Log, draws: Draws) -> Plan:
        pools = [
            pool for pool in opening.pools(log, only) if population(log.described, pool).height
        ]
        if not pools:
            raise UsageError("workload: no attempt of the log has ended; give a longer log")
        cells = [
            Cell(f"{pool.name}, by {by}", partial(_computed, log, pool, by, draws, clusters))
            for pool in pools
            for by in TECHNIQUES
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            each = map(_modelled, frames)
            studied = [
                Studied(pool, log.described, tuple(next(each) for _ in TECHNIQUES))
                for pool in pools
            ]
            files, rows = {}, []
            for number, (pool, _, models) in enumerate(studied):
                prefix = pool_prefix(number, len(pools))
                for model, like, _ in models:
                    files[page.file_name(model, prefix)] = model_files.to_toml(model)
                    rows.append(likeness.rows(pool.name, model, like))
            return Made(page.study(log.setting.cluster, studied, draws), pl.concat(rows), files)

        return Plan(f"{only} clusters {clusters} {draws.number}", cells, finish)

    return of


def _computed(log: Log, pool: Pool, by: str, draws: Draws, clusters: int | None) -> pl.DataFrame:
    """Return a model as columns of ``_FRAME``."""
    placed = place(log.described, pool, log.setting.zone, by, draws.seed, clusters)
    model = model_of(placed, pool, log.setting.cluster, draws.seed)
    apart = likeness.distance(placed, model, draws) or (None, None, None)
    of_log = likeness.traits(population(log.described, pool), model)
    rows: list[tuple[object, ...]] = [(model_files.to_toml(model), *apart, *of_log)]
    rows += [((None,) * len(_HEAD)) + of for of in likeness.drawn(model, draws.seed)]
    return pl.DataFrame(rows, schema=_FRAME, orient="row")


def _modelled(frame: pl.DataFrame) -> Modelled:
    """Return a model and its likeness from its cell's frame."""
    of_log, *drawn = (Traits(*row) for row in frame.select(Traits._fields).iter_rows())
    text, *distance = frame.select(_HEAD).row(0)
    model = model_files.from_toml(text, "the model")
    apart = None if distance[0] is None else Estimate(*distance)
    return Modelled(model, Likeness(of_log, tuple(drawn)), decide(model, apart))
