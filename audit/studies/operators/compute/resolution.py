"""How finely stored priorities tell users apart ([R] §5).

Where priorities are stored as one of r numbers, all pairs of target and state that share a number
cannot be told apart:

    input density  the part of all pairs (t, s) that share a digit
    local density  D: the length of the states that share a digit, for one target (18–21)

``as_published``: digits by (17) and (20); D only where (21) gives a state for both of its ends.
Corrected (SPEC §9): digits of fig. 4; D wherever a state has that digit.

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
"""Effective priorities of the digits that are looked at: around balance, over and under target."""
USED_HOURS: Final = 5_256_000
"""U: what 600 nodes give in a year, node-hours."""
JOB_HOURS: Final = 2_000


@dataclass(frozen=True)
class Setting:
    """What the study of job sizes is made with; [R]'s own by default."""

    bits: Sequence[int] = BITS
    targets: Sequence[float] = TARGETS
    areas: Mapping[str, tuple[float, float]] = field(default_factory=lambda: AREAS)
    used_hours: float = USED_HOURS
    job_hours: float = JOB_HOURS


NEARLY_1: Final = 1e-12
"""A state this near to 1 is 1 but for rounding."""


def edges(bits: int, *, as_published: bool) -> Floats:
    """The effective priorities of all digits, ascending, and the bound above the last one.

    A digit has the priorities from its own up to, not including, the next. Corrected, the last
    digit is that of 1 alone, and the bound above it is beyond 1.
    """
    resolution = 1 << bits
    return operators.effective(np.arange(resolution + 1), resolution, as_published=as_published)


def input_densities(bits: int) -> pl.DataFrame:
    """The part of all pairs of target and state that share each digit, by its area in the square.

    Returns:
        operator, digit, priority (effective), density (0 to 1; 1 in all for each operator),
        as_published.
    """
    parts = []
    for as_published, name in itertools.product((True, False), OPERATORS):
        bounds = edges(bits, as_published=as_published)
        areas = operators.area(name, bounds)
        areas[-1] = 0.0
        density = pl.Series(areas[:-1] - areas[1:])
        parts.append(_of_digits(name, bounds, density=density, as_published=as_published))
    return pl.concat(parts)


def greatest_input_density(setting: Setting) -> pl.DataFrame:
    """Return the greatest input density among the digits of each area of priorities, at all bits.

    Columns are as_published, operator, area, bits and density.
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
    """The bounds of the digits whose effective priorities are in each area."""
    bounds = edges(bits, as_published=as_published)
    for area, (least, most) in setting.areas.items():
        first, last = np.searchsorted(bounds[:-1], (least - 1e-12, most + 1e-12))
        yield area, bounds[first : last + 1]


def local_densities(bits: int, cases: Iterable[tuple[float, bool]]) -> pl.DataFrame:
    """The states that share each digit, for targets that are looked at as published or corrected.

    Returns:
        operator, digit, priority (effective), lowest_state and highest_state (null where no state
        has that digit), density: the difference, 0 to 1, target, as_published.
    """
    parts = []
    for (target, as_published), name in itertools.product(cases, OPERATORS):
        bounds = edges(bits, as_published=as_published)
        states = operators.reach(name, bounds, target)
        states[-1] = 0.0
        density = states[:-1] - states[1:]
        lowest, highest = (
            pl.Series(np.where(density <= 0, np.nan, ends), nan_to_null=True)
            for ends in (states[1:], states[:-1])
        )
        parts.append(
            _of_digits(
                name,
                bounds,
                lowest_state=lowest,
                highest_state=highest,
                density=pl.Series(density),
                target=target,
                as_published=as_published,
            )
        )
    return pl.concat(parts)


def extremes(densities: pl.DataFrame) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows with the greatest and with the least density above 0."""
    known = densities.filter(pl.col("density") > 0)
    most, least = (
        known.sort("density", descending=down).row(0, named=True) for down in (True, False)
    )
    return most, least


class Profile(NamedTuple):
    """What operators make of states at one target."""

    curves: pl.DataFrame
    """operator, state (in hundredths from 0 to 1), priority."""
    bars: pl.DataFrame
    """operator, density, priority and next: of each digit that a state has, its local density, its
    priority and that of the next."""
    at_balance: pl.DataFrame
    """operator, density: of the digit that holds priority 0."""


def profile(bits: int, target: float) -> Profile:
    """Priorities over the state, with the local densities of their digits, corrected."""
    states = np.arange(101) / 100
    step = 2 / ((1 << bits) - 1)
    densities = local_densities(bits, [(target, False)])
    return Profile(
        pl.concat(
            pl.DataFrame(
                {"state": states, "priority": operators.priority(name, target, states)}
            ).select(pl.lit(name).alias("operator"), pl.all())
            for name in OPERATORS
        ),
        densities.filter(pl.col("density") > 0).select(
            "operator", "density", "priority", next=(pl.col("priority") + step).clip(None, 1.0)
        ),
        densities.filter(pl.col("priority") <= 0, pl.col("priority") > -step).select(
            "operator", "density"
        ),
    )


def _of_digits(name: str, bounds: Floats, **columns: pl.Series | float | bool) -> pl.DataFrame:
    digits = {"digit": pl.Series(np.arange(len(bounds) - 1)), "priority": pl.Series(bounds[:-1])}
    frame = pl.DataFrame({"operator": pl.repeat(name, len(bounds) - 1, eager=True), **digits})
    return frame.with_columns(
        **{key: of if isinstance(of, pl.Series) else pl.lit(of) for key, of in columns.items()}
    )
