"""[S]'s conclusions from its grid, decided on another log: seven claims, by stated comparisons.

Two groups of combinations are compared by the mean unfairness of the same attempts under each,
averaged over the group (``verdicts``). Comparisons over all loads together decide, and every metric
that a claim names must agree. Comparisons at single loads are shown but decide nothing. *Near* is a
ratio within ``NEAR``, the usual limits of equivalence.

Source: SPEC §8; [S] §§5, 7, and §4 for what it simulates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats
from audit.metrics import claims
from audit.metrics.claims import ABOVE_0, Asked, Claim, ClaimVerdict, Estimate, between, within
from audit.model import Backfill, Order
from audit.registry.measure import ONE
from audit.studies.grid import compute

NEAR: Final = (0.8, 1.25)
WIDE: Final = 0.25
"""An attempt is wide if it requests more than this share of the pool."""
ALIKE: Final = 0.7
"""Rank correlations above it are high; the least in [S] Table 2 is 0.74."""
EXPLAINED: Final = 0.5
"""Unfairness comes from estimates if exact ones leave less than this share of it."""

ALL_LOADS: Final = "all"
DECIDING: Final = (compute.STRICT, compute.RELAXED, compute.RE)
"""The metrics of [S]; RAQFM is shown as well."""
FSTS: Final = (compute.STRICT, compute.RELAXED)
LOG_RATIO: Final = "|ln ratio|"


@dataclass(frozen=True, kw_only=True)
class GridComparison(claims.Comparison):
    """A comparison for a claim, by one metric, at one load or all (``ALL_LOADS``)."""

    metric: str
    load: str
    unit: str

    def __str__(self) -> str:
        """Such as ``strict FST, no_guarantee − easy: 120 [80, 160] s (> 0)``."""
        unit = "" if self.unit == ONE else f" {self.unit}"
        figure = "nothing to compare" if self.estimate is None else f"{self.estimate}{unit}"
        return f"{self.title}, {self.what}: {figure} ({self.asked.text})"

    @property
    def title(self) -> str:
        """Name of the metric for readers."""
        return (
            compute.MEASURES[self.metric].title if self.metric in compute.MEASURES else self.metric
        )


class Decided(NamedTuple):
    """A claim, the verdict on it, and all its comparisons."""

    number: int
    verdict: ClaimVerdict
    comparisons: tuple[GridComparison, ...]


# --- figures that are compared -------------------------------------------------------------------


Figure: TypeAlias = Callable[[compute.Grid, Floats, Floats], Estimate | None]
"""Compares the unfairness of the same attempts under two groups: [attempts]; by ``LOG_RATIO``
[2, attempts], as ``FSTS``."""


def _difference(grid: compute.Grid, one: Floats, other: Floats) -> Estimate:
    return claims.mean_difference(grid.units, one, other, grid.resamples)


def _ratio(grid: compute.Grid, one: Floats, other: Floats) -> Estimate | None:
    return claims.ratio(grid.units, one, other, grid.resamples)


def _of_wide(grid: compute.Grid, one: Floats, other: Floats) -> Estimate | None:
    wide = _wide(grid)
    if not wide.any():
        return None
    return claims.mean_difference(grid.units[wide], one[wide], other[wide], grid.resamples)


def _wide_less_others(grid: compute.Grid, one: Floats, _: Floats) -> Estimate | None:
    """Return the mean unfairness of wide attempts less that of others, both under one group."""
    wide = _wide(grid)
    terms = {
        "wide": np.where(wide, one, 0.0),
        "wide_count": wide.astype(np.float64),
        "narrow": np.where(wide, 0.0, one),
        "narrow_count": (~wide).astype(np.float64),
    }

    def apart(sums: Mapping[str, Floats]) -> Floats:
        return _over(sums["wide"], sums["wide_count"]) - _over(sums["narrow"], sums["narrow_count"])

    return claims.estimate(grid.units, terms, apart, grid.resamples)


def _clearer(grid: compute.Grid, one: Floats, other: Floats) -> Estimate | None:
    """Return |ln(a/b)| by the relaxed FST less that by the strict, of both groups' unfairness."""
    terms = {
        f"{fst}{side}": of[k] for k, fst in enumerate(FSTS) for side, of in enumerate((one, other))
    }

    def log_ratio(sums: Mapping[str, Floats], fst: str) -> Floats:
        above = np.where(sums[f"{fst}0"] > 0, sums[f"{fst}0"], np.nan)
        distance: Floats = np.abs(np.log(_over(above, sums[f"{fst}1"])))
        return distance

    def apart(sums: Mapping[str, Floats]) -> Floats:
        return log_ratio(sums, compute.RELAXED) - log_ratio(sums, compute.STRICT)

    return claims.estimate(grid.units, terms, apart, grid.resamples)


