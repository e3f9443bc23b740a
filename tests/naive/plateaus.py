"""SPEC §11, *Plateaus*, in slow, plain Python; nothing is shared with the package.

Where nodes are known, jobs fit on them (SPEC §12).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from tests.naive.nodes import Free, Machines, eligible, minus, placement, split

KINDS = (
    *(("user", None), ("account", None), ("partition", None), (None, None)),
    *(("user", "partition"), ("account", "partition"), ("qos", None), ("user", "qos")),
)
"""Families of entities: what tells them apart, and within what they are."""

PARTITIONS = ("p", "q")
"""Partitions without which there are classes."""


class Job(NamedTuple):
    """A job; in the order (arrival, submit, sequence)."""

    arrival: int
    leave: int  # when it leaves the queue
    start: int | None
    end: int | None
    size: int
    walltime: int | None
    user: str | None
    account: str | None
    partition: str | None
    qos: str | None
    nodes: int = 1
    on: tuple[str, ...] = ()  # the nodes on which it ran

    @property
    def asked(self) -> int:
        """Its walltime, else its occupancy."""
        if self.walltime is not None:
            return max(self.walltime, 1)
        if self.start is None or self.end is None:
            return 1
        return max(self.end - self.start, 1)

    @property
    def group(self) -> Hashable:
        return (
            self.user,
            self.account,
            self.partition,
            self.qos,
            self.size,
            self.asked,
            self.nodes,
        )

    def runs_at(self, t: int) -> bool:
        return self.start is not None and self.end is not None and self.start <= t < self.end

    def entities(self) -> list[Hashable]:
        """Its entities: family, place, name."""
        found: list[Hashable] = []
        for of, within in KINDS:
            name = None if of is None else getattr(self, of)
            place = None if within is None else getattr(self, within)
            if (of is None or name is not None) and (within is None or place is not None):
                found.append((of, within, place, name))
        return [*found, *(("all but", None, p, None) for p in PARTITIONS if p != self.partition)]


class Forbids(NamedTuple):
    """A limit in force."""

    entity: Callable[[Job], Hashable]  # None: it does not apply
    kind: str  # jobs, amount or remaining
    most: int


def adds(job: Job, kind: str) -> int:
    """The addition of one more job to a level."""
    return {"jobs": 1, "amount": job.size, "remaining": job.size * job.asked}[kind]


def level(running: Iterable[Job], kind: str, t: int) -> int:
    """The level of those that run, at t."""
    left = (
        job.size * max(0, (job.start or 0) + job.asked - t)
        if kind == "remaining"
        else adds(job, kind)
        for job in running
    )
    return sum(left)


class Pooled:
    """What is free of a pool's capacity."""

    def __init__(self, jobs: Sequence[Job], capacity: int) -> None:
        self.jobs, self.capacity = jobs, capacity

    def at(self, t: int) -> int:
        return self.capacity - sum(job.size for job in self.jobs if job.runs_at(t))

    def after(self, left: Any, job: Job) -> Any:
        """What is left beside a job; None: it does not fit."""
        return left - job.size if job.size <= left else None


class OnNodes(Pooled):
    """What is free on single nodes, of CPUs alone."""

    def __init__(self, jobs: Sequence[Job], machines: Machines) -> None:
        self.jobs, self.machines = jobs, machines
        spans = [(job.start or 0, job.end or 0) for job in jobs]
        stated: list[list[None]] = [[None] for _ in jobs]
        requests, lists = [(job.size,) for job in jobs], [job.on for job in jobs]
        self.used = split(spans, requests, lists, machines, stated, ["cpus"])

    def at(self, t: int) -> Any:
        free: Free = {name: one.amounts for name, one in self.machines.items()}
        for job, used in zip(self.jobs, self.used, strict=True):
            if job.runs_at(t):
                free = minus(free, used)
        return free

    def after(self, left: Any, job: Job) -> Any:
        allowed = eligible(self.machines, {"partition": job.partition})
        if sum(left[name][0] for name in allowed) < job.size:
            return None
        taken = placement((job.size,), job.nodes, left, allowed)
        return None if taken is None else minus(left, taken)


