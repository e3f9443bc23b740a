"""The figures of each part of a population: of all attempts, of a width class, of a user, ….

The registry of measures declares which figures exist, which attempts each describes, and its terms.
This module computes those terms that are not columns of attempts.

Figures describe the attempts that ended in the period; those of resource equality only attempts of
known size, and those about fair start times (FST) only attempts whose FST counts in totals
(``miss.in_totals``); those with a strict or relaxed one are weighted by the number of attempts that
they represent. Where misses or divided waits are missing, so are the rows about them.

Intervals are over users, and those of shares of a whole pool's waiting time over calendar weeks of
arrival, or days below ``LEAST_UNITS`` weeks (SPEC §11, *Verdict*).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Self

import polars as pl

from audit.metrics.attempts import parts
from audit.metrics.attempts.miss import EVERY_FST, FSTS, WEIGHT, Fst, in_totals, preference
from audit.metrics.preemption import LOST
from audit.metrics.uncertainty import FEWEST, RESAMPLES, Resamples
from audit.model import FstStatus
from audit.registry.causes import CAUSES, LACKS
from audit.registry.measure import Greatest, Measure, Of, Quantile, Quotient, RatioRange
from audit.registry.measures import SUMMARY
from audit.registry.requested import BEYONDS
from audit.words import is_amount

Terms = Mapping[str, pl.Expr]

_WHOSE: Final[Mapping[Of, pl.Expr]] = {
    Of.ENDED: pl.lit(True),
    Of.SIZED: pl.col("size").is_not_null(),
    Of.BOOKED: pl.all_horizontal(pl.col(cause.column).is_not_null() for cause in CAUSES),
    Of.ON_NODES: pl.col(LACKS[0].column).is_not_null(),
    Of.TAKES: pl.col("preemptible_s").is_not_null(),
    **{Of(fst): in_totals(fst) for fst in EVERY_FST},
    Of.INTERRUPTED: pl.col("lost_work").is_not_null(),
    Of.ARRAYS: pl.col("array_span_s").is_not_null(),
    Of.REQUESTED: pl.col("beyond_work").is_not_null(),
}
_SOMETIMES: Final = {Of.ON_NODES, Of.INTERRUPTED, Of.ARRAYS, Of.REQUESTED, Of.TAKES}
"""Attempts without which there are no rows."""
_WEIGHTED: Final = {Of(fst) for fst in FSTS}


def read() -> list[str]:
    """Return the columns of attempts that figures are made of, optional ones included."""
    names = {"standing", "user", "arrival_time", "size", "fst_status", WEIGHT, *parts.DIMENSIONS}
    for subjects in Of:
        names |= _roots(_WHOSE[subjects])
        for measure in _measures(subjects):
            names |= _needed(measure, _terms(subjects, 0))
    return sorted(names - {"hour_of_week", parts.GPU_TYPE, parts.QUEUE} | {"gpu_types"})


class DrawnUnits(NamedTuple):
    """The resamples of a population's users, and of the weeks or days in which it arrived."""

    users: Resamples
    stretches: Resamples

    @classmethod
    def of(cls, coded: parts.Coded, seed: int, resamples: int = RESAMPLES) -> Self:
        """Return those of the described attempts."""
        units = (coded.along[name].n_unique() for name in ("unit", "stretch"))
        return cls(*(Resamples(number, seed, resamples) for number in units))


def of_parts(coded: parts.Coded, drawn: DrawnUnits, tolerance_s: int) -> pl.DataFrame:
    """Return the figures that the registry derives from attempts, along all their dimensions.

    Args:
        coded: those that ended in the period, with the columns that ``read`` returns.
        drawn: resamples of these attempts.
        tolerance_s: greatest difference between start and FST that counts neither as a miss nor as
            preference, s, ≥ 0. Sums are not clipped by it.

    Returns:
        Columns of ``parts.SUMMARY_SCHEMA``.
    """
    rows = [pl.DataFrame(list(_statuses(coded)), parts.SUMMARY_SCHEMA, orient="row")]
    columns = set(coded.attempts.columns)
    sometimes = (parts.GPU_TYPE, parts.QUEUE)  # no types in the log, or only one queue
    dimensions = [
        name for name in parts.DIMENSIONS if name not in sometimes or coded.along[name].count()
    ]
    for subjects in Of:
        terms = _terms(subjects, tolerance_s)
        measures = [
            measure
            for measure in _measures(subjects)
            if not measure.when or _needed(measure, terms) <= columns
        ]
        if not measures:
            continue
        made = {name: _made(name, terms) for one in measures for name in _named(one)}
        counted = parts.Evaluated(coded, made, _WHOSE[subjects])
        if subjects in _WEIGHTED and WEIGHT in columns:
            counted.repeat(WEIGHT)
        if subjects not in _SOMETIMES or counted.along.height:
            rows += _of_subjects(counted, measures, drawn, dimensions)
    return pl.concat(rows)


_Figures = tuple[list[Measure], Resamples, int]
"""Measures, their resamples, and the fewest units with an interval."""


