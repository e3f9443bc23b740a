"""The search for limits that the log shows: of the site, of single users, and of the machine.

*Rules of the site* are found one after the other, each with the earlier ones in force. A limit of
one user is never a rule of the site: it may be a throttle or a dependency.

Source: SPEC §11, *Plateaus: limits that the log shows*.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats, Ints
from audit.metrics.attempts.contention import largest_amounts
from audit.metrics.waits.queue import coded
from audit.model import Limit, Pool
from audit.scenario.plateaus.capacity import CapacityBelow, capacity_below
from audit.scenario.plateaus.entities import FAMILIES, LimitedQuantity, Plateaued, plateaued
from audit.scenario.plateaus.judging import (
    WHOLE,
    JudgedLevel,
    PlateauCounts,
    PlateauFault,
    SeriesOf,
    fault_of,
    judged,
    series,
    weighed,
)
from audit.scenario.plateaus.sweeping import Climbs, Stops, swept, traces

MOST_RULES: Final = 12
OWN_ROUNDS: Final = 2
"""Greatest number of limits of one user."""
FAILED: Final = 20
"""Number of candidates listed that failed."""
LEAST_AT: Final = 20
USERS: Final = 3
"""Least number of users of a rule of one account, partition, QOS or pool, and of their stops and
starts at the level."""
EPOCH: Final = date(1970, 1, 1)


class PlateauRule(NamedTuple):
    """A limit that the log shows, with its evidence."""

    limit: Limit
    entity: str | None  # the one user, account, partition or QOS; None: all of the family
    judged: JudgedLevel

    @property
    def evidence(self) -> str:
        """Evidence of the log, such as ``23 of 4,772 starts exceed it``."""
        counts = self.judged.counts
        return f"{counts.broken:,} of {counts.starts:,} starts exceed it"


class SharedLevel(NamedTuple):
    """A limit of one user at which other users stop too."""

    measure: LimitedQuantity
    level: int
    users: tuple[str, ...]


@dataclass(frozen=True)
class Plateaus:
    """The limits that a log shows."""

    pool: Pool  # with the capacity and the rules of the site in force
    rules: tuple[PlateauRule, ...] = ()  # of the site, in the order in which they were found
    own: tuple[PlateauRule, ...] = ()  # of single users
    shared: tuple[SharedLevel, ...] = ()
    """Limits of single users that at least ``USERS`` users have."""
    capacity: CapacityBelow | None = None
    failed: tuple[PlateauRule, ...] = ()
    """The best candidates for rules of the site that failed, with the condition."""

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The rules of the site."""
        return tuple(rule.limit for rule in self.rules)


