"""Who is passed over: pairs of jobs with later ones that request at least as much, and their tests.

Part of recompute.py, which shares no code with fairaudit.
"""

import bisect
import math
from collections import Counter, defaultdict
from typing import NamedTuple

from replay import TOLERANCE, Log

KINDS = ("user", "account", "partition", "qos")


class Passed(NamedTuple):
    """How often later jobs that requested at least as much as an entity's jobs started first."""

    jobs: int
    share: float
    expected: float
    seconds: int
    tested: bool
    named: bool


class Pairs:
    """The pairs of each waiting job with later jobs that request at least as much, of one kind."""

    def __init__(self, log: Log, barred: list, kind: str, weight: list[float]) -> None:
        self.log, self.kind = log, kind
        self.pairs: dict[int, float] = {}  # of each job during whose wait another entity's arrived
        self.lost: dict[int, float] = {}
        self.seconds: dict[int, int] = {}
        jobs = log.jobs
        entity = [getattr(job, kind) for job in jobs]
        anywhere = kind in ("partition", "qos")
        self.classes = [job.stratum[2 if anywhere else 0 :] for job in jobs]
        place = [() if anywhere else job.stratum[:2] for job in jobs]
        need = [(job.size, math.inf if job.walltime is None else job.walltime) for job in jobs]
        for j, job in enumerate(jobs):
            if job.start is None or not entity[j]:
                continue
            pairs = lost = 0.0
            first = None
            for k in range(j + 1, len(jobs)):
                other = jobs[k]
                if other.arrival >= job.start:
                    break
                if (
                    other.arrival == job.arrival or other.user == job.user or entity[k] == entity[j]
                    or place[k] != place[j] or need[k][0] < need[j][0] or need[k][1] < need[j][1]
                    or not entity[k] or within(barred[j], other.arrival)
                ):  # fmt: skip
                    continue
                before = other.start is not None and other.start < job.start - TOLERANCE
                if (
                    other.start is not None
                    and other.start < job.start
                    and within(barred[j], other.start)
                ):
                    continue
                pairs += weight[k]
                if before:
                    lost += weight[k]
                    first = other.start if first is None else min(first, other.start)
            if pairs:
                self.pairs[j], self.lost[j] = pairs * weight[j], lost * weight[j]
                self.seconds[j] = 0 if first is None else job.start - first

    def of(self, name: str) -> list[int]:
        return [j for j in self.pairs if getattr(self.log.jobs[j], self.kind) == name]

    def judge(self, name: str, totals: dict, waiting: float, count: int) -> tuple[Passed, float]:
        """Return the result of an entity, and the p of its test (1: not tested)."""
        mine = self.of(name)
        others = [a - b for a, b in zip(totals[()], totals[name,], strict=True)]
        if not mine or others[0] <= 1e-9:
            return Passed(len(mine), 0, 0, 0, False, False), 1.0
        rate, due = others[1] / others[0], {}
        for j in mine:
            c = self.classes[j]
            pairs, lost = (a - b for a, b in zip(totals[c, "all"], totals[name, c], strict=True))
            due[j] = self.pairs[j] * (lost + 5 * rate) / (pairs + 5)
        own = totals[name,]
        seconds = sum(self.seconds[j] for j in mine)
        days = sorted({self.log.day(self.log.jobs[j].arrival) for j in mine})
        result = Passed(
            len(mine), own[1] / own[0], sum(due.values()) / own[0], seconds, False, False
        )
        if len(mine) < 20 or len(days) < 8:
            return result, 1.0
        number = min(20, len(days))
        size, more = divmod(len(days), number)
        lengths = [size + (g < more) for g in range(number)]
        group = dict(zip(days, (g for g in range(number) for _ in range(lengths[g])), strict=True))
        sums = [[0.0, 0.0] for _ in range(number)]
        for j in mine:
            block = sums[group[self.log.day(self.log.jobs[j].arrival)]]
            block[0] += self.lost[j] - due[j]
            block[1] += self.pairs[j]
        above, below = (sum(block[x] for block in sums) for x in (0, 1))
        without = [(above - a) / (below - b) for a, b in sums if below > b]
        if len(without) < max(number, 2):
            return result, 1.0
        mean = sum(without) / number
        deviation = math.sqrt((number - 1) / number * sum((one - mean) ** 2 for one in without))
        excess = above / below
        sure = (
            t_above((excess - 0.1) / deviation, number - 1) <= 0.05 if deviation else excess >= 0.1
        )
        much = seconds >= min(0.005 * waiting, 86_400 * count)
        p = t_above(excess / deviation, number - 1) if deviation else float(excess <= 0)
        return result._replace(tested=True, named=sure and much), p


def within(spans: list[float], t: float) -> bool:
    """Return whether t is in one of the closed intervals, given as begins and ends in turn."""
    at = bisect.bisect_left(spans, t)
    return at % 2 == 1 or (at < len(spans) and spans[at] == t)


def t_above(t: float, freedom: int) -> float:
    """Return the probability that Student's t exceeds ``t``: Simpson's rule on the density."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)
    angle, steps = math.atan(abs(t) / math.sqrt(freedom)), 2_000  # t = sqrt(freedom) tan(angle)
    values = [math.cos(angle * k / steps) ** (freedom - 1) for k in range(steps + 1)]
    area = values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2])
    inside = scale * math.sqrt(freedom) * area * angle / steps / 3
    return 0.5 - math.copysign(inside, t)


def passed_over(log: Log, barred: list[list[float]]) -> dict[tuple[str, str], Passed]:
    """Return the result of each entity, by kind and name."""
    jobs, found = log.jobs, {}
    ran = [job for job in jobs if job.start is not None]
    parts, number, until = [], {}, {}
    for j, job in enumerate(jobs):  # a burst: a user's arrivals, each while an earlier one waits
        if until.get(job.user, -math.inf) <= job.arrival:
            number[job.user] = j
        until[job.user] = max(until.get(job.user, 0), job.leave)
        parts.append((number[job.user], job.stratum))
    sizes = Counter(parts)
    weight = [1 / sizes[part] for part in parts]
    waiting = sum(job.wait for job in ran)
    for kind in KINDS:
        counts = Counter(getattr(job, kind) for job in ran)
        counts.pop("", None)
        if (
            min(len({getattr(job, kind) for job in jobs} - {""}), len({job.user for job in jobs}))
            < 2
        ):
            continue
        pairs = Pairs(log, barred, kind, weight)
        totals: defaultdict[tuple, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for j in pairs.pairs:
            name, c = getattr(jobs[j], kind), pairs.classes[j]
            for key in ((), (name,), (c, "all"), (name, c)):
                totals[key][0] += pairs.pairs[j]
                totals[key][1] += pairs.lost[j]
        results = {n: pairs.judge(n, totals, waiting, counts[n]) for n in counts}
        members = defaultdict(set)
        for job in ran:
            members[getattr(job, kind)].add(job.user)
        sole = {n for n in counts if kind == "account" and len(members[n]) == 1}
        tested = sorted(p for n, (one, p) in results.items() if one.tested and n not in sole)
        passing = [p for k, p in enumerate(tested, 1) if p <= k * 0.05 / len(tested)]
        for n, (one, p) in results.items():
            named = one.named and bool(passing) and p <= passing[-1]
            like = found["user", min(members[n])] if n in sole else one._replace(named=named)
            found[kind, n] = like
    return found
