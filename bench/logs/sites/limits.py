"""Limits and closed hours of a made site, and whether they allow a job to start."""

from dataclasses import dataclass, replace

import numpy as np

from bench.logs.sites.kinds import (
    DAY,
    EPOCH,
    HOUR,
    WALLTIMES,
    WEEK,
    ClosedHours,
    SiteKind,
    TrueRule,
)
from bench.logs.sites.workload import Demand


@dataclass
class Level:
    """Running jobs, or their amount, of one entity under one rule."""

    amount: int = 0
    ends: int = 0
    """Σ size × expected end, of ``cpu_s``; ``amount`` is then Σ size."""

    def at(self, now: int, *, remaining: bool) -> int:
        """Return the level."""
        return self.ends - now * self.amount if remaining else self.amount


class TrueLimits:
    """The levels of all entities under all rules of a site."""

    def __init__(self, kind: SiteKind, jobs: Demand) -> None:
        """Find under which rules each job is: (rule, entity, what it adds)."""
        self.rules = kind.rules
        self.levels: dict[tuple[int, str], Level] = {}
        self.timed = bool(kind.closed) or any(
            rule.days is not None or rule.counts == "cpu_s" for rule in self.rules
        )
        """Whether time alone may allow a job."""
        names = named(kind, jobs)
        exempt = jobs.exempt.tolist()
        gpus = gpus_of(kind, jobs)
        self.under: list[list[tuple[int, str, int]]] = []
        self.binding = [not one for one in exempt]
        self.walltime = jobs.walltime.tolist()
        self.closed = [
            [
                one
                for one in kind.closed
                if size > one.size_above and walltime > one.walltime_above_s
            ]
            for size, walltime in zip(jobs.size.tolist(), self.walltime, strict=True)
        ]
        for job, size in enumerate(jobs.size.tolist()):
            found = []
            for number, rule in enumerate(self.rules):
                entity = names[rule.per][job]
                inside = rule.within is None or names[rule.within[0]][job] == rule.within[1]
                adds = {"jobs": 1, "gpus": gpus[job]}.get(rule.counts, size)
                if inside and rule.only in {None, entity} and adds:
                    found.append((number, entity, adds))
            self.under.append(found)

    def forbids(self, job: int, now: int) -> bool:
        """Return whether a limit or closed hours forbid the start."""
        if not self.binding[job]:
            return False
        for rule, entity, adds in self.under[job]:
            if in_force(self.rules[rule], now) and self._room(rule, entity, adds, job, now) < 0:
                return True
        return any(is_closed(one, self.walltime[job], now) for one in self.closed[job])

    def allowed_from(self, job: int, now: int) -> int | None:
        """Return the next instant at which a job may be allowed without an end, if any."""
        if not self.timed:
            return None
        instants = [now - now % HOUR + HOUR] if self.closed[job] else []
        for number, entity, adds in self.under[job]:
            rule = self.rules[number]
            if rule.days is not None:
                instants += [EPOCH + day * DAY for day in rule.days]
            level = self.levels.get((number, entity))
            short = -self._room(number, entity, adds, job, now)
            if rule.counts == "cpu_s" and level is not None and level.amount and short > 0:
                instants.append(now + -(-short // level.amount))
        return min((instant for instant in instants if instant > now), default=None)

    def change(self, job: int, expected_end: int, sign: int) -> None:
        """Add a job to the levels (1), or take it out of them (−1)."""
        for rule, entity, adds in self.under[job]:
            level = self.levels.setdefault((rule, entity), Level())
            level.amount += sign * adds
            level.ends += sign * adds * expected_end

    def _room(self, rule: int, entity: str, adds: int, job: int, now: int) -> int:
        """Return what would be left under a rule after the start."""
        remaining = self.rules[rule].counts == "cpu_s"
        level = self.levels.get((rule, entity))
        held = 0 if level is None else level.at(now, remaining=remaining)
        more = adds * self.walltime[job] if remaining else adds
        return self.rules[rule].level - held - more


def is_closed(closed: ClosedHours, walltime: int, now: int) -> bool:
    """Return whether closed hours forbid a start now."""
    first = (now - EPOCH) // HOUR
    last = (now - EPOCH + walltime - 1) // HOUR if closed.overlap else first
    hours = range(first, last + 1)
    return in_force(closed, now) and any(hour % (WEEK // HOUR) in closed.hours for hour in hours)


def shortest_open(closed: ClosedHours) -> int:
    """Return the shortest time between closed hours, in s."""
    hours = sorted(closed.hours)
    following = [*hours[1:], hours[0] + WEEK // HOUR]
    between = [after - before - 1 for before, after in zip(hours, following, strict=True)]
    return HOUR * min(one for one in between if one)


def in_force(rule: TrueRule | ClosedHours, now: int) -> bool:
    """Return whether a rule holds at an instant."""
    return rule.days is None or rule.days[0] <= (now - EPOCH) // DAY < rule.days[1]


def named(kind: SiteKind, jobs: Demand) -> dict[str, list[str]]:
    """Return the names of each job's user, account, partition, QOS and class of nodes."""
    partitions = [name for name, _ in kind.traffic.partitions]
    qos = [name for name, _ in kind.traffic.qos]
    classes = [one.name for one in kind.classes]
    return {
        "user": [f"u{one:02}" for one in jobs.user.tolist()],
        "account": [f"a{one}" for one in jobs.account.tolist()],
        "partition": [partitions[one] for one in jobs.partition.tolist()],
        "qos": [qos[one] for one in jobs.qos.tolist()],
        "node_class": [classes[one] for one in jobs.node_class.tolist()],
    }


def within_limits(kind: SiteKind, jobs: Demand) -> Demand:
    """Return the jobs with requests that no rule forbids for ever, as users would make them."""
    names = named(kind, jobs)
    size = jobs.size.copy()
    each = np.array([one.cpus_per_gpu for one in kind.classes])[jobs.node_class]
    for rule in kind.rules:
        inside = np.ones(len(size), np.bool_)
        if rule.within is not None:
            inside &= np.array(names[rule.within[0]]) == rule.within[1]
        if rule.only is not None:
            inside &= np.array(names[rule.per]) == rule.only
        most = {
            "jobs": size,
            "cpus": np.full_like(size, rule.level),
            "cpu_s": rule.level // jobs.walltime,
            "gpus": np.where(each > 0, rule.level * each, size),
        }[rule.counts]
        power = 2 ** np.floor(np.log2(np.maximum(most, 1))).astype(np.int64)
        size = np.where(inside & (size > most), power, size)
    walltime = jobs.walltime
    for closed in kind.closed:
        if closed.overlap:
            inside = (size > closed.size_above) & (walltime > closed.walltime_above_s)
            longest = max(one for one in WALLTIMES if one <= shortest_open(closed))
            walltime = np.where(inside, np.minimum(walltime, longest), walltime)
    return replace(jobs, size=size, walltime=walltime, runtime=np.minimum(jobs.runtime, walltime))


def gpus_of(kind: SiteKind, jobs: Demand) -> list[int]:
    """Return the number of GPUs of each job, of the type that its class is named for."""
    each = [one.cpus_per_gpu for one in kind.classes]
    return [
        size // each[one] if each[one] else 0
        for size, one in zip(jobs.size.tolist(), jobs.node_class.tolist(), strict=True)
    ]
