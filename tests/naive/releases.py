"""SPEC §11, *Chains, releases, begin times*, in slow, plain Python; nothing is shared."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

DAY = 86_400
SHIFTS = [sign * hours * 3_600 for hours in (6, 12, 24) for sign in (-1, 1)]


class Job(NamedTuple):
    number: int
    user: str | None
    arrival: int
    start: int | None
    end: int | None
    size: int
    partition: str | None = None
    node: str | None = None  # on which it runs


class Machine(NamedTuple):
    """A node: its size, its partitions, and when it is away."""

    size: int
    partitions: str
    away: tuple[tuple[int, int], ...] = ()


Capacity = int | Mapping[str, Machine]


def room(
    jobs: Sequence[Job], capacity: Capacity, job: Job, x: int, *, single: bool = False
) -> bool:
    """Whether at least the job's size is free just before x, on the nodes that it may use.

    Args:
        single: on one of them.
    """
    running = [
        other
        for other in jobs
        if other.start is not None and other.end is not None and other.start < x <= other.end
    ]
    if isinstance(capacity, int):
        return capacity - sum(other.size for other in running) >= job.size
    free = [0]
    for name, machine in capacity.items():
        eligible = job.partition is None or job.partition in machine.partitions
        if eligible and not any(begin < x <= end for begin, end in machine.away):
            used = sum(other.size for other in running if other.node == name)
            free.append(max(machine.size - used, 0))
    return (max(free) if single else sum(free)) >= job.size


def forbidden(jobs: Sequence[Job], most: int | None, job: Job, x: int) -> bool:
    """Whether a limit of the sizes of each user forbids a job just before an instant."""
    if most is None:
        return False
    own = [(j.start, j.end, j.size) for j in jobs if j.user == job.user]
    runs = [size for start, end, size in own if start is not None and end and start < x <= end]
    return sum(runs) + job.size > most


def chained(
    jobs: Sequence[Job], capacity: Capacity, user: str, shift: int = 0, most: int | None = None
) -> tuple[list[Job], list[Job]]:
    """The jobs that could have started before the user's previous one ended, and those that do."""
    own = sorted((job for job in jobs if job.user == user), key=lambda job: job.number)
    could, hits = [], []
    for k in range(1, len(own)):
        p, j = own[k - 1], own[k]
        if j.start is None or p.start is None or p.end is None or p.start > j.start:
            continue
        end = p.end + shift
        queued = end - j.arrival > 60 and j.start - j.arrival > 60
        if queued and room(jobs, capacity, j, end) and not forbidden(jobs, most, j, end):
            could.append(j)
            if -5 <= j.start - end <= 120:
                hits.append(j)
    return could, hits


def freed(jobs: Sequence[Job], job: Job) -> int:
    """When the previous job of a chain's job ends: until then it is held."""
    own = sorted((one for one in jobs if one.user == job.user), key=lambda one: one.number)
    previous = own[own.index(job) - 1]
    assert previous.end is not None
    assert job.start is not None
    return min(previous.end, job.start)


