"""SPEC §8's TS in slow, plain, exact Python, on top of the slow schedulers of SPEC §4.

Measures are fractions of means, worked out anew for each schedule; a schedule is a start for each
of those that wait, and is looked at instant by instant. Nothing here is shared with the package.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tests.naive.simulation import Log, Pool, Replay, Rule, queues

Plan = dict[int, int]
"""A start for each of those that wait with a planned start."""

MARGIN = Fraction(1, 10**9)


class Search(NamedTuple):
    """Options of the search."""

    seed: int = 0
    every: int = 300
    turns: int = 2
    tabu: int = 10


class Measures(NamedTuple):
    slowdown: Fraction
    wait: Fraction
    response: Fraction
    fairness: Fraction


Heard = Callable[["Tabu", Plan, Plan, bool], None]
"""Told of each schedule that was tried: the best one before, the tried one, whether it was taken"""


class Tabu(Pool):
    """A pool under ``fcfs`` and ``conservative``, with its plan optimised."""

    def __init__(self, log: Log, search: Search, t: int, heard: Heard) -> None:
        super().__init__(log, Rule("fcfs", "conservative"), t, range(len(log.jobs)))
        self.search = search
        self.heard = heard
        self.origin = min((job.arrival for job in log.jobs), default=0)
        self.random = words(search.seed)

    def passes(self) -> None:
        super().passes()
        if self.t >= self.origin and (self.t - self.origin) % self.search.every == 0 and self.queue:
            self.optimise()
            super().passes()

    def next_instant(self) -> int | None:
        then = super().next_instant()
        if then is None or not self.queue:
            return then
        since = (self.t - self.origin) % self.search.every
        return min(then, self.t + self.search.every - since)

    # Algorithm 2

    def optimise(self) -> None:
        best = {k: start for k, start in self.plan.items() if start is not None}
        tabu: list[int] = []
        rounds = self.search.turns * len(best)
        for _ in range(rounds):
            # The plan in the order of its starts; ties: arrival, submit, sequence.
            free = [k for k in sorted(best, key=lambda k: (best[k], k)) if k not in tabu]
            if not free:
                tabu = []
                continue
            chosen = free[((next(self.random) >> 32) * len(free)) >> 32]
            tried = self.changed(best, chosen)
            if tried is not None:
                taken = weight(self.measures(best), self.measures(tried)) > MARGIN
                self.heard(self, best, tried, taken)
                if taken:
                    best = tried
            tabu = [*tabu, chosen][-self.search.tabu :]
        self.plan |= best

    def changed(self, best: Plan, chosen: int) -> Plan | None:
        """The schedule in which one is taken out, the others move up, and it is put back."""
        others = {k: start for k, start in self.plan.items() if start is None}
        self.plan = {**others, **best}
        del self.plan[chosen]
        for k in sorted(best, key=lambda k: (best[k], k)):
            if k != chosen:
                had = self.plan.pop(k)
                found = self.earliest(k, self.t)
                self.plan[k] = had if found is None or (had or 0) < found[0] else found[0]
        self.keep(chosen, self.earliest(chosen, self.t))
        tried = {k: start for k, start in self.plan.items() if start is not None}
        self.plan = {**others, **best}
        return tried if chosen in tried else None

    # Algorithm 1

    def measures(self, plan: Plan) -> Measures:
        """With estimates for run times; F also of what has ended and runs."""
        jobs = self.log.jobs
        waits = [Fraction(start - jobs[k].arrival) for k, start in plan.items()]
        responses = [start + jobs[k].estimate - jobs[k].arrival for k, start in plan.items()]
        slowdowns = [
            max(Fraction(1), Fraction(response, max(jobs[k].estimate, 1)))
            for k, response in zip(plan, responses, strict=True)
        ]
        count = len(plan)
        waited: dict[str, int] = {}
        area: dict[str, int] = {}
        for owner, wait, used in self.lives(plan):
            waited[owner] = waited.get(owner, 0) + wait
            area[owner] = area.get(owner, 0) + used
        nuwt = [Fraction(waited[o], area[o]) if area[o] else Fraction(0) for o in waited]
        mean = sum(nuwt, Fraction(0)) / max(len(nuwt), 1)
        return Measures(
            sum(slowdowns, Fraction(0)) / count,
            sum(waits, Fraction(0)) / count,
            Fraction(sum(responses), count),
            sum(((mean - one) ** 2 for one in nuwt), Fraction(0)),
        )

    def lives(self, plan: Plan) -> Iterator[tuple[str, int, int]]:
        """Owner, wait and area of all that has ended, runs or is planned."""
        for k, job in enumerate(self.log.jobs):
            start = job.start if job.blocked else self.started.get(k)
            if start is not None and start <= self.t:
                ended = start + job.occupancy <= self.t
                area = job.used if ended else job.estimate * job.request[0]
                yield job.owner, start - job.arrival, area
            elif k in plan:
                yield job.owner, plan[k] - job.arrival, job.estimate * job.request[0]


def weight(had: Measures, has: Measures) -> Fraction:
    """Of SELECTBETTER: how much better the second is, in parts of the first."""
    total = Fraction(0)
    for a, b in zip(had, has, strict=True):
        total += (a - b) / a if a else Fraction(-1 if b else 0)
    return total


def words(seed: int) -> Iterator[int]:
    """64 random bits after another."""
    bits = np.random.PCG64(seed)
    while True:
        yield int(bits.random_raw())


def replay(log: Log, search: Search, heard: Heard = lambda *_: None) -> Replay:
    """All of a log, from an empty pool."""
    instants = [job.arrival for job in log.jobs] + [step.time for step in log.steps]
    instants += [job.start for job in log.jobs if job.start is not None]
    pool = Tabu(log, search, min(instants, default=0) - 1, heard)
    pool.arriving = {k for k in range(len(log.jobs)) if queues(log, k)}
    pool.run()
    return Replay(pool.started, pool.first_plan, pool.first)
