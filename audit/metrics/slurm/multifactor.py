"""Slurm's multifactor priority of a pending job (SPEC §7): what ``sprio`` and ``squeue`` print.

    priority = max(1, ⌊w_age · age + w_assoc · assoc + w_fairshare · fairshare + w_jobsize · jobsize
                       + w_partition · partition + w_qos · qos + tres − nice⌋), at most 2³² − 1

    age        time since it became eligible / PriorityMaxAge, at most 1
    fairshare  FairShare of its association (``metrics.slurm.shares``)
    jobsize    mean of nodes / nodes of the cluster and CPUs / CPUs of the cluster; from 1 downwards
               with PriorityFavorSmall; with SMALL_RELATIVE_TO_TIME the greater of its CPUs and its
               nodes' average CPUs, per minute of walltime and CPU of the cluster
    partition  PriorityJobFactor / the greatest of any partition
    qos        priority of its QOS / the greatest of any QOS
    tres       Σ over resources of PriorityWeightTRES · amount / amount of the partition

Factors are 0 to 1. slurmctld computes them at its ticks (``usage``), so an age is that of the last
tick. Held jobs (priority 0) and jobs whose priority was set are not covered.

Sources: Slurm's documentation "Multifactor Priority Plugin"; observed in 22.05 (docs/sshare.md).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

FACTORS: Final = ("age", "assoc", "fairshare", "jobsize", "partition", "qos")
"""In the order in which they are added; also the names of their weights."""

HIGHEST: Final = 2**32 - 1


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The amounts that factors are relative to.

    Args:
        cpus, nodes: of the cluster, ≥ 1.
        max_age_s: PriorityMaxAge, > 0; infinite: age does not count.
        job_factor: the greatest PriorityJobFactor of any partition.
        qos_priority, assoc_priority: the greatest priority of any QOS, of any association.

    Raises:
        ValueError: one of them is out of range.
    """

    cpus: int
    nodes: int
    max_age_s: float = 7.0 * 86_400
    job_factor: int = 1
    qos_priority: int = 0
    assoc_priority: int = 0
    favor_small: bool = False
    relative_to_time: bool = False

    def __post_init__(self) -> None:
        if self.cpus < 1 or self.nodes < 1:
            raise ValueError(f"{self.cpus} cpus, {self.nodes} nodes: a cluster has at least one")
        if not self.max_age_s > 0:
            raise ValueError(f"max_age_s = {self.max_age_s}: must be above 0")


def factors(jobs: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Add ``FACTORS``, float64, 0 to 1, to each job.

    Args:
        jobs: age_s (since it became eligible), fairshare (0 to 1), cpus, nodes (requested),
            job_factor (of its partition), qos_priority; where they count also assoc_priority and
            walltime_s (null: unlimited).
    """
    zero = pl.lit(0.0)
    age = (pl.col("age_s").clip(0) / scale.max_age_s).clip(0.0, 1.0)
    assoc = pl.col("assoc_priority") if "assoc_priority" in jobs.columns else zero
    return jobs.with_columns(
        age=age if math.isfinite(scale.max_age_s) else zero,
        assoc=assoc / scale.assoc_priority if scale.assoc_priority else zero,
        fairshare=pl.col("fairshare").cast(pl.Float64),
        jobsize=_size(scale).clip(0.0, 1.0),
        partition=pl.col("job_factor") / scale.job_factor if scale.job_factor else zero,
        qos=pl.col("qos_priority") / scale.qos_priority if scale.qos_priority else zero,
    )


def priority(jobs: pl.DataFrame, weights: Mapping[str, float]) -> pl.Series:
    """Return the priority of each job, from 1 to ``HIGHEST``.

    Args:
        jobs: ``FACTORS``, nice, and tres (weighted) where it counts.
        weights: by factor; missing ones are 0.

    Raises:
        ValueError: there is no such factor.
    """
    if unknown := sorted(set(weights) - set(FACTORS)):
        raise ValueError(f"weight of {unknown[0]!r}: one of {', '.join(FACTORS)}")
    total = pl.lit(0.0)
    for name in FACTORS:
        total = total + pl.col(name) * weights.get(name, 0.0)
    if "tres" in jobs.columns:
        total = total + pl.col("tres")
    whole = (total - pl.col("nice")).clip(1.0, float(HIGHEST)).floor()
    return jobs.select(priority=whole.cast(pl.Int64))["priority"]


def _size(scale: Scale) -> pl.Expr:
    """Return the factor of the size, before it is clipped."""
    nodes, cpus = pl.col("nodes").cast(pl.Float64), pl.col("cpus").cast(pl.Float64)
    if scale.relative_to_time:
        minutes = (pl.col("walltime_s") / 60).fill_null(math.inf).clip(1.0)
        average = nodes * scale.cpus / scale.nodes
        size = pl.max_horizontal(average, cpus) / minutes / scale.cpus
        return 1.0 - size if scale.favor_small else size
    if scale.favor_small:
        return ((scale.nodes - nodes) / scale.nodes + (scale.cpus - cpus) / scale.cpus) / 2.0
    return (nodes / scale.nodes + cpus / scale.cpus) / 2.0
