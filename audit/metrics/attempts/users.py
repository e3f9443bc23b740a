"""Normalised user wait time (NUWT) and how it spreads over users (SPEC §6).

For a user (or account) o, over its attempts that started and ended in the period,

    TUWT_o = Σ wait             total user wait time, s
    TUSA_o = Σ runtime · size   total user squashed area, resource·s
    NUWT_o = TUWT_o / TUSA_o    null where TUSA_o = 0
    UWT    = mean of NUWT_o     F = Σ_o (UWT − NUWT_o)²     deviation = √(F / number of users)

Conventions: users with fewer than two started jobs, or without usage, are left out of UWT, F,
deviation, quantiles and CDF, and counted. Attempts whose user the log does not name are one row
with a null entity, which is no user and is left out likewise. A NUWT below 1 does *not* mean more
computing than waiting, whatever [K §2.3] says: a parallel attempt uses several resource-seconds in
a second.

Source: [K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling,
§2.3, §4.1, §5.1.
"""

import math
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.metrics.attempts.anatomy import COLUMNS as WAIT_PARTS
from audit.metrics.attempts.miss import FSTS, TOLERANCE_S, WEIGHT, in_totals, weighted
from audit.metrics.attempts.population import gave_up_total, only
from audit.metrics.quantiles import (
    LOWER_QUARTILE,
    MEDIAN,
    UPPER_QUARTILE,
    exact_sum,
    grouped_sums,
    nearest_rank,
)
from audit.model import Standing

Kind = Literal["user", "account"]

ENTITY_SCHEMA = pl.Schema(
    {
        "entity_kind": pl.String,
        "entity": pl.String,
        "jobs": pl.Int64,
        "attempts": pl.Int64,
        "never_started": pl.Int64,
        "gave_up_wait_s": pl.Int64,
        "tuwt_s": pl.Int64,
        "tusa": pl.Float64,
        "nuwt": pl.Float64,
        "miss_strict_s": pl.Int64,
        "miss_relaxed_s": pl.Int64,
        "missed_strict": pl.Int64,
        "missed_relaxed": pl.Int64,
        "re_unfairness_positive": pl.Float64,
        "re_unfairness_net": pl.Float64,
        "wait_room_s": pl.Int64,
        "wait_shared_s": pl.Int64,
        "wait_own_s": pl.Float64,
        "wait_earlier_s": pl.Float64,
        "wait_later_s": pl.Float64,
        "wait_down_s": pl.Int64,
        "peer_ratio": pl.Float64,
        "excess_wait_s": pl.Float64,
        "overtaken_s": pl.Int64,
        "unmodelled_s": pl.Int64,
    }
)
"""Columns of ``entity_result`` that are the metrics' own."""


_FORWARD: Final = ("overtaken_s", "unmodelled_s")
_READ: Final = (
    *("standing", "job_id", "arrival_time", "end_time", "size", "runtime_s", "wait_s"),
    *(
        "re_unfairness",
        *("fst_status", WEIGHT),
        *(f"miss_{fst}_s" for fst in FSTS),
        *WAIT_PARTS,
        "peer_wait_s",
        *_FORWARD,
    ),
)
"""Columns that figures of users and accounts are made of."""


class Dispersion(NamedTuple):
    """How NUWT spreads over entities; figures are null where no entity is left."""

    uwt: float | None
    """Mean NUWT, s per resource·s."""
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None
    pooled: float | None
    """Σ TUWT / Σ TUSA over the same entities."""
    deviation: float | None
    """Population standard deviation."""
    f: float | None
    """Σ (UWT − NUWT)²."""
    entities: int
    """Number of entities that these figures are of."""
    single_job: int
    """Entities left out for having fewer than two started jobs."""
    no_usage: int
    """Entities left out, of the others, for having used nothing."""


