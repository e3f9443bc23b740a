"""What [S] concludes of its grid, decided on another log: seven claims, each by stated comparisons.

Two groups of combinations are compared by the mean unfairness of the same attempts under each,
averaged over the group (``verdicts``). Comparisons over all loads together decide, and each metric
that a claim names must agree; the same comparisons at single loads are shown beside them, and
decide nothing. *Near* is a ratio within ``NEAR``, the limits that are usual for equivalence.

Source: SPEC §8; [S] §§5, 7, and §4 for what it simulates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.measures import ONE
from audit.model import Backfill, Order
from audit.studies import verdicts
from audit.studies.grid.compute import (
    BACKFILLS,
    ORDERS,
    RAQFM,
    RE,
    RELAXED,
    RESERVING,
    STRICT,
    UNFAIRNESS,
    UNITS,
    Correlation,
    Grid,
    Point,
    load_name,
)
from audit.studies.verdicts import Estimate, Holds, Verdict

Floats = NDArray[np.float64]

NEAR: Final = (0.8, 1.25)
WIDE: Final = 0.25
"""An attempt is wide where it asks for more than this share of the pool."""
ALIKE: Final = 0.7
"""Rank correlations above it are high; the least in [S] Table 2 is 0.74."""
EXPLAINED: Final = 0.5
"""Unfairness comes from estimates where less than this share of it is left with exact ones."""

ALL_LOADS: Final = "all"
DECIDING: Final = (STRICT, RELAXED, RE)
"""The metrics of [S]; RAQFM is shown beside them."""
FSTS: Final = (STRICT, RELAXED)

TITLES: Final[Mapping[str, str]] = {
    STRICT: "strict FST",
    RELAXED: "relaxed FST",
    RE: "resource equality",
    RAQFM: "RAQFM",
}


class Comparison(NamedTuple):
    """What was compared for a claim."""

    claim: int
    what: str
    metric: str
    load: str
    """``ALL_LOADS``, or one."""
    estimate: Estimate | None
    unit: str
    asked: str
    """What the interval must lie in, for the claim to hold."""
    holds: Holds
    decides: bool

    def __str__(self) -> str:
        """Such as ``strict FST, no_guarantee − easy: 120 [80, 160] s (asked: > 0)``."""
        unit = "" if self.unit == ONE else f" {self.unit}"
        found = "nothing to compare" if self.estimate is None else f"{self.estimate}{unit}"
        return f"{TITLES.get(self.metric, self.metric)}, {self.what}: {found} ({self.asked})"


class Decided(NamedTuple):
    """A claim, what the log says to it, and all that was compared."""

    number: int
    verdict: Verdict
    comparisons: tuple[Comparison, ...]


class _Judge(NamedTuple):
    """Makes the comparisons of one claim."""

    claim: int
    of: Grid

    def chosen(
        self,
        load: str,
        orders: Sequence[Order] = ORDERS,
        backfills: Sequence[Backfill] = BACKFILLS,
        *,
        exact: bool = False,
    ) -> list[Point]:
        """Points of the grid at one load, or at all."""
        return [
            Point(at, order, fill, exact)
            for at in self.of.loads
            if load in (ALL_LOADS, load_name(at))
            for order in orders
            for fill in backfills
        ]

    def at_loads(
        self, metrics: Sequence[str], compare: Callable[[str, str], Comparison]
    ) -> list[Comparison]:
        """A comparison over all loads by each metric, and those at single loads."""
        loads = [ALL_LOADS, *(map(load_name, self.of.loads) if len(self.of.loads) > 1 else ())]
        return [compare(metric, load) for metric in metrics for load in loads]

    def greater(
        self,
        what: str,
        groups: Callable[[str], tuple[Sequence[Point], Sequence[Point]]],
        metrics: Sequence[str] = UNFAIRNESS,
        deciding: Sequence[str] = DECIDING,
    ) -> list[Comparison]:
        """Is the first group more unfair than the second?"""

        def compare(metric: str, load: str) -> Comparison:
            one, other = (self.of.mean_of(metric, group) for group in groups(load))
            found = verdicts.mean_difference(self.of.units, one, other, self.of.resamples)
            holds = verdicts.greater(found)
            decides = metric in deciding and load == ALL_LOADS
            return Comparison(
                self.claim, what, metric, load, found, UNITS[metric], "> 0", holds, decides
            )

        return self.at_loads(metrics, compare)

    def ratio(
        self,
        what: str,
        groups: Callable[[str], tuple[Sequence[Point], Sequence[Point]]],
        limits: tuple[float, float],
        metrics: Sequence[str] = UNFAIRNESS,
        deciding: Sequence[str] = DECIDING,
    ) -> list[Comparison]:
        """Does the first group's unfairness over the second's lie within limits?"""

        def compare(metric: str, load: str) -> Comparison:
            one, other = (self.of.mean_of(metric, group) for group in groups(load))
            found = verdicts.ratio(self.of.units, one, other, self.of.resamples)
            low, high = limits
            asked = f"{low:g} to {high:g}" if low > 0 else f"at most {high:g}"
            holds = verdicts.between(found, low, high)
            decides = metric in deciding and load == ALL_LOADS
            return Comparison(self.claim, what, metric, load, found, ONE, asked, holds, decides)

        return self.at_loads(metrics, compare)


def decide(of: Grid, ranked: Sequence[Correlation]) -> tuple[Decided, ...]:
    """All seven claims.

    Args:
        of: the grid.
        ranked: its ``grid.correlations``.
    """
    return (
        no_guarantee(of),
        shortest_first(of),
        expansion_near_arrival(of),
        conservative_near_easy(of),
        relaxed_clearer(of),
        subsets_alike(ranked),
        inexact_estimates(of),
    )


def no_guarantee(of: Grid) -> Decided:
    """Claim 1: backfilling without guarantee is unfair, and most to wide attempts. [S] §5

    More unfair than EASY and than conservative, over all orders; and under FCFS, as [S] shows it,
    wide attempts are treated more unfairly than the others, and than under EASY.
    """
    judge = _Judge(1, of)
    compared: list[Comparison] = []
    for other in RESERVING:
        compared += judge.greater(
            f"no_guarantee − {other.value}",
            lambda load, other=other: (  # type: ignore[misc]
                judge.chosen(load, backfills=[Backfill.no_guarantee]),
                judge.chosen(load, backfills=[other]),
            ),
        )
    wide = of.size > WIDE * of.part.pool.capacity

    def between_widths(metric: str, load: str) -> Comparison:
        unfair = of.mean_of(
            metric, judge.chosen(load, [Order.fcfs], backfills=[Backfill.no_guarantee])
        )
        found = _wide_less_narrow(of, unfair, wide)
        return _compared(judge, _WIDER, metric, load, found)

    def of_wide(metric: str, load: str) -> Comparison:
        one, other = (
            of.mean_of(metric, judge.chosen(load, [Order.fcfs], backfills=[fill]))
            for fill in (Backfill.no_guarantee, Backfill.easy)
        )
        found = (
            verdicts.mean_difference(of.units[wide], one[wide], other[wide], of.resamples)
            if wide.any()
            else None
        )
        return _compared(judge, _WIDE_ALONE, metric, load, found)

    compared += judge.at_loads(UNFAIRNESS, between_widths)
    compared += judge.at_loads(UNFAIRNESS, of_wide)
    return _decided(
        judge.claim,
        "Backfilling without guarantee is unfair, and most of all to wide attempts",
        compared,
        "[S §5]",
        f"{int(wide.sum()):,} attempts are wide: they ask for more than {WIDE:.0%} of the pool",
    )


def shortest_first(of: Grid) -> Decided:
    """Claim 2: SJF is more unfair than FCFS and LXF by FST, but not by resource equality. [S] §5

    Not: at most ``NEAR``'s upper limit times as unfair.
    """
    judge = _Judge(2, of)
    compared: list[Comparison] = []
    for other in (Order.fcfs, Order.lxf):

        def groups(load: str, other: Order = other) -> tuple[list[Point], list[Point]]:
            return judge.chosen(load, [Order.sjf]), judge.chosen(load, [other])

        compared += judge.greater(f"sjf − {other.value}", groups, FSTS, FSTS)
        compared += judge.ratio(f"sjf / {other.value}", groups, (0.0, NEAR[1]), (RE, RAQFM), (RE,))
    return _decided(
        judge.claim,
        "SJF is more unfair than FCFS and LXF by fair start times, but not by resource equality",
        compared,
        "[S §5]",
    )


def expansion_near_arrival(of: Grid) -> Decided:
    """Claim 3: LXF is about as unfair as FCFS. [S] §§5, 7"""
    judge = _Judge(3, of)
    compared = judge.ratio(
        "lxf / fcfs",
        lambda load: (judge.chosen(load, [Order.lxf]), judge.chosen(load, [Order.fcfs])),
        NEAR,
    )
    return _decided(judge.claim, "LXF is about as unfair as FCFS", compared, "[S §§5, 7]")


def conservative_near_easy(of: Grid) -> Decided:
    """Claim 4: conservative backfilling is about as unfair as EASY. [S] §§5, 7"""
    judge = _Judge(4, of)
    compared = judge.ratio(
        "conservative / easy",
        lambda load: (
            judge.chosen(load, backfills=[Backfill.conservative]),
            judge.chosen(load, backfills=[Backfill.easy]),
        ),
        NEAR,
    )
    claim = "Conservative backfilling is about as unfair as EASY"
    return _decided(judge.claim, claim, compared, "[S §§5, 7]")


def relaxed_clearer(of: Grid) -> Decided:
    """Claim 5: the relaxed FST tells policies apart more clearly than the strict. [S] §5

    Two policies are told apart by |ln(a/b)| of their unfairness a and b; compared is that by the
    relaxed FST less that by the strict, for each pair that [S] names.
    """
    judge = _Judge(5, of)
    compared: list[Comparison] = []
    pairs: list[tuple[str, Callable[[str], tuple[list[Point], list[Point]]]]] = [
        (
            "no_guarantee and the others",
            lambda load: (
                judge.chosen(load, backfills=[Backfill.no_guarantee]),
                judge.chosen(load, backfills=RESERVING),
            ),
        ),
        (
            "lxf and fcfs",
            lambda load: (judge.chosen(load, [Order.lxf]), judge.chosen(load, [Order.fcfs])),
        ),
        (
            "easy and conservative",
            lambda load: (
                judge.chosen(load, backfills=[Backfill.easy]),
                judge.chosen(load, backfills=[Backfill.conservative]),
            ),
        ),
    ]
    for what, groups in pairs:

        def compare(
            metric: str,
            load: str,
            what: str = what,
            groups: Callable[[str], tuple[list[Point], list[Point]]] = groups,
        ) -> Comparison:
            one, other = groups(load)
            terms = {
                f"{fst}{side}": of.mean_of(fst, group)
                for fst in FSTS
                for side, group in enumerate((one, other))
            }
            found = verdicts.estimate(of.units, terms, _clearer, of.resamples)
            told = f"{what} told apart, relaxed − strict"
            holds, decides = verdicts.greater(found), load == ALL_LOADS
            return Comparison(5, told, metric, load, found, ONE, "> 0", holds, decides)

        compared += judge.at_loads(["|ln ratio|"], compare)
    return _decided(
        judge.claim,
        "The relaxed fair start time tells policies apart more clearly than the strict",
        compared,
        "[S §5]",
    )


def subsets_alike(ranked: Iterable[Correlation]) -> Decided:
    """Claim 6: subsets of the attempts rank the combinations as all of them do. [S] §5.1

    The median of the subsets' correlations is above ``ALIKE``, by each metric.
    """
    compared = [
        Comparison(
            6,
            "median correlation of the subsets" if one.subset is None else f"subset {one.subset}",
            one.metric,
            ALL_LOADS,
            one.estimate,
            ONE,
            f"at least {ALIKE:g}",
            verdicts.between(one.estimate, ALIKE, 1.0),
            one.subset is None and one.metric in DECIDING,
        )
        for one in ranked
    ]
    claim = "Subsets of the attempts rank the combinations as all of them do"
    return _decided(6, claim, compared, "[S §5.1, Table 2]")


def inexact_estimates(of: Grid) -> Decided:
    """Claim 7: the unfairness under FCFS comes from inexact estimates. [S] §5

    With exact ones less than ``EXPLAINED`` of the misses is left, under EASY and conservative.
    """
    judge = _Judge(7, of)
    compared: list[Comparison] = []
    for fill in RESERVING:

        def groups(load: str, fill: Backfill = fill) -> tuple[list[Point], list[Point]]:
            own = judge.chosen(load, [Order.fcfs], [fill])
            return judge.chosen(load, [Order.fcfs], [fill], exact=True), own

        compared += judge.ratio(
            f"fcfs-{fill.value}, exact / own estimates", groups, (0.0, EXPLAINED), FSTS, FSTS
        )
    count = of.part.described.height
    return _decided(
        judge.claim,
        "The unfairness under FCFS comes from inexact estimates",
        compared,
        "[S §5]",
        f"{of.part.inexact:,} of {count:,} attempts have an estimate above their run time",
    )


_WIDER: Final = "fcfs-no_guarantee, wide − other attempts"
_WIDE_ALONE: Final = "wide attempts, fcfs-no_guarantee − fcfs-easy"


def _compared(
    judge: _Judge, what: str, metric: str, load: str, found: Estimate | None
) -> Comparison:
    decides = metric in DECIDING and load == ALL_LOADS
    holds = verdicts.greater(found)
    return Comparison(judge.claim, what, metric, load, found, UNITS[metric], "> 0", holds, decides)


def _wide_less_narrow(of: Grid, unfair: Floats, wide: NDArray[np.bool_]) -> Estimate | None:
    """Mean unfairness of wide attempts less that of the others."""
    terms = {
        "wide": np.where(wide, unfair, 0.0),
        "wide_count": wide.astype(np.float64),
        "narrow": np.where(wide, 0.0, unfair),
        "narrow_count": (~wide).astype(np.float64),
    }

    def difference(sums: Mapping[str, Floats]) -> Floats:
        return _over(sums["wide"], sums["wide_count"]) - _over(sums["narrow"], sums["narrow_count"])

    return verdicts.estimate(of.units, terms, difference, of.resamples)


def _over(above: Floats, below: Floats) -> Floats:
    """above / below; NaN where the latter is 0."""
    made = np.full(above.shape, np.nan)
    np.divide(above, below, out=made, where=below > 0)
    return made


def _clearer(sums: Mapping[str, Floats]) -> Floats:
    """|ln ratio| by the relaxed FST less that by the strict; NaN where a sum is 0."""
    apart = [
        np.abs(
            np.log(_over(np.where(sums[f"{fst}0"] > 0, sums[f"{fst}0"], np.nan), sums[f"{fst}1"]))
        )
        for fst in (RELAXED, STRICT)
    ]
    return apart[0] - apart[1]


def _decided(
    number: int, claim: str, compared: Sequence[Comparison], source: str, besides: str = ""
) -> Decided:
    """The verdict that the deciding comparisons come to."""
    deciding = [one for one in compared if one.decides]
    holds = verdicts.every(one.holds for one in deciding)
    because = [str(one) for one in deciding]
    said = "; ".join([*because, besides] if besides else because)
    return Decided(number, Verdict(claim, holds, said, source), tuple(compared))
