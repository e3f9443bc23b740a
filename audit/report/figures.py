"""Figures with their intervals, rows of figures by dimension, and rows of queries as records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import polars as pl

Record = TypeVar("Record")


def records(kind: type[Record], rows: pl.DataFrame, /, **constant: object) -> tuple[Record, ...]:
    """Return one ``kind`` for each row, its fields filled from the columns of the same names.

    Args:
        kind: a dataclass or a NamedTuple.
        rows: may have other columns too.
        constant: fields with the same value in every record.
    """
    names = [name for name in kind.__annotations__ if name in rows.columns]
    return tuple(kind(**row, **constant) for row in rows.select(names).iter_rows(named=True))


def by_value(rows: pl.DataFrame, column: str, values: Iterable[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of each of ``values``, without that column."""
    return {value: rows.filter(pl.col(column) == value).drop(column) for value in values}


def by_width(label: str) -> tuple[int, int]:
    """Sort key: ``1`` before ``2`` before ``9-16`` before ``>128`` before ``unknown``."""
    if label.startswith(">"):
        return (1, 0)
    lowest = label.partition("-")[0]
    return (0, int(lowest)) if lowest.isdecimal() else (2, 0)


SMALL_SAMPLE: Final = 30  # figures of fewer attempts are marked as uncertain


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, with its 95 % interval if it has one."""

    metric: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    attempts: int | None = None  # that it is computed from

    @property
    def significant(self) -> bool:
        """Whether its interval excludes 0."""
        return (
            self.lower is not None and self.upper is not None and not self.lower <= 0 <= self.upper
        )


class Figures:
    """A record with figures."""

    __slots__ = ()
    figures: tuple[Figure, ...]

    def figure(self, metric: str) -> Figure:
        """Return the figure of ``metric``; one without a value if it was not computed."""
        return next((of for of in self.figures if of.metric == metric), Figure(metric))


@dataclass(frozen=True, slots=True)
class Breakdown(Figures):
    """The figures of one value of a dimension, such as the width class ``5-8``."""

    label: str
    figures: tuple[Figure, ...]


Parts: TypeAlias = Mapping[str, tuple[Breakdown, ...]]
"""The figures of a pool by dimension, then by value."""


def breakdowns(summary: pl.DataFrame) -> dict[str, tuple[Breakdown, ...]]:
    """Return the figures of a pool by dimension and value, in the order of the rows."""
    found: dict[str, dict[str | None, list[Figure]]] = {}
    places = summary.select("dimension", "dimension_value").iter_rows()
    for (dimension, value), figure in zip(places, records(Figure, summary), strict=True):
        found.setdefault(dimension, {}).setdefault(value, []).append(figure)
    return {
        dimension: tuple(
            Breakdown("unknown" if value is None else value, tuple(figures))
            for value, figures in of.items()
        )
        for dimension, of in found.items()
    }


def total(part: Figures, metric: str) -> float:
    """Return the sum over attempts of which ``metric`` is the mean."""
    mean = part.figure(metric)
    return (mean.value or 0.0) * (mean.attempts or 0)
