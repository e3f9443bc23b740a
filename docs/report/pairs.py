"""Pairs of jobs with later ones that request at least as much; tests of users passed over.

Part of recompute.py, which shares no code with fairaudit. Logs have no holds, reservations or GPUs,
and no limits of users or accounts.
"""

import math
from collections import Counter, defaultdict
from typing import NamedTuple

from replay import TOLERANCE, Log

KINDS = ("user", "account")
DAY = 86_400


class Passed(NamedTuple):
    """How often later jobs that requested at least as much as an entity's jobs started first."""

    jobs: int
    share: float
    expected: float
    seconds: int
    tested: bool
    named: bool
    used: float  # times its share; 0: usage does not count
    by_usage: bool  # whether only its usage keeps it from being named


class Pair(NamedTuple):
    """A pair of job j with a later one."""

    j: int
    weight: float
    lost: bool
    seconds: int  # from the start of the later job
    side: int  # 1: j's user had used much more; -1: the other's had


class Usage:
    """The usage of users or accounts by local midnight."""

    def __init__(
        self, log: Log, kind: str = "user", half_life: int = 7 * DAY, much: float = 1.2
    ) -> None:
        self.log, self.kind, self.known = log, kind, {}
        self.decay, self.much = math.log(2) / half_life, much
        self.of = defaultdict(list)
        for job in log.jobs:
            if job.start is not None and job.user:
                self.of[getattr(job, kind)].append(job)

    def at(self, job, instant: int) -> float:
        user, midnight = getattr(job, self.kind), self.log.midnight(self.log.day(instant))
        if (user, midnight) not in self.known:
            decay, total = self.decay, 0.0
            for one in self.of[user] if user else ():
                end = min(one.end, midnight)
                if one.start < end:
                    ages = (midnight - end, midnight - one.start)
                    total += one.size * (math.exp(-decay * ages[0]) - math.exp(-decay * ages[1]))
            self.known[user, midnight] = total
        return self.known[user, midnight]

    def side(self, mine, other) -> int:
        one, two = self.at(mine, other.arrival), self.at(other, other.arrival)
        return 1 if one > self.much * two else -1 if two > self.much * one else 0


def made(log: Log, kind: str, usage: Usage, own: bool = False) -> list[Pair]:
    """Return the pairs of one kind; ``own``: with later jobs of the same user."""
    jobs, weight, found = log.jobs, weights(log), []
    need = [(job.size, math.inf if job.walltime is None else job.walltime) for job in jobs]
    entity = [getattr(job, kind) for job in jobs]
    for j, job in enumerate(jobs):
        if job.start is None or not job.user or not entity[j] or job.wait <= TOLERANCE:
            continue
        rivals = []
        for k in range(j + 1, len(jobs)):
            other = jobs[k]
            if other.arrival >= job.start:
                break
            right = other.user == job.user if own else (
                other.user and entity[k] and other.user != job.user and entity[k] != entity[j]
            )  # fmt: skip
            if (
                right and other.start is not None and other.arrival > job.arrival
                and (other.partition, other.qos) == (job.partition, job.qos)
                and need[k][0] >= need[j][0] and need[k][1] >= need[j][1]
                and other.gpus >= job.gpus
            ):  # fmt: skip
                rivals.append(k)
        for k in rivals[:: max(math.ceil(len(rivals) / 2_000), 1)]:
            lost = jobs[k].start < job.start - TOLERANCE
            side = usage.side(job, jobs[k])
            seconds = job.start - jobs[k].start if lost else 0
            found.append(Pair(j, weight[j] * weight[k], lost, seconds, side))
    return found


def classed(job) -> tuple:
    """Return partition, QOS, ⌈log2 size⌉ and walltime class."""
    width = (job.size - 1).bit_length() if job.size else None
    return *job.stratum[:2], width, job.stratum[3]


def weights(log: Log) -> list[float]:
    """Return 1 / the number of started jobs of each job's burst in its class."""
    number, until, parts = {}, {}, []
    for j, job in enumerate(log.jobs):
        if job.start is None:
            parts.append(None)
            continue
        if until.get(job.user, -math.inf) <= job.arrival:
            number[job.user] = j
        until[job.user] = max(until.get(job.user, 0), job.start)
        parts.append((number[job.user], classed(job)))
    sizes = Counter(parts)
    return [1 / sizes[part] for part in parts]


