"""Runs studies in parts that a later run can reuse, and writes their pages.

The *plan* of a study has independent cells, and makes the study from their frames. Finished cells
are kept beside the page, so that an interrupted study continues and makes the same bytes.
"""

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Final, NamedTuple

import polars as pl

from audit.cluster.identity import seed_of
from audit.cluster.inference import Fact
from audit.config import Config
from audit.errors import UsageError
from audit.files import folders, lock, privacy, replace
from audit.metrics.draws import Draws
from audit.pipeline.opening import ClusterLog, Session, open_log
from audit.pipeline.workplace import replacing
from audit.progress import OnProgress, silent, stopped_by_signals
from audit.report.study import page as pages
from audit.report.study.cells import STUDIED, StudyCell
from audit.report.study.page import Study
from audit.store import database, migrations, publish
from audit.workers import chosen as workers
from audit.workers.executors import ONE_THREAD, Executor, computed
from audit.workers.remote import program

STOPPING: Final = "finishing the current parts; another signal stops at once"
"""Progress message after a signal."""


class StudyTarget(NamedTuple):
    """Where the results of a study go, and the number of threads."""

    out: Path
    database: Path | None = None
    """A database to add the results to; default: a new ``STUDY.duckdb`` in ``out``."""
    threads: int | None = None  # default: as configured, else one per core


class Made(NamedTuple):
    """A finished study."""

    page: Study
    rows: pl.DataFrame  # rows for the database, with the columns of ``cells.STUDIED``
    others: Mapping[str, str] = {}  # texts of further files, by name


class StudyPlan(NamedTuple):
    """A study to be computed."""

    settings: str  # settings of the cells besides the log; cells of other settings are not reused
    cells: Sequence[StudyCell]
    finish: Callable[[Sequence[pl.DataFrame]], Made]
    """Makes the study from the frames of the cells, in their order."""
    facts: Sequence[Fact] = ()
    """Values inferred from the log."""


def conduct(
    session: Session,
    key: str,
    target: StudyTarget,
    plan: Callable[[ClusterLog, Draws], StudyPlan],
    warned: Callable[[str], None] = lambda text: None,
) -> tuple[Path, ...]:
    """Make a study of logs; return its files, the page first and the database last.

    ``key`` names the study and its files; the attempts determine the seed of the resamples.

    Raises:
        AuditError: see ``audit.errors``.
        KeyboardInterrupt: a signal stopped it; finished cells are kept.
    """
    config, on_progress = session.config, session.on_progress
    refuse_unfit(target.out)
    log = open_log(session.request, config, on_progress, session.folder)
    for fact in log.setting.facts:
        if fact.what != "policy":  # a study has its own
            session.on_inferred(fact)
    for warning in log.setting.warnings:
        warned(warning)
    planned = plan(log, Draws(seed_of(log.described), config.uncertainty.resamples))
    for fact in planned.facts:
        session.on_inferred(fact)
    cells_of = identity(key, str(log.setting), *log.sha256, planned.settings, str(config.metrics))
    database = target.database or target.out / f"{key}.duckdb"
    threads = target.threads or config.simulation.threads
    with _writing(target.out):
        folders.make(target.out)
    busy = "another process is computing this study"
    with lock.held(target.out / f"{key}.html", busy=busy), replacing(database):
        folder = target.out / f".{key}.cells"
        with workers.executor(config.compute, threads) as executor:
            frames = run_cells(planned.cells, folder, cells_of, executor, on_progress)
        on_progress("making the page", 0, 1)
        result = planned.finish(frames)
        _keep(result, log.setting.cluster, database, config, add=target.database is not None)
        files = write(result.page, target.out, result.others)
        on_progress("making the page", 1, 1)
    for file in files:
        privacy.share(file, with_group=config.output.shared_with_group)
    return (*files, database)


