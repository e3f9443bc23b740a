"""How fair start times are computed from a workload, in ranges.

They are computed attempt by attempt, in ranges that are independent of each other. Results go back
into the rows of the scenario's frame.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.scenario.workload import NEVER
from audit.workers.executors import IN_TURN, Executor, computed

OnProgress = Callable[[int, int], None]
"""Called with the number of attempts done, and of all."""

Asked = TypeVar("Asked", bound="Request")
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


class RangeCut(NamedTuple):
    """The part of a request that matters to a range."""

    request: Any
    part: Range  # in that request


def moved(part: Range, kept: Bools) -> Range:
    """Return where a range is among the ``kept`` attempts, which include it."""
    low = int(np.count_nonzero(kept[: part.low]))
    return Range(low, low + part.high - part.low)


class Request(Protocol):
    """A computation by ranges; it can be divided if no range needs all attempts."""

    @property
    def divisible(self) -> bool:
        """Whether ``cut`` leaves anything out."""

    def cut(self, part: Range) -> RangeCut:
        """Return what matters to a range."""


class _Piece:
    """A range to compute. Another process gets only what matters to the range."""

    def __init__(self, common: "_Common", part: Range) -> None:
        self._common, self._part = common, part

    def __call__(self) -> tuple[Any, ...]:
        """Return the results."""
        found: tuple[Any, ...] = self._common.computation(self._part)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (self._common.prepare, *self._common.request.cut(self._part))


def _sent(prepare: Any, request: Any, part: Range) -> _Piece:
    return _Piece(_Common(prepare, request), part)


class _Common:
    """The request and its computation, which the pieces in one process share."""

    def __init__(self, prepare: Any, request: Any) -> None:
        self.prepare, self.request = prepare, request
        self._lock = threading.Lock()
        self._computation: Any = None

    @property
    def computation(self) -> Any:
        """The function that computes a range."""
        with self._lock:
            if self._computation is None:
                self._computation = self.prepare(self.request)
        return self._computation


def compute(
    prepare: Callable[[Asked], Callable[[Range], Found]],
    request: Asked,
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
    for part, found in _computed(prepare, request, ranges, effort.executor):
        here = slice(*part)
        for all_found, some in zip(out, found, strict=True):
            np.copyto(all_found[here], some, where=chosen[here])
        done += part.high - part.low
        effort.on_progress(done, total)


def _computed(
    prepare: Callable[[Asked], Callable[[Range], Found]],
    request: Asked,
    ranges: Sequence[Range],
    executor: Executor,
) -> Iterator[tuple[Range, Found]]:
    """Yield ranges with their results, in any order."""
    if not request.divisible:
        for number, found in executor.each(prepare, request, ranges):
            yield ranges[number], found
        return
    common = _Common(prepare, request)
    pieces = [_Piece(common, part) for part in ranges]
    for number, results in executor.each(computed, None, pieces):
        yield ranges[number], cast("Found", results)


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
