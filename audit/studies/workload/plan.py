"""``fairaudit experiment workload`` and ``synthetic``: models of logs ([B] §3), logs of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from audit.studies.workload import compute, page
from audit.studies.workload.claims import decide
from audit.studies.workload.compute import Likeness, Traits
from audit.studies.workload.page import Modelled, Studied
from audit.workloads import model_files, synthetic
from audit.workloads.classes import TECHNIQUES
from audit.workloads.model import model_of, place, population

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


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What synthetic log is wanted; see ``workloads.synthetic.log``."""

    model: Path
    out: Path
    seed: int = 0
    jobs: int | None = None
    intensity: float = 1.0
    machine: float = 1.0


def make_log(wanted: Wanted) -> str:
    """Writes a synthetic log, whole or not at all.

    Returns:
        What was made, in words.

    Raises:
        UsageError: the model cannot be read, the log not written, or an argument is out of range.
    """
    suffix = wanted.out.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{wanted.out}: name a file that ends in .swf, or in .psv or .txt for sacct's text"
        )
    if wanted.out.is_dir() or not wanted.out.parent.is_dir():
        raise UsageError(f"{wanted.out}: name a file in a folder that exists")
    try:
        text = wanted.model.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{wanted.model}: cannot be read: {error}") from error
    if wanted.out.exists() and wanted.out.samefile(wanted.model):
        raise UsageError(f"{wanted.out}: is the model itself; name another file")
    model = model_files.from_toml(text, wanted.model.name)
    log = synthetic.log(model, wanted.seed, wanted.jobs, wanted.intensity, wanted.machine)
    if log.is_empty():
        raise UsageError(f"{wanted.model.name}: nothing arrives in so short a time; ask for --jobs")
    if suffix == ".swf":
        content = synthetic.to_swf(log, model, wanted.seed, wanted.machine)
    else:
        content = synthetic.to_sacct(log)
    try:
        replace.write(wanted.out, content)
    except OSError as error:
        raise UsageError(
            f"{wanted.out}: cannot be written: {error.strerror or error} (OUT)"
        ) from error
    capacity = synthetic.capacity(model, wanted.machine)
    return f"{wanted.out}: {log.height:,} jobs on {capacity:,} {model.resource}"


def plan(only: str | None = None, clusters: int | None = None) -> Callable[[Log, Draws], Plan]:
    """What to do with a log; the models are files of their own.

    Args:
        only: the pool that it concerns; None: every one.
        clusters: how many k-means makes, ≥ 1; None chooses.
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
                compute.rows(of.pool.name, one.model, one.likeness)
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
    apart = compute.distance(placed, model, draws) or (None, None, None)
    traits = [compute.of_log(log.described, pool, model), *compute.drawn(model, draws.seed)]
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
