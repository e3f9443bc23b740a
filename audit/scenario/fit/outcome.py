"""What a search came to: told of the last 40 % of a log, which nothing was taken from.

Forward fidelity (``forwards``) is that of ``SUBJECTS`` attempts drawn from that part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.draws import Draws
from audit.model import Limit, Pool
from audit.scenario.fit import effort, judging, levels, rules, search
from audit.scenario.fit.effort import Affordable, Budget
from audit.scenario.fit.judging import Fidelity, Standing, fidelity
from audit.scenario.fit.observed import Floats, Observed, observe
from audit.scenario.fit.search import Gain, Judged, Parts, Searched, Tried
from audit.scenario.fit.site import RULES, Element, Site, applied
from audit.scenario.workload import NEVER, Bools

SUBJECTS: Final = 2_000
"""Attempts whose forward starts are compared."""


class Kept(NamedTuple):
    """An element that the site has, as far as is known."""

    tried: Tried
    told: Gain
    """By how much the loss falls over the last 40 %."""
    after: Standing
    """Over the last 40 %, with all that was kept up to this one."""


class Remains(NamedTuple):
    """A part of what is unexplained, as shares of all waiting in the last 40 %."""

    of: str
    before: float
    after: float


class Supported(NamedTuple):
    """A pool with its rules, and those other elements that the last 40 % support."""

    pool: Pool
    elements: tuple[Element, ...]
    before: Standing
    """Over the last 40 %, as the pool was assumed at first."""
    after: Standing
    behind: int
    """When the log ends, epoch s."""


class Outcome(NamedTuple):
    """What is known of a site."""

    observed: Observed
    parts: Parts
    assumed: Judged
    """As it was assumed at first."""
    fitted: Judged
    before: Standing
    after: Standing
    before_fidelity: Fidelity
    after_fidelity: Fidelity
    kept: tuple[Kept, ...]
    tried: tuple[Tried, ...]
    remains: tuple[Remains, ...]
    told: Bools
    """[n]: who is told of."""


def find(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    seconds: float,
    draws: Draws,
    since: int | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> Searched | None:
    """Return what was tried to find out how a site decides.

    Args:
        pool: what is known of it, and the policy that is assumed at first.
        since: from when on attempts are looked at; see ``affordable``.

    Returns:
        None where the log is too short to search, or too few of its jobs waited.
    """
    whole = observe(described, pool, now, since)
    parts = search.parts(whole)
    if not search.searchable(whole, parts):
        return None
    budget = Budget(whole, seconds)
    tried: list[Tried] = []

    def judged(one: rules.Judged) -> None:
        gain = one.element.evidence.gain or 0.0
        tried.append(Tried(one.element, None, gain, one.fails))
        progress(len(tried))

    site = Site(pool)
    if rules.searchable(whole):
        site = rules.search(whole, site, budget, judged).site
    early = observe(described.filter(pl.col("arrival_time") < parts.chosen), pool, now, since)
    number = len(tried)
    rest = search.search(early, parts, site, budget, draws, lambda one: progress(number + one))
    return Searched(rest.site, (*tried, *rest.tried), budget.ended)


def affordable(described: pl.DataFrame, pool: Pool, seconds: float) -> Affordable:
    """Return the part of a pool's log that a budget affords."""
    return effort.latest(described.filter(pl.col("pool") == pool.name), seconds)


def supported(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    tried: Sequence[Tried],
    draws: Draws,
    since: int | None = None,
) -> Supported:
    """The rules of the pool among what was kept that still gain where nothing was fitted.

    Each is judged together with those before it that do; see ``find`` for the arguments.
    """
    observed = observe(described, pool, now, since)
    parts = search.parts(observed)
    told = observed.judged & search.within(observed, (parts.chosen, parts.behind))
    assumed = present = search.judge(observed, Site(pool))
    elements = []
    for one in tried:
        if one.kept and one.element.kind in RULES:
            after = search.judge(observed, applied(present.site, one.element))
            # rules have passed conditions of their own (SPEC §11)
            if one.gain is None or _fall(observed, parts, present, after, told, draws).sure:
                elements.append(one.element)
                present = after
    return Supported(
        present.site.pool,
        tuple(elements),
        _standing(observed, parts, assumed, told),
        _standing(observed, parts, present, told),
        parts.behind,
    )


