"""SPEC §10 in slow, plain Python: fair starts on what the machine delivered.

Attempts are in the order (arrival, submit, sequence). At every instant the state is put together
anew from the log.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tests.naive import multifactor

NEVER = 2**63 - 1
LONG_S = 60


class Job(NamedTuple):
    arrival: int
    size: int
    runtime: int  # ≥ 1
    estimate: int  # ≥ runtime
    user: int | None
    start: int  # NEVER: not yet
    others: tuple[int, ...] = ()  # requests of the other resources
    priority: float = 0.0

    @property
    def end(self) -> int:
        return NEVER if self.start == NEVER else self.start + self.runtime


class Usage(NamedTuple):
    """How users are ranked by what they have used, their sizes by time (SPEC §7)."""

    interval: int = 100
    depth: int = 3
    decay: Fraction = Fraction(1, 2)
    half_life: int | None = None  # instead of windows
    shares: tuple[tuple[int, int], ...] = ()  # user, share; all others are one user without
    recalculation: int = 50
    slurm: multifactor.Slurm = multifactor.Slurm()
    outside: tuple[Job, ...] = ()  # those that use without taking part


class Site(NamedTuple):
    jobs: tuple[Job, ...]
    capacity: int
    others: tuple[int, ...] = ()  # capacity of the other resources
    steps: tuple[tuple[int, int], ...] = ()  # (instant, change) of the counted resource
    usage: Usage = Usage()


class Rule(NamedTuple):
    order: str = "fcfs"  # or sjf, lxf, recorded, kept, fairshare, nuwt, multifactor
    backfill: str = "easy"  # or none, no_guarantee, conservative_replan
    own_peak: bool = False
    cautious: bool = False
    depth: int | None = None


KEPT = Rule("kept", "none", own_peak=True)


def in_force(site: Site, t: int) -> int:
    return site.capacity + sum(change for at, change in steps(site) if at <= t)


def steps(site: Site) -> list[tuple[int, int]]:
    outside = site.usage.outside
    begins = [(job.start, -job.size) for job in outside]
    return [*site.steps, *begins, *((job.end, job.size) for job in outside)]


def running(site: Site, t: int) -> list[int]:
    return [k for k, job in enumerate(site.jobs) if job.start <= t < job.end]


def waiting(site: Site, t: int) -> list[int]:
    return [k for k, job in enumerate(site.jobs) if job.arrival <= t < job.start]


def used(site: Site, t: int) -> int:
    return sum(site.jobs[k].size for k in running(site, t))


def whole(site: Site, t: int) -> int:
    return max(in_force(site, t), used(site, t))


def instants(site: Site) -> list[int]:
    """Capacity that changes behind the last one of a job matters to none."""
    found = {time for job in site.jobs for time in (job.arrival, job.start, job.end)} - {NEVER}
    return sorted(found | {at for at, _ in steps(site) if at <= max(found, default=0)})


def most_at_once(site: Site, user: int) -> int:
    """Ends come before starts."""
    starts = [job.start for job in site.jobs if job.user == user]
    return max(
        (
            sum(job.start <= t < job.end for job in site.jobs if job.user == user)
            for t in starts
            if t != NEVER
        ),
        default=0,
    )


class State(NamedTuple):
    """The view of a pass."""

    t: int
    queue: Sequence[int]
    running: Sequence[tuple[int, int]]  # attempts, and their expected ends
    planned: int  # what planners see of the counted resource
    others: tuple[int, ...]  # what is free of the others
    started: dict[int, int]  # what has started, also what has ended since, and when


def ordered(site: Site, rule: Rule, state: State) -> list[int]:
    turns = TURNS[rule.order](site, state) if rule.order in TURNS else None

    def key(k: int) -> tuple[object, ...]:
        job = site.jobs[k]
        if rule.order == "sjf":
            return (job.estimate, k)
        if rule.order == "lxf":
            return (-Fraction(state.t - job.arrival + job.estimate, job.estimate), k)
        if rule.order == "recorded":
            return (-job.priority, k)
        if rule.order == "kept":
            return (job.start, k)
        if turns is not None:
            return (turns(job), k)
        return (k,)

    return sorted(state.queue, key=key)


# --- what owners have used -----------------------------------------------------------------------


def spans(site: Site, state: State) -> list[tuple[Job, int, int]]:
    """Return what has used by now, with its start and end."""
    inside = [(site.jobs[k], at) for k, at in state.started.items()]
    outside = [(job, job.start) for job in site.usage.outside if job.start <= state.t]
    return [(job, at, at + job.runtime) for job, at in (*inside, *outside)]


def by_fairshare(site: Site, state: State) -> Callable[[Job], int]:
    """The priority of a user as of the last recalculation, by 2^−32, negated."""
    usage, origin = site.usage, min(job.arrival for job in (*site.jobs, *site.usage.outside))
    at = origin + (state.t - origin) // usage.recalculation * usage.recalculation
    shares = dict(usage.shares)

    def owner(job: Job) -> int | None:
        return job.user if job.user in shares or not shares else None

    used = dict[int | None, Fraction | float]()
    for job, begin, end in spans(site, state):
        mine = decayed(usage, begin, min(end, at), at) if begin < at else 0
        used[owner(job)] = used.get(owner(job), 0) + job.size * mine
    everyone = sum(used.values())

    def turn(job: Job) -> int:
        share = Fraction(shares.get(owner(job), 0), sum(shares.values()) or 1)  # type: ignore[arg-type]
        part = used.get(owner(job), 0) / everyone if everyone else Fraction(0)
        return -math.floor((share - part) * 2**32 + Fraction(1, 2))

    return turn


def decayed(usage: Usage, begin: int, end: int, at: int) -> Fraction | float:
    """The use from ``begin`` to ``end`` that still counts at an instant."""
    if usage.half_life is not None:
        ages = [(at - each) / usage.half_life for each in (end, begin)]
        return usage.half_life / math.log(2) * (2 ** -ages[0] - 2 ** -ages[1])
    return sum(
        (
            usage.decay**i
            * max(min(end, at - i * usage.interval) - max(begin, at - (i + 1) * usage.interval), 0)
            for i in range(usage.depth)
        ),
        Fraction(0),
    )


def by_nuwt(site: Site, state: State) -> Callable[[Job], Fraction]:
    """The waits of a user's ended attempts by their use, negated."""
    ended = [(job, begin) for job, begin, end in spans(site, state) if end <= state.t]

    def turn(job: Job) -> Fraction:
        mine = [(other, begin) for other, begin in ended if other.user == job.user]
        used = sum(other.size * other.runtime for other, _ in mine)
        return -Fraction(sum(begin - other.arrival for other, begin in mine), used or 1)

    return turn


