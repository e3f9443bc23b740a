"""Ads of HTCondor as JSON and XML have them → the texts that `condor_history -long` would print."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import polars as pl

from audit.formats.dialects import Parsed
from audit.formats.escapes import holdable
from audit.formats.htcondor.records import ATTRIBUTES, KEYS, typed
from audit.formats.lines import Block, Lines
from audit.formats.shaping import shaped
from audit.model import RefusalCode

_PLACES: Final = {key: place for place, key in enumerate(KEYS)}
NOTHING: Final = ("undefined", "error")
"""Words for a value that is none."""

Texts = tuple[str | None, ...]

_EXPRESSION: Final = ("/Expr(", ")/")
"""What stands around an expression in JSON."""


def quoted(text: str) -> str:
    """A text as the long form has it: ``"`` is escaped, and nothing else."""
    escaped = holdable(text).replace('"', '\\"')
    return f'"{escaped}"'


def texts_of(ad: Mapping[str, Any]) -> Texts:
    """The values of ``ATTRIBUTES`` of an ad that was read from JSON."""
    texts: list[str | None] = [None] * len(KEYS)
    for name, value in ad.items():
        if (place := _place(name)) is not None:
            texts[place] = str(value) if type(value) is int else _text(value)
    return tuple(texts)


@lru_cache(maxsize=1 << 12)
def _place(name: str) -> int | None:
    return _PLACES.get(name.lower())


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case str():
            before, behind = _EXPRESSION
            if value.startswith(before) and value.endswith(behind):
                return defined(holdable(value[len(before) : -len(behind)]))
            return quoted(value)
        case int() | float():
            return str(value)
        case _:
            return holdable(json.dumps(value, ensure_ascii=False))


def defined(expression: str) -> str | None:
    """An expression without blanks around it; None where it is the word for nothing."""
    bare = expression.strip()
    return None if bare.lower() in NOTHING else bare


class Found:
    """What became of the ads of a block, in their order."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._spans: list[tuple[int, int]] = []
        self._ads: list[tuple[int | str | None, ...]] = []
        self._refused: list[tuple[int, str, str]] = []

    def take(self, begin: int, end: int, texts: Texts) -> None:
        """An ad that stands from ``begin`` to ``end``."""
        self._ads.append((len(self._spans), *texts))
        self._spans.append((begin, end))

    def refuse(self, begin: int, end: int, reason: str, code: RefusalCode) -> None:
        """What is no ad."""
        self._refused.append((len(self._spans), reason, code.value))
        self._spans.append((begin, begin + len(self._block.data[begin:end].rstrip())))

    def parsed(self) -> Parsed:
        """All of it as records and refusals."""
        schema = {"number": pl.Int64, **dict.fromkeys(ATTRIBUTES, pl.String)}
        columns: Sequence[Sequence[Any]] = list(zip(*self._ads, strict=True)) or [()] * len(schema)
        jobs, others = typed(pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema))
        refused = pl.DataFrame(
            self._refused,
            schema={"number": pl.Int64, "problem": pl.String, "code": pl.String},
            orient="row",
        )
        spans = Lines(*np.array(self._spans, dtype=np.int64).reshape(-1, 2).T)
        found = pl.concat([jobs, refused], how="diagonal")
        return shaped(self._block, spans, found, steps=others)
