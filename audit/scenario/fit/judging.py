"""How well a site is known: what it would have started when, against what it did.

Everything is judged on the observed states (``scenario.decisions``), so that nothing adds up. At
each instant of its wait an attempt is started or not, and the site as it is assumed says it would
or would not. With P(start | says so) and P(start | does not) from a part of the log,

    loss = mean over attempts of the mean over an attempt's instants of −ln P(what was observed)

so that each attempt weighs 1. Instants up to ``TOLERANCE_S`` after the first at which it would be
started are one with that: schedulers need a moment. Both P are smoothed by half a start in one
instant more of each.

*Unexplained* is a share of all waiting (SPEC §10): the seconds of room after an attempt could have
started, but for those in which a limit or a window has closed since or less was in force, and all
room of those that would not have been started by then (*unforeseen*).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.draws import Draws
from audit.metrics.quantiles import spearman
from audit.model import Limit, Policy, Pool
from audit.scenario.decisions import decisions
from audit.scenario.fit import chains, days
from audit.scenario.fit.hours import forbidden_from
from audit.scenario.fit.levels import kind_of, levels, levels_in
from audit.scenario.fit.observed import Floats, Observed, Spans
from audit.scenario.fit.occasions import by_hour, days_of, local
from audit.scenario.fit.site import Site
from audit.scenario.forward import forward_starts
from audit.scenario.workload import (
    NEVER,
    Bools,
    Ints,
    Workload,
    limited,
    workload_of_rows,
)

SMOOTHING: Final = 0.5


class Decided(NamedTuple):
    """Decisions of the assumed site; an element per attempt."""

    ready: Ints  # when it would have started it, in [arrival, start]; NEVER: not by its start
    over_capacity: Bools  # more was in use than the capacity: not judged


class Instants(NamedTuple):
    """At how many instants of its wait an attempt was said to be started, and how often it was."""

    yes: Ints  # [n]
    no: Ints  # [n]
    foreseen: Bools  # [n], whether it was said when it started; it starts once


class Rates(NamedTuple):
    """P(start | the site is said to start it), and | not to."""

    yes: float
    no: float


class Standing(NamedTuple):
    """How well a site is known, over a part of a log."""

    unexplained: float  # share of all waiting, in [0, 1]
    agreement: float | None  # of those that waited longer than the tolerance: on time
    foreseen: float | None  # of the same
    loss: float | None
    attempts: int


def pool_of(site: Site, observed: Observed) -> Pool:
    """The pool of a site, with what was in force."""
    pool = site.pool
    made = days.steps(list(site.ceilings), pool.resource.value, pool.capacity)
    return pool._replace(steps=made) if made and not pool.steps else pool


def assumed(observed: Observed, site: Site) -> tuple[Workload, Ints, Bools]:
    """The workload of a site as it is assumed.

    Returns:
        The schedule; the index in ``observed`` of each of its attempts; and [n] of ``observed``,
        whether an attempt started although a chain held it.
    """
    pool = pool_of(site, observed)
    free = pool._replace(limits=(), windows=(), policy=Policy())
    # most sites that are tried differ by a rule alone
    unlimited, described, place, broken = observed.once(
        "unlimited", (free, site.users), lambda: _unlimited(observed, free, site.users), most=2
    )
    return limited(unlimited, described, pool, observed.now), place, broken


def _unlimited(
    observed: Observed, pool: Pool, users: Sequence[str]
) -> tuple[Workload, pl.DataFrame, Ints, Bools]:
    """The workload of a pool without limits, its rows of the log, and as ``assumed``."""
    described = observed.described
    broken = np.zeros(len(observed.rows), np.bool_)
    if users:
        of_users = observed.frame["user"].is_in(list(users)).fill_null(value=False)
        held, broken = chains.held_until(observed, of_users.to_numpy())
        arrival = described["arrival_time"].to_numpy().copy()
        arrival[observed.rows] = held
        described = described.with_columns(arrival_time=pl.Series(arrival))
    work, rows = workload_of_rows(described, pool, observed.now)
    place = np.zeros(described.height, np.int64)
    place[observed.rows] = np.arange(len(observed.rows))
    return work, described[rows], place[rows], broken


def decide(observed: Observed, site: Site) -> Decided:
    """When the site as it is assumed would have started each attempt."""
    work, place, broken = assumed(observed, site)
    found = decisions(work, site.pool.policy)
    ready, over = np.full(len(place), NEVER), np.zeros(len(place), np.bool_)
    ready[place] = np.where(broken[place], NEVER, found.ready)
    over[place] = found.over_capacity
    return Decided(ready, over)


# --- loss ----------------------------------------------------------------------------------------


def told(observed: Observed, ready: Ints) -> Instants:
    """Return the decisions about each attempt at the instants of its wait."""
    work, instants = observed.work, observed.instants
    foreseen = ready != NEVER
    arrival, start = observed.once("places", None, lambda: _places(observed))
    waited = np.where(foreseen, 0, start - arrival)
    later = np.flatnonzero(foreseen & (ready > work.arrival))
    waited[later] = np.searchsorted(instants, ready[later]) - arrival[later]
    after = np.zeros(len(ready), np.int64)
    late = np.flatnonzero(foreseen & (work.start - np.where(foreseen, ready, 0) > TOLERANCE_S))
    # its start is an instant, too
    after[late] = start[late] + 1 - np.searchsorted(instants, ready[late] + TOLERANCE_S + 1)
    return Instants(
        np.where(foreseen, 1 + after, 0), np.where(foreseen, waited, waited + 1), foreseen
    )


def _places(observed: Observed) -> tuple[Ints, Ints]:
    """Where among the instants each attempt's arrival and start are, [n] each."""
    work, instants = observed.work, observed.instants
    return np.searchsorted(instants, work.arrival), np.searchsorted(instants, work.start)


