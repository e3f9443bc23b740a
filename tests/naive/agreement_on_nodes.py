"""SPEC §10's *A_nodes* in slow, plain Python: one pass at each instant with starts.

At every instant the state is put together anew from the log.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.naive.placing import OnNodes, Site
from tests.naive.simulation import Log, Pool, Rule, Span, queues


class Compared(NamedTuple):
    common: int  # starts that were observed and chosen
    observed: int
    wrong: int  # chosen that did not start then


def compared(log: Log, rule: Rule, long_wait: int, held_until: Sequence[int]) -> Compared:
    """Return the sums of the agreement; starts count after waits of over ``long_wait``.

    Held attempts leave the pool until they are released, at the latest when they start.
    """
    if rule.backfill == "conservative":
        rule = rule._replace(backfill="conservative_replan")
    common = observed = wrong = 0
    for t in sorted({job.start for job in log.jobs if job.start is not None and not job.blocked}):
        pool = seen(log, rule, t, held_until)
        starting = {k for k in pool.queue if log.jobs[k].start == t}
        if not 0 < len(starting) < len(pool.queue):
            continue
        if rule.between:
            pool.main_pass()
        if not (rule.between and starting <= pool.started.keys()):
            pool.one_pass(rule.backfill)
        waited = {k for k in starting if t - log.jobs[k].arrival > long_wait}
        common += len(waited & pool.started.keys())
        observed += len(waited)
        wrong += len(pool.started.keys() - starting)
    return Compared(common, observed, wrong)


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


def seen(log: Log, rule: Rule, t: int, held_until: Sequence[int]) -> Pool:
    """running = those with start < t < end; queue = those with arrival ≤ t ≤ start, not held."""
    everyone = range(len(log.jobs))
    pool: Pool = Seen(log, rule, t, everyone)
    if isinstance(log.site, Site):
        pool = SeenOnNodes(log, rule, t, everyone, log.site)
    for k, job in enumerate(log.jobs):
        if job.blocked:
            continue
        if job.start is not None and job.start < t:
            if job.end is not None and t < job.end:
                pool.running[k] = job.start
        elif (job.start is not None or job.open) and job.arrival <= t and queues(log, k):
            pool.queue += [k] * (held_until[k] <= t or job.start == t)
    return pool
