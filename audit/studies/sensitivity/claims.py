"""What [B] concludes of fairshare's settings, decided on one's own log.

What varying a setting does is the *change* of a group's mean response (``answers``), dominant being
the group of the largest area. What moves more has the larger |change| of the dominant group. What
is said of utilization, a figure of the whole pool, is drawn by day.

Source: [B] H. Bui et al., Fairshare Scheduling – A Case Study, §5 and §6.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.metrics.draws import Drawn, combined, ratio
from audit.metrics.quantiles import spearman
from audit.metrics.verdicts import BELOW_0, Claim, Comparison, Holds, Verdict, greater
from audit.studies.sensitivity.answers import Answers, Change, changes
from audit.studies.sensitivity.compute import Base, Point, planes, sweeps

Floats = NDArray[np.float64]

SETTINGS: Final = ("interval", "depth", "decay")

MOVES_MORE: Final = (
    ("decay moves more than interval and depth", "decay", ("interval", "depth"), "[B §5.2.1, §6]"),
    ("targets move most", "targets", SETTINGS, "[B §5.3, §6]"),
)
"""Which setting moves the dominant group more than which others."""


def decide(base: Base, answers: Answers, *, two_at_once: bool) -> list[Verdict]:
    """All of [B]'s conclusions around one set of fixed values.

    Args:
        base: the fixed values.
        answers: what at least ``sweeps(base)``, and ``planes(base)`` where ``two_at_once``, came
            to.
        two_at_once: whether those conclusions are decided too.
    """
    by_key = {sweep.key: changes(answers, sweep) for sweep in sweeps(base)}
    verdicts = [slower_and_faster(base, answers.labels, by_key[key]) for key in SETTINGS]
    for sentence, key, others, source in MOVES_MORE:
        compared = [by_key[other] for other in others]
        verdicts.append(moves_more(base, sentence, by_key[key], compared, source))
    for plane in planes(base) if two_at_once else ():
        sentence = f"{plane.one} and {plane.other} together move more than one of them"
        alone = [by_key[plane.one], by_key[plane.other]]
        together = changes(answers, plane.diagonal)
        verdicts.append(moves_more(base, sentence, together, alone, "[B §5.4, §6]"))
    fair = [point for sweep in sweeps(base) for point in sweep.points if point.intensity == 100]
    return verdicts + utilization_follows(base, answers, fair)


def slower_and_faster(base: Base, labels: Sequence[str], change: Change) -> Verdict:
    """Does raising a setting make the dominant group slower, and the others faster? [B §6]"""
    sweep = change.sweep
    dominant = Comparison("dominant", change.dominant.estimate())
    others = Comparison("others", change.others.estimate(), BELOW_0)
    return Claim(
        f"{base.name}: as {sweep.key} grows, the dominant group gets slower and the others faster",
        "[B §5.1, §5.2, §6]",
        [dominant, others],
    ).verdict(
        f"{sweep.key} from {sweep.values[0]:g} to {sweep.values[-1]:g} changes the mean response "
        f"of {labels[0]} by {dominant.estimate} s and that of all others by {others.estimate} s"
    )


def moves_more(
    base: Base, sentence: str, one: Change, others: Sequence[Change], source: str
) -> Verdict:
    """Does a setting move the dominant group's response more than each of the others?"""

    def apart(other: Change) -> Drawn:
        pair = [one.dominant, other.dominant]
        return combined(pair, lambda both: np.abs(both[0]) - np.abs(both[1]))

    compared = [
        Comparison(f"more than {other.sweep.key}", apart(other).estimate()) for other in others
    ]
    by = "; ".join(f"{comparison.what} by {comparison.estimate} s" for comparison in compared)
    return Claim(f"{base.name}: {sentence}", source, compared).verdict(
        f"{one.sweep.key} moves the dominant group's mean response by "
        f"{one.dominant.estimate()} s: {by} (of sizes, without signs)"
    )


def utilization_follows(base: Base, answers: Answers, points: Sequence[Point]) -> list[Verdict]:
    """Is utilization higher where the dominant group's response is longer? [B §5.3]

    Spearman's rank correlation over ``points`` (average ranks), resampled by day. Where all that
    arrives is run soon after, utilization is the offered load whatever the order; what then tells
    how well the pool was filled is the loss of capacity, which is decided too.
    """
    days, sums = answers.days, [answers.sums[point] for point in dict.fromkeys(points)]
    response = [ratio(days, one.day_response, one.day_attempts) for one in sums]
    used = [ratio(days, one.used, one.capacity) for one in sums]
    kept = [ratio(days, one.capacity - one.lost, one.capacity) for one in sums]
    return [
        Verdict(
            f"{base.name}: {figure} rises with the dominant group's response",
            *_follows(response, of_pool),
            "[B §5.1.1, §5.3]",
        )
        for figure, of_pool in (
            ("utilization", used),
            ("what is not lost of the capacity", kept),
        )
    ]


def _follows(response: Sequence[Drawn], figure: Sequence[Drawn]) -> tuple[Holds, str]:
    """Whether a figure of the pool rises with a response, and why."""
    low, high = _span(figure)
    shortest, longest = _span(response)
    if not shortest < longest:
        return Holds.undecided, "the dominant group's mean response is the same in all settings"
    varied = f"{shortest:,.0f} to {longest:,.0f} s"
    if not low < high:
        return (
            Holds.no,
            f"it is {low:.4f} in all {len(figure)} settings, while the response is {varied}",
        )
    correlation = combined([*response, *figure], _correlation_of_halves).estimate()
    return (
        greater(correlation),
        f"rank correlation over {len(figure)} settings: {correlation}; it is {low:.4f} to "
        f"{high:.4f}, the response {varied}",
    )


def _span(figures: Sequence[Drawn]) -> tuple[float, float]:
    values = [figure.value for figure in figures]
    return min(values), max(values)


def _correlation_of_halves(figures: Floats) -> Floats:
    half = len(figures) // 2
    return spearman(figures[:half], figures[half:])
