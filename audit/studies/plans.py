"""Plans of the studies that need a log (``oneoff.study``), and synthetic logs.

Each function returns the plan for the pool ``only``, or for all pools; ``grid`` takes one pool.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import UsageError, refusals
from audit.files import replace
from audit.metrics.attempts.population import TOP_WIDTH
from audit.metrics.claims import Estimate
from audit.metrics.draws import Draws
from audit.model import Backfill, Pool
from audit.oneoff.study import Made, StudyPlan
from audit.pipeline import opening
from audit.pipeline.opening import ClusterLog
from audit.report import wording
from audit.report.study.cells import StudyCell, studied
from audit.report.study.page import pool_prefix
from audit.scenario.tabu import TabuSearch
from audit.studies import parts
from audit.studies.grid import claims as grid_claims
from audit.studies.grid import compute as grids
from audit.studies.grid import page as grid_page
from audit.studies.sensitivity import claims as answers_
from audit.studies.sensitivity import compute as settings
from audit.studies.sensitivity import page as sensitivity_page
from audit.studies.users import compute as policies
from audit.studies.users import page as users_page
from audit.studies.workload import page as workload_page
from audit.studies.workload.compute import likeness, model_files, synthetic
from audit.studies.workload.compute.classes import TECHNIQUES
from audit.studies.workload.compute.model import model_of, place, population
from audit.words import plural

Planner: TypeAlias = Callable[[ClusterLog, Draws], StudyPlan]

# --- grid ----------------------------------------------------------------------------------------


def loads(text: str) -> tuple[Fraction, ...]:
    """Return loads such as ``0.7,0.95``, ascending.

    Raises UsageError if one of them is not a number above 0 and up to 10.
    """
    shares = set()
    for word in text.split(","):
        try:
            load = Fraction(word.strip())
        except (ValueError, ZeroDivisionError):
            load = Fraction(0)
        if not 0 < load <= 10:
            raise UsageError(
                f"--loads: {word.strip()!r} is not a load; give shares of the capacity: 0.7,0.95"
            )
        shares.add(load)
    return tuple(sorted(shares))


def grid(
    only: str | None = None,
    attempts: int = parts.ATTEMPTS,
    loads: tuple[Fraction, ...] = grids.LOADS,
    top_width: int = TOP_WIDTH,
) -> Planner:
    """Return the plan for the pool ``only``, or for the pool in which most attempts started."""

    def of(log: ClusterLog, draws: Draws) -> StudyPlan:
        pool = opening.largest_pool(log, only)
        part = parts.part(log.described, pool, attempts, top_width)
        part.offered_load  # noqa: B018 - refuses a part without load before the long work
        cells = grids.cells(part, loads)

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            named = {cell.key: frame for cell, frame in zip(cells, frames, strict=True)}
            grid = grids.grid(part, loads, named, draws)
            figures, ranked = grids.figures(grid), grids.correlations(grid)
            decided = grid_claims.decide(grid, ranked)
            results = grid_page.GridResults(
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
            return Made(grid_page.study(results), pl.concat([figures, studied(rows)]))

        return StudyPlan(f"{pool.name} {attempts} {' '.join(map(str, loads))}", cells, finish)

    return of


# --- users ---------------------------------------------------------------------------------------


def users(only: str | None = None, search_s: float | None = None) -> Planner:
    """Return the plan; ``search_s`` limits the wall-clock time of each tabu search, s."""
    bound = None if search_s is None else Stopwatch(search_s)

    def of(log: ClusterLog, draws: Draws) -> StudyPlan:
        search = TabuSearch(seed=draws.seed, bound=bound)
        chosen = opening.pools(log, only)
        cells = [
            cell
            for pool in chosen
            for cell in policies.cells(
                log.described.filter(pool=pool.name), pool, log.setting.now, search
            )
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            waiting = iter(frames)
            compared = [
                policies.compared(pool, estimates, [next(waiting) for _ in policies.RUNS], draws)
                for pool in chosen
                for estimates in policies.ESTIMATES
            ]
            study = users_page.study(log.setting.cluster, compared, search, draws)
            return Made(study, pl.concat(map(policies.rows, compared)))

        return StudyPlan(f"{only} {search}", cells, finish)

    return of


@dataclass(frozen=True)
class Stopwatch:
    """Sets a flag some seconds after its last start, for searches, which cannot read the clock.

    Raises UsageError if ``seconds`` is below 0, or not a number.
    """

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise UsageError(f"a search of {self.seconds} s: give at least 0")

    def __str__(self) -> str:
        return f"{self.seconds:g} s"

    @contextmanager
    def __call__(self, flag: NDArray[np.int64]) -> Iterator[Callable[[], None]]:
        """Watch while the block runs; yield the function that starts the watch.

        Starting resets the first element of ``flag``, which becomes 1 when the time is over. One
        thread reads the clock ten times in that time, because creating a thread for each start
        would take longer than a search.
        """
        until, lock, ended = float("inf"), Lock(), Event()

        def start() -> None:
            nonlocal until
            with lock:
                until = time.monotonic() + self.seconds
                flag[0] = self.seconds == 0  # independent of the thread's timing

        def watch() -> None:
            while not ended.wait(min(max(self.seconds / 10, 0.001), 1.0)):
                with lock:
                    if time.monotonic() >= until:
                        flag[0] = 1

        watching = Thread(target=watch, name="fairaudit-stopwatch", daemon=True)
        watching.start()
        try:
            yield start
        finally:
            ended.set()
            watching.join()


# --- sensitivity ---------------------------------------------------------------------------------


def sensitivity(
    only: str | None, by: settings.By | None, most: int, backfill: Backfill | None
) -> Planner:
    """Return the plan; for ``by`` and ``most`` see ``compute.grouped``.

    Without ``backfill``, that of the pool's configuration applies.
    """

    def of(log: ClusterLog, draws: Draws) -> StudyPlan:
        points = settings.points()
        pools = [
            (pool, settings.grouped(log.described.filter(pool=pool.name), by, most))
            for pool in opening.pools(log, only)
        ]
        backfills = [backfill or pool.policy.backfill for pool, _ in pools]
        cells = [
            cell
            for (pool, groups), chosen in zip(pools, backfills, strict=True)
            for cell in settings.cells(groups, pool, log.setting.now, chosen, points)
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            results = []
            for at, (pool, groups) in enumerate(pools):
                own = frames[at * len(points) : (at + 1) * len(points)]
                answers = answers_.answers(groups.labels, points, own, draws)
                verdicts = [
                    verdict
                    for base in settings.BASES
                    for verdict in answers_.decide(
                        base, answers, two_at_once=base is settings.BASES[0]
                    )
                ]
                results.append(sensitivity_page.SensitivityResults(pool, groups, answers, verdicts))
            return Made(
                sensitivity_page.study(log.setting.cluster, results, backfills, draws),
                pl.concat(answers_.rows(one.pool.name, one.answers) for one in results),
            )

        return StudyPlan(f"{only} {by} {most} {backfills}", cells, finish)

    return of


# --- workload ------------------------------------------------------------------------------------

SUFFIXES: Final = (".swf", ".psv", ".txt")
"""Suffixes of synthetic logs: SWF, and sacct's text."""
_HEAD: Final = ("model", "distance", "lower", "upper")
_FRAME: Final = pl.Schema(
    {"model": pl.String, **dict.fromkeys((*_HEAD[1:], *likeness.Traits._fields), pl.Float64)}
)
"""The frame of a cell: the model, the distance of its fits and the log's traits; then rows with the
traits of the drawn logs."""


