"""The result of a search, evaluated over the last 40 % of the log, which the search does not fit.

Forward fidelity is that of ``SUBJECTS`` attempts drawn from that part.
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
from audit.scenario.fit.observed import Observed, observe
from audit.scenario.fit.search import Gain, Judged, Parts, Searched, Tried, gain, judge
from audit.scenario.fit.site import RULES, Element, Site, applied
from audit.scenario.workload import NEVER, Bools

SUBJECTS: Final = 2_000
"""Attempts whose forward starts are compared."""


class Kept(NamedTuple):
    """An element that is kept."""

    tried: Tried
    held_out: Gain
    """The fall of the loss over the last 40 %."""
    after: Standing
    """Over the last 40 %, with all elements up to this one."""


class Remains(NamedTuple):
    """A part of the unexplained waiting, as shares of all waiting in the last 40 %."""

    of: str
    before: float
    after: float


class Supported(NamedTuple):
    """A pool with its rules, and those other elements that the last 40 % support."""

    pool: Pool
    elements: tuple[Element, ...]
    before: Standing
    """Over the last 40 %, with the initial assumptions."""
    after: Standing
    behind: int
    """The end of the log, epoch s."""


class Outcome(NamedTuple):
    """The evaluation of a search; standings are over the last 40 %."""

    observed: Observed
    parts: Parts
    assumed: Judged
    """The site with the initial assumptions."""
    fitted: Judged
    before: Standing
    after: Standing
    before_fidelity: Fidelity
    after_fidelity: Fidelity
    kept: tuple[Kept, ...]
    tried: tuple[Tried, ...]
    remains: tuple[Remains, ...]
    held_out: Bools
    """[n]: the judged attempts of the last 40 %."""


def find(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    seconds: float,
    draws: Draws,
    since: int | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> Searched | None:
    """Search the elements of a site.

    Args:
        pool: with the configured rules and the policy that is assumed at first.
        since: the arrival from which attempts are judged; see ``affordable``.
        progress: called with the number of elements tried.

    Returns:
        None if the log is too short to search, or too few of its jobs waited.
    """
    whole = observe(described, pool, now, since)
    parts = search.parts(whole)
    if not search.searchable(whole, parts):
        return None
    budget = Budget(whole, seconds)
    tried: list[Tried] = []

    def watch(element: Element, fails: str) -> None:
        tried.append(Tried(element, None, element.evidence.gain or 0.0, fails))
        progress(len(tried))

    site = Site(pool)
    if rules.searchable(whole):
        site = rules.search(whole, site, budget, watch).site
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
    """Return the pool with the kept rules, and the other kept elements that gain where held out.

    Each element is judged with the supported ones before it; see ``find`` for the arguments.
    """
    observed = observe(described, pool, now, since)
    parts = search.parts(observed)
    held_out = search.within(observed, parts.chosen, parts.behind)
    assumed = present = judge(observed, Site(pool))
    elements = []
    for one in tried:
        if one.kept and one.element.kind in RULES:
            after = judge(observed, applied(present.site, one.element))
            # inferred rules have passed SPEC §11, and need no gain
            if one.gain is None or gain(observed, parts, present, after, held_out, draws).sure:
                elements.append(one.element)
                present = after
    return Supported(
        present.site.pool,
        tuple(elements),
        _standing(observed, parts, assumed, held_out),
        _standing(observed, parts, present, held_out),
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
    """Return the evaluation of the kept elements; see ``find`` for the arguments."""
    observed = observe(described, pool, now, since)
    parts = search.parts(observed)
    held_out = search.within(observed, parts.chosen, parts.behind)
    assumed = present = judge(observed, Site(pool))
    kept = []
    for one in tried:
        if one.kept:
            after = judge(observed, applied(present.site, one.element))
            fall = gain(observed, parts, present, after, held_out, draws)
            kept.append(Kept(one, fall, _standing(observed, parts, after, held_out)))
            present = after
    return Outcome(
        observed,
        parts,
        assumed,
        present,
        _standing(observed, parts, assumed, held_out),
        _standing(observed, parts, present, held_out),
        fidelity(observed, assumed.site, held_out, SUBJECTS, draws),
        fidelity(observed, present.site, held_out, SUBJECTS, draws),
        tuple(kept),
        tuple(tried),
        _remains(observed, assumed, present, held_out),
        held_out,
    )


def _standing(observed: Observed, parts: Parts, one: Judged, held_out: Bools) -> Standing:
    [losses] = search.losses(observed, parts, one)
    return judging.standing(observed, one.decided, one.unexplained, held_out, losses)


def _remains(
    observed: Observed, assumed: Judged, fitted: Judged, held_out: Bools
) -> tuple[Remains, ...]:
    """Return the parts of the unexplained waiting before and after the fit."""
    total = float(observed.wait[held_out].sum()) or 1.0
    busy = _owner_is_busy(observed)
    shares = []
    for one in (assumed, fitted):
        left = np.where(held_out, one.unexplained, 0.0)
        could = one.decided.ready != NEVER
        shares.append(
            [float(left[part].sum()) / total for part in (~could, could & busy, could & ~busy)]
        )
    names = (
        "the model had not started it by its start",
        "the model would have started it, and its user had other running jobs",
        "the model would have started it, and its user had no running jobs",
    )
    return tuple(Remains(*row) for row in zip(names, *shares, strict=True))


def _owner_is_busy(observed: Observed) -> Bools:
    """Return whether the user of each attempt had another one running just before its start."""
    work = observed.work
    kind = levels.kind_of(observed, Limit(most=0, per="user"))
    whose = np.flatnonzero(kind.inside & work.has_started)
    start = work.start[whose]
    use = levels.use_of(observed, kind)
    level, _ = levels.levels_in(use, kind, whose, start - 1, start)
    busy = np.zeros(len(work.start), np.bool_)
    busy[whose] = level > 1
    return busy
