"""Independent parts of a study's computation, and the schema of a study's results."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import polars as pl

STUDIED: Final = pl.Schema(
    {
        "pool": pl.String,
        "setting": pl.String,  # such as "load 0.80, fcfs-easy"
        "metric": pl.String,
        "dimension": pl.String,  # "all", "width_class", "user", …
        "dimension_value": pl.String,
        **dict.fromkeys(("value", "lower", "upper"), pl.Float64),
        "unit": pl.String,
        "attempts": pl.Int64,
    }
)
"""Columns of a study's results. The view ``studies`` adds the names of the study and the log."""


class StudyCell(NamedTuple):
    """A part of a study's computation, which may run in any order and be kept for a later run."""

    key: str
    """Unique in the study. With the study's settings, it names everything the frame depends on."""
    compute: Callable[[], pl.DataFrame]
    """Pure and thread-safe."""


def studied(rows: Sequence[Sequence[object]]) -> pl.DataFrame:
    """Return rows as a frame with the columns of ``STUDIED``."""
    return pl.DataFrame(rows, schema=STUDIED, orient="row")