def by_entity(with_re: pl.DataFrame, kind: Kind, tolerance_s: int = TOLERANCE_S) -> pl.DataFrame:
    """One row per user or account that started, or gave up, an attempt.

    Args:
        with_re: what ``resource_equality`` gave for one pool, or those rows that a period holds;
            also with what ``miss.misses`` adds, and fst_status, where fair start times are known,
            with what ``simulation.forward`` adds where forward starts are, and with what
            ``anatomy`` and ``peer_waits`` add, where waits were taken apart.
        kind: the column that names the entity.
        tolerance_s: what an attempt may miss its fair start time by before it counts as missed, s.

    Returns:
        Columns of ``ENTITY_SCHEMA``, sorted by entity, null first. ``jobs`` and ``attempts`` count
        what started and ended; ``re_unfairness_positive`` = Σ max(unfairness, 0) and
        ``re_unfairness_net`` = Σ unfairness, in resource·s, are over the attempts whose size is
        known, null where there are attempts and none of them is. ``miss_*_s`` are sums over the
        attempts whose misses are part of totals, ``missed_*`` how many of these missed by more than
        ``tolerance_s``; null where there is none of them. ``wait_*_s`` are sums over the attempts
        whose waits were taken apart, and ``peer_ratio`` and ``excess_wait_s`` are over those that
        have peers, likewise; the ratio is also null where the peers did not wait. ``overtaken_s``
        and ``unmodelled_s`` are sums over those with misses that have a forward start, likewise.
    """
    subject = pl.col("standing") == Standing.ENDED
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    read = with_re.select(cs.by_name(*_READ, require_all=False), entity=pl.col(kind))
    held = only(read, subject | gave_up)
    size = pl.col("size").fill_null(0)
    tusa = (pl.col("runtime_s") * size).filter(subject).sum()
    entities = (
        held.group_by("entity")
        .agg(
            jobs=pl.col("job_id").filter(subject).n_unique().cast(pl.Int64),
            attempts=subject.sum().cast(pl.Int64),
            never_started=gave_up.sum().cast(pl.Int64),
            gave_up_wait_s=gave_up_total().cast(pl.Int64),
            tuwt_s=pl.col("wait_s").filter(subject).sum(),
            tusa=tusa,  # a sum of whole numbers: exact, whatever the threads
            **_missed(held, tolerance_s),
            **_forward(held),
            taken_apart=_taken_apart(held).sum(),
        )
        .sort("entity")
        .with_row_index("code")
    )
    return entities.with_columns(
        *_unfairness(held, entities),
        *_wait_parts(held, entities),
        *_beside_peers(held, entities),
        entity_kind=pl.lit(kind),
        tusa=pl.col("tusa").cast(pl.Float64),
        nuwt=pl.when(pl.col("tusa") > 0).then(pl.col("tuwt_s") / pl.col("tusa")),
    ).select(pl.col(name).cast(dtype) for name, dtype in ENTITY_SCHEMA.items())


def _unfairness(held: pl.DataFrame, entities: pl.DataFrame) -> list[pl.Series]:
    """An entity's sums of unfairness; null where it has attempts, and the size of none is known."""
    sized = (pl.col("standing") == Standing.ENDED) & pl.col("size").is_not_null()
    shares = _coded(_of(held, sized, "re_unfairness"), entities)
    codes = shares["code"].cast(pl.Int64).to_numpy()
    unfairness = shares["re_unfairness"].to_numpy()
    known = np.bincount(codes, minlength=entities.height)
    unsized = (entities["attempts"] > 0) & pl.Series(known == 0)
    return [
        pl.Series(name, grouped_sums(codes, values, entities.height), pl.Float64).set(unsized, None)
        for name, values in (
            ("re_unfairness_positive", np.maximum(unfairness, 0.0)),
            ("re_unfairness_net", unfairness),
        )
    ]


def _missed(held: pl.DataFrame, tolerance_s: int) -> dict[str, pl.Expr]:
    """An entity's sums of misses, and how many of them are beyond the tolerance."""
    sums: dict[str, pl.Expr] = {}
    for fst in FSTS:
        sums |= dict.fromkeys((f"miss_{fst}_s", f"missed_{fst}"), pl.lit(None, pl.Int64))
        if {f"miss_{fst}_s", "fst_status"} <= set(held.columns):
            miss, counts = pl.col(f"miss_{fst}_s"), in_totals(fst)
            missed = (miss > tolerance_s).cast(pl.Int64)
            some = counts.sum() > 0
            for name, amounts in ((f"miss_{fst}_s", miss), (f"missed_{fst}", missed)):
                total = weighted(amounts, held.columns).filter(counts).sum()
                sums[name] = pl.when(some).then(total)
    return sums


def _forward(held: pl.DataFrame) -> dict[str, pl.Expr]:
    """An entity's sums of what follows from forward starts; null where there is none."""
    if not {*_FORWARD, "fst_status", "miss_strict_s"} <= set(held.columns):
        return dict.fromkeys(_FORWARD, pl.lit(None, pl.Int64))
    values = {
        name: weighted(pl.col(name), held.columns).filter(in_totals("strict")).drop_nulls()
        for name in _FORWARD
    }
    return {name: pl.when(of.len() > 0).then(of.sum()) for name, of in values.items()}


def _of(held: pl.DataFrame, condition: pl.Expr, *columns: str) -> pl.DataFrame:
    """These columns, and the entity, of the attempts of which a condition holds."""
    return held.lazy().filter(condition).select("entity", *columns).collect()


