"""Elements other than rules that may explain the trials and the waiting of a site.

A trial is the first instant at which the assumed site would have started an attempt. The search
proposes elements that explain trials which this site does not.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import polars as pl

from audit import periods
from audit.metrics.nodes import members
from audit.metrics.pairs import Log, paired
from audit.model import Backfill, Order, Period, Policy
from audit.policies import takers
from audit.scenario.fit import days
from audit.scenario.fit.judging import Decided
from audit.scenario.fit.observed import Floats, Observed, Trials, trials_of
from audit.scenario.fit.site import Ahead, Element, Evidence, Kind, Site
from audit.scenario.workload import Bools, Ints

INTERVALS: Final = (15, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600)
IN_PHASE: Final = 0.8
"""Least share of the starts after a wait that lie at multiples of an interval."""
NODES_KNOWN: Final = 0.95
LEAST_PAIRED: Final = 5
"""Fewest jobs of a partition or QOS that show its place in the queue."""
MOST_AHEAD: Final = 4
"""Most partitions or QOS that may be served before all others."""
POSITIONS: Final = 1_000
"""Number of trials that are examined for positions in the queue."""
LEAST_GAIN: Final = 8.0
"""Least gain of a bound, nats; chance gives less among a few thousand candidates."""
SELDOM: Final = 0.25
"""Greatest share served above a bound, as a multiple of the share below."""


def propose(observed: Observed, site: Site, decided: Decided, chosen: Bools) -> list[Element]:
    """Return elements that may explain what the site, as assumed, does not, each once.

    Args:
        chosen: [n], the attempts whose trials may be used.
    """
    looked_at = chosen & observed.judged & ~decided.over_capacity
    trials = trials_of(observed.work, looked_at, decided.ready)
    found = [*_intervals(observed, site, trials), *_depths(observed, site, trials)]
    found += [*_policies(observed, site), *_queues(observed, site, chosen)]
    return list(dict.fromkeys([*found, *_whole_nodes(observed, site)]))


def _policies(observed: Observed, site: Site) -> list[Element]:
    """Return other orders, and other kinds of backfilling."""
    policy = site.pool.policy
    known = {None} if np.isnan(observed.work.priority).all() else {None, "priority"}
    changed = [
        *(policy.changed(order=order) for order in Order if order.traits.needs in known),
        *(policy.changed(backfill=fill) for fill in Backfill if not fill.traits.keeps_plans),
    ]
    return [Element(Kind.policy, policy=other) for other in changed if other != policy]


def _queues(observed: Observed, site: Site, chosen: Bools) -> list[Element]:
    """Return partitions, and QOS, whose jobs may be served before all others.

    They are ordered by the share of later jobs of other partitions that request at least as much
    and start first (SPEC §11, *Passed over*): jobs that are served first lose to few of them.
    """
    recorded = not np.isnan(observed.work.priority).all()
    if site.ahead is not None or site.pool.policy.order is not Order.fcfs or recorded:
        return []
    arrived = observed.work.arrival[chosen]
    if len(arrived) == 0:
        return []
    period = Period("proposing", int(arrived.min()), int(arrived.max()) + 1)
    log = Log.of(observed.described, site.pool, period, periods.zone(site.pool.zone))
    found = []
    kinds: tuple[Literal["partition", "qos"], ...] = ("partition", "qos")
    for by in kinds:
        if by not in log.kinds:
            continue
        lost = pl.col("lost").sum() / pl.col("pairs").sum()
        of_each = paired(log, by).attempts.group_by("entity")
        known = of_each.agg(lost, jobs=pl.len()).filter(pl.col("jobs") >= LEAST_PAIRED)
        names = known.sort("lost", "entity")["entity"].to_list()
        found += [
            Element(Kind.queue, ahead=Ahead(by, tuple(sorted(names[:number]))))
            for number in range(1, min(len(names), MOST_AHEAD + 1))
        ]
    return found


def _whole_nodes(observed: Observed, site: Site) -> list[Element]:
    """Return the allocation of whole nodes, where the log records numbers of nodes.

    Jobs that had more nodes at one time than the pool has, or the log names, shared some.
    """
    if site.pool.exclusive_nodes or "nodes" not in observed.described.columns:
        return []
    nodes = observed.described["nodes"].gather(observed.rows)
    known = nodes.is_not_null().to_numpy() & observed.judged
    if site.pool.resource == "nodes" or known.sum() < NODES_KNOWN * observed.judged.sum():
        return []
    peak = days.in_use(observed, nodes.fill_null(0).to_numpy())[1].max(initial=0)
    named = len(site.pool.nodes) or members(observed.described["node_list"])["node"].n_unique()
    had = dict(site.pool.amounts).get("nodes") or named or int(peak)
    return [Element(Kind.nodes, nodes=had)] if 0 < peak <= had else []


def _intervals(observed: Observed, site: Site, trials: Trials) -> list[Element]:
    """Return the longest interval of passes with most starts after a wait at its multiples."""
    work = observed.work
    if site.pool.policy.interval_s is not None:
        return []
    started = trials.job[trials.served]
    waited = started[work.start[started] > work.arrival[started]]
    if len(waited) < 2:
        return []
    since = int(work.arrival.min())
    for interval in reversed(INTERVALS):
        in_phase = (work.start[waited] - since) % interval <= 1
        if in_phase.mean() >= IN_PHASE:
            policy = site.pool.policy.changed(interval_s=interval)
            evidence = Evidence(0, int(in_phase.sum()), int((~in_phase).sum()))
            return [Element(Kind.interval, evidence, policy=policy)]
    return []


def _depths(observed: Observed, site: Site, trials: Trials) -> list[Element]:
    """Return bounds on the number of attempts that a pass examines, and on how far it plans."""
    policy = site.pool.policy
    if policy.backfill not in takers("depth"):
        return []
    waited = trials.of(observed.wait[trials.job] > 0)
    waited = waited.of(np.arange(len(waited.job)) % max(len(waited.job) // POSITIONS, 1) == 0)
    if len(waited.job) == 0:
        return []
    found = []
    if policy.depth is None:
        # a pass that starts an attempt has also examined those before it that it starts
        at = np.where(waited.served, observed.work.start[waited.job], waited.at)
        place = _ahead(observed, waited.job, at) + 1
        bound = best_split(place, waited.served)
        if bound is not None:
            found.append(_bounded(policy.changed(depth=bound), waited, place > bound))
    if policy.window_s is None:
        behind = waited.of(_ahead(observed, waited.job, waited.at + 1) > 0)
        estimate = observed.work.estimate[behind.job]
        bound = best_split(estimate, behind.served)
        if bound is not None:
            found.append(_bounded(policy.changed(window_s=bound), behind, estimate > bound))
    return found


def _ahead(observed: Observed, jobs: Ints, at: Ints) -> Ints:
    """Return the number of attempts that waited at ``at`` and arrived before each attempt, [m]."""
    work = observed.work
    waits = np.flatnonzero(work.queued & (work.start > work.arrival))
    number = np.zeros(len(jobs), np.int64)
    for place, (job, instant) in enumerate(zip(jobs.tolist(), at.tolist(), strict=True)):
        before = waits[: np.searchsorted(waits, job)]
        number[place] = np.count_nonzero(work.start[before] >= instant)
    return number


def _bounded(policy: Policy, trials: Trials, above: Bools) -> Element:
    """Return a policy with a bound, and the trials above it as its evidence."""
    served = int((above & trials.served).sum())
    evidence = Evidence(int(trials.idle[above].sum()), int(above.sum()) - served, served)
    return Element(Kind.policy, evidence, policy=policy)


def _likelihood(served: Floats, tried: Floats) -> Floats:
    """Return the log-likelihood of each number of trials; 0 where all or none were served."""
    share = np.divide(served, tried, out=np.zeros_like(served), where=tried > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = served * np.log(share) + (tried - served) * np.log1p(-share)
    return np.where((served > 0) & (served < tried), terms, 0.0)


def gain(served: Floats, tried: Floats, among: tuple[float, float]) -> Floats:
    """Return the gain in log-likelihood of separate shares for a part of the trials and the rest.

    Args:
        served, tried: of the part, by candidate.
        among: served and tried of all.
    """
    rest = _likelihood(among[0] - served, among[1] - tried)
    better: Floats = _likelihood(served, tried) + rest - _likelihood(*np.array([among]).T)
    return better


def best_split(amount: Ints, served: Bools) -> int | None:
    """Return the bound on ``amount`` that best separates served trials from failed ones above it.

    Returns:
        The bound of the greatest gain; None if it gains less than ``LEAST_GAIN``. The share served
        above it is less than ``SELDOM`` of that below.
    """
    values, place = np.unique(amount, return_inverse=True)
    if len(values) < 2:
        return None
    tried_at = np.bincount(place).astype(np.float64)
    served_at = np.bincount(place, served).astype(np.float64)
    total = float(served_at.sum()), float(tried_at.sum())
    tried, kept = (total[1] - np.cumsum(tried_at))[:-1], (total[0] - np.cumsum(served_at))[:-1]
    seldom = kept / tried < SELDOM * (total[0] - kept) / (total[1] - tried)
    gains = np.where(seldom, gain(kept, tried, total), 0.0)
    best = int(gains.argmax())
    return int(values[best]) if gains[best] >= LEAST_GAIN else None
