"""Which attempts a rule of the site may be about: partitions, sizes, walltimes, and their overlaps.

A scope is worth looking at where a good part of what is unexplained is in it. Bounds of walltimes
and sizes are among those that are often asked for: people ask for the most that a rule allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import polars as pl

from audit.model import Scope
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.workload import Bools, Ints

WORTH: Final = 0.02
"""Of all that is unexplained; scopes with less are passed over."""
BOUNDS: Final = 12
"""So many of the values most often asked for may be a bound."""
ROUND_S: Final = tuple(hours * 3_600 for hours in (1, 2, 4, 8, 12, 24, 48, 72, 168))
"""Bounds of walltimes that sites like to set."""


def scopes(observed: Observed, idle: Floats | Ints, most: int) -> list[tuple[Scope, Bools]]:
    """The scopes that hold ``WORTH`` of what is unexplained, the wider ones first.

    Args:
        observed: the attempts.
        idle: what is unexplained of each attempt, ≥ 0.
        most: no more of them.

    Returns:
        Each with its members; no two have the same ones among those with something unexplained.
    """
    total = idle.sum()
    found: list[tuple[Scope, Bools]] = []
    seen: set[bytes] = set()
    for scope in _candidates(observed.frame, idle):
        held = observed.within(scope)
        if total <= 0 or idle[held].sum() < WORTH * total:
            continue
        mark = np.packbits(held).tobytes()
        if mark not in seen:
            seen.add(mark)
            found.append((scope, held))
        if len(found) == most:
            break
    return found


def _candidates(frame: pl.DataFrame, idle: Floats | Ints) -> Iterator[Scope]:
    """All scopes, from wide to narrow."""
    classes = [Scope()]
    for name in ("partition", "qos"):
        shares = frame.select(name).with_columns(idle=pl.Series(idle.astype(np.float64)))
        by_name = shares.drop_nulls(name).group_by(name).agg(pl.col("idle").sum()).sort(name)
        if by_name.height > 1:
            worth = by_name.filter(pl.col("idle") >= WORTH * float(idle.sum()))
            classes += [Scope(**{name: value}) for value in worth[name]]
    yield from classes
    late = frame.filter(pl.Series(idle > 0))
    sizes, asked = bounds(late["size"]), late["walltime_s"]
    most = asked.max() or 0
    walltimes = sorted({*bounds(asked), *(one for one in ROUND_S if one < most)})  # type: ignore[operator]
    for scope, size in product(classes, sizes):
        yield scope._replace(size_above=size)
        yield scope._replace(size_up_to=size)
    for scope, walltime in product(classes, walltimes):
        yield scope._replace(walltime_above_s=walltime)


def bounds(asked: pl.Series) -> list[int]:
    """Values that many ask for, ascending, but for the greatest: none asks for more."""
    counted = asked.drop_nulls().value_counts().sort("count", asked.name, descending=[True, False])
    values = sorted(counted[asked.name].head(BOUNDS + 1).to_list())
    most = asked.max()
    return [value for value in values if value != most]
