"""How fair start times are computed from a workload, in ranges.

They are computed attempt by attempt, in ranges that are independent of each other. Results go back
into the rows of the scenario's frame.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.scenario.workload import NEVER
from audit.workers.executors import IN_TURN, Executor

OnProgress = Callable[[int, int], None]
"""Called with the number of attempts done, and of all."""

Request = TypeVar("Request")
Space = TypeVar("Space")
Found = TypeVar("Found", bound=tuple[Any, ...])


class Effort(NamedTuple):
    """The executor, its progress and its limits."""

    executor: Executor = IN_TURN  # the result does not depend on it
    on_progress: OnProgress = lambda done, of: None
    budget_s: float | None = None
    """CPU seconds, as ``scenario.budget`` estimates them; beyond it, a sample is computed. None: no
    bound."""
    wanted: pl.Expr | None = None
    """Selects the attempts to compute, by columns of ``model.DESCRIBED``; None: all."""


ALL: Final = Effort()


class Range(NamedTuple):
    """Indices from ``low`` up to, but not including, ``high``."""

    low: int
    high: int


def compute(
    prepare: Callable[[Request], Callable[[Range], Found]],
    request: Request,
    chosen: Bools,
    out: Found,
    effort: Effort,
) -> None:
    """Write the results of the ``chosen`` attempts to the arrays ``out``, [n] each.

    The executor computes ranges that hold about equally many of them. ``prepare(request)`` returns
    the function that computes a range.
    """
    subjects = np.flatnonzero(chosen)
    if len(subjects) == 0:
        return
    each = -(-len(subjects) // effort.executor.parts)
    groups = (subjects[low : low + each] for low in range(0, len(subjects), each))
    ranges = [Range(int(group[0]), int(group[-1]) + 1) for group in groups]
    total = sum(high - low for low, high in ranges)
    done = 0
    for number, found in effort.executor.each(prepare, request, ranges):
        part = ranges[number]
        here = slice(*part)
        for all_found, some in zip(out, found, strict=True):
            np.copyto(all_found[here], some, where=chosen[here])
        done += part.high - part.low
        effort.on_progress(done, total)


def by_thread(
    space: Callable[[], Space], kernel: Callable[[Space, Range], None], out: Found
) -> Callable[[Range], Found]:
    """Return what runs ``kernel`` on a range and returns views of ``out``, which it fills.

    A working ``space`` is as large as the log, so each thread makes one and keeps it.
    """
    own = threading.local()

    def computed(part: Range) -> Found:
        if not hasattr(own, "space"):
            own.space = space()
        kernel(own.space, part)
        views = [array[slice(*part)] for array in out]
        return type(out)(*views)

    return computed


def chosen_of(count: int, subjects: Ints | None) -> Bools:
    """Return whether each of ``count`` attempts is a subject; None: all are."""
    chosen = np.zeros(count, np.bool_)
    chosen[slice(None) if subjects is None else subjects] = True
    return chosen


def nevers(count: int) -> Ints:
    """Return NEVER for each of ``count`` attempts."""
    return np.full(count, NEVER)


def places(height: int, rows: Ints, subject: Bools) -> pl.Series:
    """Return the place of each of ``height`` rows in the workload; null if it is not a subject."""
    of_row = np.full(height, -1)
    of_row[rows[subject]] = np.flatnonzero(subject)
    return pl.Series(of_row).replace(-1, None)
