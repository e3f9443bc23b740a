"""How finely stored priorities distinguish users ([R] §5).

If priorities are stored as one of r numbers (digits), pairs of target and state with the same digit
cannot be distinguished:

    input density  the fraction of all pairs (t, s) that share a digit
    local density  D: the length of the states that share a digit, for one target (18–21)

``as_published``: digits by (17) and (20); D only where (21) gives a state for both ends. Corrected
(SPEC §9): digits of fig. 4; D wherever a state has that digit.

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS

Floats = NDArray[np.float64]

TARGETS: Final = tuple(k / 10 for k in range(10))
BITS: Final = range(3, 21)
AREAS: Final[Mapping[str, tuple[float, float]]] = {
    "balance": (-0.25, 0.25),
    "over": (-0.9, -0.6),
    "under": (0.6, 0.9),
}
"""Effective priorities of the digits studied: around balance, over and under target."""
USED_HOURS: Final = 5_256_000
"""U: node-hours of 600 nodes in a year."""
JOB_HOURS: Final = 2_000


@dataclass(frozen=True)
class Setting:
    """Settings of the study of job sizes; [R]'s own by default."""

    bits: Sequence[int] = BITS
    targets: Sequence[float] = TARGETS
    areas: Mapping[str, tuple[float, float]] = field(default_factory=lambda: AREAS)
    used_hours: float = USED_HOURS
    job_hours: float = JOB_HOURS


def edges(bits: int, *, as_published: bool) -> Floats:
    """Return the effective priorities of all digits, ascending, and the bound above the last.

    A digit has the priorities from its own up to, not including, the next. Corrected, the last
    digit is that of priority 1 alone, and the bound above it is beyond 1.
    """
    resolution = 1 << bits
    return operators.effective(np.arange(resolution + 1), resolution, as_published=as_published)


def input_densities(bits: int) -> pl.DataFrame:
    """Return the input density of each digit.

    Columns: operator, digit, priority (effective), density (sums to 1 for each operator),
    as_published.
    """
    parts = []
    for as_published, name in itertools.product((True, False), OPERATORS):
        bounds = edges(bits, as_published=as_published)
        areas = operators.area(name, bounds)
        areas[-1] = 0.0
        density = {"density": areas[:-1] - areas[1:], "as_published": as_published}
        parts.append(_of_digits(name, bounds, density))
    return pl.concat(parts)


def greatest_input_density(setting: Setting) -> pl.DataFrame:
    """Return the greatest input density among the digits of each area, for all numbers of bits.

    Columns: as_published, operator, area, bits, density.
    """
    rows = [
        (as_published, name, area, bits, float(-np.diff(operators.area(name, bounds)).min()))
        for as_published, bits in itertools.product((True, False), setting.bits)
        for area, bounds in areas(setting, bits, as_published=as_published)
        for name in OPERATORS
        if len(bounds) > 1
    ]
    columns = ["as_published", "operator", "area", "bits", "density"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def areas(setting: Setting, bits: int, *, as_published: bool) -> Iterator[tuple[str, Floats]]:
    """Yield the bounds of the digits whose effective priorities are in each area."""
    bounds = edges(bits, as_published=as_published)
    for area, (least, most) in setting.areas.items():
        first, last = np.searchsorted(bounds[:-1], (least - 1e-12, most + 1e-12))
        yield area, bounds[first : last + 1]


def local_densities(bits: int, cases: Iterable[tuple[float, bool]]) -> pl.DataFrame:
    """Return the local density of each digit, for pairs of target and ``as_published``.

    Columns: operator, digit, priority (effective), lowest_state, highest_state (null where no state
        has that digit), density (their difference, 0 to 1), target, as_published.
    """
    parts = []
    for (target, as_published), name in itertools.product(cases, OPERATORS):
        bounds = edges(bits, as_published=as_published)
        states = operators.reach(name, bounds, target)
        states[-1] = 0.0
        low, high = states[1:], states[:-1]
        none = high <= low
        columns = {
            "lowest_state": np.where(none, np.nan, low),
            "highest_state": np.where(none, np.nan, high),
            "density": high - low,
            "target": target,
            "as_published": as_published,
        }
        parts.append(_of_digits(name, bounds, columns))
    return pl.concat(parts)


def extremes(densities: pl.DataFrame) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the rows with the greatest and with the least density above 0."""
    known = densities.filter(pl.col("density") > 0)
    most, least = (
        known.sort("density", descending=down).row(0, named=True) for down in (True, False)
    )
    return most, least


class Profile(NamedTuple):
    """Priorities over the state at one target."""

    curves: pl.DataFrame
    """operator, state (in hundredths from 0 to 1), priority."""
    bars: pl.DataFrame
    """operator, density, priority and next (digit's priority), of each digit that a state has."""
    at_balance: pl.DataFrame
    """operator, density: of the digit that holds priority 0."""


def profile(bits: int, target: float) -> Profile:
    """Return priorities over the state, with the local densities of their digits, corrected."""
    states = np.arange(101) / 100
    step = 2 / ((1 << bits) - 1)
    densities = local_densities(bits, [(target, False)])
    curves = (
        {"operator": name, "state": states, "priority": operators.priority(name, target, states)}
        for name in OPERATORS
    )
    bar = ("operator", "density", "priority")
    return Profile(
        pl.concat(map(pl.DataFrame, curves)),
        densities.filter(pl.col("density") > 0).select(
            *bar, next=(pl.col("priority") + step).clip(None, 1.0)
        ),
        densities.filter(pl.col("priority") <= 0, pl.col("priority") > -step).select(bar[:2]),
    )


def _of_digits(name: str, bounds: Floats, columns: Mapping[str, object]) -> pl.DataFrame:
    digits = {"operator": name, "digit": np.arange(len(bounds) - 1), "priority": bounds[:-1]}
    return pl.DataFrame({**digits, **columns}, nan_to_null=True)
