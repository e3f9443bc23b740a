"""SPEC §10's decisions in slow, plain Python: one pass at each instant of the observed schedule.

At every instant the state is put together anew from the log.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.naive.placing import OnNodes, Site
from tests.naive.simulation import Log, Pool, Rule, Span, minus, queues


class Judged(NamedTuple):
    ready: dict[int, int]  # of all who would have been started by the time they were
    over: set[int]  # who started where more was in use than there is
    withheld: dict[int, str]  # who might not have started at an instant after that: limit, window


def observed_spans(pool: Pool) -> Iterator[Span]:
    """Owners are ranked by what was observed."""
    for job in pool.log.jobs:
        if job.start is not None and job.end is not None and job.start < pool.t:
            yield job, job.start, job.end, job.end <= pool.t


class Seen(Pool):
    """A pool as it was observed at an instant."""

    spans = observed_spans


class SeenOnNodes(OnNodes):
    """The same of a pool with nodes."""

    spans = observed_spans


def judge(log: Log, rule: Rule, tolerance: int) -> Judged:
    """Return when each attempt would have started, and those that started beyond the capacity."""
    if rule.backfill == "conservative":
        rule = rule._replace(backfill="conservative_replan")
    ready: dict[int, int] = {}
    over: set[int] = set()
    for t in passes(log, rule):
        aside = {k for k, first in ready.items() if t > first + tolerance}
        pool = seen(log, rule, t, aside)
        if rule.between:
            pool.main_pass()
        pool.one_pass(rule.backfill)
        for k in pool.started:
            ready.setdefault(k, t)
    for t in instants(log):
        if exceeded(log, t):
            over |= {k for k, job in enumerate(log.jobs) if job.start == t and not job.blocked}
    return Judged(ready, over, _withheld(log, rule, tolerance, ready))


def _withheld(log: Log, rule: Rule, tolerance: int, ready: dict[int, int]) -> dict[int, str]:
    """Return the reasons that forbade a start after the modelled one."""
    unlimited = log._replace(jobs=tuple(job._replace(counts=()) for job in log.jobs))
    always_open = log._replace(jobs=tuple(job._replace(windows=()) for job in log.jobs))
    found: dict[int, str] = {}
    for t in sorted({*instants(log), *passes(log, rule)}):
        aside = {k for k, first in ready.items() if t > first + tolerance}
        limits = seen(always_open, rule, t, aside)
        windows = seen(unlimited, rule, t, aside)
        for k, first in ready.items():
            start = log.jobs[k].start
            if first < t and (start is None or t < start):
                if not limits.allowed(k):
                    found[k] = "limit"
                elif not windows.allowed(k):
                    found.setdefault(k, "window")
    return found


def passes(log: Log, rule: Rule) -> list[int]:
    """Instants at which there is a pass: those where something happens, or the next multiples."""
    at = instants(log)
    if rule.interval is None or not log.jobs:
        return at
    if rule.order == "multifactor":
        return [t for t in _unknown_phase(log, rule.interval, at) if t <= last_told(log)]
    origin = min(job.arrival for job in log.jobs)
    passes = {each + -(each - origin) % rule.interval for each in at}
    return sorted(t for t in passes if t <= last_told(log))


def _unknown_phase(log: Log, interval: int, at: list[int]) -> Iterator[int]:
    """Where an attempt starts, or an interval after the first thing since the last pass."""
    starts = {job.start for job in log.jobs if job.start is not None and not job.blocked}
    due: int | None = None
    for t in at:
        if due is not None and due < t:
            yield due
            due = None
        if t in starts or t == due:
            yield t
            due = None
        elif due is None:
            due = t + interval
    if due is not None:
        yield due


def _told(log: Log) -> set[int]:
    """Return the instants that the log knows of its attempts."""
    told = {job.arrival for job in log.jobs}
    told |= {job.start for job in log.jobs if job.start is not None}
    return told | {job.end for job in log.jobs if job.end is not None and not job.open}


def last_told(log: Log) -> int:
    return max(_told(log))


def instants(log: Log) -> list[int]:
    """Return arrivals, starts, ends, steps and edges of windows, up to the last of the log."""
    met = [(k, job) for k, job in enumerate(log.jobs) if job.start is not None or job.open]
    told = _told(log)
    found = {job.arrival for k, job in met if queues(log, k)}
    found |= {job.start for _, job in met if job.start is not None}
    found |= {job.end for _, job in met if job.end is not None}
    found |= {step.time for step in log.steps}
    for window in log.windows:
        if told and window.closed(min(told)):
            found.add(min(told))  # it closes when the log begins
        edge = window.next_edge(min(told, default=0))
        while edge is not None and edge <= max(told, default=0):
            found.add(edge)
            edge = window.next_edge(edge)
    return sorted(t for t in found if t <= max(told, default=t))


def seen(log: Log, rule: Rule, t: int, aside: set[int]) -> Pool:
    """running = those with start < t < end; queue = those with arrival ≤ t ≤ start.

    Those ``aside`` are not queued, and run from their start on, not only after it.
    """
    everyone = range(len(log.jobs))
    pool: Pool = Seen(log, rule, t, everyone)
    if isinstance(log.site, Site):
        pool = SeenOnNodes(log, rule, t, everyone, log.site)
    for k, job in enumerate(log.jobs):
        started = job.start is not None and (job.start < t or (job.start == t and k in aside))
        if job.blocked:
            continue
        if started and job.start is not None and job.end is not None:
            if t < job.end:
                pool.running[k] = job.start
        elif (
            (job.start is not None or job.open)
            and job.arrival <= t
            and queues(log, k)
            and k not in aside
        ):
            pool.queue.append(k)
    return pool


def exceeded(log: Log, t: int) -> bool:
    """Whether more is in use at t, by all with start ≤ t < end, than there is."""
    left = log.capacity_at(t)
    for k, job in enumerate(log.jobs):
        if job.start is not None and job.end is not None and job.start <= t < job.end:
            used = [job.request]
            if isinstance(log.site, Site):
                used = list(log.site.requests[k].used.values())
            left = minus(left, *used)
    return any(has < 0 for has in left)
