"""SPEC §10 in slow, plain Python: fair starts on what the machine delivered.

Attempts are in the order (arrival, submit, sequence). At every instant the state is put together
anew from the log.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

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


class Site(NamedTuple):
    jobs: tuple[Job, ...]
    capacity: int
    others: tuple[int, ...] = ()  # capacity of the other resources
    steps: tuple[tuple[int, int], ...] = ()  # (instant, change) of the counted resource


class Rule(NamedTuple):
    order: str = "fcfs"  # or sjf, lxf, recorded, kept
    backfill: str = "easy"  # or none, no_guarantee, conservative_replan
    own_peak: bool = False
    cautious: bool = False
    depth: int | None = None


KEPT = Rule("kept", "none", own_peak=True)


def in_force(site: Site, t: int) -> int:
    return site.capacity + sum(change for at, change in site.steps if at <= t)


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
    return sorted(found | {at for at, _ in site.steps if at <= max(found, default=0)})


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


def ordered(site: Site, rule: Rule, state: State) -> list[int]:
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
        return (k,)

    return sorted(state.queue, key=key)


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


def observed(site: Site, t: int) -> State:
    runs = running(site, t)
    expected = [(k, site.jobs[k].start + site.jobs[k].estimate) for k in runs]
    free = whole(site, t) - used(site, t)
    return State(t, waiting(site, t), expected, free, others_free(site, runs))


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
        state = State(t, queue, expected, whole(site, t) - taken, others_free(site, runs))
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
    if kept:
        outside = {k for k in outside if jobs[k].start <= jobs[j].start}
    at = instants(site)
    t = d
    while True:
        runs = {k: since for k, since in runs.items() if since + jobs[k].runtime > t}
        queue = {k for k in outside if jobs[k].arrival <= t}
        pins = {k for k in queue if jobs[k].start <= (t if pinned_all else min(t, d))}
        runs |= dict.fromkeys(pins, t)
        outside -= pins
        known = max(each for each in at if each <= t)
        use = sum(jobs[k].size for k in runs)
        state = State(
            t,
            [k for k in queue if k not in pins],
            [(k, since + jobs[k].estimate) for k, since in runs.items()],
            whole(site, known) - use,
            others_free(site, runs),
        )
        started = one_pass(site, rule, state, capacity_at(site, rule, known) - use)
        runs |= dict.fromkeys(started, t)
        outside -= {*started}
        if j in runs:
            return runs[j]
        ends = [since + jobs[k].runtime for k, since in runs.items()]
        following = [each for each in (*at, *ends) if each > t]
        if not following:
            return NEVER
        t = min(following)
