"""Which elements a site has: first its rules, then its policy and what else decides starts.

Rules are searched by SPEC §11 (``fit.rules``). With these in force, the other elements are
searched by SPEC §10: by time of arrival the first 40 % of a log *propose*: trials and both P are
theirs. The next 20 % *choose*: in each round the element is kept whose loss there falls most, if
the lower bound of the fall, paired by day, is above 0, no more is left unexplained and, under
another policy, forward fidelity is not less. The elements that are kept are reported over the last
40 %.

Source: SPEC §10, *Inferring a site*; §11, *Rules that may be used*.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.draws import Draws
from audit.scenario.fit import candidates, judging
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.judging import Decided, Instants, fidelity
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.fit.site import Element, Kind, Site, applied
from audit.scenario.workload import Bools

PROPOSES: Final = 0.4
CHOOSES: Final = 0.6
DAY_S: Final = 86_400
LEAST_DAYS: Final = 3
LEAST_WAITED: Final = 20
LEAST: Final = 0.001
"""Of the loss: an element that lowers it by less is not kept."""
SUBJECTS: Final = 600
"""Attempts whose forward starts tell whether a policy misleads."""
LESS_FAITHFUL: Final = 0.01
"""Greatest loss of forward fidelity under another policy."""
EXPLAINS: Final = 0.0005
"""Of all waiting: what chains must explain."""


class Gain(NamedTuple):
    """By how much the loss falls, with its 95 % interval."""

    value: float
    lower: float | None
    upper: float | None

    @property
    def sure(self) -> bool:
        """Whether the lower bound is above 0."""
        return self.lower is not None and self.lower > 0


class Tried(NamedTuple):
    """An element that was judged."""

    element: Element
    gain: Gain | None
    """By how much the loss falls over the part that chooses; None: it is a rule."""
    explains: float
    """Explained share of all waiting: for rules of the log, otherwise of that part."""
    fails: str
    """Which condition does not hold; empty: it is kept."""

    @property
    def kept(self) -> bool:
        """Whether the site has it."""
        return not self.fails


class Judged(NamedTuple):
    """An assumed site, judged over a log."""

    site: Site
    decided: Decided
    said: Instants
    unexplained: Floats
    """Seconds of each attempt's wait, [n]."""


class Searched(NamedTuple):
    """The result of a search."""

    site: Site
    tried: tuple[Tried, ...]
    """In order."""
    ended: bool
    """Whether the budget ended it before all was tried."""


class Parts(NamedTuple):
    """The instants at which the parts of a log begin and end, by arrival."""

    first: int
    proposed: int
    chosen: int
    behind: int


def parts(observed: Observed) -> Parts:
    """Return the parts of a whole log."""
    first, last = observed.first, observed.last_arrival
    span = last - first
    return Parts(first, first + int(PROPOSES * span), first + int(CHOOSES * span), last + 1)


def within(observed: Observed, span: tuple[int, int]) -> Bools:
    """Which attempts arrive in a span, [n]."""
    inside: Bools = (observed.work.arrival >= span[0]) & (observed.work.arrival < span[1])
    return inside


def searchable(observed: Observed, parts: Parts) -> bool:
    """Whether a log is long enough, and enough jobs waited in the part that proposes."""
    waited = observed.wait[within(observed, (parts.first, parts.proposed))] > TOLERANCE_S
    return parts.behind - parts.first > LEAST_DAYS * DAY_S and int(waited.sum()) >= LEAST_WAITED


def judge(observed: Observed, site: Site) -> Judged:
    """Return the decisions of the assumed site, and how well they explain each attempt."""
    decided = judging.decide(observed, site)
    said = judging.told(observed, decided.ready)
    return Judged(site, decided, said, judging.unexplained(observed, site, decided))


def gain(observed: Observed, before: Judged, after: Judged, parts: Parts, draws: Draws) -> Gain:
    """By how much the loss falls over those who choose, P being of those who propose."""
    counted = observed.judged & ~before.decided.over_capacity & ~after.decided.over_capacity
    proposing = counted & within(observed, (parts.first, parts.proposed))
    choosing = counted & within(observed, (parts.proposed, parts.chosen))
    fall = _losses(before, proposing) - _losses(after, proposing)
    return mean_by_day(observed, fall, choosing, draws)


def _losses(one: Judged, proposing: Bools) -> Floats:
    return judging.losses(one.said, judging.rates(one.said, proposing))


