"""Which limits and windows a site has: those that may be used, by SPEC §11.

Of the candidates that pass all conditions, the one that books most waiting time with free capacity
is accepted, and the rest are judged again with it in force. Candidates are judged in the order of
what they would book at most, so that few need to be judged.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from itertools import count
from typing import Final, NamedTuple

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.scenario.fit import days, evidence, hours, judging, levels, occasions
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.evidence import DAY_S, Booked, Events, Found
from audit.scenario.fit.observed import Observed, Spans
from audit.scenario.fit.occasions import Seen
from audit.scenario.fit.site import Element, Evidence, Kind, Site, applied
from audit.scenario.workload import NEVER

Candidate = levels.Candidate | hours.Candidate

FORESEEN: Final = 0.02
"""The share of waiting jobs that the model foresees may fall by this much."""
RAW_SHARE: Final = "raw share"
BOOKS_LESS: Final = "books less"
BOOKS: Final = 0.002
"""Least share of all waiting that a rule must book."""
LEAST_DAYS: Final = 3
LEAST_WAITED: Final = 200


class Judged(NamedTuple):
    """A candidate that was judged."""

    element: Element
    fails: str
    """Which condition does not hold; empty: it may be used."""


class Searched(NamedTuple):
    """The result of a search for rules."""

    site: Site
    accepted: tuple[Element, ...]
    """In the order in which they were accepted; each was judged with those before it in force."""


def searchable(observed: Observed) -> bool:
    """Return whether a log is long enough, and enough of its jobs waited, to search for rules."""
    waited = int((observed.wait > TOLERANCE_S).sum())
    long_enough = observed.last_arrival - observed.first >= LEAST_DAYS * DAY_S
    return long_enough and waited >= LEAST_WAITED


def search(
    observed: Observed,
    site: Site,
    budget: Budget,
    watch: Callable[[Judged], None] = lambda judged: None,
) -> Searched:
    """Return the site with the rules that may be used.

    Args:
        site: as it is known, with its configured rules.
        budget: what the search may cost.
        watch: called with each rule that was judged: those not accepted, then the one that is.
    """
    accepted: list[Element] = []
    while budget.sweep():
        best = _Round(observed, site, budget, watch).best()
        if best is None:
            break
        accepted.append(best)
        site = applied(site, best)
    for ceiling in _ceilings(observed, site) if budget.judge() else ():
        watch(Judged(ceiling, ""))
        accepted.append(ceiling)
        site = applied(site, ceiling)
    return Searched(site, tuple(accepted))


class _Round:
    """One choice among the candidates."""

    def __init__(
        self, observed: Observed, site: Site, budget: Budget, watch: Callable[[Judged], None]
    ) -> None:
        self.observed = observed
        self.site = site
        self.budget = budget
        self.watch = watch
        work, _, _ = judging.assumed(observed, site)
        self.walker = occasions.Walker(work, work.limits, occasions.outages(work))
        zones = [site.pool.zone]
        if not site.pool.windows:
            zones = hours.clocks(site.pool.zone, observed.first, observed.last)
        first = occasions.seen(observed, self.walker, zones[0])
        self.seen = [first, *(Seen(observed, first.spans, zone) for zone in zones[1:])]

    def best(self) -> Element | None:
        """Return the rule that books most of those that may be used."""
        serial = count()
        queue: list[tuple[float, int, Seen, Candidate]] = []

        known: set[str] = set()

        def add(seen: Seen, one: Candidate) -> None:
            rule = one.limit if isinstance(one, levels.Candidate) else one.window
            if f"{rule} {seen.zone}" not in known:
                known.add(f"{rule} {seen.zone}")
                heapq.heappush(queue, (-one.seconds, next(serial), seen, one))

        for seen in self.seen:
            for one in hours.candidates(seen):
                add(seen, one)
        for limit in levels.candidates(self.seen[0]):
            add(self.seen[0], limit)
        best: Element | None = None
        least = BOOKS * float(self.observed.wait.sum())
        while queue and -queue[0][0] > least:
            if not self.budget.screen():
                break
            _, _, seen, candidate = heapq.heappop(queue)
            judged, others = self._judge(seen, candidate, least)
            for other in others:
                add(seen, other)
            if judged.fails:
                self.watch(judged)
                continue
            if best is not None:
                self.watch(Judged(best, BOOKS_LESS))
            best = judged.element
            least = best.evidence.explained
        if best is not None:
            self.watch(Judged(best, ""))
        return best

    def _judge(
        self, seen: Seen, one: Candidate, least: float
    ) -> tuple[Judged, Iterable[hours.Candidate]]:
        """Judge a candidate, which must book more than ``least`` seconds.

        Returns:
            It; and windows that differ by an hour, to be judged in its place.
        """
        seconds, found = self._evidence(seen, seen, one)
        if found.fails == RAW_SHARE:
            return Judged(self._element(seen, one, Found(RAW_SHARE), 0), RAW_SHARE), ()
        if seconds <= least:
            return Judged(self._element(seen, one, Found(BOOKS_LESS), 0), BOOKS_LESS), ()
        trial = self._with(seen, one)
        seconds, found = self._evidence(seen, trial, one)
        if not found.fails and seconds <= least:
            found = found._replace(fails=BOOKS_LESS)
        others: Iterable[hours.Candidate] = ()
        if isinstance(one, hours.Candidate) and found.units and found.fails != BOOKS_LESS:
            slices = hours.broken_slices(trial, one, found.days)
            if slices.some and not found.fails:
                found = found._replace(fails="slices")
            others = hours.narrower(one, slices) if found.fails else hours.wider(one)
        element = self._element(seen, one, found, 0 if found.fails else seconds)
        if not found.fails and self._misleads(element):
            found = found._replace(fails="foreseen")
        return Judged(element, found.fails), others

    def _evidence(self, seen: Seen, trial: Seen, one: Candidate) -> tuple[int, Found]:
        """Return what a candidate books, and whether its events in ``trial`` say that it is kept.

        Units of ``seen`` itself only tell whether it may be: without any, it is not plausible.
        """
        mine, others = _events(trial, one)
        lasts = evidence.unit_s(seen.days)
        rule, neighbours = evidence.units(mine, lasts), evidence.units(others, lasts)
        found = Found(RAW_SHARE)
        if trial is not seen or evidence.plausible(rule, neighbours):
            found = evidence.judge(mine, rule, neighbours)
        return _booked(seen, one).within(found.days), found

    def _with(self, seen: Seen, one: Candidate) -> Seen:
        """Return what is seen of the site if attempts that a candidate forbids claim nothing."""
        tried = levels.tried(one) if isinstance(one, levels.Candidate) else hours.tried(seen, one)
        return occasions.seen(self.observed, self.walker, seen.zone, tried)

    def _element(self, seen: Seen, one: Candidate, found: Found, seconds: int) -> Element:
        """Return the rule with its days and its evidence."""
        about = one.kind.inside if isinstance(one, levels.Candidate) else one.of.inside
        starts = about[seen.started]
        days = {}
        if found.days is not None:
            day = seen.start_local // DAY_S
            starts &= (day >= found.days[0]) & (day < found.days[1])
            days = _days(seen, found.days)
        of = Evidence(
            seconds,
            found.withheld,
            found.breaks,
            int(starts.sum()),
            found.units,
            found.bound,
            found.by_chance,
            seconds / max(float(self.observed.wait.sum()), 1.0),
        )
        if isinstance(one, levels.Candidate):
            return Element(Kind.limit, of, limit=one.limit.but(**days))
        zone = None if seen.zone == self.site.pool.zone else seen.zone
        return Element(Kind.window, of, window=one.window.but(**days), zone=zone)

    def _misleads(self, element: Element) -> bool:
        """Return whether the model foresees too few of the waiting jobs with the rule."""
        before = self.observed.once(
            "decided", self.site, lambda: judging.decide(self.observed, self.site), most=1
        )
        after = judging.decide(self.observed, applied(self.site, element))
        counted = (self.observed.wait > TOLERANCE_S) & ~before.over_capacity & ~after.over_capacity
        rule = element.limit or element.window
        assert rule is not None
        arrived = occasions.local(self.observed.work.arrival, self.site.pool.zone)
        counted &= occasions.days_of(rule, arrived)
        if not counted.any():
            return True
        shares = [(one.ready[counted] != NEVER).mean() for one in (before, after)]
        return bool(shares[1] < shares[0] - FORESEEN)


def _events(seen: Seen, one: Candidate) -> tuple[Events, Events]:
    """Return the events of a candidate and of its neighbours."""
    return (
        levels.events(seen, one) if isinstance(one, levels.Candidate) else hours.events(seen, one)
    )


def _booked(seen: Seen, one: Candidate) -> Booked:
    """Return the waiting time with free capacity that a candidate would book."""
    return (
        levels.booked(seen, one) if isinstance(one, levels.Candidate) else hours.booked(seen, one)
    )


def _days(seen: Seen, days: tuple[int, int]) -> dict[str, date]:
    """Return from when until when a rule is in force; a log's first and last days bound nothing."""
    first, last = seen.start_local.min() // DAY_S, seen.start_local.max() // DAY_S
    found = {}
    if days[0] > first:
        found["valid_from"] = occasions.EPOCH + timedelta(days[0])
    if days[1] <= last:
        found["valid_to"] = occasions.EPOCH + timedelta(days[1])
    return found


def _ceilings(observed: Observed, site: Site) -> list[Element]:
    """Return the capacity in force over days, of free capacity that is unexplained otherwise."""
    if site.ceilings or site.pool.steps:
        return []
    decided = judging.decide(observed, site)
    left = judging.unexplained(observed, site, decided)
    spans = observed.spans
    late = (decided.ready[spans.job] <= spans.since) & (left[spans.job] > 0)
    found = days.ceilings(replace(observed, spans=Spans(*(column[late] for column in spans))))
    if not found:
        return []
    explained = sum(one.explained for one in found)
    of = Evidence(explained, sum(one.withheld for one in found))
    gain = explained / max(float(observed.wait.sum()), 1.0)
    return [Element(Kind.capacity, of._replace(gain=gain), ceilings=tuple(found))]
