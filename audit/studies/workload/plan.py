"""``fairaudit experiment workload`` and ``synthetic``: models of logs ([B] §3), logs of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from audit.errors import UsageError
from audit.files import privacy, replace
from audit.model import Pool
from audit.pipeline import opening
from audit.pipeline.opening import Log
from audit.studies.cells import Cell
from audit.studies.drawn import Draws
from audit.studies.run import Made, Plan
from audit.studies.verdicts import Estimate
from audit.studies.workload import claims as workload_claims
from audit.studies.workload import page as workload_study
from audit.studies.workload.claims import Likeness, Traits
from audit.studies.workload.page import Modelled, Studied
from audit.workloads import model as workload_model
from audit.workloads import model_files, synthetic
from audit.workloads.classes import TECHNIQUES
from audit.workloads.model import Model

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


@privacy.private()
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
    made = synthetic.log(model, wanted.seed, wanted.jobs, wanted.intensity, wanted.machine)
    if made.is_empty():
        raise UsageError(f"{wanted.model.name}: nothing arrives in so short a time; ask for --jobs")
    if suffix == ".swf":
        content = synthetic.to_swf(made, model, wanted.seed, wanted.machine)
    else:
        content = synthetic.to_sacct(made)
    _write(wanted.out, content, "OUT")
    capacity = synthetic.capacity(model, wanted.machine)
    return f"{wanted.out}: {made.height:,} jobs on {capacity:,} {model.resource}"


def plan(only: str | None = None, clusters: int | None = None) -> Callable[[Log, Draws], Plan]:
    """What to do with a log; the models are files of their own.

    Args:
        only: the pool that it concerns; None: every one.
        clusters: how many k-means makes, ≥ 1; None chooses.
    """

    def of(log: Log, draws: Draws) -> Plan:
        pools = [
            pool
            for pool in opening.pools(log, only)
            if workload_model.population(log.described, pool).height
        ]
        if not pools:
            raise UsageError("workload: no attempt of the log has ended; give a longer log")
        cells = [
            Cell(f"{pool.name}, by {by}", _compute(log, pool, by, draws, clusters))
            for pool in pools
            for by in TECHNIQUES
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            studied, rows, texts = [], [], dict[str, str]()
            for number, pool in enumerate(pools):
                own = frames[number * len(TECHNIQUES) : (number + 1) * len(TECHNIQUES)]
                models = tuple(_modelled(frame) for frame in own)
                studied.append(Studied(pool, log.described, models))
                prefix = f"{number + 1}-" if len(pools) > 1 else ""
                for one in models:
                    name = workload_study.file_name(one.model, prefix)
                    texts[name] = model_files.to_toml(one.model)
                    rows.append(workload_claims.rows(pool.name, one.model, one.likeness))
            page = workload_study.study(log.setting.cluster, studied, draws)
            return Made(page, pl.concat(rows), texts)

        return Plan(f"{only} clusters {clusters} {draws.number}", cells, finish)

    return of


def _compute(
    log: Log, pool: Pool, by: str, draws: Draws, clusters: int | None
) -> Callable[[], pl.DataFrame]:
    def compute() -> pl.DataFrame:
        setting = log.setting
        placed = workload_model.place(log.described, pool, setting.zone, by, draws.seed, clusters)
        model = workload_model.model(placed, pool, setting.cluster, draws.seed)
        apart = workload_claims.distance(placed, model, draws)
        traits = [workload_claims.of_log(log.described, pool, model)]
        traits += workload_claims.drawn(model, draws.seed)
        head = (model_files.to_toml(model), *(apart or (None, None, None)))
        return pl.DataFrame(
            [((None,) * len(head) if number else head) + of for number, of in enumerate(traits)],
            schema=_FRAME,
            orient="row",
        )

    return compute


def _modelled(frame: pl.DataFrame) -> Modelled:
    """A model and its likeness, of what its cell gave."""
    of_log, *drawn = (Traits(*row) for row in frame.select(Traits._fields).iter_rows())
    model: Model = model_files.from_toml(frame["model"][0], "the model")
    value, lower, upper = frame.select("distance", "lower", "upper").row(0)
    apart = None if value is None else Estimate(value, lower, upper)
    verdicts = workload_claims.decide(model, apart)
    return Modelled(model, Likeness(of_log, tuple(drawn)), verdicts)


def _write(out: Path, content: bytes, flag: str) -> None:
    """Puts a file in place in one step.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        replace.write(out, content)
    except OSError as error:
        said = error.strerror or error
        raise UsageError(f"{out}: cannot be written: {said} ({flag})") from error
