"""Parts of a population, such as a width class or a user, and rows of figures about them.

A figure of a part is a ratio of two sums over its attempts, or a quantile, with a bootstrap
interval over users (``uncertainty``). Shares of the waiting time of a whole pool are resampled by
calendar week, because the waits of a week move together.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.metrics.attempts.population import day_number, local_arrival, only
from audit.metrics.quantiles import (
    add_ints,
    are_whole,
    grouped_sums,
    nearest_rank,
    order_of,
    renumbered,
)
from audit.metrics.uncertainty import FEWEST, NONE, Interval, Resamples
from audit.registry.measure import Greatest, Measure, Quantile, Quotient, RatioRange, Total
from audit.registry.measures import unit_of

Numbers = NDArray[np.int64] | NDArray[np.float64]
Order = NDArray[np.int32]

GPU_TYPE: Final = "gpu_type"
QUEUE: Final = "partition_qos_gpu_type"
BETWEEN: Final = " / "
"""Separates the three names of a value of ``QUEUE``."""
DIMENSIONS: Final = (
    *("user", "account", "partition", "qos", "width_class", "hour_of_week"),
    *(GPU_TYPE, QUEUE),
)
"""The columns of ``coded`` along which attempts are cut, besides ``all``."""


EVERY: Final = pl.lit(value=True)
HOURS: Final = 7 * 24  # in a week
LEAST_UNITS: Final = 8
"""Fewest users, or weeks or days, with an interval of a share of waiting time."""


SUMMARY_SCHEMA: Final = pl.Schema(
    {
        "metric": pl.String,
        "dimension": pl.String,
        "dimension_value": pl.String,
        "value": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "unit": pl.String,
        "attempts": pl.Int64,
    }
)
"""Columns of ``summary_result`` that are computed here."""


class SummaryRow(NamedTuple):
    """One row of the summary; fields as in ``SUMMARY_SCHEMA``."""

    metric: str
    dimension: str
    dimension_value: str | None
    value: float | None
    lower: float | None
    upper: float | None
    unit: str
    attempts: int | None


def row(
    metric: str,
    dimension: str,
    dimension_value: str | None,
    value: float | None,
    attempts: int | None,
    interval: Interval = NONE,
    unit: str | None = None,
) -> SummaryRow:
    """Return a row with the unit of the metric in the registry of measures, or with ``unit``.

    Raises:
        KeyError: ``registry.measures`` has no such metric.
    """
    unit = unit or unit_of(metric, dimension_value)
    return SummaryRow(metric, dimension, dimension_value, value, *interval, unit, attempts)


class Ratio(NamedTuple):
    """A figure Σ above / Σ below of two terms; a mean where ``below`` is 1 for each attempt."""

    metric: str
    above: str  # a term's name
    below: str
    unit: str | None = None  # None: that of the registry of measures


class Coded(NamedTuple):
    """Attempts, and by what those that figures describe are cut."""

    attempts: pl.DataFrame
    described: pl.Expr  # which of the attempts figures describe
    along: pl.DataFrame
    """Of these: ``unit``, the number of the user; ``stretch``, that of the week or day in which the
    attempt arrived; and ``DIMENSIONS``."""


class Evaluated:
    """Terms of the described attempts that meet a condition.

    A term has an element for each attempt. It is computed when it is needed, and only the last one
    and those in order are kept: all together would be several times as large as the log.
    """

    def __init__(self, coded: Coded, terms: Mapping[str, pl.Expr], whose: pl.Expr) -> None:
        """Find the attempts that meet the condition ``whose``.

        Args:
            terms: what parts sum, by name; int64 or float64, without nulls.
        """
        described = _column(coded.attempts, coded.described)
        held = described & _column(coded.attempts, whose).fill_null(value=False)
        self.along = only(coded.along, held.filter(described))
        """``unit``, ``stretch`` and ``DIMENSIONS`` of these attempts."""
        self._attempts, self._held = coded.attempts, None if held.all() else held
        self._terms = terms
        self._times: Ints | None = None
        self._last: tuple[str, Numbers] | None = None
        self._ascending: dict[str, tuple[Order, Numbers]] = {}

    def repeat(self, weight: str) -> None:
        """Take each attempt as often as the column ``weight`` says; null: once."""
        times = self._evaluate(pl.col(weight).fill_null(1)).astype(np.int64, copy=False)
        if (times > 1).any():
            self.along = self.along[np.repeat(np.arange(len(times)), times)]
            self._times = times

    def term(self, name: str) -> Numbers:
        """Return a term, one element per attempt."""
        if name in self._ascending:
            return self._ascending[name][1]
        if self._last is None or self._last[0] != name:
            self._last = None  # before more is made
            self._last = name, _numbers(self._evaluate(self._terms[name]))
        return self._last[1]

    def _evaluate(self, term: pl.Expr) -> Numbers:
        read = self._attempts.select("standing", *(set(term.meta.root_names()) - {"standing"}))
        values = _column(read if self._held is None else read.filter(self._held), term).to_numpy()
        return values if self._times is None else np.repeat(values, self._times)

    def ascending(self, name: str) -> tuple[Order, Numbers]:
        """Return the order that sorts a term, ascending, and the term."""
        if name not in self._ascending:
            values = self.term(name)
            order = np.argsort(values, kind="stable").astype(np.int32)
            self._ascending[name] = (order, values)
        return self._ascending[name]


class PartFigure(NamedTuple):
    """A figure of all parts, one element for each; NaN: unknown."""

    metric: str
    unit: str
    value: Floats
    lower: Floats
    upper: Floats


class Cut:
    """Attempts cut into parts along a dimension, with sums of terms over each part.

    A *cell* holds the attempts of one unit in one part. Units are users, or stretches of time: a
    column of ``Evaluated.along``. Parts come in the order of their values, null first; some may
    have no attempts.
    """

    def __init__(
        self, of: Evaluated, dimension: str, terms: Iterable[str], unit: str = "unit"
    ) -> None:
        """Cut along one of ``DIMENSIONS``, or into a single part: ``all``.

        Args:
            terms: those whose sums are needed; ``add`` computes them.
        """
        codes, self._names = _parts(of.along, dimension)
        self._of, self._dimension, count = of, dimension, len(self._names)
        self._units = of.along[unit].to_numpy()
        units = max(int(self._units.max(initial=-1)) + 1, 1)
        found, cell = renumbered(codes * units + self._units, count * units)
        self._unit = found % units
        self._begin = np.searchsorted(found, np.arange(count + 1) * units)
        self._attempts: Ints = np.bincount(codes, minlength=count)
        self._codes, self._cell = codes.astype(np.int32), cell.astype(np.int32)
        self._place = {term: place for place, term in enumerate(terms)}
        several = bool((np.diff(self._begin) >= FEWEST).any())
        self._sums = np.zeros((len(self._place), len(found) if several else 0))
        self._totals = np.zeros((len(self._place), count))
        self._placed: dict[str, Order] = {}

    def add(self, term: str) -> None:
        """Compute the sums of a term, over all parts and cells, unless they are not needed."""
        if term not in self._place:
            return
        values, place, count = self._of.term(term), self._place[term], len(self._unit)
        several = self._sums.shape[1] > 0
        if values.dtype == np.int64:
            whole = add_ints(
                self._cell.astype(np.int64), values.astype(np.int64, copy=False), count
            )
            self._totals[place] = np.diff(np.append(0, np.cumsum(whole))[self._begin])
            if several:
                self._sums[place] = whole
            return
        codes = self._codes.astype(np.int64)
        numbers = values.astype(np.float64, copy=False)
        self._totals[place] = grouped_sums(codes, numbers, len(self._names))
        if several:
            self._sums[place] = np.bincount(self._cell, numbers, count)

    def ratios(
        self, figures: Sequence[Ratio], resamples: Resamples, fewest: int = FEWEST
    ) -> list[PartFigure]:
        """Return ratios, unknown for 0/0; with intervals from ``fewest`` units on."""
        pairs = [(self._place[one.above], self._place[one.below]) for one in figures]
        bounds = np.full((len(self._names), len(pairs), 2), np.nan)
        if self._sums.shape[1] > 0:
            bounds = resamples.ratios(self._unit, self._begin, self._sums, pairs, fewest)
        return [
            PartFigure(
                one.metric,
                one.unit or unit_of(one.metric),
                _divided(self._totals[above], self._totals[below]),
                *bounds[:, number].T,
            )
            for number, (one, (above, below)) in enumerate(zip(figures, pairs, strict=True))
        ]

    def figures(
        self, measures: Sequence[Measure], resamples: Resamples, fewest: int = FEWEST
    ) -> list[PartFigure]:
        """Return measures; sums and greatest values have no interval."""
        quotients = [
            Ratio(one.key, one.figure.above, one.figure.below)
            for one in measures
            if isinstance(one.figure, Quotient)
        ]
        columns = self.ratios(quotients, resamples, fewest) if quotients else []
        unknown = np.full(len(self._names), np.nan)
        quantiles: dict[str, dict[str, int]] = {}
        for one in measures:
            bounds = (unknown, unknown)
            match one.figure:
                case Quantile():
                    quantiles.setdefault(one.figure.term, {})[one.key] = one.figure.thousandths
                    continue
                case Total():
                    value = self._totals[self._place[one.figure.term]]
                case RatioRange():
                    bounds = self._range(one.figure)
                    value = bounds[1]
                case Greatest():
                    value = self._greatest(one.figure.term)
                case _:
                    continue
            columns.append(PartFigure(one.key, unit_of(one.key), value, *bounds))
        for term, metrics in quantiles.items():
            columns += self._quantiles(metrics, term, resamples)
        return columns

    def _range(self, of: RatioRange) -> tuple[Floats, Floats]:
        """Return the ends of a range, unknown for 0/0; they are bounds, not an interval."""
        least, most, below = (self._totals[self._place[term]] for term in of[1:])
        return _divided(np.minimum(least, most), below), _divided(most, below)

    def _greatest(self, term: str) -> Floats:
        greatest = np.full(len(self._names), np.nan)
        for part in np.flatnonzero(self._attempts).tolist():
            greatest[part] = self._ascending(part, term)[0][-1]
        return greatest

    def _quantiles(
        self, metrics: Mapping[str, int], term: str, resamples: Resamples
    ) -> list[PartFigure]:
        """Return quantiles (metric → thousandths, ascending), with intervals."""
        found = np.full((len(metrics), 3, len(self._names)), np.nan)
        wanted = list(metrics.values())
        for part in np.flatnonzero(self._attempts).tolist():
            values, units = self._ascending(part, term)
            found[:, 0, part] = [nearest_rank(values, thousandths) for thousandths in wanted]
            found[:, 1:, part] = [
                [math.nan if end is None else end for end in ends]
                for ends in resamples.quantiles(units, values, wanted)
            ]
        return [
            PartFigure(metric, unit_of(metric), *of)
            for metric, of in zip(metrics, found, strict=True)
        ]

    def _ascending(self, part: int, term: str) -> tuple[Floats, Ints]:
        """Return the values of a term in a part, sorted, and the unit of each."""
        begin = int(self._attempts[:part].sum())
        held = self._by_part(term)[begin : begin + int(self._attempts[part])]
        _, values = self._of.ascending(term)
        return values[held].astype(np.float64, copy=False), self._units[held].astype(np.int64)

    def _by_part(self, term: str) -> Order:
        """Return the order that sorts attempts by part, then by a term."""
        order, _ = self._of.ascending(term)
        if len(self._names) == 1:
            return order
        if term not in self._placed:
            by_part = order_of(self._codes[order].astype(np.int64), len(self._names))
            self._placed[term] = order[by_part]
        return self._placed[term]

    def rows(self, columns: Sequence[PartFigure]) -> pl.DataFrame:
        """Return rows of the summary, part by part; parts without attempts are left out."""
        some = np.flatnonzero(self._attempts) if self._dimension != "all" else np.zeros(1, np.int64)
        number, place = np.tile(np.arange(len(columns)), len(some)), np.repeat(some, len(columns))
        shape = len(columns), len(self._names)
        metrics, units = (pl.Series([one[k] for one in columns], dtype=pl.String) for k in range(2))
        values, lower, upper = (
            pl.Series(
                np.reshape([one[k] for one in columns], shape)[number, place], nan_to_null=True
            )
            for k in range(2, 5)
        )
        return pl.DataFrame(
            {
                "metric": metrics.gather(number),
                "dimension": pl.Series([self._dimension]).new_from_index(0, len(number)),
                "dimension_value": pl.Series(self._names, dtype=pl.String).gather(place),
                "value": values,
                "lower": lower,
                "upper": upper,
                "unit": units.gather(number),
                "attempts": self._attempts[place],
            },
            SUMMARY_SCHEMA,
        )


def _parts(along: pl.DataFrame, dimension: str) -> tuple[Ints, Sequence[str | None]]:
    """Return the number of each attempt's part along a dimension, and the parts' names."""
    if dimension == "all":
        return np.zeros(along.height, np.int64), [None]
    values = along[dimension]
    codes = (values.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
    kind = values.dtype
    known = kind.categories.to_list() if isinstance(kind, pl.Enum) else map(str, range(HOURS))
    return codes, [None, *known]


def _divided(above: Floats, below: Floats) -> Floats:
    """Return quotients, NaN where nothing is below."""
    out = np.full(len(above), np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out


def number_users(subjects: pl.DataFrame) -> pl.DataFrame:
    """Add ``unit``: users numbered by first appearance, so that names affect no interval."""
    users = subjects.select("user")
    numbered = users.unique(maintain_order=True).with_row_index("unit")
    numbers = users.join(numbered, on="user", nulls_equal=True, maintain_order="left")["unit"]
    return subjects.with_columns(unit=numbers.cast(pl.Int64))


def coded(attempts: pl.DataFrame, zone: ZoneInfo, described: pl.Expr = EVERY) -> Coded:
    """Return attempts with what the described ones are cut by: ``DIMENSIONS``, and stretches.

    Dimensions are enumerations that ascend, and the local hour of the week of the arrival. The type
    of GPUs is null without GPUs, and where the log gives no type; several are joined by ``+``.
    ``QUEUE`` joins partition, QOS and type; ``-`` is null. It is null if all attempts agree.

    Args:
        attempts: with user, account, partition, qos, gpu_types, width_class, size, standing and
            arrival_time of ``model.DESCRIBED``.
        described: which attempts figures describe.
    """
    read = ("user", "account", "partition", "qos", "gpu_types", "width_class", "size")
    numbered = number_users(only(attempts, described).select(*read, "arrival_time"))
    gpu_type = pl.col("gpu_types").str.replace_all(":[0-9]+", "").str.replace_all(",", "+")
    numbered = numbered.with_columns(gpu_type.alias(GPU_TYPE))
    names = [pl.col(name).fill_null("-") for name in ("partition", "qos", GPU_TYPE)]
    several = any(numbered[name].n_unique() > 1 for name in ("partition", "qos", GPU_TYPE))
    queue = pl.when(several).then(pl.concat_str(names, separator=BETWEEN))
    numbered = numbered.with_columns(queue.alias(QUEUE))
    widths = numbered.group_by("width_class").agg(pl.col("size").min()).sort("size")
    named = ("user", "account", "partition", "qos", GPU_TYPE, QUEUE)
    values = {name: numbered[name].unique().sort() for name in named}
    values["width_class"] = widths["width_class"]
    along = numbered.select(
        pl.col("unit").cast(pl.Int32),
        _stretches(numbered, zone).alias("stretch"),
        *(pl.col(name).cast(pl.Enum(known.drop_nulls())) for name, known in values.items()),
        hour_of_week=_hour_of_week(zone).cast(pl.UInt8),
    )
    return Coded(attempts, described, along)


def _column(attempts: pl.DataFrame, made: pl.Expr) -> pl.Series:
    """Return an expression, also a constant one, with an element for each attempt."""
    return attempts.with_columns(made.alias("made"))["made"]


def _numbers(values: Numbers) -> Numbers:
    """Return int64 if the values are whole and no sum of them can overflow, else float64."""
    if values.dtype == np.int64 and len(values):
        largest = max(int(values.max()), -int(values.min()))
        return values if largest * len(values) < 1 << 63 else values.astype(np.float64)
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    values = values.astype(np.float64, copy=False)
    return values.astype(np.int64) if are_whole(values) else values


def _stretches(attempts: pl.DataFrame, zone: ZoneInfo) -> pl.Series:
    """Return the number of the calendar week of each arrival, or of its day if weeks are few."""
    day = attempts.select(day_number(zone)).to_series()
    week = (day + 3) // 7  # 1970-01-01 was a Thursday
    stretch = week if week.n_unique() >= LEAST_UNITS else day
    return (stretch.rank("dense") - 1).cast(pl.Int32)


def _hour_of_week(zone: ZoneInfo) -> pl.Expr:
    """Return hours since Monday 00:00, local time of the arrival: 0 … 167."""
    local = local_arrival(zone)
    return (local.dt.weekday().cast(pl.Int64) - 1) * 24 + local.dt.hour()
