"""Which elements a site has: proposed by one part of a log, kept by another, told of a third.

By time of arrival the first 40 % of a log *propose*: trials and both P are theirs. The next 20 %
*choose*: in each round the element is kept whose loss there falls most, if the lower bound of the
fall, paired by day, is above 0, no more is left unexplained and, under another policy, forward
fidelity is not less. When none is, another stage looks for rules that are younger than what
proposed: the older half of the choosing part proposes then, the younger chooses. What is kept is
told of the last 40 %, which nothing has been taken from.

Source: SPEC §10, *Inferring a site*.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from audit.metrics.draws import Draws
from audit.scenario.fit import candidates, judging
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.judging import Decided, Instants, fidelity
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.fit.site import FORBIDS, Element, Kind, Site, applied, widened
from audit.scenario.workload import NEVER, Bools

PROPOSES: Final = 0.4
CHOOSES: Final = 0.6
STAGES: Final = 3
DAY_S: Final = 86_400
LEAST: Final = 0.001
"""Of the loss: what lets it fall by less is not worth a word."""
SUBJECTS: Final = 600
"""Attempts whose forward starts tell whether a policy misleads."""
LESS_FAITHFUL: Final = 0.01
"""By so much forward fidelity may be less under another policy."""
EXPLAINS: Final = 0.0005
"""Of all waiting: what forbids starts must explain so much."""
SAME: Final = 0.1
"""Of these: what changes less does as well."""


class Gain(NamedTuple):
    """By how much the loss falls, with its 95 % interval."""

    value: float
    lower: float | None
    upper: float | None

    @property
    def sure(self) -> bool:
        """Whether it falls at all."""
        return self.lower is not None and self.lower > 0


class Tried(NamedTuple):
    """An element that was judged, and what it changed over those who choose."""

    stage: int
    round: int
    element: Element
    gain: Gain
    explains: float
    """By how much what is unexplained falls, as a share of their waiting."""
    kept: bool


class Stage(NamedTuple):
    """Who proposes and who chooses, by time of arrival: spans [since, until)."""

    proposing: tuple[int, int]
    choosing: tuple[int, int]


class Judged(NamedTuple):
    """What is known of a site as it is assumed, over a log."""

    site: Site
    decided: Decided
    said: Instants
    unexplained: Floats
    """Seconds of each attempt's wait, [n]."""


class Searched(NamedTuple):
    """What a search came to."""

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
    """Those of a whole log."""
    first, last = observed.first, int(observed.work.arrival.max(initial=observed.first))
    span = last - first
    return Parts(first, first + int(PROPOSES * span), first + int(CHOOSES * span), last + 1)


def stages(parts: Parts) -> list[Stage]:
    """The stages of a search, in the first 60 % of a log."""
    since, proposed = parts.first, parts.proposed
    found = []
    for _ in range(STAGES):
        found.append(Stage((since, proposed), (proposed, parts.chosen)))
        since, proposed = proposed, (proposed + parts.chosen) // 2
    return found


def within(observed: Observed, span: tuple[int, int]) -> Bools:
    """Which attempts arrive in a span, [n]."""
    inside: Bools = (observed.work.arrival >= span[0]) & (observed.work.arrival < span[1])
    return inside


def judge(observed: Observed, site: Site) -> Judged:
    """What a site as it is assumed would have done, and what that says of each attempt."""
    decided = judging.decide(observed, site)
    said = judging.told(observed, decided.ready)
    return Judged(site, decided, said, judging.unexplained(observed, site, decided))


def gain(
    observed: Observed, before: Judged, after: Judged, stage: Stage, draws: Draws, kind: int = 0
) -> Gain:
    """By how much the loss falls over those who choose, P being of those who propose."""
    counted = observed.judged & ~before.decided.over_capacity & ~after.decided.over_capacity
    proposing = counted & within(observed, stage.proposing)
    choosing = counted & within(observed, stage.choosing)
    fall = _losses(before, proposing) - _losses(after, proposing)
    return mean_by_day(observed, fall, choosing, draws, kind)


def _losses(one: Judged, proposing: Bools) -> Floats:
    return judging.losses(one.said, judging.rates(one.said, proposing))


def mean_by_day(
    observed: Observed, values: Floats, chosen: Bools, draws: Draws, kind: int = 0
) -> Gain:
    """The mean of values over attempts ``chosen``, with an interval by the days they arrived on."""
    if not chosen.any():
        return Gain(0.0, None, None)
    day = (observed.work.arrival[chosen] - observed.first) // DAY_S
    days, place = np.unique(day, return_inverse=True)
    sums: Floats = np.bincount(place, values[chosen]).astype(np.float64)
    counts = np.bincount(place).astype(np.float64)
    resamples = draws.of(len(days), kind)
    interval = resamples.ratio(np.arange(len(days)), sums, counts)
    return Gain(float(values[chosen].mean()), *interval)


def search(
    observed: Observed,
    parts: Parts,
    site: Site,
    seconds: float,
    draws: Draws,
    progress: Callable[[int], None] = lambda tried: None,
) -> Searched:
    """The site with the elements that are kept, and all that was tried.

    Args:
        observed: of the first 60 % of the log alone; what comes later is not looked at.
        seconds: what it may take, of one processor; see ``effort``.
    """
    rounds = _Rounds(observed, Budget(observed, seconds), draws, progress)
    present = judge(observed, site)
    tried: list[Tried] = []
    for number, stage in enumerate(stages(parts)):
        hopeless: set[Element] = set()
        for turn in itertools.count():
            if not rounds.budget.propose():
                break
            judged, best = rounds.one(present, stage, hopeless, number, turn)
            tried += judged
            if best is None:
                break
            present = best
    whole = (parts.first, parts.chosen)
    tidy = rounds.tidied(site, present, Stage(whole, whole), tried)
    return Searched(tidy, tuple(tried), rounds.budget.ended)


