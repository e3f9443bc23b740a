"""A cluster's attempts to its figures, which are kept in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from audit.cluster import compute, results
from audit.cluster.fairshare import Fairshare
from audit.cluster.identity import Identity
from audit.cluster.setting import Setting
from audit.cluster.windows import WHOLE, Window
from audit.config import Config
from audit.ingest.ingest import Progress
from audit.model import Period
from audit.scenario.driver import Effort
from audit.store import queries
from audit.store.database import Connection
from audit.workers import chosen as workers


@dataclass(frozen=True)
class Task:
    """What is to be computed of a cluster."""

    attempts: pl.DataFrame
    """All that the store has of it, or as many as the window needs; columns of
    ``model.ATTEMPTS``."""
    setting: Setting
    fairshare: Fairshare
    due: Sequence[Identity]
    """The runs, one for each period."""
    kept: Mapping[Period, str] = field(default_factory=dict)
    """Other current periods and their run, whose figures stay; those of all others go."""
    window: Window = WHOLE
    """The attempts and days of which rows are made: those of the periods that are due."""
    pages: bool = True
    """Whether pages of users or accounts may be made, which compare them with everybody."""


def compute_and_keep(
    con: Connection,
    task: Task,
    config: Config,
    now: int | None = None,
    progress: Progress = lambda what, done, of: None,
) -> None:
    """Computes the figures of periods and puts them in the place of those that were there.

    Args:
        con: the store. Fair start times that it has, and that rest on the same, are taken over.
        task: what to compute.
        config: the configuration in force.
        now: when, epoch s; None where no clock may show.
        progress: told how far it is.

    Raises:
        WorkersError: the workers that the configuration names cannot be used.
        StoreError: the results cannot be stored.
    """
    setting = task.setting
    progress("computing", 0, 1)
    with workers.crew(config.compute, config.simulation.threads) as crew:
        computed = compute.compute(
            task.attempts,
            setting,
            compute.Wanted(
                {identity.period: identity.seed for identity in task.due},
                task.kept.keys(),
                task.window,
            ),
            config,
            task.fairshare,
            queries.run(con, "known_fair_starts", cluster=setting.cluster),
            Effort(crew, lambda done, of: progress("fair start times", done, of)),
        )
        results.replace(
            con, setting, computed, task.due, task.kept, now, task.window, pages=task.pages
        )
    progress("computing", 1, 1)
