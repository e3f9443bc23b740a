"""The results of all settings, and [B]'s conclusions on fairshare's settings, decided on a log.

With R_g(x) the mean response time of group g at the value x of the varied setting, the *change* is
the rise of the least-squares line over all values, from the first to the last:

    change_g = (x_last − x_first) · Σ (x − x̄) R_g(x) / Σ (x − x̄)²        in s

The group with the largest area is the dominant one; the others are combined. The setting with
the larger |change| of the dominant group has the larger effect. Settings that move no start, for
example because the log is shorter than a window, decide nothing.

Intervals are percentile bootstrap (``metrics.uncertainty``); a resample draws the same users for
all settings. Figures of the whole pool, such as utilization, are drawn by day.

Source: [B] H. Bui et al., Fairshare Scheduling – A Case Study, §5 and §6.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.metrics.claims import BELOW_0, Claim, ClaimHolds, ClaimVerdict, Comparison, greater
from audit.metrics.draws import Draws, ResampledFigure, combined, ratio
from audit.metrics.quantiles import spearman
from audit.metrics.uncertainty import Resamples
from audit.report.study.cells import studied
from audit.studies.sensitivity.compute import (
    POOL_KINDS,
    Base,
    SettingPoint,
    SettingSweep,
    planes,
    sweeps,
)

SETTINGS: Final = ("interval", "depth", "decay")

MOVES_MORE: Final = (
    (
        "decay has a larger effect than interval and depth",
        "decay",
        ("interval", "depth"),
        "[B §5.2.1, §6]",
    ),
    ("targets have the largest effect", "targets", SETTINGS, "[B §5.3, §6]"),
)
"""Settings that affect the dominant group more than others."""


class Sums(NamedTuple):
    """The results of one setting."""

    attempts: Floats  # [groups, users]
    response: Floats  # [groups, users], Σ response, s
    day_attempts: Floats  # [days], of the dominant group
    day_response: Floats  # [days], of the dominant group
    used: Floats  # [days], resource·s
    lost: Floats  # [days], resource·s
    capacity: Floats  # [days], resource·s

    @property
    def utilization(self) -> float | None:
        """Used / capacity between the first and the last arrival."""
        return _ratio(self.used, self.capacity)

    @property
    def loss(self) -> float | None:
        """Loss of capacity between the first and the last arrival."""
        return _ratio(self.lost, self.capacity)

    def mean_response(self, *groups: int) -> float | None:
        """Return the mean response of the attempts of some groups together, s."""
        return _ratio(self.response[list(groups)], self.attempts[list(groups)])


def _ratio(above: Floats, below: Floats) -> float | None:
    total = float(below.sum())
    return float(above.sum()) / total if total > 0 else None


class SettingResults(NamedTuple):
    """The results of all settings."""

    labels: tuple[str, ...]  # of the groups, the dominant one first
    sums: Mapping[SettingPoint, Sums]
    users: Resamples
    days: Resamples

    @property
    def others(self) -> range:
        """The groups that are not the dominant one."""
        return range(1, len(self.labels))

    def beside(self, point: SettingPoint, fixed: SettingPoint, *groups: int) -> float | None:
        """Return the mean response of some groups, as a multiple of that at ``fixed``."""
        mean, at_fixed = (self.sums[one].mean_response(*groups) for one in (point, fixed))
        return mean / at_fixed if at_fixed and mean is not None else None


def answers(
    labels: Sequence[str],
    points: Sequence[SettingPoint],
    frames: Sequence[pl.DataFrame],
    draws: Draws,
) -> SettingResults:
    """Return the results of the settings' frames, which have the columns ``compute.SUMS``."""
    known = [frame.filter(pl.col("group") < len(labels)) for frame in frames]
    # compressed arrivals take fewer days
    units = pl.concat([frame.select("kind", "unit") for frame in known])
    users, days = (
        units.filter(of)["unit"].to_numpy().max(initial=-1) + 1
        for of in (pl.col("kind") == "user", pl.col("kind") != "user")
    )
    sums = (_sums(frame, len(labels), int(users), int(days)) for frame in known)
    by_point = dict(zip(points, sums, strict=True))
    return SettingResults(tuple(labels), by_point, draws.of(int(users)), draws.of(int(days), 1))