class _Rounds:
    """Rounds of a search, each of which tries what is proposed and finds the best of it."""

    def __init__(
        self,
        observed: Observed,
        budget: Budget,
        draws: Draws,
        progress: Callable[[int], None],
    ) -> None:
        self.observed = observed
        self.budget = budget
        self.draws = draws
        self.progress = progress
        self.number = 0

    def one(
        self, present: Judged, stage: Stage, hopeless: set[Element], number: int, turn: int
    ) -> tuple[list[Tried], Judged | None]:
        """All that was tried in a round, and the site with what is kept of it, if anything is.

        What gains nothing is added to ``hopeless``, and not tried again.
        """
        tried: list[Tried] = []
        best: tuple[int, Judged] | None = None
        proposing = within(self.observed, stage.proposing)
        for element in _elements(self.observed, present, proposing, number):
            if element in hopeless or not self.budget.judge():
                continue
            self.number += 1
            self.progress(self.number)
            other = judge(self.observed, applied(present.site, element))
            fall = gain(self.observed, present, other, stage, self.draws)
            explains = self._explains(present, other, stage)
            tried.append(Tried(number, turn, element, fall, explains, kept=False))
            if fall.value <= 0:
                hopeless.add(element)
            worth = fall.value >= LEAST * self._loss(present, stage)
            worth &= explains >= (EXPLAINS if element.kind in FORBIDS else 0)
            worth &= fall.sure and self._changes(present, other, stage)
            better = best is None or fall.value > tried[best[0]].gain.value
            if worth and better and not self._misleads(element, present, other, stage):
                best = len(tried) - 1, other
        if best is None:
            return tried, None
        tried[best[0]] = tried[best[0]]._replace(kept=True)
        return tried, best[1]

    def _misleads(self, element: Element, before: Judged, after: Judged, stage: Stage) -> bool:
        """Whether another policy decides better at each instant, but leads further astray."""
        if element.kind is not Kind.policy:
            return False
        choosing = self.observed.judged & within(self.observed, stage.choosing)
        one, other = (
            fidelity(self.observed, judged.site, choosing, SUBJECTS, self.draws).over_all
            for judged in (before, after)
        )
        return one is not None and (other is None or other < one - LESS_FAITHFUL)

    def _changes(self, before: Judged, after: Judged, stage: Stage) -> bool:
        """Whether anything is said otherwise of those who choose: P alone may change, too."""
        choosing = within(self.observed, stage.choosing)
        return bool((before.decided.ready != after.decided.ready)[choosing].any())

    def _loss(self, present: Judged, stage: Stage) -> float:
        counted = self.observed.judged & ~present.decided.over_capacity
        proposing = counted & within(self.observed, stage.proposing)
        choosing = counted & within(self.observed, stage.choosing)
        return float(_losses(present, proposing)[choosing].mean()) if choosing.any() else 0.0

    def tidied(self, site: Site, present: Judged, stage: Stage, tried: list[Tried]) -> Site:
        """The same with the widest scopes that do as well, and without what became needless.

        What was ``tried`` is changed accordingly.
        """
        for place, one in enumerate(tried):
            if not one.kept or one.element.kind not in FORBIDS:
                continue
            for element in [None, *widened(one.element)]:
                kept = [element if other is one else other.element for other in tried if other.kept]
                elements = [each for each in kept if each is not None]
                other = judge(self.observed, functools.reduce(applied, elements, site))
                fall = gain(self.observed, other, present, stage, self.draws)
                least = SAME * LEAST * self._loss(present, stage)
                alike = fall.value < least and not self._forbids_more(present, other)
                if alike and self._explains(other, present, stage) < SAME * EXPLAINS:
                    tried[place] = one._replace(
                        element=element or one.element, kept=element is not None
                    )
                    present = other
                    break
        return present.site

    def _forbids_more(self, before: Judged, after: Judged) -> bool:
        """Whether starts that were observed are forbidden now: hidden by a loss over many."""
        judged = self.observed.judged
        one, other = (
            int((judged & (found.decided.ready == NEVER)).sum()) for found in (before, after)
        )
        return other > one + SAME * LEAST * int(judged.sum())

    def _explains(self, before: Judged, after: Judged, stage: Stage) -> float:
        choosing = self.observed.judged & within(self.observed, stage.choosing)
        total = float(self.observed.wait[choosing].sum())
        fall = float((before.unexplained - after.unexplained)[choosing].sum())
        return fall / total if total > 0 else 0.0


def _elements(
    observed: Observed, present: Judged, proposing: Bools, number: int
) -> Iterator[Element]:
    """What to try in a round of a stage, each once; after the first stage rules alone."""
    found = candidates.propose(
        observed, present.site, present.decided, present.unexplained, proposing
    )
    if number > 0:
        found = [element for element in found if element.kind in FORBIDS]
    else:
        found += candidates.policies(observed, present.site)
        found += candidates.whole_nodes(observed, present.site)
    yield from dict.fromkeys(found)