@dataclass
class PlateauSearch:
    """A search through the log of a pool."""

    jobs: Plateaued
    pool: Pool
    since: int
    climbs: Climbs
    current: Stops  # under the rules in force
    below: CapacityBelow | None
    machine: tuple[Limit, ...] = ()  # the capacity in force, where single nodes decide what fits

    @cached_property
    def user(self) -> Ints:
        """The numbers of the jobs' users, [n]."""
        return coded(self.jobs.queue.rows["user"])

    def found(self) -> Plateaus:
        """Return the limits that the log shows."""
        rules, self.current, failed = _site(self, self.current)
        own, shared = _own(self, self.current, [rule.limit for rule in rules])
        limits = (*self.pool.limits, *(rule.limit for rule in rules))
        pool = self.pool._replace(limits=limits)
        return Plateaus(pool, tuple(rules), tuple(own), tuple(shared), self.below, tuple(failed))

    def stops(self, limits: Iterable[Limit]) -> Stops:
        """Return the stops with these limits in force."""
        found, _ = swept(self.jobs, self.pool, (*self.machine, *limits), self.since, climbing=False)
        return found

    def judged(self, stops: Stops, *, own: bool) -> list[JudgedLevel]:
        """Return the candidates for rules of the site, or for limits of single users."""
        among = [one for one in series(self.jobs, pooled=False) if (one.family.of == "user") == own]
        if not own:
            among += series(self.jobs, pooled=True)
        found = list[JudgedLevel]()
        for measure in range(len(self.jobs.measures)):
            theirs = (one for one in among if measure in self.jobs.measured(one.family))
            for _, of_family in groupby(theirs, key=lambda one: (one.family, one.pooled)):
                found += self._levels(stops, measure, list(of_family), least=LEAST_AT)
        return [self._checked(one, stops) for one in found]

    def _levels(
        self,
        stops: Stops,
        measure: int,
        among: Sequence[SeriesOf],
        *,
        levels: Ints | None = None,
        least: int,
    ) -> list[JudgedLevel]:
        """Return the levels of neighbouring series; see ``judged``."""
        first = among[0].begin
        of = traces(self.jobs, stops, self.climbs, measure, first, among[-1].end)
        return judged(self.jobs, of, measure, among, first=first, levels=levels, least=least)

    def again(self, one: JudgedLevel, stops: Stops) -> JudgedLevel:
        """Return the judgement of a level under these stops."""
        levels = np.array([one.level])
        (found,) = self._levels(stops, one.measure, [one.series], levels=levels, least=0)
        return self._checked(found, stops)

    def _checked(self, one: JudgedLevel, stops: Stops) -> JudgedLevel:
        """Return a judgement with the conditions that need more than counts."""
        if one.fault is not None:
            return one
        resource, remaining = self.jobs.measures[one.measure]
        amount = resource is not None and not remaining
        if amount and one.level >= WHOLE * self._held(one.series, resource or ""):
            return one._replace(fault=PlateauFault.WHOLE)
        if self._fills_nodes(one, stops):
            return one._replace(fault=PlateauFault.FEW_NODES)
        single = not one.series.pooled and one.series.family.of != "user"
        if single and not self._of_several(one, stops):
            return one._replace(fault=PlateauFault.FEW_USERS)
        return one

    def _held(self, one: SeriesOf, resource: str) -> int:
        name = one.place if one.family.within == "partition" else None
        if one.member is not None and one.family.of == "partition":
            name = one.member.name
        nodes = [node for node in self.pool.nodes if name and name in node.partitions]
        held = sum(dict(node.amounts).get(resource, 0) for node in nodes)
        largest = largest_amounts(self.pool)[resource]
        return min(held, largest) if held else largest

    def _fills_nodes(self, one: JudgedLevel, stops: Stops) -> bool:
        """Return whether most stops at a level are of users whose nodes it fills.

        A feature that the log does not have, or a placement, keeps jobs on some nodes. Then a job
        more than the level would not fit on all nodes on which its user's jobs ever ran.
        """
        resource, remaining = self.jobs.measures[one.measure]
        number = 0 if resource is None else self.jobs.resources.index(resource)
        stop, user = self._stops_at(one, stops)
        request = self.jobs.request[number, stops.group[stop]]
        if remaining:
            needed = request + stops.level(1 + number, stop)
        else:
            needed = request + (request if resource is None else 1) * one.level
        return bool(2 * (needed > self._own_nodes[number, user]).sum() > len(stop))

    def _stops_at(self, one: JudgedLevel, stops: Stops) -> tuple[Ints, Ints]:
        """Return the stops of users at a level, and these users."""
        low, high = stops.first[one.series.begin], stops.first[one.series.end]
        if one.series.family.of == "user":
            stop = np.arange(low, high)
            user = self._user_of_entity[np.searchsorted(stops.first, stop, side="right") - 1]
        else:
            theirs = (stops.user_stop >= low) & (stops.user_stop < high)
            stop, user = stops.user_stop[theirs], stops.user[theirs]
        used, more = stops.level(one.measure, stop), self.jobs.adds[one.measure][stops.group[stop]]
        at = (more > 0) & (more <= one.level) & (used <= one.level) & (one.level < used + more)
        at &= _inside(one, stops.day(stop))
        return stop[at], user[at]

    @cached_property
    def _user_of_entity(self) -> Ints:
        """The user's number of each entity that is one, [E]; 0: another entity."""
        known, first = np.unique(self.user, return_index=True)
        names = self.jobs.queue.rows["user"].gather(first)
        number, members = dict(zip(names, known.tolist(), strict=True)), self.jobs.members
        return np.array([number.get(m.name, 0) if m.family.of == "user" else 0 for m in members])

    @cached_property
    def _own_nodes(self) -> Ints:
        """Amounts of the nodes that each user's jobs ran on, [R, users]; much if few started."""
        nodes, much = self.jobs.places.nodes, np.iinfo(np.int64).max
        if not len(nodes.node):
            return np.full((len(self.jobs.resources), int(self.user.max(initial=0)) + 1), much)
        ran = nodes.ran_on(self.user, self.jobs.started)
        return np.where(ran.any(1), nodes.capacity @ ran.T, much)

    def _of_several(self, one: JudgedLevel, stops: Stops) -> bool:
        """Return whether several users stop at a level, and start up to it."""
        _, user = self._stops_at(one, stops)
        climb = slice(self.climbs.first[one.series.begin], self.climbs.first[one.series.end])
        job = self.climbs.job[climb]
        used = self.climbs.level(one.measure, climb)
        more = self.jobs.adds[one.measure][self.jobs.group[job]]
        following = (used <= one.level) & (one.level < used + more)
        following &= _inside(one, self.climbs.day(climb))
        starts = self.user[job[following]]
        return _several(user) and _several(starts[starts > 0])

    def best(self, among: Iterable[JudgedLevel], stops: Stops) -> JudgedLevel | None:
        """Return the best accepted level, lowered, that is accepted then too."""
        accepted = sorted((one for one in among if one.accepted), key=self.order)
        lowered = (self.lowered(one, stops) for one in accepted)
        return next((one for one in lowered if one.accepted), None)

    def lowered(self, one: JudgedLevel, stops: Stops) -> JudgedLevel:
        """Return an amount at the greatest level that was reached, judged in the same period."""
        highest, measure = one.counts.highest, self.jobs.measures[one.measure]
        if measure.resource is None or highest in (0, one.level):
            return one
        begin, end = one.series.begin, one.series.end
        every, shares = weighed(
            traces(self.jobs, stops, self.climbs, one.measure, begin, end),
            *(np.array([0]), np.array([end - begin]), np.array([highest])),
            np.array([[one.counts.first_day], [one.counts.last_day]]),
        )
        counts = PlateauCounts(*every[0].tolist())._replace(always=one.counts.always)
        concentration = float(shares[0])
        fault = fault_of(one.series, measure, highest, counts, concentration)
        return one._replace(level=highest, counts=counts, concentration=concentration, fault=fault)

    def rule(self, one: JudgedLevel) -> PlateauRule:
        """Return a level as a rule."""
        measure, counts = self.jobs.measures[one.measure], one.counts
        family, _, _, member, place = one.series
        scope: dict[str, Any] = {}
        if family.within is not None and place is not None:
            scope[family.within] = (place,)
        name = None if member is None else member.name
        if family.of is not None and name is not None:
            scope[family.of] = (name,)
        if not counts.always:  # a side of the period without breaks is open
            broken = self._broken(one)
            if (broken < counts.first_day).any():
                scope["valid_from"] = EPOCH + timedelta(counts.first_day)
            if (broken > counts.last_day).any():
                scope["valid_to"] = EPOCH + timedelta(counts.last_day + 1)
        limit = Limit(
            most=one.level,
            resource=measure.resource,
            remaining=measure.remaining,
            per=family.of if member is None else None,
            **scope,
        )
        return PlateauRule(limit, name, one)

    def _broken(self, one: JudgedLevel) -> Ints:
        """Return the days of all starts of its entities that exceed a level."""
        climb = slice(self.climbs.first[one.series.begin], self.climbs.first[one.series.end])
        used = self.climbs.level(one.measure, climb)
        more = self.jobs.adds[one.measure][self.jobs.group[self.climbs.job[climb]]]
        exceeds = (more > 0) & (more <= one.level) & (one.level < used)
        days: Ints = self.climbs.day(climb)[exceeds]
        return days

    def order(self, one: JudgedLevel) -> tuple[int, ...]:
        """Return the key by which candidates are chosen; the least is best."""
        measure = self.jobs.measures[one.measure]
        kind = (measure.resource is None, measure.remaining, one.measure)
        place = FAMILIES.index(one.series.family)
        return (-one.counts.score, place, *map(int, kind), one.level, one.series.begin)


