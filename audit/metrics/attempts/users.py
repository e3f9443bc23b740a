"""Figures of users and accounts: normalised user wait time (NUWT) and its spread (SPEC §6).

For a user (or account) o, over its attempts that started and ended in the period,

    TUWT_o = Σ wait             total user wait time, s
    TUSA_o = Σ runtime · size   total user squashed area, resource·s
    NUWT_o = TUWT_o / TUSA_o    null where TUSA_o = 0
    UWT    = mean of NUWT_o     F = Σ_o (UWT − NUWT_o)²     deviation = √(F / number of users)

UWT, F, deviation, quantiles and CDF leave out, and count, users with fewer than two started jobs or
without usage. Attempts without a user form one row with a null entity, which is left out likewise.
A NUWT below 1 does *not* mean more computing than waiting, as [K §2.3] states: a parallel attempt
uses several resource-seconds per second.

Source: [K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling,
§2.3, §4.1, §5.1.

*Stretch* of a user: Σ (end − arrival) / Σ occupancy. Jain's index (Σ x)² / (n Σ x²) tells how equal
the stretch x of users is. Sources: M. A. Bender, S. Chakrabarti, S. Muthukrishnan, Flow and stretch
metrics for scheduling continuous job streams, 1998; R. Jain, D. Chiu, W. Hawe, A quantitative
measure of fairness and discrimination, DEC-TR-301, 1984.

*Concentration*: of n users with amounts x_1 ≤ … ≤ x_n that sum to S > 0,

    L(k/n) = (x_1 + … + x_k) / S        Lorenz curve, k = 0 … n
    G = Σ_i Σ_j |x_i − x_j| / (2 n S)   Gini index of the population, without the factor n/(n − 1):
                                        0 if all amounts are equal, (n − 1)/n if one user has all

Sources: M. O. Lorenz, Methods of measuring the concentration of wealth, 1905; C. Gini, Variabilità
e mutabilità, 1912.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.array_types import Ints
from audit.metrics import quantiles
from audit.metrics.attempts.miss import EVERY_FST, TOLERANCE_S, WEIGHT, in_totals, weighted
from audit.metrics.attempts.population import gave_up_wait, numbered, only
from audit.metrics.attempts.similar import REFERENCE, excess
from audit.metrics.preemption import LOST
from audit.model import Standing
from audit.registry.causes import COLUMNS as BY_CAUSE
from audit.registry.columns import BIGINT, BOOLEAN, DOUBLE, OF_ENTITIES, VARCHAR

Kind = Literal["user", "account"]

_TYPES: Final = {BIGINT: pl.Int64, DOUBLE: pl.Float64, VARCHAR: pl.String, BOOLEAN: pl.Boolean}
ENTITY_SCHEMA = pl.Schema(
    {"entity_kind": pl.String, "entity": pl.String}
    | {column.key: _TYPES[column.type] for column in OF_ENTITIES if column.unit}
)
"""Columns of ``entity_result`` that are computed here and by ``passed_over``."""

_READ: Final = (
    *("standing", "job_id", "attempt", "arrival_time", "end_time", "size", "runtime_s", "wait_s"),
    *("re_unfairness", "fst_status", WEIGHT, *(f"miss_{fst}_s" for fst in EVERY_FST)),
    *(*BY_CAUSE, *REFERENCE.values(), "miss_cautious_s"),
    *("state", "occupancy_s", "suspended_s", "lost_work", "array_span_s"),
)
LEAST_JOBS: Final = 10
"""Fewest jobs of a user in Jain's index."""


class Dispersion(NamedTuple):
    """The spread of NUWT over entities, s per resource·s; null if no entity is left."""

    uwt: float | None = None  # mean NUWT
    median: float | None = None
    lower_quartile: float | None = None
    upper_quartile: float | None = None
    pooled: float | None = None  # Σ TUWT / Σ TUSA over the same entities
    deviation: float | None = None  # population standard deviation
    f: float | None = None  # Σ (UWT − NUWT)²
    entities: int = 0  # number of entities that the figures describe
    single_job: int = 0  # entities left out for having fewer than two started jobs
    no_usage: int = 0  # other entities left out for having no usage


def by_entity(with_re: pl.DataFrame, kind: Kind, tolerance_s: int = TOLERANCE_S) -> pl.DataFrame:
    """Return one row per user, or per account; see ``by_entities``."""
    return by_entities(with_re, (kind,), tolerance_s)[kind]