def rates(log: Log, kind: str, pairs: list[Pair]) -> dict[str, tuple[float, float]]:
    """Return how often pairs with more and with less usage are lost, without each entity."""
    sums = defaultdict(lambda: [0.0] * 4)
    for pair in pairs:
        if pair.side:
            of = sums[getattr(log.jobs[pair.j], kind)]
            of[1 - pair.side] += pair.weight
            of[2 - pair.side] += pair.weight * pair.lost
    whole = [sum(of[x] for of in sums.values()) for x in range(4)]
    found = {}
    for name in {getattr(log.jobs[pair.j], kind) for pair in pairs}:
        more, lost_more, less, lost_less = (a - b for a, b in zip(whole, sums[name], strict=True))
        known = min(more, less) > 1e-9
        found[name] = (lost_more / more, lost_less / less) if known else (0.0, 0.0)
    return found


def by_usage(more: float, less: float) -> bool:
    """Return whether that is an order by recent usage."""
    return more - less >= 0.15 and more >= 2.5 * less


def explained(log: Log, kind: str, name: str, judged) -> bool:
    """Return whether the clearest order by usage among the others explains an entity's result."""
    orders = []
    for owners in KINDS:
        if len({getattr(job, owners) for job in log.jobs if job.start is not None} - {""}) > 1:
            for days in (3, 14, 60):
                pairs = made(log, kind, Usage(log, owners, days * DAY, 1.0))
                orders.append((rates(log, kind, pairs).get(name, (0.0, 0.0)), pairs))
    (more, less), pairs = max(orders, key=lambda order: order[0][0] - order[0][1])
    return by_usage(more, less) and name not in judged([pair for pair in pairs if pair.side != 1])