def run_cells(
    cells: Sequence[StudyCell],
    folder: Path,
    identity: str,
    executor: Executor = ONE_THREAD,
    on_progress: OnProgress = silent,
) -> list[pl.DataFrame]:
    """Compute cells, reuse those that an earlier run finished, and return frames in their order.

    The first SIGINT or SIGTERM stops it after the current cells; a second one ends the process.

    Args:
        cells: must have different keys.
        folder: keeps finished cells, each whole or not at all. Cells of another identity are
            removed.
        identity: what all cells depend on; see ``identity``.

    Raises:
        UsageError: ``folder`` cannot be written.
        WorkersError: the executor's workers cannot be used.
        KeyboardInterrupt: a signal stopped it.
    """
    if len({cell.key for cell in cells}) < len(cells):
        raise ValueError("two cells have the same key")
    home = folder / identity
    with _writing(folder):
        folders.make(home)
        for other in folder.iterdir():
            if other != home:
                shutil.rmtree(other)
    files = [home / f"{_sha256(cell.key)[:16]}.arrow" for cell in cells]
    frames = [_finished(file) for file in files]
    missing = [number for number, frame in enumerate(frames) if frame is None]
    done = len(cells) - len(missing)
    on_progress("computing", done, len(cells))

    with _stoppable() as stop:

        def stopped() -> bool:
            if stop.is_set():
                on_progress(STOPPING, done, len(cells))
            return stop.is_set()

        parts = [cells[number].compute for number in missing]
        for place, frame in executor.each(computed, None, parts, stopped):
            number = missing[place]
            with _writing(home), replace.drafting(files[number], alone=True) as draft:
                frame.write_ipc(draft, compression="zstd")
            frames[number] = frame
            done += 1
            on_progress("computing", done, len(cells))
    if stop.is_set() and done < len(cells):
        raise KeyboardInterrupt
    return [frame for frame in frames if frame is not None]


def identity(*dependencies: str) -> str:
    """Return a name for everything that cells depend on, including the program."""
    return _sha256(program(), *dependencies)[:16]


def refuse_unfit(out: Path) -> None:
    """Raise UsageError unless ``out`` is, or can become, a writable folder."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is not a folder; choose another place with --out")
    if out.exists() and not os.access(out, os.W_OK | os.X_OK):
        raise UsageError(f"{out}: cannot be written; choose another place with --out")
    with _writing(out):
        folders.require(out)


def write(study: Study, out: Path, others: Mapping[str, str] = {}) -> tuple[Path, ...]:
    """Write ``KEY.html``, ``KEY-TABLE.csv`` for each table, and ``others``; return the files.

    Each file is written whole or not at all. The page is written last, but returned first.

    Raises:
        UsageError: they cannot be written.
    """
    page = (f"{study.key}.html", pages.render_html(study))
    tables = [*((file.name, file.text) for file in pages.files(study)), *others.items()]
    with _writing(out):
        folders.make(out)
        for name, text in (*tables, page):
            replace.write(out / name, text.encode(), alone=True)
    return tuple(out / name for name, _ in (page, *tables))


def _keep(result: Made, log: str, target: Path, config: Config, *, add: bool) -> None:
    """Add a study's rows to a database, or write them to a new one."""
    seed = target if add and target.exists() else None
    with migrations.temporary(config.store.memory_limit, seed) as con:
        key = {"study": result.page.key, "log": log}
        delete = "DELETE FROM study_result WHERE study = ? AND log = ?"
        database.execute(con, delete, list(key.values()))
        database.insert(con, "study_result", result.rows.select(STUDIED.names()), key)
        publish.publish(con, target, with_group=config.output.shared_with_group)


@contextmanager
def _stoppable() -> Iterator[Event]:
    """Yield an event that signals set, if this thread can receive signals."""
    stop = Event()
    if current_thread() is main_thread():
        with stopped_by_signals(stop):
            yield stop
    else:
        yield stop


def _finished(file: Path) -> pl.DataFrame | None:
    """Return the frame of a cell that an earlier run finished, or None."""
    try:
        return pl.read_ipc(io.BytesIO(file.read_bytes()))
    except (OSError, pl.exceptions.PolarsError):  # missing or damaged
        return None


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Turn an OSError into a UsageError about ``place``."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        text = f"{place}: cannot be written ({why}); choose another place with --out"
        raise UsageError(text) from error


def _sha256(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