def by_entities(
    with_re: pl.DataFrame, kinds: Sequence[Kind], tolerance_s: int = TOLERANCE_S
) -> dict[Kind, pl.DataFrame]:
    """Return, by kind, one row per user or account with an attempt that ended or never started.

    Args:
        with_re: attempts of one pool and period with the columns of ``resource_equality``;
            optionally with those of ``miss.misses`` and fst_status, of ``delivered_starts``, of
            ``account``, and of ``similar_waits``.
        tolerance_s: greatest miss that does not count in ``missed_*``, s.

    Returns:
        Columns of ``ENTITY_SCHEMA``, sorted by entity, null first; ``passed_*`` are null. Sums are
        null if no attempt has the figure: ``re_unfairness_*`` are over attempts of known size (0
        without attempts), ``miss_*_s`` and ``missed_*`` over those that count in totals,
        ``cause_*_s`` over those with an account of their wait, excesses over those with
        similar jobs.
    """
    subject = pl.col("standing") == Standing.ENDED
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    marked = {
        f"some_miss_{fst}_s": in_totals(fst)
        for fst in EVERY_FST
        if set(in_totals(fst).meta.root_names()) <= set(with_re.columns)
    }
    read = with_re.select(
        cs.by_name(*_READ, require_all=False),
        *(numbered(with_re[kind]) for kind in kinds),
        **marked,
    )
    held = only(read, subject | gave_up)
    del read
    codes, sums = {}, {}
    subjects = held.select(subject.arg_true()).to_series().to_numpy()
    for kind in kinds:
        codes[kind], names = _codes(held[kind])
        sums[kind] = {"entity": names, "jobs": _jobs(held, codes[kind], len(names), subject)}
    for name, term in _whole_terms(held.columns, tolerance_s).items():
        amounts = held.select(term.cast(pl.Int64).fill_null(0)).to_series().to_numpy()
        for kind, of in codes.items():
            sums[kind][name] = pl.Series(quantiles.add_ints(of, amounts, len(sums[kind]["entity"])))
    for number, condition, terms, exactly in _rounded_terms(held.columns):
        values = held.select(condition=subject & condition, **terms)
        rows = values["condition"].arg_true().to_numpy()
        for kind, every in codes.items():
            of, count = every[rows], len(sums[kind]["entity"])
            sums[kind][number] = pl.Series(np.bincount(of, minlength=count))
            for name in terms:
                amounts = values[name].to_numpy()[rows]
                added = (
                    quantiles.grouped_sums(of, amounts, count)
                    if exactly
                    else np.bincount(of, amounts, count)
                )
                sums[kind][name] = pl.Series(added, dtype=pl.Float64)
    for kind, of in codes.items():
        sums[kind] |= _beside_similar(
            only(held, subject), of[subjects], len(sums[kind]["entity"]), kind
        )
    return {kind: _entities(kind, pl.DataFrame(of_kind)) for kind, of_kind in sums.items()}


def _beside_similar(
    ended: pl.DataFrame, codes: Ints, count: int, kind: Kind
) -> dict[str, pl.Series]:
    """Return the median wait of each entity, that of similar jobs, and the excess (SPEC §10)."""
    made = {"wait_median": _medians(ended["wait_s"], codes, count)}
    if (name := REFERENCE[kind]) in ended.columns:
        made["similar_wait_median"] = _medians(ended[name], codes, count)
        more = ended.select(excess(name).fill_null(0)).to_series().to_numpy()
        known = made["similar_wait_median"].is_not_null()
        made["excess_wait_s"] = pl.Series(quantiles.add_ints(codes, more, count)).zip_with(
            known, made["similar_wait_median"]
        )
    return made


