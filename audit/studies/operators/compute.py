"""[R]'s study of priority operators: what each keeps, and how finely it tells users apart.

Analyses of [R] §§3–5, each as a table. Where priorities are stored as one of r numbers, all pairs
of target and state that share a number cannot be told apart:

    input density  the part of all pairs (t, s) that share a digit
    local density  D: the length of the states that share a digit, for one target (18–21)
    smallest step  what must be added to a state for its digit to change (22)
    job size       the least job that does so, from the lowest state of a digit (23–25); of a
                   window in which U resource-hours were used, a job of k · U

``as_published``: digits by (17) and (20); D only where (21) gives a state for both of its ends; k
from k² + (1 + s) k − D = 0 (25), at the higher state, as (19) has it. Corrected (SPEC §9): digits
of fig. 4; D wherever a state has that digit; a job of k · U makes (s + k)/(1 + k) of a state s, so
k = D/(1 − s − D) from the lower state s. There is none where the digit reaches to state 1, which no
job can leave: such digits are left out and counted.

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.fairshare import operator_rules, operators, trees
from audit.metrics.fairshare.operators import OPERATORS

Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]

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

PRINTED_BOUNDARIES: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(OPERATORS, ("−1", "1")),
    "absolute": ("−s", "t"),
    "combined": ("−0.5 − s/2", "0.5 + t/2"),
}
"""[R] Table 1: F(0, s) and F(t, 0)."""

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


@dataclass(frozen=True)
class Setting:
    """What the study of job sizes is made with; [R]'s own by default."""

    bits: Sequence[int] = BITS
    targets: Sequence[float] = TARGETS
    areas: Mapping[str, tuple[float, float]] = field(default_factory=lambda: AREAS)
    used_hours: float = USED_HOURS
    job_hours: float = JOB_HOURS


_NEARLY_1: Final = 1e-12  # a state this near to 1 is 1 but for rounding


# --- what operators keep -------------------------------------------------------------------------


class Judged(NamedTuple):
    """An operator, and which rules it keeps."""

    operator: str
    verdicts: tuple[operator_rules.Verdict, ...]


def conformance() -> tuple[Judged, ...]:
    """Which of the rules of ``metrics.fairshare.operator_rules`` each operator keeps."""
    return tuple(
        Judged(name, operator_rules.check(operator_rules.named(name))) for name in OPERATORS
    )


def boundaries(at: Sequence[float] = (0.25, 0.5, 1.0)) -> pl.DataFrame:
    """[R] Table 1, computed.

    Args:
        at: the states at target 0, and the targets at state 0, above 0.

    Returns:
        operator, at, at_target_0 and at_state_0 (priorities), printed_target_0 and
        printed_state_0 (what the paper has), agrees.
    """
    rows = []
    for x, name in itertools.product(at, OPERATORS):
        low, high = (float(operators.priority(name, *pair)) for pair in ((0.0, x), (x, 0.0)))
        printed = {
            "absolute": (-x, x),
            "combined": (-0.5 - x / 2, 0.5 + x / 2),
        }.get(name, (-1.0, 1.0))
        rows.append((name, x, low, high, *PRINTED_BOUNDARIES[name], printed == (low, high)))
    return pl.DataFrame(
        rows,
        schema={
            "operator": pl.String,
            "at": pl.Float64,
            "at_target_0": pl.Float64,
            "at_state_0": pl.Float64,
            "printed_target_0": pl.String,
            "printed_state_0": pl.String,
            "agrees": pl.Boolean,
        },
        orient="row",
    )


def equivalence() -> Mapping[tuple[str, str], operator_rules.Witness | None]:
    """Of every two operators the siblings whom they order differently; None: there are none."""
    forms = {name: operator_rules.named(name) for name in OPERATORS}
    found: dict[tuple[str, str], operator_rules.Witness | None] = {}
    for one, other in itertools.combinations(OPERATORS, 2):
        found[one, other] = operator_rules.equivalent(forms[one], forms[other])
    return found


class Serialised(NamedTuple):
    """Two vectors as texts."""

    resolution: int
    first: str
    second: str
    right: bool
    """The texts have the order of the vectors."""


def fallen_together(
    first: Sequence[float] = (0.505, -0.8), second: Sequence[float] = (0.5, 0.8)
) -> tuple[Serialised, ...]:
    """[R] fig. 5: at too small a resolution, the second component decides wrongly.

    Args:
        first: a vector of priorities that is greater than the second.
        second: another, as long.
    """
    both = np.array([first, second], np.float64)
    rows = []
    for resolution in (100, 1_000, 10_000):
        one, other = trees.serialise(both, resolution).tolist()
        rows.append(
            Serialised(resolution, one, other, (one > other) == (tuple(first) > tuple(second)))
        )
    return tuple(rows)


