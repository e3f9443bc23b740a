"""The search for the elements of a site: first its rules, then its policy and the rest.

Rules are searched by SPEC §11 (``fit.rules``). With these in force, the other elements are searched
by SPEC §10. By time of arrival, the first 40 % of a log *propose*: they yield the trials and both
P. The next 20 % *choose*: each round keeps the element that lowers the loss there most. The lower
bound of the fall, paired by day, must be above 0, and no more may remain unexplained. Under another
policy, forward fidelity must not fall. The results are reported over the last 40 %.

Source: SPEC §10, *Inferring a site*; §11, *Rules that may be used*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.draws import Draws
from audit.scenario.fit import candidates, judging
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.judging import Decided, Instants, fidelity
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.fit.occasions import DAY_S
from audit.scenario.fit.site import Element, Kind, Site, applied
from audit.scenario.workload import Bools

PROPOSES: Final = 0.4
CHOOSES: Final = 0.6
LEAST_DAYS: Final = 3
LEAST_WAITED: Final = 20
LEAST: Final = 0.001
"""Least relative fall of the loss."""
SUBJECTS: Final = 600
"""Attempts whose forward starts show whether a policy misleads."""
LESS_FAITHFUL: Final = 0.01
"""Greatest fall of forward fidelity under another policy."""


class Gain(NamedTuple):
    """A fall of the loss, with its 95 % interval."""

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
    """The fall of the loss over the part that chooses; None: the element is a rule."""
    explains: float
    """Share of waiting that it explains: of a rule in the log, else in the part that chooses."""
    fails: str
    """The condition that does not hold; empty: the element is kept."""

    @property
    def kept(self) -> bool:
        """Whether the site has the element."""
        return not self.fails


class Judged(NamedTuple):
    """A site, and its decisions about a log."""

    site: Site
    decided: Decided
    instants: Instants
    unexplained: Floats
    """Seconds of each attempt's wait, [n]."""


class Searched(NamedTuple):
    """The result of a search."""

    site: Site
    tried: tuple[Tried, ...]
    """In order."""
    ended: bool
    """Whether the budget ended the search early."""


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


def within(observed: Observed, since: int, until: int) -> Bools:
    """Return which attempts are judged and arrive in a period, [n]."""
    arrival = observed.work.arrival
    inside: Bools = observed.judged & (arrival >= since) & (arrival < until)
    return inside


def searchable(observed: Observed, parts: Parts) -> bool:
    """Return whether a log is long enough, and enough jobs waited in the part that proposes."""
    waited = observed.wait[within(observed, parts.first, parts.proposed)] > TOLERANCE_S
    return parts.behind - parts.first > LEAST_DAYS * DAY_S and int(waited.sum()) >= LEAST_WAITED


def judge(observed: Observed, site: Site) -> Judged:
    """Return the decisions of a site."""
    decided = judging.decide(observed, site)
    instants = judging.predicted(observed, decided.ready)
    return Judged(site, decided, instants, judging.unexplained(observed, site, decided))


def losses(observed: Observed, parts: Parts, *judged: Judged) -> list[Floats]:
    """Return the losses of sites, [n] each, with the P of attempts that propose for all of them."""
    proposing = within(observed, parts.first, parts.proposed)
    for one in judged:
        proposing &= ~one.decided.over_capacity
    return [judging.losses(one.instants, judging.rates(one.instants, proposing)) for one in judged]


def gain(
    observed: Observed, parts: Parts, before: Judged, after: Judged, chosen: Bools, draws: Draws
) -> Gain:
    """Return the mean fall of the loss over ``chosen`` attempts, with an interval by day."""
    counted = chosen & ~before.decided.over_capacity & ~after.decided.over_capacity
    if not counted.any():
        return Gain(0.0, None, None)
    loss_before, loss_after = losses(observed, parts, before, after)
    fall = (loss_before - loss_after)[counted]
    day = (observed.work.arrival[counted] - observed.first) // DAY_S
    days, place = np.unique(day, return_inverse=True)
    sums: Floats = np.bincount(place, fall).astype(np.float64)
    counts = np.bincount(place).astype(np.float64)
    interval = draws.of(len(days)).ratio(np.arange(len(days)), sums, counts)
    return Gain(float(fall.mean()), *interval)


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
        observed: of the first 60 % of the log alone.
        site: with its rules.
        progress: called with the number of elements tried.
    """
    rounds = _Rounds(observed, parts, budget, draws, progress)
    present = judge(observed, site)
    while budget.pays(budget.each.proposing):
        best = rounds.best(present)
        if best is None:
            break
        present = best
    return Searched(present.site, tuple(rounds.tried), budget.ended)


@dataclass
class _Rounds:
    """Rounds of a search, each of which tries the proposed elements and keeps the best."""

    observed: Observed
    parts: Parts
    budget: Budget
    draws: Draws
    progress: Callable[[int], None]
    tried: list[Tried] = field(default_factory=list)
    hopeless: set[Element] = field(default_factory=set)
    """Elements that gain nothing, and are not tried again."""

    def __post_init__(self) -> None:
        self.proposing = within(self.observed, self.parts.first, self.parts.proposed)
        self.choosing = within(self.observed, self.parts.proposed, self.parts.chosen)

    def best(self, present: Judged) -> Judged | None:
        """Return the site with the best element of a round; None: none passes."""
        first = len(self.tried)
        best: tuple[Gain, Judged] | None = None
        for element in candidates.propose(
            self.observed, present.site, present.decided, self.proposing
        ):
            if element in self.hopeless or not self.budget.pays(self.budget.each.judging):
                continue
            self.progress(len(self.tried) + 1)
            other = judge(self.observed, applied(present.site, element))
            fall = gain(self.observed, self.parts, present, other, self.choosing, self.draws)
            explains = self._explains(present, other)
            fails = self._fails(element, fall, explains, present, other)
            self.tried.append(Tried(element, fall, explains, fails))
            if fall.value <= 0:
                self.hopeless.add(element)
            if not fails and (best is None or fall.value > best[0].value):
                best = fall, other
        if best is None:
            return None
        for place in range(first, len(self.tried)):
            one = self.tried[place]
            if one.kept and one.gain != best[0]:
                self.tried[place] = one._replace(fails="gains less")
        return best[1]

    def _fails(
        self, element: Element, fall: Gain, explains: float, before: Judged, after: Judged
    ) -> str:
        """Return the condition that does not hold."""
        counted = self.choosing & ~before.decided.over_capacity
        loss = losses(self.observed, self.parts, before)[0][counted]
        if not fall.sure or fall.value < LEAST * loss.mean():
            return "gain"
        if explains < 0:
            return "leaves more unexplained"
        if not (before.decided.ready != after.decided.ready)[self.choosing].any():
            return "changes nothing"  # P alone may change
        return "forward fidelity" if self._misleads(element, before, after) else ""

    def _misleads(self, element: Element, before: Judged, after: Judged) -> bool:
        """Return whether another policy lowers forward fidelity although it lowers the loss."""
        if element.kind not in (Kind.policy, Kind.queue):
            return False
        one, other = (
            fidelity(self.observed, judged.site, self.choosing, SUBJECTS, self.draws).over_all
            for judged in (before, after)
        )
        return one is not None and (other is None or other < one - LESS_FAITHFUL)

    def _explains(self, before: Judged, after: Judged) -> float:
        total = float(self.observed.wait[self.choosing].sum())
        fall = float((before.unexplained - after.unexplained)[self.choosing].sum())
        return fall / total if total > 0 else 0.0
