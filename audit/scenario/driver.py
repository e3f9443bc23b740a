"""The effort that fair start times may take, and where they go in the scenario's frame."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.workers.executors import ONE_THREAD, Executor

OnProgress = Callable[[int, int], None]
"""Called with the number of attempts done, and of all."""


class Effort(NamedTuple):
    """The executor, its progress and its limits."""

    executor: Executor = ONE_THREAD  # the result does not depend on it
    on_progress: OnProgress = lambda done, of: None
    budget_s: float | None = None
    """CPU seconds, as ``scenario.budget`` estimates them; beyond it, a sample is computed. None: no
    bound."""
    wanted: pl.Expr | None = None
    """Selects the attempts to compute, by columns of ``model.DESCRIBED``; None: all."""


ALL: Final = Effort()


def places(height: int, rows: Ints, subject: Bools) -> pl.Series:
    """Return the place of each of ``height`` rows in the workload; null if it is not a subject."""
    of_row = np.full(height, -1)
    of_row[rows[subject]] = np.flatnonzero(subject)
    return pl.Series(of_row).replace(-1, None)
