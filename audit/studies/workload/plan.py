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
"""Of synthetic logs: SWF, and sacct's text."""

_FRAME: Final = pl.Schema(
    {
        "model": pl.String,
        **dict.fromkeys(("distance", "lower", "upper"), pl.Float64),
        **dict.fromkeys(Traits._fields, pl.Float64),
    }
)
"""What a cell gives: the model, the distance of its fits and the log's traits; then the traits of
what was drawn."""


def make_log(
    model_file: Path,
    out: Path,
    *,
    seed: int = 0,
    jobs: int | None = None,
    intensity: float = 1.0,
    machine: float = 1.0,
) -> str:
    """Write a synthetic log (``synthetic.log``), whole or not at all; return what was made.

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
    if suffix == ".swf":
        content = synthetic.to_swf(log, model, seed, machine)
    else:
        content = synthetic.to_sacct(log)
    try:
        replace.write(out, content)
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror or error} (OUT)") from error
    capacity = synthetic.capacity(model, machine)
    return f"{out}: {log.height:,} jobs on {capacity:,} {model.resource}"


def plan(only: str | None = None, clusters: int | None = None) -> Callable[[Log, Draws], Plan]:
    """Return what to do with a log; the models are files of their own.

    ``only`` names the pool that it concerns; None: every one. ``clusters`` is how many k-means
    makes, ≥ 1; None chooses.
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
            each = iter(frames)
            studied = [
                Studied(pool, log.described, tuple(_modelled(next(each)) for _ in TECHNIQUES))
                for pool in pools
            ]
            files = {
                page.file_name(one.model, pool_prefix(number, len(pools))): one.model
                for number, of in enumerate(studied)
                for one in of.models
            }
            rows = [
                likeness.rows(of.pool.name, one.model, one.likeness)
                for of in studied
                for one in of.models
            ]
            return Made(
                page.study(log.setting.cluster, studied, draws),
                pl.concat(rows),
                {name: model_files.to_toml(model) for name, model in files.items()},
            )

        return Plan(f"{only} clusters {clusters} {draws.number}", cells, finish)

    return of


def _computed(log: Log, pool: Pool, by: str, draws: Draws, clusters: int | None) -> pl.DataFrame:
    """A model, as columns of ``_FRAME``."""
    placed = place(log.described, pool, log.setting.zone, by, draws.seed, clusters)
    model = model_of(placed, pool, log.setting.cluster, draws.seed)
    apart = likeness.distance(placed, model, draws) or (None, None, None)
    traits = [
        likeness.traits(population(log.described, pool), model),
        *likeness.drawn(model, draws.seed),
    ]
    head = (model_files.to_toml(model), *apart)
    return pl.DataFrame(
        [((None,) * len(head) if number else head) + of for number, of in enumerate(traits)],
        schema=_FRAME,
        orient="row",
    )


def _modelled(frame: pl.DataFrame) -> Modelled:
    """A model and its likeness, of what its cell gave."""
    of_log, *drawn = (Traits(*row) for row in frame.select(Traits._fields).iter_rows())
    model = model_files.from_toml(frame["model"][0], "the model")
    value, lower, upper = frame.select("distance", "lower", "upper").row(0)
    apart = None if value is None else Estimate(value, lower, upper)
    return Modelled(model, Likeness(of_log, tuple(drawn)), decide(model, apart))