def outcome(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    tried: Sequence[Tried],
    draws: Draws,
    since: int | None = None,
) -> Outcome:
    """What was found out, told of the last 40 % of the log; see ``find``."""
    observed = observe(described, pool, now, since)
    parts = search.parts(observed)
    told = observed.judged & search.within(observed, (parts.chosen, parts.behind))
    assumed = search.judge(observed, Site(pool))
    present = assumed
    kept = []
    for one in tried:
        if one.kept:
            after = search.judge(observed, applied(present.site, one.element))
            fall = _fall(observed, parts, present, after, told, draws)
            kept.append(Kept(one, fall, _standing(observed, parts, after, told)))
            present = after
    return Outcome(
        observed,
        parts,
        assumed,
        present,
        _standing(observed, parts, assumed, told),
        _standing(observed, parts, present, told),
        fidelity(observed, assumed.site, told, SUBJECTS, draws),
        fidelity(observed, present.site, told, SUBJECTS, draws),
        tuple(kept),
        tuple(tried),
        _remains(observed, assumed, present, told),
        told,
    )


def _counted(observed: Observed, parts: Parts, *judged: Judged) -> tuple[Bools, Floats]:
    proposing = observed.judged & search.within(observed, (parts.first, parts.proposed))
    for one in judged:
        proposing &= ~one.decided.over_capacity
    last = judged[-1]
    return proposing, judging.losses(last.said, judging.rates(last.said, proposing))


def _fall(
    observed: Observed, parts: Parts, before: Judged, after: Judged, told: Bools, draws: Draws
) -> Gain:
    proposing, losses_after = _counted(observed, parts, before, after)
    losses_before = judging.losses(before.said, judging.rates(before.said, proposing))
    counted = told & ~before.decided.over_capacity & ~after.decided.over_capacity
    return search.mean_by_day(observed, losses_before - losses_after, counted, draws)


def _standing(observed: Observed, parts: Parts, one: Judged, told: Bools) -> Standing:
    _, losses = _counted(observed, parts, one)
    return judging.standing(observed, one.decided, one.unexplained, told, losses)


def _remains(
    observed: Observed, assumed: Judged, fitted: Judged, told: Bools
) -> tuple[Remains, ...]:
    """What is unexplained, by whether its owner had anything running, and by what came of it."""
    total = float(observed.wait[told].sum()) or 1.0
    busy = _owner_is_busy(observed)

    def parts(one: Judged) -> list[tuple[str, float]]:
        left = np.where(told, one.unexplained, 0.0)
        unforeseen = one.decided.ready == NEVER
        return [
            ("it would not have been started by then", float(left[unforeseen].sum())),
            ("it could start, its owner had others running", float(left[~unforeseen & busy].sum())),
            (
                "it could start, its owner had nothing running",
                float(left[~unforeseen & ~busy].sum()),
            ),
        ]

    return tuple(
        Remains(of, before / total, after / total)
        for (of, before), (_, after) in zip(parts(assumed), parts(fitted), strict=True)
    )


def _owner_is_busy(observed: Observed) -> Bools:
    """Whether each attempt's owner had something running just before its start."""
    work = observed.work
    kind = levels.kind_of(observed, Limit(most=0, per="user"))
    whose = np.flatnonzero(kind.inside & work.has_started)
    start = work.start[whose]
    use = levels.levels(observed, kind).use
    level, _ = levels.levels_in(use, kind, whose, start - 1, start)
    busy = np.zeros(len(work.start), np.bool_)
    busy[whose] = level > 1
    return busy
