"""Occasions, broken shares and their bound, SPEC §11, in slow plain Python.

Nothing here is shared with the package.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tests.naive.simulation import Log, fits, minus, plus

Event = tuple[int, int, bool]
"""A user, an instant, and whether it is a start."""


def units(events: Sequence[Event]) -> dict[tuple[int, int], float]:
    """The broken share of each (day, user)."""
    found: dict[tuple[int, int], list[bool]] = defaultdict(list)
    for user, at, broken in events:
        found[at // 86_400, user].append(broken)
    return {unit: sum(starts) / len(starts) for unit, starts in found.items()}


def upper_bound(breaks: float, trials: int) -> float:
    """The 95 % quantile of Beta(breaks + 1, trials − breaks), by summing its density."""
    if breaks >= trials:
        return 1.0
    steps = 20_000
    a, b = breaks + 1, trials - breaks
    weights = []
    for k in range(steps):
        x = (k + 0.5) / steps
        weights.append(math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x)))
    total, so_far = sum(weights), 0.0
    for k, weight in enumerate(weights):
        so_far += weight
        if so_far >= 0.95 * total:
            return (k + 1) / steps
    return 1.0


def claims(
    log: Log, forbids: Callable[[int, int], bool], about: Sequence[bool]
) -> Iterator[tuple[int, int, int]]:
    """Each (attempt, second) that claims, and the first second of its stretch.

    Attempts that the rule forbids claim nothing of what is free for those behind them.

    Args:
        forbids: whether the rule forbids attempt k to start at t.
        about: which attempts the rule is about.
    """
    queued = [
        k
        for k, job in enumerate(log.jobs)
        if not job.blocked and not log.exceeds(k) and (job.start is not None or job.open)
    ]
    times = [job.arrival for job in log.jobs]
    times += [t for job in log.jobs for t in (job.start, job.end) if t is not None]
    times += [step.time for step in log.steps]
    stretch: dict[int, int] = {}
    for t in range(min(times, default=0), max(times, default=0)):
        running = [
            k
            for k, job in enumerate(log.jobs)
            if job.start is not None and job.end is not None and job.start <= t < job.end
        ]
        used = plus(tuple(0 for _ in log.capacity), *(log.jobs[k].request for k in running))
        free = minus(log.capacity_at(t), used)
        left = free
        for k in queued:
            job = log.jobs[k]
            waits = job.arrival <= t and (job.start is None or t < job.start)
            if not waits or not fits(job.request, free):
                stretch.pop(k, None)
                continue
            since = stretch.setdefault(k, t)
            if fits(job.request, left):
                yield k, t, since
                if not (about[k] and forbids(k, t)):
                    left = minus(left, job.request)