def _wide(grid: compute.Grid) -> NDArray[np.bool_]:
    return grid.size > WIDE * grid.part.pool.capacity


def _over(above: Floats, below: Floats) -> Floats:
    """Return above / below; NaN where the latter is 0."""
    ratios = np.full(above.shape, np.nan)
    np.divide(above, below, out=ratios, where=below > 0)
    return ratios


# --- the claims ----------------------------------------------------------------------------------


class Combinations(NamedTuple):
    """Combinations of the grid that are averaged."""

    orders: Sequence[Order] = compute.ORDERS
    backfills: Sequence[Backfill] = compute.BACKFILLS
    exact: bool = False

    def unfairness(self, grid: compute.Grid, metric: str, load: str) -> Floats:
        """Return each attempt's mean over the group's points at one load, or at all."""
        points = [
            compute.GridPoint(at, order, fill, self.exact)
            for at in grid.loads
            if load in (ALL_LOADS, compute.load_name(at))
            for order in self.orders
            for fill in self.backfills
        ]
        if metric == LOG_RATIO:
            return np.stack([grid.mean_of(fst, points) for fst in FSTS])
        return grid.mean_of(metric, points)


class GridQuestion(NamedTuple):
    """A comparison of two groups, over all loads and at each, by each of ``metrics``."""

    what: str
    one: Combinations
    other: Combinations = Combinations()
    figure: Figure = _difference
    asked: Asked = ABOVE_0
    metrics: Sequence[str] = compute.UNFAIRNESS


class PaperConclusion(NamedTuple):
    """A conclusion of [S], and the comparisons that decide it."""

    number: int
    sentence: str
    source: str
    questions: Sequence[GridQuestion] = ()
    besides: Callable[[compute.Grid], str] | None = None  # a remark on the log


_FCFS, _SJF, _LXF = (Combinations(orders=[order]) for order in compute.ORDERS)
_NO_GUARANTEE, _EASY, _CONSERVATIVE = (Combinations(backfills=[fill]) for fill in compute.BACKFILLS)
_FCFS_NO_GUARANTEE, _FCFS_EASY = (
    Combinations([Order.fcfs], [fill]) for fill in compute.BACKFILLS[:2]
)
_NO_MORE: Final = within(0.0, NEAR[1])
_NEARLY: Final = within(*NEAR)


def _distinct(what: str, one: Combinations, other: Combinations) -> GridQuestion:
    what = f"distinction of {what}, relaxed − strict"
    return GridQuestion(what, one, other, _clearer, metrics=[LOG_RATIO])


