"""Parts of a population, such as one width class or one user, and rows of figures about them.

A figure of a part is a ratio of two sums over its attempts, or a quantile, with a bootstrap
interval whose unit is the user (``uncertainty``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.population import only
from audit.metrics.quantiles import grouped_sums, nearest_rank
from audit.metrics.uncertainty import NONE, Interval, Resamples
from audit.registry.measures import Greatest, Measure, Quantile, Quotient, Total, unit_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64] | NDArray[np.float64]

DIMENSIONS: Final = ("user", "account", "partition", "qos", "width_class", "hour_of_week")
"""What attempts are cut along, beside ``all``; the columns that ``coded`` gives."""


HOURS: Final = 7 * 24
"""Of a week."""
_ROOMY: Final = 4
"""Cells have room for each user in each part while that takes so many times what attempts take."""


class Row(NamedTuple):
    """One row of the summary; fields as ``summary.SUMMARY_SCHEMA``. See :func:`row`."""

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
) -> Row:
    """A row with the unit that the registry of measures has for it, or with ``unit``.

    Raises:
        KeyError: there is no unit: the metric has no entry in ``registry.measures``.
    """
    unit = unit or unit_of(metric, dimension_value)
    return Row(metric, dimension, dimension_value, value, *interval, unit, attempts)


class Ratio(NamedTuple):
    """A figure Σ above / Σ below; a mean where ``below`` is 1 for each attempt."""

    metric: str
    above: str  # a term's name
    below: str
    unit: str | None = None
    """None: that of the registry of measures."""


class Evaluated(NamedTuple):
    """What figures sum and rank of some attempts; one element of each array per attempt."""

    terms: dict[str, Numbers]
    units: Ints
    """The number of each attempt's user."""
    cut_along: pl.DataFrame
    """``DIMENSIONS``, as ``coded`` gives them."""
    ascending: dict[str, Ints]
    """What sorts a term, for those for which it is known already."""

    def order(self, term: str) -> Ints:
        """What sorts a term, ascending."""
        if term not in self.ascending:
            self.ascending[term] = np.argsort(self.terms[term], kind="stable")
        return self.ascending[term]


class Cells:
    """Attempts by part and user: a *cell* is what one user has in one part.

    Sums are worked out for all cells at once, and only those that are asked for.
    """

    def __init__(self, of: Evaluated, codes: Ints, parts: int) -> None:
        """Of attempts in parts numbered 0, …, ``parts`` − 1; ``codes`` says in which each is."""
        self._of = of
        self._codes = codes
        self._users = max(int(of.units.max(initial=-1)) + 1, 1)
        key = codes * self._users + of.units
        self._room = parts * self._users
        if self._room <= _ROOMY * (len(codes) + parts):
            self._cell = key
            found = np.flatnonzero(np.bincount(key, minlength=self._room))
            self._kept: Ints | slice = found
        else:  # most users are in few parts
            found, self._cell = np.unique(key, return_inverse=True)
            self._room = len(found)
            self._kept = slice(None)
        self._user = found % self._users
        self._begin = np.searchsorted(found, np.arange(parts + 1) * self._users)
        self.attempts: Ints = np.bincount(codes, minlength=parts)
        """Of each part."""
        self._sums: dict[str, Numbers] = {}
        self._totals: dict[str, list[float]] = {}
        self._placed: dict[str, Ints] = {}

    def users(self, part: int) -> Ints:
        """Who has attempts in a part, ascending."""
        return self._user[self._begin[part] : self._begin[part + 1]]

    def sums(self, part: int, term: str) -> Numbers:
        """The sum of a term over the attempts of each of these."""
        if term not in self._sums:
            from audit.kernels import sums

            values = self._of.terms[term]
            if values.dtype == np.int64:
                whole = np.zeros(self._room, np.int64)
                sums.add_ints(self._cell, values.astype(np.int64, copy=False), whole)
                self._sums[term] = whole[self._kept]
            else:
                rounded = np.zeros(self._room)
                sums.add_floats(self._cell, values.astype(np.float64, copy=False), rounded)
                self._sums[term] = rounded[self._kept]
        return self._sums[term][self._begin[part] : self._begin[part + 1]]

    def total(self, part: int, term: str) -> float:
        """The sum over all attempts of a part, rounded once."""
        values = self._of.terms[term]
        if values.dtype == np.int64:
            return float(self.sums(part, term).sum())
        if term not in self._totals:
            numbers = values.astype(np.float64, copy=False)
            self._totals[term] = grouped_sums(self._codes, numbers, len(self.attempts))
        return self._totals[term][part]

    def ascending(self, part: int, term: str) -> tuple[Floats, Ints]:
        """The values of a term in a part, sorted, and whose each is."""
        begin = int(self.attempts[:part].sum())
        held = self._by_part(term)[begin : begin + int(self.attempts[part])]
        return self._of.terms[term][held].astype(np.float64, copy=False), self._of.units[held]

    def _by_part(self, term: str) -> Ints:
        """What sorts attempts by part, and within it by a term."""
        order = self._of.order(term)
        if len(self.attempts) == 1:
            return order
        if term not in self._placed:
            self._placed[term] = order[_order(self._codes[order])]
        return self._placed[term]


