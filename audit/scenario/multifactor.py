"""Slurm's own order, ``multifactor``: the priorities that slurmctld gives (SPEC §7).

Greatest PriorityTier first, then greatest priority as of slurmctld's last tick
(``metrics.slurm.multifactor``); ties by arrival, submit, sequence. Age and fairshare change with
time: fairshare at each tick follows from the usage booked by then, observed until a simulation
begins, simulated from then on. The other parts are constant. Sizes are those allocated; nice is 0.

LevelFS whose logarithms differ by less than about 2^−32 are equal, so that rounding does not decide
ties; slurmctld compares them as they are.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats, Ints
from audit.errors import SimulationError
from audit.kernels.scheduling import multifactor as kernels
from audit.kernels.scheduling.multifactor import Books, SlurmPriority
from audit.metrics.fairshare.trees import Tree, groups
from audit.metrics.slurm.multifactor import FACTORS, Scale, factors
from audit.metrics.slurm.shares import level_shares, places, printed
from audit.metrics.slurm.usage import COUNTED, SlurmUsage
from audit.words import Algorithm

AHEAD_S = 366 * 86_400
"""Time after the last observed end for which resets of usage are planned."""


class Multifactor(NamedTuple):
    """The configuration of slurmctld."""

    tree: Tree  # the associations (``metrics.slurm.shares.tree_of``)
    usage: SlurmUsage
    weights: Mapping[str, float]
    """PriorityWeight… by factor (``metrics.slurm.multifactor.FACTORS``); default 0."""
    scale: Scale
    algorithm: Algorithm = Algorithm.fair_tree
    dampening: float = 1.0
    job_factors: Mapping[str, int] = {}  # PriorityJobFactor by partition; default 1
    tiers: Mapping[str, int] = {}  # PriorityTier by partition; default 1
    qos: Mapping[str, int] = {}  # priority by QOS; default 0
    tres: Mapping[str, float] = {}
    """PriorityWeightTRES by Slurm's name, of ``metrics.slurm.usage.COUNTED``."""
    totals: Mapping[str, Mapping[str, int]] = {}
    """Capacity of each partition by column of ``model.ATTEMPTS``, which ``tres`` is relative to."""


class Priorities(NamedTuple):
    """The constant parts of the priorities of n attempts."""

    node: Ints  # [n], of the tree, which is charged
    fixed: Floats  # [n]: the parts of the priority but age and fairshare
    tier: Ints  # [n]

    def of_those(self, chosen: Bools) -> "Priorities":
        """Return those of the ``chosen`` attempts."""
        return Priorities(self.node[chosen], self.fixed[chosen], self.tier[chosen])


class Clock(NamedTuple):
    """When slurmctld recalculates, and the number of nodes of the tree, as ``Books`` takes them."""

    nodes: int
    period: int
    phase: int
    rate: float
    resets: Ints


NO_CLOCK = Clock(1, 1, 0, 0.0, np.zeros(0, np.int64))


def priorities(jobs: pl.DataFrame, settings: Multifactor) -> Priorities:
    """Return the constant parts of the priorities of attempts.

    Args:
        jobs: user, account, partition, qos, nice, start_time, walltime_s and amounts (cpus, nodes;
            gpus and mem_bytes where they have a weight). Null amounts count 0; a user without an
            association is charged to its account, or to root.

    Raises:
        SimulationError: a weight is of an unknown factor.
    """
    if unknown := sorted(set(settings.weights) - set(FACTORS)):
        raise SimulationError(f"weight of {unknown[0]!r}: one of {', '.join(FACTORS)}")
    factored = jobs.select(
        pl.col("cpus", "nodes").fill_null(0),
        "walltime_s",
        age_s=pl.lit(0),
        fairshare=pl.lit(0.0),
        job_factor=_looked_up("partition", settings.job_factors, 1),
        qos_priority=_looked_up("qos", settings.qos, 0),
        tier=_looked_up("partition", settings.tiers, 1),
    )
    parts = factors(factored, settings.scale)
    fixed = -jobs["nice"].fill_null(0).to_numpy().astype(np.float64)
    for name in ("assoc", "jobsize", "partition", "qos"):
        fixed += settings.weights.get(name, 0.0) * parts[name].to_numpy()
    for name, weight in settings.tres.items():
        if name in COUNTED:
            column, _ = COUNTED[name]
            has = {of: total[column] for of, total in settings.totals.items() if total.get(column)}
            share = jobs[column].fill_null(0) / jobs.select(_looked_up("partition", has, 0))[:, 0]
            fixed += weight * np.nan_to_num(share.to_numpy(), nan=0.0, posinf=0.0)
    node = np.maximum(places(settings.tree, jobs).nodes, 0)
    return Priorities(node, fixed, factored["tier"].to_numpy().astype(np.int64))