NO_GUARANTEE: Final = PaperConclusion(
    1,
    "Backfilling without guarantee is unfair, most of all to wide attempts",
    "[S §5]",
    [
        GridQuestion("no_guarantee − easy", _NO_GUARANTEE, _EASY),
        GridQuestion("no_guarantee − conservative", _NO_GUARANTEE, _CONSERVATIVE),
        # of width under FCFS, as [S] shows it
        GridQuestion(
            "fcfs-no_guarantee, wide − other attempts", _FCFS_NO_GUARANTEE, figure=_wide_less_others
        ),
        GridQuestion(
            "wide attempts, fcfs-no_guarantee − fcfs-easy", _FCFS_NO_GUARANTEE, _FCFS_EASY, _of_wide
        ),
    ],
    lambda grid: (
        f"{int(_wide(grid).sum()):,} attempts are wide: they request more than "
        f"{100 * WIDE:.0f} % of the pool"
    ),
)
SHORTEST_FIRST: Final = PaperConclusion(
    2,
    "SJF is more unfair than FCFS and LXF by fair start times, but not by resource equality",
    "[S §5]",
    [
        question
        for name, other in (("fcfs", _FCFS), ("lxf", _LXF))
        for question in (
            GridQuestion(f"sjf − {name}", _SJF, other, metrics=FSTS),
            GridQuestion(
                f"sjf / {name}", _SJF, other, _ratio, _NO_MORE, (compute.RE, compute.RAQFM)
            ),
        )
    ],
)
EXPANSION_NEAR_ARRIVAL: Final = PaperConclusion(
    3,
    "LXF is about as unfair as FCFS",
    "[S §§5, 7]",
    [GridQuestion("lxf / fcfs", _LXF, _FCFS, _ratio, _NEARLY)],
)
CONSERVATIVE_NEAR_EASY: Final = PaperConclusion(
    4,
    "Conservative backfilling is about as unfair as EASY",
    "[S §§5, 7]",
    [GridQuestion("conservative / easy", _CONSERVATIVE, _EASY, _ratio, _NEARLY)],
)
RELAXED_CLEARER: Final = PaperConclusion(
    5,
    "The relaxed fair start time distinguishes policies more clearly than the strict one",
    "[S §5]",
    [  # the pairs that [S] names
        _distinct(
            "no_guarantee and the others", _NO_GUARANTEE, Combinations(backfills=compute.RESERVING)
        ),
        _distinct("lxf and fcfs", _LXF, _FCFS),
        _distinct("easy and conservative", _EASY, _CONSERVATIVE),
    ],
)
SUBSETS_ALIKE: Final = PaperConclusion(
    6, "Subsets of the attempts rank the combinations like all attempts", "[S §5.1, Table 2]"
)
INEXACT_ESTIMATES: Final = PaperConclusion(
    7,
    "The unfairness under FCFS comes from inexact estimates",
    "[S §5]",
    [
        GridQuestion(
            f"fcfs-{fill.value}, exact / own estimates",
            Combinations([Order.fcfs], [fill], exact=True),
            Combinations([Order.fcfs], [fill]),
            _ratio,
            within(0.0, EXPLAINED),
            FSTS,
        )
        for fill in compute.RESERVING
    ],
    lambda grid: (
        f"{grid.part.inexact:,} of {grid.part.described.height:,} attempts have an estimate above "
        "their run time"
    ),
)


def decide(grid: compute.Grid, ranked: Sequence[compute.Correlation]) -> tuple[Decided, ...]:
    """Decide all seven claims; ``ranked`` are the grid's ``compute.correlations``."""
    before = (NO_GUARANTEE, SHORTEST_FIRST, EXPANSION_NEAR_ARRIVAL, CONSERVATIVE_NEAR_EASY)
    return (
        *(decided(conclusion, grid) for conclusion in (*before, RELAXED_CLEARER)),
        subsets_alike(ranked),
        decided(INEXACT_ESTIMATES, grid),
    )


def decided(conclusion: PaperConclusion, grid: compute.Grid) -> Decided:
    """Decide a conclusion that compares groups of points."""
    loads = [ALL_LOADS, *(map(compute.load_name, grid.loads) if len(grid.loads) > 1 else ())]
    comparisons = [
        GridComparison(
            question.what,
            question.figure(
                grid,
                question.one.unfairness(grid, metric, load),
                question.other.unfairness(grid, metric, load),
            ),
            question.asked,
            metric != compute.RAQFM and load == ALL_LOADS,
            metric=metric,
            load=load,
            unit=ONE if question.figure in (_ratio, _clearer) else compute.MEASURES[metric].unit,
        )
        for question in conclusion.questions
        for metric in question.metrics
        for load in loads
    ]
    besides = [] if conclusion.besides is None else [conclusion.besides(grid)]
    return _verdict(conclusion, comparisons, besides)


def subsets_alike(ranked: Iterable[compute.Correlation]) -> Decided:
    """Decide claim 6: by each metric, the subsets' median correlation is at least ``ALIKE``."""
    asked = Asked(f"at least {ALIKE:g}", lambda figure: between(figure, ALIKE, 1.0))
    comparisons = [
        GridComparison(
            "median correlation of the subsets" if subset is None else f"subset {subset}",
            estimate,
            asked,
            subset is None and metric in DECIDING,
            metric=metric,
            load=ALL_LOADS,
            unit=ONE,
        )
        for metric, subset, estimate in ranked
    ]
    return _verdict(SUBSETS_ALIKE, comparisons)


def _verdict(
    conclusion: PaperConclusion, comparisons: Sequence[GridComparison], besides: Sequence[str] = ()
) -> Decided:
    claim = Claim(conclusion.sentence, conclusion.source, comparisons)
    because = [str(one) for one in comparisons if one.decides]
    verdict = claim.verdict("; ".join([*because, *besides]))
    return Decided(conclusion.number, verdict, tuple(comparisons))
