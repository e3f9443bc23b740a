"""The search for a site's windows that may be used by SPEC §11.

Of the candidates that pass all conditions, the one that books most waiting time with free capacity
is accepted, and the rest are judged again with it in force. Candidates are judged in the order of
the most that they could book, so that few need to be judged.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from itertools import count
from typing import Final, NamedTuple

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.scenario.fit import days, evidence, hours, judging, occasions
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.evidence import Found
from audit.scenario.fit.hours import Candidate
from audit.scenario.fit.observed import Observed
from audit.scenario.fit.occasions import DAY_S, Seen
from audit.scenario.fit.site import Element, Evidence, Kind, Site, applied
from audit.scenario.workload import NEVER

Watch = Callable[[Element, str], None]

FORESEEN: Final = 0.02
"""Greatest fall of the share of waiting jobs that the model foresees."""
RAW_SHARE: Final = "raw share"
BOOKS_LESS: Final = "books less"
BOOKS: Final = 0.002
"""Least share of all waiting that a rule must book to be worth reporting."""
LEAST_DAYS: Final = 3
LEAST_WAITED: Final = 200


class Searched(NamedTuple):
    """The result of a search for rules."""

    site: Site
    accepted: tuple[Element, ...]
    """In the order of acceptance; each was judged with the earlier ones in force."""


def searchable(observed: Observed) -> bool:
    """Return whether a log is long enough, and enough of its jobs waited, to search for rules."""
    waited = int((observed.wait > TOLERANCE_S).sum())
    long_enough = observed.last_arrival - observed.first >= LEAST_DAYS * DAY_S
    return long_enough and waited >= LEAST_WAITED


def search(
    observed: Observed, site: Site, budget: Budget, watch: Watch = lambda element, fails: None
) -> Searched:
    """Return the site with the rules that may be used.

    Args:
        site: with its configured rules.
        watch: called with each rule that was judged and the condition that it fails; empty: it is
            accepted, and the last one of its round.
    """
    accepted: list[Element] = []
    while budget.pays(budget.each.sweeping):
        best = _Round(observed, site, budget, watch).best()
        if best is None:
            break
        accepted.append(best)
        site = applied(site, best)
    for ceiling in _ceilings(observed, site) if budget.pays(budget.each.judging) else ():
        watch(ceiling, "")
        accepted.append(ceiling)
        site = applied(site, ceiling)
    return Searched(site, tuple(accepted))


class _Round:
    """One choice among the candidates."""

    def __init__(self, observed: Observed, site: Site, budget: Budget, watch: Watch) -> None:
        self.observed = observed
        self.site = site
        self.budget = budget
        self.watch = watch
        self.waiting = max(float(observed.wait.sum()), 1.0)
        work = judging.assumed(observed, site)
        self.walker = occasions.Walker(work, work.limits, occasions.outages(work))
        self.serial = count()
        self.queue: list[tuple[float, int, Seen, Candidate]] = []
        self.known: set[str] = set()

    def best(self) -> Element | None:
        """Return the rule that books most of those that may be used."""
        zones = [self.site.pool.zone]
        if not self.site.pool.windows:
            zones = hours.clocks(zones[0], self.observed.first, self.observed.last)
        first = occasions.seen(self.observed, self.walker, zones[0])
        seen = [first, *(Seen(self.observed, first.spans, zone) for zone in zones[1:])]
        for clock in seen:
            self._add(clock, hours.candidates(clock))
        best: Element | None = None
        least = BOOKS * self.waiting
        while self.queue and -self.queue[0][0] > least:
            if not self.budget.pays(self.budget.each.screening):
                break
            _, _, clock, candidate = heapq.heappop(self.queue)
            element, fails, others = self._judge(clock, candidate, least)
            self._add(clock, others)
            if fails:
                self.watch(element, fails)
                continue
            if best is not None:
                self.watch(best, BOOKS_LESS)
            best, least = element, element.evidence.explained
        if best is not None:
            self.watch(best, "")
        return best

    def _add(self, seen: Seen, candidates: Iterable[Candidate]) -> None:
        for one in candidates:
            key = f"{one.rule} {seen.zone}"
            if key not in self.known:
                self.known.add(key)
                heapq.heappush(self.queue, (-one.seconds, next(self.serial), seen, one))

    def _judge(
        self, seen: Seen, one: Candidate, least: float
    ) -> tuple[Element, str, Iterable[Candidate]]:
        """Judge a candidate, which must book more than ``least`` seconds.

        Returns:
            The rule; the condition that it fails; and windows with other hours to judge next.
        """
        seconds, found = self._evidence(seen, seen, one)
        if found.fails == RAW_SHARE:
            return self._element(seen, one, Found(RAW_SHARE), 0), RAW_SHARE, ()
        if seconds <= least:
            return self._element(seen, one, Found(BOOKS_LESS), 0), BOOKS_LESS, ()
        trial = occasions.seen(self.observed, self.walker, seen.zone, one.tried(seen))
        seconds, found = self._evidence(seen, trial, one)
        if not found.fails and seconds <= least:
            found = found._replace(fails=BOOKS_LESS)
        others: Iterable[Candidate] = ()
        if found.units and found.fails != BOOKS_LESS:
            slices = hours.broken_slices(trial, one, found.days)
            if any(slices) and not found.fails:
                found = found._replace(fails="slices")
            others = hours.narrower(one, slices) if found.fails else hours.wider(one)
        element = self._element(seen, one, found, 0 if found.fails else seconds)
        return element, found.fails or ("foreseen" if self._misleads(element) else ""), others

    def _evidence(self, seen: Seen, trial: Seen, one: Candidate) -> tuple[int, Found]:
        """Return the seconds that a candidate books, and the test of its events in ``trial``.

        Without a trial, ``trial`` is ``seen``, and the raw share is tested first.
        """
        mine, others = one.events(trial)
        lasts = evidence.unit_s(seen.days)
        rule, neighbours = evidence.units(mine, lasts), evidence.units(others, lasts)
        found = Found(RAW_SHARE)
        if trial is not seen or evidence.plausible(rule, neighbours):
            found = evidence.judge(mine, rule, neighbours)
        return one.booked(seen).within(found.days), found

    def _element(self, seen: Seen, one: Candidate, found: Found, seconds: int) -> Element:
        """Return the rule with its days and its evidence."""
        starts = one.inside[seen.started]
        if found.days is not None:
            starts &= evidence.on_days(seen.start_local, found.days)
        of = Evidence(
            seconds,
            found.withheld,
            found.breaks,
            int(starts.sum()),
            found.units,
            found.bound,
            found.by_chance,
            seconds / self.waiting,
        )
        days = _days(seen, found.days)
        zone = None if seen.zone == self.site.pool.zone else seen.zone
        return Element(Kind.window, of, window=one.rule.but(**days), zone=zone)

    def _misleads(self, element: Element) -> bool:
        """Return whether the model foresees too few of the waiting jobs with the rule."""
        before = self.observed.once(
            "decided", self.site, lambda: judging.decide(self.observed, self.site), most=1
        )
        after = judging.decide(self.observed, applied(self.site, element))
        counted = (self.observed.wait > TOLERANCE_S) & ~before.over_capacity & ~after.over_capacity
        rule = element.window
        assert rule is not None
        arrived = occasions.local(self.observed.work.arrival, self.site.pool.zone)
        counted &= occasions.days_of(rule, arrived)
        if not counted.any():
            return True
        shares = [(one.ready[counted] != NEVER).mean() for one in (before, after)]
        return bool(shares[1] < shares[0] - FORESEEN)


def _days(seen: Seen, days: tuple[int, int] | None) -> dict[str, date]:
    """Return the dates of a rule; the first and the last day of the log are not bounds."""
    found: dict[str, date] = {}
    if days is not None and days[0] > seen.start_local.min() // DAY_S:
        found["valid_from"] = occasions.EPOCH + timedelta(days[0])
    if days is not None and days[1] <= seen.start_local.max() // DAY_S:
        found["valid_to"] = occasions.EPOCH + timedelta(days[1])
    return found


def _ceilings(observed: Observed, site: Site) -> list[Element]:
    """Return the ceilings that show in free capacity without another explanation."""
    if site.ceilings or site.pool.steps:
        return []
    decided = judging.decide(observed, site)
    left = judging.unexplained(observed, site, decided)
    spans = observed.spans
    late = (decided.ready[spans.job] <= spans.since) & (left[spans.job] > 0)
    found = days.ceilings(replace(observed, spans=spans.of(late)))
    if not found:
        return []
    explained = sum(one.explained for one in found)
    of = Evidence(explained, sum(one.withheld for one in found))
    gain = explained / max(float(observed.wait.sum()), 1.0)
    return [Element(Kind.capacity, of._replace(gain=gain), ceilings=tuple(found))]
