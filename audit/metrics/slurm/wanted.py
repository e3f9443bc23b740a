"""Fairshare asked the other way: which shares give a wanted FairShare, and what a job costs.

*Shares*: with the usage as it is, FairShare of a user never falls when RawShares of the user, or of
an account above it, rise: LevelFS = NormShares / EffectvUsage in Fair Tree, and
2^(−EffectvUsage / NormShares) in classic fairshare. So the least whole number that is enough is
found by bisection. *Cost*: an attempt is added to those that are charged. At the first tick after
its end, FairShare with it and without it is what ``sshare`` shows if nothing else starts.

Sources: as of ``shares`` and ``usage``.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Floats
from audit.metrics.fairshare.trees import Tree
from audit.metrics.slurm.explained import Back, ChargedAttempts, back, first_reached, next_tick

LARGEST: Final = 1 << 30
"""Largest RawShares that are tried; slurmctld keeps 31 bits."""

TreeJudge = Callable[[Tree, Floats], Floats]
"""FairShare of each node of a tree, from the raw usage of each node with all below it."""


def shares_for(
    tree: Tree, usage: Floats, judge: TreeJudge, user: int, changed: int, target: float
) -> int | None:
    """Return the least RawShares of a node with which a user's FairShare is at least ``target``.

    Args:
        usage: of each node with all below it.
        user: the node whose FairShare counts.
        changed: the node whose shares change: the user, or an account above it.

    Returns:
        A whole number in [0, ``LARGEST``]; None: none is enough.
    """

    def reached(shares: int) -> bool:
        of = tree.shares.copy()
        of[changed] = shares
        return float(judge(tree._replace(shares=of), usage)[user]) >= target - 1e-12

    if reached(0):
        return 0
    high = 1
    while not reached(high):
        high *= 2
        if high > LARGEST:
            return None
    return first_reached(reached, high // 2, high)


class JobCost(NamedTuple):
    """FairShare of a user at the first tick after the end of a job that would start now."""

    usage: float  # of the job, billing-seconds, not decayed
    at: int  # the tick, epoch s
    with_job: float
    without_job: float
    back: Back  # when FairShare is as it is now


def cost(
    ground: ChargedAttempts, node: int, since: int, now: int, lasts_s: int, penalty: float
) -> JobCost:
    """Return what a job of a user costs that would run from ``now`` on, if nothing else starts.

    Args:
        since: the tick since which the mean usage of others is taken for ``JobCost.back``.
        now: epoch s.
        lasts_s: how long it would run, s, ≥ 1.
        penalty: billing per second.
    """
    at = next_tick(ground.method, now + lasts_s)
    with_job = replace(
        ground,
        nodes=np.append(ground.nodes, node),
        start=np.append(ground.start, now),
        end=np.append(ground.end, now + lasts_s),
        penalty=np.append(ground.penalty, penalty),
    )
    target = _at(ground, node, ground.method.tick(now))
    figures = (_at(with_job, node, at), _at(ground, node, at))
    return JobCost(penalty * lasts_s, at, *figures, back(with_job, node, since, at, target))


def _at(ground: ChargedAttempts, node: int, tick: int) -> float:
    own = ground.by_node(ground.by_attempt(np.array([tick], np.int64))[0])
    return ground.fairshare(own, node)