def rates(said: Instants, chosen: Bools) -> Rates:
    """Both P, from those ``chosen``; each attempt weighs 1."""
    weight = chosen / (said.yes + said.no)
    foreseen = said.foreseen
    yes = (weight[foreseen].sum() + SMOOTHING) / ((weight * said.yes).sum() + 1)
    no = (weight[~foreseen].sum() + SMOOTHING) / ((weight * said.no).sum() + 1)
    return Rates(float(yes), float(no))


def losses(said: Instants, rates: Rates) -> Floats:
    """The loss of each attempt, [n], ≥ 0."""
    started = np.where(said.foreseen, np.log(rates.yes), np.log(rates.no))
    kept_yes = (said.yes - said.foreseen) * np.log1p(-rates.yes)
    kept_no = (said.no - ~said.foreseen) * np.log1p(-rates.no)
    each: Floats = -(started + kept_yes + kept_no) / (said.yes + said.no)
    return each


# --- what stays unexplained ----------------------------------------------------------------------


def unexplained(observed: Observed, site: Site, decided: Decided) -> Floats:
    """The seconds of each attempt's wait that stay unexplained, [n], ≥ 0."""
    spans = observed.spans
    ready = decided.ready[spans.job]
    unforeseen = (ready == NEVER) & ~decided.over_capacity[spans.job]
    since = np.where(
        unforeseen, spans.since, np.minimum(np.maximum(spans.since, ready), spans.until)
    )
    idle = Spans(spans.job, since, spans.until)
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
    """For how long of each span a window forbids the start of its attempt."""
    begin = local(spans.since, pool.zone)
    place, since, until = by_hour(begin, spans.seconds)
    job = spans.job[place]
    closed = until
    for window in pool.windows:
        held = observed.within(window)[job] & days_of(window, since)
        forbidden = forbidden_from(window, since, observed.reach[job])
        closed = np.where(held, np.minimum(closed, forbidden), closed)
    seconds: Floats = np.bincount(place, until - closed, len(begin)).astype(np.float64)
    return seconds


def _at_limit(observed: Observed, pool: Pool, limit: Limit, spans: Spans) -> Bools:
    """In which spans a start would break a limit."""
    kind = kind_of(observed, limit)
    which = np.flatnonzero(kind.inside[spans.job] & days_of(limit, local(spans.since, pool.zone)))
    job, since = spans.job[which], spans.since[which]
    at, _ = levels_in(levels(observed, kind).use, kind, job, since, since + 1)
    broken = np.zeros(len(spans.job), np.bool_)
    broken[which] = at > limit.most
    return broken


def _under_ceiling(observed: Observed, ceiling: days.Ceiling, spans: Spans) -> Bools:
    """In which spans an attempt would not fit under a ceiling."""
    inside = (spans.since >= ceiling.since) & (spans.since < ceiling.until)
    used = days.used_at(observed, spans.since)
    asked = observed.size[spans.job]
    above: Bools = inside & (used + asked > ceiling.most)
    return above


def standing(
    observed: Observed, decided: Decided, left: Floats, chosen: Bools, loss: Floats
) -> Standing:
    """How well a site is known over the attempts ``chosen``.

    Args:
        left: what it leaves unexplained, [n], s.
    """
    chosen = chosen & observed.judged
    waits = observed.wait
    total = float(waits[chosen].sum())
    told_of = chosen & ~decided.over_capacity
    waited = told_of & (waits > TOLERANCE_S)
    foreseen = decided.ready != NEVER
    on_time = foreseen & (observed.work.start - np.where(foreseen, decided.ready, 0) <= TOLERANCE_S)

    def share(of: Bools) -> float | None:
        return float(of[waited].mean()) if waited.any() else None

    return Standing(
        float(left[chosen].sum()) / total if total > 0 else 0.0,
        share(on_time),
        share(foreseen),
        float(loss[told_of].mean()) if told_of.any() else None,
        int(chosen.sum()),
    )


# --- forward fidelity: whether attempts that would wait longer than others did (SPEC §10) --------


class Fidelity(NamedTuple):
    """How forward starts agree with the observed ones; None where nothing can be ranked."""

    over_all: float | None
    waited: float | None
    """Over those that waited longer than the tolerance."""
    attempts: int


def fidelity(observed: Observed, site: Site, chosen: Bools, number: int, draws: Draws) -> Fidelity:
    """That of a site as it is assumed.

    Args:
        chosen: [n], the attempts to draw from.
        number: of attempts to draw, without replacement.
        draws: whose seed is taken.
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
    """How long each of ``subjects`` would wait, simulated from its snapshot, s; NEVER: for ever."""
    work, place, _ = assumed(observed, site)
    where = np.zeros(len(place), np.int64)
    where[place] = np.arange(len(place))
    asked = where[subjects]
    start = forward_starts(work, site.pool.policy, np.sort(asked)).start[asked]
    waits: Ints = np.where(start == NEVER, NEVER, start - observed.work.arrival[subjects])
    return waits


def _correlation(modelled: Ints, waits: Ints) -> float | None:
    if len(waits) < 3:
        return None
    columns = (amounts.astype(np.float64)[:, None] for amounts in (modelled, waits))
    found = float(spearman(*columns)[0])
    return None if np.isnan(found) else found
