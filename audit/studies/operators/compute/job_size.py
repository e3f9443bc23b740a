"""The least job that changes a stored priority, and the bits that a job needs ([R] §5).

In a window in which U resource-hours were used, a job of k · U, from the lowest state of a digit
(23–25):

    as published  k from k² + (1 + s) k − D = 0 (25), at the higher state, as (19) has it
    corrected     a job of k · U makes (s + k)/(1 + k) of a state s, so k = D/(1 − s − D) from the
                  lower state s (SPEC §9). There is none where the digit reaches to state 1, which
                  no job can leave: such digits are left out and counted.

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.studies.operators.compute.resolution import (
    AREAS,
    JOB_HOURS,
    NEARLY_1,
    Floats,
    Setting,
    areas,
)

Progress = Callable[[str, int, int], None]

PRINTED_BITS: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "absolute": (12, 14, 12, 14),
    "relative": (9, 14, 9, 14),
    "relative_n": (9, 15, 8, 15),
    "sigmoid": (9, 12, 9, 12),
    "sigmoid_n": (6, 11, 9, 11),
    "slurm": (9, 13, 8, 13),
    "combined": (10, 15, 8, 15),
}
"""[R] Fig. 17: bits around balance, over and under target, and overall."""

PRINTED_ORDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "balance": (
        *("sigmoid_n", "sigmoid", "slurm", "relative", "relative_n", "combined", "absolute"),
    ),
    "over": (*("sigmoid_n", "sigmoid", "slurm", "relative", "absolute", "relative_n", "combined"),),
    "under": ("relative_n", "combined", "slurm", "sigmoid", "relative", "sigmoid_n"),
}
"""[R] §5.4: operators from the least job to the greatest; the last lacks ``absolute``."""

SIZES: Final = pl.Schema(
    {
        "as_published": pl.Boolean,
        "operator": pl.String,
        "area": pl.String,
        "bits": pl.Int64,
        "target": pl.Float64,
        "digits": pl.Int64,
        "left_out": pl.Int64,
        "density_most": pl.Float64,
        "hours_median": pl.Float64,
        "hours_most": pl.Float64,
    }
)


def job_sizes(
    setting: Setting, on_progress: Progress = lambda what, done, of: None
) -> pl.DataFrame:
    """The least jobs that change a digit, by operator, area of priorities, bits and target.

    Returns:
        Columns of ``SIZES``, as published and corrected: how many digits of the area can be
        changed at that target, and how many cannot (``left_out``: as published, those with an end
        out of reach; corrected, those that reach to state 1); over those that can, the greatest
        local density, and the median (nearest rank) and the greatest of the least jobs, hours;
        null where there are none. Rows without a target are of all targets together.
    """
    rows: list[tuple[object, ...]] = []
    for done, name in enumerate(OPERATORS):
        on_progress("job sizes", done, len(OPERATORS))
        for as_published, bits in itertools.product((True, False), setting.bits):
            for area, bounds in areas(setting, bits, as_published=as_published):
                of_targets = [
                    _least_jobs(name, bounds, target, as_published=as_published)
                    for target in setting.targets
                ]
                together = _Jobs(
                    np.concatenate([jobs.density for jobs in of_targets]),
                    np.concatenate([jobs.part for jobs in of_targets]),
                    sum(jobs.left_out for jobs in of_targets),
                )
                for target, jobs in (
                    *zip(setting.targets, of_targets, strict=True),
                    (None, together),
                ):
                    figures = jobs.figures(setting.used_hours)
                    rows.append((as_published, name, area, bits, target, *figures))
    on_progress("job sizes", len(OPERATORS), len(OPERATORS))
    return pl.DataFrame(rows, schema=SIZES, orient="row")


class _Jobs(NamedTuple):
    """Of the digits that a job can change, the local density and k; and how many none can."""

    density: Floats
    part: Floats
    left_out: int

    def figures(
        self, used_hours: float
    ) -> tuple[int, int, float | None, float | None, float | None]:
        """The last five columns of ``SIZES``."""
        count = len(self.part)
        if not count:
            return 0, self.left_out, None, None, None
        rank = (count + 1) // 2 - 1  # nearest: ceil(n/2), from 0
        median = float(np.partition(self.part, rank)[rank])
        hours = (used_hours * median, used_hours * float(self.part.max()))
        return count, self.left_out, float(self.density.max()), *hours


def _least_jobs(name: str, bounds: Floats, target: float, *, as_published: bool) -> _Jobs:
    """Of the digits between neighbouring bounds, for one target."""
    if len(bounds) < 2:
        return _Jobs(np.empty(0), np.empty(0), 0)
    if as_published:
        states = operators.inverse(name, bounds, target)
        density = states[:-1] - states[1:]
        known = ~np.isnan(density)
        density, high = density[known], states[:-1][known]
        root = np.sqrt((1 + high) ** 2 + 4 * density)
        return _Jobs(density, 2 * density / (root + 1 + high), int((~known).sum()))
    states = operators.reach(name, bounds, target)
    density = states[:-1] - states[1:]
    attained = density > 0
    left = 1.0 - states[:-1]  # 1 − s − D
    movable = attained & (left > NEARLY_1)
    density = density[movable]
    return _Jobs(density, density / left[movable], int((attained & ~movable).sum()))


def bits_needed(sizes: pl.DataFrame, job_hours: float = JOB_HOURS) -> pl.DataFrame:
    """The least bits from which on a job of this size changes the digit wherever any job can.

    "From which on": at every greater number of bits that was studied as well.

    Returns:
        as_published, operator, area, target (null: all together), bits (null: more than were
        studied), left_out: how many digits no job can change, at these bits, or at the most.
    """
    key = ["as_published", "operator", "area", "target"]
    fails = ~(pl.col("hours_most") <= job_hours).fill_null(value=False)
    most = sizes["bits"].max()
    return (
        sizes.sort("bits")
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("bits", "left_out"),
            last_failing=pl.col("bits").filter(fails).max(),
            least=pl.col("bits").min(),
        )
        .with_columns(
            needed=pl.when(pl.col("last_failing").is_null())
            .then("least")
            .when(pl.col("last_failing") < most)
            .then(pl.col("last_failing") + 1)
        )
        .explode("bits", "left_out")
        .filter(pl.col("bits") == pl.col("needed").fill_null(most))
        .select(*key, pl.col("needed").alias("bits"), "left_out")
    )


def beside_printed(needed: pl.DataFrame) -> pl.DataFrame:
    """[R] Fig. 17 beside what its own formulas give, and what the corrected ones do.

    Returns:
        operator, area (with ``"overall"``, the most of the three), printed, as_published,
        corrected (bits; null: more than were studied), and difference: as_published − printed.
    """
    bits_of = {
        tuple(key): bits
        for *key, bits in needed.filter(pl.col("target").is_null())
        .select("as_published", "operator", "area", "bits")
        .iter_rows()
    }
    rows = []
    for name in OPERATORS:
        both = []
        for published in (True, False):
            of_areas = [bits_of[published, name, area] for area in AREAS]
            both.append([*of_areas, None if None in of_areas else max(of_areas)])
        rows += [
            (name, area, printed, ours, corrected, None if ours is None else ours - printed)
            for area, printed, ours, corrected in zip(
                (*AREAS, "overall"), PRINTED_BITS[name], *both, strict=True
            )
        ]
    bits = ("printed", "as_published", "corrected", "difference")
    schema = {"operator": pl.String, "area": pl.String, **dict.fromkeys(bits, pl.Int64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def bits_by_target(needed: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """The bits that each target needs, corrected.

    Returns:
        operator, area, target, bits (null: more than were studied), attained: whether a state of
        that target has a priority in the area at all.
    """
    key = ("operator", "area", "target")
    at_most = sizes.filter(~pl.col("as_published"), bits=sizes["bits"].max())
    return (
        needed.filter(~pl.col("as_published"), pl.col("target").is_not_null())
        .join(at_most.select(*key, "digits", fixed="left_out"), on=key)
        .select(*key, "bits", attained=pl.col("digits") + pl.col("fixed") > 0)
    )


def digits_of_absolute(setting: Setting) -> tuple[float, float]:
    """How many digits (25) asks for of the operator absolute, whose D is 2/r for every digit.

    r ≥ 2/(k² + (1 + s) k), at s = 1 and at s = 0.
    """
    k = setting.job_hours / setting.used_hours
    at_1, at_0 = (2 / (k * k + (1 + s) * k) for s in (1.0, 0.0))
    return at_1, at_0


def orders(sizes: pl.DataFrame) -> dict[tuple[str, str], tuple[str, ...]]:
    """Operators from the least job to the greatest, by area and version, at the most bits.

    As published by the greatest of their least jobs; corrected by the median, as the greatest is
    that of a state next to 1 and says nothing more.
    """
    at_most = sizes.filter(pl.col("bits") == sizes["bits"].max(), pl.col("target").is_null())

    def by(area: str, column: str, *, as_published: bool) -> tuple[str, ...]:
        rows = at_most.filter(pl.col("area") == area, pl.col("as_published") == as_published)
        known = rows.filter(pl.col(column).is_not_null())
        return tuple(known.sort(column, maintain_order=True)["operator"])

    ordered = {}
    for area in AREAS:
        ordered[area, "printed"] = PRINTED_ORDERS[area]
        ordered[area, "as published"] = by(area, "hours_most", as_published=True)
        ordered[area, "corrected"] = by(area, "hours_median", as_published=False)
    return ordered