def by_priority(site: Site, state: State) -> Callable[[Job], int]:
    """Slurm's priority, negated; an unknown user has no fairshare."""
    names = dict(enumerate(multifactor.USERS))
    slurm = site.usage.slurm
    ran = [
        multifactor.Ran(names.get(job.user, ""), begin, end, job.size)  # type: ignore[arg-type]
        for job, begin, end in spans(site, state)
    ]
    factor = multifactor.factors(slurm, ran, state.t)

    def turn(job: Job) -> int:
        mine = factor.get(names.get(job.user, ""), 0.0)  # type: ignore[arg-type]
        return -multifactor.priority(slurm, 0.0, job.arrival, mine, state.t)

    return turn


TURNS: dict[str, Callable[[Site, State], Callable[[Job], Fraction | int]]] = {
    "fairshare": by_fairshare,
    "nuwt": by_nuwt,
    "multifactor": by_priority,
}


# --- passes --------------------------------------------------------------------------------------


def passed_over(site: Site, rule: Rule, state: State, started: Iterable[int], k: int) -> bool:
    job = site.jobs[k]
    if job.user is None:
        return False
    if rule.own_peak:
        run = [each for each, _ in state.running] + list(started)
        if sum(site.jobs[each].user == job.user for each in run) >= most_at_once(site, job.user):
            return True
    return rule.cautious and any(
        other.user == job.user
        and other.size >= job.size
        and other.estimate >= job.estimate
        and other.start <= state.t
        for other in site.jobs[k + 1 :]
    )


