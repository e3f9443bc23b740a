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

*Concentration*: of n users with amounts x_1 ≤ … ≤ x_n that sum to S > 0,

    L(k/n) = (x_1 + … + x_k) / S        Lorenz curve, k = 0 … n
    G = Σ_i Σ_j |x_i − x_j| / (2 n S)   Gini index of the population, without the factor n/(n − 1):
                                        0 where all have the same, (n − 1)/n where one has all

Sources: M. O. Lorenz, Methods of measuring the concentration of wealth, 1905; C. Gini, Variabilità
e mutabilità, 1912.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from audit.metrics.attempts.miss import FSTS, TOLERANCE_S, WEIGHT, Fst, in_totals, weighted
from audit.metrics.attempts.peers import contested
from audit.metrics.attempts.population import gave_up_wait, numbered, only
from audit.metrics.quantiles import (
    LOWER_QUARTILE,
    MEDIAN,
    UPPER_QUARTILE,
    exact_sum,
    grouped_sums,
    nearest_rank,
)
from audit.model import Standing
from audit.registry.causes import COLUMNS as BY_CAUSE
from audit.registry.causes import CONTESTED, PART_COLUMNS
from audit.registry.columns import BIGINT, DOUBLE, OF_ENTITIES, VARCHAR

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Kind = Literal["user", "account"]

_TYPES: Final = {BIGINT: pl.Int64, DOUBLE: pl.Float64, VARCHAR: pl.String}
ENTITY_SCHEMA = pl.Schema(
    {"entity_kind": pl.String, "entity": pl.String}
    | {column.key: _TYPES[column.type] for column in OF_ENTITIES if column.unit}
)
"""Columns of ``entity_result`` that are the metrics' own."""


_FORWARD: Final = ("overtaken_s", "unmodelled_s")
_READ: Final = (
    *("standing", "job_id", "attempt", "arrival_time", "end_time", "size", "runtime_s", "wait_s"),
    *(
        "re_unfairness",
        *("fst_status", WEIGHT),
        *(f"miss_{fst}_s" for fst in FSTS),
        *BY_CAUSE,
        *PART_COLUMNS,
        *("peer_wait_s", "peer_contested_s", *CONTESTED),
        *_FORWARD,
    ),
)
"""Columns that figures of users and accounts are made of."""


