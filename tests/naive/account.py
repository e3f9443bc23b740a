"""SPEC §11, *Causes*, *Walk at t* and *Which plan is believed*, in slow, plain, exact Python.

Time is cut at each instant at which anything happens, and the whole queue is walked at each.

Nothing here is shared with the package.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from tests.naive import attempts as naive
from tests.naive import nodes as on
from tests.naive.simulation import Amounts, Had, Log, fits, log_of, minus

CAUSES = (
    *("outside", "held", "unavailable", "rule", "nodes", "own", "claimed", "kept", "earlier"),
    *("later", "cycle", "unexplained"),
)
OWN = ("own_queued", "own_running", "kept_own")
"""The parts of *own*."""
TYPES = ("gpus:a100", "gpus:h100")
RESOURCES = ("cpus", "gpus", "mem_bytes", *TYPES)
HOLDS = {
    "BeginTime": "begin",
    "Dependency": "dependency",
    "JobHeldUser": "hold",
    "JobArrayTaskLimit": "array",
    "Licenses": "licence",
}


Key = tuple[str, int]


class Limit(NamedTuple):
    """A limit on the running attempts that it applies to."""

    about: Callable[[Mapping[str, Any]], bool]
    most: int
    resource: str | None = None  # None: attempts
    per: str | None = None
    valid: range = range(1 << 40)
    remaining: bool = False  # whether it limits Σ amount × remaining walltime


class Window(NamedTuple):
    """When the records that it is about are not started."""

    about: Callable[[Mapping[str, Any]], bool]
    closed: Callable[[int], bool]
    overlap: bool = False

    def forbids(self, one: "One", t: int) -> bool:
        """Whether it does not let an attempt start at t."""
        return self.about(one.record) and any(self.closed(t + s) for s in range(self.reach(one)))

    def reach(self, one: "One") -> int:
        """How many seconds from its start on it must be open."""
        length = one.record["walltime_s"] or occupancy(one.record)
        return max(length, 1) if self.overlap else 1


class One(NamedTuple):
    """An attempt: in the queue over [arrival, leave), at work over [start, end)."""

    key: Key
    place: tuple[Any, ...]
    record: Mapping[str, Any]
    request: Amounts
    use: Amounts
    arrival: int
    leave: int
    start: int | None
    end: int | None
    waits: bool
    started: bool
    estimate: int

    def runs(self, t: int) -> bool:
        return self.start is not None and self.end is not None and self.start <= t < self.end

    def queued(self, t: int) -> bool:
        return self.waits and self.arrival <= t < self.leave


class Known(NamedTuple):
    """A record about a stretch of a wait: a hold, a rule (its number), or a later plan."""

    span: range
    says: str | int = "held"


@dataclass(frozen=True, eq=False)
class Site:
    """All that decides."""

    held: list[One]
    pool: Log
    limits: Sequence[Limit]
    windows: Sequence[Window]
    holds: Mapping[Key, Sequence[Known]]
    begin: int  # where the log begins
    interval: int
    lapse: int  # the age at which an attempt lapses
    outages: Sequence[tuple[str | None, range]]  # those of the parts of the machine
    machines: on.Machines
    absent: Mapping[str, Sequence[range]]  # when nodes are unavailable
    used: Mapping[Key, Mapping[str, Amounts]]  # what each attempt uses on which nodes
    resources: list[str]
    stated: str
    """On which of the nodes that hold them attempts start."""

    def nodes_at(self, t: int, running: Sequence[One]) -> on.Free:
        """What these leave free on each node; of a pool without nodes, in all."""
        free = {name: one.amounts for name, one in self.machines.items()}
        free = free or {"": self.pool.capacity_at(t)}
        return functools.reduce(on.minus, (self.used[one.key] for one in running), free)

    @functools.cached_property
    def instants(self) -> set[int]:
        """When anything changes but lapses, from the first arrival to the last leave or start."""
        waiting = [one for one in self.held if one.waits and one.arrival < one.leave]
        edges = {e for one in waiting for e in (one.arrival, one.leave)}
        ran = [o for o in self.held if o.started or (o.start is not None and o.start != o.end)]
        edges |= {e for one in ran for e in (one.start, one.end) if e is not None}
        edges |= {step.time for step in self.pool.steps} | {self.begin}
        edges |= {e for spans in self.absent.values() for s in spans for e in (s.start, s.stop)}
        edges |= {
            e
            for one in waiting
            for k in self.holds.get(one.key, ())
            for e in (k.span.start, k.span.stop)
        }
        edges |= {e for limit in self.limits for e in (limit.valid.start, limit.valid.stop)}
        edges |= {e for _, span in self.outages for e in (span.start, span.stop)}
        first, last = min((one.arrival for one in self.held), default=0), 0
        for one in self.held:
            last = max(last, one.leave if one.waits else 0, _start(one) if one.started else 0)
        if self.windows:
            edges |= {t for t in range(first, last) if self._is_edge(t)}
        return {e for e in edges if first <= e <= last}

    def _is_edge(self, t: int) -> bool:
        """Whether a window begins or ceases at t to forbid anyone who waits.

        A job that must end before a closing may be forbidden earlier than others, which matters
        only while it waits.
        """
        waiting = [one for one in self.held if one.waits]
        for window in self.windows:
            long = window.overlap and any(
                window.about(one.record) and window.reach(one) > 1 for one in waiting
            )
            for one in waiting:
                now, before = window.forbids(one, t), window.forbids(one, t - 1)
                if now != before and (before or not long or one.arrival < t < one.leave):
                    return True
        return False

    def mine(self, j: One, t: int, *, featured: bool = True) -> list[str]:
        """The nodes that ``j`` may use; or might, if it required no features."""
        record = j.record if featured else {**j.record, "constraints": None}
        return [
            name
            for name in on.eligible(self.machines, record, self._gpus(j))
            if not any(t in span for span in self.absent.get(name, ()))
        ]

    @property
    def parts(self) -> list[str | None]:
        """The partitions, if each node is in one; else the machine has no parts."""
        parts = {one.partitions for one in self.machines.values()}
        if not parts or any(len(of) != 1 for of in parts):
            return [None]
        return [name for (name,) in parts]

    def parts_of(self, j: One) -> list[str | None]:
        """The parts of the machine that ``j`` may use."""
        if self.parts == [None]:
            return [None]
        mine = on.eligible(self.machines, j.record, self._gpus(j))
        return [name for name in self.parts if any((name,) == self.machines[n][1] for n in mine)]

    def is_out(self, j: One, t: int) -> bool:
        """Whether t is in an outage of all that ``j`` may use."""
        out = {part for part, span in self.outages if t in span}
        return out.issuperset(self.parts_of(j))

    def _gpus(self, j: One) -> list[int]:
        """The resources, of GPUs, that ``j`` requests."""
        return [
            x for x, name in enumerate(self.resources) if name.startswith("gpus") and j.request[x]
        ]

    def amounts(
        self, j: One, running: Sequence[One], t: int
    ) -> tuple[Amounts, Amounts, list[Amounts]]:
        """The capacity that j may use, what is free of it, and what each running attempt uses."""
        if not self.machines:
            capacity = self.pool.capacity_at(t)
            used = [one.use for one in running]
        else:
            mine, count = self.mine(j, t), len(j.request)
            capacity = on.total({n: m.amounts for n, m in self.machines.items()}, mine, count)
            used = [self._inside(k, mine) for k in running]
        return capacity, functools.reduce(minus, used, capacity), used

    def _inside(self, one: One, names: Sequence[str]) -> Amounts:
        """What a running attempt uses on these nodes together."""
        used = {n: a for n, a in self.used[one.key].items() if n in names}
        return on.total(used, used, len(one.request))

    def placed(
        self, j: One, free: on.Free, t: int, left: on.Free | None = None, *, now: bool = True
    ) -> dict[str, Amounts] | None:
        """What j would use on which nodes, of which ``left`` is left; None: it does not fit."""
        if not self.machines:
            return {"": j.request} if fits(j.request, free[""]) else None
        memory = [x for x, name in enumerate(self.resources) if name == "mem_bytes"]
        gpus = [x for x, name in enumerate(self.resources) if name.split(":")[0] == "gpus"]
        how = on.Placing(left or free, self.stated, now, gpus)
        return on.placement(j.request, j.record["nodes"], free, self.mine(j, t), (), memory, how)

    def forbidden(self, j: One, t: int, counting: Iterable[One]) -> list[int]:
        """The numbers of the rules that forbid ``j``: limits, then windows."""
        counting = list(counting)
        found = []
        for k, limit in enumerate(self.limits):
            mine = _adds(limit, j, t)
            if t not in limit.valid or not mine:
                continue
            whose = None if limit.per is None else j.record[limit.per]
            if limit.per is not None and whose is None:
                continue
            used = sum(
                _adds(limit, k, t)
                for k in counting
                if limit.per is None or k.record[limit.per] == whose
            )
            if used + mine > limit.most:
                found.append(k)
        for k, window in enumerate(self.windows, len(self.limits)):
            if window.forbids(j, t):
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


def _adds(limit: Limit, one: One, t: int) -> int:
    """What an attempt adds to a limit at t, or would add if it started."""
    if not limit.about(one.record):
        return 0
    amount: int = 1 if limit.resource is None else one.record[limit.resource] or 0
    if not limit.remaining:
        return amount
    length = one.record["walltime_s"]
    length = max(occupancy(one.record) if length is None else length, 1)
    start = t if one.start is None else min(one.start, t)
    return amount * max(0, start + length - t)


class Booked(NamedTuple):
    """The account of one attempt."""

    parts: dict[str, Fraction]  # seconds by cause, of *own* by its parts
    rule_free: int
    rules: Counter[int]
    lacking: Counter[str | None]
    """Seconds of the cause nodes by the resource that was lacking; None: several."""
    lapsed: bool
    idle: Fraction  # its part of ``idle_usable``

    @property
    def causes(self) -> dict[str, Fraction]:
        """Seconds by cause."""
        own = sum((self.parts[name] for name in OWN), Fraction())
        return {name: own if name == "own" else self.parts[name] for name in CAUSES}


class Account(NamedTuple):
    """The account of all waits."""

    attempts: dict[Key, Booked]
    starts: "Starts"
    possible: set[tuple[Key, int]]  # the attempts and seconds of step 5
    free: set[tuple[Key, int]]
    """Those in which its request is free, and neither a rule nor a hold forbids its start."""


def site_of(
    records: Sequence[naive.Record],
    amounts: Mapping[str, int],
    steps: Iterable[Had],
    now: int,
    *,
    begin: int,
    limits: Sequence[Limit] = (),
    windows: Sequence[Window] = (),
    holds: Mapping[Key, Sequence[Known]] | None = None,
    interval: int = 60,
    lapse: int = 900,
    outage: int = 600,
    machines: on.Machines | None = None,
    absent: Mapping[str, Sequence[range]] | None = None,
    yields: Callable[[naive.Record], bool] = lambda record: False,
    priorities: Mapping[Key, float] | None = None,
    stated: str = "packed",
) -> Site:
    """All attempts of a pool; those that yield request and use nothing.

    With ``priorities`` the queue descends by them, and those without one come last.
    """
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
    if priorities is not None:
        held.sort(key=lambda one: -priorities.get(one.key, float("-inf")))
    machines = machines or {}
    site = Site(
        *(held, pool, limits, windows, holds or {}, begin, interval, lapse, (), machines),
        *(absent or {}, _used(held, machines), list(amounts), stated),
    )
    return replace(site, outages=_outages(site, outage))


def account(site: Site, depth: "Depth") -> Account:
    """The account of each attempt that has one, under a plan of this depth."""
    made = {
        one.key: Booked(
            *(
                dict.fromkeys((*CAUSES, *OWN), Fraction()),
                0,
                Counter(),
                Counter(),
                False,
                Fraction(),
            )
        )
        for one in site.held
    }
    starts, was_kept = Starts(), set[Key]()
    possible, free = set[tuple[Key, int]](), set[tuple[Key, int]]()
    ages = Counter[Key]()
    t = min(site.instants, default=None)
    while t is not None:
        if t >= site.begin:
            here = starts_at(site, t, ages, depth)
            starts = Starts(*map(sum, zip(starts, here, strict=True)))
        decided = walk(site, t, ages, depth)
        to_lapse = (t + site.lapse - ages[k] for k, one in decided.items() if one.ages)
        until = min((e for e in [*site.instants, *to_lapse] if e > t), default=None)
        if until is None:
            break
        idle = _idle_share(site, decided, t)
        kept = {k for k, one in decided.items() if {"kept", "kept_own"} & {*one.parts}}
        starts = starts._replace(stretches=starts.stretches + len(kept - was_kept))
        was_kept = kept
        for key, what in decided.items():
            seconds = {(key, second) for second in range(t, until)}
            possible |= seconds if what.ages else set()
            free |= seconds if what.fitting and "rule" not in what.parts else set()
        for one in (one for one in site.held if one.key in decided):
            _book(site, one, decided[one.key], range(t, until), made)
            if "unexplained" in decided[one.key].parts:
                spare = idle * one.request[0] * (until - t)
                made[one.key] = made[one.key]._replace(idle=made[one.key].idle + spare)
            if decided[one.key].ages:
                ages[one.key] += until - t
                if ages[one.key] >= site.lapse and not made[one.key].lapsed:
                    made[one.key] = made[one.key]._replace(lapsed=True)
                    starts = starts._replace(lapses=starts.lapses + 1)
        t = until
    booked = {one.key: made[one.key] for one in site.held if one.waits}
    return Account(booked, starts, possible, free)


def _book(
    site: Site, one: One, decided: "Decided", span: range, made: MutableMapping[Key, Booked]
) -> None:
    booked = made[one.key]
    for name, part in decided.parts.items():
        booked.parts[name] += part * len(span)
    if decided.ages and one.started:
        late = len(range(max(span.start, (one.start or 0) - site.interval), span.stop))
        booked.parts["cycle"] += late
        booked.parts["unexplained"] -= late
    booked.rules.update({rule: len(span) for rule in decided.rules})
    booked.lacking.update({name: len(span) for name in decided.lacking})
    free = len(span) * (decided.fitting and "rule" in decided.parts)
    made[one.key] = booked._replace(rule_free=booked.rule_free + free)


def _idle_share(site: Site, decided: Mapping[Key, "Decided"], t: int) -> Fraction:
    """What is free of the counted resource, by what could have used it; at most 1."""
    could = [one.request[0] for one in site.held if "unexplained" in _parts(decided, one)]
    running = [one for one in site.held if one.runs(t)]
    there = site.nodes_at(t, running)
    away = {name for name, spans in site.absent.items() if any(t in span for span in spans)}
    free = sum(max(amounts[0], 0) for name, amounts in there.items() if name not in away)
    return min(Fraction(free, sum(could)), Fraction(1)) if sum(could) else Fraction()


def _parts(decided: Mapping[Key, "Decided"], one: One) -> Mapping[str, Fraction]:
    return decided[one.key].parts if one.key in decided else {}


def _used(held: Sequence[One], machines: on.Machines) -> dict[Key, dict[str, Amounts]]:
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
    if not machines:
        return {one.key: {"": one.use} for one in held}
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
        attempt.start is not None and size > 0,
        _estimate(record, attempt, now),
    )


def _estimate(record: naive.Record, attempt: naive.Attempt, now: int) -> int:
    """The time that a planner expects."""
    occupancy = 0
    if attempt.start is not None:
        end = attempt.end if attempt.end is not None else now + 1
        occupancy = (
            max(now, attempt.start) + 1 if attempt.standing == "running" else end
        ) - attempt.start
    return max(record["walltime_s"] or 0, occupancy, 1)


def _outages(site: Site, least: int) -> list[tuple[str | None, range]]:
    """The stretches in which nothing runs in a part and, for as long, something could."""
    return [(part, span) for part in site.parts for span in _outages_of(site, part, least)]


def _outages_of(site: Site, part: str | None, least: int) -> list[range]:
    found = []
    instants = sorted(site.instants)
    stretch: list[range] = []
    for t, until in zip(instants, [*instants[1:], None], strict=False):
        runs = any(one.runs(t) and part in site.parts_of(one) for one in site.held)
        if until is not None and not runs and t >= site.begin:
            stretch.append(range(t, until))
        if stretch and (until is None or runs):
            could = sum(len(span) for span in stretch if _could(site, part, span.start))
            whole = range(stretch[0].start, stretch[-1].stop)
            found += [whole] if len(whole) >= least and could >= least else []
            stretch = []
    return found


def _could(site: Site, part: str | None, s: int) -> bool:
    """Whether at ``s``, when nothing runs, an attempt waits that fits and that nothing forbids."""
    running = [one for one in site.held if one.runs(s)]
    return any(
        one.queued(s)
        and part in site.parts_of(one)
        and fits(one.request, site.amounts(one, running, s)[1])
        and site.placed(one, site.nodes_at(s, running), s) is not None
        and not any(says != "planned" for says in _recorded(site, one, s))
        and not site.forbidden(one, s, running)
        for one in site.held
    )


class Depth(NamedTuple):
    """How far the plan goes: reservations per walk; or strict, in which nobody passes another."""

    reservations: float
    strict: bool = False


class Plan:
    """What a walk at t leaves free, and what it expects to be free later."""

    def __init__(self, site: Site, t: int, running: Sequence[One]) -> None:
        self.site, self.t = site, t
        self.free = site.nodes_at(t, running)
        self.left = dict(self.free)
        self.claims: list[tuple[One, on.Used]] = []
        self.reserved: list[tuple[One, int, on.Used]] = []
        self.ends = [(_start(one) + one.estimate, site.used[one.key]) for one in running]

    def at(self, s: int) -> on.Free:
        free = self.left
        for end, used in [*self.ends, *((self.t + k.estimate, u) for k, u in self.claims)]:
            if end <= s:
                free = on.minus(free, used, -1)
        for k, begin, used in self.reserved:
            if begin <= s < begin + k.estimate:
                free = on.minus(free, used)
        return free

    def changes(self) -> list[int]:
        """When the plan changes."""
        edges = {end for end, _ in self.ends} | {self.t + k.estimate for k, _ in self.claims}
        edges |= {e for k, begin, _ in self.reserved for e in (begin, begin + k.estimate)}
        return sorted(edge for edge in edges if edge > self.t)

    def room(self, j: One, s: int) -> on.Used | None:
        """Where j would be during all of [s, s + estimate)."""
        instants = [s, *(e for e in self.changes() if s < e < s + j.estimate)]
        plans = [self.at(instant) for instant in instants]
        least = {n: tuple(map(min, zip(*(p[n] for p in plans), strict=True))) for n in self.left}
        return self.site.placed(j, least, self.t, self.left, now=s == self.t)

    def take(self, j: One, used: on.Used) -> None:
        self.left = on.minus(self.left, used)
        self.claims.append((j, used))

    def lent(self, user: str | None) -> on.Free:
        """What is left, and what the claims of a user took."""
        own = (used for k, used in self.claims if user is not None and k.record["user"] == user)
        return functools.reduce(lambda free, used: on.minus(free, used, -1), own, self.left)

    def reserve(self, j: One) -> None:
        for s in [self.t, *self.changes()]:
            used = self.room(j, s)
            if used is not None:
                self.reserved.append((j, s, used))
                return


def _start(one: One) -> int:
    assert one.start is not None
    return one.start


class Decided(NamedTuple):
    """The decision about a waiting attempt between two instants."""

    parts: dict[str, Fraction]
    ages: bool = False
    rules: Sequence[int] = ()
    fitting: bool = False
    lacking: tuple[str | None] | tuple[()] = ()


def walk(site: Site, t: int, ages: Mapping[Key, int], depth: Depth) -> dict[Key, Decided]:
    """SPEC §11, *Walk at t*."""
    running = [one for one in site.held if one.runs(t)]
    plan = Plan(site, t, running)
    passed: set[str] = set()
    failed: list[One] = []
    made = {}
    for j in (one for one in site.held if one.queued(t)):
        user = j.record["user"]
        known = _first_step(site, j, t, running, plan)
        if known is not None:
            made[j.key] = known
            continue
        _, free, _ = site.amounts(j, running, t)
        fitting = fits(j.request, free) and site.placed(j, plan.free, t) is not None
        behind = _behind(site, j, t, running, plan)
        if ages[j.key] >= site.lapse:
            passed |= {user} - {None}
            made[j.key] = Decided({"unexplained": Fraction(1)}, fitting=True) if fitting else behind
            continue
        taken: on.Used | None = site.placed(j, plan.left, t)
        can = fitting and taken is not None
        if depth.strict:
            can = can and not failed
        elif plan.reserved and can:
            taken = plan.room(j, t)
            can = taken is not None
        if can:
            assert taken is not None
            if _noted(site, j, t):
                made[j.key] = Decided({"held": Fraction(1)})
                continue
            if "planned" in _recorded(site, j, t):
                made[j.key] = _kept(j, failed, plan, depth)
                continue
            if user is None or user not in passed:
                plan.take(j, taken)
            made[j.key] = Decided({"unexplained": Fraction(1)}, ages=True, fitting=True)
            continue
        if not fitting:
            made[j.key] = behind
        elif site.placed(j, plan.left, t) is None:
            own = site.placed(j, plan.lent(user), t) is not None
            made[j.key] = Decided({"own_queued" if own else "claimed": Fraction(1)}, fitting=True)
        else:
            made[j.key] = _kept(j, failed, plan, depth)
        failed.append(j)
        if len(plan.reserved) < depth.reservations:
            plan.reserve(j)
    return made


def _kept(j: One, failed: Sequence[One], plan: Plan, depth: Depth) -> Decided:
    """What is kept for the first reservation, if there is any."""
    users = [one.record["user"] for one in failed]
    if not depth.strict:
        users = [one.record["user"] for one, _, _ in plan.reserved]
    own = j.record["user"] is not None and users[:1] == [j.record["user"]]
    return Decided({"kept_own" if own else "kept": Fraction(1)}, fitting=True)


def _behind(site: Site, j: One, t: int, running: list[One], plan: Plan) -> Decided:
    """What keeps j from starting if it does not fit in what is free."""
    capacity, free, used = site.amounts(j, running, t)
    if not fits(j.request, free):
        return Decided(_holders(j, running, used, capacity, free))
    if site.placed(j, plan.free, t) is None:
        return Decided({"nodes": Fraction(1)}, lacking=(_lacking(site, j, t, plan.free),))
    return Decided({})


def _first_step(site: Site, j: One, t: int, running: Sequence[One], plan: Plan) -> Decided | None:
    """What is known to keep j from starting."""
    capacity, free, _ = site.amounts(j, running, t)
    fitting = fits(j.request, free) and site.placed(j, plan.free, t) is not None
    empty = {name: one.amounts for name, one in site.machines.items()}
    never = not fits(j.request, capacity)
    never = never or (bool(empty) and not fitting and site.placed(j, empty, t) is None)
    if t < site.begin:
        return Decided({"outside": Fraction(1)})
    if never or site.is_out(j, t):
        return Decided({"unavailable": Fraction(1)})
    known = _recorded(site, j, t)
    if "held" in known:
        return Decided({"held": Fraction(1)})
    rules = site.forbidden(j, t, [*running, *(one for one, _ in plan.claims)])
    rules = rules or [says for says in known if isinstance(says, int)][:1]
    return Decided({"rule": Fraction(1)}, rules=rules, fitting=fitting) if rules else None


class Starts(NamedTuple):
    """How often the starts of a log agree with a plan."""

    starts: int = 0
    waited: int = 0
    behind: int = 0
    waited_behind: int = 0
    broken: int = 0
    stretches: int = 0
    lapses: int = 0


def starts_at(site: Site, t: int, ages: Mapping[Key, int], depth: Depth) -> Starts:
    """What starts at t, after what ends and arrives, beside the plan of what waits longer."""
    running = [one for one in site.held if one.runs(t) and one.start != t]
    plan = Plan(site, t, running)
    found = Counter[str]()
    failed = False
    for j in site.held:
        if j.started and j.start == t:
            behind = failed if depth.strict else bool(plan.reserved)
            found["starts"] += 1
            found["waited"] += max(j.arrival, site.begin) < t
            found["behind"] += behind
            found["waited_behind"] += behind and max(j.arrival, site.begin) < t
            found["broken"] += behind and (depth.strict or plan.room(j, t) is None)
            used = site.used[j.key] or plan.room(j, t) or site.placed(j, plan.left, t) or {}
            plan.take(j, used)
        elif j.queued(t):
            if _first_step(site, j, t, running, plan) or ages[j.key] >= site.lapse:
                continue
            _, free, _ = site.amounts(j, running, t)
            if not fits(j.request, free) or site.placed(j, plan.left, t) is None:
                failed = True
                if len(plan.reserved) < depth.reservations:
                    plan.reserve(j)
    return Starts(**found)


def _lacking(site: Site, j: One, t: int, nodes: on.Free) -> str | None:
    return on.lacking(
        *(j.request, j.record["nodes"], nodes, site.mine(j, t)),
        *(site.mine(j, t, featured=False), site.resources),
    )


def _recorded(site: Site, j: One, t: int) -> list[str | int]:
    return [known.says for known in site.holds.get(j.key, ()) if t in known.span]


def _noted(site: Site, j: One, t: int) -> bool:
    """Whether a recorded hold is evidence of t: before the end of the wait only lapses follow."""
    if j.record["reason"] not in HOLDS or j.record["attempt"] != 1:
        return False
    return not any(t < e < j.leave for e in site.instants)


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
        name = "own_running" if mine else "earlier" if k.place < j.place else "later"
        parts[name] += amounts[short]
    held = sum(amounts[short] for amounts in used)
    return {name: Fraction(part, held) for name, part in parts.items()}
