"""SPEC §4 and §5 in slow, plain, exact Python, as a check of the compiled schedulers.

Derived values are recomputed each time: the free amounts at an instant are summed over all holders,
a planner considers every instant at which they can change, and a fair start time is a simulation
from its snapshot. Nothing here is shared with the package. The other definitions are in
``tests.naive.attempts``.
"""

import functools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from tests.naive import attempts as naive
from tests.naive import multifactor

Amounts = tuple[int, ...]
"""One amount per resource."""

Taken = Mapping[int, Amounts]
"""What is taken of each node, by its number; of a pool that is a sum, nothing."""


class Job(NamedTuple):
    """One attempt, as SPEC §4 sees it, and its observed start and end."""

    arrival: int
    occupancy: int
    estimate: int
    request: Amounts
    start: int | None = None  # observed; None and not open: unknown
    end: int | None = None
    priority: float | None = None
    blocked: bool = False
    open: bool = False
    assumed: bool = False  # running without walltime: its end is assumed
    preempted: bool = False
    sized: bool = True
    owner: str = "ann"
    charge: int = 1  # usage per second
    used: int = 1  # runtime · size
    fixed: float = 0.0  # Slurm's priority without age and fairshare
    tier: int = 1
    counts: tuple[tuple[str, int, bool], ...] = ()
    """Counter, amount while the attempt runs, and whether the counter limits the attempt."""
    windows: tuple[int, ...] = ()  # indices of the log's windows that apply to it
    gives_way: frozenset[int] = frozenset()
    takes: frozenset[int] = frozenset()
    """Rules under which it gives way, and under which others give way to it."""
    delay: int | None = None  # until it may run again; None: it does not


class Step(NamedTuple):
    time: int
    change: Amounts
    planned: bool


class Window(NamedTuple):
    """Closed units (hours) of each period (week)."""

    shut: frozenset[int]
    unit: int
    units: int  # of a period
    origin: int

    def closed(self, t: int) -> bool:
        return (t - self.origin) // self.unit % self.units in self.shut

    def next_edge(self, t: int) -> int | None:
        """Return when it next opens or closes."""
        begin = self.origin + (t - self.origin) // self.unit * self.unit
        later = [begin + k * self.unit for k in range(1, self.units + 1)]
        return next((at for at in later if self.closed(at) != self.closed(at - 1)), None)


class Log(NamedTuple):
    """The attempts of one pool in the order (arrival, submit, sequence), and its capacity."""

    jobs: tuple[Job, ...]
    capacity: Amounts
    steps: tuple[Step, ...] = ()
    most: tuple[tuple[str, int], ...] = ()  # limit of each counter
    late: frozenset[str] = frozenset()
    """Counters of resources, which slurmctld examines after it has chosen nodes."""
    remaining: frozenset[str] = frozenset()
    """Counters of amount × remaining estimate, to which blocked attempts do not add."""
    windows: tuple[Window, ...] = ()  # all of one period
    site: "Site | None" = None  # its nodes; None: sums decide what fits

    def capacity_at(self, t: int) -> Amounts:
        return plus(self.capacity, *(step.change for step in self.steps if step.time <= t))

    def exceeds(self, k: int) -> bool:
        """Return whether an attempt requests more of something than the pool ever has."""
        if self.site is not None:
            return self.site.exceeds(k)
        ever = [self.capacity, *(self.capacity_at(step.time) for step in self.steps)]
        most = tuple(max(amounts) for amounts in zip(*ever, strict=True))
        return not fits(self.jobs[k].request, most)

    def breaks(self, k: int) -> bool:
        """Return whether an attempt alone breaks a limit, or may never start because of windows."""
        job, most = self.jobs[k], dict(self.most)
        mine = [self.windows[w] for w in job.windows]
        return any(
            binds and amount * (job.estimate if name in self.remaining else 1) > most[name]
            for name, amount, binds in job.counts
        ) or (
            bool(mine)
            and all(
                any(window.closed(window.origin + unit * window.unit) for window in mine)
                for unit in range(mine[0].units)
            )
        )


class Site(Protocol):
    """Nodes, which decide what fits; see ``tests.naive.placing``."""

    def exceeds(self, k: int) -> bool: ...

    def pool(self, log: Log, rule: "Rule", t: int, exist: Iterable[int]) -> "Pool": ...


Span = tuple[Job, int, int, bool]
"""An attempt, its start and end, and whether it has ended by now."""


class Ranking(NamedTuple):
    """Ranking of owners under ``fairshare``, SPEC §7."""

    interval: int = 7
    depth: int = 3
    decay: float = 0.75
    half_life: int | None = None  # instead of windows
    operator: str = "absolute"
    tree: Mapping[str, tuple[str, int | None]] | None = None
    """Parent ("": the root) and share of each node; share None: fairshare=parent."""
    recalculation: int = 5
    slurm: multifactor.Slurm = multifactor.Slurm()


