"""Parts of a population, such as one width class or one user, and rows of figures about them.

A figure of a part is a ratio of two sums over its attempts, or a quantile, with a bootstrap
interval whose unit is the user (``uncertainty``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.measures import unit_of
from audit.metrics.quantiles import exact_sum, nearest_rank
from audit.metrics.uncertainty import NONE, Interval, Resamples

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64] | NDArray[np.float64]

DIMENSIONS: Final = ("user", "account", "partition", "qos", "width_class", "hour_of_week")
"""What attempts are cut along, beside ``all``; the columns that ``coded`` gives."""


HOURS: Final = 7 * 24
"""Of a week."""


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
        KeyError: there is no unit: the metric has no entry in ``metrics.measures``.
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


class Part(NamedTuple):
    """The attempts that a figure is of: all, or those of one dimension value."""

    dimension: str
    value: str | None
    terms: dict[str, Numbers]
    """What is summed, or ranked, by name; one element per attempt."""
    units: Ints
    """The number of each attempt's user."""

    def row(
        self,
        metric: str,
        value: float | None,
        interval: Interval = NONE,
        unit: str | None = None,
    ) -> Row:
        """A row about this part; as :func:`row`."""
        return row(metric, self.dimension, self.value, value, len(self.units), interval, unit)

    def ratios(self, figures: Sequence[Ratio], resamples: Resamples) -> list[Row]:
        """Rows of ratios with their intervals; null for 0/0."""
        names = dict.fromkeys(name for one in figures for name in (one.above, one.below))
        totals = {name: _total(self.terms[name]) for name in names}
        present = np.flatnonzero(np.bincount(self.units))
        by_user: dict[str, Floats] = {}
        if len(present) > 1:  # else there is no interval
            for name in names:
                sums = np.bincount(self.units, self.terms[name])
                by_user[name] = sums[present].astype(np.float64, copy=False)
        pairs = [(one.above, one.below) for one in figures]
        intervals = resamples.ratios(present, by_user, pairs)
        return [
            self.row(
                one.metric,
                totals[one.above] / totals[one.below] if totals[one.below] > 0 else None,
                interval,
                one.unit,
            )
            for one, interval in zip(figures, intervals, strict=True)
        ]

    def total(self, metric: str, term: str) -> Row:
        """A row of a sum, which has no interval."""
        return self.row(metric, _total(self.terms[term]))

    def quantiles(self, metrics: Mapping[str, int], term: str, resamples: Resamples) -> list[Row]:
        """Rows of quantiles (metric → thousandths, ascending), with their intervals."""
        order = np.argsort(self.terms[term], kind="stable")
        values = self.terms[term][order].astype(np.float64)
        intervals = resamples.quantiles(self.units[order], values, list(metrics.values()))
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


def evaluated(coded: pl.DataFrame, terms: Mapping[str, pl.Expr], whose: pl.Expr) -> pl.DataFrame:
    """What ``cut`` needs of the attempts for which ``whose`` is true, and nothing else.

    Args:
        coded: what ``coded`` gave.
        terms: what parts sum, by name; int64 or float64, without nulls.
        whose: a condition.

    Returns:
        ``unit``, ``size``, ``DIMENSIONS`` and a column for each term.
    """
    return coded.lazy().filter(whose).select("unit", "size", *DIMENSIONS, **terms).collect()


def cut(evaluated: pl.DataFrame, dimension: str, terms: Iterable[str]) -> Iterator[Part]:
    """Cuts attempts along ``dimension``, in the order of its values; null first.

    Args:
        evaluated: what ``evaluated`` gave.
        dimension: ``all``, which is one part, also where it is empty; or one of ``DIMENSIONS``.
        terms: what a part sums, by name.
    """
    columns = {name: _numbers(evaluated[name]) for name in terms}
    units = evaluated["unit"].to_numpy()
    if dimension == "all":
        yield Part(dimension, None, columns, units)
        return
    values = evaluated[dimension]
    codes = (values.to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
    kind = values.dtype
    known = kind.categories if isinstance(kind, pl.Enum) else pl.Series(range(HOURS))
    # within a class the narrow come first: sums of floats depend on the order, in their last bit
    size = evaluated["size"].fill_null(-1).to_numpy() + 1
    place = _order(size if dimension == "width_class" else codes)
    begin = 0
    for code, length in enumerate(np.bincount(codes, minlength=len(known) + 1).tolist()):
        if length:
            held = place[begin : begin + length]
            yield Part(
                dimension,
                None if code == 0 else str(known[code - 1]),
                {name: column[held] for name, column in columns.items()},
                units[held],
            )
        begin += length


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


def _total(values: Numbers) -> float:
    """The sum, rounded once."""
    if values.dtype == np.int64:
        return float(values.sum())
    return exact_sum(values.astype(np.float64, copy=False))


def _hour_of_week(zone: ZoneInfo) -> pl.Expr:
    """Hours since Monday 00:00 on the cluster's clock, 0 … 167, of the arrival."""
    arrived = pl.from_epoch("arrival_time", time_unit="s").dt.replace_time_zone("UTC")
    local = arrived.dt.convert_time_zone(zone.key)
    return (local.dt.weekday().cast(pl.Int64) - 1) * 24 + local.dt.hour()