_WAITS: Final = {"booked": BY_CAUSE, "taken_apart": PART_COLUMNS}
"""Columns that divide waits, by what the number of the attempts that have them is called."""


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
            with what ``scenario.forward`` adds where forward starts are, and with what
            ``anatomy`` and ``peer_waits`` add, where waits were taken apart.
        tolerance_s: what an attempt may miss its fair start time by before it counts as missed, s.

    Returns:
        Columns of ``ENTITY_SCHEMA``, sorted by entity, null first. ``jobs`` and ``attempts`` count
        what started and ended; ``re_unfairness_positive`` = Σ max(unfairness, 0) and
        ``re_unfairness_net`` = Σ unfairness, in resource·s, are over the attempts whose size is
        known, null where there are attempts and none of them is. ``miss_*_s`` are sums over the
        attempts whose misses are part of totals, ``missed_*`` how many of these missed by more than
        ``tolerance_s``; null where there is none of them. ``wait_*_s`` are sums over the attempts
        whose waits were taken apart, and ``peer_ratio`` and ``excess_wait_s`` are over those that
        have peers, likewise, as are ``contested_ratio`` and ``contested_excess_s``; a ratio is also
        null where the peers did not wait. ``passed_*`` are left to ``passed_over``. ``overtaken_s``
        and ``unmodelled_s`` are sums over those with misses that have a forward start, likewise.
    """
    return by_entities(with_re, (kind,), tolerance_s)[kind]


def by_entities(
    with_re: pl.DataFrame, kinds: Sequence[Kind], tolerance_s: int = TOLERANCE_S
) -> dict[Kind, pl.DataFrame]:
    """``by_entity`` of several kinds: what is summed is worked out once for all of them."""
    subject = pl.col("standing") == Standing.ENDED
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    marked = {fst: in_totals(fst) for fst in FSTS if _has_fst(with_re, fst)}
    read = with_re.select(
        cs.by_name(*_READ, require_all=False),
        *(numbered(with_re[kind]) for kind in kinds),
        **marked,
    )
    held = only(read, subject | gave_up)
    del read
    groups = _Groups(held, kinds)
    groups.count_jobs(subject)
    groups.add(_terms(held, tolerance_s))
    sized = subject & pl.col("size").is_not_null()
    groups.add_exactly("known", sized, re_unfairness_net=pl.col("re_unfairness"))
    groups.add_exactly("known", sized, re_unfairness_positive=pl.col("re_unfairness").clip(0))
    for number, columns in _WAITS.items():
        if set(columns) <= set(held.columns):
            known = subject & pl.col(columns[0]).is_not_null()
            groups.add_rounded(number, known, **{name: pl.col(name) for name in columns})
    if "peer_wait_s" in held.columns:
        has_peers = subject & pl.col("peer_wait_s").is_not_null()
        waits = {"waited": pl.col("wait_s"), "peers_waited": pl.col("peer_wait_s")}
        groups.add_rounded("compared", has_peers, **waits)
    if "peer_contested_s" in held.columns:
        has_peers = subject & pl.col("peer_contested_s").is_not_null()
        waits = {"contested": contested(), "peers_contested": pl.col("peer_contested_s")}
        groups.add_rounded("contest_compared", has_peers, **waits)
    return {kind: _entities(kind, groups.table(kind)) for kind in kinds}


def _entities(kind: Kind, sums: pl.DataFrame) -> pl.DataFrame:
    """The rows of a kind that sums make; null where nothing is known."""
    of = pl.col("never_started")
    waits_known = (of == 0) | (of > pl.col("unknown_waits"))
    missing = {name: pl.lit(None) for name in ENTITY_SCHEMA if name not in sums.columns}
    known = {
        "gave_up_wait_s": waits_known,
        **dict.fromkeys(
            ("re_unfairness_positive", "re_unfairness_net"),
            (pl.col("attempts") == 0) | (pl.col("known") > 0),
        ),
        **{
            name: pl.col(f"some_{fst}") > 0
            for fst in FSTS
            for name in (f"miss_{fst}_s", f"missed_{fst}")
        },
        **{name: pl.col(f"some_{name}") > 0 for name in _FORWARD},
        **{name: pl.col(number) > 0 for number, columns in _WAITS.items() for name in columns},
    }
    made: dict[str, pl.Expr] = {}
    for number, waited, ratio, excess in (
        ("compared", "waited", "peer_ratio", "excess_wait_s"),
        ("contest_compared", "contested", "contested_ratio", "contested_excess_s"),
    ):
        if number in sums.columns:
            wait, peers = pl.col(waited), pl.col(f"peers_{waited}")
            made[ratio] = pl.when(peers != 0).then(wait / peers)
            made[excess] = pl.when(pl.col(number) > 0).then(wait - peers)
    tusa = pl.col("tusa")
    made |= {
        "entity_kind": pl.lit(kind),
        "tusa": tusa.cast(pl.Float64),
        "nuwt": pl.when(tusa > 0).then(pl.col("tuwt_s") / tusa.cast(pl.Float64)),
    }
    given = {name: pl.when(of).then(name) for name, of in known.items() if name in sums.columns}
    return sums.with_columns(
        **missing | given | made,
    ).select(pl.col(name).cast(dtype) for name, dtype in ENTITY_SCHEMA.items())


def _terms(held: pl.DataFrame, tolerance_s: int) -> dict[str, pl.Expr]:
    """Whole numbers that are summed; what is not to be summed is null."""
    columns = held.columns
    subject = pl.col("standing") == Standing.ENDED
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    terms = {
        "attempts": subject,
        "never_started": gave_up,
        "gave_up_wait_s": gave_up_wait(),
        "unknown_waits": gave_up & gave_up_wait().is_null(),
        "tuwt_s": pl.when(subject).then("wait_s"),
        "tusa": pl.when(subject).then(pl.col("runtime_s") * pl.col("size").fill_null(0)),
    }
    for fst in FSTS:
        if _has_fst(held, fst):
            miss, counts = pl.col(f"miss_{fst}_s"), pl.col(fst)
            missed = (miss > tolerance_s).cast(pl.Int64)
            terms[f"some_{fst}"] = counts
            terms[f"miss_{fst}_s"] = pl.when(counts).then(weighted(miss, columns))
            terms[f"missed_{fst}"] = pl.when(counts).then(weighted(missed, columns))
    if {*_FORWARD, "strict"} <= set(columns):
        for name in _FORWARD:
            terms[f"some_{name}"] = pl.col("strict") & pl.col(name).is_not_null()
            terms[name] = pl.when("strict").then(weighted(pl.col(name), columns))
    return terms


def _has_fst(attempts: pl.DataFrame, fst: Fst) -> bool:
    return {f"miss_{fst}_s", "fst_status"} <= set(attempts.columns)


class _Groups:
    """Sums over the attempts of each user, of each account: entities are numbered by name."""

    def __init__(self, held: pl.DataFrame, kinds: Sequence[Kind]) -> None:
        """Of attempts whose columns ``kinds`` are ``numbered``."""
        self._held = held
        self._codes: dict[Kind, Ints] = {}
        self._sums: dict[Kind, dict[str, pl.Series]] = {}
        for kind in kinds:
            names = held[kind].dtype
            assert isinstance(names, pl.Enum)
            number = (held[kind].to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
            found = np.flatnonzero(np.bincount(number, minlength=len(names.categories) + 1))
            place = np.zeros(len(names.categories) + 1, np.int64)
            place[found] = np.arange(len(found))
            known = pl.concat([pl.Series([None], dtype=pl.String), names.categories])
            self._codes[kind] = place[number]
            self._sums[kind] = {"entity": known.gather(found)}

    def table(self, kind: Kind) -> pl.DataFrame:
        """What was summed of each entity of a kind, in the order of their names, none first."""
        return pl.DataFrame(self._sums[kind])

    def add(self, terms: Mapping[str, pl.Expr]) -> None:
        """Sums of whole numbers, by name; null adds nothing."""
        from audit.kernels import sums

        for name, expression in terms.items():
            amounts = self._held.select(expression.cast(pl.Int64).fill_null(0)).to_series()
            for kind, codes in self._codes.items():
                out = np.zeros(self._count(kind), np.int64)
                sums.add_ints(codes, amounts.to_numpy(), out)
                self._sums[kind][name] = pl.Series(out)

    def add_exactly(self, number: str, condition: pl.Expr, **terms: pl.Expr) -> None:
        """Sums, rounded once, over attempts of which a condition holds; and their ``number``."""
        for kind, codes, amounts in self._of(number, condition, terms):
            for name, values in amounts.items():
                sums = grouped_sums(codes, values, self._count(kind))
                self._sums[kind][name] = pl.Series(sums, dtype=pl.Float64)

    def add_rounded(self, number: str, condition: pl.Expr, **terms: pl.Expr) -> None:
        """As ``add_exactly``, but each addition is rounded, in the order of attempts."""
        for kind, codes, amounts in self._of(number, condition, terms):
            for name, values in amounts.items():
                sums = np.bincount(codes, values, self._count(kind)).astype(np.float64)
                self._sums[kind][name] = pl.Series(sums)

    def count_jobs(self, subject: pl.Expr) -> None:
        """How many jobs there are of the attempts of which ``subject`` holds."""
        held = self._held
        if "attempt" in held.columns and (held["attempt"] == 1).all():
            self.add({"jobs": subject})  # a job has one first attempt
            return
        for kind, codes in self._codes.items():
            named = held.select("job_id", code=pl.Series(codes), holds=subject)
            jobs = named.filter("holds").unique()["code"].to_numpy()
            self._sums[kind]["jobs"] = pl.Series(np.bincount(jobs, minlength=self._count(kind)))

    def _of(
        self, number: str, condition: pl.Expr, terms: Mapping[str, pl.Expr]
    ) -> Iterator[tuple[Kind, Ints, dict[str, Floats]]]:
        """Whose each attempt is of which a condition holds, and its terms; notes their number."""
        read = self._held.select(holds=condition, **terms)
        rows = read["holds"].arg_true().to_numpy()
        amounts = {name: read[name].to_numpy()[rows] for name in terms}
        for kind, codes in self._codes.items():
            of = codes[rows]
            self._sums[kind][number] = pl.Series(np.bincount(of, minlength=self._count(kind)))
            yield kind, of, amounts

    def _count(self, kind: Kind) -> int:
        return len(self._sums[kind]["entity"])


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


def lorenz(amounts: Sequence[float]) -> list[tuple[float, float]]:
    """The Lorenz curve of amounts ≥ 0, not all 0: (part of users, part of all), from (0, 0) on.

    Raises:
        ValueError: there are no amounts, one is negative, or all are 0.
    """
    total = _total(amounts)
    ordered = sorted(amounts)
    held = (min(sum_ / total, 1.0) for sum_ in accumulate(ordered))
    points = [(number / len(ordered), part) for number, part in enumerate(held, start=1)]
    return [(0.0, 0.0), *points[:-1], (1.0, 1.0)]


def gini(amounts: Sequence[float]) -> float:
    """The Gini index of amounts ≥ 0, not all 0; in [0, 1).

    Raises:
        ValueError: as ``lorenz``.
    """
    total = _total(amounts)
    number = len(amounts)
    # Σ_i Σ_j |x_i − x_j| = 2 Σ_k (2k − n − 1) x_k over ascending amounts.
    weighted = math.fsum(
        (2 * place - number - 1) * amount for place, amount in enumerate(sorted(amounts), start=1)
    )
    return max(weighted / (number * total), 0.0)


def held_by_top(amounts: Sequence[float], part: float) -> float:
    """What part of everything those ``part`` of the users have who have most; in [0, 1].

    Between two users the Lorenz curve is straight.

    Raises:
        ValueError: as ``lorenz``.
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