class Test:
    """The entities of a kind, compared with one another."""

    def __init__(self, log: Log, kind: str, pairs: list[Pair]) -> None:
        self.log, self.kind = log, kind
        self.sums = defaultdict(lambda: [0.0, 0.0])  # pairs, lost; of jobs, classes and entities
        self.seconds = defaultdict(int)
        for pair in pairs:
            job = log.jobs[pair.j]
            name, of = getattr(job, kind), classed(job)
            for key in (("job", pair.j), ("all",), ("all", of), ("of", name), ("of", name, of)):
                self.sums[key][0] += pair.weight
                self.sums[key][1] += pair.weight * pair.lost
            self.seconds[pair.j] = max(self.seconds[pair.j], pair.seconds)
        self.jobs = [key[1] for key in self.sums if key[0] == "job"]

    def others(self, name: str, *of: tuple) -> tuple[float, float]:
        whole, mine = self.sums["all", *of], self.sums["of", name, *of]
        return whole[0] - mine[0], whole[1] - mine[1]

    def judge(self, name: str) -> tuple[Passed, float, float]:
        """Return the result of an entity, the p of its test (2: none), and its lower bound."""
        mine = [j for j in self.jobs if getattr(self.log.jobs[j], self.kind) == name]
        pairs, lost = self.others(name)
        own = self.sums["of", name]
        seconds = sum(self.seconds[j] for j in mine)
        if not mine or pairs <= 1e-9:
            return Passed(len(mine), 0, 0, seconds, False, False, 0, False), 2.0, 0.0
        due = {}
        for j in mine:
            n, of_class = self.others(name, classed(self.log.jobs[j]))
            due[j] = self.sums["job", j][0] * (of_class + 5 * lost / pairs) / (n + 5)
        share, expected = own[1] / own[0], sum(due.values()) / own[0]
        result = Passed(len(mine), share, expected, seconds, False, False, 0, False)
        days = {j: self.log.day(self.log.jobs[j].arrival).toordinal() for j in mine}
        if len(mine) < 20 or len({*days.values()}) < 8:
            return result, 2.0, 0.0
        first, span = min(days.values()), max(days.values()) - min(days.values()) + 1
        stretches = defaultdict(lambda: [0.0, 0.0])
        for j in mine:
            of = stretches[(days[j] - first) * min(20, span) // span]
            of[0] += self.sums["job", j][1] - due[j]
            of[1] += self.sums["job", j][0]
        above, below = (sum(of[x] for of in stretches.values()) for x in (0, 1))
        without = [(above - a) / (below - b) for a, b in stretches.values()]
        number, mean = len(without), sum(without) / len(without)
        deviation = math.sqrt((number - 1) / number * sum((one - mean) ** 2 for one in without))
        excess, result = above / below, result._replace(tested=True)
        if not deviation:
            return result, float(excess <= 0), excess
        low, high = 0.0, 100.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if t_above(middle, number - 1) > 0.05 else (low, middle)
        return result, t_above(excess / deviation, number - 1), excess - low * deviation


def t_above(t: float, freedom: int) -> float:
    """Return the probability that Student's t exceeds ``t``: Simpson's rule on the density."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)
    angle, steps = math.atan(abs(t) / math.sqrt(freedom)), 2_000  # t = sqrt(freedom) tan(angle)
    values = [math.cos(angle * k / steps) ** (freedom - 1) for k in range(steps + 1)]
    area = values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2])
    inside = scale * math.sqrt(freedom) * area * angle / steps / 3
    return 0.5 - math.copysign(inside, t)


def passed_over(log: Log) -> dict[tuple[str, str], Passed]:
    """Return the result of each user and account, by kind and name."""
    jobs, found, usage, follows = log.jobs, {}, Usage(log), False
    ran = [job for job in jobs if job.start is not None]
    waiting = sum(job.wait for job in ran)
    for kind in KINDS:
        counts = Counter(getattr(job, kind) for job in ran)
        counts.pop("", None)
        if min(len(counts), len({job.user for job in ran} - {""})) < 2:
            continue
        pairs = made(log, kind, usage)
        if kind == "user":
            without = rates(log, kind, pairs).values()
            follows = len(without) > 1 and all(by_usage(*of) for of in without)
        results = tested(log, kind, [one for one in pairs if not (follows and one.side == 1)])
        control = Test(log, kind, made(log, kind, usage, own=True))

        def names(results: dict, counts: Counter = counts) -> set[str]:
            ascending = sorted(p for one, p, _ in results.values() if one.tested)
            passing = [p for k, p in enumerate(ascending, 1) if p <= k * 0.05 / len(ascending)]
            return {
                name
                for name, (one, p, lower) in results.items()
                if one.tested and passing and p <= passing[-1] and lower >= 0.1
                and one.seconds >= min(0.005 * waiting, 86_400 * counts[name])
            }  # fmt: skip

        users = defaultdict(set)
        area = Counter()
        for job in ran:
            users[getattr(job, kind)].add(job.user)
            area[getattr(job, kind)] += job.size * job.length
        shares = {name: len(users[name]) for name in counts if area[name]}
        for name, (one, _, _) in results.items():
            named, used = name in names(results), 0.0
            own, many = control.sums["of", name], 0
            if own[0]:
                many = sum(getattr(jobs[j], kind) == name for j in control.jobs)
            named = named and not (many >= 5 and own[1] / own[0] > one.share / 2)
            if follows and area[name]:
                used = area[name] / sum(area.values()) / (shares[name] / sum(shares.values()))
            excused = named and used > 1.5
            named = named and not excused
            named = named and not explained(
                log, kind, name, lambda pairs: names(tested(log, kind, pairs))  # noqa: B023
            )  # fmt: skip
            one = one._replace(named=named, used=used, by_usage=excused)  # noqa: PLW2901
            if kind == "account" and len(users[name]) == 1:
                one = found["user", min(users[name])]  # noqa: PLW2901
            found[kind, name] = one
    return found


def tested(log: Log, kind: str, pairs: list[Pair]) -> dict[str, tuple[Passed, float, float]]:
    """Return the result of each entity with started jobs, as of ``Test.judge``."""
    test = Test(log, kind, pairs)
    names = {getattr(job, kind) for job in log.jobs if job.start is not None} - {""}
    return {name: test.judge(name) for name in sorted(names)}
