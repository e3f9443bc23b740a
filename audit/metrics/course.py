"""The main figures of a pool in successive stretches of time, and the latest change.

Each figure is a ratio of sums over the attempts that ended in a stretch:

    wait_mean               = Σ wait / number of attempts
    cause_unexplained_share = Σ unexplained / Σ wait, of waits with an account       (SPEC §11)
    miss_delivered_mean     = Σ miss / number, of attempts with a delivered fair start (SPEC §10)

Users are resampled, each with all its attempts of all stretches (SPEC §5, *Uncertainty*), so
differences between users do not blur the difference between two stretches.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Floats, Ints
from audit.metrics.uncertainty import NONE, RESAMPLES, Interval, Resamples, interval

SUMS: Final = pl.Schema(
    {
        "stretch": pl.Int64,
        "user": pl.String,  # null: all attempts without a user together
        "first_arrival": pl.Int64,  # epoch s, of its attempts in the stretch
        "attempts": pl.Int64,
        "wait_s": pl.Int64,
        "booked_s": pl.Int64,  # waits with an account
        "unexplained_s": pl.Int64,
        "judged": pl.Int64,  # attempts with a delivered fair start
        "missed_s": pl.Int64,  # total miss of these
    }
)
"""The sums of each user in each stretch; one row per pair with attempts."""

_ADDED: Final = tuple(name for name in SUMS if name not in {"stretch", "user", "first_arrival"})

RATIOS: Final = {
    "wait_mean": ("wait_s", "attempts"),
    "miss_delivered_mean": ("missed_s", "judged"),
    "cause_unexplained_share": ("unexplained_s", "booked_s"),
}
"""The figures: numerator and denominator."""


class Measured(NamedTuple):
    """A figure with its 95 % interval; times in s."""

    value: float | None
    within: Interval


class Course(NamedTuple):
    """The figures of each stretch by name, and the difference of the last two."""

    figures: tuple[dict[str, Measured], ...]
    attempts: tuple[int, ...]
    differences: dict[str, Measured]  # empty with fewer than two stretches


def course(
    sums: pl.DataFrame,
    stretches: int,
    seed: int,
    resamples: int = RESAMPLES,
    figures: Sequence[str] = tuple(RATIOS),
) -> Course:
    """Return the figures of ``stretches`` stretches of time.

    Args:
        sums: columns of ``SUMS``; ``stretch`` counts from 0.
        stretches: their number, empty ones included.
        seed: of the bootstrap, ≥ 0.

    Returns:
        Each figure, None for 0/0; no intervals with fewer than two users. A difference is the last
        stretch minus the one before, None where either is.
    """
    units = _numbered(sums)
    drawn = Resamples(int(units.max(initial=-1)) + 1, seed, resamples)
    stretch = sums["stretch"].to_numpy()
    columns = {name: sums[name].cast(pl.Float64).to_numpy() for name in _ADDED}
    needed = [name for name in _ADDED if any(name in RATIOS[figure] for figure in figures)]
    of_stretch = [
        _stretch(columns, np.flatnonzero(stretch == k), needed, units, drawn)
        for k in range(stretches)
    ]
    return Course(
        tuple({name: at.measured(name) for name in figures} for at in of_stretch),
        tuple(int(at.sums["attempts"]) for at in of_stretch),
        _differences(of_stretch, figures),
    )


def _numbered(sums: pl.DataFrame) -> Ints:
    """Return the number of each row's user, by activity so that names affect no interval."""
    did = [name for name in _ADDED if name != "attempts"]
    users = sums.group_by("user").agg(pl.col("first_arrival").min(), pl.col(_ADDED).sum())
    users = users.sort("first_arrival", "attempts", *did, "user").with_row_index("unit")
    numbered = sums.join(users.select("user", "unit"), on="user", how="left", nulls_equal=True)
    return numbered["unit"].cast(pl.Int64).to_numpy()


class _Stretch(NamedTuple):
    sums: dict[str, float]
    resampled: dict[str, Floats]
    users: int

    def measured(self, name: str) -> Measured:
        above, below = RATIOS[name]
        if not self.sums[below]:
            return Measured(None, NONE)
        value = self.sums[above] / self.sums[below]
        if self.users < 2:
            return Measured(value, NONE)
        some = self.resampled[below] > 0
        return Measured(value, interval(self.resampled[above][some] / self.resampled[below][some]))


def _stretch(
    columns: Mapping[str, Floats], held: Ints, needed: Sequence[str], units: Ints, drawn: Resamples
) -> _Stretch:
    of = {name: column[held] for name, column in columns.items()}
    resampled = drawn.sums(units[held], *(of[name] for name in needed))
    return _Stretch(
        {name: float(column.sum()) for name, column in of.items()},
        dict(zip(needed, resampled, strict=True)),
        len(held),
    )


def _differences(of_stretch: Sequence[_Stretch], figures: Sequence[str]) -> dict[str, Measured]:
    if len(of_stretch) < 2:
        return {}
    before, last = of_stretch[-2:]
    found = {}
    for name in figures:
        above, below = RATIOS[name]
        if not (before.sums[below] and last.sums[below]):
            continue
        value = last.sums[above] / last.sums[below] - before.sums[above] / before.sums[below]
        some = (before.resampled[below] > 0) & (last.resampled[below] > 0)
        of_last, of_before = (
            at.resampled[above][some] / at.resampled[below][some] for at in (last, before)
        )
        enough = min(before.users, last.users) >= 2 and some.any()
        found[name] = Measured(value, interval(of_last - of_before) if enough else NONE)
    return found
