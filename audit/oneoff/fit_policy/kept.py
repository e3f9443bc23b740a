"""Elements as text, so that what a search has found can be kept and read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from pydantic import TypeAdapter

from audit.scenario.fit.search import Gain, Tried
from audit.scenario.fit.site import Element

TRIED: Final = pl.Schema(
    {
        "stage": pl.Int64,
        "round": pl.Int64,
        "element": pl.String,
        "gain": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "explains": pl.Float64,
        "kept": pl.Boolean,
    }
)
"""What was tried, in order; see ``search.Tried``."""

_ELEMENT: Final = TypeAdapter(Element)


def as_frame(tried: Sequence[Tried]) -> pl.DataFrame:
    """What was tried, as rows of ``TRIED``."""
    rows = [
        (one.stage, one.round, as_text(one.element), *one.gain, one.explains, one.kept)
        for one in tried
    ]
    return pl.DataFrame(rows, TRIED, orient="row")


def from_frame(frame: pl.DataFrame) -> list[Tried]:
    """The same back."""
    return [
        Tried(stage, turn, from_text(element), Gain(gain, lower, upper), explains, kept)
        for stage, turn, element, gain, lower, upper, explains, kept in frame.iter_rows()
    ]


def as_text(element: Element) -> str:
    """An element as JSON."""
    return _ELEMENT.dump_json(element).decode()


def from_text(text: str) -> Element:
    """The same back."""
    return _ELEMENT.validate_json(text)