class Part(NamedTuple):
    """The attempts that a figure is of: all, or those of one dimension value."""

    dimension: str
    value: str | None
    cells: Cells
    number: int

    def row(
        self,
        metric: str,
        value: float | None,
        interval: Interval = NONE,
        unit: str | None = None,
    ) -> Row:
        """A row about this part; as :func:`row`."""
        attempts = int(self.cells.attempts[self.number])
        return row(metric, self.dimension, self.value, value, attempts, interval, unit)

    def ratios(self, figures: Sequence[Ratio], resamples: Resamples) -> list[Row]:
        """Rows of ratios with their intervals; null for 0/0."""
        names = dict.fromkeys(name for one in figures for name in (one.above, one.below))
        totals = {name: self.cells.total(self.number, name) for name in names}
        users = self.cells.users(self.number)
        by_user: dict[str, Floats] = {}
        if len(users) > 1:  # else there is no interval
            for name in names:
                by_user[name] = self.cells.sums(self.number, name).astype(np.float64, copy=False)
        pairs = [(one.above, one.below) for one in figures]
        intervals = resamples.ratios(users, by_user, pairs)
        return [
            self.row(
                one.metric,
                totals[one.above] / totals[one.below] if totals[one.below] > 0 else None,
                interval,
                one.unit,
            )
            for one, interval in zip(figures, intervals, strict=True)
        ]

    def figures(self, measures: Sequence[Measure], resamples: Resamples) -> list[Row]:
        """Rows of measures with their intervals; sums and greatest values have none."""
        quotients = [
            Ratio(one.key, one.figure.above, one.figure.below)
            for one in measures
            if isinstance(one.figure, Quotient)
        ]
        rows = self.ratios(quotients, resamples) if quotients else []
        quantiles: dict[str, dict[str, int]] = {}
        for one in measures:
            match one.figure:
                case Quantile():
                    quantiles.setdefault(one.figure.term, {})[one.key] = one.figure.thousandths
                case Total():
                    rows.append(self.row(one.key, self.cells.total(self.number, one.figure.term)))
                case Greatest():
                    values, _ = self.cells.ascending(self.number, one.figure.term)
                    rows.append(self.row(one.key, float(values[-1]) if len(values) else None))
        for term, metrics in quantiles.items():
            rows += self.quantiles(metrics, term, resamples)
        return rows

    def quantiles(self, metrics: Mapping[str, int], term: str, resamples: Resamples) -> list[Row]:
        """Rows of quantiles (metric → thousandths, ascending), with their intervals."""
        values, units = self.cells.ascending(self.number, term)
        intervals = resamples.quantiles(units, values, list(metrics.values()))
        return [
            self.row(metric, nearest_rank(values, thousandths), interval)
            for (metric, thousandths), interval in zip(metrics.items(), intervals, strict=True)
        ]


