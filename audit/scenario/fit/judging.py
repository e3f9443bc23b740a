"""The fit of a site: starts that the assumed site would decide, against the observed ones.

A site is judged on the observed states (``scenario.decisions``), so that errors do not accumulate.
At each instant of its wait, an attempt starts or does not, and the site predicts a start or none.
With P(start | predicted) and P(start | not predicted) from a part of the log,

    loss = mean over attempts of the mean over an attempt's instants of −ln P(observation)

so that each attempt weighs 1. Instants up to ``TOLERANCE_S`` after the first prediction count as
one with it: schedulers need a moment. Both P are smoothed by half a start in one more instant each.

*Unexplained* is a share of all waiting (SPEC §10): the seconds in which an attempt would have
fitted after it could have started, except while a limit, a window or a ceiling forbids it; and all
seconds in which an *unforeseen* attempt, one that the site would not have started by its start,
would have fitted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.draws import Draws
from audit.metrics.quantiles import spearman
from audit.model import Limit, Policy, Pool
from audit.scenario.decisions import decisions
from audit.scenario.fit import days
from audit.scenario.fit.hours import forbidden_from
from audit.scenario.fit.levels import kind_of, levels_in, use_of
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.fit.occasions import Spans, by_hour, days_of, local
from audit.scenario.fit.site import Site
from audit.scenario.forward import forward_starts
from audit.scenario.workload import NEVER, Bools, Ints, Workload, limited, workload_of_rows

SMOOTHING: Final = 0.5


class Decided(NamedTuple):
    """The decisions of a site; an element per attempt."""

    ready: Ints  # when it would have started the attempt, in [arrival, start]; NEVER: not by then
    over_capacity: Bools  # use exceeded the capacity, so that there is no decision


class Instants(NamedTuple):
    """Numbers of instants in the wait of each attempt, [n]."""

    yes: Ints  # with a predicted start
    no: Ints  # without
    foreseen: Bools  # whether the observed start was predicted


class Rates(NamedTuple):
    """P(start | predicted), and P(start | not predicted)."""

    yes: float
    no: float


class Standing(NamedTuple):
    """The fit of a site over a part of a log."""

    unexplained: float  # share of all waiting, in [0, 1]
    agreement: float | None  # share on time of the attempts that waited longer than the tolerance
    foreseen: float | None  # share foreseen of the same
    loss: float | None
    attempts: int


def pool_of(site: Site, observed: Observed) -> Pool:
    """Return the pool of a site, with its ceilings as capacity steps."""
    pool = site.pool
    made = days.steps(list(site.ceilings), pool.resource.value, pool.capacity)
    return pool._replace(steps=made) if made and not pool.steps else pool


def assumed(observed: Observed, site: Site) -> Workload:
    """Return the workload of a site, with the attempts of ``observed``."""
    pool = pool_of(site, observed)
    free = pool._replace(limits=(), windows=(), policy=Policy())
    # most sites on trial differ by a rule alone
    unlimited: Workload = observed.once(
        "unlimited",
        free,
        lambda: workload_of_rows(observed.described, free, observed.now)[0],
        most=2,
    )
    described = observed.described[observed.rows]
    if site.ahead is not None:
        first = described[site.ahead.by].is_in(site.ahead.names).fill_null(value=False)
        unlimited = unlimited._replace(priority=first.cast(pl.Float64).to_numpy())
    return limited(unlimited, described, pool, observed.now)


def decide(observed: Observed, site: Site) -> Decided:
    """Return when a site would have started each attempt."""
    found = decisions(assumed(observed, site), site.policy)
    return Decided(found.ready, found.over_capacity)


# --- loss ----------------------------------------------------------------------------------------


def predicted(observed: Observed, ready: Ints) -> Instants:
    """Return the numbers of instants with and without a predicted start."""
    work, instants = observed.work, observed.instants
    foreseen = ready != NEVER
    arrival, start = observed.once(
        "places", None, lambda: np.searchsorted(instants, (work.arrival, work.start))
    )
    waited = np.where(foreseen, 0, start - arrival)
    later = np.flatnonzero(foreseen & (ready > work.arrival))
    waited[later] = np.searchsorted(instants, ready[later]) - arrival[later]
    after = np.zeros(len(ready), np.int64)
    late = np.flatnonzero(foreseen & (work.start - np.where(foreseen, ready, 0) > TOLERANCE_S))
    # the start is an instant, too
    after[late] = start[late] + 1 - np.searchsorted(instants, ready[late] + TOLERANCE_S + 1)
    return Instants(
        np.where(foreseen, 1 + after, 0), np.where(foreseen, waited, waited + 1), foreseen
    )


def rates(number: Instants, chosen: Bools) -> Rates:
    """Return both P over the ``chosen`` attempts, each of weight 1."""
    weight = chosen / (number.yes + number.no)
    foreseen = number.foreseen
    yes = (weight[foreseen].sum() + SMOOTHING) / ((weight * number.yes).sum() + 1)
    no = (weight[~foreseen].sum() + SMOOTHING) / ((weight * number.no).sum() + 1)
    return Rates(float(yes), float(no))


def losses(number: Instants, rates: Rates) -> Floats:
    """Return the loss of each attempt, [n], ≥ 0."""
    started = np.where(number.foreseen, np.log(rates.yes), np.log(rates.no))
    kept_yes = (number.yes - number.foreseen) * np.log1p(-rates.yes)
    kept_no = (number.no - ~number.foreseen) * np.log1p(-rates.no)
    each: Floats = -(started + kept_yes + kept_no) / (number.yes + number.no)
    return each


# --- unexplained waiting -------------------------------------------------------------------------


def unexplained(observed: Observed, site: Site, decided: Decided) -> Floats:
    """Return the unexplained seconds of each attempt's wait, [n], ≥ 0."""
    spans = observed.spans
    ready = decided.ready[spans.job]
    unforeseen = (ready == NEVER) & ~decided.over_capacity[spans.job]
    since = np.where(
        unforeseen, spans.since, np.minimum(np.maximum(spans.since, ready), spans.until)
    )
    idle = spans._replace(since=since)
    seconds: Floats = idle.seconds.astype(np.float64)
    forbidden: Bools = ~unforeseen & (seconds > 0)
    if site.pool.windows:
        seconds -= np.where(forbidden, _closed_seconds(observed, site.pool, idle), 0.0)
    for limit in site.pool.limits:
        seconds[forbidden & _at_limit(observed, site.pool, limit, idle)] = 0.0
    for ceiling in site.ceilings:
        seconds[forbidden & _under_ceiling(observed, ceiling, idle)] = 0.0
    totals: Floats = np.bincount(spans.job, seconds, len(decided.ready)).astype(np.float64)
    return totals