def is_hungry(jobs: Sequence[Job], room: Pooled, since: int, rules: Sequence[Forbids]) -> Any:
    """Stretches in which groups are hungry: group, begin, end."""
    found: list[tuple[Hashable, int, int]] = []
    times = {
        t for job in jobs for t in (job.arrival, job.leave, job.start, job.end) if t is not None
    }
    times.add(since)
    age: dict[Hashable, int] = {}
    lapsed: set[Hashable] = set()
    now = min(times)
    while True:
        queue = [job for job in jobs if job.arrival <= now < job.leave]
        running = [job for job in jobs if job.runs_at(now)]
        groups = list(dict.fromkeys(job.group for job in queue))
        for job in jobs:
            if job.start == now:
                age[job.group] = 0
        for group in [*age, *lapsed]:
            if group not in groups:
                age.pop(group, None)
                lapsed.discard(group)
        left = room.at(now)
        hungry, lapses = [], []
        for group in groups:
            theirs = [job for job in queue if job.group == group]
            following = room.after(left, theirs[0])
            if following is None or any(forbids(r, theirs[0], running, now) for r in rules):
                continue
            hungry.append(group)
            if age.get(group, 0) >= 3_600:
                lapsed.add(group)
            if group not in lapsed:
                for job in theirs:
                    following = room.after(left, job)
                    left = left if following is None else following
                lapses.append(now + 3_600 - age.get(group, 0))
        if now < since:
            hungry, lapses = [], []
            lapsed.clear()
        later = [t for t in [*times, *lapses] if t > now]
        if not later:
            return found
        for group in hungry:
            found.append((group, now, min(later)))
            age[group] = age.get(group, 0) + min(later) - now
        now = min(later)


def forbids(rule: Forbids, job: Job, running: Sequence[Job], t: int) -> bool:
    """Whether a rule forbids a job at t."""
    entity = rule.entity(job)
    used = level([one for one in running if rule.entity(one) == entity], rule.kind, t)
    return entity is not None and adds(job, rule.kind) <= rule.most < used + adds(job, rule.kind)


class Stop(NamedTuple):
    entity: Any  # family, place and name
    begin: int
    end: int
    request: tuple[int, int]  # size, walltime
    levels: tuple[int, int, int]
    users: frozenset[str]  # those whose own groups were hungry for 300 s


MEASURED = ("jobs", "amount", "remaining")


def stops(
    jobs: Sequence[Job],
    capacity: int,
    log_begin: int = 0,
    rules: Sequence[Forbids] = (),
    machines: Machines | None = None,
) -> list[Stop]:
    """All stops of all entities."""
    room = Pooled(jobs, capacity) if machines is None else OnNodes(jobs, machines)
    hungry = is_hungry(jobs, room, log_begin, rules)
    first = min(job.arrival for job in jobs)
    last = max(t for job in jobs for t in (job.leave, job.end) if t is not None)
    found = []
    for entity in dict.fromkeys(e for job in jobs for e in job.entities()):
        mine = [job for job in jobs if entity in job.entities()]
        own = {t for job in mine if job.start is not None for t in (job.start, job.end or 0)}
        edges = sorted({min(first, 0), *own, last})
        members = {job.group: job for job in mine}
        for since, end in pairwise(edges):
            clipped = [
                (members[g], max(b, since), min(e, end))
                for g, b, e in hungry
                if g in members and max(b, since) < min(e, end)
            ]
            running = [job for job in mine if job.runs_at(since)]
            begin = since if running else min((b for _, b, _ in clipped), default=since)
            for request in dict.fromkeys((job.size, job.asked) for job, _, _ in clipped):
                same = [one for one in clipped if (one[0].size, one[0].asked) == request]
                if seconds(same) < 300:
                    continue
                middle = begin + (end - begin) // 2
                users = {job.user for job, _, _ in same if job.user is not None}
                found.append(
                    Stop(
                        entity,
                        begin,
                        end,
                        request,
                        tuple(level(running, kind, middle) for kind in MEASURED),  # type: ignore[arg-type]
                        frozenset(
                            user
                            for user in users
                            if seconds([one for one in same if one[0].user == user]) >= 300
                        ),
                    )
                )
    return found


def seconds(spans: Iterable[tuple[Job, int, int]]) -> int:
    """How long at least one of them is hungry."""
    total, since = 0, 0
    for _, begin, end in sorted(spans, key=lambda span: span[1]):
        total += max(0, end - max(begin, since))
        since = max(since, end)
    return total


def climbs(jobs: Sequence[Job]) -> list[tuple[Hashable, int, tuple[int, ...]]]:
    """Entity, number of the job and levels after it, for each start."""
    found = []
    for number, job in enumerate(jobs):
        if job.start is None:
            continue
        for entity in job.entities():
            running = [
                other
                for k, other in enumerate(jobs)
                if entity in other.entities()
                and other.runs_at(job.start)
                and (other.start, k) <= (job.start, number)
            ]
            levels = tuple(level(running, kind, job.start) for kind in MEASURED)
            found.append((entity, number, levels))
    return found


