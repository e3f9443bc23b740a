"""SPEC §11, *Chains*, in slow, plain Python; nothing is shared with the package."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

SHIFTS = [sign * hours * 3_600 for hours in (6, 12, 24) for sign in (-1, 1)]


class Job(NamedTuple):
    number: int
    user: str | None
    arrival: int
    start: int | None
    end: int | None
    size: int


def room(jobs: Sequence[Job], capacity: int, job: Job, x: int) -> bool:
    """Whether the capacity less what is used just before x is at least the job's size."""
    used = sum(
        other.size
        for other in jobs
        if other.start is not None and other.end is not None and other.start < x <= other.end
    )
    return capacity - used >= job.size


def chained(
    jobs: Sequence[Job], capacity: int, user: str, shift: int = 0
) -> tuple[list[Job], list[Job]]:
    """The jobs that could have started before the user's previous one ended, and those that do."""
    own = sorted((job for job in jobs if job.user == user), key=lambda job: job.number)
    could, hits = [], []
    for k in range(1, len(own)):
        p, j = own[k - 1], own[k]
        if j.start is None or p.start is None or p.end is None or p.start > j.start:
            continue
        end = p.end + shift
        if end - j.arrival > 60 and j.start - j.arrival > 60 and room(jobs, capacity, j, end):
            could.append(j)
            if -5 <= j.start - end <= 120:
                hits.append(j)
    return could, hits


def chain(jobs: Sequence[Job], capacity: int, user: str) -> tuple[int, Fraction, Fraction] | None:
    """The number of these jobs, the share that starts then, and the shifted one; days are UTC's."""
    could, hits = chained(jobs, capacity, user)
    days = {job.start // 86_400 for job in hits if job.start is not None}
    if len(could) < 10 or len(days) < 3:
        return None
    shares = []
    for shift in SHIFTS:
        shifted, theirs = chained(jobs, capacity, user, shift)
        shares.append(Fraction(len(theirs), len(shifted)) if shifted else Fraction())
    return len(could), Fraction(len(hits), len(could)), sum(shares, Fraction()) / len(shares)