def _closed_seconds(observed: Observed, pool: Pool, spans: Spans) -> Floats:
    """Return the seconds of each span during which a window forbids the start."""
    place, since, until = by_hour(local(spans.since, pool.zone), spans.seconds)
    job = spans.job[place]
    closed = until
    for window in pool.windows:
        held = observed.within(window)[job] & days_of(window, since)
        forbidden = forbidden_from(window, since, observed.reach[job])
        closed = np.where(held, np.minimum(closed, forbidden), closed)
    seconds: Floats = np.bincount(place, until - closed, len(spans.job)).astype(np.float64)
    return seconds


def _at_limit(observed: Observed, pool: Pool, limit: Limit, spans: Spans) -> Bools:
    """Return the spans that begin while a start would break a limit."""
    kind = kind_of(observed, limit)
    which = np.flatnonzero(kind.inside[spans.job] & days_of(limit, local(spans.since, pool.zone)))
    job, since = spans.job[which], spans.since[which]
    at, _ = levels_in(use_of(observed, kind), kind, job, since, since + 1)
    broken = np.zeros(len(spans.job), np.bool_)
    broken[which] = at > limit.most
    return broken


def _under_ceiling(observed: Observed, ceiling: days.Ceiling, spans: Spans) -> Bools:
    """Return the spans that begin while the attempt would not fit under a ceiling."""
    inside = (spans.since >= ceiling.since) & (spans.since < ceiling.until)
    needed = days.used_at(observed, spans.since) + observed.size[spans.job]
    above: Bools = inside & (needed > ceiling.most)
    return above


def standing(
    observed: Observed, decided: Decided, left: Floats, chosen: Bools, loss: Floats
) -> Standing:
    """Return the fit of a site over the ``chosen`` attempts.

    Args:
        left: unexplained waiting, [n], s.
    """
    chosen = chosen & observed.judged
    waits = observed.wait
    total = float(waits[chosen].sum())
    counted = chosen & ~decided.over_capacity
    waited = counted & (waits > TOLERANCE_S)
    foreseen = decided.ready != NEVER
    on_time = foreseen & (observed.work.start - np.where(foreseen, decided.ready, 0) <= TOLERANCE_S)

    def share(of: Bools) -> float | None:
        return float(of[waited].mean()) if waited.any() else None

    return Standing(
        float(left[chosen].sum()) / total if total > 0 else 0.0,
        share(on_time),
        share(foreseen),
        float(loss[counted].mean()) if counted.any() else None,
        int(chosen.sum()),
    )


# --- forward fidelity (SPEC §10) -----------------------------------------------------------------


class Fidelity(NamedTuple):
    """Rank correlations of modelled and observed waits; None where there is nothing to rank."""

    over_all: float | None
    waited: float | None  # over the attempts that waited longer than the tolerance
    attempts: int


def fidelity(observed: Observed, site: Site, chosen: Bools, number: int, draws: Draws) -> Fidelity:
    """Return the forward fidelity of a site.

    Args:
        chosen: the attempts to draw from, [n].
        number: the number of attempts to draw, without replacement.
        draws: the source of the seed.
    """
    whose = np.flatnonzero(chosen)
    if len(whose) > number:
        drawn = np.random.Generator(np.random.PCG64(draws.seed))
        whose = np.sort(drawn.choice(whose, number, replace=False))
    modelled = forward_waits(observed, site, whose)
    known = modelled != NEVER
    modelled, waits = modelled[known], observed.wait[whose[known]]
    waited = waits > TOLERANCE_S
    return Fidelity(
        _correlation(modelled, waits), _correlation(modelled[waited], waits[waited]), len(waits)
    )


def forward_waits(observed: Observed, site: Site, subjects: Ints) -> Ints:
    """Return the waits of ``subjects``, each simulated from its snapshot, s; NEVER: for ever."""
    order = np.argsort(subjects)
    start = np.empty(len(subjects), np.int64)
    started = forward_starts(assumed(observed, site), site.policy, subjects[order])
    start[order] = started.start[subjects[order]]
    waits: Ints = np.where(start == NEVER, NEVER, start - observed.work.arrival[subjects])
    return waits


def _correlation(modelled: Ints, waits: Ints) -> float | None:
    if len(waits) < 3:
        return None
    columns = (amounts.astype(np.float64)[:, None] for amounts in (modelled, waits))
    found = float(spearman(*columns)[0])
    return None if np.isnan(found) else found
