"""Work on many attempts that do not depend on one another, shared among whoever works."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

import polars as pl

from audit.scenario.workload import Ints
from audit.workers.executors import IN_TURN, Executor

Told = Callable[[int, int], None]
"""Told how many of how many attempts are done."""

Shared = TypeVar("Shared")
Made = TypeVar("Made")


class Effort(NamedTuple):
    """What may be put into it."""

    executor: Executor = IN_TURN
    """Who works on it; the result does not depend on that."""
    budget_s: float | None = None
    """CPU seconds, as ``scenario.budget`` estimates them, forward starts included; where all would
    take more, a sample is computed. None: no bound."""
    wanted: pl.Expr | None = None
    """Of whom figures are asked for, the others have none; of columns of ``model.DESCRIBED``. None:
    of all."""


ALL: Final = Effort()


class Execution(NamedTuple):
    """Who does the work, and who learns of its progress."""

    executor: Executor = IN_TURN
    on_progress: Told = lambda done, of: None


HERE: Final = Execution()


class Range(NamedTuple):
    """Indices from ``low`` up to, but not including, ``high``."""

    low: int
    high: int


def in_parts(
    prepare: Callable[[Shared], Callable[[Range], Made]],
    shared: Shared,
    subjects: Ints,
    executor: Executor,
    told: Told,
) -> Iterator[tuple[Range, Made]]:
    """Has all ``subjects`` done, a range of indices at a time.

    Args:
        prepare, shared: what does the subjects of a range; see ``Executor.each``.
        subjects: ascending indices, at least one.

    Yields:
        Each range, and what was made of it.
    """
    ranges = cut(subjects, executor.parts)
    total = sum(high - low for low, high in ranges)
    done = 0
    for number, made in executor.each(prepare, shared, ranges):
        yield ranges[number], made
        done += ranges[number].high - ranges[number].low
        told(done, total)


def cut(subjects: Ints, parts: int) -> list[Range]:
    """Ranges of indices that hold all subjects, about as many of them in each."""
    each = -(-len(subjects) // parts)
    return [
        Range(int(subjects[low]), int(subjects[min(low + each, len(subjects)) - 1]) + 1)
        for low in range(0, len(subjects), each)
    ]
