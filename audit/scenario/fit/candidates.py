"""Propose elements of a site for judging, from trials.

A trial is the first instant at which the assumed site would have started an attempt. Proposed
elements therefore explain starts that the assumed site does not.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from audit.model import Backfill, Order, Policy
from audit.policies import takers
from audit.scenario.fit import chains, days
from audit.scenario.fit.judging import Decided
from audit.scenario.fit.observed import Floats, Observed, Trials, trials_of
from audit.scenario.fit.site import Element, Evidence, Kind, Site
from audit.scenario.workload import Bools, Ints

INTERVALS: Final = (15, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600)
IN_PHASE: Final = 0.8
"""Least share of the starts after a wait at multiples of an interval, if there is one."""
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
    found = [*_intervals(observed, site, trials), *_depths(observed, site, trials)]
    if unexplained[looked_at].sum() > 0:
        least = LEAST * observed.wait[looked_at].sum()
        held = _chains(observed, site, decided.ready, looked_at)
        found += [chain for chain in held if chain.evidence.explained >= least]
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


def _intervals(observed: Observed, site: Site, trials: Trials) -> list[Element]:
    """Return the interval of passes if starts after a wait are at its multiples."""
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
    """Return bounds on the jobs that a pass examines, and on how far ahead it plans."""
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


# --- where a bound lies: trials below it are served, those above are not -------------------------


LEAST_GAIN: Final = 8.0
"""Nats; what chance gives among a few thousand candidates is less."""
SELDOM: Final = 0.25
"""Of the share served below a bound: above it, less must be."""


class Split(NamedTuple):
    """A bound, and the trials above and below it."""

    bound: int
    """Trials with more are those above."""
    gain: float
    served: int
    """Of those above: what the rule does not allow, and yet happened."""
    failed: int
    """Of those above: what it explains."""


def likelihood(served: Floats, tried: Floats) -> Floats:
    """L of each number of trials; 0 where all or none were served."""
    share = np.divide(served, tried, out=np.zeros_like(served), where=tried > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = served * np.log(share) + (tried - served) * np.log1p(-share)
    return np.where((served > 0) & (served < tried), terms, 0.0)


def gain(served: Floats, tried: Floats, among: tuple[float, float]) -> Floats:
    """The gain of telling those with ``served`` of ``tried`` from the rest.

    Args:
        served, tried: of one kind, by candidate.
        among: served and tried of both kinds.
    """
    other_served, other_tried = among[0] - served, among[1] - tried
    whole = likelihood(np.array([among[0]]), np.array([among[1]]))[0]
    better: Floats = likelihood(served, tried) + likelihood(other_served, other_tried) - whole
    return better


def best_split(amount: Ints, served: Bools, weight: Ints | None = None) -> Split | None:
    """The bound on ``amount`` above which trials are served least.

    Args:
        weight: [m], for how many trials each stands; None: for one.

    Returns:
        That of the greatest gain, where at least ``LEAST_GAIN`` is gained and the share served
        above it is less than ``SELDOM`` of that below; else None.
    """
    if len(amount) == 0:
        return None
    weight = np.ones_like(amount) if weight is None else weight
    values, place = np.unique(amount, return_inverse=True)
    tried_at = np.bincount(place, weight).astype(np.float64)
    served_at = np.bincount(place, weight * served).astype(np.float64)
    total = float(served_at.sum()), float(tried_at.sum())
    tried, kept = (total[1] - np.cumsum(tried_at))[:-1], (total[0] - np.cumsum(served_at))[:-1]
    if len(tried) == 0:
        return None
    gains = gain(kept, tried, total)
    seldom = kept / tried < SELDOM * (total[0] - kept) / (total[1] - tried)
    gains = np.where(seldom, gains, 0.0)
    if gains.max() < LEAST_GAIN:
        return None
    best = int(gains.argmax())
    above = int(kept[best])
    return Split(int(values[best]), float(gains[best]), above, int(tried[best]) - above)
