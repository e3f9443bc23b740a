"""Elements as text, so that what a search has found can be kept and read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from audit.model import Limit, Policy, Scope, Window
from audit.scenario.fit.days import Ceiling
from audit.scenario.fit.search import Gain, Tried
from audit.scenario.fit.site import Element, Evidence, Kind
from audit.words import Backfill, Order

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
    return json.dumps(_plain(element))


def from_text(text: str) -> Element:
    """The same back."""
    held = json.loads(text)
    policy, window, limit = held["policy"], held["window"], held["limit"]
    return Element(
        kind=Kind(held["kind"]),
        evidence=Evidence(**held["evidence"]),
        policy=None if policy is None else _policy(policy),
        window=None if window is None else Window(**_scoped(window)),
        zone=held["zone"],
        limit=None if limit is None else Limit(**_scoped(limit)),
        ceilings=tuple(Ceiling(**one) for one in held["ceilings"]),
        users=tuple(held["users"]),
        nodes=held["nodes"],
    )


def _policy(held: dict[str, Any]) -> Policy:
    return Policy(**held | {"order": Order(held["order"]), "backfill": Backfill(held["backfill"])})


def _scoped(held: dict[str, Any]) -> dict[str, Any]:
    return {
        name: Scope(**_tuples(value)) if name == "scope" else value
        for name, value in _tuples(held).items()
    }


def _tuples(held: dict[str, Any]) -> dict[str, Any]:
    """JSON knows lists alone."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in held.items()
    }


def _plain(value: object) -> object:
    """Named tuples as objects, other tuples as lists."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value