def fits(job: Job, free: Sequence[int]) -> bool:
    wants = (job.size, *job.others)
    return all(want == 0 or want <= has for want, has in zip(wants, free, strict=True))


def minus(free: Sequence[int], job: Job) -> list[int]:
    return [has - want for has, want in zip(free, (job.size, *job.others), strict=True)]


def plus(free: Sequence[int], job: Job) -> list[int]:
    return [has + want for has, want in zip(free, (job.size, *job.others), strict=True)]


def one_pass(site: Site, rule: Rule, state: State, free: int) -> list[int]:
    """Return what the rule starts, in this order."""
    jobs, started = site.jobs, list[int]()
    left = [free, *state.others]
    queue = ordered(site, rule, state)

    def let_through() -> Iterable[int]:
        examined = 0
        for k in queue:
            if not passed_over(site, rule, state, started, k):
                examined += 1
                if rule.depth is not None and examined > rule.depth:
                    return
                yield k

    if rule.backfill == "conservative_replan":
        return _planned(site, state, left, let_through(), started)
    head, shadow, extra = None, NEVER, list[int]()
    for k in let_through():
        job = jobs[k]
        if head is None:
            if fits(job, left):
                started.append(k)
                left = minus(left, job)
            elif rule.backfill == "none":
                return started
            elif rule.backfill == "easy":
                head = k
                shadow, extra = _shadow(site, state, started, k)
        elif fits(job, left):
            in_time = state.t + job.estimate <= shadow
            if in_time or fits(job, extra):
                started.append(k)
                left = minus(left, job)
                if not in_time:
                    extra = minus(extra, job)
    return started


def _expected(site: Site, state: State, started: Sequence[int]) -> list[tuple[int, int]]:
    return [*state.running, *((k, state.t + site.jobs[k].estimate) for k in started)]


def _shadow(site: Site, state: State, started: Sequence[int], head: int) -> tuple[int, list[int]]:
    """Return the first expected end after now at which the head fits, and what is then left."""
    ends = _expected(site, state, started)
    for s in sorted({end for _, end in ends if end > state.t}):
        free = [state.planned, *state.others]
        for k in started:
            free = minus(free, site.jobs[k])
        for k, end in ends:
            if end <= s:
                free = plus(free, site.jobs[k])
        if fits(site.jobs[head], free):
            return s, minus(free, site.jobs[head])
    return NEVER, []


def _planned(
    site: Site, state: State, left: list[int], turns: Iterable[int], started: list[int]
) -> list[int]:
    plan = list[tuple[int, int, int]]()  # attempt, from, to

    def free_at(s: int) -> list[int]:
        free = [state.planned, *state.others]
        for k, end in state.running:
            if end <= s:
                free = plus(free, site.jobs[k])
        for k, begin, end in plan:
            if begin <= s < end:
                free = minus(free, site.jobs[k])
        return free

    for k in turns:
        job = site.jobs[k]
        changes = {state.t, *(end for _, end in state.running)}
        changes |= {s for _, begin, end in plan for s in (begin, end)}
        for begin in sorted(changes):
            within = [s for s in changes if begin <= s < begin + job.estimate]
            if all(fits(job, free_at(s)) for s in within):
                plan.append((k, begin, begin + job.estimate))
                if begin == state.t and fits(job, left):
                    started.append(k)
                    left = minus(left, job)
                break
    return started


# --- capacity and agreement ----------------------------------------------------------------------


def others_free(site: Site, runs: Iterable[int]) -> tuple[int, ...]:
    free = [0, *site.others]
    for k in runs:
        free = minus(free, site.jobs[k])
    return tuple(free[1:])


def begun(site: Site, t: int) -> dict[int, int]:
    return {k: job.start for k, job in enumerate(site.jobs) if job.start <= t}


def observed(site: Site, t: int) -> State:
    runs = running(site, t)
    expected = [(k, site.jobs[k].start + site.jobs[k].estimate) for k in runs]
    free = whole(site, t) - used(site, t)
    return State(t, waiting(site, t), expected, free, others_free(site, runs), begun(site, t))