class Point(NamedTuple):
    """A stop (level U) or a climb (level V) in one measure; it adds a."""

    entity: int
    level: int
    adds: int
    day: int


class Weight(NamedTuple):
    """What speaks for and against a level in its period."""

    at: int
    withheld: int
    near: int
    climbs_near: int
    broken: int
    next: int
    next_beside: int
    starts: int
    days: int
    entities: int
    first_day: int
    last_day: int
    always: bool
    highest: int
    concentration: Fraction
    others: set[int]  # at − 2B without the entity with most at, for each entity that has most


def _at(one: Point, most: int) -> bool:
    return 0 < one.adds <= most < one.level + one.adds and one.level <= most


def _broken(one: Point, most: int) -> bool:
    return 0 < one.adds <= most < one.level


def candidates(stopped: Sequence[Point], climbed: Sequence[Point]) -> tuple[list[int], list[int]]:
    """The two levels with most at − 2B, and the three most frequent V."""
    stopped, climbed = ([p for p in points if p.adds > 0] for points in (stopped, climbed))
    score = {
        most: sum(_at(p, most) for p in stopped) - 2 * sum(_broken(p, most) for p in climbed)
        for most in {p.level for p in (*stopped, *climbed)}
    }
    best = sorted(
        (most for most in score if score[most] > 0), key=lambda most: (-score[most], most)
    )
    reached = [p.level for p in climbed]
    often = sorted(set(reached), key=lambda most: (-reached.count(most), most))
    return best[:2], often[:3]


def weigh(
    stopped: Sequence[Point], climbed: Sequence[Point], most: int, *, single: bool
) -> Weight | None:
    """The counts of a level in the run of days with most at − 2B; None: there is none."""
    stopped, climbed = ([p for p in points if p.adds > 0] for points in (stopped, climbed))
    days = [p.day for p in (*stopped, *climbed)]
    if not days:
        return None
    every = range(min(days), max(days) + 1)
    total, best, since, found = 0, 0, every[0], None
    for day in every:
        total += sum(_at(p, most) for p in stopped if p.day == day)
        total -= 2 * sum(_broken(p, most) for p in climbed if p.day == day)
        if total < 0:
            total, since = 0, day + 1
        elif total > best:
            best, found = total, (since, day)
    if found is None:
        return None
    at = [p.day for p in stopped if _at(p, most)]
    broken = sum(_broken(p, most) for p in climbed)
    within = sum(found[0] <= day <= found[1] for day in at)
    following = sum(p.level <= most < p.level + p.adds for p in climbed)
    following = len(at) if single else following
    always = within >= Fraction(95, 100) * len(at) and broken <= Fraction(3, 10) * (
        broken + min(len(at), following)
    )
    if always:
        found = (every[0], every[-1])
    return _weighed(
        [p for p in stopped if found[0] <= p.day <= found[1]],
        [p for p in climbed if found[0] <= p.day <= found[1]],
        *(most, found, always),
    )


def _weighed(
    stopped: Sequence[Point],
    climbed: Sequence[Point],
    most: int,
    days: tuple[int, int],
    always: bool,
) -> Weight:
    withheld = [p for p in stopped if p.adds <= most < p.level + p.adds]
    near = [p for p in stopped if Fraction(most, 2) - p.adds < p.level <= most - p.adds]
    following = [p for p in climbed if p.level <= most < p.level + p.adds]
    units = {(p.entity, p.day) for p in (*withheld, *near)}
    shares = []
    for unit in units:
        of_unit = [sum((p.entity, p.day) == unit for p in points) for points in (withheld, near)]
        shares.append(Fraction(of_unit[0], sum(of_unit)))

    def scored(entities: set[int]) -> int:
        at = sum(_at(p, most) for p in stopped if p.entity in entities)
        return at - 2 * sum(_broken(p, most) for p in climbed if p.entity in entities)

    entities = {p.entity for p in (*stopped, *climbed)}
    at = {e: sum(_at(p, most) for p in stopped if p.entity == e) for e in entities}
    greatest = max(at.values())
    return Weight(
        sum(at.values()),
        len(withheld),
        len(near),
        sum(Fraction(most, 2) < p.level <= most for p in climbed),
        sum(_broken(p, most) for p in climbed),
        len(following),
        sum(p.level > p.adds for p in following),
        len(climbed),
        len({p.day for p in withheld}),
        sum(number >= 5 for number in at.values()),
        *days,
        always,
        max((p.level for p in climbed if p.level <= most), default=0),
        sum(shares, Fraction()) / len(shares) if shares else Fraction(),
        {scored(entities - {e}) for e in entities if at[e] == greatest},
    )
