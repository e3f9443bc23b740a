"""The true scheduler of a made site: it decides, and records why each waiting job does not start.

Event-driven, and independent of ``audit.scenario``. At one instant: ends and changes of capacity,
releases, arrivals, cancellations, starts that were decided before; then the scheduler looks at the
queue. Between two passes it looks, too, but starts nothing: whatever it would start waits for the
pass. Held, dependent and limited jobs keep their places and block no other job.
"""

import heapq
from bisect import bisect_left, insort
from enum import IntEnum
from typing import Final

import numpy as np

from bench.logs.sites.kinds import DAY, EPOCH, SiteKind
from bench.logs.sites.limits import TrueLimits, named
from bench.logs.sites.outlook import Outlook
from bench.logs.sites.reasons import TrueReason, TrueRecord
from bench.logs.sites.workload import NEVER, NO_JOB, Demand, Random

HALF_LIFE_S: Final = 7 * DAY
RECALCULATED_S: Final = 300
"""Time between two calculations of the order by usage."""


class Happening(IntEnum):
    """Kinds of events, in their order at one instant."""

    END = 0
    CAPACITY = 1
    RELEASE = 2
    ARRIVAL = 3
    CANCELLED = 4
    DISPATCHED = 5
    PASS = 6
    ALLOWED = 7


