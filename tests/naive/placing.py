"""SPEC §12, *Simulation by nodes*, in slow, plain Python: each placement is searched for.

Nothing here is shared with the package.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tests.naive.nodes import by_runs
from tests.naive.simulation import Amounts, Log, Pool, Rule, Taken, minus, plus


class Request(NamedTuple):
    """What an attempt asks of the nodes that it may use, and what it used in the log."""

    nodes: tuple[int, ...]
    part: Amounts
    parts: int
    most: int  # parts on a node
    used: Taken = MappingProxyType({})
    home: tuple[int, ...] = ()  # all nodes of its partitions
    bound: bool = False  # whether it asks for GPUs


class Site(NamedTuple):
    """At most six nodes."""

    machines: tuple[Amounts, ...]
    requests: tuple[Request, ...]  # of the attempts of a log
    reserved: tuple[tuple[int, int, int], ...] = ()  # begin, end, node
    least_loaded: bool = False
    consecutive: bool = False

    def exceeds(self, k: int) -> bool:
        return not any(distributions(self.requests[k], self.machines))

    def pool(self, log: Log, rule: Rule, t: int, exist: Iterable[int]) -> "OnNodes":
        return OnNodes(log, rule, t, exist, self)


def holds(request: Request, free: Amounts) -> int:
    """How many parts a node holds."""
    asked = [(part, left) for part, left in zip(request.part, free, strict=True) if part > 0]
    return max(
        n
        for n in range(request.most + 1)
        if n == 0 or all(n * part <= left for part, left in asked)
    )


def distributions(
    request: Request, free: Sequence[Amounts], order: Sequence[int] | None = None
) -> Iterator[dict[int, int]]:
    """Yield every way to put all parts on nodes, in ``order``; most on the first nodes first."""

    def spread(nodes: Sequence[int], missing: int) -> Iterator[dict[int, int]]:
        if not missing:
            yield {}
        elif nodes:
            for count in range(min(holds(request, free[nodes[0]]), missing), -1, -1):
                for rest in spread(nodes[1:], missing - count):
                    yield {nodes[0]: count, **rest} if count else rest

    yield from spread(request.nodes if order is None else order, request.parts)


class OnNodes(Pool):
    """A pool in which attempts run on nodes, and plans keep whole ones."""

    def __init__(self, log: Log, rule: Rule, t: int, exist: Iterable[int], site: Site) -> None:
        """Nothing has started."""
        super().__init__(log, rule, t, exist)
        self.site = site
        self.on: dict[int, Taken] = {}  # of attempts that started here
        self.returns = 0  # how often anything was returned, or a step taken
        self.kept: tuple[int, int, int | None, set[int]] | None = None
        """Of the head: its number, ``returns``, its shadow and its nodes."""

    # What is free

    def free_on(self, s: int | None = None) -> list[Amounts]:
        """What is free on each node now, or expected to be at s."""
        left = list(self.site.machines)
        holders: list[Taken] = []
        for k in self.running:
            if s is None or self.expected_end(k) > s:
                holders.append(self.on.get(k, self.site.requests[k].used))
        for k in self.exist:
            job = self.log.jobs[k]
            start, end = job.start, job.end
            if job.blocked and start is not None and end is not None and start <= self.t < end:
                holders.append(self.site.requests[k].used)
        for begin, end, node in self.site.reserved:
            if begin <= self.t < end:
                holders.append({node: self.site.machines[node]})
        for taken in holders:
            for node, amounts in taken.items():
                left[node] = minus(left[node], amounts)
        return left

    def free(self) -> Amounts:
        return plus(*self.free_on())

    def end_what_ends(self) -> None:
        before = len(self.running)
        super().end_what_ends()
        self.returns += len(self.running) < before

    def arrive(self) -> None:
        edges = {edge for begin, end, _ in self.site.reserved for edge in (begin, end)}
        self.returns += self.t in edges | self.edges_of_blocked()
        super().arrive()

    # Placements

    def placement(
        self, k: int, free: Sequence[Amounts], keys: Mapping[int, object]
    ) -> dict[int, Amounts] | None:
        """The parts of k on the nodes with the least keys; None: it does not fit."""
        request = self.site.requests[k]
        order = sorted(
            (node for node in request.nodes if node in keys),
            key=lambda node: (keys[node], node),
        )
        found = next(distributions(request, free, order), None)
        if found is None:
            return None
        return {
            node: tuple(count * amount for amount in request.part) for node, count in found.items()
        }

    def start_keys(self, k: int) -> dict[int, int]:
        """Least loaded or packed; if several parts fit on a node, most parts first."""
        request, free = self.site.requests[k], self.free_on()
        if request.most > 1:
            return {node: -holds(request, free[node]) for node in request.nodes}
        sign = -1 if self.site.least_loaded else 1
        return {node: sign * max(free[node][0], 0) for node in request.nodes}

    def place_now(self, k: int, closed: Collection[int] = ()) -> dict[int, Amounts] | None:
        keys = {node: key for node, key in self.start_keys(k).items() if node not in closed}
        if self.site.consecutive:
            return self.by_runs(k, [*keys])
        return self.placement(k, self.free_on(), keys)

    def by_runs(self, k: int, nodes: Sequence[int]) -> dict[int, Amounts] | None:
        """Slurm's default: the run with least free that suffices, one node of it if possible."""
        request, free = self.site.requests[k], self.free_on()
        can = {node: n for node in sorted(nodes) if (n := holds(request, free[node]))}
        if sum(can.values()) < request.parts:
            return None
        # with GPUs, what it would use there
        key = {
            node: min(n, request.parts) * request.part[0]
            if request.bound
            else max(free[node][0], 0)
            for node, n in can.items()
        }
        taken = by_runs(can, key, request.parts)
        return {node: tuple(n * part for part in request.part) for node, n in taken.items()}

    def start_on(self, k: int, taken: Taken) -> None:
        self.start(k)
        self.on[k] = taken

    # Preemption

    def fits_with(self, k: int, others: Sequence[int], closed: Collection[int] = ()) -> bool:
        free = self.free_on()
        for other in others:
            for node, amounts in self.on[other].items():
                free[node] = plus(free[node], amounts)
        nodes = [node for node in self.site.requests[k].nodes if node not in closed]
        return next(distributions(self.site.requests[k], free, nodes), None) is not None

    def give_way(self, k: int) -> None:
        super().give_way(k)
        self.returns += 1

    def start_beside(self, k: int, closed: Collection[int]) -> None:
        taken = self.place_now(k, closed)
        assert taken is not None
        self.start_on(k, taken)
        self.kept = None

    def close(self, k: int, closed: set[int]) -> bool:
        closed |= {*self.site.requests[k].home}
        return False

    # Passes

    def main_pass(self) -> None:
        """What does not fit closes the nodes of its partitions to all behind it."""
        closed: set[int] = set()
        for k in self.in_order():
            if not self.allowed(k):
                continue
            taken = self.place_now(k, closed)
            if taken is None:
                closed |= {*self.site.requests[k].home}
            else:
                self.start_on(k, taken)
        self.kept = None

    def easy(self) -> None:
        head = shadow = None
        kept: set[int] = set()
        looked_at = 0
        for k in self.in_order():
            if not self.allowed(k):
                continue
            if looked_at == self.rule.depth:
                return
            looked_at += 1
            job, taken = self.log.jobs[k], self.place_now(k)
            if head is None:
                if taken is not None:
                    self.start_on(k, taken)
                    self.kept = None
                    continue
                head = k
                shadow, kept = self.kept_by(k)
                continue
            if self.rule.window is not None and job.estimate > self.rule.window:
                continue
            if taken is None:
                continue
            if shadow is not None:
                if self.t + job.estimate <= shadow:
                    first = {n: (n not in kept, key) for n, key in self.start_keys(k).items()}
                    taken = self.placement(k, self.free_on(), first)
                else:
                    taken = self.place_now(k, kept)
                if taken is None:
                    continue
            self.start_on(k, taken)

    def kept_by(self, head: int) -> tuple[int | None, set[int]]:
        """The shadow of the head, and the nodes that it keeps: those with least free now."""
        if self.kept is None or self.kept[:2] != (head, self.returns):
            shadow, kept = None, set[int]()
            now = self.free_on()
            for s in sorted({self.expected_end(k) for k in self.running}):
                taken = self.placement(
                    head, self.free_on(s), {node: max(now[node][0], 0) for node in range(len(now))}
                )
                if taken is not None:
                    shadow, kept = s, set(taken)
                    break
            self.kept = (head, self.returns, shadow, kept)
        return self.kept[2], self.kept[3]

    # Plans

    def earliest(self, k: int, after: int) -> tuple[int, Taken] | None:
        """The earliest pass from ``after`` on at which k fits beside what runs, and other plans."""
        jobs = self.log.jobs
        changes = {self.expected_end(other) for other in self.running}
        changes |= {end for _, _, end in self.kept_spans()}
        now = self.free_on()
        for change in [after, *sorted(s for s in changes if s > after)]:
            s = self.pass_at(change)
            closed = {
                node
                for other, begin, end in self.kept_spans()
                if begin < end and begin < s + jobs[k].estimate and s < end
                for node in self.keeps[other]
            }
            keys = {n: max(now[n][0], 0) for n in range(len(now)) if n not in closed}
            at_once = s == self.t
            taken = (
                self.place_now(k, closed) if at_once else self.placement(k, self.free_on(s), keys)
            )
            if taken is not None:
                return s, taken
        return None

    def still_fits(self, k: int) -> bool:
        free = self.free_on()
        return all(
            amount <= left or amount == 0
            for node, amounts in self.keeps[k].items()
            for amount, left in zip(amounts, free[node], strict=True)
        )
