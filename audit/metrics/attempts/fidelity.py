"""How well a modelled policy reproduces the starts that were observed (SPEC §5, *Model fidelity*).

A fair start time tells what a policy would have done. A site's scheduler is not that policy, so
some of every miss is the model's error. What it is worth shows when the whole log is replayed under
the same policy: with o_j the observed and r_j the replayed start of attempt j,

    start error  = |r_j − o_j|, its median and 90th percentile, nearest-rank
    correlation  = Spearman's, average ranks, of the waits r_j − arrival_j and o_j − arrival_j
    mean wait    = mean of (r_j − o_j): how much longer the replay lets them wait
    beyond       = Σ of the misses ≥ that median (or 90th percentile) / Σ of all misses

Conventions: the first three are over attempts whose start is known in both schedules; the shares
over all attempts whose misses are part of totals. Nothing is clipped.

Where it is known what one pass at each instant of the observed schedule would have decided, and
when each attempt would have started with all that came later (SPEC §10), there are also

    foreseen     = share of attempts that would have been started by the time they were
    on time      = share of those that would first have been started at most the tolerance before
    agreement    = the same of those that waited longer than the tolerance
    unexplained  = (Σ room of those not foreseen + Σ idle that nothing explains) / Σ wait
    forward      = Spearman's, of forward start − arrival and the wait; of those that waited, too

over attempts that were judged, those left out in whose start more was in use than there is.

Source: for the ranks, C. Spearman, The Proof and Measurement of Association between Two Things
(1904).
"""

import math
from typing import Final

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from audit.metrics.attempts.miss import FSTS, TOLERANCE_S, WEIGHT, in_totals, repeated
from audit.metrics.attempts.population import ended
from audit.metrics.quantiles import MEDIAN, P90, exact_sum, nearest_rank
from audit.model import Decision, IdleBecause
from audit.registry.measures import unit_of

Ints = NDArray[np.int64]

KEY = ("cluster", "job_id", "attempt")
_READ: Final = (
    *("standing", "arrival_time", "start_time", "replayed_start_time", "fst_status", WEIGHT),
    *(f"miss_{fst}_s" for fst in FSTS),
    *("wait_s", "wait_room_s", "decision", "kept_s", "idle_s", "idle_because", "start_modelled"),
)
ENOUGH_AGREEMENT: Final = 0.8
"""Of the attempts that waited, the share that a model must start when the site did before anybody
is named by it (SPEC §10)."""
ENOUGH_CORRELATION: Final = 0.65
"""The same of the rank correlation of waits from forward starts with those observed."""

FIDELITY_SCHEMA = pl.Schema({"metric": pl.String, "value": pl.Float64, "unit": pl.String})
"""Columns of ``fidelity_result`` that are the metrics' own."""


def fidelity(
    held: pl.DataFrame,
    replayed: pl.DataFrame | None = None,
    tolerance_s: int = TOLERANCE_S,
) -> pl.DataFrame:
    """The figures that stand beside every fair start time of one pool and period.

    Args:
        held: what ``miss.misses`` gave, with fst_status; those rows that the period holds.
        replayed: cluster, job_id, attempt (each key once) and replayed_start_time, int64 epoch s,
            null where the replay did not start it; attempts of other periods may be among them.
            None: ``held`` itself has replayed_start_time.
        tolerance_s: who waited longer is looked at apart, s, ≥ 0.

    Returns:
        Columns of ``FIDELITY_SCHEMA``, the same rows for the same columns: those about decisions
        and forward starts are left out where these are. ``replayed`` counts the attempts with
        both starts; errors are in s, ≥ 0, ``mean_wait_error`` of either sign; ``wait_correlation``
        in [−1, 1], null where all waits of a schedule are the same; the shares in [0, 1], null
        where nothing was missed. All but the first are null where no attempt has both starts.
    """
    key = () if replayed is None else KEY
    subjects = ended(held.select(cs.by_name(*key, *_READ, require_all=False)))
    starts = subjects
    if replayed is not None:
        again_of = replayed.select(*KEY, "replayed_start_time")
        starts = subjects.join(again_of, on=KEY, how="inner", maintain_order="left")
    limits, rows = _of_errors(starts.select("start_time", "arrival_time", "replayed_start_time"))
    for fst in FSTS:
        counted = repeated(_of(subjects, in_totals(fst), f"miss_{fst}_s"))
        missed = counted[f"miss_{fst}_s"].cast(pl.Float64).to_numpy()
        for name, limit in limits.items():
            total = exact_sum(missed)
            known = limit is not None and total > 0
            share = exact_sum(missed[missed >= limit]) / total if known else None
            rows.append((f"miss_{fst}_share_beyond_{name}", share))
    rows += _of_decisions(subjects, tolerance_s) + _of_forward_starts(subjects, tolerance_s)
    with_units = [(metric, value, unit_of(metric)) for metric, value in rows]
    return pl.DataFrame(with_units, schema=FIDELITY_SCHEMA, orient="row")


