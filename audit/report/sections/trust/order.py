"""How often the order of starts follows the priorities, from the attempts of one pool."""

from collections.abc import Iterable, Sequence

import polars as pl


def by_priority(jobs: pl.DataFrame, recorded: float = 0.95) -> float | None:
    """Return how often a job that started before an earlier one had the higher priority.

    The earlier one is the first of its partition that waited at that time. None: priorities are
    not known, or no job started before an earlier one.
    """
    if not jobs.height or jobs["priority"].is_not_null().mean() < recorded:  # type: ignore[operator]
        return None
    higher = number = 0
    for of_queue in jobs.drop_nulls("priority").partition_by("partition"):
        for mine, first in _before_earlier(of_queue):
            number += 1
            higher += mine > first
    return higher / number if number else None


def _before_earlier(jobs: pl.DataFrame) -> Iterable[tuple[float, float]]:
    """Yield the priorities of each job that started before an earlier one, and of the latter."""
    rows = jobs.select("arrival_time", "start_time", "priority").rows()
    by_arrival = sorted(range(len(rows)), key=lambda k: rows[k][0])
    by_start: Sequence[int] = sorted(range(len(rows)), key=lambda k: (rows[k][1], rows[k][0]))
    started, front = [False] * len(rows), 0
    for k in by_start:
        while front < len(rows) and started[by_arrival[front]]:
            front += 1
        first = by_arrival[front] if front < len(rows) else k
        if rows[first][0] < rows[k][0] and rows[first][1] > rows[k][1]:
            yield rows[k][2], rows[first][2]
        started[k] = True