def _coded(held: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Adds ``code``, the number of each attempt's entity."""
    codes = entities.select("entity", "code")
    return held.join(codes, on="entity", nulls_equal=True, maintain_order="left")


def _taken_apart(held: pl.DataFrame) -> pl.Expr:
    """Whether a wait was that of an attempt that ended, and was taken apart."""
    if not set(WAIT_PARTS) <= set(held.columns):
        return pl.lit(False)
    return (pl.col("standing") == Standing.ENDED) & pl.col(WAIT_PARTS[0]).is_not_null()


def _wait_parts(held: pl.DataFrame, entities: pl.DataFrame) -> list[pl.Series]:
    """The sum of each part of an entity's waits; parts of seconds are added one by one, in order.

    Null where no wait was taken apart.
    """
    if not set(WAIT_PARTS) <= set(held.columns):
        return [pl.Series(name, [None] * entities.height, pl.Float64) for name in WAIT_PARTS]
    parts = _coded(_of(held, _taken_apart(held), *WAIT_PARTS), entities)
    codes = parts["code"].cast(pl.Int64).to_numpy()
    none = entities["taken_apart"] == 0
    sums = []
    for name in WAIT_PARTS:
        total = np.bincount(codes, parts[name].to_numpy(), minlength=entities.height)
        sums.append(pl.Series(name, total).set(none, None))
    return sums


def _beside_peers(held: pl.DataFrame, entities: pl.DataFrame) -> list[pl.Series]:
    """Σ wait / Σ peer_wait and Σ (wait − peer_wait) of each entity; see ``excess``."""
    if "peer_wait_s" not in held.columns:
        nothing = [None] * entities.height
        return [pl.Series(name, nothing, pl.Float64) for name in ("peer_ratio", "excess_wait_s")]
    has_peers = (pl.col("standing") == Standing.ENDED) & pl.col("peer_wait_s").is_not_null()
    compared = _coded(_of(held, has_peers, "wait_s", "peer_wait_s"), entities)
    codes = compared["code"].cast(pl.Int64).to_numpy()
    wait, peers, number = (
        pl.Series(np.bincount(codes, weights, entities.height).astype(np.float64))
        for weights in (compared["wait_s"].to_numpy(), compared["peer_wait_s"].to_numpy(), None)
    )
    ratio = (wait / peers).set(peers == 0, None).alias("peer_ratio")
    return [ratio, (wait - peers).set(number == 0, None).alias("excess_wait_s")]


def counted(entities: pl.DataFrame, keep_single: bool = False) -> pl.DataFrame:
    """The entities that UWT and its companions are of, in their order.

    Named, with at least two started jobs (at least one where ``keep_single``), and with usage.
    """
    return entities.filter(
        pl.col("entity").is_not_null(),
        pl.col("jobs") >= (1 if keep_single else 2),
        pl.col("nuwt").is_not_null(),
    )


def dispersion(entities: pl.DataFrame, keep_single: bool = False) -> Dispersion:
    """UWT and what must stand beside it.

    Args:
        entities: what ``by_entity`` gave.
        keep_single: keep entities with one started job, which [K §5.1] leaves out.
    """
    kept = counted(entities, keep_single)
    named = entities.filter(pl.col("entity").is_not_null(), pl.col("jobs") > 0)
    too_few = 0 if keep_single else named.filter(pl.col("jobs") < 2).height
    no_usage = named.height - too_few - kept.height
    nuwt = np.sort(kept["nuwt"].to_numpy())
    if len(nuwt) == 0:
        return Dispersion(None, None, None, None, None, None, None, 0, too_few, no_usage)
    uwt = exact_sum(nuwt) / len(nuwt)
    f = exact_sum((uwt - nuwt) ** 2)
    return Dispersion(
        uwt=uwt,
        median=nearest_rank(nuwt, MEDIAN),
        lower_quartile=nearest_rank(nuwt, LOWER_QUARTILE),
        upper_quartile=nearest_rank(nuwt, UPPER_QUARTILE),
        pooled=int(kept["tuwt_s"].sum()) / exact_sum(kept["tusa"].to_numpy()),
        deviation=math.sqrt(f / len(nuwt)),
        f=f,
        entities=len(nuwt),
        single_job=too_few,
        no_usage=no_usage,
    )


def cdf(entities: pl.DataFrame, keep_single: bool = False) -> pl.DataFrame:
    """The cumulative distribution of NUWT over the counted entities.

    Returns:
        nuwt, ascending and distinct, in s per resource·s; share, in (0, 1]: entities with at most
        that NUWT; entities, their number. Not cut: charts cut at 10, as [K] does.
    """
    kept = counted(entities, keep_single)
    return (
        kept.group_by("nuwt")
        .agg(pl.len().cast(pl.Int64).alias("entities"))
        .sort("nuwt")
        .with_columns(pl.col("entities").cum_sum())
        .select("nuwt", (pl.col("entities") / kept.height).alias("share"), "entities")
    )
