"""What ``sshare`` shows at an instant: usage as of then, figures as of the last recalculation.

Between two ticks of slurmctld (``usage``) RawUsage holds what has ended since; NormUsage,
EffectvUsage, LevelFS and FairShare stand still. In classic fairshare accounts are a tick behind:
their figures were made before that tick booked anything, while those of users are made when
somebody asks for them, which is taken to be the instant itself. Observed in 22.05 (docs/sshare.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from audit.metrics.fairshare.trees import Floats, Ints, Tree
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm.shares import Shares, classic, fair_tree, summed
from audit.metrics.slurm.usage import SlurmUsage


def usage_and_shares(
    tree: Tree,
    grouped: Grouped,
    method: SlurmUsage,
    at: int,
    *,
    algorithm: str = "fair_tree",
    dampening: float = 1.0,
    depth_oblivious: bool = False,
    just_recalculated: bool = False,
) -> tuple[Floats, Shares]:
    """RawUsage at an instant, and the figures that slurmctld had made of it.

    Args:
        tree: the associations.
        grouped: attempts by node (``fairshare.usage.by_number``), open ones beyond all instants.
        method: how usage decays, and when.
        at: the instant, epoch s.
        algorithm: ``"fair_tree"`` or ``"classic"``.
        dampening: of classic fairshare, > 0.
        depth_oblivious: whether the flag DEPTH_OBLIVIOUS is set, of classic fairshare.
        just_recalculated: all figures are as of a tick that has booked what it had to.

    Returns:
        Billing-seconds ≥ 0 by node, with all below it; and the figures by node.
    """
    tick = method.tick(at)
    before = tick if just_recalculated else tick - 1  # that tick had booked nothing yet
    instants = sorted({before, tick, at})
    swept = summed(tree, method.sweep(grouped, np.array(instants, np.int64))[0])
    usage = dict(zip(instants, swept, strict=True))
    if algorithm == "fair_tree":
        return usage[at], fair_tree(tree, usage[tick])
    return usage[at], classic(
        tree, usage[at], dampening, depth_oblivious=depth_oblivious, accounts=usage[before]
    )


def run_minutes(
    tree: Tree,
    nodes: Ints,
    charged: pl.DataFrame,
    amounts: Mapping[str, pl.Series],
    resources: Sequence[str],
    at: int,
    tick: int,
) -> Floats:
    """TRESRunMins: what running jobs may still use up to their walltime, as of the last tick.

    Args:
        tree: the associations.
        nodes: to which each attempt is charged; −1: none.
        charged: start_time, end_time, walltime_s (null counts 0), usage_factor.
        amounts: of each resource that an attempt was allocated, by Slurm's name.
        resources: which to look at; what ``amounts`` does not name counts 0.
        at: the instant at which they run, epoch s.
        tick: the last tick, epoch s.

    Returns:
        Whole minutes times amount, a row per resource and a column per node, with all below it.
    """
    runs = charged.select(
        (pl.col("start_time") <= at).fill_null(value=False)
        & (pl.col("end_time") > at).fill_null(value=True)
    ).to_series()
    running = np.flatnonzero(runs.to_numpy() & (nodes >= 0))
    jobs = charged[running]
    passed = np.maximum(tick - jobs["start_time"].to_numpy(), 0)
    seconds = np.maximum(jobs["walltime_s"].fill_null(0).to_numpy() - passed, 0)
    seconds = seconds * jobs["usage_factor"].to_numpy()
    left = np.zeros((len(resources), len(tree.names)))
    for row, name in enumerate(resources):
        if name in amounts:
            amount = amounts[name].fill_null(0.0).to_numpy()[running]
            np.add.at(left[row], nodes[running], np.floor(amount * seconds))
    return summed(tree, left) // 60
