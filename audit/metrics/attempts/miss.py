"""By how much attempts missed their fair start times (FST) [S §3.1.3], and fair slowdown [K §2.3].

With FST_j when attempt j would have started had nobody come after it (``audit.scenario``),

    miss_j          = max(start_j − FST_j, 0)       positive: later arrivals cost it that much
    preference_j    = max(FST_j − start_j, 0)       positive: it was treated preferentially
    fair slowdown_j = max(1, (FST_j + occupancy_j − arrival_j) / max(runtime_j, τ))

once for the strict and once for the relaxed FST; fair slowdown is of the strict one. Bounded
slowdown has the start in its place, so an attempt that started at its FST has the same of both.

Conventions: nothing is clipped by a tolerance here; what has no FST has no miss.

Sources: [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job Schedulers,
§3.1; [K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling,
§2.3, which takes τ = 1 s.
"""

from collections.abc import Collection
from typing import Final, Literal

import numpy as np
import polars as pl

from audit.metrics.attempts.population import TAU_S
from audit.model import COUNTED

Fst = Literal["strict", "relaxed"]
"""Which of the two fair start times (SPEC §5)."""

TOLERANCE_S: Final = 60
"""What a start may differ from its FST before it counts as missed, s."""
WEIGHT: Final = "fst_weight"
"""The column that says how many attempts one stands for where not all FSTs were computed."""
FSTS: Final[tuple[Fst, ...]] = ("strict", "relaxed")


def misses(described: pl.DataFrame, tau_s: int = TAU_S) -> pl.DataFrame:
    """Adds each attempt's misses and its fair slowdown.

    Args:
        described: columns of ``model.DESCRIBED``, and fst_strict and fst_relaxed, int64 epoch s,
            null where there is none.
        tau_s: τ, in s, ≥ 1.

    Returns:
        ``described`` with miss_strict_s and miss_relaxed_s, int64 s, ≥ 0, and fair_slowdown,
        float64, ≥ 1; null where the attempt has no such FST, or has not ended.
    """
    late = {f"miss_{fst}_s": (pl.col("start_time") - pl.col(f"fst_{fst}")).clip(0) for fst in FSTS}
    has_ended = pl.col("start_time").is_not_null() & pl.col("end_time").is_not_null()
    response = pl.col("fst_strict") + pl.col("occupancy_s") - pl.col("arrival_time")
    slowdown = (response / pl.max_horizontal("runtime_s", pl.lit(tau_s))).clip(1)
    added = {**late, "fair_slowdown": slowdown}
    return described.with_columns(
        pl.when(has_ended).then(value).alias(name) for name, value in added.items()
    )


def preference(fst: Fst) -> pl.Expr:
    """By how much an attempt started before its FST, int64 s, ≥ 0; null where it has none."""
    return (pl.col(f"fst_{fst}") - pl.col("start_time")).clip(0)


def in_totals(fst: Fst) -> pl.Expr:
    """Whether an attempt's miss is part of totals: its status is in ``model.COUNTED``.

    Reads fst_status and the columns of ``misses``; never null.
    """
    counts = pl.col("fst_status").cast(pl.String).is_in(list(COUNTED))
    return counts.fill_null(False) & pl.col(f"miss_{fst}_s").is_not_null()


def weighted(amounts: pl.Expr, columns: Collection[str]) -> pl.Expr:
    """Amounts, int64, of each attempt times how many it stands for; 1 without such a column."""
    return amounts * pl.col(WEIGHT).fill_null(1) if WEIGHT in columns else amounts


def repeated(attempts: pl.DataFrame) -> pl.DataFrame:
    """Each attempt as often as it stands for one, so that figures of these are of all.

    A sum over the result is Σ weight · amount over the sample, whose mean over all samples is the
    sum over all attempts; a mean is a ratio of two such sums.
    """
    if WEIGHT not in attempts.columns or not (attempts[WEIGHT] > 1).any():
        return attempts
    times = attempts[WEIGHT].fill_null(1).to_numpy()
    return attempts[np.repeat(np.arange(attempts.height), times)]
