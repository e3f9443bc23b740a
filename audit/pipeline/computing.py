"""Computes a cluster's figures from its attempts, and stores them."""

from collections.abc import Callable

from audit.cluster import compute, results
from audit.cluster.compute import Task
from audit.cluster.identity import seed_of
from audit.config import Config
from audit.progress import OnProgress, silent
from audit.scenario.driver import Effort
from audit.store import database
from audit.store.database import Connection
from audit.workers import chosen as workers


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
    seeds = {of.period: seed_of(task.attempts, of.period) for of in task.due}
    threads = config.simulation.threads
    with workers.executor(config.compute, threads, warned=warned) as executor:
        computed = compute.compute(
            task, seeds, config, database.folder(con), Effort(executor), on_progress
        )
        results.replace(con, task, computed, now)
