"""Occasions and levels of rules, SPEC §10, in slow plain Python, second by second.

Nothing here is shared with the package.
"""

import math
from collections.abc import Sequence

from tests.naive.simulation import Log, fits, minus, plus


def room(log: Log) -> list[tuple[int, int]]:
    """Each (attempt, second) at which it waits, and fits after those before it took theirs."""
    queued = [
        k
        for k, job in enumerate(log.jobs)
        if not job.blocked
        and not log.exceeds(k)
        and not log.breaks(k)
        and (job.start is not None or job.open)
    ]
    times = [job.arrival for job in log.jobs]
    times += [t for job in log.jobs for t in (job.start, job.end) if t is not None]
    times += [step.time for step in log.steps]
    found = []
    for t in range(min(times, default=0), max(times, default=0)):
        running = [
            job.request
            for job in log.jobs
            if job.start is not None and job.end is not None and job.start <= t < job.end
        ]
        left = minus(log.capacity_at(t), plus(tuple(0 for _ in log.capacity), *running))
        for k in queued:
            job = log.jobs[k]
            waits = job.arrival <= t and (job.start is None or t < job.start)
            if waits and fits(job.request, left):
                found.append((k, t))
                left = minus(left, job.request)
    return found


def counts(
    instants: Sequence[int], arrival: int, start: int, ready: int | None, tolerance: int
) -> tuple[int, int]:
    """At how many instants of a wait it was said to be started, and not to be.

    The first at which it was is one with those up to the tolerance after it.
    """
    of_wait = [t for t in instants if arrival <= t <= start]
    if ready is None:
        return 0, len(of_wait)
    no = sum(t < ready for t in of_wait)
    late = start - ready > tolerance
    return 1 + (sum(t > ready + tolerance for t in of_wait) if late else 0), no


def loss(yes: int, no: int, foreseen: bool, p_yes: float, p_no: float) -> float:
    """The mean over the instants of −ln P(what was observed)."""
    said = [p_yes] * yes + [p_no] * no
    started = yes - 1 if foreseen else yes + no - 1  # the last of its kind is the start
    return sum(-math.log(p if place == started else 1 - p) for place, p in enumerate(said)) / len(
        said
    )


def held(attempts: Sequence[tuple[int, int, int, str]], who: int, at: int) -> int:
    """Return the amount that the owner of attempt ``who`` would hold at an instant with it.

    ``attempts``: start, end, amount, owner of each.
    """
    owner = attempts[who][3]
    running = {
        k
        for k, (start, end, _, whose) in enumerate(attempts)
        if whose == owner and start <= at < end
    }
    return sum(attempts[k][2] for k in running | {who})


def gain(served: int, tried: int, all_served: int, all_tried: int) -> float:
    """By how much two shares fit trials better than one, in nats."""

    def likelihood(s: int, n: int) -> float:
        return sum(k * math.log(k / n) for k in (s, n - s) if k)

    return (
        likelihood(served, tried)
        + likelihood(all_served - served, all_tried - tried)
        - likelihood(all_served, all_tried)
    )