class Rule(NamedTuple):
    """A policy: names as in SPEC §4; and the order that would be fair."""

    order: str
    backfill: str
    depth: int | None = None
    window: int | None = None
    fair: str = "fcfs"
    ranking: Ranking = Ranking()
    interval: int | None = None
    reservations: int | None = None
    resolution: int | None = None
    pause: int = 0  # least seconds between two passes of slurmctld's main scheduler

    @property
    def between(self) -> bool:
        """Whether a main scheduler starts from the front of the queue at all other instants."""
        return self.order == "multifactor" and self.backfill != "conservative"

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return what a plan keeps: ``conservative_replan`` rounds down."""
        if self.resolution is None or self.backfill != "conservative_replan":
            return start, end
        return start - start % self.resolution, end - end % self.resolution


class Had(NamedTuple):
    """A pool's amounts from an instant on, by resource; others did not change."""

    since: int
    amounts: Mapping[str, int]
    planned: bool


def is_blocked(record: naive.Record) -> bool:
    """Whether the recorded reason is its own, and something other than its turn."""
    return record["reason"] in BLOCKED and record["attempt"] == 1


NOBODY = "?"
"""Owner of attempts without a user."""

BLOCKED = ("JobHeldUser", "Dependency", "QOSMaxCpuPerUserLimit", "Licenses", "Reservation")
"""Recorded reasons: hold, dependency, limit, licence and reservation."""


def log_of(
    records: Iterable[naive.Record], amounts: Mapping[str, int], steps: Iterable[Had], now: int
) -> tuple[Log, list[tuple[str, int]]]:
    """Return the log that a scheduler sees, and the keys of its attempts.

    Args:
        records: as in ``model.ATTEMPTS``; their job numbers are their sequence.
        amounts: of the pool at first, by limiting resource, the counted one first.
        steps: ascending.
        now: time of the log.
    """
    records = list(records)
    met: list[tuple[Any, naive.Attempt, Job]] = []
    reserved: dict[str, list[Job]] = {}
    described = list(zip(records, naive.described(records, next(iter(amounts))), strict=True))
    for record, one in described:
        job = _job(record, one, amounts, now, _usual(described, record, one))
        if job is None:
            continue
        if record["reservation"]:
            reserved.setdefault(record["reservation"], []).append(job)
        else:
            submit = -1 if record["submit_time"] is None else record["submit_time"]
            place = (job.arrival, submit, record["job_number"], record["attempt"])
            met.append((place, one, job))
    met.sort(key=lambda row: row[0])
    had = dict(amounts)
    changes = []
    for step in steps:
        change = tuple(step.amounts.get(x, had[x]) - had[x] for x in amounts)
        changes.append(Step(step.since, change, step.planned))
        had |= step.amounts
    changes += [step for jobs in reserved.values() for step in _left_to(jobs)]
    log = Log(
        tuple(job for _, _, job in met),
        tuple(amounts.values()),
        tuple(sorted(changes, key=lambda step: step.time)),
    )
    return log, [one.key for _, one, _ in met]


def _job(
    record: naive.Record, one: naive.Attempt, amounts: Mapping[str, int], now: int, usual: int
) -> Job | None:
    """Return None without a start, or if its arrival, run time or (pending) size is unknown.

    ``usual``: assumed run time of a running attempt without a walltime.
    """
    walltime = record["walltime_s"]
    match one.standing:
        case "ended" | "arrival_unknown":
            assert one.start is not None
            assert one.end is not None
            occupancy = one.end - one.start
        case "running":
            assert one.start is not None
            occupancy = max(usual if walltime is None else walltime, now - one.start + 1)
        case "pending":
            if walltime is None or one.size is None:
                return None
            occupancy = max(walltime, 1)
        case "start_unknown":
            occupancy = record["occupancy_s"]
        case _:
            return None
    arrival = one.start if one.arrival is None else one.arrival
    if arrival is None:
        return None
    is_open = one.standing in ("running", "pending")
    return Job(
        arrival=arrival,
        occupancy=occupancy,
        estimate=estimate_of(occupancy, walltime),
        request=tuple(record[x] or 0 for x in amounts),  # unknown counts as 0
        start=one.start,
        end=None if one.start is None else one.start + occupancy,
        priority=record["priority"],
        blocked=is_blocked(record),
        open=is_open,
        assumed=is_open and walltime is None,
        preempted=record["state"] == "PREEMPTED",
        sized=one.size is not None,
        owner=record["user"] or NOBODY,
        charge=one.size or 0,
        used=(one.size or 0) * max(occupancy - (record["suspended_s"] or 0), 0),
    )


