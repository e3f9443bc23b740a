"""Work on many attempts that do not depend on one another, shared among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from typing import Final, NamedTuple

from audit.simulation.workload import Ints

Told = Callable[[int, int], None]
"""Told how many of how many attempts are done."""


class Effort(NamedTuple):
    """What may be put into it."""

    threads: int = 1
    """How many work on it; the result does not depend on that."""
    budget_s: float | None = None
    """CPU seconds, as ``budget.cost`` estimates them, forward starts included; where all would take
    more, a sample is computed. None: no bound."""


ALL: Final = Effort()

PARTS: Final = 64
"""Ranges that the attempts are cut into."""


def in_parts(compute: Callable[[int, int], int], subjects: Ints, threads: int, told: Told) -> None:
    """Lets ``compute`` do all ``subjects``, a range of indices at a time.

    Args:
        compute: does the subjects from one index up to another, and gives how many indices these
            are; several threads call it at once.
        subjects: ascending indices, at least one.
        threads: how many work on it.
        told: told of progress.
    """
    cuts = _cuts(subjects, PARTS)
    total = sum(high - low for low, high in cuts)
    done = 0
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        if pool is None:
            parts = (compute(low, high) for low, high in cuts)
        else:
            running = [pool.submit(compute, low, high) for low, high in cuts]
            parts = (part.result() for part in as_completed(running))
        for part in parts:
            done += part
            told(done, total)


def _cuts(subjects: Ints, parts: int) -> list[tuple[int, int]]:
    """Ranges of indices that hold all subjects, about as many of them in each."""
    each = -(-len(subjects) // parts)
    return [
        (int(subjects[low]), int(subjects[min(low + each, len(subjects)) - 1]) + 1)
        for low in range(0, len(subjects), each)
    ]