def _medians(values: pl.Series, codes: Ints, count: int) -> pl.Series:
    """Return the nearest-rank median of the known values of each code, null without any."""
    known = values.is_not_null().to_numpy()
    of, held = codes[known], values.drop_nulls().to_numpy()
    ascending = held[np.lexsort((held, of))]
    numbers = np.bincount(of, minlength=count)
    some = np.flatnonzero(numbers)
    begins = np.cumsum(numbers) - numbers
    places = begins[some] + np.maximum(-(-numbers[some] * quantiles.MEDIAN // 1000), 1) - 1
    out = np.full(count, -1, np.int64)
    out[some] = ascending[places]
    return pl.Series(out).set(pl.Series(numbers == 0), None)


def _codes(names: pl.Series) -> tuple[Ints, pl.Series]:
    """Return the number of each attempt's entity, and the names of the entities, null first."""
    assert isinstance(names.dtype, pl.Enum)
    known = pl.concat([pl.Series([None], dtype=pl.String), names.dtype.categories])
    numbers = (names.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
    found, codes = quantiles.renumbered(numbers, len(known))
    return codes, known.gather(found)


def _jobs(held: pl.DataFrame, codes: Ints, count: int, subject: pl.Expr) -> pl.Series:
    if "attempt" in held.columns and (held["attempt"] == 1).all():  # jobs of one attempt each
        of = codes[held.select(subject.arg_true()).to_series().to_numpy()]
    else:
        jobs = held.select("job_id", code=pl.Series(codes), holds=subject)
        of = jobs.filter("holds").unique()["code"].to_numpy()
    return pl.Series(np.bincount(of, minlength=count))


def _whole_terms(columns: Sequence[str], tolerance_s: int) -> dict[str, pl.Expr]:
    """Return the terms of sums of whole numbers; a null adds nothing."""
    subject = pl.col("standing") == Standing.ENDED
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    terms = {
        "attempts": subject,
        "never_started": gave_up,
        "gave_up_wait_s": gave_up_wait(),
        "unknown_waits": gave_up & gave_up_wait().is_null(),
        "tuwt_s": pl.when(subject).then("wait_s"),
        "tusa": pl.when(subject).then(pl.col("runtime_s") * pl.col("size").fill_null(0)),
        "response": pl.when(subject).then(pl.col("end_time") - pl.col("arrival_time")),
        "occupied": pl.when(subject).then("occupancy_s"),
    }
    for fst in EVERY_FST:
        if (some := f"some_miss_{fst}_s") in columns:
            miss = pl.col(f"miss_{fst}_s")
            counts = {f"miss_{fst}_s": miss, f"missed_{fst}": (miss > tolerance_s).cast(pl.Int64)}
            if fst == "delivered":
                counts["miss_cautious_s"] = pl.col("miss_cautious_s")
            else:
                counts = {name: weighted(amount, columns) for name, amount in counts.items()}
            terms[some] = pl.col(some)
            terms |= {name: pl.when(some).then(amount) for name, amount in counts.items()}
    return terms


def _rounded_terms(columns: Sequence[str]) -> list[tuple[str, pl.Expr, dict[str, pl.Expr], bool]]:
    """Return sums of floats: the name of the number of attempts, their condition, the terms.

    The last element is whether a sum is rounded once, whatever the order of the attempts.
    """
    unfairness = pl.col("re_unfairness")
    re = {"re_unfairness_net": unfairness, "re_unfairness_positive": unfairness.clip(0)}
    made = [("known", pl.col("size").is_not_null(), re, True)]
    if set(BY_CAUSE) <= set(columns):
        terms = {name: pl.col(name) for name in BY_CAUSE}
        made.append(("booked", pl.col(BY_CAUSE[0]).is_not_null(), terms, False))
    if "lost_work" in columns:
        terms = {
            "preempted": pl.col("state").is_in(LOST).fill_null(value=False).cast(pl.Float64),
            "lost_work": pl.col("lost_work"),
            "suspended_s": pl.col("suspended_s").fill_null(0).cast(pl.Float64),
        }
        made.append(("interrupted", pl.col("lost_work").is_not_null(), terms, False))
    if "array_span_s" in columns:
        terms = {
            "in_arrays": pl.col("occupancy_s").cast(pl.Float64),
            "array_span": pl.col("array_span_s").cast(pl.Float64),
        }
        made.append(("tasks", pl.col("array_span_s").is_not_null(), terms, False))
    return made


def _entities(kind: Kind, sums: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a kind; sums over no attempt are null."""
    never, tusa = pl.col("never_started"), pl.col("tusa").cast(pl.Float64)
    known: dict[str, pl.Expr] = {"gave_up_wait_s": (never == 0) | (never > pl.col("unknown_waits"))}
    for name in ("re_unfairness_positive", "re_unfairness_net"):
        known[name] = (pl.col("attempts") == 0) | (pl.col("known") > 0)
    for fst in EVERY_FST:
        for name in (f"miss_{fst}_s", f"missed_{fst}"):
            known[name] = pl.col(f"some_miss_{fst}_s") > 0
    known["miss_cautious_s"] = pl.col("some_miss_delivered_s") > 0
    interrupted = ("preempted", "lost_work", "suspended_s")
    known |= {name: pl.col("interrupted") > 0 for name in interrupted}
    known |= dict.fromkeys(BY_CAUSE, pl.col("booked") > 0)
    made: dict[str, pl.Expr] = {
        name: pl.when(some).then(name) for name, some in known.items() if name in sums.columns
    }
    made |= {name: pl.lit(None) for name in ENTITY_SCHEMA if name not in sums.columns}
    made |= {
        "entity_kind": pl.lit(kind),
        "tusa": tusa,
        "nuwt": pl.when(tusa > 0).then(pl.col("tuwt_s") / tusa),
        "stretch": pl.when(pl.col("occupied") > 0).then(pl.col("response") / pl.col("occupied")),
    }
    if "array_span" in sums.columns:
        spans = pl.col("array_span")
        made["array_concurrency"] = pl.when(spans > 0).then(pl.col("in_arrays") / spans)
    return sums.with_columns(**made).select(
        pl.col(name).cast(dtype) for name, dtype in ENTITY_SCHEMA.items()
    )


def counted(entities: pl.DataFrame, keep_single: bool = False) -> pl.DataFrame:
    """Return the entities that count in UWT and related figures, in their order.

    They have a name, usage, and at least two started jobs (with ``keep_single`` at least one).
    """
    return entities.filter(
        pl.col("entity").is_not_null(),
        pl.col("jobs") >= (1 if keep_single else 2),
        pl.col("nuwt").is_not_null(),
    )


def dispersion(entities: pl.DataFrame, keep_single: bool = False) -> Dispersion:
    """Return the spread of NUWT over the rows of ``by_entity``.

    ``keep_single`` includes entities with one started job, which [K §5.1] leaves out.
    """
    kept = counted(entities, keep_single)
    named = entities.filter(pl.col("entity").is_not_null(), pl.col("jobs") > 0)
    too_few = 0 if keep_single else named.filter(pl.col("jobs") < 2).height
    no_usage = named.height - too_few - kept.height
    nuwt = np.sort(kept["nuwt"].to_numpy())
    if len(nuwt) == 0:
        return Dispersion(single_job=too_few, no_usage=no_usage)
    uwt = quantiles.exact_sum(nuwt) / len(nuwt)
    f = quantiles.exact_sum((uwt - nuwt) ** 2)
    return Dispersion(
        uwt=uwt,
        median=quantiles.nearest_rank(nuwt, quantiles.MEDIAN),
        lower_quartile=quantiles.nearest_rank(nuwt, quantiles.LOWER_QUARTILE),
        upper_quartile=quantiles.nearest_rank(nuwt, quantiles.UPPER_QUARTILE),
        pooled=int(kept["tuwt_s"].sum()) / quantiles.exact_sum(kept["tusa"].to_numpy()),
        deviation=math.sqrt(f / len(nuwt)),
        f=f,
        entities=len(nuwt),
        single_job=too_few,
        no_usage=no_usage,
    )


def cdf(entities: pl.DataFrame, keep_single: bool = False) -> pl.DataFrame:
    """Return the cumulative distribution of NUWT over the counted entities.

    Columns: nuwt, ascending and distinct, s per resource·s; share, in (0, 1], and number (entities)
    of the entities with at most that NUWT.
    """
    kept = counted(entities, keep_single)
    return (
        kept.group_by("nuwt")
        .agg(pl.len().cast(pl.Int64).alias("entities"))
        .sort("nuwt")
        .with_columns(pl.col("entities").cum_sum())
        .select("nuwt", (pl.col("entities") / kept.height).alias("share"), "entities")
    )


def jain(entities: pl.DataFrame) -> float | None:
    """Return Jain's index of the stretch of entities with at least ``LEAST_JOBS`` jobs.

    (Σ x)² / (n Σ x²), from 1/n to 1; null without any.
    """
    named = entities.filter(pl.col("entity").is_not_null(), pl.col("jobs") >= LEAST_JOBS)
    values = named["stretch"].drop_nulls().to_list()
    squares = math.fsum(x * x for x in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else None


def lorenz(amounts: Sequence[float]) -> list[tuple[float, float]]:
    """Return the Lorenz curve of amounts ≥ 0 as (part of users, part of all), from (0, 0) on.

    Raises:
        ValueError: there are no amounts, one is negative, or all are 0.
    """
    total = _total(amounts)
    ordered = sorted(amounts)
    held = (min(sum_ / total, 1.0) for sum_ in accumulate(ordered))
    points = [(number / len(ordered), part) for number, part in enumerate(held, start=1)]
    return [(0.0, 0.0), *points[:-1], (1.0, 1.0)]


def gini(amounts: Sequence[float]) -> float:
    """Return the Gini index of amounts ≥ 0, in [0, 1); errors as ``lorenz``."""
    total = _total(amounts)
    number = len(amounts)
    # Σ_i Σ_j |x_i − x_j| = 2 Σ_k (2k − n − 1) x_k over ascending amounts.
    weighted = math.fsum(
        (2 * place - number - 1) * amount for place, amount in enumerate(sorted(amounts), start=1)
    )
    return max(weighted / (number * total), 0.0)


def held_by_top(amounts: Sequence[float], part: float) -> float:
    """Return the part of the total held by the top ``part`` of the users; errors as ``lorenz``.

    Between two users the Lorenz curve is linear.
    """
    curve = lorenz(amounts)
    place = (1 - min(max(part, 0.0), 1.0)) * len(amounts)
    below = min(int(place), len(amounts) - 1)
    (_, low), (_, high) = curve[below], curve[below + 1]
    return 1 - (low + (place - below) * (high - low))


def _total(amounts: Sequence[float]) -> float:
    total = math.fsum(amounts)
    if not total > 0 or min(amounts) < 0:  # also where one is not a number
        raise ValueError("amounts must not be negative, nor all of them 0")
    return total