def _usual(
    described: Iterable[tuple[naive.Record, naive.Attempt]], mine: naive.Record, of: naive.Attempt
) -> int:
    """Return the 90th percentile of occupancies in its class and partition, or the pool."""
    ended = [(record, one) for record, one in described if one.standing == "ended"]
    alike = [
        (record, one)
        for record, one in ended
        if record["partition"] == mine["partition"]
        and naive.width_class(one.size) == naive.width_class(of.size)
    ]
    some = alike if len(alike) >= 20 else ended
    lasted = sorted(
        one.end - one.start for _, one in some if one.start is not None and one.end is not None
    )
    return lasted[-(-len(lasted) * 9 // 10) - 1] if lasted else 0


def _left_to(jobs: Sequence[Job]) -> list[Step]:
    """Return the steps by which a reservation's size leaves the capacity while it lasts."""
    ran = [(job.start, job.end, job) for job in jobs if job.start is not None]
    if not ran:
        return []
    spans = [(start, end or start, job.request) for start, end, job in ran]
    begin, end = min(start for start, _, _ in spans), max(end for _, end, _ in spans)
    nothing = tuple(0 for _ in jobs[0].request)
    most = nothing
    for t in range(begin, end):
        used = plus(nothing, *(request for start, stop, request in spans if start <= t < stop))
        most = tuple(max(pair) for pair in zip(most, used, strict=True))
    return [Step(begin, minus(nothing, most), False), Step(end, most, False)]


def estimate_of(occupancy: int, walltime: int | None) -> int:
    """Return max(walltime, occupancy), or the occupancy without a walltime; at least 1 s."""
    return max(1, occupancy if walltime is None else max(walltime, occupancy))


def fits(request: Amounts, free: Amounts) -> bool:
    """Return whether request_x ≤ v_x for every x with request_x > 0."""
    return all(asked <= left for asked, left in zip(request, free, strict=True) if asked > 0)


def plus(*amounts: Amounts) -> Amounts:
    return tuple(sum(of_one) for of_one in zip(*amounts, strict=True))


def minus(one: Amounts, *others: Amounts) -> Amounts:
    return tuple(a - sum(rest) for a, *rest in zip(one, *others, strict=True))


class Pool:
    """A pool at an instant ``t``: running, queued and planned attempts."""

    def __init__(self, log: Log, rule: Rule, t: int, exist: Iterable[int]) -> None:
        """Attempts in ``exist`` that neither run nor queue (see below) never do."""
        self.log = log
        self.rule = rule
        self.t = t
        self.exist = set(exist)
        self.blocked = [log.jobs[k] for k in self.exist if log.jobs[k].blocked]
        self.running: dict[int, int] = {}  # when it started
        self.arriving: set[int] = set()
        self.queue: list[int] = []
        self.unplanned: set[int] = set()  # those of the queue that have had no plan yet
        self.last: int | None = None  # who is planned after those of them that came before it
        self.plan: dict[int, int | None] = {}  # one start per queued attempt; None: nowhere
        self.keeps: dict[int, Taken] = {}  # what plans take of nodes
        self.first_plan: dict[int, int | None] = {}
        self.started: dict[int, int] = {}
        self.disturbed = False  # something ended early or capacity stepped since the last pass
        self.since: int | None = None  # the observed schedule counts as usage until then
        self.due: int | None = None  # the next pass
        self.before: int | None = None  # the last instant, unless it was a pass alone
        self.shift = 0  # by which passes are later than multiples since the first arrival
        self.served = -(10**12)  # the last pass of slurmctld's main scheduler
        self.serves: int | None = None  # the next one, if anything has happened since
        self.quiet: int | None = None  # until when edges are waited for
        self.returning: dict[int, int] = {}  # when those that gave way join the queue again
        self.lost: list[tuple[Job, int, int]] = []  # start and end of runs that gave way
        self.first: dict[int, int] = {}  # first starts

    # What is free

    def free(self) -> Amounts:
        """Return the free amounts now; may be negative."""
        left = self.log.capacity_at(self.t)
        for k in self.running:
            left = minus(left, self.log.jobs[k].request)
        for job in self.blocked:
            if job.start is not None and job.end is not None and job.start <= self.t < job.end:
                left = minus(left, job.request)
        return left

    def expected_end(self, k: int) -> int:
        """After t, as it still runs: slurmctld learns of an end only after a pass of backfill."""
        return max(self.running[k] + self.log.jobs[k].estimate, self.t + 1)

    def expected(self, s: int) -> Amounts:
        """Return the amounts that planners expect to be free at s ≥ t, without their plans."""
        left = self.free()
        for k in self.running:
            if self.expected_end(k) <= s:
                left = plus(left, self.log.jobs[k].request)
        for step in self.planned_steps():
            if step.time <= s:
                left = plus(left, step.change)
        return left

    def planned_steps(self) -> list[Step]:
        """Planners do not see future steps unless these are declared as planned."""
        return [step for step in self.log.steps if step.planned and step.time > self.t]

    def beside_plans(self, s: int) -> Amounts:
        left = self.expected(s)
        for k, begin, end in self.kept_spans():
            if begin <= s < end:
                left = minus(left, self.log.jobs[k].request)
        return left

    def kept_spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield each attempt with a plan, and when that begins and ends."""
        for k, start in self.plan.items():
            if start is not None:
                yield k, *self.rule.span(start, start + self.log.jobs[k].estimate)

    def changes(self) -> list[int]:
        """Return all later instants at which the expected free amounts change."""
        instants = {self.expected_end(k) for k in self.running}
        instants |= {step.time for step in self.planned_steps()}
        for _, begin, end in self.kept_spans():
            instants |= {begin, end}
        return sorted(instant for instant in instants if instant > self.t)

    def earliest(self, k: int, after: int) -> tuple[int, Taken] | None:
        """Return the earliest pass from ``after`` on at which k fits, and what it takes of nodes.

        It fits during the whole [s, s + estimate). Only ``after`` and changes, or the first passes
        after these, need to be tried: any other start could be moved earlier.
        """
        changes = self.changes()
        job = self.log.jobs[k]
        beside_plans = functools.cache(self.beside_plans)
        for change in [after, *(instant for instant in changes if instant > after)]:
            s = self.pass_at(change)
            looked_at = [s, *(t for t in changes if s < t < s + job.estimate)]
            if all(fits(job.request, beside_plans(t)) for t in looked_at):
                return s, {}
        return None

    def pass_at(self, s: int) -> int:
        """Return when a start that is planned from s on can be: plans that stay begin at passes."""
        if self.rule.interval is None or self.rule.backfill != "conservative":
            return s
        return s + -(s - min(job.arrival for job in self.log.jobs)) % self.rule.interval

    def keep(self, k: int, found: tuple[int, Taken] | None) -> None:
        """Plan k where it was found to fit, or nowhere."""
        self.plan[k], self.keeps[k] = (None, {}) if found is None else found

    # The queue

    def in_order(self) -> list[int]:
        """Return the queue in order; ties by arrival, submit, sequence, the order of numbers."""
        jobs = self.log.jobs
        if not self.queue:
            return []

        def key(k: int) -> Fraction | int | float:
            job = jobs[k]
            match self.rule.order:
                case "fcfs":
                    return job.arrival
                case "sjf":
                    return job.estimate
                case "lxf":
                    return -Fraction(self.t - job.arrival + job.estimate, job.estimate)
                case "recorded":
                    return float("inf") if job.priority is None else -job.priority
            raise ValueError(self.rule.order)

        if self.rule.order == "multifactor":
            slurm = self.rule.ranking.slurm
            ran = [
                multifactor.Ran(job.owner, start, end, job.charge)
                for job, start, end, _ in self.with_lost()
            ]
            factor = multifactor.factors(slurm, ran, self.t)

            def place(k: int) -> tuple[int, int]:
                job = jobs[k]
                owned = factor.get(job.owner, 0.0)
                return -job.tier, -multifactor.priority(
                    slurm, job.fixed, job.arrival, owned, self.t
                )

            return sorted(sorted(self.queue), key=place)
        if self.rule.order in TURNS:
            owner = {k: self.log.jobs[k].owner for k in self.queue}
            turn = TURNS[self.rule.order](self)
            turns = {name: _last_first(turn(name)) for name in set(owner.values())}
            return sorted(sorted(self.queue), key=lambda k: turns[owner[k]])
        return sorted(sorted(self.queue), key=key)

    # Owners

    def spans(self) -> Iterator[Span]:
        """Start and end of all that ran or runs, and whether it has ended by now."""
        for k, job in enumerate(self.log.jobs):
            start, end = job.start, job.end
            before = self.since is not None and start is not None and start < self.since
            if k in self.started:
                start = self.started[k]
                yield job, start, start + job.occupancy, k not in self.running
            elif (
                start is not None
                and end is not None
                and (before or (job.blocked and k in self.exist))
            ):
                gone = end <= self.t if job.blocked else k not in self.running
                yield job, start, end, gone

    def with_lost(self) -> Iterator[Span]:
        """The same with the runs that gave way."""
        yield from self.spans()
        for job, start, end in self.lost:
            yield job, start, end, True

    def nuwt(self) -> Callable[[str], tuple[Fraction]]:
        """Return NUWT of an owner's ended attempts; 0 without usage."""
        ended = [(job, start) for job, start, _, gone in self.spans() if gone]

        def of(owner: str) -> tuple[Fraction]:
            own = [(job, start) for job, start in ended if job.owner == owner]
            used = sum(job.used for job, _ in own)
            waited = sum(start - job.arrival for job, start in own)
            return (Fraction(waited, used) if used else Fraction(0),)

        return of

    def priorities(self) -> Callable[[str], tuple[int, ...]]:
        """An owner's priority vector, from usage up to the last recalculation, by 2^−32."""
        origin = min(job.arrival for job in self.log.jobs)
        every = self.rule.ranking.recalculation
        instant = origin + (self.t - origin) // every * every
        owners = sorted({job.owner for job in self.log.jobs})
        spans = list(self.with_lost())
        used = {name: self.usage(name, instant, spans) for name in owners}
        tree = self.rule.ranking.tree
        if tree is None:
            tree = dict.fromkeys(owners, ("", 0))

        @functools.cache
        def below(node: str) -> Fraction | float:
            inner = sum(below(child) for child, (parent, _) in tree.items() if parent == node)
            return inner + used.get(node, 0)

        def vector(node: str) -> list[int]:
            if node == "":
                return []
            parent, share = tree[node]
            if share is None:
                return vector(parent)
            siblings = {
                name: of for name, (above, of) in tree.items() if above == parent and of is not None
            }
            everything = sum(siblings.values())
            target = Fraction(share, everything) if everything else Fraction(0)
            everyone = sum(below(name) for name in siblings)
            state = below(node) / everyone if everyone else Fraction(0)
            of_node = operator(self.rule.ranking.operator, target, min(state, 1))
            return [*vector(parent), math.floor(of_node * 2**32 + Fraction(1, 2))]

        vectors = {node: vector(node) for node in tree}
        longest = max(map(len, vectors.values()))
        return lambda owner: (*vectors[owner], *[0] * (longest - len(vectors[owner])))

    def usage(self, owner: str, instant: int, spans: Iterable[Span]) -> Fraction | float:
        """Decayed usage of an owner at an instant, SPEC §7."""
        ranking = self.rule.ranking
        own = [(job, a, b) for job, a, b, _ in spans if job.owner == owner]
        if ranking.half_life is not None:
            total = 0.0
            for job, start, end in own:
                if start < min(end, instant):
                    old = 2 ** (-(instant - start) / ranking.half_life)
                    new = 2 ** (-(instant - min(end, instant)) / ranking.half_life)
                    total += job.charge * (new - old)
            return total
        exact = Fraction(0)
        for i in range(ranking.depth):
            low, high = instant - (i + 1) * ranking.interval, instant - i * ranking.interval
            for job, start, end in own:
                lasts = max(min(end, high) - max(start, low), 0)
                exact += Fraction(ranking.decay) ** i * (job.charge * lasts)
        return exact

    # One instant

    def arrive(self) -> None:
        """(0) capacity steps; (1) ends; (2) arrivals: what happens before the passes."""
        self.disturbed |= any(step.time == self.t for step in self.log.steps)
        self.disturbed |= self.t in self.edges_of_blocked()
        self.end_what_ends()
        self.shift_passes()
        arrived = sorted(k for k in self.arriving if self.log.jobs[k].arrival == self.t)
        self.arriving -= set(arrived)
        back = [k for k, at in self.returning.items() if at <= self.t]
        self.returning = {k: at for k, at in self.returning.items() if at > self.t}
        arrived += back
        self.queue += arrived
        self.unplanned |= set(arrived)

    def edges_of_blocked(self) -> set[int]:
        edges = set()
        for job in self.blocked:
            if job.start is not None and job.end is not None:
                edges |= {job.start, job.end}
        return edges

    def end_of(self, k: int) -> int:
        return self.running[k] + self.log.jobs[k].occupancy

    def end_what_ends(self) -> None:
        """Attempts with end ≤ t free their resources."""
        for k in [k for k in self.running if self.end_of(k) <= self.t]:
            if self.log.jobs[k].occupancy < self.log.jobs[k].estimate:
                self.disturbed = True
            del self.running[k]

    def next_pass(self) -> int:
        """Passes are at multiples of an interval since the first arrival, or at all instants."""
        t = self.t
        if self.rule.interval is not None:
            origin = min(job.arrival for job in self.log.jobs)
            while (t - origin) % self.rule.interval != 0:
                t += 1
        return t

    def following_pass(self) -> int:
        """Return the next pass of slurmctld's backfill after t."""
        assert self.rule.interval is not None
        origin = min(job.arrival for job in self.log.jobs) + self.shift
        return self.t + 1 + -(self.t + 1 - origin) % self.rule.interval

    def shift_passes(self) -> None:
        """Let passes begin again if nothing waited or happened since the last one was due."""
        if not self.rule.between or self.rule.interval is None or self.queue:
            return
        first = min((job.arrival for job in self.log.jobs), default=0)
        if self.before is not None:
            due = self.before + 1
            due += -(due - first - self.shift) % self.rule.interval
        if self.before is None or self.t - due >= self.rule.interval:
            self.shift = self.t + 1 - first

    def allowed(self, k: int, late: bool = True) -> bool:
        """Return whether k may start now: it breaks no limit, and no window forbids it.

        Without ``late``, limits on resources are left out.
        """
        job, most = self.log.jobs[k], dict(self.log.most)
        if any(self.log.windows[w].closed(self.t) for w in job.windows):
            return False
        runs = [self.log.jobs[other] for other in self.running]
        for one in self.blocked:
            if one.start is not None and one.end is not None and one.start <= self.t < one.end:
                runs.append(one)
        for counter, amount, binds in job.counts:
            if not late and counter in self.log.late:
                continue
            used = sum(more for one in runs for name, more, _ in one.counts if name == counter)
            if counter in self.log.remaining:
                used = sum(
                    more * max(0, start + self.log.jobs[other].estimate - self.t)
                    for other, start in self.running.items()
                    for name, more, _ in self.log.jobs[other].counts
                    if name == counter
                )
            asked = amount * (job.estimate if counter in self.log.remaining else 1)
            if binds and used + asked > most[counter]:
                return False
        return True

    def passes(self) -> None:
        """(3) scheduling passes, until one starts nothing that ends at t."""
        if not self.log.jobs:
            return
        self.before = self.t
        if self.rule.between and self.rule.interval is not None:
            if self.serves is None and self.queue:
                self.serves = max(self.t, self.served + self.rule.pause)
            if self.serves is not None and self.serves <= self.t:
                self.served, self.serves = self.t, None
                self.until_nothing_ends(self.main_pass)
            self.due = self.following_pass()
            return
        if self.rule.between:
            self.until_nothing_ends(self.main_pass)
        self.due = self.next_pass()
        if self.due == self.t:
            self.due = None
            self.until_nothing_ends(lambda: self.one_pass(self.rule.backfill))

    def until_nothing_ends(self, one_pass: Callable[[], None]) -> None:
        while True:
            before = dict(self.started)
            one_pass()
            new = [k for k, at in self.started.items() if before.get(k) != at]
            at_once = any(self.log.jobs[k].occupancy == 0 for k in new)
            if not at_once and not self.preempt():
                return
            self.end_what_ends()

    # Preemption

    def preempt(self) -> bool:
        """Start those that fit if others give way, in the order of the queue; whether any did.

        One that does not fit even so closes its nodes, or the pool, to those behind it.
        """
        closed: set[int] = set()
        some = False
        if self.rule.backfill == "conservative":
            return False
        for k in self.in_order() if any(job.takes for job in self.log.jobs) else []:
            if not self.allowed(k) or self.fits_with(k, []):
                continue
            victims = self.in_the_way(k, closed)
            if victims:
                for victim in victims:
                    self.give_way(victim)
                self.start_beside(k, closed)
                some = True
            elif self.close(k, closed):
                break
        return some

    def in_the_way(self, k: int, closed: Collection[int]) -> list[int]:
        """Return who must give way: the latest started, without those that need not; [] in vain."""
        takes = self.log.jobs[k].takes
        able = [other for other in self.running if takes & self.log.jobs[other].gives_way]
        able = [
            other for other in able if not self.log.jobs[other].takes & self.log.jobs[k].gives_way
        ]
        able.sort(key=lambda other: (self.running[other], other), reverse=True)
        number = next(
            (n for n in range(len(able) + 1) if self.fits_with(k, able[:n], closed)), None
        )
        victims = able[:number] if number else []
        for victim in victims[::-1]:
            others = [other for other in victims if other != victim]
            if self.fits_with(k, others, closed):
                victims = others
        return victims

    def give_way(self, k: int) -> None:
        start, job = self.running.pop(k), self.log.jobs[k]
        del self.started[k]
        self.lost.append((job, start, self.t))
        if job.delay is not None:
            self.returning[k] = self.t + job.delay

    def fits_with(self, k: int, others: Sequence[int], closed: Collection[int] = ()) -> bool:
        """Return whether k fits now if others give way, beside closed nodes."""
        left = plus(self.free(), *(self.log.jobs[other].request for other in others))
        return fits(self.log.jobs[k].request, left)

    def start_beside(self, k: int, closed: Collection[int]) -> None:
        self.start(k)

    def close(self, k: int, closed: set[int]) -> bool:
        """Close what k waits for; return whether that is everything."""
        return True

    def main_pass(self) -> None:
        """Make a pass of slurmctld's main scheduler."""
        self.one_pass("none")

    def happens_now(self) -> bool:
        """Return whether anything arrives, ends or steps at t, or an edge of a window is there."""
        edges = any(one.closed(self.t) != one.closed(self.t - 1) for one in self.log.windows)
        return (
            any(self.end_of(k) <= self.t for k in self.running)
            or any(self.log.jobs[k].arrival == self.t for k in self.arriving)
            or any(at <= self.t for at in self.returning.values())
            or any(step.time == self.t for step in self.log.steps)
            or self.t in self.edges_of_blocked()
            or self.t == self.serves
            or (
                edges
                and bool(self.queue or self.arriving or self.returning)
                and (self.quiet is None or self.t <= self.quiet)
            )
        )

    def start(self, k: int) -> None:
        self.queue.remove(k)
        self.plan.pop(k, None)
        self.running[k] = self.started[k] = self.t
        self.first.setdefault(k, self.t)

    def next_instant(self) -> int | None:
        """Ends, arrivals, steps, edges of windows and, under ``conservative``, planned starts."""
        instants = {self.end_of(k) for k in self.running}
        instants |= {self.log.jobs[k].arrival for k in self.arriving} | {*self.returning.values()}
        instants |= {step.time for step in self.log.steps}
        instants |= self.edges_of_blocked()
        instants |= {start for start in self.plan.values() if start is not None}
        instants = {instant for instant in instants if instant > self.t}
        if self.log.windows and (self.queue or self.arriving or self.returning):
            edge = min(
                (at for window in self.log.windows if (at := window.next_edge(self.t)) is not None),
                default=None,
            )
            if instants:
                self.quiet = None
            elif edge is not None and self.quiet is None:  # after three periods nothing else comes
                self.quiet = self.t + 3 * self.log.windows[0].unit * self.log.windows[0].units
            if edge is not None and (self.quiet is None or edge <= self.quiet):
                instants.add(edge)
        instants |= {at for at in (self.due, self.serves) if at is not None}
        return min(instants, default=None)

    def run(self, until: Callable[[], bool] = lambda: False) -> bool:
        """Continue from the passes at t; return whether ``until`` ever holds."""
        while True:
            self.passes()
            if until():
                return True
            while True:
                t = self.next_instant()
                if t is None:
                    return False
                self.t = t
                if not (self.rule.between and self.due == t and self.rule.interval is not None):
                    break
                self.due = None
                alone = not self.happens_now()
                self.until_nothing_ends(lambda: self.one_pass(self.rule.backfill))
                if not alone:
                    break
                if until():
                    return True
            self.arrive()

    # Backfilling, over the ordered queue

    def one_pass(self, backfill: str) -> None:
        {
            "none": self.none,
            "no_guarantee": self.no_guarantee,
            "easy": self.easy,
            "conservative": self.conservative,
            "conservative_replan": self.replan,
        }[backfill]()

    def place_now(self, k: int) -> Taken | None:
        """Return what k would take of nodes if it started now; None: it does not fit."""
        return {} if fits(self.log.jobs[k].request, self.free()) else None

    def start_on(self, k: int, taken: Taken) -> None:
        self.start(k)

    def none(self) -> None:
        """Start from the front; stop at the first that does not fit."""
        for k in self.in_order():
            if not self.allowed(k):
                continue
            taken = self.place_now(k)
            if taken is None:
                return
            self.start_on(k, taken)

    def no_guarantee(self) -> None:
        """Start every one that fits."""
        for k in self.in_order():
            taken = self.place_now(k)
            if taken is not None and self.allowed(k):
                self.start_on(k, taken)

    def easy(self) -> None:
        head: Amounts | None = None
        shadow = extra = None
        looked_at = 0
        for k in self.in_order():
            if not self.allowed(k):  # passed over: it is no candidate
                continue
            if looked_at == self.rule.depth:
                return
            looked_at += 1
            job = self.log.jobs[k]
            if head is None:
                # Start from the front until one (the head) does not fit.
                if fits(job.request, self.free()):
                    self.start(k)
                    continue
                head = job.request
                # Shadow: the first change at which the head fits (∞ where never).
                shadow = next((s for s in self.changes() if fits(head, self.expected(s))), None)
                # Extra: free at the shadow − the head's request.
                extra = None if shadow is None else minus(self.expected(shadow), head)
                continue
            # Down the queue: start k if it fits now and (it ends by the shadow, or fits in extra).
            if self.rule.window is not None and job.estimate > self.rule.window:
                continue
            if not fits(job.request, self.free()):
                continue
            if shadow is not None and extra is not None and self.t + job.estimate > shadow:
                if not fits(job.request, extra):
                    continue
                extra = minus(extra, job.request)  # where it ends after the shadow
            self.start(k)

    def conservative(self) -> None:
        while True:
            # If something ended before its expected end (or capacity stepped): compress.
            if self.disturbed:
                for k in self.in_order():
                    if k in self.plan:
                        self.compress(k)
            self.disturbed = False
            # Then new arrivals, and those that lost their plan, if allowed, get the earliest start.
            without = [k for k in self.in_order() if k not in self.plan]
            if self.last in self.unplanned:
                last = self.last
                without.sort(key=lambda k: (k >= last) + (k > last))
            for k in without:
                if k in self.unplanned or self.allowed(k):
                    self.keep(k, self.earliest(k, self.t))
                if k in self.unplanned:
                    self.first_plan[k] = self.plan[k]
            self.unplanned = set()
            # Then those with planned start ≤ t start; what no longer fits is put back.
            for k in self.in_order():
                planned = self.plan.get(k)
                if planned is None or planned > self.t:
                    continue
                if not self.allowed(k):
                    del self.plan[k]
                    self.first_plan[k] = None
                    self.disturbed = True  # what it leaves is news to the others
                elif self.still_fits(k):
                    self.start_on(k, self.keeps[k])
                else:
                    del self.plan[k]
                    self.keep(k, self.earliest(k, self.t + 1))
            if not self.disturbed:
                return

    def still_fits(self, k: int) -> bool:
        """Return whether k fits now where its plan put it."""
        return fits(self.log.jobs[k].request, self.free())

    def compress(self, k: int) -> None:
        """Taken out and put back at the earliest start ≥ t at which it fits: never later."""
        had, kept = self.plan.pop(k), self.keeps[k]
        found = self.earliest(k, self.t)
        if found is None or (had is not None and found[0] >= had):
            found = None if had is None else (had, kept)
        self.keep(k, found)

    def replan(self) -> None:
        """Plan the whole queue afresh, in queue order, and start those whose start is t."""
        self.plan, self.keeps = {}, {}
        one_waits = False
        looked_at = 0
        for k in self.in_order():
            if not self.allowed(k, late=not self.rule.between):
                continue  # passed over: a plan for it would hold up others
            if looked_at == self.rule.depth:
                break
            looked_at += 1
            estimate = self.log.jobs[k].estimate
            if one_waits and self.rule.window is not None and estimate > self.rule.window:
                continue
            found = self.earliest(k, self.t)
            reserves = self.rule.reservations is None or len(self.plan) < self.rule.reservations
            if found is not None and found[0] == self.t and (self.allowed(k) or reserves):
                if self.allowed(k):  # else only a limit on a resource holds it
                    self.start_on(k, found[1])
                continue
            if reserves:
                self.keep(k, found)
            one_waits = True
        self.plan, self.keeps = {}, {}  # it promises nothing


TURNS: dict[str, Callable[[Pool], Callable[[str], tuple[Any, ...]]]] = {
    "fairshare": Pool.priorities,
    "nuwt": Pool.nuwt,
}


def _last_first(turn: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(-part for part in turn)


def operator(  # noqa: PLR0911 (one for each)
    name: str, t: Fraction, s: Fraction | float
) -> Fraction | float:
    """F(t, s), [R] eqs. 5–12."""
    if t == s:
        return Fraction(0)
    relative = (t - s) / t if s < t else -(s - t) / s
    sign = 1 if s < t else -1
    match name:
        case "absolute":
            return t - s
        case "relative":
            return relative
        case "relative_n":
            return sign * relative * relative
        case "sigmoid":
            return math.sin(math.pi / 2 * relative)
        case "sigmoid_n":
            return sign * math.sqrt(math.sin(math.pi / 2 * abs(float(relative))))
        case "combined":
            return (t - s) / 2 + sign * relative * relative / 2
        case "slurm":
            return math.pow(2, 1 - s / t) - 1 if t else Fraction(-1)
    raise ValueError(name)


# Whole schedules


class Replay(NamedTuple):
    start: dict[int, int]  # of all that started
    planned: dict[int, int | None]  # the start first planned
    first: dict[int, int]  # first starts


def replay(log: Log, rule: Rule, from_time: int | None = None) -> Replay:
    """Simulate a log under a policy from an empty pool, or from an observed state."""
    everyone = range(len(log.jobs))
    arriving = {k for k in everyone if queues(log, k)}
    if from_time is None:
        first = min((job.arrival for job in log.jobs), default=0)
        pool = pool_of(log, rule, first, everyone)
        pool.arriving = arriving
        pool.arrive()
    else:
        pool = _snapshot(log, rule, from_time, everyone)
        pool.queue = [k for k in pool.queue if log.jobs[k].arrival < from_time]
        pool.arriving = {k for k in arriving if log.jobs[k].arrival >= from_time}
        pool.arrive()
        pool.unplanned = set(pool.queue)
        pool.disturbed = False  # nothing was planned before
    pool.run()
    return Replay(pool.started, pool.first_plan, pool.first)


def pool_of(log: Log, rule: Rule, t: int, exist: Iterable[int]) -> Pool:
    return (Pool if log.site is None else log.site.pool)(log, rule, t, exist)


def queues(log: Log, k: int) -> bool:
    """Return whether it is neither blocked nor larger than the pool ever is, or than a limit."""
    return not log.jobs[k].blocked and not log.exceeds(k) and not log.breaks(k)


def _snapshot(log: Log, rule: Rule, t: int, exist: Sequence[int]) -> Pool:
    """running = those with start < t < end; queue = those with start ≥ t, pending ones included."""
    pool = pool_of(log, rule, t, exist)
    pool.since = t
    for k in exist:
        job = log.jobs[k]
        if job.blocked:
            continue
        if job.start is not None and job.end is not None and job.start < t < job.end:
            pool.running[k] = job.start
        elif (job.open if job.start is None else job.start >= t) and queues(log, k):
            pool.queue.append(k)
    return pool


# Fair start times, SPEC §5


def snapshot_at(log: Log, rule: Rule, j: int) -> Pool:
    """Return the snapshot at j's arrival, in which attempts of unknown size do not queue."""
    pool = _snapshot(log, rule, log.jobs[j].arrival, range(j))
    pool.queue = [k for k in pool.queue if log.jobs[k].sized]
    return pool


def _at_arrival(log: Log, rule: Rule, j: int) -> Pool:
    """Return the snapshot at j's arrival, without j and everything after it."""
    pool = snapshot_at(log, rule, j)
    if rule.fair != "fcfs":  # nor anything whose turn comes after j's
        turn = TURNS[rule.fair](pool)
        own = turn(log.jobs[j].owner)
        pool.queue = [k for k in pool.queue if turn(log.jobs[k].owner) >= own]
    pool.unplanned = set(pool.queue)
    pool.shift_passes()
    return pool


def strict(log: Log, rule: Rule, j: int) -> int | None:
    """j is in the queue; simulate from its arrival; FST = when j starts."""
    if not queues(log, j):
        return None
    pool = _at_arrival(log, rule, j)
    pool.queue.append(j)
    pool.unplanned.add(j)
    pool.last = j  # planned last
    pool.run(until=lambda: j in pool.started)
    return pool.started.get(j)


def relaxed(log: Log, rule: Rule, j: int) -> int | None:
    """Simulate without j until everything queued has started; add j at the last of those starts."""
    if not queues(log, j):
        return None
    pool = _at_arrival(log, rule, j)
    if not pool.run(until=lambda: not pool.queue):
        return None
    pool.queue.append(j)
    pool.unplanned.add(j)
    pool.run(until=lambda: j in pool.started)
    return pool.started.get(j)


def status(log: Log, j: int) -> str:
    """Return the status of j's fair start times: the first of SPEC §5's that applies."""
    pool = _at_arrival(log, Rule("fcfs", "none"), j)
    context = [log.jobs[k] for k in [*pool.running, *pool.queue]]
    for job in pool.blocked:  # not queued, but taken from what is free while it lasts
        if job.start is not None and job.end is not None and max(job.start + 1, job.end) > pool.t:
            context.append(job)
    applies = {
        "blocked": log.jobs[j].blocked,
        "exceeds_capacity": log.exceeds(j),
        "exceeds_limit": log.breaks(j),
        "over_capacity": any(left < 0 for left in pool.free()),
        "assumed_estimate": any(job.assumed for job in context),
        "provisional": any(job.open for job in context),
        "preempted_context": any(job.preempted for job in context),
        "final": True,
    }
    return next(name for name, so in applies.items() if so)