class TrueScheduler:
    """One simulation; ``start`` and ``end`` are ``NEVER`` until they are known."""

    def __init__(self, kind: SiteKind, jobs: Demand, random: Random) -> None:
        """Prepare the machine, and the arrivals that depend on no other job."""
        self.kind, self.jobs = kind, jobs
        count = len(jobs.submit)
        self.arrival = np.where(jobs.follows == NO_JOB, jobs.submit, NEVER).tolist()
        self.start, self.end = [NEVER] * count, [NEVER] * count
        self.left_at = [NEVER] * count
        self.size, self.user = jobs.size.tolist(), jobs.user.tolist()
        self.runtime, self.walltime = jobs.runtime.tolist(), jobs.walltime.tolist()
        self.release, self.depends = jobs.release.tolist(), jobs.depends.tolist()
        self.array, self.node_class = jobs.array.tolist(), jobs.node_class.tolist()
        self.latency = random.integers(kind.latency_s[0], kind.latency_s[1] + 1, count).tolist()
        self.rank = _ranks(kind, jobs)
        self.limits = TrueLimits(kind, jobs)
        self.record = TrueRecord()
        self.declared = capacities(kind)
        self.capacity = list(self.declared)
        self.capacity[0] -= kind.withheld
        self.taken = [0] * len(self.declared)  # by jobs that run or are about to start
        self.running = [0] * len(self.declared)
        self.ends: list[list[tuple[int, int]]] = [[] for _ in self.declared]
        self.tasks: dict[int, int] = {}
        self.queue: list[int] = []
        self.steps: list[tuple[int, int, int]] = _drains(kind, self.declared, random)
        self.next_pass = -1
        self.awaited: set[int] = set()  # instants of ``ALLOWED``
        self.usage = np.zeros(kind.traffic.users)
        self.busy = np.zeros(kind.traffic.users)
        self.used_at = EPOCH
        self.by_usage: list[float] = self.usage.tolist()
        self.ranked_at = -1
        self.followers: dict[int, list[int]] = {}
        for job, before in enumerate(jobs.follows.tolist()):
            if before != NO_JOB:
                self.followers.setdefault(before, []).append(job)
        self.events: list[tuple[int, Happening, int]] = [
            (at, Happening.ARRIVAL, job) for job, at in enumerate(self.arrival) if at < NEVER
        ]
        self.events += [(at, Happening.CAPACITY, k) for k, (at, _, _) in enumerate(self.steps)]
        heapq.heapify(self.events)

    def run(self) -> None:
        """Simulate until all jobs have ended."""
        interval = self.kind.interval_s
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                _, what, which = heapq.heappop(self.events)
                self._happens(now, what, which)
            acts = not interval or now % interval == 0
            startable = self._look(now, acts=acts)
            if startable and not acts and self.next_pass <= now:
                self.next_pass = now - now % interval + interval
                self._later(self.next_pass, Happening.PASS, NO_JOB)

    def _later(self, at: int, what: Happening, which: int) -> None:
        heapq.heappush(self.events, (at, what, which))

    def _happens(self, now: int, what: Happening, which: int) -> None:
        if self.kind.fairshare:
            self._use(now)
        match what:
            case Happening.END:
                self._ended(now, which)
            case Happening.CAPACITY:
                _, one, change = self.steps[which]
                self.capacity[one] += change
            case Happening.ARRIVAL:
                self._arrived(now, which)
            case Happening.CANCELLED if which in self.queue:
                self.queue.remove(which)
                self.left_at[which] = now
                self.record.leave(which, now)
            case Happening.DISPATCHED:
                self._starts(now, which)

    def _arrived(self, now: int, job: int) -> None:
        self.arrival[job] = now
        self.queue.append(job)
        if self.release[job] > now:
            self._later(self.release[job], Happening.RELEASE, job)
        if (patience := int(self.jobs.gives_up[job])) < NEVER:
            self._later(now + patience, Happening.CANCELLED, job)

    def _decided(self, now: int, job: int) -> None:
        """Give a job its capacity; it starts after the latency."""
        one, size = self.node_class[job], self.size[job]
        begins = now + self.latency[job]
        self.taken[one] += size
        insort(self.ends[one], (begins + self.walltime[job], size))
        self._count(job, begins, 1)
        if begins == now:
            self._starts(now, job)
        else:
            self.record.tell(job, now, TrueReason.CYCLE)
            self._later(begins, Happening.DISPATCHED, job)

    def _count(self, job: int, begins: int, change: int) -> None:
        """Change the levels of limits and of the job's array."""
        self.limits.change(job, begins + self.walltime[job], change)
        self.tasks[self.array[job]] = self.tasks.get(self.array[job], 0) + change

    def _starts(self, now: int, job: int) -> None:
        self.record.leave(job, now)
        self.start[job], self.left_at[job] = now, now
        self.running[self.node_class[job]] += self.size[job]
        self.busy[self.user[job]] += self.size[job]
        self._later(now + self.runtime[job], Happening.END, job)

    def _ended(self, now: int, job: int) -> None:
        one, size = self.node_class[job], self.size[job]
        expected = self.start[job] + self.walltime[job]
        self.end[job] = now
        self.taken[one] -= size
        self.running[one] -= size
        self.busy[self.user[job]] -= size
        ends = self.ends[one]
        del ends[bisect_left(ends, (expected, size))]
        self._count(job, self.start[job], -1)
        for follower in self.followers.get(job, ()):
            pause = max(int(self.jobs.submit[follower] - self.jobs.submit[job]), 1)
            self._later(now + pause, Happening.ARRIVAL, follower)

    def _use(self, now: int) -> None:
        """Add what ran since the last event to the usage; rank users each 300 s."""
        lasted = now - self.used_at
        if lasted:
            self.usage = self.usage * 0.5 ** (lasted / HALF_LIFE_S) + self.busy * lasted
            self.used_at = now
        if now // RECALCULATED_S != self.ranked_at:
            self.ranked_at = now // RECALCULATED_S
            self.by_usage = self.usage.tolist()

    def _obstacle(self, job: int, now: int) -> TrueReason | None:
        """Return what keeps a job from starting, however much is free."""
        before, array = self.depends[job], self.array[job]
        if self.release[job] > now:
            return TrueReason.HELD
        if before != NO_JOB and self.end[before] > now:
            return TrueReason.DEPENDENCY
        if array != NO_JOB and self.tasks.get(array, 0) >= self.kind.throttle:
            return TrueReason.HELD
        return TrueReason.RULE if self.limits.forbids(job, now) else None

    def _look(self, now: int, *, acts: bool) -> bool:
        """Walk through the queue, start what may start, and tell all reasons.

        Returns:
            Whether a job could start, but the next pass is later.
        """
        if not self.queue:
            return False
        if self.kind.fairshare or self.kind.first or self.kind.last:
            self.queue.sort(key=self._turn)
        walk = Walk(self, now)
        waiting: list[tuple[int, TrueReason | None]] = []
        claimed: list[int] = []
        for job in self.queue:
            reason = self._obstacle(job, now)
            if reason is not None:
                self._awakes(job, now, reason)
            elif not walk.may_start(job):
                reason = walk.why_not(job)
            elif acts:
                walk.take(job)
                self._decided(now, job)
                continue
            else:
                walk.take(job, claims=True)
                self._count(job, now, 1)
                claimed.append(job)
                reason = TrueReason.CYCLE
            waiting.append((job, reason))
        for job in claimed:
            self._count(job, now, -1)
        self.queue = [job for job, _ in waiting]
        shown = sum(self.declared) - sum(self.running)
        for job, reason in waiting:
            self._tell(job, now, reason, shown)
        return bool(claimed)

    def _turn(self, job: int) -> tuple[int, float, int, int]:
        return self.rank[job], self.by_usage[self.user[job]], self.arrival[job], job

    def _awakes(self, job: int, now: int, reason: TrueReason) -> None:
        """See that the scheduler looks again once a rule may allow the job without an event."""
        if reason is not TrueReason.RULE:
            return
        at = self.limits.allowed_from(job, now)
        if at is not None and at not in self.awaited:
            self.awaited.add(at)
            self._later(at, Happening.ALLOWED, NO_JOB)

    def _tell(self, job: int, now: int, reason: TrueReason | None, shown: int) -> None:
        one, size = self.node_class[job], self.size[job]
        hidden = reason not in {None, TrueReason.CLAIMED, TrueReason.KEPT}
        if size > shown:
            self.record.tell(job, now, TrueReason.FULL, reason if hidden else None)
        elif reason is None or (not hidden and size > self.capacity[one] - self.running[one]):
            drained = size <= self.declared[one] - self.running[one]
            self.record.tell(job, now, TrueReason.UNAVAILABLE if drained else TrueReason.NODES)
        else:
            self.record.tell(job, now, reason)