def number_users(subjects: pl.DataFrame) -> pl.DataFrame:
    """Adds ``unit``: users numbered by first appearance, so that a name changes no interval."""
    users = subjects.select("user")
    numbered = users.unique(maintain_order=True).with_row_index("unit")
    numbers = users.join(numbered, on="user", nulls_equal=True, maintain_order="left")["unit"]
    return subjects.with_columns(unit=numbers.cast(pl.Int64))


def coded(numbered: pl.DataFrame, zone: ZoneInfo) -> pl.DataFrame:
    """Adds what attempts are cut along, as numbers that ascend with the values of a dimension.

    Args:
        numbered: what ``number_users`` gave; of ``model.DESCRIBED`` user, account, partition, qos,
            width_class, size and arrival_time.
        zone: the cluster's, for hours of the week.

    Returns:
        ``numbered`` with ``DIMENSIONS``: enumerations, and the hour of the week of the arrival.
    """
    widths = numbered.group_by("width_class").agg(pl.col("size").min()).sort("size")
    named = ("user", "account", "partition", "qos")
    values = {name: numbered[name].unique().sort() for name in named}
    values["width_class"] = widths["width_class"]
    return numbered.with_columns(
        *(pl.col(name).cast(pl.Enum(known.drop_nulls())) for name, known in values.items()),
        hour_of_week=_hour_of_week(zone).cast(pl.UInt8),
    )


def evaluated(coded: pl.DataFrame, terms: Mapping[str, pl.Expr], whose: pl.Expr) -> Evaluated:
    """What ``cut`` needs of the attempts for which ``whose`` is true, and nothing else.

    Args:
        terms: what parts sum, by name; int64 or float64, without nulls.
    """
    asked = {name for each in (whose, *terms.values()) for name in each.meta.root_names()}
    read = coded.select("unit", *DIMENSIONS, *sorted(asked - {"unit", *DIMENSIONS}))
    held = only(read, whose).select("unit", *DIMENSIONS, **terms)
    columns = {name: _numbers(held[name]) for name in terms}
    return Evaluated(columns, held["unit"].to_numpy(), held.select(DIMENSIONS), {})


def cut(evaluated: Evaluated, dimension: str) -> Iterator[Part]:
    """Cuts attempts along ``dimension``, in the order of its values; null first.

    Args:
        dimension: ``all``, which is one part, also where it is empty; or one of ``DIMENSIONS``.
    """
    if dimension == "all":
        nowhere = np.zeros(len(evaluated.units), np.int64)
        yield Part(dimension, None, Cells(evaluated, nowhere, 1), 0)
        return
    values = evaluated.cut_along[dimension]
    codes = (values.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
    kind = values.dtype
    known = kind.categories if isinstance(kind, pl.Enum) else pl.Series(range(HOURS))
    cells = Cells(evaluated, codes, len(known) + 1)
    for code in np.flatnonzero(cells.attempts).tolist():
        yield Part(dimension, None if code == 0 else str(known[code - 1]), cells, code)


def _order(numbers: Ints) -> Ints:
    """What sorts numbers from 0 on, stably; small ones need not be compared."""
    small = numbers.max(initial=0) < 1 << 16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def _numbers(column: pl.Series) -> Numbers:
    """The column as an array of int64 if no sum over it can overflow; else of float64."""
    values: Numbers = column.to_numpy()
    if values.dtype == np.int64 and len(values):
        largest = max(int(values.max()), -int(values.min()))
        return values if largest * len(values) < 1 << 63 else values.astype(np.float64)
    return values


def _hour_of_week(zone: ZoneInfo) -> pl.Expr:
    """Hours since Monday 00:00 on the cluster's clock, 0 … 167, of the arrival."""
    arrived = pl.from_epoch("arrival_time", time_unit="s").dt.replace_time_zone("UTC")
    local = arrived.dt.convert_time_zone(zone.key)
    return (local.dt.weekday().cast(pl.Int64) - 1) * 24 + local.dt.hour()