def _inside(one: JudgedLevel, day: Ints) -> Bools:
    return (one.counts.first_day <= day) & (day <= one.counts.last_day)


def _several(users: Ints) -> bool:
    """Return whether at least ``USERS`` users occur ``USERS`` times."""
    _, times = np.unique(users, return_counts=True)
    return bool((times >= USERS).sum() >= USERS)


def plateau_search(described: pl.DataFrame, pool: Pool, now: int, log_begin: int) -> PlateauSearch:
    """Return the search for limits that the log of a pool shows, with its rules in force.

    Its pool has the capacity that the log shows.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
        pool: with the rules of configuration and of the scheduler's files.
        log_begin: the begin of the log, epoch s (SPEC §11, *T0*).
    """
    jobs = plateaued(described, pool, now)
    stops, climbs = swept(jobs, pool, (), log_begin, climbing=True)
    assert climbs is not None
    below = capacity_below(jobs, stops, climbs, pool.capacity) if not pool.steps else None
    jobs = jobs.of_first(sum(family.without is None for family in jobs.families))
    entities = len(jobs.members)
    machine: tuple[Limit, ...] = ()
    if pool.nodes and below is not None and below.family.without is None:
        machine = (Limit(most=below.level, resource=pool.resource.value),)
    used = in_force(pool, jobs, below)
    stops, climbs = stops.of_first(entities), climbs.of_first(entities)
    if below is not None:
        del stops  # before more is made
        stops, _ = swept(jobs, used, machine, log_begin, climbing=False)
    return PlateauSearch(jobs, used, log_begin, climbs, stops, below, machine)


