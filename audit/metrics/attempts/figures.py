"""What is measured of each part of a population: of all attempts, of a width class, of a user, ….

Every figure here is of the attempts that ended in the period; those of resource equality only of
those whose size is known, and those about fair start times (FST) only of those whose FST is part of
totals (``miss.in_totals``), each as often as it stands for one that was not computed. Where misses
were not computed, or waits not taken apart, there are no rows about them.
"""

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

from audit.metrics.attempts.anatomy import COLUMNS as WAIT_PARTS
from audit.metrics.attempts.miss import FSTS, WEIGHT, Fst, in_totals, preference, repeated
from audit.metrics.attempts.parts import DIMENSIONS, Part, Ratio, Row, cut, evaluated, row
from audit.metrics.quantiles import MEDIAN, P90, P99
from audit.metrics.uncertainty import Resamples
from audit.model import FstStatus

READ: Final = (
    *("standing", "user", "account", "partition", "qos", "width_class", "size", "arrival_time"),
    *("wait_s", "bounded_slowdown", "overtaken_by", "re_consumed", "re_unfairness"),
    *("start_time", "fst_status", WEIGHT, "fair_slowdown"),
    *("overtaken_s", "overtaken_own_s", "unmodelled_s"),
    *WAIT_PARTS,
    *(f"{what}_{fst}{unit}" for what, unit in (("fst", ""), ("miss", "_s")) for fst in FSTS),
)
"""Columns that the figures below are made of; those about fair start times, and the parts of waits,
may be missing."""


def of_parts(attempts: pl.DataFrame, resamples: Resamples) -> list[Row]:
    """Waits, slowdowns, overtakes and resource equality.

    Args:
        attempts: what ``parts.coded`` gave for those that ended in the period.
        resamples: of its users.
    """
    rows = []
    for measured, terms, whose in (
        (_MEASURED, _TERMS, pl.lit(True)),
        (_SHARED, _SHARES, pl.col("size").is_not_null()),
    ):
        counted = evaluated(attempts, terms, whose)
        for dimension, measures in measured.items():
            for part in cut(counted, dimension):
                rows += [figure for measure in measures for figure in measure(part, resamples)]
    return rows


def of_anatomy(attempts: pl.DataFrame, resamples: Resamples) -> list[Row]:
    """Parts of waits as shares of all waiting that was taken apart; and the room in them as a sum.

    Args:
        attempts: as in ``of_parts``; with what ``anatomy`` adds.
        resamples: of its users.
    """
    if not set(WAIT_PARTS) <= set(attempts.columns):
        return []
    terms = {name: pl.col(name) for name in ("wait_s", *WAIT_PARTS)}
    terms["usable"] = pl.col("wait_room_s") * pl.col("size").fill_null(0)
    counted = evaluated(attempts, terms, pl.col(WAIT_PARTS[0]).is_not_null())
    shares = [Ratio(f"{name[:-2]}_share", name, "wait_s") for name in WAIT_PARTS]
    rows = []
    for dimension in ("all", *DIMENSIONS):
        for part in cut(counted, dimension):
            rows += part.ratios(shares, resamples)
            rows.append(part.total("idle_usable", "usable"))
    return rows


def of_fair_starts(attempts: pl.DataFrame, resamples: Resamples, tolerance_s: int) -> list[Row]:
    """Misses of fair start times, preferential treatment, and fair slowdown.

    Args:
        attempts: as in ``of_parts``; with what ``miss.misses`` adds, and fst_status.
        resamples: of its users.
        tolerance_s: what a start may differ from its FST before it counts as missed, or as
            preferred, s, ≥ 0. Sums are not clipped by it.
    """
    if not {"miss_strict_s", "fst_status"} <= set(attempts.columns):
        return []
    rows = _statuses(attempts)
    attempts = repeated(attempts)
    for fst in FSTS:
        rows += _of_fair_start(attempts, resamples, tolerance_s, fst)
    return rows


def _of_fair_start(
    attempts: pl.DataFrame, resamples: Resamples, tolerance_s: int, fst: Fst
) -> list[Row]:
    rows = []
    counted = evaluated(attempts, _fst_terms(fst, tolerance_s), in_totals(fst))
    figures = _fst_figures(fst)
    for dimension in _FST_DIMENSIONS:
        slowdowns = _FAIR_SLOWDOWNS if fst == "strict" and dimension in _SLOWED else ()
        for part in cut(counted, dimension):
            rows += part.ratios([*figures, *slowdowns], resamples)
    return rows


def of_forward_starts(attempts: pl.DataFrame, resamples: Resamples) -> list[Row]:
    """What later arrivals cost, what they explain of the misses, and what nothing explains.

    Args:
        attempts: as in ``of_fair_starts``; with what ``scenario.forward`` adds.
        resamples: of its users.
    """
    if "overtaken_s" not in attempts.columns:
        return []
    has_forward = in_totals("strict") & pl.col("overtaken_s").is_not_null()
    counted = evaluated(repeated(attempts), _FORWARD_TERMS, has_forward)
    rows = []
    for dimension in _FST_DIMENSIONS:
        for part in cut(counted, dimension):
            rows += part.ratios(_FORWARD_FIGURES, resamples)
    return rows


def _waits(part: Part, resamples: Resamples) -> list[Row]:
    quantiles = {"wait_median": MEDIAN, "wait_p90": P90, "wait_p99": P99}
    return [
        *_mean_wait(part, resamples),
        *part.quantiles(quantiles, "wait_s", resamples),
        part.greatest("wait_max", "wait_s"),
    ]