# --- resolution ----------------------------------------------------------------------------------


def edges(bits: int, *, as_published: bool) -> Floats:
    """The effective priorities of all digits, ascending, and the bound above the last one.

    A digit has the priorities from its own up to, not including, the next. Corrected, the last
    digit is that of 1 alone, and the bound above it is beyond 1.
    """
    resolution = 1 << bits
    return operators.effective(np.arange(resolution + 1), resolution, as_published=as_published)


def input_density(bits: int, *, as_published: bool) -> pl.DataFrame:
    """The part of all pairs of target and state that share each digit, by its area in the square.

    Returns:
        operator, digit, priority (effective), density (0 to 1; 1 in all for each operator).
    """
    bounds = edges(bits, as_published=as_published)
    parts = []
    for name in OPERATORS:
        areas = operators.area(name, bounds)
        areas[-1] = 0.0
        density = areas[:-1] - areas[1:]
        parts.append(_of_digits(name, bounds, {"density": pl.Series(density)}))
    return pl.concat(parts)


def greatest_input_density(setting: Setting | None = None) -> pl.DataFrame:
    """The greatest input density among the digits of each area of priorities, at all bits.

    Args:
        setting: bits and areas; [R]'s own if left out.

    Returns:
        as_published, operator, area, bits, density.
    """
    chosen = setting or Setting()
    rows = [
        (as_published, name, area, bits, float(-np.diff(operators.area(name, some)).min()))
        for as_published, bits in itertools.product((True, False), chosen.bits)
        for area, some in _areas(chosen, bits, as_published=as_published)
        for name in OPERATORS
        if len(some) > 1
    ]
    columns = ["as_published", "operator", "area", "bits", "density"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _areas(setting: Setting, bits: int, *, as_published: bool) -> Iterator[tuple[str, Floats]]:
    """The bounds of the digits whose effective priorities are in each area."""
    bounds = edges(bits, as_published=as_published)
    for area, (least, most) in setting.areas.items():
        first, last = np.searchsorted(bounds[:-1], (least - 1e-12, most + 1e-12))
        yield area, bounds[first : last + 1]


def local_density(bits: int, target: float, *, as_published: bool) -> pl.DataFrame:
    """For one target, the states that share each digit.

    Returns:
        operator, digit, priority (effective), lowest_state and highest_state (null where no state
        has that digit), density: the difference, 0 to 1.
    """
    bounds = edges(bits, as_published=as_published)
    parts = []
    for name in OPERATORS:
        states = operators.reach(name, bounds, target)
        states[-1] = 0.0
        density = states[:-1] - states[1:]
        none = density <= 0
        lowest, highest = (
            pl.Series(np.where(none, np.nan, of), nan_to_null=True)
            for of in (states[1:], states[:-1])
        )
        columns = {"lowest_state": lowest, "highest_state": highest}
        parts.append(_of_digits(name, bounds, {**columns, "density": pl.Series(density)}))
    return pl.concat(parts)


def _of_digits(name: str, bounds: Floats, columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    digits = {"digit": pl.Series(np.arange(len(bounds) - 1)), "priority": pl.Series(bounds[:-1])}
    return pl.DataFrame({**digits, **columns}).select(pl.lit(name).alias("operator"), pl.all())


def smallest_step(
    name: str, target: float, state: float, bits: int, *, as_published: bool
) -> float | None:
    """M: the least that, added to a state, changes the digit of its priority ([R] eq. 22).

    Returns:
        A length of state, > 0 but for rounding, that just does not suffice: any more does. None
        where no state up to 1 has another digit.
    """
    resolution = 1 << bits
    digit = operators.digits(
        operators.priority(name, target, state), resolution, as_published=as_published
    )
    least = operators.effective(digit, resolution, as_published=as_published)
    if not as_published:
        least = least - 2 * operators.ROUNDING / (resolution - 1)
    last = float(operators.reach(name, least, target))
    return None if last >= 1.0 - _NEARLY_1 else max(last - state, 0.0)


# --- job size ------------------------------------------------------------------------------------


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
    setting: Setting | None = None, progress: Progress = lambda what, done, of: None
) -> pl.DataFrame:
    """The least jobs that change a digit, by operator, area of priorities, bits and target.

    Args:
        setting: [R]'s own if left out.
        progress: told how far it is.

    Returns:
        Columns of ``SIZES``, as published and corrected: how many digits of the area can be
        changed at that target, and how many cannot (``left_out``: as published, those with an end
        out of reach; corrected, those that reach to state 1); over those that can, the greatest
        local density, and the median (nearest rank) and the greatest of the least jobs, hours;
        null where there are none. Rows without a target are of all targets together.
    """
    chosen = setting or Setting()
    rows: list[tuple[object, ...]] = []
    for done, name in enumerate(OPERATORS):
        progress("job sizes", done, len(OPERATORS))
        for as_published, bits in itertools.product((True, False), chosen.bits):
            for area, some in _areas(chosen, bits, as_published=as_published):
                of_targets = [
                    _least_jobs(name, some, target, as_published=as_published)
                    for target in chosen.targets
                ]
                together = _Jobs(
                    np.concatenate([jobs.density for jobs in of_targets]),
                    np.concatenate([jobs.part for jobs in of_targets]),
                    sum(jobs.left_out for jobs in of_targets),
                )
                for target, jobs in (
                    *zip(chosen.targets, of_targets, strict=True),
                    (None, together),
                ):
                    told = jobs.told(chosen.used_hours)
                    rows.append((as_published, name, area, bits, target, *told))
    progress("job sizes", len(OPERATORS), len(OPERATORS))
    return pl.DataFrame(rows, schema=SIZES, orient="row")


class _Jobs(NamedTuple):
    """Of the digits that a job can change, the local density and k; and how many none can."""

    density: Floats
    part: Floats
    left_out: int

    def told(self, used_hours: float) -> tuple[int, int, float | None, float | None, float | None]:
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
    movable = attained & (left > _NEARLY_1)
    density = density[movable]
    return _Jobs(density, density / left[movable], int((attained & ~movable).sum()))


def bits_needed(sizes: pl.DataFrame, job_hours: float = JOB_HOURS) -> pl.DataFrame:
    """The least bits from which on a job of this size changes the digit wherever any job can.

    "From which on": at every greater number of bits that was studied as well.

    Args:
        sizes: what ``job_sizes`` gives.
        job_hours: the size of the job, hours.

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
            found=pl.when(pl.col("last_failing").is_null())
            .then("least")
            .when(pl.col("last_failing") < most)
            .then(pl.col("last_failing") + 1)
        )
        .explode("bits", "left_out")
        .filter(pl.col("bits") == pl.col("found").fill_null(most))
        .select(*key, bits="found", left_out="left_out")
    )


def beside_printed(needed: pl.DataFrame) -> pl.DataFrame:
    """[R] Fig. 17 beside what its own formulas give, and what the corrected ones do.

    Args:
        needed: what ``bits_needed`` gives.

    Returns:
        operator, area (with ``"overall"``, the most of the three), printed, as_published,
        corrected (bits; null: more than were studied), and difference: as_published − printed.
    """
    found = {
        (published, name, area): bits
        for published, name, area, bits in needed.filter(pl.col("target").is_null())
        .select("as_published", "operator", "area", "bits")
        .iter_rows()
    }
    rows = []
    for name in OPERATORS:
        of_areas: dict[bool, list[int | None]] = {
            published: [found[published, name, area] for area in AREAS]
            for published in (True, False)
        }
        for bits in of_areas.values():
            known = [value for value in bits if value is not None]
            bits.append(max(known) if len(known) == len(AREAS) else None)
        for area, printed, ours, corrected in zip(
            (*AREAS, "overall"), PRINTED_BITS[name], of_areas[True], of_areas[False], strict=True
        ):
            rows.append(
                (name, area, printed, ours, corrected, None if ours is None else ours - printed)
            )
    return pl.DataFrame(
        rows,
        schema=["operator", "area", "printed", "as_published", "corrected", "difference"],
        orient="row",
    ).cast(dict.fromkeys(("printed", "as_published", "corrected", "difference"), pl.Int64))


class Ordered(NamedTuple):
    """Operators from the least job to the greatest."""

    area: str
    printed: tuple[str, ...]
    as_published: tuple[str, ...]
    corrected: tuple[str, ...]


def orders(sizes: pl.DataFrame) -> tuple[Ordered, ...]:
    """The operators of each area by the greatest of their least jobs, at the most bits.

    Corrected, by the median: the greatest is that of a state next to 1, and says nothing more.

    Args:
        sizes: what ``job_sizes`` gives.
    """
    at_most = sizes.filter(pl.col("bits") == sizes["bits"].max(), pl.col("target").is_null())

    def by(area: str, column: str, *, as_published: bool) -> tuple[str, ...]:
        rows = at_most.filter(pl.col("area") == area, pl.col("as_published") == as_published)
        known = rows.filter(pl.col(column).is_not_null())
        return tuple(known.sort(column, maintain_order=True)["operator"])

    return tuple(
        Ordered(
            area,
            PRINTED_ORDERS[area],
            by(area, "hours_most", as_published=True),
            by(area, "hours_median", as_published=False),
        )
        for area in AREAS
    )
