"""Computes a cluster's figures from its attempts, and stores them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from audit.cluster import compute, results
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.identity import Identity, seed_of
from audit.cluster.setting import ClusterSettings
from audit.cluster.windows import WHOLE, ComputedWindow
from audit.config import Config
from audit.model import Period
from audit.progress import OnProgress, silent
from audit.scenario.driver import Effort
from audit.store import database
from audit.store.database import Connection
from audit.workers import chosen as workers


@dataclass(frozen=True)
class Task:
    """The input of a computation of a cluster's figures."""

    attempts: pl.DataFrame  # those that the window needs, or all; columns of ``model.ATTEMPTS``
    setting: ClusterSettings
    fairshare: FairshareInputs
    due: Sequence[Identity]  # the runs, one for each period
    kept: Mapping[Period, str] = field(default_factory=dict)
    """Other current periods and their runs, whose figures stay; all others are removed."""
    window: ComputedWindow = WHOLE  # the attempts and days of the due periods
    history_s: int | None = None  # see ``compute.Wanted``
    settings: Mapping[Period, ClusterSettings] = field(default_factory=dict)
    """Those of the due periods, if each has evidence of its own."""
    newest: ClusterSettings | None = None
    """The setting that describes the cluster; None: ``setting``."""
    pages: bool = True
    """Whether pages of users or accounts may be made, which compare them with all others."""
    predict: bool = True  # see ``compute.Wanted``


def compute_and_keep(
    con: Connection,
    task: Task,
    config: Config,
    now: int | None = None,
    on_progress: OnProgress = silent,
    warned: Callable[[str], None] = lambda text: None,
) -> None:
    """Compute the figures of periods, replacing those in the store.

    ``now`` (epoch s) is recorded; None: no time is. ``warned`` is called with faults of workers
    that changed no figure.

    Raises WorkersError if the configured workers cannot be used, StoreError if the results cannot
    be stored.
    """
    setting = task.setting
    seeds = {of.period: seed_of(task.attempts, of.period) for of in task.due}
    wanted = compute.Wanted(
        seeds,
        task.kept.keys(),
        task.window,
        task.history_s,
        task.settings,
        task.predict,
        database.folder(con),
    )
    threads = config.simulation.threads
    with workers.executor(config.compute, threads, warned=warned) as executor:
        computed = compute.compute(
            task.attempts,
            setting,
            wanted,
            config,
            task.fairshare,
            Effort(executor),
            on_progress,
        )
        described = results.Described(setting, task.settings, task.newest or setting)
        results.replace(
            con, described, computed, task.due, task.kept, now, task.window, pages=task.pages
        )