def _sums(frame: pl.DataFrame, groups: int, users: int, days: int) -> Sums:
    def placed(kind: str, column: str, group: int, length: int) -> Floats:
        of_group = frame.filter(kind=kind, group=group)
        values = np.zeros(length)
        values[of_group["unit"].to_numpy()] = of_group[column].to_numpy()
        return values

    columns = ("attempts", "amount")
    return Sums(
        *(np.stack([placed("user", of, k, users) for k in range(groups)]) for of in columns),
        *(placed("day", of, 0, days) for of in columns),
        *(placed(kind, "amount", -1, days) for kind in POOL_KINDS),
    )


def response(
    answers: SettingResults, point: SettingPoint, groups: Sequence[int]
) -> ResampledFigure:
    """Return the mean response of some groups together under a setting, s; resampled by user."""
    sums, chosen = answers.sums[point], list(groups)
    return ratio(answers.users, sums.response[chosen].sum(0), sums.attempts[chosen].sum(0))


def change(values: Sequence[float], figures: Sequence[ResampledFigure]) -> ResampledFigure:
    """Return the rise of the least-squares line over ``values``, from the first to the last."""
    x = np.array(values, np.float64) - np.mean(values)
    weights = (values[-1] - values[0]) * x / np.sum(x**2)
    # relative to the first: equal figures change by exactly 0, without rounding
    return combined(figures, lambda drawn: np.tensordot(weights, drawn - drawn[0], 1))


class MeanChange(NamedTuple):
    """The changes of the groups' mean responses by varying a setting."""

    sweep: SettingSweep
    dominant: ResampledFigure
    others: ResampledFigure
    each: tuple[ResampledFigure, ...]  # of every group
    moves: bool  # whether any response differs between two values


def changes(answers: SettingResults, sweep: SettingSweep) -> MeanChange:
    """Return the changes of each group's mean response over ``sweep``."""

    def of(groups: Sequence[int]) -> ResampledFigure:
        return change(sweep.values, [response(answers, point, groups) for point in sweep.points])

    each = tuple(of((group,)) for group in range(len(answers.labels)))
    first, *rest = (answers.sums[point].response for point in sweep.points)
    moves = not all(np.array_equal(first, other) for other in rest)
    return MeanChange(sweep, each[0], of(answers.others), each, moves)


def rows(pool: str, answers: SettingResults) -> pl.DataFrame:
    """Return each setting's mean response by group, and the pool's figures, as ``STUDIED``."""
    rows: list[tuple[object, ...]] = []
    for point, sums in answers.sums.items():
        for group, label in enumerate(answers.labels):
            if (mean := response(answers, point, [group])).value >= 0:  # not NaN
                of_group = ("group", label, *mean.estimate(), "s", int(sums.attempts[group].sum()))
                rows.append((pool, point.label, "response_mean", *of_group))
        attempts = int(sums.attempts.sum())
        for metric, value in (("utilization", sums.utilization), ("loss_of_capacity", sums.loss)):
            rows.append((pool, point.label, metric, "all", None, value, None, None, "1", attempts))
    return studied(rows)


# --- the claims ----------------------------------------------------------------------------------


def decide(base: Base, answers: SettingResults, *, two_at_once: bool) -> list[ClaimVerdict]:
    """Decide all of [B]'s conclusions around one set of fixed values.

    ``answers`` includes ``sweeps(base)``, and ``planes(base)`` if ``two_at_once``.
    """
    by_key = {sweep.key: changes(answers, sweep) for sweep in sweeps(base)}
    verdicts = [slower_and_faster(base, answers.labels, by_key[key]) for key in SETTINGS]
    for sentence, key, others, source in MOVES_MORE:
        compared = [by_key[other] for other in others]
        verdicts.append(moves_more(base, sentence, by_key[key], compared, source))
    for plane in planes(base) if two_at_once else ():
        sentence = f"{plane.one} and {plane.other} together have a larger effect than one of them"
        alone = [by_key[plane.one], by_key[plane.other]]
        together = changes(answers, plane.diagonal)
        verdicts.append(moves_more(base, sentence, together, alone, "[B §5.4, §6]"))
    fair = [point for sweep in sweeps(base) for point in sweep.points if point.intensity == 100]
    return verdicts + utilization_follows(base, answers, fair)