def workload(only: str | None = None, clusters: int | None = None) -> Planner:
    """Return the plan, which also writes the models; ``clusters`` ≥ 1 by k-means, None chooses."""

    def of(log: ClusterLog, draws: Draws) -> StudyPlan:
        pools = [
            pool for pool in opening.pools(log, only) if population(log.described, pool).height
        ]
        if not pools:
            raise UsageError("workload: no attempt of the log has ended; use a longer log")
        cells = [
            StudyCell(f"{pool.name}, by {by}", partial(_computed, log, pool, by, draws, clusters))
            for pool in pools
            for by in TECHNIQUES
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            each = map(_modelled, frames)
            studies = [
                workload_page.Studied(pool, log.described, tuple(next(each) for _ in TECHNIQUES))
                for pool in pools
            ]
            files, rows = {}, []
            for number, (pool, _, models) in enumerate(studies):
                prefix = pool_prefix(number, len(pools))
                for model, like, _ in models:
                    files[workload_page.file_name(model, prefix)] = model_files.to_toml(model)
                    rows.append(likeness.rows(pool.name, model, like))
            page = workload_page.study(log.setting.cluster, studies, draws)
            return Made(page, pl.concat(rows), files)

        return StudyPlan(f"{only} clusters {clusters} {draws.number}", cells, finish)

    return of


def _computed(
    log: ClusterLog, pool: Pool, by: str, draws: Draws, clusters: int | None
) -> pl.DataFrame:
    """Return a model as columns of ``_FRAME``."""
    placed = place(log.described, pool, log.setting.zone, by, draws.seed, clusters)
    model = model_of(placed, pool, log.setting.cluster, draws.seed)
    apart = likeness.distance(placed, model, draws) or (None, None, None)
    of_log = likeness.traits(population(log.described, pool), model)
    rows: list[tuple[object, ...]] = [(model_files.to_toml(model), *apart, *of_log)]
    rows += [((None,) * len(_HEAD)) + of for of in likeness.drawn(model, draws.seed)]
    return pl.DataFrame(rows, schema=_FRAME, orient="row")


def _modelled(frame: pl.DataFrame) -> workload_page.Modelled:
    """Return a model and its likeness from its cell's frame."""
    of_log, *drawn = (
        likeness.Traits(*row) for row in frame.select(likeness.Traits._fields).iter_rows()
    )
    text, *distance = frame.select(_HEAD).row(0)
    model = model_files.from_toml(text, "the model")
    apart = None if distance[0] is None else Estimate(*distance)
    like = likeness.Likeness(of_log, tuple(drawn))
    return workload_page.Modelled(model, like, likeness.decide(model, apart))


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
        UsageError: the model cannot be read or the log not written, or the pool is too small.
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
        why = getattr(error, "strerror", None) or "it is not in UTF-8"
        raise UsageError(f"{model_file}: cannot be read: {why}") from error
    if out.exists() and out.samefile(model_file):
        raise UsageError(f"{out}: is the model itself; name another file")
    model = model_files.from_toml(text, model_file.name)
    log = synthetic.log(model, seed, jobs, intensity, machine)
    if log.is_empty():
        raise UsageError(f"{model_file.name}: no job arrives in the days of the model; pass --jobs")
    swf = suffix == ".swf"
    content = synthetic.to_swf(log, model, seed, machine) if swf else synthetic.to_sacct(log)
    with refusals(UsageError, out, "cannot be written", "OUT"):
        replace.write(out, content)
    capacity = synthetic.capacity(model, machine)
    return f"{out}: {plural(log.height, 'job')} on {capacity:,} {wording.resources(model.resource)}"