def _of_subjects(
    counted: parts.Evaluated, measures: list[Measure], drawn: DrawnUnits, dimensions: list[str]
) -> Iterator[pl.DataFrame]:
    """Yield the figures of some attempts; each term is computed once, and added to all parts."""
    of_waiting, others = (
        [one for one in measures if one.of_waiting is shares] for shares in (True, False)
    )
    stretches = (_along("all", of_waiting), drawn.stretches, parts.LEAST_UNITS)
    cuts = [
        _cut(counted, "all", [(_along("all", others), drawn.users, FEWEST)]),
        _cut(counted, "all", [stretches], "stretch"),
    ]
    for dimension in dimensions:
        if any(dimension in one.dimensions for one in measures):
            along: list[_Figures] = [
                (_along(dimension, others), drawn.users, FEWEST),
                (_along(dimension, of_waiting), drawn.users, parts.LEAST_UNITS),
            ]
            cuts.append(_cut(counted, dimension, along))
    for term in dict.fromkeys(name for one in measures for name in _named(one)):
        for cut, _ in cuts:
            cut.add(term)
    for cut, wanted in cuts:
        yield cut.rows([column for figures in wanted for column in cut.figures(*figures)])


def _cut(
    counted: parts.Evaluated, dimension: str, wanted: list[_Figures], unit: str = "unit"
) -> tuple[parts.Cut, list[_Figures]]:
    """Return attempts cut along a dimension, with space for the sums that figures need."""
    terms = dict.fromkeys(
        name
        for measures, *_ in wanted
        for one in measures
        if not isinstance(one.figure, Quantile | Greatest)
        for name in _named(one)
    )
    return parts.Cut(counted, dimension, terms, unit), wanted


def _along(dimension: str, measures: Iterable[Measure]) -> list[Measure]:
    return [one for one in measures if dimension in one.dimensions]


def _measures(subjects: Of) -> Iterator[Measure]:
    return (one for one in SUMMARY.values() if one.figure and one.figure.of is subjects)


def _named(measure: Measure) -> tuple[str, ...]:
    figure = measure.figure
    assert figure is not None
    if isinstance(figure, RatioRange):
        return figure.least, figure.most, figure.below
    return (figure.above, figure.below) if isinstance(figure, Quotient) else (figure.term,)


def _made(name: str, terms: Terms) -> pl.Expr:
    return terms.get(name, pl.col(name))


def _needed(measure: Measure, terms: Terms) -> set[str]:
    assert measure.figure is not None
    made = [_made(name, terms) for name in _named(measure)]
    return set().union(*map(_roots, (*made, _WHOSE[measure.figure.of])))


def _roots(expression: pl.Expr) -> set[str]:
    return set(expression.meta.root_names())


def _number(condition: pl.Expr) -> pl.Expr:
    return condition.cast(pl.Int64)


def _terms(subjects: Of, tolerance_s: int) -> Terms:
    return {"one": pl.lit(1, pl.Int64)} | (
        _fst_terms(subjects.value, tolerance_s)
        if subjects.value in EVERY_FST
        else _TERMS.get(subjects, {})
    )


_RESPONSE: Final = pl.col("end_time") - pl.col("arrival_time")
_LOST: Final = pl.col("state").is_in(LOST).fill_null(value=False)
_FULL: Final = pl.sum_horizontal("cause_earlier_s", "cause_later_s", "own_running_s")
_TERMS: Final[Mapping[Of, dict[str, pl.Expr]]] = {
    Of.ENDED: {"overtaken": _number(pl.col("overtaken_by") > 0), "response_s": _RESPONSE},
    Of.SIZED: {
        "re_unfair": pl.col("re_unfairness").clip(0),
        "re_treated": _number(pl.col("re_unfairness") > 0),
        "response_area": pl.col("re_consumed") * _RESPONSE,
    },
    Of.INTERRUPTED: {
        "preempted": _number(_LOST),
        "area": pl.col("size").cast(pl.Float64) * pl.col("occupancy_s"),
        "preempted_on_nodes": _number(_LOST & pl.col("node_list").is_not_null()),
        "taken": _number(pl.col("freed_for").is_not_null()),
        "suspended": pl.col("suspended_s").fill_null(0),
    },
    Of.BOOKED: {"full": _FULL, "surely_full": pl.when("lapsed").then(0.0).otherwise(_FULL)},
    Of.ON_NODES: {
        f"wait_of_{lack.key}": pl.when(pl.col(lack.resource) > 0).then("wait_s").otherwise(0)
        if is_amount(lack.resource)
        else pl.col("wait_s")
        for lack in LACKS
    },
    Of.REQUESTED: {
        "cpu_time": pl.col("cpus").cast(pl.Float64) * pl.col("occupancy_s"),
        **{
            f"beyond_{one.key}": pl.when(pl.col("beyond_request") == one.key)
            .then("beyond_work")
            .otherwise(0.0)
            for one in BEYONDS
        },
    },
}


def _fst_terms(fst: Fst, tolerance_s: int) -> dict[str, pl.Expr]:
    miss, early = pl.col(f"miss_{fst}_s"), preference(fst)
    missed = miss > tolerance_s
    cautious = {"cautious": pl.col("miss_cautious_s")} if fst == "delivered" else {}
    return cautious | {
        "miss": miss,
        "missed": _number(missed),
        "missed_by": pl.when(missed).then(miss).otherwise(0),
        "preferred": _number(early > tolerance_s),
        "preference": early,
        "slower": _number(pl.col("bounded_slowdown") > pl.col("fair_slowdown")),
    }


def _statuses(coded: parts.Coded) -> Iterator[parts.SummaryRow]:
    if "fst_status" not in coded.attempts.columns:
        return
    known = coded.attempts.select(
        pl.col("fst_status").cast(pl.String).filter(coded.described).drop_nulls()
    )
    numbers = dict(known["fst_status"].value_counts().iter_rows())
    for status in FstStatus:
        if number := numbers.get(status):
            yield parts.row("fst_attempts", "fst_status", status, number, number)