def capacity_at(site: Site, rule: Rule, t: int) -> int:
    """C_R(t)."""
    state = observed(site, t)
    free = state.planned
    while True:
        sized = state._replace(queue=[k for k in state.queue if site.jobs[k].size > 0])
        started = one_pass(site, rule, sized, free)
        if not started:
            return used(site, t) + free
        free = site.jobs[started[0]].size - 1


def most(site: Site, t: int) -> int:
    """C_HI."""
    return capacity_at(site, Rule("fcfs", "no_guarantee"), t)


class Agreement(NamedTuple):
    common: int
    observed: int
    wrong: int


def agreement(site: Site, rule: Rule, judged: Callable[[int], bool] = lambda t: True) -> Agreement:
    """Return the three sums of A."""
    common = seen = wrong = 0
    for t in instants(site):
        starters = [k for k, job in enumerate(site.jobs) if job.start == t]
        if not starters or not waiting(site, t) or not judged(t):
            continue
        runs = [k for k, job in enumerate(site.jobs) if job.start < t < job.end]
        queue = [k for k, job in enumerate(site.jobs) if job.arrival <= t <= job.start]
        taken = sum(site.jobs[k].size for k in runs)
        expected = [(k, site.jobs[k].start + site.jobs[k].estimate) for k in runs]
        free, others = whole(site, t) - taken, others_free(site, runs)
        state = State(t, queue, expected, free, others, begun(site, t - 1))
        chosen = one_pass(site, rule, state, most(site, t) - taken)
        waited = {k for k in starters if t - site.jobs[k].arrival > LONG_S}
        common += len(waited & {*chosen})
        seen += len(waited)
        wrong += len({*chosen} - {*starters})
    return Agreement(common, seen, wrong)


# --- fair starts ---------------------------------------------------------------------------------


def fair_start(
    site: Site,
    rule: Rule,
    j: int,
    *,
    pinned_all: bool = True,
    later: Callable[[int], bool] = lambda k: True,
) -> int:
    """Return the FST of attempt ``j`` without the ``later`` attempts after it; or NEVER.

    ``pinned_all`` is false under a rule with A ≥ .98.
    """
    jobs, kept = site.jobs, rule.order == "kept"
    removed = {k for k in range(j + 1, len(jobs)) if later(k)}
    first = next((k for k in sorted(removed) if jobs[k].start < jobs[j].start), None)
    if first is None:
        return jobs[j].start
    d = jobs[first].arrival
    here = [k for k in range(len(jobs)) if k not in removed]
    runs = {k: jobs[k].start for k in here if jobs[k].start < d < jobs[k].end}
    outside = {k for k in here if jobs[k].start >= d}
    started_at = begun(site, d - 1)
    if kept:
        outside = {k for k in outside if jobs[k].start <= jobs[j].start}
    at = instants(site)
    t = d
    while True:
        runs = {k: since for k, since in runs.items() if since + jobs[k].runtime > t}
        queue = {k for k in outside if jobs[k].arrival <= t}
        pins = {k for k in queue if jobs[k].start <= (t if pinned_all else min(t, d))}
        runs |= dict.fromkeys(pins, t)
        started_at |= dict.fromkeys(pins, t)
        outside -= pins
        known = max(each for each in at if each <= t)
        use = sum(jobs[k].size for k in runs)
        state = State(
            t,
            [k for k in queue if k not in pins],
            [(k, since + jobs[k].estimate) for k, since in runs.items()],
            whole(site, known) - use,
            others_free(site, runs),
            started_at,
        )
        started = one_pass(site, rule, state, capacity_at(site, rule, known) - use)
        runs |= dict.fromkeys(started, t)
        started_at |= dict.fromkeys(started, t)
        outside -= {*started}
        if j in runs:
            return runs[j]
        ends = [since + jobs[k].runtime for k, since in runs.items()]
        following = [each for each in (*at, *ends) if each > t]
        if not following:
            return NEVER
        t = min(following)