def _looked_up(column: str, by_name: Mapping[str, int], default: int) -> pl.Expr:
    found = pl.col(column).replace_strict(dict(by_name), default=default, return_dtype=pl.Int64)
    return found.fill_null(default)


def kernel_slurm(
    settings: Multifactor, own: Priorities, charge: Floats, start: Ints, end: Ints, counted: Bools
) -> tuple[SlurmPriority, Clock]:
    """Return Slurm's state as the kernels take it, and when Slurm recalculates.

    Args:
        charge: usage of each per second, [n] ≥ 0.
        counted: attempts whose observed start is known.
    """
    ran = np.flatnonzero(counted & (end > start))
    at = np.tile(own.node[ran], 2)
    time = np.concatenate((end[ran], start[ran]))
    ends = np.repeat([1, 0], len(ran))
    order = np.lexsort((1 - ends, time, at))
    who = np.tile(ran, 2)[order]
    nodes = len(settings.tree.names)
    slurm = kernels.SlurmPriority(
        **_tree(settings),
        fixed=np.ascontiguousarray(own.fixed),
        tier=np.ascontiguousarray(own.tier),
        entry=np.searchsorted(at[order], np.arange(nodes + 1)),
        time=time[order],
    )
    usage = settings.usage
    span = (int(start[ran].min()), int(end[ran].max()) + AHEAD_S) if len(ran) else (0, 0)
    clock = Clock(nodes, usage.period_s, usage.phase_s, usage.rate, usage.resets(*span))
    kernels.observe(
        slurm, Books(*clock), at[order], charge[who], start[who], time[order], ends[order]
    )
    return slurm, clock


def _tree(settings: Multifactor) -> dict[str, Any]:
    """Return the share tree and the weights, by parameter of the kernels' ``SlurmPriority``."""
    tree, weights = settings.tree, settings.weights
    classic = settings.algorithm is Algorithm.classic
    over, level, is_parent = groups(tree), level_shares(tree), np.isnan(tree.shares)
    part = np.divide(
        np.nan_to_num(tree.shares, nan=0.0), level, out=np.zeros(len(level)), where=level > 0
    )
    norm = part.copy()
    norm[0] = 1.0 if classic else 0.0  # root has no siblings
    if classic:
        for node in range(1, len(norm)):
            norm[node] = norm[over[node]] * (1.0 if is_parent[node] else part[node])
        part[level == 0] = 1.0  # without shares they have those of their account
    else:
        norm[is_parent] = norm[over[is_parent]]
    part[is_parent] = -1.0
    order = np.array(printed(tree)[1:], np.int64)
    member = order[np.argsort(over[order], kind="stable")]
    age_weight, max_age = aging(settings)
    return {
        "age_weight": age_weight,
        "max_age": max_age,
        "fairshare_weight": float(weights.get("fairshare", 0.0)),
        "classic": classic,
        "dampening": float(settings.dampening),
        "parent": np.maximum(tree.parents, 0),
        "over": np.maximum(over, 0),
        "norm": norm,
        "part": part,
        "is_user": tree.is_user.astype(np.int64),
        "first": np.searchsorted(over[member], np.arange(len(over) + 1)),
        "member": member,
    }


def aging(settings: Multifactor) -> tuple[float, float]:
    """Return the weight of age, and the age at which its factor is 1, s."""
    if not math.isfinite(settings.scale.max_age_s):
        return 0.0, 1.0
    return float(settings.weights.get("age", 0.0)), float(settings.scale.max_age_s)


def no_slurm() -> SlurmPriority:
    """Return what kernels take under other orders."""
    ints = ("tier", "parent", "over", "is_user", "first", "member", "entry", "time")
    nothing: dict[str, Any] = dict.fromkeys(ints, np.zeros(0, np.int64))
    nothing |= dict.fromkeys(("fixed", "norm", "part"), np.zeros(0))
    nothing |= {"age_weight": 0.0, "max_age": 1.0, "fairshare_weight": 0.0, "dampening": 1.0}
    return SlurmPriority(**nothing, classic=False)
