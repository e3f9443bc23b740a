"""Where a figure stands against the bounds of config.toml, and what one of many carries."""

from enum import StrEnum
from statistics import NormalDist
from typing import Final

from audit.report.record.page import Bound
from audit.report.record.pool import Figure

_CONFIDENCE: Final = 0.95
_NORMAL: Final = NormalDist()


class Level(StrEnum):
    """Where a figure stands."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    """It was not computed, or chance leaves anything open."""


def meaning(stands: Level) -> str:
    """A level in words, for those who do not see its mark."""
    return {
        Level.PASS: "passes",
        Level.WARN: "worth a look",
        Level.FAIL: "fails",
        Level.UNKNOWN: "not known",
    }[stands]


def level(figure: Figure, bound: Bound) -> Level:
    """Where a share stands.

    It fails where its whole interval lies at or above ``fail``, warns from ``warn`` on, and passes
    below. An interval that reaches from below ``warn`` to ``fail`` leaves everything open.
    """
    if figure.value is None:
        return Level.UNKNOWN
    lower, upper = (figure.value if side is None else side for side in (figure.lower, figure.upper))
    if lower < bound.warn and upper >= bound.fail:
        return Level.UNKNOWN
    if lower >= bound.fail:
        return Level.FAIL
    return Level.WARN if figure.value >= bound.warn else Level.PASS


def corrected(figure: Figure, among: int) -> tuple[float, float] | None:
    """The interval of a figure that was picked from ``among`` alike as the most extreme.

    At a confidence of 1 − 0.05 / among (Bonferroni), so that the pick of chance alone stands out no
    more often than one figure looked at by itself. The sides of the 95 % interval are stretched as
    those of a normal distribution would be. None where the figure has no interval.
    """
    value, lower, upper = figure.value, figure.lower, figure.upper
    if value is None or lower is None or upper is None:
        return None
    stretch = _quantile(1 - (1 - _CONFIDENCE) / among) / _quantile(_CONFIDENCE)
    return value - stretch * (value - lower), value + stretch * (upper - value)


def _quantile(confidence: float) -> float:
    """How many standard deviations a two-sided interval reaches."""
    return _NORMAL.inv_cdf((1 + confidence) / 2)