def slower_and_faster(base: Base, labels: Sequence[str], change: MeanChange) -> ClaimVerdict:
    """Decide whether raising a setting slows the dominant group and speeds up the others. [B §6]"""
    sweep = change.sweep
    sentence = f"as {sweep.key} grows, the dominant group gets slower and the others faster"
    if not change.moves:
        return _unmoved(base, sentence, "[B §5.1, §5.2, §6]", [sweep.key])
    dominant = Comparison("dominant", change.dominant.estimate())
    others = Comparison("others", change.others.estimate(), BELOW_0)
    return Claim(
        f"{base.name}: {sentence}",
        "[B §5.1, §5.2, §6]",
        [dominant, others],
    ).verdict(
        f"{sweep.key} from {sweep.values[0]:g} to {sweep.values[-1]:g} changes the mean response "
        f"of {labels[0]} by {dominant.estimate} s and that of all others by {others.estimate} s"
    )


def moves_more(
    base: Base, sentence: str, one: MeanChange, others: Sequence[MeanChange], source: str
) -> ClaimVerdict:
    """Decide whether a setting affects the dominant group more than each of the others."""
    settings = [(of.sweep.key, of.moves) for of in (one, *others) if of.sweep.key in SETTINGS]
    if unmoved := [key for key, moves in settings if not moves]:
        return _unmoved(base, sentence, source, unmoved)
    compared = [
        Comparison(
            f"more than {other.sweep.key}",
            combined(
                [one.dominant, other.dominant], lambda both: np.abs(both[0]) - np.abs(both[1])
            ).estimate(),
        )
        for other in others
    ]
    by = "; ".join(f"{comparison.what} by {comparison.estimate} s" for comparison in compared)
    return Claim(f"{base.name}: {sentence}", source, compared).verdict(
        f"{one.sweep.key} changes the dominant group's mean response by "
        f"{one.dominant.estimate()} s: {by} (differences of absolute values)"
    )


def _unmoved(base: Base, sentence: str, source: str, keys: Sequence[str]) -> ClaimVerdict:
    """Return the verdict where the log cannot show an effect: it may be shorter than a window."""
    because = f"every user's mean response is the same under all values of {', '.join(keys)}"
    return ClaimVerdict(f"{base.name}: {sentence}", ClaimHolds.undecided, because, source)


def utilization_follows(
    base: Base, answers: SettingResults, points: Sequence[SettingPoint]
) -> list[ClaimVerdict]:
    """Decide whether utilization is higher where the dominant group's response is longer. [B §5.3]

    By Spearman's rank correlation over ``points``, resampled by day. If all jobs run soon after
    their arrival, utilization is the offered load whatever the order, and loss of capacity shows
    how well the pool was filled; so both are decided.
    """
    days, sums = answers.days, [answers.sums[point] for point in dict.fromkeys(points)]
    response = [ratio(days, one.day_response, one.day_attempts) for one in sums]
    used = [ratio(days, one.used, one.capacity) for one in sums]
    kept = [ratio(days, one.capacity - one.lost, one.capacity) for one in sums]
    return [
        ClaimVerdict(
            f"{base.name}: {figure} rises with the dominant group's response",
            *_follows(response, of_pool),
            "[B §5.1.1, §5.3]",
        )
        for figure, of_pool in (
            ("utilization", used),
            ("the part of the capacity that is not lost", kept),
        )
    ]


def _follows(
    response: Sequence[ResampledFigure], figure: Sequence[ResampledFigure]
) -> tuple[ClaimHolds, str]:
    (low, high), (shortest, longest) = (
        (min(values), max(values))
        for values in ([one.value for one in of] for of in (figure, response))
    )
    if not shortest < longest:
        return (
            ClaimHolds.undecided,
            "the dominant group's mean response is the same in all settings",
        )
    varied = f"{shortest:,.0f} to {longest:,.0f} s"
    if not low < high:
        settings = f"{len(figure)} settings"
        return ClaimHolds.no, f"it is {low:.4f} in all {settings}, while the response is {varied}"
    half = len(response)
    correlation = combined(
        [*response, *figure], lambda both: spearman(both[:half], both[half:])
    ).estimate()
    because = (
        f"rank correlation over {half} settings: {correlation}; it is {low:.4f} to {high:.4f}, "
        f"the response {varied}"
    )
    return greater(correlation), because
