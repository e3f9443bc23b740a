"""Misses of fair start times (FST) [S §3.1.3], and fair slowdown [K §2.3].

With FST_j the start that attempt j would have had without later arrivals (``audit.scenario``),

    miss_j          = max(start_j − FST_j, 0)       the delay by later arrivals, if positive
    preference_j    = max(FST_j − start_j, 0)       preferential treatment, if positive
    fair slowdown_j = max(1, (FST_j + occupancy_j − arrival_j) / max(runtime_j, τ))

for the strict, the relaxed and the delivered FST. Fair slowdown is by the delivered one on observed
schedules, and by the strict one on simulated schedules. Bounded slowdown has the start in place of
the FST, so both are equal for an attempt that started at its FST. No tolerance clips these values.

Sources: [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job Schedulers,
§3.1; [K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling,
§2.3, with τ = 1 s.
"""

from collections.abc import Collection
from typing import Final, Literal

import numpy as np
import polars as pl

from audit.metrics.attempts.population import TAU_S
from audit.model import COUNTED

Fst = Literal["strict", "relaxed", "delivered"]

TOLERANCE_S: Final = 60  # greatest delay of a start behind its FST that does not count as a miss, s
WEIGHT: Final = "fst_weight"
"""Column: number of attempts that one represents where not all FSTs were computed."""
FSTS: Final[tuple[Fst, ...]] = ("strict", "relaxed")
"""The fair starts of the papers, under a modelled policy."""
EVERY_FST: Final[tuple[Fst, ...]] = (*FSTS, "delivered")


def misses(described: pl.DataFrame, tau_s: int = TAU_S) -> pl.DataFrame:
    """Add each attempt's misses and its fair slowdown.

    Args:
        described: columns of ``model.DESCRIBED``, and fst_strict and fst_relaxed, int64 epoch s or
            null.
        tau_s: τ, s, ≥ 1.

    Returns:
        ``described`` with miss_strict_s and miss_relaxed_s, int64 s, ≥ 0, and fair_slowdown, ≥ 1;
        null where the attempt has no such FST, or has not ended.
    """
    late = {f"miss_{fst}_s": (pl.col("start_time") - pl.col(f"fst_{fst}")).clip(0) for fst in FSTS}
    has_ended = pl.col("start_time").is_not_null() & pl.col("end_time").is_not_null()
    added = {**late, "fair_slowdown": fair_slowdown("strict", tau_s)}
    return described.with_columns(
        pl.when(has_ended).then(value).alias(name) for name, value in added.items()
    )


def fair_slowdown(fst: Fst, tau_s: int = TAU_S) -> pl.Expr:
    """Return the bounded slowdown with an FST as the start, ≥ 1; null without an FST."""
    response = pl.col(f"fst_{fst}") + pl.col("occupancy_s") - pl.col("arrival_time")
    return (response / pl.max_horizontal("runtime_s", pl.lit(tau_s))).clip(1)


def preference(fst: Fst) -> pl.Expr:
    """Return the time by which an attempt started before its FST, s, ≥ 0; null without an FST."""
    return (pl.col(f"fst_{fst}") - pl.col("start_time")).clip(0)


def in_totals(fst: Fst) -> pl.Expr:
    """Return whether an attempt's miss counts in totals: its status is in ``model.COUNTED``.

    Reads fst_status and the columns of ``misses``; never null. All delivered misses count.
    """
    if fst == "delivered":
        return pl.col("miss_delivered_s").is_not_null()
    counts = pl.col("fst_status").cast(pl.String).is_in(list(COUNTED))
    return counts.fill_null(False) & pl.col(f"miss_{fst}_s").is_not_null()


def weighted(amounts: pl.Expr, columns: Collection[str]) -> pl.Expr:
    """Return amounts times the number of attempts that each represents; 1 without that column."""
    return amounts * pl.col(WEIGHT).fill_null(1) if WEIGHT in columns else amounts


def repeated(attempts: pl.DataFrame) -> pl.DataFrame:
    """Return each attempt as often as the number of attempts that it represents.

    A sum over the result estimates, without bias, the sum over all attempts.
    """
    if WEIGHT not in attempts.columns or not (attempts[WEIGHT] > 1).any():
        return attempts
    times = attempts[WEIGHT].fill_null(1).to_numpy()
    return attempts[np.repeat(np.arange(attempts.height), times)]
