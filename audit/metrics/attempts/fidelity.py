"""Fidelity of a modelled policy to the observed starts (SPEC §5, *Model fidelity*).

A site's scheduler is not the modelled policy, so a part of every miss is the model's error. A
replay of the whole log under that policy measures it: with o_j the observed and r_j the replayed
start,

    start error  = |r_j − o_j|, its median and 90th percentile, nearest-rank
    correlation  = Spearman's, average ranks, of the waits r_j − arrival_j and o_j − arrival_j
    mean wait    = mean of (r_j − o_j): the additional wait in the replay
    beyond       = Σ of the misses ≥ that median (or 90th percentile) / Σ of all misses

The first three are over attempts with a start in both schedules; the shares over all misses that
count in totals. Nothing is clipped.

How far rules agree with the observed starts is in ``scenario.delivered.agreement``; ``MaySay``
tells what fair starts on what the machine delivered may be used for (SPEC §10).

Source: for the ranks, C. Spearman, The Proof and Measurement of Association between Two Things
(1904).
"""

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.array_types import Ints
from audit.metrics.attempts.miss import FSTS, WEIGHT, in_totals, repeated
from audit.metrics.attempts.population import ended, in_period, only
from audit.metrics.quantiles import MEDIAN, P90, P95, exact_sum, nearest_rank
from audit.metrics.waits.plan import UNLIMITED
from audit.metrics.waits.walk import Plan, Starts
from audit.model import Period
from audit.registry.measures import unit_of

KEY = ("cluster", "job_id", "attempt")
_READ: Final = (
    *("standing", "arrival_time", "start_time", "replayed_start_time", "fst_status", WEIGHT),
    *(f"miss_{fst}_s" for fst in FSTS),
)
KNOWN: Final = 0.65
"""The least agreement of a known rule."""
PARTLY: Final = 0.3
"""The least agreement at which users may be named as probable."""


def short_of_known(agreement: float, step: float = 0.01) -> float:
    """Return an agreement below ``KNOWN`` so that no rounding to ``step`` shows it as ``KNOWN``."""
    return min(agreement, KNOWN - step)


class MaySay(IntEnum):
    """The permitted uses of fair starts on delivered capacity."""

    POOL = 0  # figures of the pool, as two readings: kept order and the cautious one
    PROBABLY = 1  # those of the pool within 6 points, and users as probable
    POOL_AND_USERS = 2

    @classmethod
    def at(cls, agreement: float | None) -> "MaySay":
        """Return what the best agreement of all rules allows; None: nothing was compared."""
        if agreement is None or agreement < PARTLY:
            return cls.POOL
        return cls.PROBABLY if agreement < KNOWN else cls.POOL_AND_USERS


_Figure = tuple[str, float | None]

FIDELITY_SCHEMA = pl.Schema({"metric": pl.String, "value": pl.Float64, "unit": pl.String})
"""Columns of ``fidelity_result`` that are computed here."""