def mean_by_day(observed: Observed, values: Floats, chosen: Bools, draws: Draws) -> Gain:
    """The mean of values over attempts ``chosen``, with an interval by the days they arrived on."""
    if not chosen.any():
        return Gain(0.0, None, None)
    day = (observed.work.arrival[chosen] - observed.first) // DAY_S
    days, place = np.unique(day, return_inverse=True)
    sums: Floats = np.bincount(place, values[chosen]).astype(np.float64)
    counts = np.bincount(place).astype(np.float64)
    resamples = draws.of(len(days))
    interval = resamples.ratio(np.arange(len(days)), sums, counts)
    return Gain(float(values[chosen].mean()), *interval)


def search(
    observed: Observed,
    parts: Parts,
    site: Site,
    budget: Budget,
    draws: Draws,
    progress: Callable[[int], None] = lambda tried: None,
) -> Searched:
    """Return the site with the elements other than rules that are kept, and all that was tried.

    Args:
        observed: of the first 60 % of the log alone; what comes later is not looked at.
        site: with its rules.
        budget: what the search may cost.
    """
    rounds = _Rounds(observed, parts, budget, draws, progress)
    present = judge(observed, site)
    tried: list[Tried] = []
    hopeless: set[Element] = set()
    while budget.propose():
        judged, best = rounds.one(present, hopeless)
        tried += judged
        if best is None:
            break
        present = best
    return Searched(present.site, tuple(tried), budget.ended)


class _Rounds:
    """Rounds of a search, each of which tries what is proposed and finds the best of it."""

    def __init__(
        self,
        observed: Observed,
        parts: Parts,
        budget: Budget,
        draws: Draws,
        progress: Callable[[int], None],
    ) -> None:
        self.observed = observed
        self.parts = parts
        self.proposing = within(observed, (parts.first, parts.proposed))
        self.choosing = within(observed, (parts.proposed, parts.chosen))
        self.budget = budget
        self.draws = draws
        self.progress = progress
        self.numbers = itertools.count(1)

    def one(self, present: Judged, hopeless: set[Element]) -> tuple[list[Tried], Judged | None]:
        """All that was tried in a round, and the site with what is kept of it, if anything is.

        Elements without a gain are added to ``hopeless``, and not tried again.
        """
        tried: list[Tried] = []
        best: tuple[Gain, Judged] | None = None
        for element in self._elements(present):
            if element in hopeless or not self.budget.judge():
                continue
            self.progress(next(self.numbers))
            other = judge(self.observed, applied(present.site, element))
            fall = gain(self.observed, present, other, self.parts, self.draws)
            explains = self._explains(present, other)
            fails = self._fails(element, fall, explains, present, other)
            tried.append(Tried(element, fall, explains, fails))
            if fall.value <= 0:
                hopeless.add(element)
            if not fails and (best is None or fall.value > best[0].value):
                best = fall, other
        if best is None:
            return tried, None
        least = [
            one._replace(fails="gains less") if one.kept and one.gain != best[0] else one
            for one in tried
        ]
        return least, best[1]

    def _elements(self, present: Judged) -> list[Element]:
        """Return the elements to try in a round, each once."""
        found = candidates.propose(
            self.observed, present.site, present.decided, present.unexplained, self.proposing
        )
        found += candidates.policies(self.observed, present.site)
        found += candidates.whole_nodes(self.observed, present.site)
        return list(dict.fromkeys(found))

    def _fails(
        self, element: Element, fall: Gain, explains: float, before: Judged, after: Judged
    ) -> str:
        """Return which condition does not hold."""
        if fall.value < LEAST * self._loss(before) or not fall.sure:
            return "gain"
        if explains < (EXPLAINS if element.kind is Kind.chain else 0):
            return "leaves more unexplained"
        if not (before.decided.ready != after.decided.ready)[self.choosing].any():
            return "changes nothing"  # P alone may change
        return "forward fidelity" if self._misleads(element, before, after) else ""

    def _misleads(self, element: Element, before: Judged, after: Judged) -> bool:
        """Whether another policy decides better at each instant, but leads further astray."""
        if element.kind is not Kind.policy:
            return False
        choosing = self.observed.judged & self.choosing
        one, other = (
            fidelity(self.observed, judged.site, choosing, SUBJECTS, self.draws).over_all
            for judged in (before, after)
        )
        return one is not None and (other is None or other < one - LESS_FAITHFUL)

    def _loss(self, present: Judged) -> float:
        counted = self.observed.judged & ~present.decided.over_capacity
        choosing = counted & self.choosing
        losses = _losses(present, counted & self.proposing)[choosing]
        return float(losses.mean()) if choosing.any() else 0.0

    def _explains(self, before: Judged, after: Judged) -> float:
        choosing = self.observed.judged & self.choosing
        total = float(self.observed.wait[choosing].sum())
        fall = float((before.unexplained - after.unexplained)[choosing].sum())
        return fall / total if total > 0 else 0.0