class Walk:
    """One walk through the queue: what is left, and what is kept for jobs that cannot start."""

    def __init__(self, site: TrueScheduler, now: int) -> None:
        """Begin with all that is free."""
        self.site, self.now = site, now
        self.left = [has - taken for has, taken in zip(site.capacity, site.taken, strict=True)]
        queues = len(self.left) if site.kind.separate else 1
        most = site.kind.reservations
        self.reservations = [NEVER if most is None else most] * queues
        self.failed = [False] * queues
        self.claims: list[list[tuple[int, int]]] = [[] for _ in self.left]
        self.plans: dict[int, Outlook] = {}
        self.to_plan: list[list[int]] = [[] for _ in self.left]

    def _queue(self, job: int) -> int:
        return self.site.node_class[job] if self.site.kind.separate else 0

    def may_start(self, job: int) -> bool:
        """Return whether a job fits beside what runs, is claimed and is kept; else keep for it."""
        site, queue, one = self.site, self._queue(job), self.site.node_class[job]
        fits = site.size[job] <= self.left[one]
        if site.kind.strict:
            may = fits and not self.failed[queue]
        else:
            may = fits and (
                (not self.to_plan[one] and one not in self.plans) or self._fits(job, one)
            )
        if not may:
            self.failed[queue] = True
            if self.reservations[queue] and not site.kind.strict:
                self.reservations[queue] -= 1
                self.to_plan[one].append(job)
        return may

    def _fits(self, job: int, one: int) -> bool:
        site, now = self.site, self.now
        if one not in self.plans:
            ends = sorted([*site.ends[one], *self.claims[one]])
            self.plans[one] = Outlook(now, self.left[one], ends)
        plan = self.plans[one]
        for ahead in self.to_plan[one]:
            begin = plan.earliest(site.size[ahead], site.walltime[ahead])
            if begin is not None:
                plan.take(begin, begin + site.walltime[ahead], site.size[ahead])
        self.to_plan[one] = []
        return plan.is_free(site.size[job], site.walltime[job])

    def why_not(self, job: int) -> TrueReason | None:
        """Return what a job that may not start lacks, if it fits in what is free."""
        one, size = self.site.node_class[job], self.site.size[job]
        if size <= self.left[one]:
            return TrueReason.KEPT
        free = self.site.capacity[one] - self.site.running[one]
        return TrueReason.CLAIMED if size <= free else None

    def take(self, job: int, *, claims: bool = False) -> None:
        """Take what a job needs that starts now, or only claims it until the next pass."""
        site, one = self.site, self.site.node_class[job]
        size, until = site.size[job], self.now + site.walltime[job]
        self.left[one] -= size
        if one in self.plans:
            self.plans[one].take(self.now, until, size)
        elif claims:
            self.claims[one].append((until, size))


def capacities(kind: SiteKind) -> list[int]:
    """Return the declared CPUs of each class of nodes."""
    parts = [round(kind.capacity * one.share) for one in kind.classes]
    return [kind.capacity - sum(parts[1:]), *parts[1:]]


def _ranks(kind: SiteKind, jobs: Demand) -> list[int]:
    names = named(kind, jobs)
    ranks = np.ones(len(jobs.submit), np.int64)
    for entity, rank in ((kind.first, 0), (kind.last, 2)):
        if entity is not None:
            ranks[np.array(names[entity[0]]) == entity[1]] = rank
    made: list[int] = ranks.tolist()
    return made


def _drains(kind: SiteKind, declared: list[int], random: Random) -> list[tuple[int, int, int]]:
    """Return the changes of capacity: epoch s, class of nodes, change."""
    if kind.drains is None:
        return []
    steps = []
    span = kind.traffic.days * DAY // kind.drains.times
    for k in range(kind.drains.times):
        one = int(random.integers(len(declared)))
        drained = int(declared[one] * random.uniform(*kind.drains.share))
        begin = EPOCH + k * span + int(random.integers(span // 2))
        lasts = kind.drains.median_s * random.lognormal(0, 0.7)
        end = begin + int(np.clip(lasts, 600, span // 2))
        steps += [(begin, one, -drained), (end, one, drained)]
    return steps