def in_force(pool: Pool, jobs: Plateaued, below: CapacityBelow | None) -> Pool:
    """Return the pool with the capacity that the log shows."""
    if below is None:
        return pool
    resource = pool.resource.value
    if below.family.without is None:
        amounts = tuple((x, below.level if x == resource else n) for x, n in pool.amounts)
        return pool._replace(capacity=below.level, amounts=amounts)
    names = jobs.rows["partition"].unique().drop_nulls().sort()
    others = tuple(name for name in names if name != below.family.without)
    limit = Limit(most=below.level, resource=resource, partition=others)
    return pool._replace(limits=(*pool.limits, limit))


def _site(
    search: PlateauSearch, stops: Stops
) -> tuple[list[PlateauRule], Stops, list[PlateauRule]]:
    """Return the rules of the site, the stops with these in force, and candidates that failed."""
    rules = list[PlateauRule]()
    while True:
        found = search.judged(stops, own=False)
        best = search.best(found, stops) if len(rules) < MOST_RULES else None
        if best is None:
            break
        rules.append(search.rule(best))
        stops = search.stops(rule.limit for rule in rules)
    kept = list(rules)
    for rule in rules[:-1]:
        others = [one for one in kept if one is not rule]
        again = search.again(rule.judged, search.stops(one.limit for one in others))
        if not again.accepted:
            kept = others
    if len(kept) < len(rules):
        stops = search.stops(rule.limit for rule in kept)
    failed = sorted((one for one in found if not one.accepted), key=search.order)
    return kept, stops, [search.rule(one) for one in _best(failed)]


def _best(failed: Sequence[JudgedLevel]) -> list[JudgedLevel]:
    """Return the best candidates, at most one for each series and measure."""
    best: dict[tuple[SeriesOf, int], JudgedLevel] = {}
    for one in failed:
        if one.counts.score > 0:
            best.setdefault((one.series, one.measure), one)
    return list(best.values())[:FAILED]


def _own(
    search: PlateauSearch, stops: Stops, site: list[Limit]
) -> tuple[list[PlateauRule], list[SharedLevel]]:
    """Return the limits of single users, and which of them others have too."""
    own, under_rules = list[PlateauRule](), stops
    for number in range(OWN_ROUNDS):
        found = sorted(search.judged(stops, own=True), key=lambda one: one.series.begin)
        theirs = groupby(found, key=lambda one: one.series)
        best = [one for _, among in theirs if (one := search.best(among, stops)) is not None]
        if not best:
            break
        own += [search.rule(one) for one in best]
        if number + 1 < OWN_ROUNDS:
            stops = search.stops([*site, *(rule.limit for rule in own)])
    levels = dict.fromkeys((rule.judged.measure, rule.judged.level) for rule in own)
    shared = [_shared(search, under_rules, *one) for one in levels]
    return own, [one for one in shared if len(one.users) >= USERS]


def _shared(search: PlateauSearch, stops: Stops, measure: int, level: int) -> SharedLevel:
    """Return the users who have a limit at a level, but not an eighth above or below it."""
    jobs = search.jobs
    first, behind = int(jobs.first[0]), int(jobs.first[1])
    users = np.arange(behind - first)
    of = traces(jobs, stops, search.climbs, measure, first, behind)
    holds = [
        _holds(*weighed(of, users, users + 1, np.full(len(users), one)))
        for one in (level, -(-9 * level // 8), 7 * level // 8)
    ]
    some = jobs.measures[measure].resource is not None or level > 3
    chosen = np.flatnonzero(holds[0] & ~holds[1] & ~holds[2] & some)
    names = (jobs.members[first + k].name for k in chosen.tolist())
    return SharedLevel(jobs.measures[measure], level, tuple(name for name in names if name))


def _holds(counts: Ints, concentration: Floats) -> Bools:
    _, withheld, _, _, broken, following, _, _, days, *_ = counts.T
    enough: Bools = (withheld >= LEAST_AT) & (following >= LEAST_AT) & (days >= 2)
    held: Bools = enough & (concentration >= 0.6) & (10 * broken <= broken + following)
    return held
