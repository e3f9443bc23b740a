"""SPEC §11, *Causes* and *Procedure at t*, in slow, plain, exact Python: second by second.

Nothing here is shared with the package.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tests.naive import attempts as naive
from tests.naive import nodes as on
from tests.naive.simulation import Amounts, Had, Log, fits, log_of, minus, plus

CAUSES = (
    "outside",
    *("held", "unavailable", "rule", "nodes", "own", "claimed", "earlier", "later", "cycle"),
    "unexplained",
)
TYPES = ("gpus:a100", "gpus:h100")
RESOURCES = ("cpus", "gpus", "mem_bytes", *TYPES)
HOLDS = {
    "BeginTime": "begin",
    "Dependency": "dependency",
    "JobHeldUser": "hold",
    "JobArrayTaskLimit": "array",
    "Licenses": "licence",
}


class Limit(NamedTuple):
    """A limit on the running attempts that it applies to."""

    about: Callable[[Mapping[str, Any]], bool]
    most: int
    resource: str | None = None  # None: attempts
    per: str | None = None
    valid: range = range(1 << 40)


class Window(NamedTuple):
    """When the records that it is about are not started."""

    about: Callable[[Mapping[str, Any]], bool]
    closed: Callable[[int], bool]
    overlap: bool = False


class One(NamedTuple):
    """An attempt: in the queue over [arrival, leave), at work over [start, end)."""

    key: tuple[str, int]
    place: tuple[Any, ...]
    record: Mapping[str, Any]
    request: Amounts
    use: Amounts
    arrival: int
    leave: int
    start: int | None
    end: int | None
    waits: bool

    def runs(self, t: int) -> bool:
        return self.start is not None and self.end is not None and self.start <= t < self.end

    def queued(self, t: int) -> bool:
        return self.waits and self.arrival <= t < self.leave


class Site(NamedTuple):
    """All that decides."""

    held: list[One]
    pool: Log
    limits: Sequence[Limit]
    windows: Sequence[Window]
    holds: Mapping[tuple[str, int], Sequence[range]]
    cycle: int
    outages: frozenset[int]
    machines: on.Machines
    absent: Mapping[str, Sequence[range]]
    """When nodes are unavailable."""
    used: Mapping[tuple[str, int], Mapping[str, Amounts]]
    """What each attempt uses on which nodes."""
    resources: list[str]

    def nodes_at(self, t: int) -> on.Free:
        """What is free on each node."""
        free = {name: one.amounts for name, one in self.machines.items()}
        for one in self.held:
            if one.runs(t):
                free = on.minus(free, self.used[one.key])
        return free

    def mine(self, j: One, t: int, *, featured: bool = True) -> list[str]:
        """The nodes that ``j`` may use; or might, if it required no features."""
        record = j.record if featured else {**j.record, "constraints": None}
        return [
            name
            for name in on.eligible(self.machines, record)
            if not any(t in span for span in self.absent.get(name, ()))
        ]

    def amounts(
        self, j: One, running: Sequence[One], t: int
    ) -> tuple[Amounts, Amounts, list[Amounts]]:
        """The capacity that j may use, what is free of it, and what each running attempt uses."""
        if not self.machines:
            capacity = self.pool.capacity_at(t)
            used = [one.use for one in running]
        else:
            mine, theirs = self.mine(j, t), on.eligible(self.machines, j.record)
            count = len(j.request)
            capacity = on.total({n: m.amounts for n, m in self.machines.items()}, mine, count)
            # what runs on a node that takes no more jobs still holds it
            used, up = ([self._inside(k, names) for k in running] for names in (theirs, mine))
            return capacity, functools.reduce(minus, up, capacity), used
        return capacity, functools.reduce(minus, used, capacity), used

    def _inside(self, one: One, names: Sequence[str]) -> Amounts:
        """What a running attempt uses on these nodes together."""
        used = {n: a for n, a in self.used[one.key].items() if n in names}
        return on.total(used, used, len(one.request))

    def placed(self, j: One, free: on.Free, t: int) -> dict[str, Amounts] | None:
        """What j would use on which nodes; None: it does not fit."""
        if not self.machines:
            return {}
        return on.placement(j.request, j.record["nodes"], free, self.mine(j, t))

    def forbidden(self, j: One, t: int, counting: Iterable[One]) -> list[int]:
        """The numbers of the rules that forbid ``j``: limits, then windows."""
        counting = list(counting)
        found = []
        for k, limit in enumerate(self.limits):
            mine = _adds(limit, j)
            if t not in limit.valid or not mine:
                continue
            whose = None if limit.per is None else j.record[limit.per]
            if limit.per is not None and whose is None:
                continue
            used = sum(
                _adds(limit, k)
                for k in counting
                if limit.per is None or k.record[limit.per] == whose
            )
            if used + mine > limit.most:
                found.append(k)
        for k, window in enumerate(self.windows, len(self.limits)):
            length = j.record["walltime_s"] or occupancy(j.record)
            reach = max(length, 1) if window.overlap else 1
            if window.about(j.record) and any(window.closed(t + s) for s in range(reach)):
                found.append(k)
        return found


def _uses(record: naive.Record, resource: str) -> int | None:
    """The amount of a resource that a record has."""
    if resource not in TYPES:
        return record[resource]  # type: ignore[no-any-return]
    items = dict(item.split(":") for item in (record["gpu_types"] or "").split(",") if item)
    return int(items.get(resource.removeprefix("gpus:"), 0))


def occupancy(record: Mapping[str, Any]) -> int:
    """end − start of a record; 0 where either is not known."""
    start, end = record["start_time"], record["end_time"]
    return 0 if start is None or end is None else end - start


def _adds(limit: Limit, one: One) -> int:
    if not limit.about(one.record):
        return 0
    return 1 if limit.resource is None else one.record[limit.resource] or 0


class Booked(NamedTuple):
    """The account of one attempt."""

    causes: dict[str, Fraction]
    rule_free: int
    rules: Counter[int]
    lacking: Counter[str | None]
    """Seconds of the cause nodes by the resource that was lacking; None: several."""


def account(
    records: Sequence[naive.Record],
    amounts: Mapping[str, int],
    steps: Iterable[Had],
    now: int,
    *,
    limits: Sequence[Limit] = (),
    windows: Sequence[Window] = (),
    holds: Mapping[tuple[str, int], Sequence[range]] | None = None,
    cycle: int = 0,
    outage: int = 600,
    machines: on.Machines | None = None,
    absent: Mapping[str, Sequence[range]] | None = None,
    yields: Callable[[naive.Record], bool] = lambda record: False,
    log_begin: int = 0,
) -> dict[tuple[str, int], Booked]:
    """The account of each attempt that has one; those that yield request and use nothing."""
    records = [{**record, **{x: _uses(record, x) for x in amounts}} for record in records]
    pool, _ = log_of(records, amounts, steps, now)
    described = naive.described(records, next(iter(amounts)))
    held = [
        one
        for record, attempt in zip(records, described, strict=True)
        if not record["reservation"] and (one := _one(record, attempt, amounts, now)) is not None
    ]
    nothing = (0,) * len(amounts)
    held = [
        one._replace(request=nothing, use=nothing) if yields(one.record) else one for one in held
    ]
    held.sort(key=lambda one: one.place)
    machines = machines or {}
    site = Site(
        *(held, pool, limits, windows, holds or {}, cycle, frozenset(), machines, absent or {}),
        _used(held, machines),
        list(amounts),
    )
    site = site._replace(outages=_outages(site, outage, log_begin))
    made = {
        one.key: Booked(dict.fromkeys(CAUSES, Fraction()), 0, Counter(), Counter()) for one in held
    }
    for t in range(min(o.arrival for o in held), max(o.leave for o in held)) if held else ():
        if t >= log_begin:
            _second(site, t, made)
            continue
        for one in held:
            made[one.key].causes["outside"] += one.queued(t)
    return {one.key: made[one.key] for one in held if one.waits}


def _used(held: Sequence[One], machines: on.Machines) -> dict[tuple[str, int], dict[str, Amounts]]:
    """What each attempt uses on its nodes, of those whose nodes are known."""
    ran = [
        one
        for one in held
        if machines and one.start is not None and one.end is not None and one.end > one.start
        if one.record["node_list"]
    ]
    used = on.split(
        [(one.start or 0, one.end or 0) for one in ran],
        [one.use for one in ran],
        [one.record["node_list"].split(",") for one in ran],
        machines,
        [_stated(one.record["node_amounts"], len(one.request)) for one in ran],
        RESOURCES[: len(ran[0].request)] if ran else (),
    )
    return {one.key: {} for one in held} | {o.key: u for o, u in zip(ran, used, strict=True)}


def _stated(text: str | None, count: int) -> list[list[int] | None]:
    """The amounts on each node of CPUs and GPUs, the first resources: `cpus=1,3 gpus=0,2`."""
    given = dict(item.split("=") for item in (text or "").split())
    numbers = {name: [int(number) for number in each.split(",")] for name, each in given.items()}
    return [numbers.get(name) for name in RESOURCES[:count]]


def _one(
    record: naive.Record, attempt: naive.Attempt, amounts: Mapping[str, int], now: int
) -> One | None:
    leave = {"pending": now, "never_started": attempt.end, "start_unknown": None}.get(
        attempt.standing, attempt.start
    )
    size = record[next(iter(amounts))] or 0
    waits = leave is not None and attempt.arrival is not None and size > 0
    if attempt.start is None and not waits:
        return None
    arrival = attempt.start if attempt.arrival is None else attempt.arrival
    assert arrival is not None
    return One(
        attempt.key,
        (arrival, record["submit_time"] or -1, record["job_number"], record["attempt"]),
        record,
        tuple(0 if x in TYPES and record["any_gpu_type"] else record[x] or 0 for x in amounts),
        tuple(record[x] or 0 for x in amounts),
        arrival,
        leave if waits and leave is not None else arrival,
        attempt.start,
        attempt.end if attempt.standing != "running" else now + 10**6,
        waits,
    )


def _outages(site: Site, least: int, log_begin: int) -> frozenset[int]:
    """The seconds of the stretches in which nothing runs and, for as long, something could."""
    if not site.held:
        return frozenset()
    seconds = range(min(o.arrival for o in site.held), max(o.leave for o in site.held))
    found: set[int] = set()
    stretch: list[int] = []
    begun = False  # before the first start the use is unknown
    for t in [*seconds, None]:
        runs = t is not None and any(one.runs(t) for one in site.held)
        begun = begun or runs
        if t is not None and not runs:
            stretch += [t] * begun
            continue
        could = [
            s
            for s in stretch
            if any(
                s >= log_begin
                and one.queued(s)
                and fits(one.request, site.amounts(one, (), s)[0])
                and site.placed(one, site.nodes_at(s), s) is not None
                and not any(s in hold for hold in site.holds.get(one.key, ()))
                and not site.forbidden(one, s, ())
                for one in site.held
            )
        ]
        if len(could) >= least:
            found |= set(stretch)
        stretch = []
    return frozenset(found)


def _second(site: Site, t: int, made: MutableMapping[tuple[str, int], Booked]) -> None:
    running = [one for one in site.held if one.runs(t)]
    nodes = left_on = site.nodes_at(t)
    claims: list[tuple[One, dict[str, Amounts]]] = []
    for j in site.held:
        if not j.queued(t):
            continue
        capacity, free, used = site.amounts(j, running, t)
        left = functools.reduce(minus, (one.request for one, _ in claims), free)
        rules = site.forbidden(j, t, [*running, *(one for one, _ in claims)])
        booked = made[j.key]
        user = j.record["user"]
        own = [one for one in claims if user is not None and one[0].record["user"] == user]
        fitting = fits(j.request, free) and site.placed(j, nodes, t) is not None
        empty = {name: one.amounts for name, one in site.machines.items()}
        never = not fits(j.request, capacity)
        never = never or (fits(j.request, free) and site.placed(j, empty, t) is None)
        if site.machines:
            claim = site.placed(j, left_on, t)
            lent = functools.reduce(lambda f, c: on.minus(f, c[1], -1), own, left_on)
            behind_own = site.placed(j, lent, t) is not None
        else:
            claim = {} if fits(j.request, left) else None
            behind_own = fits(j.request, plus(left, *(one.request for one, _ in own)))
        if any(t in hold for hold in site.holds.get(j.key, ())):
            causes = {"held": Fraction(1)}
        elif t in site.outages or never:
            causes = {"unavailable": Fraction(1)}
        elif rules:
            causes = {"rule": Fraction(1)}
            booked.rules.update(rules)
            made[j.key] = booked._replace(rule_free=booked.rule_free + fitting)
        elif not fits(j.request, free):
            causes = _holders(j, running, used, capacity, free)
        elif not fitting:
            causes = {"nodes": Fraction(1)}
            allowed = site.mine(j, t)
            of = (j.request, j.record["nodes"], nodes, allowed, site.mine(j, t, featured=False))
            booked.lacking[on.lacking(*of, site.resources)] += 1
        elif claim is not None:
            if _noted(site, j, t):
                causes = {"held": Fraction(1)}
            else:
                claims.append((j, claim))
                left_on = on.minus(left_on, claim)
                late = j.start is not None and t >= j.start - site.cycle
                causes = {"cycle" if late else "unexplained": Fraction(1)}
        else:
            causes = {"own" if behind_own else "claimed": Fraction(1)}
        for name, part in causes.items():
            booked.causes[name] += part


def _noted(site: Site, j: One, t: int) -> bool:
    """Whether a recorded hold is evidence of t: nothing changes until the end of its wait."""
    if j.record["reason"] not in HOLDS or j.record["attempt"] != 1:
        return False
    edges = {
        e
        for one in site.held
        if one.start is not None and one.end is not None and one.end > one.start
        for e in (one.start, one.end)
    }
    edges |= {one.leave for one in site.held if one.waits and one.leave > one.arrival}
    edges |= {step.time for step in site.pool.steps}
    edges |= {e for spans in site.absent.values() for s in spans for e in (s.start, s.stop)}
    edges |= {
        e
        for one in site.held
        for span in site.holds.get(one.key, ())
        if one.waits and max(span.start, one.arrival) < min(span.stop, one.leave)
        for e in (span.start, span.stop)
        if one.arrival <= e < one.leave
    }
    return not any(t < e < j.leave for e in edges)


def _holders(
    j: One, running: list[One], used: list[Amounts], capacity: Amounts, free: Amounts
) -> dict[str, Fraction]:
    lacks = [
        Fraction(asked - has, had) if asked and asked > has else Fraction(-1)
        for asked, has, had in zip(j.request, free, capacity, strict=True)
    ]
    short = lacks.index(max(lacks))
    parts: Counter[str] = Counter()
    for k, amounts in zip(running, used, strict=True):
        mine = k.record["user"] is not None and k.record["user"] == j.record["user"]
        name = "own" if mine else "earlier" if k.place < j.place else "later"
        parts[name] += amounts[short]
    held = sum(amounts[short] for amounts in used)
    return {name: Fraction(part, held) for name, part in parts.items()}
