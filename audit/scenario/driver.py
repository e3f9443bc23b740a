"""The common part of fair start times, modelled starts and decisions.

Each is computed of a scenario's workload, attempt by attempt, and ranges of attempts can be
computed apart. Results go back into the rows of the scenario's frame;
those of an earlier run are reused while their *basis* (``scenario.basis``) is the same.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import polars as pl

from audit.scenario.workload import KEYS, NEVER, Bools, Ints
from audit.workers.executors import IN_TURN, Executor

OnProgress = Callable[[int, int], None]
"""Called with the number of attempts done, and of all."""

Shared = TypeVar("Shared")
Made = TypeVar("Made")
Space = TypeVar("Space")
Found = TypeVar("Found", bound=tuple[Any, ...])


class Effort(NamedTuple):
    """The executor, its progress and its limits."""

    executor: Executor = IN_TURN
    """The result does not depend on it."""
    on_progress: OnProgress = lambda done, of: None
    budget_s: float | None = None
    """CPU seconds, as ``scenario.budget`` estimates them, modelled starts included; beyond it, a
    sample is computed. None: no bound."""
    wanted: pl.Expr | None = None
    """Selects the attempts to compute, by columns of ``model.DESCRIBED``; None: all."""


ALL: Final = Effort()


class Range(NamedTuple):
    """Indices from ``low`` up to, but not including, ``high``."""

    low: int
    high: int


def compute(
    prepare: Callable[[Shared], Callable[[Range], Found]],
    shared: Shared,
    chosen: Bools,
    out: Found,
    effort: Effort,
) -> None:
    """Write the results of the ``chosen`` attempts to the arrays ``out``, [n] each."""
    subjects = np.flatnonzero(chosen)
    if len(subjects) == 0:
        return
    for part, found in in_parts(prepare, shared, subjects, effort):
        here = slice(*part)
        for whole, some in zip(out, found, strict=True):
            np.copyto(whole[here], some, where=chosen[here])


def in_parts(
    prepare: Callable[[Shared], Callable[[Range], Made]],
    shared: Shared,
    subjects: Ints,
    effort: Effort,
) -> Iterator[tuple[Range, Made]]:
    """Have the executor compute ranges that hold all ``subjects``, at least one, ascending.

    ``prepare(shared)`` gives the function that computes a range; see ``Executor.each``.
    """
    ranges = cut(subjects, effort.executor.parts)
    total = sum(high - low for low, high in ranges)
    done = 0
    for number, made in effort.executor.each(prepare, shared, ranges):
        yield ranges[number], made
        done += ranges[number].high - ranges[number].low
        effort.on_progress(done, total)


def cut(subjects: Ints, parts: int) -> list[Range]:
    """Return ranges of indices that hold all subjects, about equally many in each."""
    each = -(-len(subjects) // parts)
    return [
        Range(int(subjects[low]), int(subjects[min(low + each, len(subjects)) - 1]) + 1)
        for low in range(0, len(subjects), each)
    ]


def by_thread(
    space: Callable[[], Space], kernel: Callable[[Space, Range], None], out: Found
) -> Callable[[Range], Found]:
    """Return what runs ``kernel`` on a range in the thread's own working ``space``.

    It gives views of ``out``, which the kernel fills. A space is as large as the log, so it is made
    once per thread.
    """
    own = threading.local()

    def computed(part: Range) -> Found:
        if not hasattr(own, "space"):
            own.space = space()
        kernel(own.space, part)
        views = [array[slice(*part)] for array in out]
        return type(out)(*views)

    return computed


def nevers(count: int) -> Ints:
    """Return NEVER for each of ``count`` attempts."""
    return np.full(count, NEVER)


def recalled(
    known: pl.DataFrame | None,
    keys: pl.DataFrame,
    columns: Sequence[str],
    basis: str,
    basis_at: Callable[[Ints, Ints], Ints],
    subject: Bools,
) -> tuple[list[Ints], Bools]:
    """Return two instants of an earlier result for each attempt, and which of them still hold.

    Args:
        known: that result, with ``KEYS``, the two ``columns`` and ``basis``, or None.
        keys: ``KEYS`` of the attempts, row for row.
        basis_at: gives today's bases of results at these instants.
        subject: attempts whose results are asked for; those of others do not hold.

    Returns:
        Arrays with NEVER where nothing holds or the instant does not come.
    """
    count = keys.height
    if known is None or known.is_empty():
        return [nevers(count), nevers(count)], np.zeros(count, np.bool_)
    earlier = keys.join(
        known.select(*KEYS, *columns, basis),
        on=KEYS,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    one, two = (
        np.ascontiguousarray(earlier[name].fill_null(NEVER).to_numpy(), np.int64)
        for name in columns
    )
    same = earlier[basis] == pl.Series(basis_at(one, two))
    holds = subject & same.fill_null(False).to_numpy()
    return [np.where(holds, one, NEVER), np.where(holds, two, NEVER)], holds


def places(height: int, rows: Ints, subject: Bools) -> pl.Series:
    """Return the place of each of ``height`` rows in the workload; null where it is no subject."""
    of_row = np.full(height, -1)
    of_row[rows[subject]] = np.flatnonzero(subject)
    return pl.Series(of_row).replace(-1, None)
