"""Where a rule begins: trials below are served, those above are not.

Trials are Bernoulli draws. The gain of telling two kinds apart is the difference of their greatest
log-likelihoods:

    gain = L(s₁, n₁) + L(s₂, n₂) − L(s₁ + s₂, n₁ + n₂),   L(s, n) = s ln(s/n) + (n−s) ln((n−s)/n)

with s served of n; ≥ 0, in nats.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from audit.scenario.fit.observed import Floats
from audit.scenario.workload import Bools, Ints

LEAST_GAIN: Final = 8.0
"""Nats; what chance gives among a few thousand candidates is less."""
SELDOM: Final = 0.25
"""Of the share served below a bound: above it, less must be."""


class Split(NamedTuple):
    """A bound on something, and what the trials say of it."""

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
