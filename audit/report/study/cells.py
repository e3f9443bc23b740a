"""What a study is computed from: independent parts of work, and the rows that they come to.

A *cell* is one such part: a name and a pure function that gives a frame. Cells of a study can be
computed in any order, at the same time, and be kept for a later run (``oneoff.study``).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import polars as pl

STUDIED: Final = pl.Schema(
    {
        "pool": pl.String,
        "setting": pl.String,  # what was tried, such as "load 0.80, fcfs-easy"
        "metric": pl.String,
        "dimension": pl.String,  # "all", "width_class", "user", …
        "dimension_value": pl.String,
        "value": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "unit": pl.String,
        "attempts": pl.Int64,
    }
)
"""Rows of a study's results; with the study's and the log's name, the columns of the view
``studies``."""


class Cell(NamedTuple):
    """A part of a study's work."""

    key: str
    """Its name; unique in the study. Says, with the study's settings, all that it depends on."""
    compute: Callable[[], pl.DataFrame]
    """Pure: the same frame each time, on any thread."""


def studied(rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """Rows of ``STUDIED`` as a frame."""
    return pl.DataFrame(rows, schema=STUDIED, orient="row")
