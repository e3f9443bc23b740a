"""[B]'s conclusion about arrivals, decided on a log.

Of [B] §3.3, "the hyper-exponential distribution is a good match to the measured arrival rate
distribution", two parts are decided, over the classes with enough arrivals to be fitted:

    better   by the likelihood ratio of the two fits, 2 · gain: a class refuses the exponential
             distribution above 9.21 (χ² of two parameters, 1 %; the true bound is smaller, as one
             parameter is at the edge of its range). Yes: classes with 95 % of the arrivals refuse
             it; no: classes with at most 5 % do
    match    the mean distance of the classes, weighted by arrivals, is below ``MARGIN``, by its
             interval over resampled days
"""

from typing import Final

from audit.metrics.verdicts import Asked, Claim, Comparison, Estimate, Holds, Verdict, within
from audit.studies.workload.compute.hyper_exponential import FEW
from audit.studies.workload.compute.likeness import fitted
from audit.studies.workload.compute.model import Model

MARGIN: Final = 0.1
"""Greatest distance of matching distributions."""
SOURCE: Final = "[B] §3.3"

_REFUSED: Final = 9.21


def _nearly_all(share: Estimate | None) -> Holds:
    if share is None or 0.05 < share.value < 0.95:
        return Holds.undecided
    return Holds.yes if share.value >= 0.95 else Holds.no


NEARLY_ALL: Final = Asked("95 % at least", _nearly_all)


def decide(model: Model, apart: Estimate | None) -> tuple[Verdict, ...]:
    """Decide [B]'s conclusion about arrivals; ``apart`` is ``compute.likeness.distance``."""
    classes = fitted(model)
    arrivals = sum(one.attempts for one in classes)
    refusing = [one for one in classes if 2 * one.gaps.gain > _REFUSED]
    share = sum(one.attempts for one in refusing) / arrivals if arrivals else 0.0
    better = Comparison(
        "share of the arrivals whose class refuses the exponential distribution",
        Estimate(share, None, None) if arrivals else None,
        NEARLY_ALL,
    )
    match = Comparison("mean distance of the distributions", apart, within(0, MARGIN))
    unlike = sum((one.gaps.p_value or 0.0) < 0.05 for one in classes)
    return (
        Claim(
            "gaps between arrivals are hyper-exponential rather than exponential", SOURCE, [better]
        ).verdict(
            f"the likelihood ratio refuses the exponential distribution in {len(refusing)} of "
            f"{len(classes)} classes by {model.by}, with {share:.1%} of their arrivals"
        ),
        Claim(
            "two hyper-exponential phases match the gaps between arrivals", SOURCE, [match]
        ).verdict(
            f"no class has {FEW} arrivals"
            if apart is None
            else f"{match.what} {apart}, to be below {MARGIN:g}; the bootstrap tells {unlike} of "
            f"{len(classes)} classes by {model.by} from their fits (p < 0.05)"
        ),
    )