def _mean_wait(part: Part, resamples: Resamples) -> list[Row]:
    return part.ratios([Ratio("wait_mean", "wait_s", "one")], resamples)


def _slowdowns(part: Part, resamples: Resamples) -> list[Row]:
    quantiles = {"bounded_slowdown_median": MEDIAN, "bounded_slowdown_p90": P90}
    mean = Ratio("bounded_slowdown_mean", "bounded_slowdown", "one")
    return [
        *part.ratios([mean], resamples),
        *part.quantiles(quantiles, "bounded_slowdown", resamples),
    ]


def _overtakes(part: Part, resamples: Resamples) -> list[Row]:
    figures = [
        Ratio("overtaken_share", "overtaken", "one"),
        Ratio("overtaken_by_mean", "overtaken_by", "one"),
    ]
    return part.ratios(figures, resamples)


def _unfairness(part: Part, resamples: Resamples) -> list[Row]:
    figures = [
        Ratio("re_unfairness", "re_unfair", "one"),
        Ratio("re_unfairness_share", "re_unfair", "re_consumed"),
        Ratio("re_treated_unfairly_share", "re_treated", "one"),
        Ratio("re_unfairness_net", "re_unfairness", "one"),
    ]
    return [*part.ratios(figures, resamples), part.total("consumed", "re_consumed")]


def _number(condition: pl.Expr) -> pl.Expr:
    return condition.cast(pl.Int64)


_COUNT: Final = pl.lit(1, pl.Int64)
_TERMS: Final[Mapping[str, pl.Expr]] = {
    "one": _COUNT,
    "wait_s": pl.col("wait_s"),
    "bounded_slowdown": pl.col("bounded_slowdown"),
    "overtaken": _number(pl.col("overtaken_by") > 0),
    "overtaken_by": pl.col("overtaken_by"),
}
_SHARES: Final[Mapping[str, pl.Expr]] = {
    "one": _COUNT,
    "re_unfair": pl.col("re_unfairness").clip(0),
    "re_treated": _number(pl.col("re_unfairness") > 0),
    "re_unfairness": pl.col("re_unfairness"),
    "re_consumed": pl.col("re_consumed"),
}

_Measured = Mapping[str, tuple[Callable[[Part, Resamples], list[Row]], ...]]
_MEASURED: Final[_Measured] = {
    "all": (_waits, _slowdowns, _overtakes),
    "width_class": (_waits, _slowdowns, _overtakes),
    "account": (_waits,),
    "hour_of_week": (_mean_wait,),
}
"""What is measured of each part of all attempts, by dimension."""
_SHARED: Final[_Measured] = dict.fromkeys(("all", "width_class", "user", "account"), (_unfairness,))
"""The same of the attempts whose size is known: nobody can say what others deserved."""


def _statuses(attempts: pl.DataFrame) -> list[Row]:
    """How many fair start times have each status that occurs."""
    numbers = dict(attempts["fst_status"].cast(pl.String).drop_nulls().value_counts().iter_rows())
    return [
        row("fst_attempts", "fst_status", status, number, number)
        for status in FstStatus
        if (number := numbers.get(status))
    ]


def _fst_terms(fst: Fst, tolerance_s: int) -> dict[str, pl.Expr]:
    miss, early = pl.col(f"miss_{fst}_s"), preference(fst)
    missed = miss > tolerance_s
    terms = {
        "one": _COUNT,
        "miss": miss,
        "missed": _number(missed),
        "missed_by": pl.when(missed).then(miss).otherwise(0),
        "preferred": _number(early > tolerance_s),
        "preference": early,
    }
    if fst == "strict":
        slower = pl.col("bounded_slowdown") > pl.col("fair_slowdown")
        terms |= {"fair_slowdown": pl.col("fair_slowdown"), "slower": _number(slower)}
    return terms


def _fst_figures(fst: Fst) -> list[Ratio]:
    return [
        Ratio(f"miss_{fst}_mean", "miss", "one"),
        Ratio(f"missed_{fst}_share", "missed", "one"),
        Ratio(f"missed_{fst}_mean", "missed_by", "missed"),
        Ratio(f"preferred_{fst}_share", "preferred", "one"),
        Ratio(f"preference_{fst}_mean", "preference", "one"),
    ]


_FST_DIMENSIONS: Final = ("all", "width_class", "user", "account", "partition", "hour_of_week")
_SLOWED: Final = ("all", "width_class")
_FAIR_SLOWDOWNS: Final = (
    Ratio("fair_slowdown_mean", "fair_slowdown", "one"),
    Ratio("over_fair_slowdown_share", "slower", "one"),
)
_FORWARD_TERMS: Final[Mapping[str, pl.Expr]] = {
    "one": _COUNT,
    "overtaken": pl.col("overtaken_s"),
    "own": pl.col("overtaken_own_s").fill_null(0),
    "own_known": _number(pl.col("overtaken_own_s").is_not_null()),
    "unmodelled": pl.col("unmodelled_s"),
    "wait": pl.col("wait_s"),
    "miss": pl.col("miss_strict_s"),
    "explained": pl.min_horizontal(pl.col("overtaken_s").clip(0), "miss_strict_s"),
}
_FORWARD_FIGURES: Final = [
    Ratio("overtaken_time_mean", "overtaken", "one"),
    Ratio("overtaken_wait_share", "overtaken", "wait"),
    Ratio("overtaken_own_time_mean", "own", "own_known"),
    Ratio("unmodelled_time_mean", "unmodelled", "one"),
    Ratio("miss_explained_share", "explained", "miss"),
]
