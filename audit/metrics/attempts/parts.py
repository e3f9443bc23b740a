"""Parts of a population, such as a width class or a user, and rows of figures about them.

A figure of a part is a ratio of two sums over its attempts, or a quantile, with a bootstrap
interval over users (``uncertainty``). Shares of the waiting time of a whole pool are resampled by
calendar week, because the waits of a week move together.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.metrics.attempts.population import day_number, local_arrival, only
from audit.metrics.quantiles import add_ints, grouped_sums, nearest_rank, renumbered
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


class SummaryRow(NamedTuple):
    """One row of the summary; fields as in ``summary.SUMMARY_SCHEMA``."""

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


class Cells:
    """Attempts by part and unit: a *cell* holds the attempts of one unit in one part.

    Units are users, or stretches of time: a column of ``Evaluated.along``.

    ``codes`` has the number of each attempt's part, below ``parts``. Sums are computed on demand,
    for all cells at once.
    """

    def __init__(self, of: Evaluated, codes: Ints, parts: int, unit: str) -> None:
        self._of = of
        self._units = of.along[unit].to_numpy()
        units = max(int(self._units.max(initial=-1)) + 1, 1)
        found, cell = renumbered(codes * units + self._units, parts * units)
        self._unit = found % units
        self._begin = np.searchsorted(found, np.arange(parts + 1) * units)
        self.attempts: Ints = np.bincount(codes, minlength=parts)
        """Of each part."""
        self._codes, self._cell = codes.astype(np.int32), cell.astype(np.int32)
        self._sums: dict[str, Numbers] = {}
        self._totals: dict[str, list[float]] = {}
        self._placed: dict[str, Order] = {}

    def units(self, part: int) -> Ints:
        """Return the units with attempts in a part, ascending."""
        return self._unit[self._begin[part] : self._begin[part + 1]]

    def add(self, term: str) -> None:
        """Compute what is needed of a term."""
        self.total(0, term)
        if (np.diff(self._begin) >= FEWEST).any():
            self.sums(0, term)

    def sums(self, part: int, term: str) -> Numbers:
        """Return the sum of a term over the attempts of each of these units."""
        if term not in self._sums:
            values, count = self._of.term(term), len(self._unit)
            if values.dtype == np.int64:
                cell = self._cell.astype(np.int64)
                self._sums[term] = add_ints(cell, values.astype(np.int64, copy=False), count)
            else:
                self._sums[term] = np.bincount(self._cell, values, count).astype(np.float64)
        return self._sums[term][self._begin[part] : self._begin[part + 1]]

    def total(self, part: int, term: str) -> float:
        """Return the sum over all attempts of a part, rounded once."""
        if term not in self._totals:
            self._totals[term] = self._all_totals(term)
        return self._totals[term][part]

    def _all_totals(self, term: str) -> list[float]:
        values = self._of.term(term)
        if values.dtype == np.int64:
            self.sums(0, term)
            before = np.concatenate(([0], np.cumsum(self._sums[term])))[self._begin]
            whole: list[float] = np.diff(before).astype(np.float64).tolist()
            return whole
        numbers = values.astype(np.float64, copy=False)
        return grouped_sums(self._codes.astype(np.int64), numbers, len(self.attempts))

    def ascending(self, part: int, term: str) -> tuple[Floats, Ints]:
        """Return the values of a term in a part, sorted, and the unit of each."""
        begin = int(self.attempts[:part].sum())
        held = self._by_part(term)[begin : begin + int(self.attempts[part])]
        _, values = self._of.ascending(term)
        return values[held].astype(np.float64, copy=False), self._units[held].astype(np.int64)

    def _by_part(self, term: str) -> Order:
        """Return the order that sorts attempts by part, then by a term."""
        order, _ = self._of.ascending(term)
        if len(self.attempts) == 1:
            return order
        if term not in self._placed:
            self._placed[term] = order[_order(self._codes[order])]
        return self._placed[term]


class Part(NamedTuple):
    """The attempts that a figure describes: all, or those with one value of a dimension."""

    dimension: str
    value: str | None
    cells: Cells
    number: int

    def row(
        self, metric: str, value: float | None, interval: Interval = NONE, unit: str | None = None
    ) -> SummaryRow:
        """Return a row about this part; see the function ``row``."""
        attempts = int(self.cells.attempts[self.number])
        return row(metric, self.dimension, self.value, value, attempts, interval, unit)

    def ratios(
        self, figures: Sequence[Ratio], resamples: Resamples, fewest: int = FEWEST
    ) -> list[SummaryRow]:
        """Return rows of ratios, null for 0/0; with intervals from ``fewest`` units on."""
        pairs = [(one.above, one.below) for one in figures]
        names = dict.fromkeys(itertools.chain(*pairs))
        totals = {name: self.cells.total(self.number, name) for name in names}
        units = self.cells.units(self.number)
        intervals = [NONE for _ in pairs]
        if len(units) >= fewest:
            by_unit = {
                name: self.cells.sums(self.number, name).astype(np.float64, copy=False)
                for name in names
            }
            intervals = resamples.ratios(units, by_unit, pairs)
        return [
            self.row(
                one.metric,
                totals[one.above] / totals[one.below] if totals[one.below] > 0 else None,
                interval,
                one.unit,
            )
            for one, interval in zip(figures, intervals, strict=True)
        ]

    def figures(
        self, measures: Sequence[Measure], resamples: Resamples, fewest: int = FEWEST
    ) -> list[SummaryRow]:
        """Return rows of measures; sums and greatest values have no interval."""
        quotients = [
            Ratio(one.key, one.figure.above, one.figure.below)
            for one in measures
            if isinstance(one.figure, Quotient)
        ]
        rows = self.ratios(quotients, resamples, fewest) if quotients else []
        quantiles: dict[str, dict[str, int]] = {}
        for one in measures:
            match one.figure:
                case Quantile():
                    quantiles.setdefault(one.figure.term, {})[one.key] = one.figure.thousandths
                case Total():
                    rows.append(self.row(one.key, self.cells.total(self.number, one.figure.term)))
                case RatioRange():
                    rows.append(self.range(one.key, one.figure))
                case Greatest():
                    values, _ = self.cells.ascending(self.number, one.figure.term)
                    rows.append(self.row(one.key, float(values[-1]) if len(values) else None))
        for term, metrics in quantiles.items():
            rows += self.quantiles(metrics, term, resamples)
        return rows

    def range(self, metric: str, of: RatioRange) -> SummaryRow:
        """Return the row of a range, null for 0/0; its ends are bounds, not an interval."""
        least, most, below = (
            self.cells.total(self.number, term) for term in (of.least, of.most, of.below)
        )
        if below <= 0:
            return self.row(metric, None)
        ends = (min(least, most) / below, most / below)
        return self.row(metric, ends[1], ends)

    def quantiles(
        self, metrics: Mapping[str, int], term: str, resamples: Resamples
    ) -> list[SummaryRow]:
        """Return rows of quantiles (metric → thousandths, ascending), with intervals."""
        values, units = self.cells.ascending(self.number, term)
        intervals = resamples.quantiles(units, values, list(metrics.values()))
        return [
            self.row(metric, nearest_rank(values, thousandths), interval)
            for (metric, thousandths), interval in zip(metrics.items(), intervals, strict=True)
        ]


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


def cut(evaluated: Evaluated, dimension: str, unit: str = "unit") -> list[Part]:
    """Return the parts along one of ``DIMENSIONS``, null first; ``all`` is a single part."""
    if dimension == "all":
        nowhere = np.zeros(evaluated.along.height, np.int64)
        return [Part(dimension, None, Cells(evaluated, nowhere, 1, unit), 0)]
    values = evaluated.along[dimension]
    codes = (values.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
    kind = values.dtype
    known = kind.categories if isinstance(kind, pl.Enum) else pl.Series(range(HOURS))
    cells = Cells(evaluated, codes, len(known) + 1, unit)
    return [
        Part(dimension, None if code == 0 else str(known[code - 1]), cells, code)
        for code in np.flatnonzero(cells.attempts).tolist()
    ]


def _column(attempts: pl.DataFrame, made: pl.Expr) -> pl.Series:
    """Return an expression, also a constant one, with an element for each attempt."""
    return attempts.with_columns(made.alias("made"))["made"]


def _order(numbers: Ints | Order) -> Ints:
    """Return the stable order that sorts numbers ≥ 0; small ones are sorted by radix."""
    small = numbers.max(initial=0) < 1 << 16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def _numbers(values: Numbers) -> Numbers:
    """Return int64 if no sum of the values can overflow, else float64."""
    if values.dtype == np.int64 and len(values):
        largest = max(int(values.max()), -int(values.min()))
        return values if largest * len(values) < 1 << 63 else values.astype(np.float64)
    return values


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
