"""Replay a log on nodes: what each wait was spent on where jobs need CPUs, memory and GPUs.

Part of recompute.py, which shares no code with fairaudit. There are no rules and no holds.
"""

import bisect
import re
from collections import Counter
from itertools import accumulate, pairwise
from typing import NamedTuple

from replay import LAPSE, Log, Replay, estimate

Vector = dict[str, int]


class Node(NamedTuple):
    """A node; ``away`` are the spans in which it takes no jobs."""

    name: str
    amounts: Vector
    partitions: list[str]
    features: list[str]
    away: list[tuple[int, int]]


class Request(NamedTuple):
    """The request of a job, and its share of each of its nodes."""

    needed: Vector
    used: Vector
    nodes: int
    on: list[str]
    constraint: str

    def parts(self, but: str = "") -> tuple[Vector, int]:
        """Return what each node must have, without the resource ``but``, and the number of nodes.

        An uneven request is placed CPU by CPU.
        """
        count = max(self.nodes, 1)
        if any(n % count for n in self.needed.values()):
            count = max(self.needed["cpu"], 1)
        needed = {x: n for x, n in self.needed.items() if n and x != but}
        if but == "gpu":  # then its type does not matter either
            needed = {x: n for x, n in needed.items() if not x.startswith("gpu:")}
        return {x: -(-n // count) for x, n in needed.items()}, count

    @property
    def is_even(self) -> bool:
        return not any(n % max(self.nodes, 1) for n in self.needed.values())


def holds(free: Vector, part: Vector, times: int = 1) -> bool:
    return all(free.get(x, 0) >= n * times for x, n in part.items())


def added(free: Vector, more: Vector, sign: int) -> Vector:
    return {x: n + sign * more.get(x, 0) for x, n in free.items()}


def sums(vectors: list[Vector]) -> Vector:
    total: Counter[str] = Counter()
    for one in vectors:
        total.update(one)
    return dict(total)


class OnNodes(Replay):
    """The log by instants, on nodes."""

    def __init__(self, log: Log, requests: list[Request], nodes: list[Node], depth: int) -> None:
        self.requests, self.nodes = requests, {node.name: node for node in nodes}
        self.allowed = [self._allowed(job, of) for job, of in zip(log.jobs, requests, strict=True)]
        self.placed: list[dict[str, Vector]] = [{} for _ in log.jobs]
        self._divide(log)
        super().__init__(log, [], depth)

    def _allowed(self, job, request: Request) -> list[str]:
        """Return the nodes of a job's partition with the features that it requires."""
        mine = [n for n in self.nodes.values() if set(job.partition.split(",")) & set(n.partitions)]
        wanted = re.split("[&|]", request.constraint) if request.constraint else []
        test = any if "|" in request.constraint else all
        some = [n.name for n in mine if not wanted or test(x in n.features for x in wanted)]
        return some or [n.name for n in mine]

    def _divide(self, log: Log) -> None:
        """Divide what each job used among its nodes, which are filled in their order."""
        ran = [k for k, job in enumerate(log.jobs) if job.length and self.requests[k].on]
        for k in sorted(ran, key=lambda k: log.jobs[k].start):
            request, start = self.requests[k], log.jobs[k].start
            free = {name: self.nodes[name].amounts for name in request.on}
            for other in ran:
                if log.jobs[other].start <= start < log.jobs[other].end:
                    for name, used in self.placed[other].items():
                        if name in free:
                            free[name] = added(free[name], used, -1)
            shares = {x: self._shares(x, n, request.on, free) for x, n in request.used.items()}
            types = [x for x in shares if x.startswith("gpu:")]
            if types and sum(request.used[x] for x in types) == request.used["gpu"]:
                shares["gpu"] = [
                    sum(each) for each in zip(*(shares[x] for x in types), strict=True)
                ]
            self.placed[k] = {
                name: {x: share[p] for x, share in shares.items()}
                for p, name in enumerate(request.on)
            }

    def _shares(self, x: str, amount: int, names: list[str], free: dict[str, Vector]) -> list[int]:
        whole = [self.nodes[name].amounts.get(x, 0) for name in names]
        if len(names) == 1 or sum(whole) == amount:
            return [amount] if len(names) == 1 else whole
        if x != "cpu":  # in proportion to what the nodes have
            weights = whole if sum(whole) else [1] * len(names)
            edges = [0, *((2 * amount * a + sum(weights)) // (2 * sum(weights))
                          for a in accumulate(weights))]  # fmt: skip
            return [b - a for a, b in pairwise(edges)]
        share, left = [], amount
        for p, name in enumerate(names[:-1]):
            most = max(left - (len(names) - 1 - p), 0)
            share.append(min(max(free[name][x], min(most, 1)), most))
            left -= share[-1]
        return [*share, left]

    def edges(self) -> set[int]:
        return {t for node in self.nodes.values() for span in node.away for t in span}

    def _up(self, k: int, now: float) -> list[str]:
        """Return the nodes of a job that take jobs at an instant."""
        away = {n.name for n in self.nodes.values() if any(a <= now < b for a, b in n.away)}
        return [name for name in self.allowed[k] if name not in away]

    def place(self, k: int, free: dict[str, Vector], names: list[str], but: str = ""):
        """Return what a job takes of which nodes: the first, or if uneven the freest."""
        request = self.requests[k]
        part, missing = request.parts(but)
        if request.is_even:
            found = [name for name in names if holds(free[name], part)][:missing]
            return dict.fromkeys(found, part) if len(found) == missing else None
        can = {name: next(n for n in range(missing, -1, -1) if holds(free[name], part, n))
               for name in names}  # fmt: skip
        taken = {}
        for name in sorted(names, key=lambda name: -can[name]):
            if number := min(can[name], missing):
                taken[name] = {x: n * number for x, n in part.items()}
                missing -= number
        return None if missing else taken

    def _add(self, k, cause, now, until, running) -> None:
        if cause[:1] == ("nodes",):
            self.lacking[cause[1]] += (until - now) * (self.jobs[k].start is not None)
            cause = "nodes"
        if cause == "full":
            for name, part in self._holders(k, now, running).items():
                self.booked[k][name] += part * (until - now)
            return
        super()._add(k, cause, now, until, running)

    def _holders(self, k: int, now: float, running: list[int]) -> dict[str, float]:
        """Return the parts of the short resource that other jobs hold."""
        up, needed = self._up(k, now), self.requests[k].needed
        capacity = sums([self.nodes[name].amounts for name in up])
        used = sums([of for r in running for name, of in self.placed[r].items() if name in up])
        short = max(
            (x for x in ("cpu", "gpu", "mem", *sorted(x for x in needed if ":" in x))
             if needed.get(x, 0) > capacity[x] - used.get(x, 0)),
            key=lambda x: (needed[x] - capacity[x] + used.get(x, 0)) / capacity[x],
        )  # fmt: skip
        parts: Counter[str] = Counter()
        for r in running:
            own = self.jobs[r].user == self.jobs[k].user
            name = "own" if own else "earlier" if r < k else "later"
            parts[name] += sum(
                of.get(short, 0) for at, of in self.placed[r].items() if at in self.allowed[k]
            )
        return {name: part / parts.total() for name, part in parts.items()}

    def _walk(self, now, queue, running, *, outage) -> list[tuple[int, object]]:
        free = {name: node.amounts for name, node in self.nodes.items()}
        for r in running:
            for name, used in self.placed[r].items():
                free[name] = added(free[name], used, -1)
        plan = NodePlan(self, now, running, free)
        passed: set[str] = set()
        causes = []
        for k in queue:
            job, needed, up = self.jobs[k], self.requests[k].needed, self._up(k, now)
            fits = holds(sums([free[name] for name in up]), needed)
            place = self.place(k, free, up) if fits else None
            behind = "full" if not fits else ("nodes", self._lack(k, now, free, up))
            empty = {name: node.amounts for name, node in self.nodes.items()}
            if now < self.begin:
                cause = "outside"
            elif outage or self.place(k, empty, up) is None:
                cause = "unavailable"
            elif self.age[k] >= LAPSE:
                passed.add(job.user)
                cause = "unexplained" if place is not None else behind
            else:
                taken = self.place(k, plan.left, up)
                can = taken if place is not None else None
                if can is not None and plan.reserved:
                    can = plan.room(k, now, up)
                if can is not None:
                    cause = "unexplained"
                    if job.user not in passed:
                        plan.claim(k, can)
                else:
                    if place is None:
                        cause = behind
                    elif taken is None:
                        lent = plan.lent(job.user)
                        cause = "claimed" if self.place(k, lent, up) is None else "own"
                    else:
                        cause = "own" if plan.reserved[0] == job.user else "kept"
                    if len(plan.reserved) < self.depth:
                        plan.reserve(k, up)
            causes.append((k, cause))
        return causes

    def _lack(self, k: int, now: float, free: dict[str, Vector], up: list[str]) -> str:
        """Return the first resource without which a job has a place."""
        types = sorted(x for x in self.requests[k].needed if ":" in x)
        for x in ("gpu", *types, "mem", "cpu"):
            if self.place(k, free, up, x) is not None:
                return x
        return "other"


class NodePlan:
    """Free amounts of the nodes now, and those that a walk expects later."""

    def __init__(self, on: OnNodes, now: float, running: list[int], free) -> None:
        self.on, self.now, self.left = on, now, dict(free)
        self.reserved: list[str] = []  # users
        self.claims: list[tuple[str, dict[str, Vector]]] = []
        self.times, self.steps = [now], [dict(free)]
        for r in sorted(running, key=lambda r: on.jobs[r].start + estimate(on.jobs[r])):
            self._change(on.jobs[r].start + estimate(on.jobs[r]), None, on.placed[r], 1)

    def _at(self, t: float) -> int:
        """Return the step that begins at an instant; make one if necessary."""
        at = bisect.bisect_left(self.times, t)
        if at == len(self.times) or self.times[at] != t:
            self.times.insert(at, t)
            self.steps.insert(at, dict(self.steps[at - 1]))
        return at

    def _change(self, begin: float, end: float | None, used: dict[str, Vector], sign: int) -> None:
        first = self._at(begin)
        last = len(self.times) if end is None else self._at(end)
        for step in self.steps[first:last]:
            for name, of in used.items():
                step[name] = added(step[name], of, sign)

    def claim(self, k: int, used: dict[str, Vector]) -> None:
        job = self.on.jobs[k]
        for name, of in used.items():
            self.left[name] = added(self.left[name], of, -1)
        self.claims.append((job.user, used))
        self._change(self.now, self.now + estimate(job), used, -1)

    def lent(self, user: str) -> dict[str, Vector]:
        """Return what is left, and what the claims of a user took."""
        made = dict(self.left)
        for owner, used in self.claims:
            for name, of in used.items() if owner == user else ():
                made[name] = added(made[name], of, 1)
        return made

    def room(self, k: int, begin: float, up: list[str]):
        """Return where a job would be for its whole estimate, if anywhere."""
        first = bisect.bisect_right(self.times, begin) - 1
        last = bisect.bisect_left(self.times, begin + estimate(self.on.jobs[k]))
        steps = self.steps[first:last]
        if self.on.requests[k].is_even:
            part, count = self.on.requests[k].parts()
            found = []
            for name in up:
                if all(holds(step[name], part) for step in steps):
                    found.append(name)
                    if len(found) == count:
                        return dict.fromkeys(found, part)
            return None
        least = {name: {x: min(step[name][x] for step in steps) for x in steps[0][name]}
                 for name in up}  # fmt: skip
        return self.on.place(k, least, up)

    def reserve(self, k: int, up: list[str]) -> None:
        for begin in list(self.times):
            if (used := self.room(k, begin, up)) is not None:
                self.reserved.append(self.on.jobs[k].user)
                self._change(begin, begin + estimate(self.on.jobs[k]), used, -1)
                return