_Figure = tuple[str, float | None]


def _of_errors(starts: pl.DataFrame) -> tuple[dict[str, float | None], list[_Figure]]:
    """The median of start errors and their 90th percentile, by name; and all figures of them."""
    both = starts.drop_nulls("replayed_start_time")
    start, arrival = both["start_time"].to_numpy(), both["arrival_time"].to_numpy()
    again = both["replayed_start_time"].to_numpy()
    late = (again - start).astype(np.float64)
    errors = np.sort(np.abs(late))
    limits = {"median": nearest_rank(errors, MEDIAN), "p90": nearest_rank(errors, P90)}
    return limits, [
        ("replayed", float(both.height)),
        *((f"start_error_{name}", limit) for name, limit in limits.items()),
        ("wait_correlation", rank_correlation(again - arrival, start - arrival)),
        ("mean_wait_error", exact_sum(late) / len(late) if len(late) else None),
    ]


def _of(subjects: pl.DataFrame, condition: pl.Expr, *columns: str) -> pl.DataFrame:
    """These columns, and weights, of the attempts of which a condition holds."""
    read = cs.by_name(*columns, WEIGHT, require_all=False)
    return subjects.lazy().filter(condition).select(read).collect()


def _of_decisions(subjects: pl.DataFrame, tolerance_s: int) -> list[_Figure]:
    """How often the policy would have started an attempt when the site did."""
    if "decision" not in subjects.columns:
        return []
    over = pl.col("decision") == Decision.OVER_CAPACITY
    judged = pl.col("decision").is_not_null() & ~over
    waited = judged & (pl.col("wait_s") > tolerance_s)
    foreseen = pl.col("decision") != Decision.UNFORESEEN
    on_time = pl.col("decision") == Decision.ON_TIME
    told = {
        "decided": judged.sum().cast(pl.Float64),
        "decided_over_capacity": over.sum().cast(pl.Float64),
        "foreseen_share": foreseen.filter(judged).mean(),
        "on_time_share": on_time.filter(judged).mean(),
        "waited_foreseen_share": foreseen.filter(waited).mean(),
        "agreement": on_time.filter(waited).mean(),
    }
    figures: list[_Figure] = list(subjects.select(**told).row(0, named=True).items())
    return [*figures, ("unexplained_wait_share", _unexplained(subjects, judged))]


def _unexplained(subjects: pl.DataFrame, judged: pl.Expr) -> float | None:
    """The share of all waiting that neither the policy nor a known cause explains."""
    if "idle_because" not in subjects.columns:
        return None
    apart = judged & pl.col("idle_s").is_not_null()
    kept = apart & (pl.col("decision") == Decision.UNFORESEEN)
    idle = apart & (pl.col("idle_because") == IdleBecause.UNEXPLAINED)
    unexplained, waited = subjects.select(
        pl.col("kept_s").filter(kept).sum() + pl.col("idle_s").filter(idle).sum(),
        pl.col("wait_s").filter(apart).sum(),
    ).row(0)
    return unexplained / waited if waited else None


def _of_forward_starts(subjects: pl.DataFrame, tolerance_s: int) -> list[_Figure]:
    """How well forward starts order the waits that were observed."""
    if "start_modelled" not in subjects.columns:
        return []
    has_forward = pl.col("start_modelled").is_not_null() & in_totals("strict")
    known = repeated(_of(subjects, has_forward, "start_modelled", "arrival_time", "wait_s"))
    waited = known.filter(pl.col("wait_s") > tolerance_s)
    return [
        (name, rank_correlation(*_modelled_and_observed(of)))
        for name, of in (("forward_correlation", known), ("waited_forward_correlation", waited))
    ]


def _modelled_and_observed(attempts: pl.DataFrame) -> tuple[Ints, Ints]:
    modelled = attempts["start_modelled"] - attempts["arrival_time"]
    return modelled.to_numpy(), attempts["wait_s"].to_numpy()


def rank_correlation(one: Ints, other: Ints) -> float | None:
    """Spearman's rank correlation of two columns, in [−1, 1]; equal values share an average rank.

    Null where a column has fewer than two distinct values.
    """
    # Twice the rank, centred: a whole number, so that products and their sums are exact.
    ranks = [
        2 * pl.Series(values).rank("average").to_numpy() - (len(values) + 1)
        for values in (one, other)
    ]
    spread = exact_sum(ranks[0] ** 2) * exact_sum(ranks[1] ** 2)
    return exact_sum(ranks[0] * ranks[1]) / math.sqrt(spread) if spread > 0 else None


def fits(agreement: float | None, correlation: float | None) -> bool:
    """Whether a model fits well enough for names; not where one of the two is not known.

    Args:
        agreement: share of 1, see ``ENOUGH_AGREEMENT``.
        correlation: −1 to 1, see ``ENOUGH_CORRELATION``.
    """
    if agreement is None or correlation is None:
        return False
    return agreement >= ENOUGH_AGREEMENT and correlation >= ENOUGH_CORRELATION