def chain(
    jobs: Sequence[Job], capacity: Capacity, user: str, most: int | None = None
) -> tuple[int, Fraction, Fraction] | None:
    """The number of these jobs, the share that starts then, and the shifted one; days are UTC's."""
    could, hits = chained(jobs, capacity, user, most=most)
    days = {job.start // 86_400 for job in hits if job.start is not None}
    if len(could) < 10 or len(days) < 3:
        return None
    shares = []
    for shift in SHIFTS:
        shifted, theirs = chained(jobs, capacity, user, shift, most)
        shares.append(Fraction(len(theirs), len(shifted)) if shifted else Fraction())
    return len(could), Fraction(len(hits), len(could)), sum(shares, Fraction()) / len(shares)


def released(jobs: Sequence[Job], capacity: Capacity, user: str) -> list[tuple[int, int, int]]:
    """The joint releases of a user: number of jobs, first and last start; jobs arrive by time."""
    own = [job for job in jobs if job.user == user and job.start is not None]
    late = sorted((j.start, j) for j in own if j.start is not None and j.start - j.arrival > DAY)
    groups: list[list[Job]] = []
    for start, job in late:
        if groups and start - (groups[-1][-1].start or 0) <= 120:
            groups[-1].append(job)
        else:
            groups.append([job])
    return [
        (len(one), one[0].start or 0, one[-1].start or 0)
        for one in groups
        if len(one) >= 5 and together(jobs, capacity, user, one)
    ]


def together(jobs: Sequence[Job], capacity: Capacity, user: str, group: Sequence[Job]) -> bool:
    """Whether a group of starts is a joint release."""
    begin, end = group[0].start or 0, group[-1].start or 0
    parts = [[*group]]
    if not isinstance(capacity, int):
        parts = [[j for j in group if j.partition == of] for of in {j.partition for j in group}]
    had = all(had_room(jobs, capacity, part, begin) for part in parts)
    started = any(
        job.user == user and job.arrival <= begin - DAY and begin - DAY <= job.start < begin
        for job in jobs
        if job.start is not None
    )
    others = [
        job
        for job in jobs
        if job.user != user
        and job.arrival < begin - DAY
        and (job.arrival + 10_000 if job.start is None else job.start) >= begin - 600
    ]
    near = [j for j in others if j.start is not None and begin - 600 <= j.start <= end + 600]
    return had and not started and 4 * len(near) <= len(others)


def had_room(jobs: Sequence[Job], capacity: Capacity, group: Sequence[Job], begin: int) -> bool:
    """Whether the median size had room for half of the day before, and half of all at its end."""
    median = sorted(job.size for job in group)[(len(group) - 1) // 2]
    edges = {t for j in jobs for t in (j.start, j.end) if t is not None}
    if not isinstance(capacity, int):
        edges |= {t for one in capacity.values() for span in one.away for t in span}
    times = [begin - DAY, *sorted(t for t in edges if begin - DAY < t < begin), begin]
    of_median = group[0]._replace(size=median)
    had = sum(
        to - since for since, to in pairwise(times) if room(jobs, capacity, of_median, since + 1)
    )
    whole = group[0]._replace(size=-(-sum(job.size for job in group) // 2))
    return had >= DAY // 2 and room(jobs, capacity, whole, begin)


def triggered(
    jobs: Sequence[Job], capacity: Capacity, user: str
) -> tuple[int, Fraction, Fraction, float] | None:
    """Jobs with room, their share after an own end, the shifted one and the expected one."""
    own = [job for job in jobs if job.user == user and job.start is not None]
    mine = [
        job
        for job in own
        if job.start is not None
        and job.start - job.arrival > 600
        and room(jobs, capacity, job, job.start - 120)
    ]
    starts = [job.start or 0 for job in mine]
    if len(mine) < 20 or len({start // DAY for start in starts}) < 3:
        return None

    def follows(job: Job, shift: int) -> bool:
        ends = [other.end + shift for other in own if other is not job and other.end is not None]
        return any(0 <= (job.start or 0) - end <= 120 for end in ends)

    def share(shift: int) -> Fraction:
        return Fraction(sum(follows(job, shift) for job in mine), len(mine))

    chances = []
    for start in starts:
        x = start - 120
        running = [j for j in jobs if j.start is not None and j.end and j.start < x <= j.end]
        running = [j for j in running if j.end != j.start]
        ends = sum(j.end is not None and x <= j.end <= start for j in jobs)
        part = sum(j.user == user for j in running) / max(len(running), 1)
        chances.append(1 - (1 - part) ** ends)
    shifted = sum((share(shift) for shift in SHIFTS), Fraction()) / len(SHIFTS)
    return len(mine), share(0), shifted, sum(chances) / len(chances)


def begins(jobs: Sequence[Job], capacity: Capacity, user: str) -> tuple[int, int] | None:
    """The begin of a begin time's two slots, s since midnight UTC, and its jobs."""
    all_of_them = [
        job
        for job in jobs
        if job.start is not None
        and job.start - job.arrival > 3_600
        and room(jobs, capacity, job, job.start - 120)
    ]
    own = [job.start or 0 for job in all_of_them if job.user == user]
    if len(own) < 8:
        return None

    def inside(starts: Sequence[int], slot: int) -> list[int]:
        return [s for s in starts if s % DAY // 120 in (slot, (slot + 1) % 720)]

    slot = max(range(720), key=lambda one: (len(inside(own, one)), -one))
    hits = inside(own, slot)
    days, of_all = ({s // DAY for s in some} for some in (hits, own))
    if 10 * len(hits) < 3 * len(own) or len(days) < 5 or 10 * len(days) < 3 * len(of_all):
        return None
    others: list[int] = []
    number = sum(job.user != user for job in all_of_them)
    for other in {job.user for job in all_of_them} - {user}:
        theirs = [job.start or 0 for job in all_of_them if job.user == other]
        if other is None or 10 * len(inside(theirs, slot)) < 3 * len(theirs):
            others += theirs
    few = 50 * len(inside(others, slot)) <= len(others)
    return (slot * 120, len(hits)) if few and 2 * len(others) >= number else None
