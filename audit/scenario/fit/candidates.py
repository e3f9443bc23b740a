"""What may be so at a site, by what the trials say: elements to judge.

A trial is the first instant at which the site, as it is assumed so far, would have started an
attempt. So what is proposed explains what that does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

import numpy as np
import polars as pl

from audit.model import Backfill, Order, Policy, Scope
from audit.policies import takers
from audit.scenario.fit import chains, days, hours, judging, levels
from audit.scenario.fit.judging import Decided
from audit.scenario.fit.observed import Floats, Observed, Spans, Trials, trials_of
from audit.scenario.fit.site import Element, Evidence, Kind, Site
from audit.scenario.fit.splits import best_split
from audit.scenario.workload import Bools, Ints

BEST: Final = 3
"""So many windows, and limits, of the greatest gain, and so many that explain most."""
SCOPES: Final = 40
INTERVALS: Final = (15, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600)
IN_PHASE: Final = 0.8
"""Of the starts after a wait: so many lie at multiples of an interval, if there is one."""
LEAST: Final = 0.005
"""Of all waiting of those whose trials are looked at: rules that explain less are not proposed."""
NODES_KNOWN: Final = 0.95
POSITIONS: Final = 1_000
"""So many trials are looked at for the place in the queue."""


def propose(
    observed: Observed, site: Site, decided: Decided, unexplained: Floats, chosen: Bools
) -> list[Element]:
    """Elements that explain what the site, as it is assumed, does not; those of most weight first.

    Args:
        unexplained: [n], the seconds that this leaves unexplained.
        chosen: [n], whose trials may be looked at.
    """
    looked_at = chosen & observed.judged & ~decided.over_capacity
    trials = trials_of(observed.work, looked_at, decided.ready)
    left = np.where(looked_at, unexplained, 0.0)
    found = [*_intervals(observed, site, trials), *_depths(observed, site, trials)]
    if left.sum() > 0:
        worth = scopes(observed, left, SCOPES)
        clocks = [site.pool.zone]
        if not site.pool.windows:
            clocks = hours.clocks(site.pool.zone, observed.first, observed.last)
        rules = [one for zone in clocks for one in _windows(trials, worth, zone)]
        rules += _limits(levels.limits(observed, trials, worth))
        rules += _chains(observed, site, decided.ready, looked_at)
        rules += _ceilings(observed, site, decided)
        least = LEAST * observed.wait[looked_at].sum()
        found += [rule for rule in rules if rule.evidence.explained >= least]
    return found


def policies(observed: Observed, site: Site) -> list[Element]:
    """Other orders, and other backfillings."""
    policy = site.pool.policy
    known = {None} if np.isnan(observed.work.priority).all() else {None, "priority"}
    changed = [
        *(policy.changed(order=order) for order in Order if order.traits.needs in known),
        *(policy.changed(backfill=fill) for fill in Backfill if not fill.traits.keeps_plans),
    ]
    return [Element(Kind.policy, policy=other) for other in changed if other != policy]


def whole_nodes(observed: Observed, site: Site) -> list[Element]:
    """That a node is given to one attempt at a time, where the log knows their nodes."""
    if site.pool.exclusive_nodes or "nodes" not in observed.described.columns:
        return []
    nodes = observed.described["nodes"].gather(observed.rows)
    known = nodes.is_not_null().to_numpy() & observed.judged
    if site.pool.resource == "nodes" or known.sum() < NODES_KNOWN * observed.judged.sum():
        return []
    amount = nodes.fill_null(0).to_numpy()
    had = dict(site.pool.amounts).get("nodes") or days.peak(observed, amount)
    return [Element(Kind.nodes, nodes=int(had))] if had else []


def _windows(trials: Trials, worth: Sequence[tuple[Scope, Bools]], zone: str) -> list[Element]:
    found = hours.windows(trials, worth, zone)
    by_gain = sorted(found, key=lambda one: -one.split.gain)
    return [
        Element(
            Kind.window,
            Evidence(one.explained, one.split.failed, one.split.served),
            window=one.window,
            zone=zone,
        )
        for one in dict.fromkeys((*by_gain[:BEST], *found[:BEST]))
    ]


def _limits(found: Sequence[levels.Found]) -> list[Element]:
    by_gain = sorted(found, key=lambda one: -one.split.gain)
    return [
        Element(
            Kind.limit,
            Evidence(one.explained, one.split.failed, one.split.served),
            limit=one.limit,
        )
        for one in dict.fromkeys((*by_gain[:BEST], *found[:BEST]))
    ]


def _chains(observed: Observed, site: Site, ready: Ints, among: Bools) -> list[Element]:
    found = [one for one in chains.chains(observed, ready, among) if one.user not in site.users]
    if not found:
        return []
    evidence = Evidence(
        sum(one.explained for one in found),
        sum(one.links for one in found),
        sum(one.others for one in found),
    )
    users = (*site.users, *(one.user for one in found))
    return [Element(Kind.chain, evidence, users=users)]


def _ceilings(observed: Observed, site: Site, decided: Decided) -> list[Element]:
    """What was in force over days, of room that is unexplained otherwise."""
    if site.ceilings:
        return []
    found = ceilings_of(observed, site, decided)
    if not found:
        return []
    return [Element(Kind.capacity, Evidence(sum(one.explained for one in found)), ceilings=found)]


def ceilings_of(observed: Observed, site: Site, decided: Decided) -> tuple[days.Ceiling, ...]:
    """The ceilings that the room speaks for which is unexplained otherwise."""
    left = judging.unexplained(observed, site._replace(ceilings=()), decided)
    spans = observed.spans
    late = (decided.ready[spans.job] <= spans.since) & (left[spans.job] > 0)
    kept = Spans(*(column[late] for column in spans))
    return tuple(days.ceilings(replace(observed, spans=kept)))


def _intervals(observed: Observed, site: Site, trials: Trials) -> list[Element]:
    """That passes run at multiples of an interval, where starts after a wait lie there."""
    work = observed.work
    if site.pool.policy.interval_s is not None:
        return []
    started = trials.job[trials.served]
    waited = started[work.start[started] > work.arrival[started]]
    if len(waited) < 2:
        return []
    since = int(work.arrival.min())
    for interval in reversed(INTERVALS):
        phase = (work.start[waited] - since) % interval
        if (phase <= 1).mean() >= IN_PHASE:
            policy = site.pool.policy.changed(interval_s=interval)
            evidence = Evidence(0, int((phase <= 1).sum()), int((phase > 1).sum()))
            return [Element(Kind.interval, evidence, policy=policy)]
    return []


def _depths(observed: Observed, site: Site, trials: Trials) -> list[Element]:
    """That passes look at no more than so many, or plan no further than so long."""
    policy = site.pool.policy
    if policy.backfill not in takers("depth"):
        return []
    waited = trials.of(observed.wait[trials.job] > 0)
    waited = waited.of(np.arange(len(waited.job)) % max(len(waited.job) // POSITIONS, 1) == 0)
    if len(waited.job) == 0:
        return []
    found = []
    if policy.depth is None:
        # a pass that starts an attempt has also looked at those before it whom it starts
        at = np.where(waited.served, observed.work.start[waited.job], waited.at)
        place = _ahead(observed, waited.job, at) + 1
        split = best_split(place, waited.served)
        if split is not None:
            evidence = _evidence(waited, place > split.bound)
            found.append(_policy(policy.changed(depth=split.bound), evidence))
    behind = waited.of(_ahead(observed, waited.job, waited.at + 1) > 0)
    estimate = observed.work.estimate[behind.job]
    split = best_split(estimate, behind.served) if policy.window_s is None else None
    if split is not None:
        evidence = _evidence(behind, estimate > split.bound)
        found.append(_policy(policy.changed(window_s=split.bound), evidence))
    return found


def _ahead(observed: Observed, jobs: Ints, at: Ints) -> Ints:
    """How many that arrived before each attempt waited, and started at ``at`` or later, [m]."""
    work = observed.work
    waits = np.flatnonzero(work.queued & (work.start > work.arrival))
    number = np.zeros(len(jobs), np.int64)
    for place, (job, instant) in enumerate(zip(jobs.tolist(), at.tolist(), strict=True)):
        before = waits[: np.searchsorted(waits, job)]
        number[place] = np.count_nonzero(work.start[before] >= instant)
    return number


def _evidence(trials: Trials, above: Bools) -> Evidence:
    served = int((above & trials.served).sum())
    return Evidence(int(trials.idle[above].sum()), int(above.sum()) - served, served)


def _policy(policy: Policy, evidence: Evidence) -> Element:
    return Element(Kind.policy, evidence, policy=policy)


# --- which attempts a rule may be about: partitions, sizes, walltimes, and their overlaps --------


WORTH: Final = 0.02
"""Of all that is unexplained; scopes with less are passed over."""
BOUNDS: Final = 12
"""So many of the values most often asked for may be a bound."""
ROUND_S: Final = tuple(hours * 3_600 for hours in (1, 2, 4, 8, 12, 24, 48, 72, 168))
"""Bounds of walltimes that sites like to set."""


def scopes(observed: Observed, idle: Floats | Ints, most: int) -> list[tuple[Scope, Bools]]:
    """The scopes that hold ``WORTH`` of what is unexplained, the wider ones first.

    Args:
        idle: what is unexplained of each attempt, ≥ 0.

    Returns:
        Each with its members; no two have the same ones among those with something unexplained.
    """
    total = idle.sum()
    found: list[tuple[Scope, Bools]] = []
    seen: set[bytes] = set()
    for scope in _candidates(observed.frame, idle):
        held = observed.within(scope)
        if total <= 0 or idle[held].sum() < WORTH * total:
            continue
        mark = np.packbits(held).tobytes()
        if mark not in seen:
            seen.add(mark)
            found.append((scope, held))
        if len(found) == most:
            break
    return found


def _candidates(frame: pl.DataFrame, idle: Floats | Ints) -> Iterator[Scope]:
    """All scopes, from wide to narrow."""
    classes = [Scope()]
    for name in ("partition", "qos"):
        shares = frame.select(name).with_columns(idle=pl.Series(idle.astype(np.float64)))
        by_name = shares.drop_nulls(name).group_by(name).agg(pl.col("idle").sum()).sort(name)
        if by_name.height > 1:
            worth = by_name.filter(pl.col("idle") >= WORTH * float(idle.sum()))
            classes += [Scope().but(**{name: (value,)}) for value in worth[name]]
    yield from classes
    late = frame.filter(pl.Series(idle > 0))
    sizes, asked = bounds(late["size"]), late["walltime_s"]
    most = asked.max() or 0
    walltimes = sorted({*bounds(asked), *(one for one in ROUND_S if one < most)})  # type: ignore[operator]
    for scope, size in product(classes, sizes):
        yield scope.but(size_above=size)
        yield scope.but(size_up_to=size)
    for scope, walltime in product(classes, walltimes):
        yield scope.but(walltime_above_s=walltime)


def bounds(asked: pl.Series) -> list[int]:
    """Values that many ask for, ascending, but for the greatest: none asks for more."""
    counted = asked.drop_nulls().value_counts().sort("count", asked.name, descending=[True, False])
    values = sorted(counted[asked.name].head(BOUNDS + 1).to_list())
    most = asked.max()
    return [value for value in values if value != most]