def fidelity(held: pl.DataFrame, replayed: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the figures that accompany every fair start time of one pool and period.

    Args:
        held: attempts of the period, with the columns of ``miss.misses`` and fst_status.
        replayed: cluster, job_id, attempt (each key once) and replayed_start_time, int64 epoch s,
            null without a start; may contain others. None: ``held`` has replayed_start_time.

    Returns:
        Columns of ``FIDELITY_SCHEMA``. ``replayed`` is the number of attempts with both starts;
        errors are in s, ≥ 0, ``mean_wait_error`` of either sign; ``wait_correlation`` is null if
        all waits of a schedule are equal; shares are null without misses.
    """
    key = () if replayed is None else KEY
    subjects = ended(held.select(cs.by_name(*key, *_READ, require_all=False)))
    starts = subjects
    if replayed is not None:
        again_of = replayed.select(*KEY, "replayed_start_time")
        starts = subjects.join(again_of, on=KEY, how="inner", maintain_order="left")
    limits, rows = _of_errors(starts.select("start_time", "arrival_time", "replayed_start_time"))
    for fst in FSTS:
        read = cs.by_name(f"miss_{fst}_s", WEIGHT, require_all=False)
        counted = repeated(subjects.lazy().filter(in_totals(fst)).select(read).collect())
        missed = counted[f"miss_{fst}_s"].cast(pl.Float64).to_numpy()
        for name, limit in limits.items():
            total = exact_sum(missed)
            known = limit is not None and total > 0
            share = exact_sum(missed[missed >= limit]) / total if known else None
            rows.append((f"miss_{fst}_share_beyond_{name}", share))
    return _with_units(rows)


class FidelityRule(NamedTuple):
    """A rule in the view ``fidelity``."""

    order: str  # KEPT_ORDER: that of the observed starts
    backfill: str
    own_peak: bool | None = None  # None: the modelled policy


KEPT_ORDER: Final = "kept"
RULE_SCHEMA: Final = pl.Schema({"order": pl.String, "backfill": pl.String, "own_peak": pl.Boolean})
"""Columns of ``of_rules`` before those of ``FIDELITY_SCHEMA``."""


def of_rules(
    compared: pl.DataFrame, used: FidelityRule, policy: FidelityRule, on_nodes: float | None
) -> pl.DataFrame:
    """Return the rows about the agreement of rules with the observed starts (SPEC §10).

    Args:
        compared: columns of ``agreement.AGREEMENT_SCHEMA``; of rules with the same names the first
            counts.
        used: the rule of the fair starts.
        policy: the modelled one.
        on_nodes: its agreement by the free nodes; None: not known.
    """
    rows: list[tuple[FidelityRule, str, float | None]] = []
    known = compared.unique(RULE_SCHEMA.names(), keep="first", maintain_order=True)
    for one in known.iter_rows(named=True):
        rule = FidelityRule(one["order"], one["backfill"], one["own_peak"])
        rows.append((rule, "agreement", one["agreement"]))
        if one["judged"] < one["instants"]:
            rows.append((rule, "agreement_compared", one["judged"] / one["instants"]))
    if on_nodes is not None:
        rows.append((policy, "agreement_nodes", on_nodes))
    best = max(compared["agreement"].drop_nulls(), default=None)
    rows.append((used, "rule_used", float(used.order != KEPT_ORDER)))
    rows.append((policy, "may_say", float(MaySay.at(best))))
    figures = _with_units([(metric, value) for _, metric, value in rows])
    rules = pl.DataFrame([rule for rule, _, _ in rows], RULE_SCHEMA, orient="row")
    return rules.hstack(figures)


def of_account(plan: Plan, starts: Starts | None, interval_s: int | None) -> pl.DataFrame:
    """Return the rows about the plan of an account of waits, and the evidence for it (SPEC §11).

    Args:
        starts: the counts by which the plan was chosen; None: it is configured.
        interval_s: of the scheduler's passes, s; None: not known.
    """
    counts = {} if starts is None else starts._asdict()
    return _with_units(
        [
            ("plan_depth", None if plan.reservations >= UNLIMITED else float(plan.reservations)),
            ("plan_strict", float(plan.strict)),
            ("interval_s", None if interval_s is None else float(interval_s)),
            *((f"plan_{name}", float(counts[name])) for name in COUNTED if name in counts),
        ]
    )


COUNTED: Final = ("starts", "behind", "broken", "stretches", "lapses")
"""The counts of ``Starts`` that choose between plans that are not strict."""


def edges(attempts: pl.DataFrame, log: Period, period: Period, *, by_end: bool) -> pl.DataFrame:
    """Return the rows about the begin and the end of a log, of which it has less than happened.

    Args:
        attempts: those of one pool ``around`` the period; columns of ``model.DESCRIBED``.
        log: the time that the log covers; it begins at T0 (SPEC §11).
        by_end: whether the log is selected by the end of jobs.

    Returns:
        Columns of ``FIDELITY_SCHEMA``. ``begin_use`` is null unless the log begins in the period,
        ``end_waiting_share`` unless it ends there and is selected by end.
    """
    begin, end = log.from_time, min(log.to_time, period.to_time)
    figures = [("log_begin", float(begin)), ("log_length", float(max(end - begin, 0)))]
    begins, ends = period.from_time <= begin < end, by_end and log.to_time <= period.to_time
    use = _use_before(attempts, begin, end) if begins else None
    waiting = _waiting_at(in_period(attempts, period), end) if ends else None
    return _with_units([*figures, ("begin_use", use), ("end_waiting_share", waiting)])


def _use_before(attempts: pl.DataFrame, begin: int, end: int) -> float | None:
    """Return the use just before an instant, as a part of the mean until ``end``; epoch s."""
    start, leave, size = pl.col("start_time"), pl.coalesce("end_time", pl.lit(end)), pl.col("size")
    inside = leave.clip(upper_bound=end) - start.clip(lower_bound=begin)
    used = size.cast(pl.Float64) * inside.clip(lower_bound=0)
    before, area = (
        attempts.select("start_time", "end_time", "size")
        .pipe(only, start.is_not_null())
        .select(before=size.filter(start < begin, leave >= begin).sum(), area=used.sum())
        .row(0)
    )
    return float(before * (end - begin) / area) if area else None


def _waiting_at(attempts: pl.DataFrame, end: int) -> float | None:
    """Return the share of all waiting in the last s before ``end``: the 95th percentile of
    occupancies.
    """
    read = ("standing", "arrival_time", "start_time", "occupancy_s")
    subjects = ended(attempts.select(read))
    last = nearest_rank(np.sort(subjects["occupancy_s"].to_numpy()).astype(np.float64), P95)
    waited = int((subjects["start_time"] - subjects["arrival_time"]).sum())
    if last is None or not waited:
        return None
    late = pl.max_horizontal("arrival_time", pl.lit(int(end - last)))
    return float(subjects.select((pl.col("start_time") - late).clip(0).sum()).item() / waited)


def _with_units(rows: Sequence[_Figure]) -> pl.DataFrame:
    figures = [(metric, value, unit_of(metric)) for metric, value in rows]
    return pl.DataFrame(figures, schema=FIDELITY_SCHEMA, orient="row")


def _of_errors(starts: pl.DataFrame) -> tuple[dict[str, float | None], list[_Figure]]:
    """Return the median and 90th percentile of start errors, by name; and all figures of them."""
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


def rank_correlation(one: Ints, other: Ints) -> float | None:
    """Return Spearman's rank correlation of two columns, with average ranks for ties.

    Null where a column has fewer than two distinct values.
    """
    # Twice the rank, centred: a whole number, so that products and their sums are exact.
    ranks = [
        2 * pl.Series(values).rank("average").to_numpy() - (len(values) + 1)
        for values in (one, other)
    ]
    spread = exact_sum(ranks[0] ** 2) * exact_sum(ranks[1] ** 2)
    return exact_sum(ranks[0] * ranks[1]) / math.sqrt(spread) if spread > 0 else None
